"""Does raising one column never lower the answer?

A violation is a pair of inputs that differ in one column, and the input with more of it gets the lower answer.
An encoder keeps the order of a column's numbers, so in features the pair is ``z`` and ``z + t e_j``
with ``t >= 0``. The tree on ``z`` and the tree on ``z + t e_j``, whose splits are splits of ``(z, t)``, form
a product (:mod:`dtsemnet.verify.proof.leaf_pairs`). Exploring it decides which pairs of leaves can be
reached, among those whose answers may fall; for linear leaves the largest gap says how far the answer can
fall. If no pair is left, the tree is monotone. A domain of few points is decided by comparing all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Encoder, Model, Tree
from dtsemnet.tree._validate import not_negative
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import Polytope
from dtsemnet.verify.proof.decision import is_small, points_that_arrive
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import Choice, EncodedDomain, column_number
from dtsemnet.verify.proof.exploration import Cuts, Interval, Proof, Reachability, explore_leaves
from dtsemnet.verify.proof.leaf_pairs import (
    Line,
    answers,
    largest_gap,
    line_range,
    lines_of,
    output_number,
    outputs,
    product,
)
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.questions.reachability import AnswerStatus

__all__ = ["Monotone", "monotone"]


@dataclass(frozen=True)
class Monotone:
    """Yes with proofs, no with two inputs, or undecided."""

    status: AnswerStatus
    low: Array | None = None
    """An input; ``high`` differs from it by a larger value of the column."""
    high: Array | None = None
    proofs: tuple[Proof, ...] = ()
    margin: float = 0.0
    """For "undecided": the answer falls by no more than this."""

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
    >>> from dtsemnet.tree import Topology
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
    base = bind(model, domain, deadline=deadline)
    moved = model.encoder.features_of_column[j].start
    if not base.readings[j].present:
        return Monotone("yes")  # there is no number to raise
    base = base.without_missing(j)
    if base.lower[moved] == base.upper[moved]:
        return Monotone("yes")  # the tree sees one number, whatever the column holds
    listed = _by_listing(base, j, moved, o, sign, tolerance)
    if listed is not None:
        return listed
    cuts = _StepCuts(_with_steps(base, j, moved))
    lines = [line if sign > 0 else -line for line in lines_of(model.tree, o, base.lower, base.upper)]
    may_fall = _may_fall(lines, cuts.steps, tolerance)
    is_flat = not any(line.coef.any() for line in lines)
    pairs = explore_leaves(cuts, may_fall, stop_at_first=is_flat, deadline=deadline, progress=progress)

    def falls(row: Array) -> bool:
        before, after = sign * answers(model, np.stack(cuts.steps.two_rows(row)))[:, o]
        return bool(before - after > tolerance)

    return _conclude(cuts, pairs, lines, tolerance, falls, deadline)


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
class _Steps(EncodedDomain):
    """Features with a step of one of them; a row of it is ``(z, t)`` and means two rows of the domain."""

    base: EncodedDomain
    column: int
    moved: int
    """The feature that the step moves."""

    def row(self, z: Floats) -> Array:
        return z

    def n_points(self, lower: Floats, upper: Floats) -> float:
        return np.inf  # the step between two doubles is a real number, so doubles are not all of them

    def two_rows(self, row: Array) -> tuple[Array, Array]:
        """The row at ``z`` and the one at ``z + t e_j``."""
        z = np.array(row[:-1], dtype=np.float64)
        low = self.base.row(z)
        z[self.moved] += float(row[-1])
        high = low.copy()
        high[self.column] = self.base.row(z)[self.column]
        return low, high

    def contains(self, row: Array) -> bool:
        low, high = self.two_rows(row)
        first, last = (float(side[self.column]) for side in (low, high))
        rises = first <= last if self.base.model.encoder.columns[self.column].scale >= 0 else last <= first
        return rises and self.base.contains(low) and self.base.contains(high)

    def leaf_of(self, row: Array) -> int:
        """Number of the pair of leaves that the two rows reach; -1 if one of them lies outside the domain."""
        model = self.base.model
        first, second = model.apply(np.stack(self.two_rows(row))).tolist()
        return int(first * model.tree.n_leaves + second) if self.contains(row) else -1


class _StepCuts(Cuts):
    """Half-spaces before and after a step. Rounding keeps order: with a positive weight the sum does not fall."""

    def __init__(self, steps: _Steps) -> None:
        super().__init__(steps)
        self.steps = steps
        self._ordered = []  # pairs of directions, before and after a step, of which the first never has the larger sum
        for key, before in self.directions.items():
            row = np.frombuffer(key).copy()
            if row[-1] == 0 and row[steps.moved] != 0:
                row[-1] = row[steps.moved]
                after = self.directions.get(row.tobytes())
                if after is not None:
                    self._ordered.append((before, after) if row[-1] > 0 else (after, before))

    def again(self) -> _StepCuts:
        base = bind(self.steps.base.model, self.steps.domain).without_missing(self.steps.column)
        return _StepCuts(_with_steps(base, self.steps.column, self.steps.moved))

    def sums_contradict(self, sums: dict[int, Interval]) -> bool:
        pairs = ((sums[a], sums[b]) for a, b in self._ordered if a in sums and b in sums)
        return any(smaller.low > larger.high for smaller, larger in pairs)


def _with_steps(base: EncodedDomain, j: int, moved: int) -> _Steps:
    """The domain of ``(z, t)``: both ends of the step lie in the domain of ``z``."""
    d, tree = len(base.lower), base.model.tree
    pair = product(_on_steps(tree, np.zeros(tree.n_splits)), _on_steps(tree, tree.weight[:, moved]))
    model = Model(Encoder.identity([f"z{k}" for k in range(d + 1)]), pair)
    binds = base.rows[:, moved] != 0
    end = np.zeros(d + 1)
    end[[moved, d]] = 1.0
    before, after = (np.column_stack([base.rows, step]) for step in (np.zeros(len(base.rows)), base.rows[:, moved]))
    rows, bound = np.vstack([before, after[binds], end]), [*base.bound, *base.bound[binds], base.upper[moved]]
    longest = np.nextafter(base.upper[moved] - base.lower[moved], np.inf)
    choices = base.choices
    if base.readings[j].is_integer:
        ends, yes = (np.array([[0.0]]), np.array([[longest]])), np.ones(1, dtype=bool)
        choices = (*choices, Choice(j, slice(d, d + 1), *ends, yes, yes, (None,)))
    return _Steps(
        model, base.domain, base.readings, None, np.append(base.lower, 0.0), np.append(base.upper, longest), rows,
        np.array(bound), np.concatenate([base.soft, base.soft[binds], [True]]), choices, base, j, moved,
    )  # fmt: skip


def _on_steps(tree: Tree, step: Floats) -> Tree:
    """The tree on ``(z, t)``, with the weights of ``t``."""
    return Tree(tree.topology, np.column_stack([tree.weight, step]), tree.bias, np.zeros((tree.n_leaves, 1)))


def _may_fall(lines: list[Line], steps: _Steps, tolerance: float) -> Bools:
    """Pairs of leaves, before and after a step, whose answers are not known to keep order."""
    base = steps.base
    low, high = (np.array(ends) for ends in zip(*(line_range(line, base.lower, base.upper) for line in lines)))
    falls = high[:, None] - low[None, :] > tolerance
    # One affine function that rises with the feature keeps order through every rounding, and so does clipping it.
    for a, b in np.argwhere(falls).tolist():
        before, after = lines[a], lines[b]
        same = before.value == after.value and np.array_equal(before.coef, after.coef)
        ordered = before.floor <= after.floor and before.ceiling <= after.ceiling
        falls[a, b] = not (same and ordered and before.coef[steps.moved] >= 0)
    return np.asarray(falls.ravel())


def _conclude(
    cuts: _StepCuts,
    pairs: Reachability,
    lines: list[Line],
    tolerance: float,
    falls: Callable[[Array], bool],
    deadline: Deadline,
) -> Monotone:
    """For every pair that can be reached or may be: does the answer fall, and by how much at most?"""
    steps, margin = cuts.steps, 0.0
    for pair, verdict in enumerate(pairs.verdicts):
        if verdict.status in ("unreachable", "not asked"):
            continue
        before, after = (lines[leaf] for leaf in divmod(pair, len(lines)))
        if deadline.is_over and (verdict.witness is None or not falls(verdict.witness)):
            ends = [line_range(line, steps.base.lower, steps.base.upper) for line in (before, after)]
            margin = max(margin, ends[0][1] - ends[1][0])
            continue
        polytope = cuts.polytope(pairs.regions[pair])
        stepped = after._replace(coef=np.append(after.coef, after.coef[steps.moved]))
        start = before._replace(coef=np.append(before.coef, 0.0))
        gap = largest_gap(steps, polytope, start, stepped, enough=tolerance)
        if gap.upper <= tolerance:
            continue
        known = [] if verdict.witness is None else [verdict.witness]
        row = steps.find_row_near([*known, *gap.points], polytope, falls, verdict.witness)
        if row is not None:
            low, high = steps.two_rows(row)
            backwards = float(low[steps.column]) > float(high[steps.column])
            return Monotone("no", *((high, low) if backwards else (low, high)))
        margin = max(margin, gap.upper)
    proofs = {id(verdict.proof): verdict.proof for verdict in pairs.verdicts if verdict.proof is not None}
    return Monotone("undecided" if margin > tolerance else "yes", proofs=tuple(proofs.values()), margin=margin)
