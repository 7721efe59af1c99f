"""Every question on domains of few rows against ``predict`` on all of these rows: no answer is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from dtsemnet.verify import (
    Domain,
    certify,
    counterfactual,
    equivalent,
    monotone,
    never,
    output_bounds,
    possible_classes,
    prune_unreachable,
    reachable_leaves,
    robustness,
)
from dtsemnet.verify.proof import decision
from dtsemnet.verify.proof.binding import bind
from verify.finite import Case, finite_case, finite_tree
from verify.tally import is_cheapest, is_close

SEEDS = [range(40), pytest.param(range(40, 600), marks=pytest.mark.slow)]
LISTING = [True, False]
"""Whether small domains may be decided by looking at all rows; else linear programs must do."""


@contextmanager
def listing(allowed: bool) -> Iterator[None]:
    before = decision.MAX_POINTS
    decision.MAX_POINTS = before if allowed else 0
    try:
        yield
    finally:
        decision.MAX_POINTS = before


def outputs(case: Case) -> np.ndarray:
    model = case.model
    return (
        model.predict_proba(case.rows) if model.is_classifier else model.predict(case.rows).reshape(len(case.rows), -1)
    )


def distances(case: Case, row: np.ndarray) -> np.ndarray:
    """What a change to each row costs, by columns: shape (n_rows, n_columns); NaN for what robustness holds."""
    size = np.zeros(case.rows.shape)
    for j, column in enumerate(case.model.encoder.columns):
        for i, other in enumerate(case.rows):
            if case._same(column, row[j], other[j]):
                continue
            moves = column.categories is None and row[j] == row[j] and other[j] == other[j]
            size[i, j] = abs(float(row[j]) - float(other[j])) if moves else np.nan
    return size


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_leaves_and_classes(seeds, lists, tally):
    for seed in seeds:
        tally.next_tree()
        case = finite_case(seed)
        seen = set(case.model.apply(case.rows).tolist())
        with listing(lists):
            found = reachable_leaves(case.model, case.domain)
            assert found.check(), seed
            assert not seen & set(found.unreachable), seed
            assert set(found.reachable) <= seen, seed
            assert not (lists and found.undecided), seed
            assert all(case.holds(found.verdicts[leaf].witness) for leaf in found.reachable), seed
            for leaf in range(len(found.verdicts)):
                tally("reachable_leaves", leaf not in found.undecided)
            classes = set(case.model.predict(case.rows).tolist())
            for name, verdict in possible_classes(case.model, case.domain).items():
                answer = never(case.model, case.domain, name)
                assert answer.status == {"reachable": "no", "unreachable": "yes"}.get(verdict.status, "undecided"), seed
                assert (answer.status == "yes") <= (name not in classes), seed
                assert (answer.status == "no") <= (name in classes), seed
                tally("never, possible_classes", answer.status != "undecided")
            pruned = prune_unreachable(case.model, case.domain)
            assert (pruned.predict(case.rows) == case.model.predict(case.rows)).all(), seed


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_output_bounds(seeds, lists, tally):
    for seed in seeds:
        tally.next_tree()
        case = finite_case(seed, ["constant", "linear"][seed % 2])
        answers = outputs(case)
        with listing(lists):
            bounds = output_bounds(case.model, case.domain)
        for found, least, most in zip(bounds, answers.min(axis=0), answers.max(axis=0)):
            assert found.minimum.certified <= least, seed
            assert most <= found.maximum.certified, seed
            for end in (found.minimum, found.maximum):
                assert end.point is None or case.holds(end.point), seed
                assert end.point is None or case.model.predict(end.point[None])[0] == end.attained, seed
                tally("output_bounds", is_close(end.certified, end.attained))
            if lists:
                assert (found.minimum.certified, found.maximum.certified) == (least, most), seed
                assert (found.minimum.attained, found.maximum.attained) == (least, most), seed


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_robustness_and_certified_rows(seeds, lists, tally):
    for seed in seeds:
        tally.next_tree()
        case = finite_case(seed)
        rng = np.random.default_rng(seed)
        row = case.rows[rng.integers(len(case.rows))]
        size = distances(case, row)
        label = case.model.predict(row[None])[0]
        others = (case.model.predict(case.rows) != label) & ~np.isnan(size).any(axis=1)
        norm = ["inf", 1][seed % 2]
        order = size.max(axis=1) if norm == "inf" else size.sum(axis=1)
        radius = order[others].min(initial=np.inf)
        with listing(lists):
            found = robustness(case.model, row, norm, domain=case.domain)
            assert found.lower <= radius, seed
            assert found.point is None or case.holds(found.point), seed
            assert found.point is None or case.model.predict(found.point[None])[0] == found.other != label, seed
            assert found.upper >= radius * (1 - 1e-12), seed
            tally("robustness", is_close(found.lower, found.upper))
            if lists:
                assert found.upper <= radius * (1 + 1e-9), seed
            for epsilon in (0.5, 1.0, 2.5):
                outcome = certify(case.model, row[None], epsilon, norm, domain=case.domain)
                status = outcome.status[0]
                tally("certify", status != "undecided")
                assert (status == "certified") <= (radius > epsilon), seed
                assert (status == "broken") <= (radius <= epsilon * (1 + 1e-12)), seed
                assert status != "broken" or case.holds(outcome.points[0]), seed
                assert not (lists and status == "undecided"), seed


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_counterfactuals(seeds, lists, tally):
    for seed in seeds:
        tally.next_tree()
        case = finite_case(seed)
        rng = np.random.default_rng(seed)
        row = case.rows[rng.integers(len(case.rows))]
        price = rng.choice([0.5, 1.0, 3.0], len(row))
        size = distances(case, row)
        numbers = [column.categories is None for column in case.model.encoder.columns]
        # Numbers neither become missing nor present; any change of a category has the price of its column.
        possible = ~np.isnan(size[:, numbers]).any(axis=1)
        cost = (np.where(np.isnan(size), 1.0, size) * price).sum(axis=1)
        predicted = case.model.predict(case.rows)
        for target in case.model.class_names:
            with listing(lists):
                found = counterfactual(case.model, row, target, domain=case.domain, cost=price, n=2)
            best = cost[possible & (predicted == target)].min(initial=np.inf)
            assert min(found.lower, found[0].lower if found else np.inf) <= best, seed
            tally("counterfactual", is_cheapest(found))
            for answer in found:
                assert case.holds(answer.point), seed
                assert case.model.predict(answer.point[None])[0] == target, seed
                change = distances(case, answer.point)[[case._same_row(row, other) for other in case.rows]][0]
                paid = (np.where(np.isnan(change), 1.0, change) * price).sum()
                assert answer.cost == pytest.approx(paid, rel=1e-9, abs=1e-12), seed
            if lists:
                assert bool(found) == (best < np.inf), seed
                assert not found or found[0].cost == pytest.approx(best, rel=1e-9, abs=1e-12), seed


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_equivalence(seeds, lists, tally):
    for seed in seeds:
        tally.next_tree()
        case = finite_case(seed, ["class", "constant", "linear"][seed % 3])
        rng = np.random.default_rng(seed)
        old = case.model.tree
        if seed % 2:
            new = finite_tree(rng, old.n_features, ["class", "constant", "linear"][seed % 3])
        else:
            new = old.replace(bias=old.bias + rng.choice([0.0, 0.0, 2.0**-40, 0.125], old.n_splits))
        other = type(case.model)(case.model.encoder, new)
        differs = case.model.predict(case.rows) != other.predict(case.rows)
        with listing(lists):
            answer = equivalent(case.model, other, case.domain)
        tally("equivalent", answer.status != "undecided")
        assert (answer.status == "yes") <= (not differs.any()), seed
        assert (answer.status == "no") <= bool(differs.any()), seed
        assert answer.witness is None or case.holds(answer.witness), seed
        assert not (lists and old.coef is None and answer.status == "undecided"), seed


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_monotone(seeds, lists, tally):
    for seed in seeds:
        tally.next_tree()
        case = finite_case(seed, ["class", "constant", "linear"][seed % 3])
        answers = outputs(case)[:, 0]
        output = case.model.class_names[0] if case.model.is_classifier else 0
        for j, column in enumerate(case.model.encoder.columns):
            if column.categories is not None:
                continue
            falls = False
            for i, row in enumerate(case.rows):
                same = [case._same_row(row, other, but=j) and other[j] == other[j] and row[j] == row[j]
                        for other in case.rows]  # fmt: skip
                higher = [k for k in np.flatnonzero(same) if case.rows[k][j] > row[j]]
                falls |= any(answers[k] < answers[i] for k in higher)
            with listing(lists):
                found = monotone(case.model, j, case.domain, output=output)
            tally("monotone", found.status != "undecided")
            assert (found.status == "yes") <= (not falls), (seed, j)
            assert (found.status == "no") <= falls, (seed, j)
            if found.status == "no":
                assert case.holds(found.low), (seed, j)
                assert case.holds(found.high), (seed, j)
            assert not (lists and found.status == "undecided"), (seed, j)


def test_one_row_gets_its_own_answer():
    case = finite_case(3, "constant")
    row = case.rows[0].astype(float) if case.model.encoder.is_numeric else None
    if row is not None and not np.isnan(row).any():
        (found,) = output_bounds(case.model, Domain(row, row))
        assert found.minimum.certified == found.maximum.certified == case.model.predict(row[None])[0]


@pytest.mark.parametrize("seeds", SEEDS)
def test_every_row_of_a_table_lies_in_its_domain(seeds):
    for seed in seeds:
        case = finite_case(seed)
        rng = np.random.default_rng(seed)
        rows = case.rows[rng.integers(0, len(case.rows), rng.integers(1, 9))]
        names = [column.name for column in case.model.encoder.columns]
        frame = pd.DataFrame(rows, columns=names).infer_objects()[list(rng.permutation(names))]
        for table in (rows, frame, frame.assign(more=1.0), frame.convert_dtypes(), rows.tolist()):
            domain = Domain.from_data(table)
            encoded = bind(case.model, domain)
            assert all(encoded.contains(row) for row in rows), seed
            seen = set(case.model.apply(rows).tolist())
            assert not seen & set(reachable_leaves(case.model, domain).unreachable), seed
            label = case.model.predict(rows[:1])[0]
            assert never(case.model, domain, label).status == "no", seed
