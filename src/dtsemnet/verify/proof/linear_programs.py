"""Linear programs, solved by HiGHS; for the Euclidean norm a quadratic program, solved by Clarabel.

Each function takes a polytope, and returns a point and multipliers of the rows. Columns are scaled to the box and rows
to size one, so that the solver's tolerances mean the same everywhere. Nothing here is trusted: the tree checks the
points, and :mod:`dtsemnet.verify.proof.certificates` checks the multipliers in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.verify.proof.certificates import Farkas, Norm, Polytope
from dtsemnet.verify.proof.highs import Program

__all__ = ["Solution", "contradiction", "interior", "minimise", "minimise_each", "nearest"]

MANY_COLUMNS, MAX_STEPS = 60, 40
"""With more columns the cube is found by steps; the largest number of steps."""


class Solution(NamedTuple):
    """A point, the multipliers of the rows, and of the lower and upper ends of the box."""

    point: Floats
    multiplier: Floats
    margin: float = 0.0
    """How far inside the scaled rows the point lies; negative if some are violated."""
    at_lower: Floats = np.zeros(0)
    at_upper: Floats = np.zeros(0)


class _Scaled(NamedTuple):
    free: Ints
    width: Floats
    rows: Floats
    bound: Floats
    size: Floats


def interior(polytope: Polytope) -> Solution | None:
    """Find the point that lies farthest inside the soft rows and satisfies the others.

    If no row is soft, all of them are: the margin then says how far the rows are from being satisfiable.
    """
    soft = polytope.soft
    soft = soft if soft is not None and soft.any() else np.ones(len(polytope.rows), dtype=bool)
    scaled = _scale(polytope)
    if scaled is None:
        return None
    k = len(scaled.free)
    matrix = np.column_stack([scaled.rows, soft.astype(np.float64)])
    ends = np.append(np.zeros(k), -np.inf), np.ones(k + 1)
    solved = Program(np.append(np.zeros(k), -1.0), matrix, scaled.bound, *ends).solve()
    if solved is None:  # the hard rows alone may contradict each other: see how far all of them are off
        return None if soft.all() else interior(polytope._replace(soft=None))
    return _unscale(scaled, solved, polytope, margin=float(solved.x[-1]))


def contradiction(polytope: Polytope) -> Solution | None:
    """Find multipliers that prove a polytope empty; its point is the one that violates the rows least."""
    solution = interior(polytope._replace(soft=None)) if len(polytope.rows) else None
    return solution if solution is not None and Farkas(polytope, solution.multiplier).check() else None


def minimise(cost: Floats, polytope: Polytope) -> Solution | None:
    """Minimise a linear function; None if the solver found no optimum."""
    return minimise_each([cost], polytope)[0]


def minimise_each(costs: Sequence[Floats], polytope: Polytope) -> list[Solution | None]:
    """Minimise some linear functions on one polytope, each from the basis of the one before."""
    scaled = _scale(polytope)
    if scaled is None:
        return [None] * len(costs)
    if not len(scaled.free):
        only = Solution(polytope.lower.copy(), np.zeros(len(polytope.rows)))
        return [only if (scaled.bound >= 0).all() else None] * len(costs)
    ends = np.zeros(len(scaled.free)), np.ones(len(scaled.free))
    program = Program(np.zeros(len(scaled.free)), scaled.rows, scaled.bound, *ends)
    found = []
    for cost in costs:
        slope = cost[scaled.free] * scaled.width
        most = np.abs(slope).max(initial=0.0) or 1.0
        program.set_cost(slope / most)
        solved = program.solve()
        found.append(None if solved is None else _unscale(scaled, solved, polytope, factor=most))
    return found


def nearest(center: Floats, weight: Floats, norm: Norm, polytope: Polytope) -> Solution | None:
    """Find the point nearest to ``center`` in the norm of ``weight * (z - center)``."""
    rows, bound, lower, upper, _ = polytope
    at_lower, at_upper = np.zeros(len(center)), np.zeros(len(center))
    free = np.flatnonzero(np.isfinite(weight))
    if not len(free):  # the center is the only point
        only = Solution(center.copy(), np.zeros(len(rows)), 0.0, at_lower, at_upper)
        return only if (rows @ center <= bound).all() else None
    with np.errstate(all="ignore"):
        matrix = rows[:, free] / weight[free]
        room = bound - rows @ center
        low, high = (lower - center)[free] * weight[free], (upper - center)[free] * weight[free]
        size = np.sqrt((matrix * matrix).sum(axis=1)) if norm == "2" else np.abs(matrix).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        matrix, room = matrix / size[:, None], room / size
        # In units of a lower bound of the distance, so that the solver's absolute tolerances fit.
        if norm == "2":
            unit = max(1e-9, *(float(part.max(initial=0.0)) for part in (-room, low, -high)))
        else:
            dual = np.abs(matrix).sum(axis=1) if norm == "inf" else np.abs(matrix).max(axis=1, initial=0.0)
            unit = float((-room / np.where(dual > 0, dual, np.inf)).max(initial=0.0)) or 1.0
        room, low, high = room / unit, low / unit, high / unit
    if not (np.isfinite(matrix).all() and np.isfinite(room).all()):
        return None
    largest = _nearest_max if len(free) <= MANY_COLUMNS else _nearest_max_by_steps
    solved = {"inf": largest, "1": _nearest_sum, "2": _nearest_euclidean}[norm](matrix, room, low, high)
    if solved is None:
        return None
    step, marginals, below, above = solved
    point = center.copy()
    point[free] = np.clip(center[free] + step * unit / weight[free], lower[free], upper[free])
    with np.errstate(over="ignore", invalid="ignore"):
        multiplier = np.maximum(-marginals, 0.0) / size
        at_lower[free], at_upper[free] = below * weight[free], above * weight[free]
    finite = [np.where(np.isfinite(part), part, 0.0) for part in (multiplier, at_lower, at_upper)]
    return Solution(point, finite[0], 0.0, finite[1], finite[2])


def _nearest_max(matrix: Floats, room: Floats, low: Floats, high: Floats) -> Any:
    """Minimise t with |step| <= t."""
    n, k = matrix.shape
    one, column = np.eye(k), np.ones((k, 1))
    stack = np.block([[matrix, np.zeros((n, 1))], [one, -column], [-one, -column]])
    ends = np.append(low, 0.0), np.append(high, np.inf)
    solved = Program(np.append(np.zeros(k), 1.0), stack, np.concatenate([room, np.zeros(2 * k)]), *ends).solve()
    if solved is None:
        return None
    below, above = np.maximum(solved.column_dual[:k], 0.0), np.maximum(-solved.column_dual[:k], 0.0)
    return solved.x[:k], solved.row_dual[:n], below, above


def _nearest_max_by_steps(matrix: Floats, room: Floats, low: Floats, high: Floats) -> Any:
    """Find the least t at which the cube of size t holds a step, by Newton's method from below."""
    # How far the rows are from being satisfied falls with t, convex and piecewise linear. So a few programs suffice,
    # each with as many rows as the path has splits, whereas `_nearest_max` has two more rows for every column.
    n, k = matrix.shape
    cost, columns = np.append(np.zeros(k), 1.0), np.column_stack([matrix, -np.ones(n)])
    t, multiplier = max(0.0, float(low.max()), float(-high.min())), np.zeros(n)
    program = Program(cost, columns, room, np.append(low, -np.inf), np.append(high, np.inf))
    for _ in range(MAX_STEPS):
        program.set_bounds(np.append(np.maximum(low, -t), -np.inf), np.append(np.minimum(high, t), np.inf))
        solved = program.solve()
        if solved is None:
            return None
        violated = float(solved.x[-1])
        if violated <= 1e-10:
            break
        multiplier = np.maximum(-solved.row_dual, 0.0)
        pull = multiplier @ matrix
        slope = np.abs(pull)[np.where(pull > 0, low < -t, high > t)].sum()
        if slope <= 0:
            return None  # no cube is large enough
        t += violated / slope
    assert solved is not None
    pull = multiplier @ matrix
    below, above = (np.where(at, np.abs(pull), 0.0) for at in ((pull > 0) & (low >= -t), (pull < 0) & (high <= t)))
    return solved.x[:k], -multiplier, below, above


