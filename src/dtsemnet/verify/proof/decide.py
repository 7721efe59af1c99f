"""Can a region be reached? A witness, a proof, or neither with the margin.

One linear program asks for the point farthest inside the half-spaces. If the tree sends that
point to the region, it is the witness. If no point is inside, the multipliers of the program are
a Farkas certificate. Where features are integers the box is halved until one of the two is found
for every part. What is left is *undecided*: the region is thinner than rounding can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.verify.proof.certificates import Farkas
from dtsemnet.verify.proof.linear_programs import Solution, interior
from dtsemnet.verify.proof.regions import Cuts, Region

__all__ = ["Proof", "Verdict", "branch", "candidates", "is_empty", "settle", "way_inside", "ways_inside", "witness_at"]

MAX_BOXES = 2000


@dataclass(frozen=True)
class Proof:
    """Why no input of the domain reaches a node."""

    path: tuple[tuple[int, int], ...]
    """Splits on the way, each with its side (0 left, 1 right)."""
    reason: str
    """In words."""
    farkas: tuple[Farkas, ...] = ()
    """One certificate for each part of the box; empty where the order of doubles alone is the proof."""

    def check(self) -> bool:
        """Check the certificates once more, in rational arithmetic."""
        return all(part.check() for part in self.farkas)


@dataclass(frozen=True)
class Verdict:
    """Outcome for one region."""

    status: str
    """"reachable", "unreachable" or "undecided"."""
    witness: Array | None = None
    """A row of the input that gets there."""
    proof: Proof | None = None
    margin: float = 0.0
    """Of an undecided region: how far the best point lies inside its half-spaces, as a share of their size."""
    n_programs: int = 0
    """Linear programs solved."""


def settle(cuts: Cuts, region: Region, reaches: Callable[[Array], bool]) -> Verdict:
    """Decide whether a region can be reached; ``reaches`` asks the model about a row."""
    if region.empty:
        return Verdict("unreachable", proof=Proof(region.path, region.empty))
    rows, bound, soft = cuts.rows(region)
    farkas: list[Farkas] = []
    todo, n_programs, open_margin = [(region.lower, region.upper)], 0, -np.inf
    while todo:
        lower, upper = todo.pop()
        alone = _one_row(rows, bound, lower, upper)
        if alone is not None:
            farkas.append(alone)
            continue
        n_programs += 1
        found = interior(rows, bound, lower, upper, soft)
        if found is not None:
            proof = Farkas(rows, bound, found.multiplier, lower, upper)
            if found.margin < 0 and proof.check():
                farkas.append(proof)
                continue
            witness = witness_at(cuts, candidates(found.point), lower, upper, reaches)
            if witness is None and cuts.space.soft.any():  # an equality has no inside: keep to the splits'
                hard = np.arange(len(rows)) >= len(cuts.space.rows)
                inside = interior(rows, bound, lower, upper, hard)
                witness = None if inside is None else witness_at(cuts, candidates(inside.point), lower, upper, reaches)
            if witness is not None:
                return Verdict("reachable", witness, n_programs=n_programs)
        halves = branch(cuts, lower, upper, found) if n_programs < MAX_BOXES else []
        todo += halves
        if not halves:
            open_margin = max(open_margin, np.nan if found is None else found.margin)
    if open_margin != -np.inf:
        return Verdict("undecided", margin=float(open_margin), n_programs=n_programs)
    reason = "its half-spaces have no point in common" if n_programs else "a half-space lies outside the box"
    return Verdict("unreachable", proof=Proof(region.path, reason, tuple(farkas)), n_programs=n_programs)


def witness_at(
    cuts: Cuts, points: Iterable[Floats], lower: Floats, upper: Floats, reaches: Callable[[Array], bool]
) -> Array | None:
    """Turn the first point that will do into a row of the domain which the model itself accepts."""
    for point in points:
        z = np.where(cuts.space.integer, np.round(point), point)
        row = cuts.space.row(np.clip(z, lower, upper))
        if cuts.space.holds(row) and reaches(row):
            return row
    return None


def way_inside(point: Floats, deep: Callable[[], Floats | None], start: Floats | None = None) -> Iterator[Floats]:
    """Points from one on the edge of a region towards one deep inside, then round numbers near the edge.

    Before that, a little farther on the way from ``start``, which moves nothing that did not move anyway.
    """
    yield point
    if start is not None:
        for share in 10.0 ** np.arange(-15.0, -9.0):
            yield point + share * (point - start)
    inside = deep()
    if inside is not None:
        for share in 10.0 ** np.arange(-14.0, 1.0):
            yield point + share * (inside - point)
    yield from candidates(point)


def ways_inside(
    point: Floats, rows: tuple[Floats, Floats], box: tuple[Floats, Floats], known: Floats | None
) -> Iterator[Floats]:
    """Points from one on the edge of a region to its deepest point, then to one that is known to lie in it."""

    def deepest() -> Floats | None:
        found = interior(*rows, *box, np.ones(len(rows[0]), dtype=bool)) if len(rows[0]) else None
        return None if found is None else found.point

    yield from way_inside(point, deepest)
    if known is not None:
        yield from way_inside(point, lambda: known)


def candidates(point: Floats) -> Iterator[Floats]:
    """The point, then the same rounded: regions without an inside hold round numbers or nothing."""
    yield point
    for bits in (20, 10, 6, 3):
        with np.errstate(over="ignore"):
            rounded = np.round(point * 2.0**bits) / 2.0**bits
        if np.isfinite(rounded).all():
            yield rounded


def branch(cuts: Cuts, lower: Floats, upper: Floats, found: Solution | None) -> list[tuple[Floats, Floats]]:
    """Halve a box at an integer feature, the one farthest from whole; nothing where all are settled."""
    open_ = np.flatnonzero(cuts.space.integer & (upper > lower))
    if not len(open_):
        return []
    middle = (lower + upper) / 2
    z = middle[open_] if found is None else found.point[open_]
    away = np.abs(z - np.round(z))
    k = int(np.argmax(away))
    j = int(open_[k])
    at = float(np.floor(z[k])) if away[k] > 1e-6 else float(np.floor(middle[j]))
    at = min(max(at, float(lower[j])), float(upper[j]) - 1)
    narrow = cuts.space.narrow
    return [
        part
        for part in (narrow(lower, upper, j, lower[j], at), narrow(lower, upper, j, at + 1, upper[j]))
        if (part[0] <= part[1]).all()
    ]


def is_empty(rows: Floats, right: Floats, lower: Floats, upper: Floats) -> bool:
    """Prove that a box holds no point of the rows."""
    if not len(rows):
        return False
    found = interior(rows, right, lower, upper, np.zeros(len(rows), dtype=bool))
    return found is not None and Farkas(rows, right, found.multiplier, lower, upper).check()


def _one_row(rows: Floats, bound: Floats, lower: Floats, upper: Floats) -> Farkas | None:
    """A proof from one row alone, where the box says it can never hold."""
    if not len(rows):
        return None
    least = np.where(rows > 0, rows * lower, rows * upper).sum(axis=1)
    worst = int(np.argmax(least - bound))
    if least[worst] <= bound[worst]:
        return None
    multiplier = np.zeros(len(rows))
    multiplier[worst] = 1.0
    proof = Farkas(rows, bound, multiplier, lower, upper)
    return proof if proof.check() else None
