"""Questions over pairs of leaves, against grids; simplification against its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.tree import Topology, Tree, canonical
from dtsemnet.verify import Domain, difference, equivalent, monotone, prune_unreachable, simplify
from dtsemnet.verify.pairs import product
from strategies import trees
from verify.oracle import grid

BOX = Domain(-1.0, 1.0)
POINTS = grid(2, -1.0, 1.0, 33)
pairs = st.sampled_from(["class", "constant", "linear", "guard"]).flatmap(
    lambda kind: st.tuples(*[trees(kind=kind, n_features=2, max_splits=4)] * 2)
)


def plain(tree):
    """The same tree without names, so that labels of two trees compare."""
    if not tree.is_classifier:
        return Tree(tree.topology, tree.weight, tree.bias, tree.value, tree.coef, tree.lower, tree.upper)
    names = [f"class {k}" for k in range(tree.n_outputs)]
    return Tree(tree.topology, tree.weight, tree.bias, tree.value, class_names=names)


@settings(max_examples=40)
@given(case=pairs)
def test_product_reaches_the_pair_of_leaves(case):
    a, b = case
    assert_array_equal(product(a, b).apply(POINTS), a.apply(POINTS) * b.n_leaves + b.apply(POINTS))


@settings(max_examples=40)
@given(case=pairs, tolerance=st.sampled_from([0.0, 0.5]))
def test_difference_finds_every_disagreement_of_a_grid(case, tolerance):
    a, b = (plain(tree) for tree in case)
    found = difference(a, b, BOX, tolerance=tolerance, X=POINTS)
    ours, theirs = a.predict(POINTS), b.predict(POINTS)
    apart = ours != theirs if a.is_classifier else np.abs(ours - theirs) > tolerance
    seen = set(zip(a.apply(POINTS)[apart].tolist(), b.apply(POINTS)[apart].tolist()))
    told = {(region.leaf_a, region.leaf_b) for region in found.regions}
    assert seen <= told | set(found.undecided)
    assert found.share == apart.mean()
    for region in found.regions:
        one, other = a.predict(region.witness[None])[0], b.predict(region.witness[None])[0]
        assert one != other if a.is_classifier else abs(one - other) > tolerance
    assert equivalent(a, b, BOX, tolerance=tolerance).status != ("yes" if apart.any() else "never")


@settings(max_examples=30)
@given(tree=trees(n_features=3, max_splits=6))
def test_edits_that_keep_the_function_are_proved_to(tree):
    for other in (tree, canonical(tree), prune_unreachable(tree, BOX)):
        if tree.n_outputs == 1 or tree.is_classifier or tree.coef is None:
            assert equivalent(tree, other, BOX)


@settings(max_examples=40)
@given(tree=st.sampled_from(["class", "constant"]).flatmap(lambda kind: trees(kind=kind, n_features=2, max_splits=5)))
def test_monotone_against_a_grid(tree):
    output = tree.class_names[0] if tree.is_classifier else 0
    found = monotone(tree, 0, BOX, output=output)

    def answer(X):
        return tree.predict_proba(X)[:, 0] if tree.is_classifier else tree.predict(X)

    table = answer(POINTS).reshape(33, 33)  # rows: second column, columns: first column ascending
    falls = (np.diff(table, axis=1) < 0).any()
    if falls:
        assert found.status == "no"
    if found.status == "no":
        assert found.low[0] <= found.high[0]
        assert_array_equal(found.low[1:], found.high[1:])
        assert (np.abs(np.stack([found.low, found.high])) <= 1).all()
        assert answer(found.high[None])[0] < answer(found.low[None])[0]
    assert all(proof.check() for proof in found.proofs)


def test_monotone_ties_are_decided_by_the_order_of_doubles():
    tree = Tree(Topology.complete(2), [[0.1, 0.3], [0.7, -0.2], [0.3, 0.1]], [0.1, 0.2, -0.3], [[0], [1], [1], [2]])
    assert monotone(tree, 0, BOX)
    assert monotone(tree, 1, BOX).status == "no"
    assert monotone(tree, 0, BOX, increasing=False).status == "no"


@settings(max_examples=30)
@given(tree=trees(kind="linear", n_features=3, max_splits=6), tolerance=st.sampled_from([0.0, 0.1, 0.4]))
def test_simplified_tree_stays_within_its_bounds(tree, tolerance):
    found = simplify(tree, tolerance, BOX)
    X = grid(3, -1.0, 1.0, 9)
    if tree.n_splits:
        assert (np.abs(tree.scores(X) - found.tree.scores(X)) <= found.score_shift).all()
    stays = ~found.may_change(X) if tree.n_splits else np.ones(len(X), dtype=bool)
    assert_array_equal(tree.apply(X)[stays], found.tree.apply(X)[stays])
    leaf = tree.apply(X)[stays]
    moved = np.abs(tree.predict(X)[stays] - found.tree.predict(X)[stays])
    assert (moved <= found.output_shift[leaf, 0] + 1e-15).all()


def test_trees_of_different_faces_are_refused():
    one = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]])
    two = Tree(Topology([]), np.empty((0, 2)), [], [[0.0]])
    with pytest.raises(ValueError, match="same columns"):
        equivalent(one, two, BOX)
    with pytest.raises(ValueError, match="both be classifiers"):
        equivalent(one, Tree(Topology([]), np.empty((0, 1)), [], [[1.0]], class_names=["a"]), BOX)
    with pytest.raises(ValueError, match="tolerance must lie"):
        simplify(one, 2.0, BOX)


def test_time_limit_leaves_pairs_undecided():
    rng = np.random.default_rng(0)
    a, b = (
        Tree(Topology.complete(4), rng.normal(size=(15, 8)), rng.normal(size=15), rng.normal(size=(16, 1)))
        for _ in range(2)
    )
    assert difference(a, b, BOX, time_limit=0.0).undecided
