"""The nearest point in the Euclidean norm, a convex quadratic program, by Clarabel."""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.verify.proof.linear_programs import Solution

__all__ = ["nearest_euclidean"]


def nearest_euclidean(
    center: Floats, weight: Floats, rows: Floats, bound: Floats, lower: Floats, upper: Floats
) -> Solution | None:
    """Minimise the Euclidean norm of ``weight * (z - center)`` over rows and a box."""
    try:
        import clarabel  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "norm=2 needs the package clarabel; install it by pip install 'dtsemnet[qp]'.", name="clarabel"
        ) from None
    from scipy.sparse import csc_array, csc_matrix, eye_array, vstack

    free = np.flatnonzero(np.isfinite(weight))
    k, n = len(free), len(rows)
    matrix = rows[:, free] / weight[free]
    size = np.sqrt((matrix * matrix).sum(axis=1))
    size = np.where(size > 0, size, 1.0)
    room = (bound - rows @ center) / size
    low, high = (lower - center)[free] * weight[free], (upper - center)[free] * weight[free]
    # In units of a lower bound of the distance, so that the solver's absolute tolerances fit.
    unit = max(float((-room).max(initial=0.0)), float(low.max(initial=0.0)), float((-high).max(initial=0.0)), 1e-9)
    stack = csc_matrix(vstack([csc_array(matrix / size[:, None]), eye_array(k), -eye_array(k)]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    side = np.concatenate([room, high, -low]) / unit
    cones = [clarabel.NonnegativeConeT(n + 2 * k)]
    solved = clarabel.DefaultSolver(csc_matrix(eye_array(k)), np.zeros(k), stack, side, cones, settings).solve()
    if "Solved" not in str(solved.status):
        return None
    step, dual = np.array(solved.x) * unit, np.maximum(np.array(solved.z), 0.0)
    point = center.copy()
    point[free] = np.clip(center[free] + step / weight[free], lower[free], upper[free])
    at_lower, at_upper = np.zeros(len(center)), np.zeros(len(center))
    at_upper[free], at_lower[free] = dual[n : n + k] * weight[free], dual[n + k :] * weight[free]
    return Solution(point, dual[:n] / size, 0.0, at_lower, at_upper)
