"""Does raising one column never lower the answer?

A violation is a pair of inputs that differ in one column, the one with more of it getting the lower answer.
An encoder keeps the order of a column's numbers, so in features the pair is ``z`` and ``z + t e_j``
with ``t >= 0``. As one question: the tree on ``z`` and the tree on ``z + t e_j``, whose splits are splits of
``(z, t)``, form a product (:mod:`dtsemnet.verify.proof.product_tree`). Only pairs of leaves whose answers may fall
are asked whether they can be reached, and of those with linear leaves how far the answer can fall at most
(:mod:`dtsemnet.verify.proof.leaf_pairs`). If no pair is left the tree is monotone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Encoder, Model, Tree, as_model
from dtsemnet.verify.proof.decide import Proof, ways_inside, witness_at
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import Space, bind, column_number
from dtsemnet.verify.proof.leaf_pairs import Line, answers, largest_gap, line_range, lines_of, output_number
from dtsemnet.verify.proof.product_tree import product
from dtsemnet.verify.proof.regions import Cuts
from dtsemnet.verify.questions.reachability import Reachability, explore

__all__ = ["Monotone", "monotone"]


@dataclass(frozen=True)
class Monotone:
    """Yes with proofs, no with two inputs, or undecided."""

    status: str
    low: Array | None = None
    """An input; ``high`` differs from it by a larger value of the column."""
    high: Array | None = None
    proofs: tuple[Proof, ...] = ()
    margin: float = 0.0
    """Of an undecided question: the answer falls by no more than this."""

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
    """Prove that raising a column never lowers an output, or show two inputs where it does.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    feature : int or str
        The column, of numbers. All other columns, missing or not, are the same in both inputs.
    domain : Domain
        Both inputs lie in it, and the column is there in both.
    output : label of a class, or number of an output, default=0
        For a classifier the probability of the named class is what may not fall. Of a regressor the output is taken
        before an output map, which keeps order.
    increasing : bool, default=True
        False asks that raising the column never raises the output.
    tolerance : float, default=0.0
        A fall by no more than this does not count. Linear leaves that meet without a jump need a little more than 0,
        since their computed answers may fall by a rounding there.
    time_limit : float, optional
        Seconds.
    progress : callable, optional
        Called with the pairs of leaves done and all that are asked.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1.0], [2.0]])
    >>> monotone(tree, 0, Domain(0.0, 1.0)).status
    'yes'
    >>> found = monotone(tree, 1, Domain(0.0, 1.0))
    >>> found.status, tree.predict(np.stack([found.low, found.high]))
    ('no', array([2., 1.]))
    """
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance must be a finite number not below 0, got {tolerance!r}.")
    model = as_model(tree)
    o, j = output_number(model, output), column_number(model, feature)
    column = model.encoder.columns[j]
    if column.categories is not None:
        raise ValueError(
            f"feature names column {column.name!r}, whose categories have no order; ask about a column of numbers."
        )
    # A column of negative scale falls in the features as it rises.
    sign = (1.0 if increasing else -1.0) * (1.0 if column.scale >= 0 else -1.0)
    base = _without_missing(model, domain, j)
    if base.lower[base.first[j]] == base.upper[base.first[j]]:
        return Monotone("yes")  # the tree sees one number, whatever the column holds
    space = _with_steps(base, j)
    lines = [_turned(line, sign) for line in lines_of(model.tree, o, base.lower, base.upper)]
    wanted = _may_fall(lines, space, tolerance)
    is_flat = not any(line.coef.any() for line in lines)
    found, cuts = explore(
        space, wanted, space.pair_of, stop=is_flat, step=space.place, time_limit=time_limit, progress=progress
    )

    def falls(row: Array) -> bool:
        low, high = space.two_rows(row)
        before, after = sign * answers(model, np.stack([low, high]))[:, o]
        return bool(before - after > tolerance)

    return _judge(cuts, found, wanted, lines, tolerance, space, falls)


@dataclass(frozen=True, eq=False)
class _Steps(Space):
    """Features with a step of one of them; a row of it is ``(z, t)`` and stands for two rows of the domain."""

    base: Space
    column: int
    place: int

    def row(self, z: Floats) -> Array:
        return z

    def two_rows(self, row: Array) -> tuple[Array, Array]:
        """The row at ``z`` and the one at ``z + t e_j``."""
        z = np.array(row[:-1], dtype=np.float64)
        low = self.base.row(z)
        z[self.place] += float(row[-1])
        high = low.copy()
        high[self.column] = self.base.row(z)[self.column]
        return low, high

    def holds(self, row: Array) -> bool:
        low, high = self.two_rows(row)
        first, last = (float(side[self.column]) for side in (low, high))
        rises = first <= last if self.base.model.encoder.columns[self.column].scale >= 0 else last <= first
        return rises and self.base.holds(low) and self.base.holds(high)

    def pair_of(self, row: Array) -> int:
        """Number of the pair of leaves that a row's two rows reach."""
        model = self.base.model
        first, second = model.apply(np.stack(self.two_rows(row))).tolist()
        return int(first * model.tree.n_leaves + second) if self.holds(row) else -1


