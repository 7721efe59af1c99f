"""Trees to begin with: each is what it says it is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet.fit.initial_trees import CartTree, GreedyTree, HingeTree, LogisticTree, OneLeaf, RandomTree
from dtsemnet.training import Rows
from dtsemnet.tree import Tree


def standard(X):
    X = np.asarray(X, dtype=np.float64)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)


def rows_of(X, y):
    y = np.asarray(y)
    y = y.astype(np.int64) if y.ndim == 1 else y.astype(np.float32)
    return Rows(X, y, np.ones(len(X), np.float32))


def leaves(grown, X):
    tree = Tree(grown.topology, grown.splits[:, :-1], grown.splits[:, -1], np.zeros((grown.topology.n_leaves, 1)))
    return tree.apply(X)


def classes(grown, X):
    return grown.leaf_class[leaves(grown, X)]


WINE = standard(load_wine().data), load_wine().target
IRIS = standard(load_iris().data), load_iris().target
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
def test_a_logistic_regression_is_a_tree_of_one_split_less_than_classes(n_classes):
    rng = np.random.default_rng(n_classes)
    center = rng.normal(size=(n_classes, 4)) * 1.5
    y = rng.integers(n_classes, size=300)
    X = standard(center[y] + rng.normal(size=(300, 4)))
    grown = LogisticTree(1.0).grow(rows_of(X, y), RNG)
    assert grown.topology.depth == n_classes - 1
    model = LogisticRegression(C=1.0, max_iter=200, tol=1e-3).fit(X, y)
    fresh = standard(rng.normal(size=(2000, 4)) * 3)
    # The two round differently, so rows between two classes may differ.
    score = np.sort(model.decision_function(fresh).reshape(2000, -1), axis=1)
    clear = np.abs(score[:, -1] - (score[:, -2] if n_classes > 2 else 0)) > 1e-4
    assert clear.mean() > 0.99
    assert_array_equal(classes(grown, fresh)[clear], model.predict(fresh)[clear])


@pytest.mark.parametrize(("depth", "min_rows"), [(1, 1), (3, 5), (15, 1)])
def test_cart_is_cart(depth, min_rows):
    X, y = WINE
    grown = CartTree(depth, min_rows).grow(rows_of(X, y), np.random.default_rng(1))
    seed = int(np.random.default_rng(1).integers(2**31))
    fitted = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=min_rows, random_state=seed).fit(X, y)
    assert_array_equal(classes(grown, X), fitted.predict(X))


def test_cart_of_numbers_has_the_leaves_of_cart():
    X, _ = WINE
    target = X[:, [0]] * 2 + X[:, [1]]
    grown = CartTree(4, 3).grow(rows_of(X, target), np.random.default_rng(1))
    seed = int(np.random.default_rng(1).integers(2**31))
    fitted = DecisionTreeRegressor(max_depth=4, min_samples_leaf=3, random_state=seed).fit(X, target)
    assert grown.leaf_class is None
    assert_array_equal(np.unique(leaves(grown, X), return_inverse=True)[1].max(), len(np.unique(fitted.apply(X))) - 1)


def test_greedy_growth_finds_an_oblique_split_at_once():
    rng = np.random.default_rng(0)
    X = standard(rng.normal(size=(400, 6)))
    y = (X @ [1, 1, 1, 0, 0, 0] > 0).astype(int)
    grown = GreedyTree(1).grow(rows_of(X, y), RNG)
    assert grown.topology.n_splits == 1
    assert (classes(grown, X) == y).mean() > 0.97


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_greedy_growth_keeps_to_its_limits(depth):
    X, y = IRIS
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 0, y)
    grown = GreedyTree(depth, min_rows=7).grow(rows_of(X, noisy), RNG)
    assert grown.topology.depth <= depth
    assert np.bincount(leaves(grown, X)).min() >= 7


def test_a_leaf_of_greedy_growth_has_the_class_of_most_of_its_rows():
    X, y = WINE
    grown = GreedyTree(3).grow(rows_of(X, y), RNG)
    leaf = leaves(grown, X)
    for number in np.unique(leaf):
        assert grown.leaf_class[number] == np.bincount(y[leaf == number]).argmax()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_hinge_is_found_where_two_planes_meet(sign):
    rng = np.random.default_rng(3)
    X = standard(rng.normal(size=(500, 5)))
    first, second = rng.normal(size=(2, 5))
    planes = np.stack([X @ first, X @ second + 0.5])
    y = planes.max(axis=0) if sign > 0 else planes.min(axis=0)
    grown = HingeTree(1).grow(rows_of(X, y[:, None]), RNG)
    assert grown.topology.n_splits == 1
    truth = planes[0] > planes[1]
    side = leaves(grown, X) == 1
    assert max((side == truth).mean(), (side != truth).mean()) > 0.98


def test_one_plane_needs_no_hinge():
    X, _ = WINE
    assert HingeTree(4).grow(rows_of(X, X[:, [0]] - X[:, [3]]), RNG).topology.n_splits == 0


@pytest.mark.parametrize("tree", [OneLeaf(), LogisticTree(1.0), GreedyTree(3), CartTree(3, 1)])
def test_rows_of_one_class_give_one_leaf_of_that_class(tree):
    X, _ = IRIS
    grown = tree.grow(rows_of(X, np.full(len(X), 2)), RNG)
    assert grown.topology.n_leaves == 1
    assert_array_equal(grown.leaf_class, [2])


def test_a_random_tree_is_left_to_the_task():
    assert RandomTree(3).grow(rows_of(*IRIS), RNG) is None


def test_scores_of_unit_spread_keep_every_decision():
    X, y = WINE
    grown = GreedyTree(4).grow(rows_of(X, y), RNG)
    scaled = grown.unit_scores(X)
    assert_array_equal(leaves(scaled, X), leaves(grown, X))
    spread = (X @ scaled.splits[:, :-1].T).std(axis=0)
    np.testing.assert_allclose(spread, 1, rtol=1e-4)


def test_equal_columns_and_constant_ones_do_no_harm():
    X, y = IRIS
    X = np.column_stack([X, X, np.zeros(len(X), np.float32)])
    for tree in (GreedyTree(3), LogisticTree(0.3), CartTree(3, 1)):
        assert np.isfinite(tree.grow(rows_of(X, y), RNG).splits).all()
    assert np.isfinite(HingeTree(2).grow(rows_of(X, np.abs(X[:, [0]])), RNG).splits).all()
