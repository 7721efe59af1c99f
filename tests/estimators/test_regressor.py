"""What is particular to regression."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from dtsemnet import DTSemNetRegressor

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
