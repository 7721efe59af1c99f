"""The one order of summation, against the same order written with Python's own floats."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.kernels import routing
from dtsemnet.kernels.kernel import Kernel
from dtsemnet.tree import Topology, Tree
from strategies import points, trees, wild_points, wild_trees


@pytest.fixture(autouse=True, scope="module")
def no_stand_ins():
    """Test what numba compiles where there are no compiled kernels (as of a mutant), not what comes before that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[Kernel.__module__], "PATIENCE", 0.0)
        yield


def reference_sum(weight, x, bias, *, skip_zeros=False):
    acc = [0.0] * 16
    for j, (w, number) in enumerate(zip(weight, x)):
        if skip_zeros and w == 0:
            continue
        acc[j % 16] = acc[j % 16] + float(w) * float(number)
    for half in (8, 4, 2, 1):
        for k in range(half):
            acc[k] = acc[k] + acc[k + half]
    return acc[0] + float(bias)


def reference_leaf(tree, x):
    node = 0 if tree.n_splits else -1
    while node >= 0:
        right = reference_sum(tree.weight[node], x, tree.bias[node]) > 0
        node = tree.topology.children[node][int(right)]
    return ~node


def bits(array):
    return np.asarray(array, dtype=np.float64).view(np.int64)


@given(st.data(), wild_trees())
def test_scores_leaves_and_outputs_follow_the_documented_order(data, tree):
    X = data.draw(wild_points(tree.n_features))
    expected = [[reference_sum(w, x, b) for w, b in zip(tree.weight, tree.bias)] for x in X]
    assert_array_equal(bits(tree.scores(X)), bits(expected).reshape(len(X), tree.n_splits))
    leaf = [reference_leaf(tree, x) for x in X]
    assert_array_equal(tree.apply(X), leaf)
    output = [reference_sum(tree.coef[k, 0], x, tree.value[k, 0]) for k, x in zip(leaf, X)]
    assert_array_equal(bits(tree.predict(X)), bits(output))


@given(st.data(), wild_trees(n_features=40))
def test_terms_with_zero_weight_may_be_left_out(data, tree):
    X = data.draw(wild_points(40))
    keep = data.draw(st.lists(st.integers(0, 39), max_size=12))
    weight = np.where(np.isin(np.arange(40), keep), tree.weight, data.draw(st.sampled_from([0.0, -0.0])))
    sparse = Tree(tree.topology, weight, tree.bias, tree.value)
    expected = [[reference_sum(w, x, b, skip_zeros=True) for w, b in zip(weight, tree.bias)] for x in X]
    assert_array_equal(bits(sparse.scores(X)), bits(expected).reshape(len(X), tree.n_splits))


@given(st.data(), trees())
def test_apply_agrees_with_the_walk_by_hand_and_ties_go_left(data, tree):
    X = data.draw(points(tree.n_features))
    assert_array_equal(tree.apply(X), [reference_leaf(tree, x) for x in X])


@given(st.data(), wild_trees())
def test_the_path_has_the_splits_of_the_walk_by_hand(data, tree):
    X = data.draw(wild_points(tree.n_features))
    for x, path in zip(X, tree.decision_path(X)):
        node, walked = 0 if tree.n_splits else -1, []
        while node >= 0:
            walked.append(node)
            node = tree.topology.children[node][int(reference_sum(tree.weight[node], x, tree.bias[node]) > 0)]
        assert_array_equal(path, walked + [-1] * (tree.depth - len(walked)))


def test_each_of_several_outputs_has_its_own_model_and_guard():
    rng = np.random.default_rng(0)
    value, coef = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 5))
    below, above = np.array([0.5, 1.0, 9.0]), np.array([9.0, 1.0, 0.5])
    lower, upper = value - below, value + above
    tree = Tree(Topology.complete(2), rng.normal(size=(3, 5)), np.zeros(3), value, coef, lower, upper)
    X = rng.normal(size=(50, 5))
    leaf = tree.apply(X)
    linear = [[reference_sum(coef[k, o], x, value[k, o]) for o in range(3)] for k, x in zip(leaf, X)]
    assert_array_equal(bits(tree.predict(X)), bits(np.clip(linear, lower[leaf], upper[leaf])))


