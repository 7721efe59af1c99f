"""CART: scikit-learn's tree, tuned on validation rows, as one of ours."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet.fit.data import Sample
from dtsemnet_paper.baselines import CARTClassifier, CARTRegressor
from dtsemnet_paper.baselines.cart import _losses_by_depth


@parametrize_with_checks([CARTClassifier(), CARTRegressor()])
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_nothing_to_choose_gives_the_tree_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X, place = np.unique(X, axis=0, return_index=True)
    y = y[place]
    cart = CARTClassifier(3, min_samples_leaf=4, validation_fraction=0, random_state=0).fit(X, y)
    peer = DecisionTreeClassifier(max_depth=3, min_samples_leaf=4, random_state=0).fit(X, y)
    assert cart.get_n_leaves() == peer.get_n_leaves()
    assert np.mean(cart.predict(X) == peer.predict(X)) > 0.98  # equal but for ties between splits


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_deep_tree_cut_off_is_the_tree_of_that_depth(depth):
    X, y = load_wine(return_X_y=True)
    rows = Sample(X, np.arange(len(X)), y, np.ones(len(X)))
    cut = _losses_by_depth(DecisionTreeClassifier(random_state=0).fit(X, y), rows, 6)[depth]
    grown = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
    assert cut == pytest.approx(np.mean(grown.predict(X) != y), abs=0.02)


def test_depth_and_leaf_size_are_the_best_on_the_validation_rows():
    X, y = load_diabetes(return_X_y=True)
    train, validation = slice(0, 300), slice(300, 442)
    chosen = CARTRegressor(6, min_samples_leaf=(1, 10, 40), random_state=0)
    chosen.fit(X[train], y[train], X_val=X[validation], y_val=y[validation])
    error = np.mean((chosen.predict(X[validation]) - y[validation]) ** 2)
    for depth in range(1, 7):
        for size in (1, 10, 40):
            other = CARTRegressor(depth, min_samples_leaf=size, validation_fraction=0, random_state=0)
            other.fit(X[train], y[train])
            # Ties between splits fall otherwise at another depth, hence the little room.
            assert error <= 1.02 * np.mean((other.predict(X[validation]) - y[validation]) ** 2)


def test_a_class_without_weight_keeps_its_column():
    X, y = load_iris(return_X_y=True)
    cart = CARTClassifier(3, random_state=0).fit(X, y, np.where(y == 1, 0.0, 1.0))
    assert cart.predict_proba(X).shape == (150, 3)
    assert_array_equal(cart.predict_proba(X)[:, 1], 0)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"criterion": "best"}, "criterion"),
        ({"max_depth": -1}, "max_depth"),
    ],
)
def test_illegal_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        CARTClassifier(**parameters).fit(*load_iris(return_X_y=True))


def test_a_tree_of_depth_zero_is_one_leaf():
    X, y = load_diabetes(return_X_y=True)
    stump = CARTRegressor(0).fit(X, y)
    assert stump.get_n_leaves() == 1
    assert stump.predict(X[:1])[0] == pytest.approx(y.mean())
