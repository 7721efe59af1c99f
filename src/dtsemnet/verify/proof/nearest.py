"""The nearest input that reaches one of some leaves: best-first search with certified distances.

A node is worth a look only if it is nearer than the best point so far. Its distance is bounded
from below by that of each half-space above it, ``(g z0 - h) / |g|`` in the dual norm, which
costs nothing once the scores of ``z0`` are known. Nodes are opened in the order of that bound, so most
leaves need no linear program. The program of a leaf gives multipliers, which certify the
distance in rational arithmetic, and a point, which is moved inside the leaf and checked by the model.

A column of categories has a *fee*, which any change of it costs. Features measure it from below: a change to another
category moves two of them, by half the fee each, and one to or from a value that is all zeros moves one. Where a box
leaves only one category, the fee is due or not, and is added exactly.

Where all that moves are integers, distances are *whole*: every bound is rounded up to the next integer, and for the
largest change a leaf is looked for in one cube after the other, of size 1, 2, 3, ... In a cube the point that lies
deepest in the leaf has integers almost everywhere, whereas the nearest point of the linear program has them nowhere.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from numbers import Real
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.names import shown
from dtsemnet.verify.proof.certificates import (
    Norm,
    Polytope,
    distance_bound,
    exact_steps,
    root_above,
    round_down,
    round_up,
)
from dtsemnet.verify.proof.decision import decide_polytope, is_small, neighbours_that_arrive, points_that_arrive
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, points_inwards
from dtsemnet.verify.proof.linear_programs import Solution, contradiction, nearest
from dtsemnet.verify.proof.regions import Cuts, Region, leaves_below
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = [
    "Distance", "NearestPoint", "allow_for_maps", "distance_from", "dual_norm", "nearest_leaf", "read_norm",
    "try_leaf",
]  # fmt: skip

MAX_BOXES = 500
MAX_CUBES = 64


@dataclass(frozen=True, eq=False)
class Distance:
    """How far a point is from ``center``, in features: the norm of ``weight * (z - center)``."""

    norm: Norm
    center: Floats
    weight: Floats
    """Infinite for features that are held."""
    fees: tuple[tuple[slice, float], ...] = ()
    """Features of columns of categories, each with what any change of the column costs; for norm 1 alone."""
    extra: float = 0.0
    """Fees that are due, rounded down."""

    def of(self, z: Floats) -> float:
        """The distance of a point, rounded up."""
        held = np.zeros(len(z), dtype=bool)
        due = Fraction(self.extra)
        for part, fee in self.fees:
            held[part] = True
            due += Fraction(fee) if (z[part] != self.center[part]).any() else 0
        moved = np.flatnonzero((z != self.center) & ~held)
        weight = np.where(np.isfinite(self.weight), self.weight, 1.0)  # what is held moves by no more than rounding
        size, unit = exact_steps(weight[moved], z[moved], self.center[moved])
        if self.norm == "2":
            return round_up(root_above(int((size * size).sum()) * unit * unit))
        if self.norm == "inf":
            return round_up(int(size.max(initial=0)) * unit)
        return round_up(int(size.sum()) * unit + due)

    def between(self, Z: Floats) -> tuple[Floats, Floats]:
        """The distances of points, rounded down and up."""
        moved = Z - self.center
        step = np.abs(np.where(np.isfinite(self.weight), self.weight, 1.0) * moved)
        due = np.full(len(Z), self.extra)
        for part, fee in self.fees:
            due += np.where((moved[:, part] != 0).any(axis=1), fee, 0.0)
            step[:, part] = 0.0
        if self.norm == "1":
            size = step.sum(axis=1) + due
        else:
            size = step.max(axis=1, initial=0.0) if self.norm == "inf" else dual_norm(step, "2")
        share = (Z.shape[1] + 8) * 2.0**-52
        return np.where(size > 0, size * (1 - share) - 2.0**-1060, 0.0), size * (1 + share) + (size > 0) * 2.0**-1060

    def on_box(self, lower: Floats, upper: Floats) -> Distance:
        """The same distance where a box leaves one category of a column: its fee is added, or is not due."""
        if not self.fees:
            return self
        center, weight, extra, fees = self.center.copy(), self.weight.copy(), Fraction(self.extra), []
        for part, fee in self.fees:
            if (lower[part] < upper[part]).any():
                fees.append((part, fee))
                continue
            extra += Fraction(fee) if (lower[part] != center[part]).any() else 0
            center[part], weight[part] = lower[part], np.inf
        return Distance(self.norm, center, weight, tuple(fees), round_down(extra))


@dataclass
class NearestPoint:
    """State of a search, and its outcome."""

    upper: float = np.inf
    """Distance of the best point."""
    lower: float = np.inf
    """Certified: no point is nearer."""
    row: Array | None = None
    """The best point, as a row of columns."""
    leaf: int = -1
    n_programs: int = 0
    deadline: Deadline = field(default_factory=lambda: Deadline(None))


def read_norm(norm: Any) -> Norm:
    """Read "inf", 1 or 2."""
    names: dict[Any, Norm] = {"inf": "inf", np.inf: "inf", 1: "1", 2: "2", "1": "1", "2": "2"}
    if not isinstance(norm, (str, Real)) or isinstance(norm, bool) or norm not in names:
        raise ValueError(f"norm must be 'inf', 1 or 2, got {shown(norm)}.")
    return names[norm]


def dual_norm(size: Floats, norm: Norm) -> Floats:
    """Dual norm of vectors of absolute values, along the last axis."""
    if norm == "inf":
        return np.asarray(size.sum(axis=-1))
    largest = size.max(axis=-1, initial=0.0)
    if norm == "1":
        return np.asarray(largest)
    # In units of the largest entry, so that no square of a tiny or a huge number is lost.
    unit = np.where(largest > 0, largest, 1.0)
    share = size / unit[..., None]
    return np.asarray(unit * np.sqrt((share * share).sum(axis=-1)) * (largest > 0))


def distance_from(encoded: EncodedDomain, row: Array, norm: Norm, costs: Floats | None = None) -> Distance:
    """Measure distances from a row in the units of its columns, or in costs; what the domain holds does not move."""
    z = encoded.encode(row)
    size, fees = np.ones(len(z)), {}
    for k, feature in enumerate(encoded.model.encoder.features):
        column = feature.column
        cost = 1.0 if costs is None else float(costs[feature.column_index])
        if column.categories is not None:
            size[k] = cost / 2  # a change moves two features: one category goes, another comes
            fees[feature.column_index] = cost
        if feature.kind != "number":
            continue
        size[k] = cost / abs(column.scale) if column.scale else np.inf
        if encoded.lower[k] < encoded.upper[k] and z[k] in (column.lower, column.upper):
            raise ValueError(
                f"x is clipped in column {column.name!r}, where distances are not those of the features; "
                f"hold the column, or move x inside the range."
            )
    parts = encoded.model.encoder.features_of_column
    open_ = tuple((parts[j], fee) for j, fee in fees.items() if (encoded.lower < encoded.upper)[parts[j]].any())
    return Distance(norm, z, np.where(encoded.lower < encoded.upper, size, np.inf), open_)


def nearest_leaf(
    cuts: Cuts,
    distance: Distance,
    target: Bools,
    *,
    limit: float = np.inf,
    skip: frozenset[int] = frozenset(),
    any_within: float = -np.inf,
    deadline: Deadline | None = None,
) -> NearestPoint:
    """Find the nearest input of the domain that reaches a target leaf, no farther than ``limit``.

    Any input within ``any_within`` ends the search. If the time is over, the bound is what is certified by then.
    """
    topology = cuts.tree.topology
    near, in_integers = _half_space_distances(cuts, distance), _is_whole(cuts.encoded, distance)
    near = np.ceil(near) if in_integers else near
    best, ticket = NearestPoint(upper=limit, deadline=deadline or Deadline(None)), count()
    heap: list[tuple[float, int, int, Region]] = [(0.0, next(ticket), 0 if topology.n_splits else -1, cuts.root())]
    certified = np.inf
    while heap and heap[0][0] < best.upper and not best.deadline.is_over:
        if best.row is not None and best.upper <= any_within:
            break
        bound, _, node, region = heapq.heappop(heap)
        if node < 0:
            if target[~node] and ~node not in skip:
                certified = min(certified, try_leaf(cuts, distance, region, ~node, bound, best))
            continue
        for side, child in enumerate(topology.children[node].tolist()):
            leaves = leaves_below(cuts.tree, child)
            if not target[leaves.start : leaves.stop].any():
                continue
            below = cuts.child(region, node, side)
            if below.empty:
                continue
            least = max(bound, float(near[node, side]), _box_distance(below, distance, cuts, node))
            if least < best.upper:
                heapq.heappush(heap, (least, next(ticket), child, below))
            else:
                certified = min(certified, least)
    if heap:
        certified = min(certified, heap[0][0])
    certified = float(np.ceil(certified)) if in_integers else certified
    best.lower = min(certified, best.upper if best.row is not None else np.inf)
    return best


def try_leaf(cuts: Cuts, distance: Distance, region: Region, leaf: int, bound: float, best: NearestPoint) -> float:
    """Solve the programs of one leaf: return a certified bound of its distance, improve the best point."""
    encoded, least, todo = cuts.encoded, np.inf, [cuts.polytope(region)]
    whole, arrives = distance, cuts.arrives(range(leaf, leaf + 1))
    in_integers = _is_whole(encoded, distance)
    if in_integers and distance.norm == "inf":
        return _try_cubes(cuts, distance, todo[0], leaf, bound, best)
    for _ in range(MAX_BOXES):
        if not todo:
            return least
        if best.deadline.is_over:
            return bound
        polytope = todo.pop()
        if is_small(encoded, polytope):
            least = min(
                least, _try_all(cuts, whole, polytope, points_that_arrive(encoded, polytope, arrives), leaf, best)
            )
            continue
        best.n_programs += 1
        distance = whole.on_box(polytope.lower, polytope.upper)
        solution = nearest(distance.center, distance.weight, distance.norm, polytope)
        if solution is None:
            if contradiction(polytope) is None:
                halves = encoded.halve(polytope, None)
                todo += halves
                least = least if halves else min(least, bound)
            continue
        here = max(bound, _certify(distance, polytope, solution))
        here = float(np.ceil(here)) if in_integers else here
        if here < best.upper:
            points = points_inwards(solution.point, polytope, distance.center)
            row = encoded.find_row(points, polytope, lambda row: encoded.leaf_of(row) == leaf)
            if row is None:  # the leaf is thinner than rounding, or has no inside
                beside = neighbours_that_arrive(encoded, polytope, solution.point, arrives)
                row = encoded.find_row(beside, polytope, lambda row: encoded.leaf_of(row) == leaf)
            size = np.nan if row is None else whole.of(encoded.encode(row))
            if size < best.upper or (size <= best.upper and best.row is None):
                best.upper, best.row, best.leaf = size, row, leaf
            halves = encoded.halve(polytope, solution) if here < best.upper else []
            # A part whose point is as near as the bound says needs no more halving.
            if halves and not best.upper - here <= 1e-9 * max(1.0, abs(here)):
                todo += halves
                continue
        least = min(least, here)
    return bound


def _is_whole(encoded: EncodedDomain, distance: Distance) -> bool:
    """Whether all distances are integers, since nothing moves but integers, each in its own unit."""
    moves = np.isfinite(distance.weight)
    integers = {choice.part.start for choice in encoded.choices if choice.is_whole.all()}
    return (
        distance.norm != "2"
        and not distance.fees
        and not distance.extra
        and set(np.flatnonzero(moves).tolist()) <= integers
        and bool((distance.weight[moves] == 1).all() and (np.round(distance.center) == distance.center)[moves].all())
    )


def _try_cubes(
    cuts: Cuts, distance: Distance, polytope: Polytope, leaf: int, bound: float, best: NearestPoint
) -> float:
    """Look for a leaf in cubes of integers around the center, from the first that the linear program allows."""
    encoded, arrives, moves = cuts.encoded, cuts.arrives(range(leaf, leaf + 1)), np.isfinite(distance.weight)
    best.n_programs += 1
    solution = nearest(distance.center, distance.weight, distance.norm, polytope)
    if solution is None and contradiction(polytope) is not None:
        return np.inf
    size = float(np.ceil(bound if solution is None else max(bound, _certify(distance, polytope, solution))))
    for _ in range(MAX_CUBES):
        if not size < best.upper or best.deadline.is_over:
            break
        reach = np.where(moves, size, np.inf)
        ends = np.maximum(polytope.lower, distance.center - reach), np.minimum(polytope.upper, distance.center + reach)
        box = encoded.tighten(*ends) if (ends[0] <= ends[1]).all() else None
        if box is not None:
            cube = polytope._replace(lower=box[0], upper=box[1])
            found = decide_polytope(encoded, cube, arrives, lambda row: encoded.leaf_of(row) == leaf, best.deadline)
            best.n_programs += found.n_programs
            if found.witness is not None:
                best.upper, best.row, best.leaf = distance.of(encoded.encode(found.witness)), found.witness, leaf
            if found.status != "unreachable":
                break
            if (box[0] == polytope.lower).all() and (box[1] == polytope.upper).all():
                return np.inf
        size += 1.0
    return size


def _try_all(cuts: Cuts, distance: Distance, polytope: Polytope, Z: Floats, leaf: int, best: NearestPoint) -> float:
    """Look at all points of a small box that reach a leaf: the least distance, rounded down."""
    if not len(Z):
        return np.inf
    encoded, (down, up) = cuts.encoded, distance.between(Z)
    for k in np.argsort(up, kind="stable").tolist():
        if not up[k] < best.upper:
            break
        row = encoded.find_row([Z[k]], polytope, lambda row: encoded.leaf_of(row) == leaf)
        if row is not None:
            best.upper, best.row, best.leaf = distance.of(encoded.encode(row)), row, leaf
            break
    return float(down.min())


def allow_for_maps(encoded: EncodedDomain, distance: Distance, best: NearestPoint) -> NearestPoint:
    """Widen distances if features are rounded images of the columns that move."""
    slack = 0.0
    for feature, weight in zip(encoded.model.encoder.features, distance.weight.tolist()):
        column, j = feature.column, feature.column_index
        is_rounded = (column.center, column.scale) != (0.0, 1.0)  # a clip alone rounds nothing
        if feature.kind == "number" and is_rounded and np.isfinite(weight):
            most = encoded.readings[j].largest + abs(column.center)
            slack += 16 * 2.0**-53 * weight * abs(column.scale) * most
    if slack:
        best.lower = max(0.0, best.lower * (1 - 1e-14) - slack)
        best.upper = best.upper * (1 + 1e-14) + slack
    return best


def _certify(distance: Distance, polytope: Polytope, solution: Solution) -> float:
    """Turn multipliers into a distance that is proved, rounded down."""
    rows, right, lower, upper, _ = polytope
    at_lower, at_upper = np.flatnonzero(solution.at_lower), np.flatnonzero(solution.at_upper)
    ends = np.zeros((len(at_lower) + len(at_upper), len(lower)))
    ends[np.arange(len(ends)), np.append(at_lower, at_upper)] = np.repeat([-1.0, 1.0], [len(at_lower), len(at_upper)])
    rows = np.vstack([rows, ends])
    right = np.concatenate([right, -lower[at_lower], upper[at_upper]])
    multiplier = np.concatenate([solution.multiplier, solution.at_lower[at_lower], solution.at_upper[at_upper]])
    proved = distance_bound(rows, right, multiplier, distance.center, distance.weight, distance.norm)
    return np.inf if proved is None else round_down(proved + Fraction(distance.extra))


def _half_space_distances(cuts: Cuts, distance: Distance) -> Floats:
    """Distance of the center to the left and right half-space of each split, rounded down, shape (n_splits, 2)."""
    score, free = cuts.tree.scores(distance.center[None])[0], np.isfinite(distance.weight)
    size = dual_norm(np.abs(cuts.tree.weight[:, free]) / distance.weight[free], distance.norm)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        beyond = np.maximum(np.stack([score, -score], axis=1) - 2 * cuts.slack[:, None], 0.0) * (1 - 1e-12)
        most = size[:, None] * (1 + 1e-12) + len(free) * 2.0**-1070  # the quotients may have lost their last places
        return np.where(beyond > 0, beyond / most, 0.0)


def _box_distance(region: Region, distance: Distance, cuts: Cuts, split: int) -> float:
    """Distance to the region's box along the feature that a split of one feature has just cut."""
    if cuts.n_weights[split] != 1:
        return 0.0
    j = int(cuts.feature[split])
    z = float(distance.center[j])
    away = max(region.lower[j] - z, z - region.upper[j], 0.0)
    return float(away * distance.weight[j] * (1 - 1e-12)) if away > 0 else 0.0
