"""Linear programs, by HiGHS: they propose, :mod:`dtsemnet.verify.proof.certificates` disposes.

Each function gets rows ``G z <= h`` and a box, and hands back a point and multipliers of the
rows. Columns are scaled to the box and rows to size one, so that the solver's tolerances mean
the same everywhere. Nothing here is trusted: points are checked by the tree, multipliers
in rational arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints

__all__ = ["Solution", "interior", "minimise", "nearest"]

MANY_COLUMNS, MAX_STEPS = 60, 40
"""Columns from which on the cube is found by steps, and steps at most."""


class Solution(NamedTuple):
    """A point, the multipliers of the rows, and of the lower and upper ends of the box."""

    point: Floats
    multiplier: Floats
    margin: float = 0.0
    """How far inside the scaled rows the point lies; negative where some are violated."""
    at_lower: Floats | None = None
    at_upper: Floats | None = None


class _Scaled(NamedTuple):
    free: Ints
    width: Floats
    rows: Floats
    bound: Floats
    size: Floats


def interior(rows: Floats, bound: Floats, lower: Floats, upper: Floats, soft: Bools) -> Solution | None:
    """Find the point that lies farthest inside the soft rows and satisfies the others.

    Without soft rows all of them are soft: how far a set of rows is from being satisfiable.

    Examples
    --------
    >>> found = interior(np.array([[1.0]]), np.array([0.5]), np.zeros(1), np.ones(1), np.ones(1, dtype=bool))
    >>> found.point.item() < 0.5 < found.margin + 0.25
    True
    """
    soft = soft if soft.any() else np.ones(len(rows), dtype=bool)
    scaled = _scale(rows, bound, lower, upper)
    if scaled is None:
        return None
    k = len(scaled.free)
    matrix = np.column_stack([scaled.rows, soft.astype(np.float64)])
    cost = np.zeros(k + 1)
    cost[-1] = -1.0
    solved = _solve(cost, matrix, scaled.bound, [(0.0, 1.0)] * k + [(None, 1.0)])
    if solved is None and not soft.all():  # the hard rows alone may be out of reach: ask how far all of them are
        return interior(rows, bound, lower, upper, np.ones(len(rows), dtype=bool))
    if solved is None:
        return None
    multiplier = np.maximum(-solved.ineqlin.marginals, 0.0) / scaled.size
    return Solution(_point(scaled, solved.x[:k], lower, upper), multiplier, float(solved.x[-1]))


def minimise(cost: Floats, rows: Floats, bound: Floats, lower: Floats, upper: Floats) -> Solution | None:
    """Minimise a linear function; None where nothing was found.

    Examples
    --------
    >>> found = minimise(np.ones(1), np.array([[-1.0]]), np.array([-0.25]), np.zeros(1), np.ones(1))
    >>> found.point, found.multiplier
    (array([0.25]), array([1.]))
    """
    scaled = _scale(rows, bound, lower, upper)
    if scaled is None:
        return None
    if not len(scaled.free):
        return Solution(lower.copy(), np.zeros(len(rows))) if (scaled.bound >= 0).all() else None
    slope = cost[scaled.free] * scaled.width
    most = np.abs(slope).max(initial=0.0) or 1.0
    solved = _solve(slope / most, scaled.rows, scaled.bound, [(0.0, 1.0)] * len(scaled.free))
    if solved is None:
        return None
    multiplier = np.maximum(-solved.ineqlin.marginals, 0.0) * most / scaled.size
    return Solution(_point(scaled, solved.x, lower, upper), multiplier)


def nearest(
    center: Floats, weight: Floats, norm: str, rows: Floats, bound: Floats, lower: Floats, upper: Floats
) -> Solution | None:
    """Find the point nearest to ``center`` in the norm ("inf", "1", "2") of ``weight * (z - center)``.

    Examples
    --------
    >>> one = np.ones(2)
    >>> nearest(0 * one, one, "inf", np.array([[-1.0, -1.0]]), -one[:1], -9 * one, 9 * one).point
    array([0.5, 0.5])
    """
    free = np.flatnonzero(np.isfinite(weight))
    if not len(free):  # the center is the only point
        here = Solution(center.copy(), np.zeros(len(rows)), 0.0, np.zeros(len(center)), np.zeros(len(center)))
        return here if (rows @ center <= bound).all() else None
    if norm == "2":
        from dtsemnet.verify.proof.quadratic import nearest_euclidean

        return nearest_euclidean(center, weight, rows, bound, lower, upper)
    with np.errstate(all="ignore"):
        matrix = rows[:, free] / weight[free]
        room = bound - rows @ center
        low, high = (lower - center)[free] * weight[free], (upper - center)[free] * weight[free]
        size = np.abs(matrix).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        matrix, room = matrix / size[:, None], room / size
        # In units of a lower bound of the distance, so that the solver's absolute tolerances fit.
        dual = np.abs(matrix).sum(axis=1) if norm == "inf" else np.abs(matrix).max(axis=1, initial=0.0)
        unit = float((-room / np.where(dual > 0, dual, np.inf)).max(initial=0.0)) or 1.0
        room, low, high = room / unit, low / unit, high / unit
    if not (np.isfinite(matrix).all() and np.isfinite(room).all()):
        return None
    largest = _nearest_max if len(free) <= MANY_COLUMNS else _nearest_max_by_steps
    solve = largest if norm == "inf" else _nearest_sum
    solved = solve(matrix, room, low, high)
    if solved is None:
        return None
    step, marginals, below, above = solved
    point = center.copy()
    point[free] = np.clip(center[free] + step * unit / weight[free], lower[free], upper[free])
    at_lower, at_upper = np.zeros(len(center)), np.zeros(len(center))
    at_lower[free], at_upper[free] = below * weight[free], above * weight[free]
    return Solution(point, np.maximum(-marginals, 0.0) / size, 0.0, at_lower, at_upper)


def _nearest_max(matrix: Floats, room: Floats, low: Floats, high: Floats) -> Any:
    """Minimise t with |step| <= t."""
    n, k = matrix.shape
    one, column = np.eye(k), np.ones((k, 1))
    stack = np.block([[matrix, np.zeros((n, 1))], [one, -column], [-one, -column]])
    cost = np.zeros(k + 1)
    cost[-1] = 1.0
    limit = [*zip(low.tolist(), high.tolist()), (0.0, None)]
    solved = _solve(cost, stack, np.concatenate([room, np.zeros(2 * k)]), limit)
    if solved is None:
        return None
    below, above = np.maximum(solved.lower.marginals[:k], 0.0), np.maximum(-solved.upper.marginals[:k], 0.0)
    return solved.x[:k], solved.ineqlin.marginals[:n], below, above


def _nearest_max_by_steps(matrix: Floats, room: Floats, low: Floats, high: Floats) -> Any:
    """Find the least t at which the cube of size t holds a step, by Newton's method from below.

    How far the rows are from being satisfied falls with t, convex and in straight pieces: few programs, each with as
    many rows as the path has splits, where :func:`_nearest_max` has two more for every column.
    """
    n, k = matrix.shape
    cost, columns = np.append(np.zeros(k), 1.0), np.column_stack([matrix, -np.ones(n)])
    t, multiplier = max(0.0, float(low.max()), float(-high.min())), np.zeros(n)
    for _ in range(MAX_STEPS):
        ends = zip(np.maximum(low, -t).tolist(), np.minimum(high, t).tolist())
        solved = _solve(cost, columns, room, [*ends, (None, None)])
        if solved is None:
            return None
        violated = float(solved.x[-1])
        if violated <= 1e-10:
            break
        multiplier = np.maximum(-solved.ineqlin.marginals, 0.0)
        pull = multiplier @ matrix
        slope = np.abs(pull)[np.where(pull > 0, low < -t, high > t)].sum()
        if slope <= 0:
            return None  # no cube is large enough
        t += violated / slope
    pull = multiplier @ matrix
    below, above = (np.where(at, np.abs(pull), 0.0) for at in ((pull > 0) & (low >= -t), (pull < 0) & (high <= t)))
    return solved.x[:k], -multiplier, below, above


def _nearest_sum(matrix: Floats, room: Floats, low: Floats, high: Floats) -> Any:
    """Minimise the sum of two steps >= 0, up and down."""
    k = matrix.shape[1]
    least = np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)])
    most = np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)])
    limit = list(zip(least.tolist(), most.tolist()))
    solved = _solve(np.ones(2 * k), np.hstack([matrix, -matrix]), room, limit)
    if solved is None:
        return None
    # An end at 0 is the sign of a step, not an end of the box.
    above = np.where(most > 0, np.maximum(-solved.upper.marginals, 0.0), 0.0)
    below = np.where(least > 0, np.maximum(solved.lower.marginals, 0.0), 0.0)
    return solved.x[:k] - solved.x[k:], solved.ineqlin.marginals, below[:k] + above[k:], above[:k] + below[k:]


def _scale(rows: Floats, bound: Floats, lower: Floats, upper: Floats) -> _Scaled | None:
    free = np.flatnonzero(upper > lower)
    with np.errstate(all="ignore"):
        width = (upper - lower)[free]
        matrix = rows[:, free] * width
        room = bound - rows @ lower
        size = np.abs(matrix).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        matrix, room = matrix / size[:, None], room / size
    # Beyond that a solver takes them for infinite, and a row says nothing anyway.
    if not (np.isfinite(matrix).all() and np.isfinite(room).all()):
        return None
    return _Scaled(free, width, matrix, np.clip(room, -1e15, 1e15), size)


def _point(scaled: _Scaled, share: Floats, lower: Floats, upper: Floats) -> Floats:
    point = lower.copy()
    point[scaled.free] += share * scaled.width
    return np.clip(point, lower, upper)


def _solve(cost: Floats, matrix: Any, bound: Floats, limit: list[Any]) -> Any:
    """Run HiGHS; None unless it found an optimum."""
    from scipy.optimize import linprog

    solved = linprog(cost, A_ub=matrix, b_ub=bound, bounds=limit, method="highs", options={"presolve": False})
    return solved if solved.status == 0 and solved.x is not None else None
