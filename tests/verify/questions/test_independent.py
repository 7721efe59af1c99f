"""Dependence on columns against all pairs of rows of finite domains, and against exact arithmetic."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import z3
from hypothesis import strategies as st

from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain, find_flips, independent
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.row_pairs import Change, ChangedCuts
from strategies import trees
from verify.finite import finite_case
from verify.oracle import N_TREES, answer, box, hard_trees, is_satisfiable, law, leaf_terms, number, variables
from verify.test_finite_domains import LISTING, listing

BOX = Domain(-1.0, 1.0)


def question(case, rng):
    """Columns of a finite case that may change, and by how much."""
    columns = case.model.encoder.columns
    chosen = sorted(rng.choice(len(columns), rng.integers(1, min(2, len(columns)) + 1), replace=False).tolist())
    numbers = [j for j in chosen if columns[j].categories is None]
    by = {columns[j].name: float(rng.choice([1.0, 2.0, 2.5])) for j in numbers if rng.random() < 0.5}
    return chosen, by or None


def may_change(case, chosen, by, row, other):
    """Whether one row of a finite case may change to another."""
    for j, column in enumerate(case.model.encoder.columns):
        a, b = row[j], other[j]
        if j not in chosen:
            if not case._same(column, a, b):
                return False
        elif by is not None and column.name in by:
            absent = [x is None or x != x for x in (a, b)]
            if column.missing == "indicator" and absent[0] != absent[1]:
                return False
            a, b = (column.fill if is_absent else x for x, is_absent in zip((a, b), absent))
            if abs(Fraction(float(a)) - Fraction(float(b))) > Fraction(by[column.name]):
                return False
    return True


def answers(case, rows):
    if case.model.is_classifier:
        return (case.model.predict(rows)[:, None] == np.array(case.model.class_names)).astype(float)
    return case.model.predict(rows).reshape(len(rows), -1)


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 600), marks=pytest.mark.slow)])
@pytest.mark.parametrize("lists", LISTING)
def test_agrees_with_all_pairs_of_a_finite_domain(seeds, lists, record_property, tally):
    outcomes = Counter()
    for seed in seeds:
        case = finite_case(seed, ["class", "constant", "linear"][seed % 3], max_rows=60)
        rng = np.random.default_rng(seed)
        chosen, by = question(case, rng)
        tolerance = float(rng.choice([0.0, 0.5]))
        values = answers(case, case.rows)
        differ = (np.abs(values[:, None] - values[None]) > tolerance).any(axis=-1)
        flips = np.zeros(len(case.rows), dtype=bool)
        for a, b in np.argwhere(differ):
            flips[a] |= may_change(case, chosen, by, case.rows[a], case.rows[b])
        names = [case.model.encoder.columns[j].name if rng.random() < 0.5 else j for j in chosen]
        options = {"by": by, "tolerance": tolerance}
        with listing(lists):
            found = independent(case.model, names, case.domain, **options)
            table = find_flips(case.model, case.rows, names, case.domain, **options)
        tally.next_tree()
        tally("independent", found.status != "undecided")
        outcomes[f"{'depends' if flips.any() else 'is independent'}: {found.status}"] += 1
        assert (found.status == "yes") <= (not flips.any()), seed
        assert (found.status == "no") <= bool(flips.any()), seed
        assert not (lists and found.status == "undecided" and case.model.tree.coef is None), seed
        if found.status == "no":
            assert case.holds(found.first), seed
            assert case.holds(found.second), seed
            assert may_change(case, chosen, by, found.first, found.second), seed
            one, other = (answers(case, row[None]) for row in (found.first, found.second))
            assert (np.abs(one - other) > tolerance).any(), seed
        assert all(proof.check() for proof in found.proofs), seed
        for i, status in enumerate(table.status):
            outcomes[f"row {'flips' if flips[i] else 'keeps'}: {status}"] += 1
            tally("find_flips", status != "undecided")
            assert (status == "flips") <= flips[i], seed
            assert (status == "keeps") <= (not flips[i]), seed
            if status == "flips":
                point = table.points[i]
                assert case.holds(point), seed
                assert may_change(case, chosen, by, case.rows[i], point), seed
                assert (np.abs(answers(case, point[None]) - values[i]) > tolerance).any(), seed
            assert all(proof.check() for proof in table.proofs[i]), seed
        assert table.lower <= flips.mean() <= table.upper, seed
    for outcome, count in outcomes.items():
        record_property(outcome, count)


def differs_exactly(tree, j, by, tolerance, *, inside):
    """Whether two points of the box that differ in one feature have different answers, in real arithmetic."""
    x, y = variables(tree), variables(tree, "y")
    terms = box(x, -1, 1) + box(y, -1, 1) + [a == b for k, (a, b) in enumerate(zip(x, y)) if k != j]
    if by is not None:
        terms += [x[j] - y[j] < number(by), y[j] - x[j] < number(by)] if inside else []
        terms += [x[j] - y[j] <= number(by), y[j] - x[j] <= number(by)]
    for a in range(tree.n_leaves):
        for b in range(tree.n_leaves):
            ends = leaf_terms(tree, a, x, inside=inside) + leaf_terms(tree, b, y, inside=inside)
            if tree.is_classifier:
                apart = [] if tree.leaf_class[a] != tree.leaf_class[b] else [False]
            else:
                room = 1e-8 if inside else 0.0
                gaps = [answer(tree, a, o, x) - answer(tree, b, o, y) for o in range(tree.n_outputs)]
                most = number(tolerance + room)
                apart = [z3.Or([z3.Or(gap > most, gap < -most) for gap in gaps])]
            if is_satisfiable(terms + ends + apart):
                return True
    return False


small_trees = st.integers(2, 4).flatmap(
    lambda d: st.sampled_from(["class", "constant", "linear", "guard"]).flatmap(
        lambda kind: trees(kind=kind, n_features=d, max_splits=3)
    )
)


@pytest.mark.parametrize("n", N_TREES)
def test_agrees_with_exact_arithmetic(n, record_property, tally):
    hard = [
        {"tree": tree, "j": j, "by": by, "tolerance": 0.0}
        for kind in ("class", "linear") for tree in hard_trees(kind) for j in (0, 1) for by in (None, 0.25)
    ][:: 1 if n > 100 else 5]  # fmt: skip
    outcomes = Counter()

    @law(
        n,
        *hard,
        tree=small_trees,
        j=st.integers(0, 1),
        by=st.sampled_from([None, 0.25, 1.0]),
        tolerance=st.sampled_from([0.0, 0.5]),
    )
    def agrees(tree, j, by, tolerance):
        found = independent(tree, j, BOX, by=by, tolerance=tolerance)
        tally.next_tree()
        tally("independent", found.status != "undecided")
        surely = differs_exactly(tree, j, by, tolerance, inside=True)
        possibly = surely or differs_exactly(tree, j, by, tolerance, inside=False)
        word = "depends" if surely else "at its edges" if possibly else "is independent"
        outcomes[f"{word}: {found.status}"] += 1
        if surely:
            assert found.status == "no"
        if found.status == "no":
            rows = np.stack([found.first, found.second])
            assert (np.delete(rows[0], j) == np.delete(rows[1], j)).all()
            assert (np.abs(rows) <= 1).all()
            assert by is None or abs(Fraction(rows[0, j]) - Fraction(rows[1, j])) <= Fraction(by)
            one, other = tree.predict(rows)
            assert one != other if tree.is_classifier else (np.abs(one - other) > tolerance).any()
        assert all(proof.check() for proof in found.proofs)

    agrees()
    for outcome, count in outcomes.items():
        record_property(outcome, count)


def test_other_columns_may_stand_in_for_a_column():
    # The tree never reads "sex", but "title" tells it.
    columns = [Column("title", categories=["Mr", "Ms"]), Column("sex", categories=["f", "m"]), Column("income")]
    tree = Tree(
        Topology.complete(1), [[-2.0, 0.0, 0.0, 0.0, 1.0]], [-3.0], [[1, 0], [0, 1]], class_names=["refuse", "grant"]
    )
    model, domain = Model(Encoder(columns), tree), Domain(0.0, 10.0)
    assert independent(model, "sex", domain)
    found = independent(model, ["sex", "title"], domain)
    assert found.status == "no"
    assert found.first[2] == found.second[2]
    assert model.predict(np.stack([found.first, found.second])).tolist() in (["refuse", "grant"], ["grant", "refuse"])
    rows = np.array([["Mr", "m", income] for income in (1.0, 4.0, 9.0)], dtype=object)
    table = find_flips(model, rows, ["sex", "title"], domain)
    assert table.status.tolist() == ["keeps", "flips", "keeps"]
    assert table.lower == table.upper == pytest.approx(1 / 3)
    assert all(proof.check() for row in table.proofs for proof in row)


def test_both_rows_obey_constraints_and_a_small_change_may_be_harmless():
    tree = Tree(
        Topology([[-1, 1], [-2, -3]]), [[1.0, 0], [1.0, 0]], [-1.0, -3.0], np.eye(3), class_names=["a", "b", "c"]
    )
    assert independent(tree, 0, Domain([0, 0], [4, 1], A=[[1, 0]], b=[1.0]))
    assert not independent(tree, 0, Domain([0, 0], [4, 1]), by=0.5)
    rows = [[0.0, 0.5], [0.75, 0.5], [2.0, 0.5], [3.25, 0.5]]
    table = find_flips(tree, rows, 0, Domain([0, 0], [4, 1]), by={0: 0.5})
    assert table.status.tolist() == ["keeps", "flips", "keeps", "flips"]
    assert all(abs(point[0] - row[0]) <= 0.5 for point, row in zip(table.points, rows) if point is not None)


def test_a_proof_of_one_row_proves_nothing_of_another():
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["low", "high"])
    (proof,) = find_flips(tree, [[0.0, 3.0]], 1, Domain(0.0, 4.5)).proofs[0]
    assert proof.check()
    other = ChangedCuts(bind(Model.of(tree), Domain(0.0, 4.5)), np.array([4.5, 3.0]), Change({1: None}))
    assert not replace(proof, cuts=other).check()


@pytest.mark.parametrize(
    ("columns", "by", "message"),
    [
        ([], None, "columns must name at least one"),
        (["size", 0], None, "none twice"),
        ("weight", None, "there is no column"),
        ("size", -1.0, "finite numbers above 0"),
        ("size", float("nan"), "finite numbers above 0"),
        ("colour", 1.0, "needs a column of numbers"),
        (["size", "colour"], {"colour": 1.0}, "categories have no distance"),
        ("colour", {"size": 1.0}, "not among columns"),
    ],
)
def test_bad_arguments_are_named(columns, by, message):
    encoder = Encoder([Column("size"), Column("colour", categories=["red", "blue"])])
    tree = Tree(Topology.complete(1), [[1.0, 1.0, 0.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    with pytest.raises(ValueError, match=message):
        independent(Model(encoder, tree), columns, BOX, by=by)


def test_rows_outside_the_domain_are_refused_and_time_is_kept():
    rng = np.random.default_rng(0)
    value = np.eye(2)[rng.integers(0, 2, 16)]
    tree = Tree(Topology.complete(4), rng.normal(size=(15, 5)), rng.normal(size=15), value, class_names=["a", "b"])
    with pytest.raises(ValueError, match="row 1 of X must lie in the domain"):
        find_flips(tree, [[0.0] * 5, [2.0] * 5], 0, BOX)
    assert independent(tree, 0, BOX, time_limit=0.0).status == "undecided"
    late = find_flips(tree, [[0.0] * 5], 0, BOX, time_limit=0.0)
    assert (late.lower, late.upper) == (0.0, 1.0)
