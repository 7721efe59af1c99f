"""Questions over pairs of leaves, against grids; simplification against its bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.tree import Topology, Tree, canonical
from dtsemnet.verify import Domain, difference, equivalent, monotone, prune_unreachable, simplify
from dtsemnet.verify.pairs import product
from strategies import trees
from verify.oracle import (
    N_TREES,
    affine,
    answer,
    box,
    grid,
    hard_trees,
    is_satisfiable,
    law,
    leaf_terms,
    number,
    optimum,
    variables,
)  # fmt: skip

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


def exact_disagreements(a, b, tolerance):
    """Pairs of leaves with a point on which answers differ by more, in real arithmetic."""
    x, found = variables(a), set()
    for i in range(a.n_leaves):
        for j in range(b.n_leaves):
            terms = box(x, -1, 1) + leaf_terms(a, i, x, inside=False) + leaf_terms(b, j, x, inside=False)
            if a.is_classifier:
                terms += [] if a.leaf_class[i] != b.leaf_class[j] else [False]
            else:
                gap = answer(a, i, 0, x) - answer(b, j, 0, x)
                terms.append(z3.Or(gap > number(tolerance), gap < number(-tolerance)))
            if is_satisfiable(terms):
                found.add((i, j))
    return found


@pytest.mark.parametrize("n", N_TREES)
def test_difference_is_that_of_exact_arithmetic(n):
    hard = [{"case": (one, other), "tolerance": 0.5} for one, other in itertools.pairwise(hard_trees("linear"))]
    hard += [{"case": (one, other), "tolerance": 0.0} for one, other in itertools.pairwise(hard_trees("class"))]
    cases = st.tuples(st.integers(2, 4), st.sampled_from(["class", "constant", "linear", "guard"])).flatmap(
        lambda face: st.tuples(*[trees(kind=face[1], n_features=face[0], max_splits=3)] * 2)
    )

    @law(n, *hard, case=cases, tolerance=st.sampled_from([0.0, 0.5]))
    def agrees(case, tolerance):
        a, b = (plain(tree) for tree in case)
        found, exact = difference(a, b, BOX, tolerance=tolerance), exact_disagreements(a, b, tolerance)
        told = {(region.leaf_a, region.leaf_b) for region in found.regions}
        assert exact <= told | set(found.undecided)
        for region in found.regions:
            assert (a.apply(region.witness[None])[0], b.apply(region.witness[None])[0]) == (
                region.leaf_a,
                region.leaf_b,
            )
        status = equivalent(a, b, BOX, tolerance=tolerance).status
        assert status == ("no" if told else "undecided" if found.undecided else "yes")

    agrees()


@pytest.mark.parametrize("n", N_TREES)
def test_simplified_scores_move_by_the_bound_and_no_more(n):
    cases = st.integers(2, 4).flatmap(lambda d: trees(kind="constant", n_features=d, max_splits=4))

    @law(
        n,
        *({"tree": tree, "tolerance": 0.4} for tree in hard_trees("constant")),
        tree=cases,
        tolerance=st.sampled_from([0.1, 0.4, 0.9]),
    )
    def agrees(tree, tolerance):
        found, x = simplify(tree, tolerance, BOX), variables(tree)
        for i, shift in enumerate(found.score_shift.tolist()):
            before = affine(tree.weight[i], tree.bias[i], x)
            after = affine(found.tree.weight[i], found.tree.bias[i], x)
            exact = -min(optimum(box(x, -1, 1), sign * (before - after)) for sign in (1, -1))
            assert exact <= shift <= float(exact) * (1 + 1e-6) + 1e-9
            changes = z3.And(before > 0, after <= 0), z3.And(before <= 0, after > 0)
            far = z3.Or(after > number(shift), after < -number(shift))
            assert not is_satisfiable([*box(x, -1, 1), z3.Or(*changes), far])

    agrees()


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
