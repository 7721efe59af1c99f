"""Leaf logits in kernels: the reached leaf has 0, gradients are subtree sums, ranks break ties to the left."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.kernels.logits import best_leaves, choices, leaf_logits, split_gradients, walk
from strategies import topologies

eighths = st.integers(-16, 16).map(lambda i: i / 8)


def draw_scores(topology, seed, dtype, n_samples=40):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-8, 9, (topology.n_splits, n_samples)) / 8  # ties with 0 occur
    scores *= 10.0 ** rng.choice([-30, -3, 0, 3, 30], scores.shape)  # and magnitudes differ
    return scores.astype(dtype)


def logits_of(topology, scores):
    node = np.empty((2 * topology.n_splits + 1, scores.shape[1]), scores.dtype)
    leaf_logits(scores, topology.children, node)
    return node


@given(topologies(), st.integers(0, 2**32), st.sampled_from([np.float32, np.float64]))
def test_the_first_largest_logit_is_the_leaf_walked_to_and_is_zero(topology, seed, dtype):
    scores = draw_scores(topology, seed, dtype)
    logits = logits_of(topology, scores)[topology.n_splits :]
    leaf = np.empty(scores.shape[1], np.int64)
    walk(scores, topology.children, leaf)
    assert_array_equal(logits.argmax(axis=0), leaf)
    assert (logits.max(axis=0) == 0).all()


@given(topologies(), st.integers(0, 2**32))
def test_logits_are_minus_the_margins_violated_on_the_path(topology, seed):
    scores = np.random.default_rng(seed).standard_normal((topology.n_splits, 7))
    expected = np.zeros((topology.n_leaves, 7))
    for j, (splits, sides) in enumerate(zip(*topology.paths)):
        for i, side in zip(splits, sides):
            if side >= 0:
                expected[j] -= np.maximum(scores[i] if side == 0 else -scores[i], 0)
    assert_allclose(logits_of(topology, scores)[topology.n_splits :], expected, atol=1e-12)


@given(topologies(), st.integers(0, 2**32))
def test_split_gradients_sum_over_the_leaves_below(topology, seed):
    rng = np.random.default_rng(seed)
    scores = draw_scores(topology, seed, np.float64)
    node, upstream = logits_of(topology, scores), rng.standard_normal((topology.n_leaves, scores.shape[1]))
    expected = np.zeros_like(scores)
    for j, (splits, sides) in enumerate(zip(*topology.paths)):
        for i, side in zip(splits, sides):
            if side == 0:
                expected[i] -= (scores[i] > 0) * upstream[j]
            elif side == 1:
                expected[i] += (scores[i] < 0) * upstream[j]
    node[topology.n_splits :] = upstream
    split_gradients(scores, topology.children, node)
    assert_allclose(scores, expected, atol=1e-12)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32))
def test_best_leaves_are_a_stable_sort(n_leaves, k, seed):
    k = min(k, n_leaves)
    logit = -np.random.default_rng(seed).integers(0, 4, (n_leaves, 30)) / 8.0  # many ties
    best, index = np.empty((k, 30)), np.empty((k, 30), np.int64)
    best_leaves(logit, best, index)
    order = np.argsort(-logit, axis=0, kind="stable")[:k]
    assert_array_equal(index, order)
    assert_array_equal(best, np.take_along_axis(logit, order, axis=0))


def test_best_leaves_ranks_leaves_of_minus_infinity_too():
    logit = np.array([[-np.inf], [0.0], [-np.inf]])
    best, index = np.empty((3, 1)), np.empty((3, 1), np.int64)
    best_leaves(logit, best, index)
    assert index.ravel().tolist() == [1, 0, 2]


@given(topologies(), st.integers(0, 2**32))
def test_the_first_choice_is_the_leaf_reached(topology, seed):
    scores = draw_scores(topology, seed, np.float64, n_samples=300)
    leaf = np.empty(300, np.int64)
    walk(scores, topology.children, leaf)
    found = choices(np.ascontiguousarray(scores.T), topology.children, min(2, topology.n_leaves))
    assert_array_equal(found[:, 0], leaf)
    assert topology.n_leaves == 1 or (found[:, 0] != found[:, 1]).all()
