"""Does raising one column never lower the answer?

A violation is a pair of inputs that differ in one column, and the input with more of it gets the lower answer.
An encoder keeps the order of a column's numbers, so these are the pairs of rows that differ in the column
(:mod:`dtsemnet.verify.proof.row_pairs`) with one more half-space, which says that its feature does not fall. Their
product of the tree with itself is explored, which decides which pairs of leaves can be
reached, among those whose answers may fall; for linear leaves the largest gap says how far the answer can
fall. If no pair is left, the tree is monotone. A domain of few points is decided by comparing all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model
from dtsemnet.tree._validate import not_negative
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import Polytope
from dtsemnet.verify.proof.claims import Certificate, Claim, Evidence, certificate_of, exclude_ways, plain_row
from dtsemnet.verify.proof.decision import is_small, points_that_arrive
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, column_number
from dtsemnet.verify.proof.exploration import Proof, Reachability, explore_leaves
from dtsemnet.verify.proof.file import Provable
from dtsemnet.verify.proof.leaf_pairs import (
    Line,
    answers,
    largest_gap,
    line_range,
    lines_of,
    output_number,
    outputs,
)
from dtsemnet.verify.proof.regions import Interval
from dtsemnet.verify.proof.row_pairs import Change, PairCuts, RowPairs
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.questions.reachability import AnswerStatus

__all__ = ["Monotone", "monotone"]


@dataclass(frozen=True, repr=False)
class Monotone(Provable, Shown):
    """Yes with proofs, no with two inputs, or undecided."""

    status: AnswerStatus
    low: Array | None = None
    """An input; ``high`` differs from it by a larger value of the column."""
    high: Array | None = None
    proofs: tuple[Proof, ...] = ()
    margin: float = 0.0
    """For "undecided": the answer falls by no more than this."""
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.status == "yes"


def monotone(
    tree: Any,
    feature: Name,
    domain: Domain,
    *,
    output: Any = 0,
    increasing: bool = True,
    tolerance: float = 0.0,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Monotone:
    """Prove that raising a column never lowers an output, or find two inputs for which it does.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    feature : int or str
        The column, of numbers. All other columns, missing or not, are the same in both inputs.
    domain : Domain
        Both inputs lie in it, and the column is missing in neither.
    output : label of a class, or number of an output, default=0
        For a classifier, the class whose share in the leaf must not fall. For a regressor, the output before an output
        map, which keeps order.
    increasing : bool, default=True
        If False, the statement is that raising the column never raises the output.
    tolerance : float, default=0.0
        A fall by no more than this does not count. Linear leaves that meet without a jump need a little more than 0,
        since their computed answers may fall by a rounding there.
    time_limit, progress
        As in :func:`difference`.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1.0], [2.0]])
    >>> monotone(tree, 0, Domain(0.0, 1.0)).status
    'yes'
    >>> answer = monotone(tree, 1, Domain(0.0, 1.0))
    >>> answer.status, tree.predict(np.stack([answer.low, answer.high]))
    ('no', array([2., 1.]))
    """
    tolerance = not_negative("tolerance", tolerance)
    model, deadline = Model.of(tree), Deadline(time_limit)
    o, j = output_number(model, output), column_number(model, feature)
    column = model.encoder.columns[j]
    if column.categories is not None:
        raise ValueError(
            f"feature names column {column.name!r}, whose categories have no order; name a column of numbers."
        )
    # A column of negative scale falls in the features as it rises.
    sign = (1.0 if increasing else -1.0) * (1.0 if column.scale >= 0 else -1.0)
    whole = bind(model, domain, deadline=deadline)
    asked = _Asked(whole, j, o, sign, tolerance, increasing)
    answer = _answer(asked, deadline, progress)
    return replace(answer, evidence=Evidence.on(whole, partial(_claims, asked, answer)))


@dataclass(frozen=True, eq=False)
class _Asked:
    """The question."""

    whole: EncodedDomain
    column: int
    output: int
    sign: float
    """1 if the answer must not fall as the feature rises, -1 if it must not rise."""
    tolerance: float
    increasing: bool

    @property
    def base(self) -> EncodedDomain:
        """The domain with a number in the column."""
        return self.whole.without_missing(self.column)

    @property
    def moved(self) -> int:
        """The feature that rises."""
        return self.whole.model.encoder.features_of_column[self.column].start

    @property
    def is_idle(self) -> bool:
        """Whether the tree sees one number, whatever the column holds, or none."""
        return (
            not self.whole.readings[self.column].present or self.base.lower[self.moved] == self.base.upper[self.moved]
        )

    def falls(self, first: Floats, second: Floats) -> Bools:
        """Whether answers to rows of features fall to those of the others by more than the tolerance."""
        before, after = (self.sign * outputs(self.whole.model.tree, Z)[:, self.output] for Z in (first, second))
        return np.asarray(before - after > self.tolerance)


def _answer(asked: _Asked, deadline: Deadline, progress: Callable[[int, int], None] | None) -> Monotone:
    if asked.is_idle:
        return Monotone("yes")
    base, model = asked.base, asked.whole.model
    listed = _by_listing(base, asked.column, asked.moved, asked.output, asked.sign, asked.tolerance)
    if listed is not None:
        return listed
    cuts, lines = _RisingCuts(_rising(base, asked.column)), _lines(asked)
    may_fall = _may_fall(lines, base, asked.moved, asked.tolerance)
    is_flat = not any(line.coef.any() for line in lines)
    pairs = explore_leaves(cuts, may_fall, stop_at_first=is_flat, deadline=deadline, progress=progress)

    def falls(row: Array) -> bool:
        before, after = asked.sign * answers(model, np.stack(cuts.pairs.two_rows(row)))[:, asked.output]
        return bool(before - after > asked.tolerance)

    return _conclude(cuts, pairs, lines, asked.tolerance, falls, deadline)


def _lines(asked: _Asked) -> list[Line]:
    lines = lines_of(asked.whole.model.tree, asked.output, asked.base.lower, asked.base.upper)
    return lines if asked.sign > 0 else [-line for line in lines]


def _claims(asked: _Asked, answer: Monotone) -> list[Claim]:
    """The claim that the answer keeps order, proved once more, or two rows that show the contrary."""
    statement: dict[str, Any] = {"kind": "monotone", "column": asked.column, "output": asked.output}
    statement |= {"increasing": asked.increasing, "tolerance": asked.tolerance}
    if answer.low is not None and answer.high is not None:
        return [Claim(statement, False, [plain_row(answer.low), plain_row(answer.high)])]
    certificate = None if answer.status != "yes" else {} if asked.is_idle else _certificate(asked)
    return [Claim(statement, None if certificate is None else True, certificate)]


def _certificate(asked: _Asked) -> Certificate | None:
    base, lines, deadline = asked.base, _lines(asked), Deadline(None)
    cuts = _RisingCuts(_rising(base, asked.column))
    may_fall = _may_fall(lines, base, asked.moved, asked.tolerance)

    def is_broken(Z: Floats) -> Bools:
        return asked.falls(*cuts.pairs.features_of_rows(Z))

    if is_small(cuts.encoded, cuts.polytope(cuts.root())):
        return {cuts.node_key(cuts.node_at(())).partition(",")[0]: {"enumerated": True}}
    pairs = explore_leaves(cuts, may_fall, deadline=deadline)
    found = certificate_of(cuts, pairs.verdicts)
    for pair, (verdict, region) in enumerate(zip(pairs.verdicts, pairs.regions)):
        before, after = (lines[leaf] for leaf in divmod(pair, len(lines)))
        if verdict.status == "unreachable" or _keep_order(before, after, asked.moved):
            continue
        region = cuts.root() if verdict.status == "not asked" else region  # then the box alone shows it
        both = _on_pairs(cuts.pairs, before, after)
        entry = exclude_ways(cuts, region, [both], asked.tolerance, is_broken, deadline)
        if entry is None:
            return None
        found |= {cuts.node_key(~pair): entry} if entry["ways"] else {}
    return found


def _by_listing(base: EncodedDomain, j: int, moved: int, output: int, sign: float, tolerance: float) -> Monotone | None:
    """Compare all points of a small domain; None if there are too many, or if the answer is not certain."""
    whole = Polytope(base.rows, base.bound, base.lower, base.upper)
    if not is_small(base, whole):
        return None
    Z = points_that_arrive(base, whole, lambda points: np.ones(len(points), dtype=bool))
    if not len(Z):
        return Monotone("yes")  # the column is always missing
    value = sign * outputs(base.model.tree, Z)[:, output]
    others = np.delete(Z, moved, axis=1)
    for _, group in _groups(others):
        group = group[np.argsort(Z[group, moved], kind="stable")]
        before = np.maximum.accumulate(value[group])
        falls = np.flatnonzero(before - value[group] > tolerance)
        if len(falls):
            end = group[falls[0]]
            start = group[np.argmax(value[group[: falls[0]]])]
            low, high = base.row(Z[start]), base.row(Z[end])
            low, high = (low, high) if low[j] <= high[j] else (high, low)
            exact = base.contains(low) and base.contains(high)
            after = sign * answers(base.model, np.stack([base.row(Z[start]), base.row(Z[end])]))[:, output]
            return Monotone("no", low, high) if exact and after[0] - after[1] > tolerance else None
    return Monotone("yes")


def _groups(rows: Floats) -> list[tuple[int, Array]]:
    """Rows that are equal, as arrays of their numbers."""
    _, number = np.unique(rows, axis=0, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    ends = np.flatnonzero(np.diff(number.ravel()[order])) + 1
    return list(enumerate(np.split(order, ends)))


@dataclass(frozen=True, eq=False)
class _Rising(RowPairs):
    """Pairs of rows that differ in one column, the second with no less of its feature."""

    def contains(self, row: Array) -> bool:
        (j,) = self.change.columns
        first, second = (float(side[j]) for side in self.two_rows(row))
        rises = first <= second if self.base.model.encoder.columns[j].scale >= 0 else second <= first
        return rises and super().contains(row)

    @property
    def row_names(self) -> list[str]:
        return [*super().row_names, "order"]


class _RisingCuts(PairCuts):
    """Half-spaces before and after. Rounding keeps order: with a positive weight the sum does not fall."""

    def __init__(self, pairs: RowPairs) -> None:
        super().__init__(pairs)
        # Directions before and after, whether the second has the opposite sums, and whether sums rise or fall.
        self._moved: list[tuple[int, int, bool, bool]] = []
        (j,) = pairs.change.columns
        moved = pairs.base.model.encoder.features_of_column[j].start
        second = pairs.second_features
        for key, before in self.directions.items():
            row = np.frombuffer(key)
            if row[len(second) :].any() or row[moved] == 0:
                continue
            weight = np.zeros_like(row)
            weight[second] = row[: len(second)]
            for is_opposite, sign in ((False, 1.0), (True, -1.0)):
                after = self.directions.get((sign * weight + 0.0).tobytes())
                if after is not None:
                    self._moved.append((before, after, is_opposite, bool(row[moved] > 0)))

    def again(self) -> _RisingCuts:
        (j,) = self.pairs.change.columns
        return _RisingCuts(_rising(bind(self.pairs.base.model, self.pairs.domain).without_missing(j), j))

    def sums_contradict(self, sums: dict[int, Interval]) -> bool:
        for before, after, is_opposite, rises in self._moved:
            if before in sums and after in sums:
                first, second = sums[before], _opposite(sums[after]) if is_opposite else sums[after]
                smaller, larger = (first, second) if rises else (second, first)
                if smaller.low > larger.high:
                    return True
        return False


def _opposite(sums: Interval) -> Interval:
    """Where sums of opposite weights lie."""
    (low, above), (high, below) = sums
    return Interval((-high, -below), (-low, -above))


def _rising(base: EncodedDomain, j: int) -> _Rising:
    """The pairs of rows of a domain that differ in one column."""
    pairs = RowPairs.of(base, Change({j: None}))
    moved = base.model.encoder.features_of_column[j].start
    order = np.zeros(len(pairs.lower))
    order[moved], order[pairs.second_features[moved]] = 1.0, -1.0
    parts = {"rows": np.vstack([pairs.rows, order]), "bound": np.append(pairs.bound, 0.0)}
    return _Rising(**(vars(pairs) | parts | {"soft": np.append(pairs.soft, False)}))


def _on_pairs(pairs: RowPairs, before: Line, after: Line) -> tuple[Line, Line]:
    """The answers of two leaves as functions of a pair of rows."""
    first, second = np.zeros(len(pairs.lower)), np.zeros(len(pairs.lower))
    first[: len(before.coef)] = before.coef
    second[pairs.second_features] = after.coef
    return before._replace(coef=first), after._replace(coef=second)


def _may_fall(lines: list[Line], base: EncodedDomain, moved: int, tolerance: float) -> Bools:
    """Pairs of leaves, before and after, whose answers are not known to keep order."""
    low, high = (np.array(ends) for ends in zip(*(line_range(line, base.lower, base.upper) for line in lines)))
    falls = high[:, None] - low[None, :] > tolerance
    for a, b in np.argwhere(falls).tolist():
        falls[a, b] = not _keep_order(lines[a], lines[b], moved)
    return np.asarray(falls.ravel())


def _keep_order(before: Line, after: Line, moved: int) -> bool:
    """Whether the answers are one affine function that rises, which keeps order through every rounding and clip."""
    same = before.value == after.value and np.array_equal(before.coef, after.coef)
    ordered = before.floor <= after.floor and before.ceiling <= after.ceiling
    return same and ordered and bool(before.coef[moved] >= 0)


def _conclude(
    cuts: _RisingCuts,
    pairs: Reachability,
    lines: list[Line],
    tolerance: float,
    falls: Callable[[Array], bool],
    deadline: Deadline,
) -> Monotone:
    """For every pair that can be reached or may be: does the answer fall, and by how much at most?"""
    both, margin = cuts.pairs, 0.0
    for pair, verdict in enumerate(pairs.verdicts):
        if verdict.status in ("unreachable", "not asked"):
            continue
        before, after = (lines[leaf] for leaf in divmod(pair, len(lines)))
        if deadline.is_over and (verdict.witness is None or not falls(verdict.witness)):
            ends = [line_range(line, both.base.lower, both.base.upper) for line in (before, after)]
            margin = max(margin, ends[0][1] - ends[1][0])
            continue
        polytope = cuts.polytope(pairs.regions[pair])
        start, end = _on_pairs(both, before, after)
        gap = largest_gap(both, polytope, start, end, enough=tolerance)
        if gap.upper <= tolerance:
            continue
        known = [] if verdict.witness is None else [both.encode(verdict.witness)]
        row = both.find_row_near([*known, *gap.points], polytope, falls, known[0] if known else None)
        if row is not None:
            low, high = both.two_rows(row)
            (j,) = both.change.columns
            backwards = float(low[j]) > float(high[j])
            return Monotone("no", *((high, low) if backwards else (low, high)))
        margin = max(margin, gap.upper)
    proofs = {id(verdict.proof): verdict.proof for verdict in pairs.verdicts if verdict.proof is not None}
    return Monotone("undecided" if margin > tolerance else "yes", proofs=tuple(proofs.values()), margin=margin)
