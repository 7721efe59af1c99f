"""What is particular to regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes

from dtsemnet import DTSemNetRegressor
from dtsemnet.fit.data import Scaling, merge
from dtsemnet.fit.leaves import ridge_paths
from dtsemnet.tree import Topology, Tree

X, Y = load_diabetes(return_X_y=True)
QUICK = {"max_depth": 2, "max_iter": 30, "n_init": 2, "random_state": 0}


def kinked(n_rows=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, 3))
    return X, np.where(X[:, 0] + X[:, 1] > 0, 3 * X[:, 2], -X[:, 0])


@pytest.mark.parametrize("training", ["annealed", "paper", "straight_through"])
@pytest.mark.parametrize("leaf", ["linear", "constant"])
def test_every_training_learns(training, leaf):
    X, y = kinked()
    fitted = DTSemNetRegressor(max_depth=3, leaf=leaf, training=training, random_state=0).fit(X, y)
    assert fitted.score(X, y) > (0.8 if leaf == "linear" else 0.4)
    assert (fitted.tree_.coef is None) == (leaf == "constant")


def test_annealing_finds_an_oblique_kink():
    X, y = kinked()
    fitted = DTSemNetRegressor(max_depth=2, random_state=0).fit(X, y)
    assert fitted.score(*kinked(seed=1)) > 0.97


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_every_loss_is_lowered(loss):
    X, y = kinked()
    fitted = DTSemNetRegressor(**{**QUICK, "max_iter": 100}, loss=loss).fit(X, y)
    assert fitted.score(X, y) > 0.8


@pytest.mark.parametrize("quantile", [0.1, 0.9])
def test_quantiles_are_where_they_should_be(quantile):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2))
    y = X[:, 0] + rng.standard_normal(2000)
    fitted = DTSemNetRegressor(**{**QUICK, "max_iter": 60}, loss="quantile", quantile=quantile).fit(X, y)
    assert abs(np.mean(y <= fitted.predict(X)) - quantile) < 0.05


def test_several_outputs():
    X, y = kinked()
    both = np.column_stack([y, 100 - 50 * y])
    fitted = DTSemNetRegressor(**{**QUICK, "max_iter": 100}).fit(X, both)
    assert fitted.predict(X).shape == (len(X), 2)
    assert fitted.score(X, both) > 0.9


def test_the_guard_keeps_outputs_within_what_a_leaf_has_seen():
    X, y = kinked()
    far = X * 1e6
    guarded = DTSemNetRegressor(**QUICK).fit(X, y).predict(far)
    assert guarded.min() >= y.min()
    assert guarded.max() <= y.max()
    assert np.abs(DTSemNetRegressor(**QUICK, guard=False).fit(X, y).predict(far)).max() > 1e3


def test_a_constant_target_is_a_constant_tree():
    fitted = DTSemNetRegressor().fit(X, np.full(len(X), 4.0))
    assert (fitted.predict(X) == 4).all()
    assert fitted.get_n_leaves() == 1


def test_the_paper_s_setting_is_algorithm_1():
    fitted = DTSemNetRegressor(training="paper", max_iter=20, random_state=0).fit(X, Y)
    assert set(fitted.history_["k"]) == {4, 1}
    assert fitted.history_["temperature"][0] == 0.5
    assert "augmented" in fitted.history_["selector"]
    assert fitted.history_["learning_rate"][0] == 0.01
    faster = DTSemNetRegressor(training="paper", max_iter=20, learning_rate=0.02, random_state=0).fit(X, Y)
    assert faster.history_["learning_rate"][0] == 0.02


def test_ridge_paths_solve_the_normal_equations_of_each_leaf():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 2)), rng.standard_normal((80, 1))
    weight = rng.integers(1, 4, 80).astype(float)
    sample = merge(X, y, weight)
    scaling = Scaling.of(sample)
    tree = Tree(Topology.complete(1), [[1.0, 0.5]], [0.1], [[0.0], [0.0]])
    found = ridge_paths(tree, sample, scaling, linear=True, augmented=False, penalties=(2.0,)).leaves[0]
    rows = np.column_stack([scaling.apply(sample, np.float64), np.ones(80)])
    common = np.linalg.solve(
        rows.T * sample.weight @ rows + 1e-3 * np.eye(3), rows.T * sample.weight @ sample.y
    )  # the model of all rows
    for leaf in (0, 1):
        own = tree.apply(sample.to_array()) == leaf
        A, w = rows[own], sample.weight[own]
        penalty = np.diag([2.0, 2.0, 2e-6])
        expected = common + np.linalg.solve(A.T * w @ A + penalty, A.T * w @ (sample.y[own] - A @ common))
        assert_allclose(found[leaf, 0], expected[:, 0], rtol=1e-8)


def test_errors_on_rows_left_out_are_those_of_fits_without_them():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 2)), rng.standard_normal((12, 1))
    sample = merge(X, y, np.ones(12))
    scaling = Scaling.of(sample)
    tree = Tree(Topology([]), np.empty((0, 2)), [], [[0.0]])
    path = ridge_paths(tree, sample, scaling, linear=True, augmented=False, penalties=(2.0,))
    rows = np.column_stack([scaling.apply(sample, np.float64), np.ones(12)])
    common = np.linalg.solve(rows.T @ rows + 1e-3 * np.eye(3), rows.T @ sample.y)
    errors = []
    for i in range(12):
        keep = np.arange(12) != i
        A, r = rows[keep], (sample.y - rows @ common)[keep]
        moved = np.linalg.solve(A.T @ A + np.diag([2.0, 2.0, 2e-6]), A.T @ r)
        errors.append(((sample.y - rows @ common)[i] - rows[i] @ moved) ** 2)
    assert_allclose(path.left_out[0], np.mean(errors), rtol=1e-6)
