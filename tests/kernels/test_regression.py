"""Regression: gradients against finite differences, and what the selectors leave unchanged."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import mean_tweedie_deviance

from dtsemnet.kernels.logits import choices
from dtsemnet.kernels.regression import DEVIANCES, LOSSES, losses_of
from dtsemnet.training import ALL, Regression, RegressionParameters, Rows, Step, cpu_engine
from dtsemnet.tree import Topology
from gradients import SHAPES, assert_gradients_are_slopes, gradients_of

N_SAMPLES, N_FEATURES = 8, 3


@pytest.mark.parametrize("topology", SHAPES, ids=repr)
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("selector", "k"), [("top_k", 1), ("top_k", 2), ("top_k", ALL), ("augmented", 1)])
def test_leaf_gradients(topology, linear, loss, selector, k):
    rng = np.random.default_rng(1)
    rows = Rows(
        rng.standard_normal((N_SAMPLES, N_FEATURES)), rng.standard_normal((N_SAMPLES, 2)), rng.random(N_SAMPLES) + 0.5
    )
    parameters = RegressionParameters(
        rng.standard_normal((topology.n_splits, N_FEATURES + 1)),
        rng.standard_normal((topology.n_leaves * 2, N_FEATURES + 1 if linear else 1)),
    )
    step = Step(0.1, k=k, temperature=0.5, selector=selector)
    assert_gradients_are_slopes(Regression(2, linear, loss, 0.3), topology, rows, parameters, step)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_leaves_splits_off_the_k_paths_alone(k):
    rng = np.random.default_rng(2)
    topology = Topology.complete(4)
    X = rng.standard_normal((1, N_FEATURES))
    parameters = RegressionParameters(
        rng.standard_normal((topology.n_splits, N_FEATURES + 1)),
        rng.standard_normal((topology.n_leaves, N_FEATURES + 1)),
    )
    rows = Rows(X, np.ones((1, 1)), np.ones(1))
    engine = cpu_engine(Regression(), topology, rows, parameters)
    _, gradients = gradients_of(engine, rows, Step(0.1, k=k, temperature=0.5))
    scores = X @ parameters.splits[:, :-1].T + parameters.splits[:, -1]
    selected = choices(scores, topology.children, k)[0]
    on_paths = np.unique(topology.paths.split[selected])
    touched = np.flatnonzero(np.abs(gradients["splits"]).sum(axis=1))
    assert set(touched) <= set(on_paths)
    assert (len(touched) > 0) == (k > 1)
    assert (np.flatnonzero(np.abs(gradients["leaves"]).sum(axis=1)) == np.sort(selected)).all()


def test_losses_of_residuals():
    residual, y = np.array([[-2.0, -0.2], [0.0, 0.1], [0.3, 5.0]]), np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 4.0]])
    expected = {
        "squared_error": residual**2,
        "absolute_error": np.abs(residual),
        "huber": np.where(np.abs(residual) <= 0.3, residual**2 / 2, 0.3 * (np.abs(residual) - 0.15)),
        "quantile": np.maximum(0.7 * residual, -0.3 * residual),
    }
    assert {*expected, *DEVIANCES} == set(LOSSES)
    for loss, value in expected.items():
        assert_allclose(losses_of(y + residual, y, LOSSES[loss], 0.3), value, atol=1e-14, err_msg=loss)


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1.0), ("gamma", 2.0), ("tweedie", 1.5), ("tweedie", 1.2)])
def test_deviances_are_those_of_scikit_learn_up_to_a_part_of_the_targets(loss, power):
    rng = np.random.default_rng(0)
    y, logs = rng.exponential(size=(50, 1)), rng.standard_normal((2, 50, 1))
    first, second = (losses_of(log, y, LOSSES[loss], power).mean() for log in logs)
    expected = [mean_tweedie_deviance(y, np.exp(log), power=power) / 2 for log in logs]
    assert_allclose(first - second, expected[0] - expected[1])
