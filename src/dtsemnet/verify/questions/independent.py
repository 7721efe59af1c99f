"""Does the answer depend on some columns, all else equal?

A violation is a pair of rows of the domain that differ in these columns alone and have different answers: two
applicants who differ in nothing but their sex, and one is refused. All pairs of rows are the rows of a wider domain
(:mod:`dtsemnet.verify.proof.row_pairs`), on which pairs of leaves with different answers are explored. If none can be
reached, the answer is independent of the columns.

A model that is not may still treat most rows alike. :func:`find_flips` asks the same about each row of a table: the
other columns are held at their values, and the tree is explored on what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model
from dtsemnet.tree._validate import not_negative
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import Polytope
from dtsemnet.verify.proof.claims import Certificate, Claim, Evidence, certificate_of, exclude_ways, plain_row
from dtsemnet.verify.proof.decision import is_small, points_that_arrive
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, table_rows
from dtsemnet.verify.proof.exploration import Proof, Reachability, explore_leaves
from dtsemnet.verify.proof.file import Provable
from dtsemnet.verify.proof.leaf_pairs import (
    Line,
    answers,
    largest_gap,
    line_range,
    lines_of,
    outputs,
)
from dtsemnet.verify.proof.regions import Cuts, Region
from dtsemnet.verify.proof.row_jobs import ask_rows
from dtsemnet.verify.proof.row_pairs import Change, ChangedCuts, PairCuts, RowPairs, read_change
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.questions.reachability import AnswerStatus

__all__ = ["FlipStatus", "Flips", "Independent", "find_flips", "independent"]

FlipStatus = Literal["flips", "keeps", "undecided"]


@dataclass(frozen=True, repr=False)
class Independent(Provable, Shown):
    """Yes with proofs, no with two rows, or undecided."""

    status: AnswerStatus
    first: Array | None = None
    """A row; ``second`` differs from it in the columns alone and has another answer."""
    second: Array | None = None
    proofs: tuple[Proof, ...] = ()
    margin: float = 0.0
    """For an undecided regressor: answers differ by no more than this."""
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.status == "yes"


@dataclass(frozen=True, eq=False, repr=False)
class Flips(Provable, Shown):
    """Which rows of a table a change of some columns would give another answer."""

    status: NDArray[np.str_]
    """A ``FlipStatus`` per row: "flips", "keeps" or "undecided"."""
    points: tuple[Array | None, ...]
    """For each row that flips, the changed row."""
    proofs: tuple[tuple[Proof, ...], ...]
    """For each row that keeps its answer, why no changed row reaches a leaf with another one. Ranges of linear leaves
    are bounded, and few rows are listed, without a proof that is kept; a proof file has them."""
    evidence: Evidence | None = None

    @property
    def lower(self) -> float:
        """Certified: at least this share of the rows flips."""
        return float((self.status == "flips").mean())

    @property
    def upper(self) -> float:
        """Certified: at most this share of the rows flips."""
        return float((self.status != "keeps").mean())

    def __str__(self) -> str:
        undecided = int((self.status == "undecided").sum())
        more = f", {undecided} undecided" if undecided else ""
        return f"{self.lower:.1%} of {len(self.status)} rows flip{more}"


def independent(
    tree: Any,
    columns: Name | Sequence[Name],
    domain: Domain,
    *,
    by: float | Mapping[Name, float] | None = None,
    tolerance: float = 0.0,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Independent:
    """Prove that the answer does not depend on some columns, or find two rows that differ in nothing else.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        For a classifier the answer is the class, for a regressor all outputs before an output map.
    columns : int or str, or a sequence of them
        The columns that may change together: numbers or categories. All others are the same in both rows, missing or
        not.
    domain : Domain
        Both rows lie in it.
    by : float, or mapping of column to float, optional
        Columns of numbers change by this at most; a value that is missing stays missing, unless the model reads it as a
        number. By default, and for columns of categories always, any change within the domain counts.
    tolerance : float, default=0.0
        Outputs of a regressor that lie no farther apart are the same answer.
    time_limit : float, optional
        Seconds; the answer is undecided if pairs of leaves are left at the end.
    progress : callable, optional
        Called with the pairs of leaves done and all pairs whose answers differ.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, 0.5]], [-2.0], [[1, 0], [0, 1]], class_names=["no", "yes"],
    ...             feature_names=["income", "age"])
    >>> found = independent(tree, "age", Domain(0.0, 10.0))
    >>> found.status, tree.predict(np.stack([found.first, found.second]))
    ('no', array(['no', 'yes'], dtype='<U3'))
    >>> independent(tree, "age", Domain([3, 0], [10, 10])).status
    'yes'
    """
    tolerance = not_negative("tolerance", tolerance)
    model, deadline = Model.of(tree), Deadline(time_limit)
    change = read_change(model, columns, by)
    base = bind(model, domain, deadline=deadline)
    answer = _answer(base, change, tolerance, deadline, progress)
    return replace(answer, evidence=Evidence.on(base, partial(_claims, base, change, tolerance, answer)))


def find_flips(
    tree: Any,
    X: Any,
    columns: Name | Sequence[Name],
    domain: Domain,
    *,
    by: float | Mapping[Name, float] | None = None,
    tolerance: float = 0.0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Flips:
    """Find the rows of a table that would have another answer if some of their columns were different.

    Parameters
    ----------
    tree, columns, domain, by, tolerance
        As in :func:`independent`.
    X : array_like of shape (n_samples, n_columns), or data frame
        Rows of the domain.
    n_jobs : int, optional
        Processes of joblib.
    time_limit : float, optional
        Seconds for all rows; rows left at the end are undecided.
    progress : callable, optional
        Called with the number of rows done and of all rows.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, 0.5]], [-2.0], [[1, 0], [0, 1]], class_names=["no", "yes"])
    >>> found = find_flips(tree, [[1.0, 1.0], [3.0, 1.0]], 1, Domain(0.0, 10.0))
    >>> print(found)
    50.0% of 2 rows flip
    >>> found.points[0][0], found.points[0][1] > 2
    (np.float64(1.0), np.True_)
    """
    tolerance = not_negative("tolerance", tolerance)
    model, deadline = Model.of(tree), Deadline(time_limit)
    change, rows = read_change(model, columns, by), table_rows(model, X)
    if not len(rows):
        raise ValueError("X must hold at least one row, got none.")
    base = bind(model, domain, deadline=deadline)
    for i, row in enumerate(rows):
        base.require(row, f"row {i} of X")
    done = ask_rows(partial(_flip, base, change, tolerance, deadline), rows, n_jobs, progress)
    status, points, proofs = zip(*done)
    claims = partial(_claims_of_rows, base, change, tolerance, rows, status, points)
    return Flips(np.array(status), tuple(points), tuple(proofs), Evidence.on(base, claims))


def _answer(
    base: EncodedDomain,
    change: Change,
    tolerance: float,
    deadline: Deadline,
    progress: Callable[[int, int], None] | None,
) -> Independent:
    """Whether the answer is independent of a change."""
    if not _can_change(base, change):
        return Independent("yes")  # the tree sees one value in these columns
    model, cuts = base.model, PairCuts(RowPairs.of(base, change))
    if model.tree.coef is not None:
        listed = _by_listing(cuts.pairs, tolerance)
        if listed is not None:
            return listed
    lines = _lines(base)
    is_flat = not any(line.coef.any() for row in lines for line in row)
    differ = _may_differ(cuts.pairs, lines, tolerance)
    explored = explore_leaves(cuts, differ, stop_at_first=is_flat, deadline=deadline, progress=progress)
    return _conclude(cuts, explored, lines, tolerance, deadline)


def _lines(base: EncodedDomain) -> list[list[Line]]:
    """For each output the answers of all leaves; none of a classifier."""
    return [lines_of(base.model.tree, o, base.lower, base.upper) for o in range(_n_lines(base.model))]


def _claims(base: EncodedDomain, change: Change, tolerance: float, answer: Independent) -> list[Claim]:
    """The claim that the answer is independent, proved once more, or two rows that show the contrary."""
    statement = {"kind": "independent"} | _written(change, tolerance)
    if answer.first is not None and answer.second is not None:
        return [Claim(statement, False, [plain_row(answer.first), plain_row(answer.second)])]
    if answer.status != "yes" or not _can_change(base, change):
        return [Claim(statement, True if answer else None, {} if answer else None)]
    cuts, lines = PairCuts(RowPairs.of(base, change)), _lines(base)

    def is_broken(Z: Floats) -> Bools:
        first, second = (outputs(base.model.tree, features) for features in cuts.pairs.features_of_rows(Z))
        return np.asarray((np.abs(first - second) > tolerance).any(axis=1))

    def pairs_in(leaf: int) -> list[tuple[Line, Line]]:
        a, b = divmod(leaf, base.model.tree.n_leaves)
        both = [_on_pairs(cuts.pairs, one[a], one[b]) for one in lines] if a <= b else []
        return [pair for one, other in both for pair in ((one, other), (other, one))]

    certificate = _certificate(cuts, _may_differ(cuts.pairs, lines, tolerance), pairs_in, tolerance, is_broken)
    return [Claim(statement, None if certificate is None else True, certificate)]


def _claims_of_rows(
    base: EncodedDomain,
    change: Change,
    tolerance: float,
    rows: Array,
    status: Sequence[str],
    points: Sequence[Array | None],
) -> list[Claim]:
    """For each row that it keeps its answer, proved once more, or the changed row that does not."""
    claims = []
    for row, outcome, point in zip(rows, status, points):
        statement = {"kind": "keeps", "row": plain_row(row)} | _written(change, tolerance)
        certificate = _certificate_of_row(base, change, tolerance, row) if outcome == "keeps" else None
        if point is not None:
            claims.append(Claim(statement, False, [plain_row(point)]))
        else:
            claims.append(Claim(statement, None if certificate is None else True, certificate))
    return claims


def _certificate_of_row(base: EncodedDomain, change: Change, tolerance: float, row: Array) -> Certificate | None:
    model, cuts = base.model, ChangedCuts(base, row, change)
    encoded, tree, answer = cuts.encoded, model.tree, answers(model, row[None])[0]
    lines = _lines(encoded)
    before = [Line(np.zeros(tree.n_features), float(value)) for value in answer]
    if model.is_classifier:
        differ = tree.leaf_class != tree.leaf_class[encoded.leaf_of(row)]
    else:
        low, high = _ranges(lines, encoded)
        differ = (np.maximum(high - answer, answer - low) > tolerance).any(axis=1)

    def is_broken(Z: Floats) -> Bools:
        return np.asarray((np.abs(outputs(tree, Z) - answer) > tolerance).any(axis=1))

    def pairs_in(leaf: int) -> list[tuple[Line, Line]]:
        both = [(one[leaf], old) for one, old in zip(lines, before)]
        return [pair for one, old in both for pair in ((one, old), (old, one))]

    return _certificate(cuts, np.asarray(differ), pairs_in, tolerance, is_broken)


def _certificate(
    cuts: Cuts,
    differ: Bools,
    pairs_in: Callable[[int], list[tuple[Line, Line]]],
    tolerance: float,
    is_broken: Callable[[Floats], Bools],
) -> Certificate | None:
    """Prove that leaves are out of reach, or that their answers do not differ: lines of each pair that is compared."""
    whole = cuts.polytope(cuts.root())
    if is_small(cuts.encoded, whole) or (whole.lower == whole.upper).all():
        Z = points_that_arrive(cuts.encoded, whole, is_broken)
        return None if len(Z) else {cuts.node_key(cuts.node_at(())).partition(",")[0]: {"enumerated": True}}
    explored = explore_leaves(cuts, differ, deadline=Deadline(None))
    found = certificate_of(cuts, explored.verdicts)
    for leaf, (verdict, region) in enumerate(zip(explored.verdicts, explored.regions)):
        pairs = pairs_in(leaf)
        if verdict.status == "unreachable" or not pairs:
            if verdict.status in ("reachable", "undecided"):
                return None
            continue
        here: Region = cuts.root() if verdict.status == "not asked" else region  # then the box alone shows it
        entry = exclude_ways(cuts, here, pairs, tolerance, is_broken, Deadline(None))
        if entry is None:
            return None
        found |= {cuts.node_key(~leaf): entry} if entry["ways"] else {}
    return found


def _written(change: Change, tolerance: float) -> dict[str, Any]:
    """A change as statements of a proof file name it."""
    return {"columns": change.columns, "by": [change.limits[j] for j in change.columns], "tolerance": tolerance}


def _flip(
    base: EncodedDomain, change: Change, tolerance: float, deadline: Deadline, row: Array
) -> tuple[FlipStatus, Array | None, tuple[Proof, ...]]:
    """Whether one row has another answer after a change."""
    model, cuts = base.model, ChangedCuts(base, row, change)
    encoded, tree = cuts.encoded, model.tree
    if not (encoded.lower < encoded.upper).any():
        return "keeps", None, ()
    answer = answers(model, row[None])[0]
    if tree.is_classifier:
        differ, lines = tree.leaf_class != tree.leaf_class[encoded.leaf_of(row)], []
    else:
        lines = [lines_of(tree, o, encoded.lower, encoded.upper) for o in range(tree.n_outputs)]
        low, high = _ranges(lines, encoded)
        differ = (np.maximum(high - answer, answer - low) > tolerance).any(axis=1)
    is_flat = not any(line.coef.any() for one in lines for line in one)

    def differs(other: Array) -> bool:
        return bool((np.abs(answers(model, other[None])[0] - answer) > tolerance).any())

    whole = Polytope(encoded.rows, encoded.bound, encoded.lower, encoded.upper)
    if not is_flat and is_small(encoded, whole):
        Z = points_that_arrive(encoded, whole, lambda points: np.ones(len(points), dtype=bool))
        Z = Z[(np.abs(outputs(tree, Z) - answer) > tolerance).any(axis=1)]
        point = encoded.find_row(Z, whole, differs)
        if point is not None or not len(Z):
            return ("keeps" if point is None else "flips"), point, ()
    explored = explore_leaves(cuts, np.asarray(differ), stop_at_first=is_flat, deadline=deadline)

    open_ = False
    for leaf, verdict in enumerate(explored.verdicts):
        if verdict.status in ("unreachable", "not asked"):
            continue
        if verdict.witness is not None and (is_flat or differs(verdict.witness)):
            return "flips", verdict.witness, ()
        if is_flat or deadline.is_over:
            open_ = True
            continue
        polytope = cuts.polytope(explored.regions[leaf])
        before = [Line(np.zeros(tree.n_features), float(value)) for value in answer]
        for one, old in zip(lines, before):
            for first, second in permutations((one[leaf], old)):
                gap = largest_gap(encoded, polytope, first, second, enough=tolerance)
                if gap.upper <= tolerance:
                    continue
                known = None if verdict.witness is None else encoded.encode(verdict.witness)
                point = encoded.find_row_near(gap.points, polytope, differs, known)
                if point is not None:
                    return "flips", point, ()
                open_ = True
    return ("undecided", None, ()) if open_ else ("keeps", None, _proofs(explored))


def _can_change(base: EncodedDomain, change: Change) -> bool:
    parts = (base.model.encoder.features_of_column[j] for j in change.columns)
    return any((base.lower[part] < base.upper[part]).any() for part in parts)


def _n_lines(model: Model) -> int:
    """Outputs that are compared: none of a classifier, whose classes are."""
    return 0 if model.is_classifier else model.tree.n_outputs


def _ranges(lines: list[list[Line]], encoded: EncodedDomain) -> tuple[Floats, Floats]:
    """The least and the largest answer of each leaf on a box, shape (n_leaves, n_outputs)."""
    ends = np.array([[line_range(line, encoded.lower, encoded.upper) for line in one] for one in lines])
    return ends[:, :, 0].T, ends[:, :, 1].T


def _may_differ(pairs: RowPairs, lines: list[list[Line]], tolerance: float) -> Bools:
    """Pairs of leaves whose answers may differ: ``(a, b)`` with ``a <= b``, since rows can be exchanged."""
    tree = pairs.base.model.tree
    if tree.is_classifier:
        return np.asarray(np.triu(tree.leaf_class[:, None] != tree.leaf_class[None], 1).ravel())
    low, high = _ranges(lines, pairs.base)
    apart = (high[:, None] - low[None] > tolerance) | (high[None] - low[:, None] > tolerance)
    differ: Bools = np.asarray(apart.any(axis=-1))
    moving = pairs.second_features != np.arange(len(pairs.second_features))
    for leaf in range(tree.n_leaves):  # in one leaf, an affine function that reads none of the columns
        differ[leaf, leaf] &= any(one[leaf].coef[moving].any() for one in lines)
    return np.asarray(np.triu(differ).ravel())


def _by_listing(pairs: RowPairs, tolerance: float) -> Independent | None:
    """Compare all pairs of a small domain; None if there are too many, or if a row cannot be written."""
    whole = Polytope(pairs.rows, pairs.bound, pairs.lower, pairs.upper)
    if not is_small(pairs, whole):
        return None
    Z = points_that_arrive(pairs, whole, lambda points: np.ones(len(points), dtype=bool))
    if not len(Z):
        return None
    first, second = (outputs(pairs.base.model.tree, features) for features in pairs.features_of_rows(Z))
    differ = np.flatnonzero((np.abs(first - second) > tolerance).any(axis=1))
    for k in differ.tolist():
        row = pairs.row(Z[k])
        if pairs.contains(row) and _pair_differs(pairs, row, tolerance):
            return Independent("no", *pairs.two_rows(row))
    return None if len(differ) else Independent("yes")


def _pair_differs(pairs: RowPairs, row: Array, tolerance: float) -> bool:
    first, second = answers(pairs.base.model, np.stack(pairs.two_rows(row)))
    return bool((np.abs(first - second) > tolerance).any())


def _conclude(
    cuts: PairCuts, explored: Reachability, lines: list[list[Line]], tolerance: float, deadline: Deadline
) -> Independent:
    """For every pair of leaves that can be reached or may be: do the answers differ, and by how much at most?"""
    pairs, is_undecided, margin = cuts.pairs, False, 0.0
    tree = pairs.base.model.tree
    for pair, verdict in enumerate(explored.verdicts):
        if verdict.status in ("unreachable", "not asked"):
            continue
        is_shown = verdict.witness is not None
        if is_shown and (tree.is_classifier or _pair_differs(pairs, verdict.witness, tolerance)):  # type: ignore[arg-type]
            return Independent("no", *pairs.two_rows(verdict.witness))  # type: ignore[arg-type]
        a, b = divmod(pair, tree.n_leaves)
        if tree.is_classifier:
            is_undecided = True
            continue
        for one in lines:
            first, second = _on_pairs(pairs, one[a], one[b])
            for more, less in permutations((first, second)):
                if deadline.is_over:
                    ends = [line_range(line, pairs.lower, pairs.upper) for line in (more, less)]
                    margin = max(margin, ends[0][1] - ends[1][0])
                    continue
                polytope = cuts.polytope(explored.regions[pair])
                gap = largest_gap(pairs, polytope, more, less, enough=tolerance)
                if gap.upper <= tolerance:
                    continue
                known = None if verdict.witness is None else pairs.encode(verdict.witness)
                row = pairs.find_row_near(gap.points, polytope, lambda row: _pair_differs(pairs, row, tolerance), known)
                if row is not None:
                    return Independent("no", *pairs.two_rows(row))
                margin = max(margin, gap.upper)
    is_undecided |= margin > tolerance
    return Independent("undecided" if is_undecided else "yes", proofs=_proofs(explored), margin=margin)


def _on_pairs(pairs: RowPairs, before: Line, after: Line) -> tuple[Line, Line]:
    """The answers of two leaves as functions of a pair of rows."""
    first, second = np.zeros(len(pairs.lower)), np.zeros(len(pairs.lower))
    first[: len(before.coef)] = before.coef
    second[pairs.second_features] = after.coef
    return before._replace(coef=first), after._replace(coef=second)


def _proofs(explored: Reachability) -> tuple[Proof, ...]:
    proofs = {id(verdict.proof): verdict.proof for verdict in explored.verdicts if verdict.proof is not None}
    return tuple(proofs.values())
