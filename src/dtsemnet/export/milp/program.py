"""Builds a mixed-integer linear program: variables with bounds, and constraints that may depend on a condition.

A condition is an affine function of binary variables that is 1 if it holds and 0 if not.
"If the condition holds, then ..." is a constraint with a constant that is just large enough
to allow everything if it does not hold; the bounds of the variables give that constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats

__all__ = ["Program"]

Terms = dict[int, float]


class Program:
    """Variables and constraints (rows of the matrix).

    Examples
    --------
    >>> program = Program()
    >>> x = program.variable("x", 0.0, 2.0)
    >>> program.row({x: 1.0}, 1.0, np.inf)
    >>> program.arrays()["A"].toarray()
    array([[1.]])
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integrality: list[int] = []
        self.rows: list[tuple[Terms, float, float]] = []

    def variable(self, name: str, lower: float, upper: float, *, integer: bool = False) -> int:
        """Add a variable; return its number."""
        self.names.append(name)
        self.lower.append(float(lower))
        self.upper.append(float(upper))
        self.integrality.append(int(integer))
        return len(self.names) - 1

    def row(self, terms: Terms, lower: float, upper: float) -> None:
        """Add ``lower <= terms <= upper``."""
        self.rows.append((terms, float(lower), float(upper)))

    def terms(self, variables: Sequence[int], weight: Floats) -> Terms:
        """Pair variables with their weights, leaving out zeros."""
        return {variable: float(w) for variable, w in zip(variables, weight) if w != 0}

    def span(self, terms: Terms, constant: float) -> tuple[float, float]:
        """Bound an affine function by the bounds of its variables; a little too wide rather than too narrow."""
        low, high, size = constant, constant, abs(constant)
        for variable, weight in terms.items():
            ends = sorted((weight * self.lower[variable], weight * self.upper[variable]))
            low, high, size = low + ends[0], high + ends[1], size + max(abs(ends[0]), abs(ends[1]))
        slack = (len(terms) + 2) * 2.0**-52 * size if terms else 0.0
        return low - slack, high + slack

    def equal_if(
        self,
        y: int,
        terms: Terms,
        constant: float,
        when: Terms,
        offset: float,
        floor: float = -np.inf,
        ceiling: float = np.inf,
    ) -> None:
        """Add: if the condition ``when + offset`` holds, ``y = clip(terms + constant, floor, ceiling)``.

        Two binary variables say that the value lies below the floor, or above the ceiling; they are left out if the
        bounds of the variables exclude that.
        """
        low, high = self.span(terms, constant)
        if high <= floor or low >= ceiling:  # always clipped
            terms, constant = {}, floor if high <= floor else ceiling
            low = high = constant
        below: Terms = {}
        above: Terms = {}
        if low < floor:
            below = {self.variable(f"{self.names[y]} at its floor", 0.0, 1.0, integer=True): 1.0}
            self.at_most_if({y: 1.0}, floor, below, 0.0)
            self.at_most_if({y: -1.0}, -floor, when, offset)
        if high > ceiling:
            above = {self.variable(f"{self.names[y]} at its ceiling", 0.0, 1.0, integer=True): 1.0}
            self.at_most_if({y: -1.0}, -ceiling, above, 0.0)
            self.at_most_if({y: 1.0}, ceiling, when, offset)
        # y <= value unless it lies below the floor, y >= value unless it lies above the ceiling
        self.at_most_if({y: 1.0} | _negative(terms), constant, when | _negative(below), offset)
        self.at_most_if({y: -1.0} | terms, -constant, when | _negative(above), offset)
        if below or above:  # only if the condition holds, and not both
            self.row(below | above | _negative(when), -np.inf, offset)

    def at_most_if(self, terms: Terms, bound: float, when: Terms, offset: float) -> None:
        """Add: if the condition ``when + offset`` is 1, ``terms <= bound``; no constraint if it is 0 or less."""
        _, high = self.span(terms, 0.0)
        room = max(0.0, high - bound)
        # terms <= bound + room (1 - condition)
        self.row(_plus(terms, when, room), -np.inf, bound + room * (1.0 - offset))

    def arrays(self) -> dict[str, Any]:
        """Return the matrix (CSR), the bounds of its rows and of the variables, and which variables are integers."""
        from scipy.sparse import csr_array

        entries = [(i, j, w) for i, (terms, _, _) in enumerate(self.rows) for j, w in terms.items()]
        row, column, weight = (np.array(part) for part in zip(*entries))
        matrix = csr_array((weight, (row, column)), shape=(len(self.rows), len(self.names)))
        row_lower, row_upper = (np.array([ends[k] for ends in self.rows]) for k in (1, 2))
        bounds = {"lower": np.array(self.lower), "upper": np.array(self.upper)}
        integrality = np.array(self.integrality, dtype=np.int64)
        return {"A": matrix, "row_lower": row_lower, "row_upper": row_upper, "integrality": integrality} | bounds


def _negative(terms: Terms) -> Terms:
    return {variable: -weight for variable, weight in terms.items()}


def _plus(terms: Terms, others: Terms, factor: float) -> Terms:
    total = dict(terms)
    for variable, weight in others.items():
        total[variable] = total.get(variable, 0.0) + factor * weight
    return total
