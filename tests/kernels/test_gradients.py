"""Gradients of the CPU engine against finite differences, and what the selectors leave untouched."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dtsemnet.kernels.logits import choices
from dtsemnet.training import (
    ALL,
    Classification,
    ClassParameters,
    Regression,
    RegressionParameters,
    Rows,
    Step,
    cpu_engine,
)
from dtsemnet.tree import Topology
from gradients import gradients_of

SHAPES = [Topology([]), Topology.complete(2), Topology([[-1, 1], [2, -4], [-2, -3]])]
N_SAMPLES, N_FEATURES = 8, 3


def central_differences(loss, array, epsilon=1e-6):
    found = np.zeros_like(array)
    for i in np.ndindex(array.shape):
        kept = array[i]
        array[i] = kept + epsilon
        above = loss()
        array[i] = kept - epsilon
        found[i] = (above - loss()) / (2 * epsilon)
        array[i] = kept
    return found


def assert_gradients_are_slopes(problem, topology, rows, parameters, step):
    def mean_loss():
        engine = cpu_engine(problem, topology, rows, parameters)
        return engine.loss(rows, step) * rows.weight.sum() / len(rows.X)

    loss, gradients = gradients_of(cpu_engine(problem, topology, rows, parameters), rows, step)
    assert_allclose(loss, mean_loss(), rtol=1e-12)
    for name, gradient in gradients.items():
        assert_allclose(gradient, central_differences(mean_loss, getattr(parameters, name)), atol=1e-7)


@pytest.mark.parametrize("topology", SHAPES, ids=repr)
@pytest.mark.parametrize(("temperature", "q"), list(itertools.product([0.0, 0.6], [0.0, 0.7, 1.0])))
def test_class_gradients(topology, temperature, q):
    rng = np.random.default_rng(0)
    rows = Rows(
        rng.standard_normal((N_SAMPLES, N_FEATURES)), rng.integers(0, 3, N_SAMPLES), rng.random(N_SAMPLES) + 0.5
    )
    parameters = ClassParameters(
        rng.standard_normal((topology.n_splits, N_FEATURES + 1)), np.arange(topology.n_leaves) % 3
    )
    assert_gradients_are_slopes(Classification(3), topology, rows, parameters, Step(0.1, temperature=temperature, q=q))


@pytest.mark.parametrize("topology", SHAPES, ids=repr)
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
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


def test_rows_of_a_class_without_leaves_have_no_gradient():
    rng = np.random.default_rng(3)
    topology = Topology.complete(2)
    parameters = ClassParameters(rng.standard_normal((3, N_FEATURES + 1)), np.array([0, 1, 0, 1]))
    rows = Rows(rng.standard_normal((5, N_FEATURES)), np.full(5, 2), np.ones(5))
    for temperature, q in itertools.product([0.0, 1.0], [0.0, 0.5]):
        engine = cpu_engine(Classification(3), topology, rows, parameters)
        loss, gradients = gradients_of(engine, rows, Step(0.1, temperature=temperature, q=q))
        assert np.isfinite(loss)
        assert (gradients["splits"] == 0).all()