def _without_missing(model: Model, domain: Domain, j: int) -> Space:
    """The domain with the column there."""
    missing = tuple(name for name in domain.missing if column_number(model, name) != j)
    return bind(model, replace(domain, missing=missing))


def _with_steps(base: Space, j: int) -> _Steps:
    """The space of ``(z, t)``: both ends of the step lie in the space of ``z``."""
    place, d = base.first[j], len(base.lower)
    pair = product(_on_steps(base.model.tree, None), _on_steps(base.model.tree, place))
    model = Model(Encoder.identity([f"z{k}" for k in range(d + 1)]), pair)
    moves = base.rows[:, place] != 0
    end = np.zeros((1, d + 1))
    end[0, [place, d]] = 1.0
    rows = np.vstack([
        np.column_stack([base.rows, np.zeros(len(base.rows))]),
        np.column_stack([base.rows[moves], base.rows[moves, place]]),
        end,
    ])  # fmt: skip
    bound = np.concatenate([base.bound, base.bound[moves], base.upper[[place]]])
    low, high = base.lower[place], base.upper[place]
    room = np.nextafter(high - low, np.inf) if high > low else 0.0
    return _Steps(
        model, base.domain, np.append(base.lower, 0.0), np.append(base.upper, room), rows, bound,
        np.concatenate([base.soft, base.soft[moves], [True]]), np.append(base.integer, base.integer[place]), base.marks,
        base.first, base.strange, base.column_lower, base.column_upper, base, j, place,
    )  # fmt: skip


def _on_steps(tree: Tree, place: int | None) -> Tree:
    """The tree on ``(z, t)``: read at ``z``, or at ``z + t e_j``."""
    step = np.zeros(tree.n_splits) if place is None else tree.weight[:, place]
    return Tree(tree.topology, np.column_stack([tree.weight, step]), tree.bias, np.zeros((tree.n_leaves, 1)))


def _turned(line: Line, sign: float) -> Line:
    """The answer, or its negative."""
    if sign > 0:
        return line
    return Line(-line.coef, -line.value, -line.ceiling, -line.floor, line.error)


def _may_fall(lines: list[Line], space: _Steps, tolerance: float) -> Bools:
    """Pairs of leaves, before and after a step, whose answers are not seen to keep order."""
    base = space.base
    low, high = (np.array(ends) for ends in zip(*(line_range(line, base.lower, base.upper) for line in lines)))
    falls = high[:, None] - low[None, :] > tolerance
    # One affine function that rises with the feature keeps order through every rounding, and so does clipping it.
    for a, before in enumerate(lines):
        for b, after in enumerate(lines):
            same = before.value == after.value and np.array_equal(before.coef, after.coef)
            ordered = before.floor <= after.floor and before.ceiling <= after.ceiling
            if falls[a, b] and same and ordered and before.coef[space.place] >= 0:
                falls[a, b] = False
    return np.asarray(falls.ravel())


def _judge(
    cuts: Cuts, found: Reachability, wanted: Bools, lines: list[Line], tolerance: float, space: _Steps,
    falls: Callable[[Array], bool],
) -> Monotone:  # fmt: skip
    """Look at every pair that can be reached or may be: does the answer fall, and by how much at most?"""
    margin = 0.0
    for pair in np.flatnonzero(wanted).tolist():
        verdict, region = found.verdicts[pair], found.regions[pair]
        if verdict.status == "unreachable":
            continue
        before, after = (lines[leaf] for leaf in divmod(pair, len(lines)))
        if np.isnan(verdict.margin):  # the time was over before it was asked
            margin = max(margin, _fall_of_boxes(before, after, space))
            continue
        rows, right, _ = cuts.rows(region)
        stepped = after._replace(coef=np.append(after.coef, after.coef[space.place]))
        start = before._replace(coef=np.append(before.coef, 0.0))
        gap = largest_gap(cuts, (rows, right), (region.lower, region.upper), start, stepped, enough=tolerance)
        if gap.upper <= tolerance:
            continue
        known = verdict.witness
        points = [*([] if known is None else [known]), *gap.points]
        ways = (ways_inside(point, (rows, right), (region.lower, region.upper), known) for point in points)
        shown = (witness_at(cuts, way, region.lower, region.upper, falls) for way in ways)
        row = next((row for row in shown if row is not None), None)
        if row is not None:
            low, high = space.two_rows(row)
            backwards = float(low[space.column]) > float(high[space.column])
            return Monotone("no", *((high, low) if backwards else (low, high)))
        margin = max(margin, gap.upper)
    proofs = {id(verdict.proof): verdict.proof for verdict in found.verdicts if verdict.proof is not None}
    return Monotone("undecided" if margin > tolerance else "yes", proofs=tuple(proofs.values()), margin=margin)


def _fall_of_boxes(before: Line, after: Line, space: _Steps) -> float:
    ends = [line_range(line, space.base.lower, space.base.upper) for line in (before, after)]
    return ends[0][1] - ends[1][0]
