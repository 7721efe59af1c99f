"""Certificates: statements that are checked in rational arithmetic, whatever solver they came from.

All of them are about the points ``z`` with ``G z <= h`` in a box. For any multipliers ``y >= 0`` and ``r = y G``,
however the solver rounded:

- *infeasible*, if ``min over the box of r z  >  y h`` (Farkas);
- *bound*, ``c z >= min over the box of (c + r) z  -  y h``;
- *distance*, ``|z - z0| >= y (G z0 - h) / |r|``, in the dual norm of ``r``.

A double is a fraction, so the sums are exact. What a solver's tolerance left over is part of ``r``, and the minimum
over the box accounts for it. A wrong multiplier makes a weaker statement, never a wrong one. Denominators are powers of
two, so sums are taken in integers over a common one, and become a fraction once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtsemnet.arrays import Bools, Floats

__all__ = [
    "Farkas", "Norm", "Polytope", "distance_bound", "exact_dot", "exact_steps", "exact_value", "linear_bound",
    "root_above", "round_down", "round_up",
]  # fmt: skip

Norm = Literal["inf", "1", "2"]
"""How distances are measured: the largest change, the sum of changes, or the Euclidean norm."""


class Polytope(NamedTuple):
    """The points ``z`` of a box with ``rows @ z <= bound``."""

    rows: Floats
    bound: Floats
    lower: Floats
    upper: Floats
    soft: Bools | None = None
    """Rows that a point may lie inside of; None for all of them."""


@dataclass(frozen=True, eq=False)
class Farkas:
    """Proof that a polytope is empty, by one multiplier >= 0 per row."""

    polytope: Polytope
    multiplier: Floats

    @property
    def gap(self) -> Fraction:
        """Least value of the combined row on the box, less the combined right-hand side."""
        return _least(_Row.combined(self.multiplier, self.polytope.rows), self.polytope, self.multiplier)

    def check(self) -> bool:
        """Check the proof in rational arithmetic."""
        return bool((self.multiplier >= 0).all()) and self.gap > 0


def linear_bound(cost: Floats, constant: float, polytope: Polytope, multiplier: Floats) -> Fraction:
    """Prove by multipliers >= 0 that ``cost . z + constant`` is at least the value returned, on a polytope."""
    if not (multiplier >= 0).all():
        raise ValueError("multiplier must not be negative.")
    row = _Row.combined(np.append(multiplier, 1.0), np.vstack([polytope.rows, cost]))
    return _least(row, polytope, multiplier) + Fraction(constant)


def exact_dot(left: Iterable[Any], right: Iterable[Any]) -> Fraction:
    """Sum products of numbers whose denominators are powers of two, without rounding: as integers over a common one."""
    total, bits = 0, 0
    for a, b in zip(left, right):
        if not (a and b):
            continue
        (p, q), (r, s) = a.as_integer_ratio(), b.as_integer_ratio()
        here = q.bit_length() + s.bit_length() - 2
        if here > bits:
            total, bits = total << (here - bits), here
        total += (p * r) << (bits - here)
    return Fraction(total, 1 << bits)


def exact_steps(weight: Floats, z: Floats, center: Floats) -> tuple[NDArray[np.object_], Fraction]:
    """The numbers ``weight * |z - center|`` without rounding: integers, and the unit that they are counted in."""
    points, weights = _integers(np.stack([z, center])), _integers(weight)
    size = np.abs(points.integers[0] - points.integers[1]) * weights.integers
    return size, weights.times(1, points.exponent)


def exact_value(coef: Floats, constant: float, z: Sequence[Fraction]) -> Fraction:
    """Evaluate ``coef . z + constant`` at a rational point, without rounding."""
    return sum((Fraction(c) * x for c, x in zip(coef.tolist(), z) if c), Fraction(constant))


def round_down(value: Fraction) -> float:
    """The largest double that is not above a fraction."""
    number = float(value)
    return number if Fraction(number) <= value else float(np.nextafter(number, -np.inf))


def round_up(value: Fraction) -> float:
    """The least double that is not below a fraction."""
    number = float(value)
    return number if Fraction(number) >= value else float(np.nextafter(number, np.inf))


def distance_bound(
    rows: Floats, bound: Floats, multiplier: Floats, center: Floats, weight: Floats, norm: Norm
) -> Fraction | None:
    """Bound the weighted distance of ``center`` to the points that satisfy all rows, from below.

    The distance is the norm of ``weight * (z - center)``; a column of infinite weight is held. None means that no point
    satisfies the rows.
    """
    combined = _Row.combined(multiplier, rows)
    free = np.isfinite(weight)
    height = combined.dot(center) - exact_dot(multiplier.tolist(), bound.tolist())
    if height <= 0:
        return Fraction(0)
    size = _dual_norm(combined, weight, free, norm)
    # If no column moves, rows that do not hold never will.
    return height / size if size else None


class _Row(NamedTuple):
    """Exact coefficients: integers times a common power of two."""

    integers: NDArray[np.object_]
    exponent: int

    @classmethod
    def combined(cls, multiplier: Floats, rows: Floats) -> _Row:
        """Add up rows times multipliers, without rounding."""
        used = np.flatnonzero(multiplier)
        if not len(used):
            return cls(np.zeros(rows.shape[1], dtype=object), 0)
        factors, entries = _integers(multiplier[used]), _integers(rows[used])
        return cls(factors.integers @ entries.integers, factors.exponent + entries.exponent)

    def dot(self, point: Floats) -> Fraction:
        """The value at a point."""
        used = np.flatnonzero(self.integers)
        if not len(used):
            return Fraction(0)
        other = _integers(point[used])
        return self.times(int(self.integers[used] @ other.integers), other.exponent)

    def times(self, total: int, exponent: int = 0) -> Fraction:
        """An integer in the units of the row, with more powers of two."""
        power = self.exponent + exponent
        return Fraction(total << power) if power >= 0 else Fraction(total, 1 << -power)


def _integers(numbers: Floats) -> _Row:
    """Doubles as integers over a common power of two."""
    share, exponent = np.frexp(numbers)
    exponent = exponent.astype(np.int64) - 53
    least = int(exponent[share != 0].min(initial=0)) if (share != 0).any() else 0
    shift = np.where(share != 0, exponent - least, 0)
    return _Row((share * 2.0**53).astype(np.int64).astype(object) << shift.astype(object), least)


def _least(row: _Row, polytope: Polytope, multiplier: Floats) -> Fraction:
    """Least value of a row on the box, less the combined right-hand side."""
    corner = np.where((row.integers > 0).astype(bool), polytope.lower, polytope.upper)
    return row.dot(corner) - exact_dot(multiplier.tolist(), polytope.bound.tolist())


def _dual_norm(row: _Row, weight: Floats, free: Bools, norm: Norm) -> Fraction:
    """Dual norm of the free entries of a row, divided by weights; a root is rounded up."""
    size = np.abs(row.integers)
    parts = [(Fraction(float(w)), size[free & (weight == w)]) for w in np.unique(weight[free])]
    if norm == "1":
        return max((row.times(int(part.max())) / w for w, part in parts), default=Fraction(0))
    if norm == "inf":
        return sum((row.times(int(part.sum())) / w for w, part in parts), Fraction(0))
    squares = ((row.times(int((part * part).sum()), row.exponent)) / w**2 for w, part in parts)
    return root_above(sum(squares, Fraction(0)))


def root_above(square: Fraction) -> Fraction:
    """A fraction slightly above the square root."""
    if square == 0:
        return Fraction(0)
    shift = 128 - (square.numerator.bit_length() - square.denominator.bit_length())
    shift += shift % 2
    scaled = square * Fraction(2) ** shift
    return Fraction(math.isqrt(math.ceil(scaled)) + 1) / Fraction(2) ** (shift // 2)
