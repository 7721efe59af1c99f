"""The paper's variants: what Reg-1 holds still, and what the configurations are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_regression
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet.training import Regression, RegressionParameters, Rows, Step, cpu_engine
from dtsemnet.tree import Topology
from dtsemnet_paper.baselines.variants import (
    Reg1Engine,
    TopKReg1Regressor,
    straight_through_regressor,
    top_k_regressor,
)
from gradients import gradients_of


@parametrize_with_checks([TopKReg1Regressor(2, max_iter=20, learning_rate=0.1)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(params=[1, 2], ids=["one output", "two outputs"])
def pieces(request):
    rng, topology = np.random.default_rng(0), Topology.complete(3)
    rows = Rows(rng.standard_normal((9, 4)), rng.standard_normal((9, request.param)), rng.random(9) + 0.5)
    leaves = rng.standard_normal((8 * request.param, 5))
    parameters = RegressionParameters(rng.standard_normal((7, 5)), leaves)
    return Regression(request.param), topology, rows, parameters


def test_splits_are_pulled_as_by_top_k(pieces):
    step = Step(0.1, k=4, temperature=0.5)
    loss, gradients = gradients_of(cpu_engine(*pieces), pieces[2], step)
    total, splits, _ = Reg1Engine(*pieces, batch_size=9, penalties=None).batch_gradients(np.arange(9), step)
    assert_allclose(total / 9, loss)
    assert_allclose(splits, gradients["splits"])


def test_a_row_trains_the_leaf_it_reaches_alone(pieces):
    problem, topology, rows, parameters = pieces
    step, everything = Step(0.1, k=4, temperature=0.5), np.arange(9)
    engine = Reg1Engine(*pieces, batch_size=9, penalties=None)
    for row, leaf in enumerate(engine.reached(rows.X)):
        _, _, leaves = engine.batch_gradients(everything[row : row + 1], step)
        touched = np.flatnonzero(np.abs(leaves.reshape(8, -1)).sum(axis=1))
        assert_array_equal(touched, [leaf])
        alone = Rows(*(array[row : row + 1] for array in rows))
        _, expected = gradients_of(cpu_engine(problem, topology, alone, parameters), alone, step)
        n_outputs = problem.n_outputs
        own = slice(leaf * n_outputs, (leaf + 1) * n_outputs)
        assert_allclose(leaves[own], expected["leaves"][own])


def test_all_three_learn_and_differ():
    X, y = make_regression(500, 4, noise=1.0, random_state=0)
    y = np.where(X[:, 0] > 0, y, -y)
    makers = (straight_through_regressor, top_k_regressor, TopKReg1Regressor)
    fitted = [make(3, max_iter=30, random_state=0).fit(X, y) for make in makers]
    assert all(regressor.score(X, y) > 0.5 for regressor in fitted)
    assert len({regressor.tree_.fingerprint() for regressor in fitted}) == 3


def test_configurations_can_be_changed():
    assert straight_through_regressor(3, guard=False).get_params()["training"] == "straight_through"
    assert top_k_regressor(3, batch_size=64).get_params()["batch_size"] == 64
