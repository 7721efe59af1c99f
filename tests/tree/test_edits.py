"""Edits that keep the function keep it bit for bit; one folds, one prunes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.tree import (
    Topology,
    Tree,
    canonical,
    drop_leaves,
    drop_unreachable,
    fold_affine,
    keep_splits,
    merge_equal,
    prune,
)
from strategies import points, trees, wild_points, wild_trees


def chain(n_splits, bias, value):
    children = [[~i, i + 1] for i in range(n_splits)]
    children[-1][1] = ~n_splits
    return Tree(Topology(children), np.ones((n_splits, 1)), bias, np.asarray(value, dtype=float)[:, None])


@pytest.mark.parametrize("edit", [merge_equal, drop_unreachable, canonical])
@given(data=st.data(), tree=trees(n_features=2))
def test_predictions_stay_bit_for_bit(edit, data, tree):
    X = data.draw(points(tree.n_features, max_rows=40))
    edited = edit(tree)
    assert edited.n_leaves <= tree.n_leaves
    if tree.is_classifier:
        assert_array_equal(edited.predict_proba(X), tree.predict_proba(X))
    else:
        assert_array_equal(edited.predict(X).view(np.int64), tree.predict(X).view(np.int64))
    assert edit(edited) == edited


@given(data=st.data(), tree=wild_trees(n_features=3))
def test_wild_predictions_stay_bit_for_bit(data, tree):
    # Equal weights, biases beside each other: what follows from an ancestor must hold with every rounding.
    if tree.n_splits:
        rows = data.draw(
            st.lists(st.integers(0, min(1, tree.n_splits - 1)), min_size=tree.n_splits, max_size=tree.n_splits)
        )
        steps = data.draw(st.lists(st.integers(-2, 2), min_size=tree.n_splits, max_size=tree.n_splits))
        bias = [tree.bias[row] + step * np.spacing(tree.bias[row]) for row, step in zip(rows, steps)]
        tree = Tree(tree.topology, tree.weight[rows], bias, tree.value, tree.coef)
    X = data.draw(wild_points(3))
    assert_array_equal(canonical(tree).predict(X).view(np.int64), tree.predict(X).view(np.int64))


@given(data=st.data(), tree=trees(n_features=2))
def test_dropping_leaves_that_no_row_reaches_keeps_these_rows(data, tree):
    X = data.draw(points(2))
    reached = set(tree.apply(X).tolist())
    gone = data.draw(st.sets(st.sampled_from(range(tree.n_leaves)))) - reached
    edited = drop_leaves(tree, gone)
    assert edited.n_leaves == tree.n_leaves - len(gone)
    kept = [leaf for leaf in range(tree.n_leaves) if leaf not in gone]
    assert_array_equal(np.array(kept)[edited.apply(X)], tree.apply(X))
    assert_array_equal(edited.predict(X), tree.predict(X))


def test_unreachable_leaves_are_found():
    # x > 5 right, then x > 3 is always right; x > 5 left and x > 7 is always left.
    after_right = Tree(Topology([[-1, 1], [-2, -3]]), [[1.0], [1.0]], [-5, -3], [[0], [1], [2]])
    assert drop_unreachable(after_right).value.ravel().tolist() == [0, 2]
    after_left = Tree(Topology([[1, -3], [-1, -2]]), [[1.0], [1.0]], [-5, -7], [[0], [1], [2]])
    assert drop_unreachable(after_left).value.ravel().tolist() == [0, 2]
    between = Tree(Topology([[-1, 1], [-2, -3]]), [[1.0], [1.0]], [-3, -5], [[0], [1], [2]])
    assert drop_unreachable(between) == between
    for bias, leaf in [(0.0, 0), (-1.0, 0), (1.0, 1)]:
        constant = Tree(Topology.complete(1), [[0.0, -0.0]], [bias], [[0], [1]])
        assert drop_unreachable(constant).value.ravel().tolist() == [leaf]


def test_bounds_from_one_branch_do_not_leak_into_the_other():
    tree = Tree(Topology.complete(2), [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0, -1, -1], [[0], [1], [2], [3]])
    assert drop_unreachable(tree) == tree


def test_canonical_trees_hold_no_negative_zero_and_nothing_to_merge():
    tree = Tree(
        Topology.complete(2), [[1.0, -0.0]] * 3, [-0.0, -1, 1], [[1], [1], [1], [-0.0]], np.full((4, 1, 2), -0.0)
    )
    plain = canonical(tree)
    assert not np.signbit(plain.weight).any()
    assert not np.signbit(plain.coef).any()
    assert plain.n_leaves == 2
    assert np.signbit(plain.value).sum() == 1  # a leaf's constant is an answer: it stays as it is


def test_leaves_that_differ_by_the_sign_of_zero_are_not_equal():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [-0.0]])
    assert merge_equal(tree) == tree
    guarded = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [0.0]], upper=[[1.0], [2.0]])
    assert merge_equal(guarded) == guarded


@given(data=st.data(), tree=trees(n_features=3))
def test_folding_powers_of_two_is_exact(data, tree):
    X = data.draw(points(3))
    scale = 2.0 ** data.draw(st.integers(-3, 3))
    shift = data.draw(points(3, max_rows=1))[0]
    folded = fold_affine(tree, scale, shift)
    assert_array_equal(folded.apply(X), tree.apply(scale * X + shift))
    assert_array_equal(folded.predict(X), tree.predict(scale * X + shift))


def test_folding_holds_to_rounding():
    rng = np.random.default_rng(0)
    tree = Tree(
        Topology.complete(3),
        rng.normal(size=(7, 4)),
        rng.normal(size=7),
        rng.normal(size=(8, 2)),
        rng.normal(size=(8, 2, 4)),
    )
    scale, shift, X = rng.uniform(0.1, 10, 4), rng.normal(size=4), rng.normal(size=(500, 4))
    folded = fold_affine(tree, scale, shift)
    assert_allclose(folded.scores(X), tree.scores(scale * X + shift), rtol=1e-12, atol=1e-12)
    assert_allclose(folded.predict(X), tree.predict(scale * X + shift), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="weight must be finite"):
        fold_affine(fold_affine(tree, 1e300, 0.0), 1e300, 0.0)
    with pytest.raises(ValueError, match="scale must have shape"):
        fold_affine(tree, [1.0, 2.0], 0.0)


@given(data=st.data(), tree=trees())
def test_pruning_changes_the_rows_below_the_split_and_no_others(data, tree):
    if not tree.n_splits:
        return
    split = data.draw(st.integers(0, tree.n_splits - 1))
    X = data.draw(points(tree.n_features))
    value = np.eye(tree.n_outputs)[0]
    pruned = prune(tree, split, value)
    first, last = tree.topology.spans[0][split], tree.topology.spans[1][split]
    leaf = tree.apply(X)
    inside = (leaf >= first) & (leaf < last)
    assert pruned.n_leaves == tree.n_leaves - (last - first) + 1
    assert_array_equal(pruned.apply(X)[inside], first)
    assert_array_equal(pruned.predict(X)[~inside], tree.predict(X)[~inside])
    assert_array_equal(pruned.value[first], value)


@given(data=st.data(), tree=trees())
def test_keeping_splits_is_pruning_the_others(data, tree):
    keeps = data.draw(st.lists(st.booleans(), min_size=tree.n_splits, max_size=tree.n_splits))
    X, kept = data.draw(points(tree.n_features)), keep_splits(tree, keeps)
    gone, expected = [split for split in range(tree.n_splits) if not keeps[split]], tree.apply(X)
    for split in gone:  # every row below stops at the leftmost leaf
        first, last = tree.topology.spans[0][split], tree.topology.spans[1][split]
        expected = np.where((expected >= first) & (expected < last), first, expected)
    assert_array_equal(kept.scores(X), tree.scores(X)[:, _above(tree, gone)])
    assert_array_equal(kept.value[kept.apply(X)], tree.value[expected])
    assert keep_splits(tree, [True] * tree.n_splits) == tree
    with pytest.raises(ValueError, match="keeps must have shape"):
        keep_splits(tree, [True] * (tree.n_splits + 1))


def _above(tree, gone):
    """Splits that are not gone and not below one that is."""
    lost = set(gone)
    for split, children in enumerate(tree.topology.children):
        if split in lost:
            lost |= {int(child) for child in children if child >= 0}
    return [split for split in range(tree.n_splits) if split not in lost]


def test_pruning_takes_what_the_leaves_of_the_tree_have():
    linear = Tree(Topology.complete(1), [[1.0]], [0.0], [[0], [1]], np.ones((2, 1, 1)), [[0], [-1]], [[5], [4]])
    pruned = prune(linear, 0, [2.0])
    assert (pruned.coef.item(), pruned.lower.item(), pruned.upper.item()) == (0.0, -1.0, 5.0)
    pruned = prune(linear, 0, [2.0], [[3.0]], [0.0], [1.0])
    assert (pruned.coef.item(), pruned.lower.item(), pruned.upper.item()) == (3.0, 0.0, 1.0)
    constant = Tree(Topology.complete(1), [[1.0]], [0.0], [[0], [1]])
    for wrong in ({"coef": [[1.0]]}, {"lower": [0.0]}, {"upper": [0.0]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            prune(constant, 0, [2.0], **wrong)
    with pytest.raises(ValueError, match="split"):
        prune(constant, 1, [2.0])


def test_dropping_every_leaf_or_a_strange_one_is_refused():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0], [1]])
    with pytest.raises(ValueError, match="all of them"):
        drop_leaves(tree, [0, 1])
    with pytest.raises(ValueError, match="between 0 and 1, got 2"):
        drop_leaves(tree, [2])


def test_edits_work_on_chains_deeper_than_the_stack():
    n = 5000
    falling = chain(n, np.arange(n, dtype=float), np.arange(n + 1))  # each split follows from the one above
    assert drop_unreachable(falling).n_splits == 1
    rising = chain(n, -np.arange(n, dtype=float), np.zeros(n + 1))
    assert drop_unreachable(rising) == rising
    assert canonical(rising).n_splits == 0
    assert drop_leaves(rising, range(n)).n_splits == 0
    assert prune(rising, n // 2, [1.0]).n_splits == n // 2