def _nearest_sum(matrix: Floats, room: Floats, low: Floats, high: Floats) -> Any:
    """Minimise the sum of two steps >= 0, up and down."""
    k = matrix.shape[1]
    least = np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)])
    most = np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)])
    solved = Program(np.ones(2 * k), np.hstack([matrix, -matrix]), room, least, most).solve()
    if solved is None:
        return None
    # An end at 0 is the sign of a step, not an end of the box, unless the box ends at the center.
    above = np.where((most > 0) | (np.append(high, low) == 0), np.maximum(-solved.column_dual, 0.0), 0.0)
    below = np.where(least > 0, np.maximum(solved.column_dual, 0.0), 0.0)
    return solved.x[:k] - solved.x[k:], solved.row_dual, below[:k] + above[k:], above[:k] + below[k:]


def _nearest_euclidean(matrix: Floats, room: Floats, low: Floats, high: Floats) -> Any:
    """Minimise the Euclidean norm of the step."""
    try:
        import clarabel  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "norm=2 needs the package clarabel; run pip install 'dtsemnet[qp]'.", name="clarabel"
        ) from None
    from scipy.sparse import csc_array, csc_matrix, eye_array, vstack

    n, k = matrix.shape
    stack = csc_matrix(vstack([csc_array(matrix), eye_array(k), -eye_array(k)]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    side, cones = np.concatenate([room, high, -low]), [clarabel.NonnegativeConeT(n + 2 * k)]
    solved = clarabel.DefaultSolver(csc_matrix(eye_array(k)), np.zeros(k), stack, side, cones, settings).solve()
    if "Solved" not in str(solved.status):
        return None
    dual = np.maximum(np.array(solved.z), 0.0)
    return np.array(solved.x), -dual[:n], dual[n + k :], dual[n : n + k]


def _scale(polytope: Polytope) -> _Scaled | None:
    rows, bound, lower, upper, _ = polytope
    free = np.flatnonzero(upper > lower)
    with np.errstate(all="ignore"):
        width = (upper - lower)[free]
        matrix = rows[:, free] * width
        room = bound - rows @ lower
        size = np.abs(matrix).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        matrix, room = matrix / size[:, None], room / size
    if not (np.isfinite(matrix).all() and np.isfinite(room).all()):
        return None
    # Larger right-hand sides count as infinite for the solver, and such a row excludes nothing anyway.
    return _Scaled(free, width, matrix, np.clip(room, -1e15, 1e15), size)


def _unscale(scaled: _Scaled, solved: Any, polytope: Polytope, factor: float = 1.0, margin: float = 0.0) -> Solution:
    point = polytope.lower.copy()
    point[scaled.free] += solved.x[: len(scaled.free)] * scaled.width
    with np.errstate(over="ignore"):
        multiplier = np.maximum(-solved.row_dual, 0.0) * factor / scaled.size
    multiplier = np.where(np.isfinite(multiplier), multiplier, 0.0)  # any multipliers make true statements
    return Solution(np.clip(point, polytope.lower, polytope.upper), multiplier, margin)
