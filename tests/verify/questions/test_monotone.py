"""Order of answers against exact optima over all pairs of leaves, and behind encoders against samples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.tree import Column, Encoder, Model, TanhScale, Topology, Tree
from dtsemnet.verify import Domain, monotone, reachable_leaves
from strategies import make_model, trees
from verify.oracle import N_TREES, answer, box, grid, hard_trees, is_satisfiable, law, leaf_terms, optimum, variables

BOX = Domain(-1.0, 1.0)
POINTS = grid(2, -1.0, 1.0, 33)
small_trees = st.integers(2, 4).flatmap(
    lambda d: st.sampled_from(["class", "constant", "linear", "guard"]).flatmap(
        lambda kind: trees(kind=kind, n_features=d, max_splits=3)
    )
)


def exact_fall(tree, j):
    """Supremum of the fall of the answer over steps up in a feature, in real arithmetic."""
    x, y = variables(tree), variables(tree, "y")
    step = [a <= b if k == j else a == b for k, (a, b) in enumerate(zip(x, y))]
    falls = []
    for a in range(tree.n_leaves):
        for b in range(tree.n_leaves):
            ends = leaf_terms(tree, a, x, inside=False) + leaf_terms(tree, b, y, inside=False)
            terms = box(x, -1, 1) + box(y, -1, 1) + step + ends
            if is_satisfiable(terms):
                falls.append(-optimum(terms, answer(tree, b, 0, y) - answer(tree, a, 0, x)))
    return max(falls)


def only_rounding_reaches(tree):
    """Whether a leaf that is empty in real arithmetic is not proved to be empty in doubles."""
    x, unreachable = variables(tree), reachable_leaves(tree, BOX).unreachable
    return any(
        leaf not in unreachable and not is_satisfiable(box(x, -1, 1) + leaf_terms(tree, leaf, x, inside=False))
        for leaf in range(tree.n_leaves)
    )


@pytest.mark.parametrize("n", N_TREES)
def test_agrees_with_exact_arithmetic(n, record_property, tally):
    hard = [{"tree": tree, "j": j} for kind in ("class", "linear") for tree in hard_trees(kind) for j in (0, 1)]

    outcomes = Counter()

    @law(n, *hard, tree=small_trees, j=st.integers(0, 1))
    def agrees(tree, j):
        fall = exact_fall(tree, j)
        output = tree.class_names[0] if tree.is_classifier else 0
        found, nearly = (monotone(tree, j, BOX, output=output, tolerance=tolerance) for tolerance in (0.0, 1e-9))
        tally.next_tree()
        tally("monotone", found.status != "undecided")
        tally("monotone, tolerance 1e-9", nearly.status != "undecided")
        falls = "falls" if fall > 1e-8 else "falls by less than a tolerance" if fall > 0 else "never falls"
        relaxed = ", rounding alone reaches a leaf" if fall <= 0 and only_rounding_reaches(tree) else ""
        outcomes[f"{falls}{relaxed}: {found.status}, with a tolerance {nearly.status}"] += 1
        if fall > 1e-8:
            assert found.status == nearly.status == "no"
        if fall <= 0 and not only_rounding_reaches(tree):
            assert nearly.status == "yes"
            assert found.status != "no"
        if found.status == "no":
            assert found.low[j] <= found.high[j]
            assert (np.delete(found.low, j) == np.delete(found.high, j)).all()
            assert (np.abs(np.stack([found.low, found.high])) <= 1).all()
            rows = np.stack([found.low, found.high])
            before, after = tree.predict_proba(rows)[:, 0] if tree.is_classifier else tree.predict(rows)
            assert after < before

    agrees()
    for outcome, count in outcomes.items():  # pytest --junit-xml=FILE writes them down
        record_property(outcome, count)


def test_tree_without_undecided_leaves_is_decided_to_rounding():
    # |x|: two linear leaves that meet in 0, rising only right of it
    tree = Tree(Topology.complete(1), [[1.0, 0.0]], [0.0], [[0.0], [0.0]], coef=[[[-1.0, 0.0]], [[1.0, 0.0]]])
    assert monotone(tree, 0, BOX).status == "no"
    assert monotone(tree, 0, Domain([0, -1], [1, 1]), tolerance=1e-9).status == "yes"
    assert monotone(tree, 0, Domain([-1, -1], [0, 1]), increasing=False, tolerance=1e-9).status == "yes"
    assert monotone(tree, 1, BOX, tolerance=1e-9).status == "yes"


def test_guard_hides_a_fall():
    tree = Tree(Topology([]), np.empty((0, 2)), [], [[0.0]], coef=[[[-1.0, 1.0]]], lower=[[0.0]], upper=[[9.0]])
    assert monotone(tree, 0, BOX).status == "no"
    held = Domain([0, -1], [1, 0])
    assert monotone(tree, 0, held, tolerance=1e-9).status == "yes"  # y - x <= 0 everywhere: clipped to 0


COLUMNS = [
    Column("up", center=3.0, scale=0.7),
    Column("down", center=1.0, scale=-0.3),
    Column("clipped", scale=2.0, lower=-1.0, upper=1.0),
    Column("gap", missing="indicator", fill=0.2),
    Column("colour", categories=["red", "blue"]),
    Column("flat", scale=0.0),
]
WIDE = Domain(-2.0, 2.0, missing=["gap"])


def rising(coef):
    """A tree whose answer rises with the feature of every column of numbers."""
    weight = np.array(
        [[1.0, 1, 1, 1, -3, 0.5, -0.5, 1], [0.5, 1, 2, 1, 3, -0.5, 0.5, 1], [1, 0.1, 1, 1, 3, 1, -0.5, 1]]
    )
    names = Encoder(COLUMNS).feature_names
    value = [[0.0], [4.0], [8.0], [12.0]]
    line = None if not coef else np.tile([[0.01, 0.02, 0.5, 0.1, -0.3, 0.2, 0.1, 0.0]], (4, 1, 1))
    return Tree(Topology.complete(2), weight, [0.1, 1.3, -1.2], value, line, feature_names=names)


@pytest.mark.parametrize("coef", [False, True])
@pytest.mark.parametrize("output", [None, TanhScale(-1.0, 2.0)])
def test_raising_a_column_behind_an_encoder(coef, output):
    tree = rising(coef)
    model = Model(Encoder(COLUMNS), tree, *([] if output is None else [output]))
    for name in ("up", "clipped", "gap", "flat"):
        assert monotone(model, name, WIDE).status == "yes"
    assert monotone(model, "down", WIDE, increasing=False).status == "yes"
    assert monotone(model, "flat", WIDE, increasing=False).status == "yes"
    for name, increasing in (("up", False), ("clipped", False), ("gap", False), ("down", True)):
        found = monotone(model, name, WIDE, increasing=increasing)
        j = [column.name for column in COLUMNS].index(name)
        assert found.status == "no"
        assert found.low[j] < found.high[j]
        assert all(a == b or a != a for k, (a, b) in enumerate(zip(found.low, found.high)) if k != j)
        before, after = model.predict(np.stack([found.low, found.high]))
        assert before < after if not increasing else after < before


@pytest.mark.parametrize("kind", ["mixed linear", "mixed class", "tanh", "multi-output"])
def test_no_sample_contradicts_a_proof(kind):
    model = make_model(kind, 2)
    rng = np.random.default_rng(0)
    rows = np.empty((4000, model.encoder.n_columns), dtype=object)
    for j, column in enumerate(model.encoder.columns):
        choice = np.array(column.categories or [0], dtype=object)
        rows[:, j] = rng.uniform(-2, 2, len(rows)) if column.categories is None else rng.choice(choice, len(rows))

    o = min(1, model.tree.n_outputs - 1)
    output = model.class_names[o] if model.is_classifier else o

    def answers(X):
        return (model.predict_proba(X) if model.is_classifier else model.predict(X).reshape(len(X), -1))[:, o]

    for j, column in enumerate(model.encoder.columns):
        if column.categories is not None:
            continue
        raised = rows.copy()
        raised[:, j] = 2.0 - (2.0 - rows[:, j].astype(float)) * rng.random(len(rows))
        falls = bool((answers(raised) < answers(rows) - 1e-9).any())
        found = monotone(model, column.name, Domain(-2.0, 2.0), output=output)
        if falls:
            assert found.status == "no"
        if found.status == "no":
            assert found.low[j] < found.high[j]
            before, after = answers(np.stack([found.low, found.high]))
            assert after <= before


def test_integers_and_constraints_hold_for_both_inputs():
    # 1.5 < x <= 1.75 answers less; whole numbers step over it
    tree = Tree(Topology([[-1, 1], [-2, -3]]), [[1.0, 0], [1.0, 0]], [-1.5, -1.75], [[1.0], [0.0], [2.0]])
    assert monotone(tree, 0, Domain(0, 4)).status == "no"
    assert monotone(tree, 0, Domain(0, 4, integer=[0])).status == "yes"
    assert monotone(tree, 0, Domain(0, 4, A=[[1, 0]], b=[1.25])).status == "yes"
    slanted = Domain(0, 4, A=[[1.0, 1.0]], b=[2.0])
    found = monotone(tree, 0, slanted)
    assert found.status == "no"
    assert found.high.sum() <= 2.0


def test_bad_arguments_are_named_and_time_is_kept():
    model = Model(Encoder(COLUMNS), rising(True))
    with pytest.raises(ValueError, match="categories have no order"):
        monotone(model, "colour", WIDE)
    with pytest.raises(ValueError, match="tolerance must be"):
        monotone(model, "up", WIDE, tolerance=-1)
    with pytest.raises(ValueError, match="output must be a number"):
        monotone(model, "up", WIDE, output="yes")
    late = monotone(model, "up", WIDE, time_limit=0.0)
    assert late.status == "undecided"
    assert late.margin > 0


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
