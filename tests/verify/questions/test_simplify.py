"""Fewer weights: scores and outputs move by no more than the bounds say."""

from __future__ import annotations

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, simplify
from strategies import make_model, trees
from verify.oracle import N_TREES, affine, box, grid, hard_trees, is_satisfiable, law, number, optimum, variables

BOX = Domain(-1.0, 1.0)


@pytest.mark.parametrize("n", N_TREES)
def test_simplified_scores_move_by_the_bound_and_no_more(n, tally):
    cases = st.integers(2, 4).flatmap(lambda d: trees(kind="constant", n_features=d, max_splits=4))

    @law(
        n,
        *({"tree": tree, "tolerance": 0.4} for tree in hard_trees("constant")),
        tree=cases,
        tolerance=st.sampled_from([0.1, 0.4, 0.9]),
    )
    def agrees(tree, tolerance):
        found, x = simplify(tree, tolerance, BOX), variables(tree)
        tally.next_tree()
        tally("simplify", True)
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


def test_bad_arguments_are_named():
    leaf = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]])
    for tolerance in (2.0, -0.1, np.nan, "0.1"):
        with pytest.raises(ValueError, match="tolerance must lie"):
            simplify(leaf, tolerance, BOX)
    with pytest.raises(ValueError, match="time_limit must be"):
        simplify(leaf, 0.1, BOX, time_limit=-1.0)


def test_without_time_the_bounds_are_the_same():
    tree = Tree(Topology.complete(1), [[1.0, 0.001]], [-0.5], [[0.0], [1.0]])
    part = Domain(0.0, 1.0, A=[[1.0, 1.0]], b=[1.5])
    whole, quick = simplify(tree, 0.01, part), simplify(tree, 0.01, part, time_limit=0.0)
    assert_array_equal(quick.score_shift, whole.score_shift)


def test_a_simpler_model_keeps_margin_probabilities():
    model = make_model("margin class")
    assert simplify(model, 0.1, BOX).tree.probability == model.probability
