"""Where two trees differ, against grids and exact arithmetic."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.tree import Column, Encoder, Model, Topology, Tree, canonical
from dtsemnet.verify import Domain, difference, equivalent, prune_unreachable
from strategies import trees
from verify.oracle import N_TREES, answer, box, grid, hard_trees, is_satisfiable, law, leaf_terms, number, variables

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
def test_difference_is_that_of_exact_arithmetic(n, tally):
    hard = [{"case": (one, other), "tolerance": 0.5} for one, other in itertools.pairwise(hard_trees("linear"))]
    hard += [{"case": (one, other), "tolerance": 0.0} for one, other in itertools.pairwise(hard_trees("class"))]
    cases = st.tuples(st.integers(2, 4), st.sampled_from(["class", "constant", "linear", "guard"])).flatmap(
        lambda face: st.tuples(*[trees(kind=face[1], n_features=face[0], max_splits=3)] * 2)
    )

    @law(n, *hard, case=cases, tolerance=st.sampled_from([0.0, 0.5]))
    def agrees(case, tolerance):
        tally.next_tree()
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
        tally("equivalent, difference", status != "undecided")
        assert status == ("no" if told else "undecided" if found.undecided else "yes")

    agrees()


@settings(max_examples=30)
@given(tree=trees(n_features=3, max_splits=6))
def test_edits_that_keep_the_function_are_proved_to(tree):
    for other in (tree, canonical(tree), prune_unreachable(tree, BOX)):
        if tree.n_outputs == 1 or tree.is_classifier or tree.coef is None:
            assert equivalent(tree, other, BOX)


def test_trees_that_cannot_be_compared_are_refused():
    one = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]])
    two = Tree(Topology([]), np.empty((0, 2)), [], [[0.0]])
    with pytest.raises(ValueError, match="same columns"):
        equivalent(one, two, BOX)
    with pytest.raises(ValueError, match="both be classifiers"):
        equivalent(one, Tree(Topology([]), np.empty((0, 1)), [], [[1.0]], class_names=["a"]), BOX)


def test_fills_matter_only_if_values_may_be_missing():
    tree = Tree(Topology.complete(1), [[1.0, 0.0, 1.0]], [0.0], [[0.0], [1.0]])

    def model(age, colour):
        columns = [Column("colour", categories=["red", "blue"], missing="fill", fill=colour)]
        return Model(Encoder([*columns, Column("age", missing="fill", fill=age)]), tree)

    one, other = model(1.0, "red"), model(2.0, "blue")
    assert equivalent(one, other, BOX)
    assert equivalent(one, model(1.0, "red"), Domain(-1.0, 1.0, missing=["age"], categories={"colour": [None]}))
    for missing in ({"missing": ["age"]}, {"categories": {0: ["red", None]}}, {"fixed": {"colour": None}}):
        with pytest.raises(ValueError, match="do not read missing values there in the same way"):
            equivalent(one, other, Domain(-1.0, 1.0, **missing))


def test_time_limit_leaves_pairs_undecided():
    rng = np.random.default_rng(0)
    a, b = (
        Tree(Topology.complete(4), rng.normal(size=(15, 8)), rng.normal(size=15), rng.normal(size=(16, 1)))
        for _ in range(2)
    )
    assert difference(a, b, BOX, time_limit=0.0).undecided


def test_leaves_with_the_same_weights_of_other_columns_are_not_the_same():
    trees = [
        Tree(Topology([]), np.empty((0, 2)), [], [[0.0]], coef=[[[1.0, 2.0]]], feature_names=names)
        for names in (["x", "y"], ["y", "x"])
    ]
    answer = equivalent(*trees, Domain(0.0, 1.0, names=["x", "y"]))
    assert answer.status == "no"
    x, y = answer.witness
    assert x + 2 * y != y + 2 * x
