"""Pruning: limits are kept, and the path is that of scikit-learn for a tree of scikit-learn's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet.fit.data import Sample, Scaling, merge
from dtsemnet.fit.leaves import leaves_of
from dtsemnet.fit.pruning import Limits, best_subtrees, class_costs, pruned, pruning_path, regression_costs
from dtsemnet.tree import Topology, Tree, keep_splits


def sample_of(X, y):
    return Sample(X, np.arange(len(X)), y, np.ones(len(X)))


def wine():
    X, y = load_wine(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    fitted = DecisionTreeClassifier(min_samples_leaf=2, random_state=0).fit(X, y)
    return Tree.from_sklearn(fitted), sample_of(X, y), fitted.cost_complexity_pruning_path(X, y)


def test_the_path_of_classes_is_that_of_scikit_learn():
    tree, sample, theirs = wine()
    ours = pruning_path(tree, sample, class_costs(3))
    # scikit-learn collapses all splits of equal worth in one step, ours one after the other.
    distinct = np.append(np.flatnonzero(np.diff(ours.ccp_alphas) > 1e-12), len(ours.ccp_alphas) - 1)
    assert_allclose(np.unique(ours.ccp_alphas[distinct].round(12)), np.unique(theirs.ccp_alphas.round(12)), atol=1e-9)
    assert_allclose(ours.impurities[[0, -1]], theirs.impurities[[0, -1]])


def test_the_path_of_numbers_with_constant_leaves_is_that_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    fitted = DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(X, y)
    sample = sample_of(X, y[:, None])
    ours = pruning_path(Tree.from_sklearn(fitted), sample, regression_costs(Scaling.of(sample), linear=False))
    theirs = fitted.cost_complexity_pruning_path(X, y)
    assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, rtol=1e-6, atol=1e-6)
    assert_allclose(ours.impurities, theirs.impurities, rtol=1e-6)
    assert_array_equal(ours.n_leaves[[0, -1]], [12, 1])
    assert (np.diff(ours.n_leaves) < 0).all()


def test_more_alpha_never_leaves_more_leaves():
    tree, sample, path = wine()
    sizes = [pruned(tree, sample, Limits(ccp_alpha=a), class_costs(3)).n_leaves for a in [0, *path.ccp_alphas * 1.0001]]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_the_best_subtree_is_that_of_cost_complexity_pruning():
    tree, sample, path = wine()
    alphas = np.append(path.ccp_alphas[:-1] + np.diff(path.ccp_alphas) / 2, 1.0)
    for alpha, best in zip(alphas, best_subtrees(tree, sample, alphas, class_costs(3))):
        assert best.topology == pruned(tree, sample, Limits(ccp_alpha=alpha), class_costs(3)).topology


def test_no_subtree_costs_less_than_the_best_one():
    rng = np.random.default_rng(0)
    sample = sample_of(rng.standard_normal((60, 2)), rng.integers(0, 2, 60))
    tree = Tree(Topology.complete(3), rng.standard_normal((7, 2)), rng.standard_normal(7), np.zeros((8, 1)))
    for alpha in (0.0, 0.01, 0.05, 1.0):
        costs = []
        for keeps in itertools.product((False, True), repeat=7):
            smaller = keep_splits(tree, keeps)
            costs.append(class_costs(2)(smaller, sample)[1].sum() + alpha * smaller.n_leaves)
        (best,) = best_subtrees(tree, sample, [alpha], class_costs(2))
        assert_allclose(class_costs(2)(best, sample)[1].sum() + alpha * best.n_leaves, min(costs))


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_no_more_leaves_than_allowed(most):
    tree, sample, _ = wine()
    assert pruned(tree, sample, Limits(max_leaf_nodes=most), class_costs(3)).n_leaves == min(most, tree.n_leaves)


@pytest.mark.parametrize("least", [1, 5, 20, 0.1, 0.3])
def test_no_leaf_with_fewer_rows_than_asked_for(least):
    tree, sample, _ = wine()
    small = pruned(tree, sample, Limits(min_samples_leaf=least), class_costs(3))
    count = np.bincount(leaves_of(small, sample), minlength=small.n_leaves)
    assert count.min() >= (least * len(sample) if least < 1 else least)


def test_a_weight_of_two_counts_as_two_rows():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    tree = Tree(Topology([[1, -3], [-1, -2]]), [[1.0], [1.0]], [-1.5, -0.5], np.eye(2)[[0, 0, 1]], class_names=[0, 1])
    once = merge(X, y, np.array([1.0, 2.0, 2.0, 1.0]))
    assert pruned(tree, once, Limits(min_samples_leaf=2), class_costs(2)).n_leaves == 2
    assert pruned(tree, once, Limits(min_samples_leaf=1), class_costs(2)).n_leaves == 3


def test_leaves_without_rows_go():
    tree = Tree(Topology.complete(2), [[1.0], [1.0], [1.0]], [0.0, 5.0, -5.0], np.zeros((4, 1)))
    sample = sample_of(np.array([[-1.0], [1.0]]), np.array([[0.0], [1.0]]))
    small = pruned(tree, sample, Limits(), regression_costs(Scaling.of(sample), linear=False))
    assert small.n_leaves == 2


def test_a_linear_leaf_makes_a_split_worthless_that_only_bends_a_line():
    X = np.linspace(-1, 1, 40)[:, None]
    sample = sample_of(X, 3 * X + 1)
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], np.zeros((2, 1)))
    scaling = Scaling.of(sample)
    assert pruned(tree, sample, Limits(ccp_alpha=1e-6), regression_costs(scaling, linear=True)).n_leaves == 1
    assert pruned(tree, sample, Limits(ccp_alpha=1e-6), regression_costs(scaling, linear=False)).n_leaves == 2