def test_finite_numbers_that_overflow_both_ways_are_refused():
    # Columns 0 and 1 are in partial sums of their own, which meet as inf - inf; one infinity alone has a sign.
    weight, bias, children = routing.pad_rows(np.full((1, 2), 1e300)), np.zeros(1), np.array([-1, -2])
    leaf = np.zeros(2, np.int64)
    assert routing.apply(np.array([[-1e300, 0.0], [1e300, -1e300]]), weight, bias, children, leaf) == 1
    assert routing.apply(np.array([[-1e300, 0.0], [1e300, 1.0]]), weight, bias, children, leaf) == -1
    assert_array_equal(leaf, [0, 1])
    score, path = np.zeros((2, 1)), np.full((2, 1), -1)
    assert routing.scores(np.array([[1e300, -1e300], [0.0, 0.0]]), weight, bias, score) == 0
    assert routing.scores(np.array([[-1e300, 0.0], [1e300, 1.0]]), weight, bias, score) == -1
    assert_array_equal(score, [[-np.inf], [np.inf]])
    assert routing.decision_path(np.array([[1.0, 1.0], [1e300, 1.0]]), weight, bias, children, path) == -1
    assert_array_equal(path, [[0], [0]])
    infinite = np.array([[1.0, 1.0], [np.inf, 1.0]])
    assert routing.apply(infinite, weight, bias, children, leaf) == 1
    assert routing.scores(infinite, weight, bias, score) == 1
    assert routing.decision_path(infinite, weight, bias, children, path) == 1


def test_products_and_sums_are_not_fused():
    # The exact product is 1 - 2**-60, rounded to 1: a fused sum would leave -2**-60.
    tree = Tree(Topology.complete(1), [[1 + 2.0**-30]], [-1.0], [[0.0], [1.0]])
    assert tree.scores([[1 - 2.0**-30]])[0, 0] == 0.0
    # The same inside the sum: column 16 is added to the partial sum of column 0.
    weight = np.zeros((1, 17))
    weight[0, [0, 16]] = 1 + 2.0**-30, -1.0
    row = np.zeros((1, 17))
    row[0, [0, 16]] = 1 - 2.0**-30, 1.0
    assert Tree(Topology.complete(1), weight, [0.0], [[0.0], [1.0]]).scores(row)[0, 0] == 0.0


@pytest.mark.parametrize("width", [1, 15, 16, 17, 64, 65, 130])
def test_rows_refused_are_the_first_in_order_for_narrow_and_wide_rows(width):
    X = np.random.default_rng(0).standard_normal((50, width))
    X[[17, 18, 40], width - 1] = np.nan, np.inf, np.nan
    topology = Topology.complete(3)
    weight = np.random.default_rng(1).standard_normal((7, width))
    weight[0, -1] = 0.0  # 0 * inf is NaN: a weight of zero hides nothing
    weight, bias, children = routing.pad_rows(weight), np.zeros(7), topology.children.ravel()
    leaf, path, score = np.zeros(50, np.int64), np.full((50, 3), -1), np.zeros((50, 7))
    assert routing.apply(X, weight, bias, children, leaf) == 17
    assert routing.decision_path(X, weight, bias, children, path) == 17
    assert routing.scores(X, weight, bias, score) == 17
    assert routing.apply(X[18:], weight, bias, children, leaf[18:]) == 0
    assert routing.apply(X[19:40], weight, bias, children, leaf[19:40]) == -1
    assert routing.first_non_finite(X) == 17
    assert routing.first_non_finite(X[19:40]) == -1


def test_padded_rows_start_on_a_cache_line():
    for n_rows, width in [(1, 1), (3, 16), (5, 17)]:
        matrix = np.random.default_rng(0).standard_normal((n_rows, width))
        flat = routing.pad_rows(matrix)
        assert flat.ctypes.data % 64 == 0
        assert not flat.flags.writeable
        assert_array_equal(flat.reshape(n_rows, -1)[:, :width], matrix)
        assert not flat.reshape(n_rows, -1)[:, width:].any()
