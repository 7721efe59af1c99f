"""The nearest input that reaches one of some leaves: best first, with certified distances.

A node is worth looking at only if it is nearer than the best point found. Its distance is bounded
from below by that of each half-space above it, ``(g z0 - h) / |g|`` in the dual norm, which
costs nothing once the scores of ``z0`` are known. Nodes are opened in the order of that bound, so most
leaves are never asked a linear program. The program of a leaf hands over multipliers, from which the
distance is certified in rational arithmetic, and a point, which is moved inside and asked of the model.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.verify.proof.certificates import distance_bound
from dtsemnet.verify.proof.decide import branch, is_empty, way_inside, witness_at
from dtsemnet.verify.proof.linear_programs import Solution, interior, nearest
from dtsemnet.verify.proof.regions import Cuts, Region

__all__ = ["Found", "Measure", "nearest_leaf", "read_norm"]

MAX_BOXES = 500


@dataclass(frozen=True, eq=False)
class Measure:
    """How far a point is from ``center``, in features: the norm of ``weight * (z - center)``."""

    norm: str
    center: Floats
    weight: Floats
    """Infinite for features that are held."""

    def dual(self, rows: Floats) -> Floats:
        """Dual norm of rows, over the features that may move."""
        free = np.isfinite(self.weight)
        size = np.abs(rows[:, free]) / self.weight[free]
        if self.norm == "inf":
            return np.asarray(size.sum(axis=1))
        return np.asarray(size.max(axis=1, initial=0.0) if self.norm == "1" else np.sqrt((size * size).sum(axis=1)))

    def of(self, z: Floats) -> float:
        """The distance of a point, never told too small."""
        step = np.where(np.isfinite(self.weight), self.weight, 1.0) * (z - self.center)
        order = {"inf": np.inf, "1": 1, "2": 2}[self.norm]
        return float(np.linalg.norm(step, order) * (1 + (len(z) + 4) * 2.0**-52))


@dataclass
class Found:
    """State of a search, and its outcome."""

    upper: float = np.inf
    """Distance of the best point."""
    lower: float = np.inf
    """No point is nearer: certified."""
    row: Array | None = None
    leaf: int = -1
    n_programs: int = 0
    tried: list[int] = field(default_factory=list)
    """Leaves that were asked a program."""


def read_norm(norm: Any) -> str:
    """Read "inf", 1 or 2."""
    names = {"inf": "inf", np.inf: "inf", 1: "1", 2: "2", "1": "1", "2": "2"}
    if isinstance(norm, bool) or norm not in names:
        raise ValueError(f"norm must be 'inf', 1 or 2, got {norm!r}.")
    return names[norm]


def nearest_leaf(
    cuts: Cuts,
    measure: Measure,
    target: Bools,
    *,
    limit: float = np.inf,
    skip: frozenset[int] = frozenset(),
) -> Found:
    """Find the nearest input of the space that reaches a target leaf, no farther than ``limit``."""
    topology = cuts.tree.topology
    near = _half_space_distances(cuts, measure)
    wanted = np.concatenate([[0], np.cumsum(target)])
    found, ticket = Found(upper=limit), count()
    heap: list[tuple[float, int, int, Region]] = [(0.0, next(ticket), 0 if topology.n_splits else -1, cuts.root())]
    certified = np.inf
    while heap and heap[0][0] < found.upper:
        bound, _, node, region = heapq.heappop(heap)
        if node < 0:
            if target[~node] and ~node not in skip:
                certified = min(certified, _try_leaf(cuts, measure, region, ~node, bound, found))
            continue
        for side, child in enumerate(topology.children[node].tolist()):
            first, last = (~child, ~child + 1) if child < 0 else (topology.spans[0][child], topology.spans[1][child])
            if wanted[last] == wanted[first]:
                continue
            below = cuts.child(region, node, side)
            if below.empty:
                continue
            least = max(bound, float(near[node, side]), _box_distance(below, measure, cuts, node))
            if least < found.upper:
                heapq.heappush(heap, (least, next(ticket), child, below))
            else:
                certified = min(certified, least)
    if heap:
        certified = min(certified, heap[0][0])
    found.lower = min(certified, found.upper if found.row is not None else np.inf)
    return found


def _try_leaf(cuts: Cuts, measure: Measure, region: Region, leaf: int, bound: float, found: Found) -> float:
    """Ask the programs of one leaf; give back a certified bound of its distance, improve the best point."""
    rows, right, soft = cuts.rows(region)
    found.tried.append(leaf)
    least, todo = np.inf, [(region.lower, region.upper)]
    for _ in range(MAX_BOXES):
        if not todo:
            return least
        lower, upper = todo.pop()
        found.n_programs += 1
        solution = nearest(measure.center, measure.weight, measure.norm, rows, right, lower, upper)
        if solution is None:
            if not is_empty(rows, right, lower, upper):
                halves = branch(cuts, lower, upper, None)
                todo += halves
                least = least if halves else min(least, bound)
            continue
        here = max(bound, _certify(measure, rows, right, lower, upper, solution))
        if here < found.upper:
            _improve(cuts, measure, (rows, right, soft), (lower, upper), solution, leaf, found)
            halves = branch(cuts, lower, upper, solution) if cuts.space.integer.any() and here < found.upper else []
            # A part whose point is as near as the bound says needs no more halving.
            if halves and not found.upper - here <= 1e-9 * max(1.0, abs(here)):
                todo += halves
                continue
        least = min(least, here)
    return bound


def _certify(measure: Measure, rows: Floats, right: Floats, lower: Floats, upper: Floats, solution: Solution) -> float:
    """Turn multipliers into a distance that is proved, rounded down."""
    assert solution.at_lower is not None
    assert solution.at_upper is not None
    at_lower, at_upper = np.flatnonzero(solution.at_lower), np.flatnonzero(solution.at_upper)
    ends = np.zeros((len(at_lower) + len(at_upper), len(lower)))
    ends[np.arange(len(ends)), np.concatenate([at_lower, at_upper])] = 1.0
    ends[: len(at_lower)] *= -1.0
    proved = distance_bound(
        np.vstack([rows, ends]),
        np.concatenate([right, -lower[at_lower], upper[at_upper]]),
        np.concatenate([solution.multiplier, solution.at_lower[at_lower], solution.at_upper[at_upper]]),
        measure.center,
        measure.weight,
        measure.norm,
    )
    if proved is None:
        return np.inf
    number = float(proved)
    return number if Fraction(number) <= proved else float(np.nextafter(number, -np.inf))


def _improve(
    cuts: Cuts, measure: Measure, system: tuple[Floats, Floats, Bools], box: tuple[Floats, Floats],
    solution: Solution, leaf: int, found: Found,
) -> None:  # fmt: skip
    """Look for a row of the leaf close to the solution, first there, then on the way to the leaf's inside."""
    model = cuts.space.model

    def reaches(row: Array) -> bool:
        return int(model.apply(row[None])[0]) == leaf

    def deep() -> Floats | None:
        inside = interior(system[0], system[1], *box, system[2])
        return None if inside is None else inside.point

    row = witness_at(cuts, way_inside(solution.point, deep, measure.center), *box, reaches)
    if row is not None:
        size = measure.of(model.transform(row[None])[0].astype(np.float64))
        if size < found.upper or (size <= found.upper and found.row is None):
            found.upper, found.row, found.leaf = size, row, leaf


def _half_space_distances(cuts: Cuts, measure: Measure) -> Floats:
    """Distance of the center to the left and right half-space of each split, rounded down, shape (n_splits, 2)."""
    tree = cuts.tree
    if not tree.n_splits:
        return np.zeros((0, 2))
    score = tree.scores(measure.center[None])[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.maximum(np.stack([score, -score], axis=1) - 2 * cuts.slack[:, None], 0.0) * (1 - 1e-12)
        return np.where(beyond > 0, beyond / (measure.dual(tree.weight)[:, None] * (1 + 1e-12)), 0.0)


def _box_distance(region: Region, measure: Measure, cuts: Cuts, split: int) -> float:
    """Distance to the region's box along the feature that a split of one feature has just cut."""
    if cuts.n_weights[split] != 1:
        return 0.0
    j = int(cuts.feature[split])
    z = float(measure.center[j])
    away = max(region.lower[j] - z, z - region.upper[j], 0.0)
    return float(away * measure.weight[j] * (1 - 1e-12)) if away > 0 else 0.0
