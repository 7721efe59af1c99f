"""Curves between two lines: rigorous bounds of sin, cos, tanh, squares and reciprocals on an interval.

For a slope ``s`` and an interval, ``s v + least <= f(v) <= s v + most``. The interval is cut into equal parts. On each,
with ``m`` its middle, ``h`` half its width and ``c`` a bound of the second derivative,

    f(v) - s v  lies within  |f'(m) - s| h + c h^2 / 2  of  f(m) - s m.

Everything is computed in integers, in units of 2^-192, and rounded outwards; sin, cos and exp are Taylor series with
their remainders. So no library function is trusted. (:mod:`math` only proposes slopes, and any slope is right.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from dtsemnet.verify.proof.certificates import round_down, round_up

__all__ = ["CURVES", "Line", "lines_around"]

BITS = 192
ONE = 1 << BITS
SLACK = 1 << 76
"""Bounds what truncated terms of a series add up to: 2 N^2 e^x units for N terms, with N < 300 and x <= 40."""
LARGEST = 20
"""Series are summed for arguments up to this size."""
N_PARTS = 16

Bounds = tuple[int, int]


class Line(NamedTuple):
    """``slope v + least <= f(v) <= slope v + most``."""

    slope: float
    least: float
    most: float


class _Curve(NamedTuple):
    value: Callable[[int], Bounds]
    derivative: Callable[[int], Bounds]
    curvature: Callable[[int, int], int]
    """Bounds the second derivative between two numbers."""
    span: Callable[[int, int], Bounds]
    """Bounds the function between two numbers."""
    slope_near: Callable[[float], float]


@lru_cache(maxsize=1 << 16)
def lines_around(function: str, low: float, high: float) -> tuple[Line, ...]:
    """Find pairs of parallel lines around a function on an interval; the first pair is level.

    Parameters
    ----------
    function : one of :data:`CURVES`
    low, high : float
        The ends; for "reciprocal" of the same sign.

    Examples
    --------
    >>> level, secant, *_ = lines_around("square", 0.0, 2.0)
    >>> round(level.most, 1), round(secant.slope, 6), round(secant.least, 1)
    (4.0, 2.0, -1.0)
    """
    curve = CURVES[function]
    start, stop = _units(low, up=False), _units(high, up=True)
    if function in ("sin", "cos") and max(-start, stop) > LARGEST * ONE:
        return (Line(0.0, -1.0, 1.0),)
    ends = curve.span(start, stop)
    half = (stop - start) // (2 * N_PARTS) + 2  # one for each division that is rounded down
    middles = [start + (stop - start) * (2 * k + 1) // (2 * N_PARTS) for k in range(N_PARTS)]
    values, slopes = [curve.value(m) for m in middles], [curve.derivative(m) for m in middles]
    bent = [_product(curve.curvature(m - half, m + half), _product(half, half)[1])[1] // 2 + 1 for m in middles]
    found = []
    for slope in _slopes(curve, low, high):
        s = _units(slope, up=False)  # slopes are multiples of 2^-40, so this is exact
        least, most = [], []
        for m, (below, above), (least_slope, most_slope), extra in zip(middles, values, slopes, bent):
            turn = _product(max(abs(least_slope - s), abs(most_slope - s)), half)[1] + extra
            shift = _product(s, m)
            least.append(below - shift[1] - turn)
            most.append(above - shift[0] + turn)
        if slope == 0:
            least, most = [max(ends[0], min(least))], [min(ends[1], max(most))]
        found.append(Line(slope, _double(min(least), up=False), _double(max(most), up=True)))
    return tuple(found)


def _slopes(curve: _Curve, low: float, high: float) -> list[float]:
    """Slopes that are worth a pair of lines: level, secant, and those at both ends."""
    slopes = [0.0]
    ends = [curve.slope_near(end) for end in (low, high)]
    middle = curve.slope_near(low / 2 + high / 2)
    # The mean of the slopes at the ends and in the middle comes near the secant, without its cancellation.
    secant = (ends[0] + 4 * middle + ends[1]) / 6
    for slope in (secant, *ends):
        rounded = round(slope * 2.0**40) / 2.0**40
        if all(abs(rounded - other) > 1e-9 * (1 + abs(rounded)) for other in slopes):
            slopes.append(rounded)
    return slopes


def _units(x: float, *, up: bool) -> int:
    n, d = x.as_integer_ratio()
    return -((-n << BITS) // d) if up else (n << BITS) // d


def _double(units: int, *, up: bool) -> float:
    return (round_up if up else round_down)(Fraction(units, ONE))


def _product(a: int, b: int) -> Bounds:
    exact = a * b
    return exact >> BITS, -(-exact >> BITS)


def _circle(x: int) -> tuple[Bounds, Bounds]:
    """Enclose sin and cos by the series of exp(i x), whose odd and even terms they are."""
    sums, term, n = [ONE, 0, 0, 0], ONE, 0
    while n <= 2 * LARGEST + 2 or term:
        n += 1
        term = (term * abs(x) // n) >> BITS
        sums[n % 4] += term
    sine, cosine = sums[1] - sums[3], sums[0] - sums[2]
    sine = -sine if x < 0 else sine
    return (sine - SLACK, sine + SLACK), (cosine - SLACK, cosine + SLACK)


def _exp(x: int) -> Bounds:
    """Enclose exp of a number from 0 to 40."""
    total, term, n = ONE, ONE, 0
    while n <= 4 * LARGEST + 2 or term:
        n += 1
        term = (term * x // n) >> BITS
        total += term
    return total - SLACK, total + SLACK


def _tanh(x: int) -> Bounds:
    if x < 0:
        low, high = _tanh(-x)
        return -high, -low
    low, high = _exp(2 * min(x, LARGEST * ONE))
    least, most = ONE - 2 * ONE * ONE // (low + ONE) - 1, ONE - 2 * ONE * ONE // (high + ONE) + 1
    return least, ONE if x > LARGEST * ONE else min(most, ONE)


def _tanh_slope(x: int) -> Bounds:
    low, high = _tanh(abs(x))
    return ONE - _product(high, high)[1], ONE - _product(max(low, 0), max(low, 0))[0]


def _ends_of(value: Callable[[int], Bounds]) -> Callable[[int, int], Bounds]:
    """Bounds of a monotone function, from its values at both ends."""

    def span(low: int, high: int) -> Bounds:
        first, last = value(low), value(high)
        return min(first[0], last[0]), max(first[1], last[1])

    return span


def _square_span(low: int, high: int) -> Bounds:
    least, most = sorted((_product(low, low), _product(high, high)))
    return (0 if low <= 0 <= high else least[0]), most[1]


def _sin_slope(x: int) -> Bounds:
    return _circle(x)[1]


def _cos_slope(x: int) -> Bounds:
    low, high = _circle(x)[0]
    return -high, -low


def _reciprocal(x: int) -> Bounds:
    return ONE * ONE // x, -(-ONE * ONE // x)


def _reciprocal_slope(x: int) -> Bounds:
    low, high = _product(x, x)
    return -(ONE * ONE // low + 1), -(ONE * ONE // high)


def _reciprocal_curvature(low: int, high: int) -> int:
    least = min(abs(low), abs(high))
    return 2 * ONE**4 // least**3 + 1


CURVES: dict[str, _Curve] = {
    "sin": _Curve(lambda x: _circle(x)[0], _sin_slope, lambda low, high: ONE, lambda low, high: (-ONE, ONE), math.cos),
    "cos": _Curve(
        lambda x: _circle(x)[1],
        _cos_slope,
        lambda low, high: ONE,
        lambda low, high: (-ONE, ONE),
        lambda x: -math.sin(x),
    ),
    "tanh": _Curve(_tanh, _tanh_slope, lambda low, high: ONE, _ends_of(_tanh), lambda x: 1.0 - math.tanh(x) ** 2),
    "square": _Curve(
        lambda x: _product(x, x), lambda x: (2 * x, 2 * x), lambda low, high: 2 * ONE, _square_span, lambda x: 2 * x
    ),
    "reciprocal": _Curve(
        _reciprocal, _reciprocal_slope, _reciprocal_curvature, _ends_of(_reciprocal), lambda x: -1.0 / (x * x)
    ),
}
