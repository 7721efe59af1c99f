"""HiGHS without the checks around it: small programs spend most of their time in scipy's wrapper.

Since 1.15 scipy ships the classes of HiGHS, in a private module. If they are there, a program is passed to them as it
is, and one whose bounds alone change is solved again from its last basis. If not, ``scipy.optimize.linprog`` solves it.
Both give a point and multipliers, which are checked elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Floats

try:
    from scipy.optimize._highspy import _core
except ImportError:
    _core = None

__all__ = ["Optimum", "Program"]


class Optimum(NamedTuple):
    """A solution of a linear program."""

    x: Floats
    row_dual: Floats
    """Multipliers of the rows, not above 0."""
    column_dual: Floats
    """Multipliers of the bounds: positive for a lower end, negative for an upper one."""


class Program:
    """Minimise ``cost . x`` where ``matrix x <= bound`` and ``lower <= x <= upper``."""

    def __init__(self, cost: Floats, matrix: Floats, bound: Floats, lower: Floats, upper: Floats) -> None:
        self._parts = cost, matrix, bound, lower, upper
        self._solver: Any = None

    def set_bounds(self, lower: Floats, upper: Floats) -> None:
        """Change the ends of the columns."""
        self._parts = *self._parts[:3], lower, upper
        if self._solver is not None:
            columns = np.arange(len(lower), dtype=np.int32)
            self._solver.changeColsBounds(len(lower), columns, lower, upper)

    def set_cost(self, cost: Floats) -> None:
        """Change what is minimised."""
        self._parts = cost, *self._parts[1:]
        if self._solver is not None:
            self._solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)

    def solve(self) -> Optimum | None:
        """Find an optimum; None unless the solver found one."""
        if _core is None:
            return _by_linprog(*self._parts)
        if self._solver is None:
            self._solver = _solver(*self._parts)
        if self._solver is None or self._solver.run() == _core.HighsStatus.kError:
            return None
        if self._solver.getModelStatus() != _core.HighsModelStatus.kOptimal:
            return None
        found = self._solver.getSolution()
        return Optimum(*(np.array(part) for part in (found.col_value, found.row_dual, found.col_dual)))


def _solver(cost: Floats, matrix: Floats, bound: Floats, lower: Floats, upper: Floats) -> Any:
    """Pass a program to HiGHS; None if it refuses it."""
    program = _core.HighsLp()
    n_rows, n_columns = matrix.shape
    program.num_col_, program.num_row_ = n_columns, n_rows
    program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
    program.row_lower_, program.row_upper_ = np.full(n_rows, -np.inf), bound
    column, row = np.nonzero(matrix.T)
    entries = program.a_matrix_
    entries.num_col_, entries.num_row_, entries.format_ = n_columns, n_rows, _core.MatrixFormat.kColwise
    entries.start_ = np.searchsorted(column, np.arange(n_columns + 1)).astype(np.int32)
    entries.index_, entries.value_ = row.astype(np.int32), matrix.T[column, row]
    options = _core.HighsOptions()
    options.output_flag, options.log_to_console, options.presolve = False, False, "off"
    solver = _core._Highs()
    solver.passOptions(options)
    return None if solver.passModel(program) == _core.HighsStatus.kError else solver


def _by_linprog(cost: Floats, matrix: Floats, bound: Floats, lower: Floats, upper: Floats) -> Optimum | None:
    from scipy.optimize import linprog

    limit = np.column_stack([lower, upper])
    solved = linprog(cost, A_ub=matrix, b_ub=bound, bounds=limit, method="highs", options={"presolve": False})
    if solved.status != 0 or solved.x is None:
        return None
    return Optimum(solved.x, solved.ineqlin.marginals, solved.lower.marginals + solved.upper.marginals)
