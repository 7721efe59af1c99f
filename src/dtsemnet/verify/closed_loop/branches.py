"""Branches: what is known of all traces that take the same way through tree and formulas.

A branch has *columns*: the entries of the first state, the disturbances, and one column for each curved term. The
first state lies in a box, each other column in an interval, and half-spaces of the columns hold: the splits that the
trace passed and the lines around curved terms. Every number on the way (state, score, action, next state) is a *form*,

    coef . columns + const,    up to  error.

The error covers the rounding of the form's own coefficients, and the rounding of every operation that the system and
the model do in doubles: at most ``ROUND`` of the result for one operation, ``CURVED_ROUND`` for sin, cos and tanh. So
what is proved holds for real arithmetic, for the formulas evaluated in doubles, and for anything in between. Columns
are the numbers that occur in the trace, whichever of these it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.verify.closed_loop.expressions import Expression
from dtsemnet.verify.proof.certificates import Polytope

__all__ = ["CURVED_ROUND", "ROUND", "Branch", "Form", "OutOfRange"]

ROUND = 2.0**-51
"""Four times the rounding of one operation in doubles."""
CURVED_ROUND = 2.0**-49
"""Eight units in the last place: what the C library may be wrong by in sin, cos and tanh."""
ROUND_32 = 2.0**-23
"""Twice the rounding to 32 bits."""
_SUM = 2.0**-52
_TINY = 2.0**-1000
_MOST = 1e30


class OutOfRange(ValueError):
    """A set is too large for the formulas: a denominator may be 0, or numbers grow without bound."""


class Form(NamedTuple):
    """``coef . columns + const``, up to ``error``; coefficients of later columns are 0."""

    coef: Floats
    const: float = 0.0
    error: float = 0.0

    @property
    def is_constant(self) -> bool:
        """Whether it is one number, up to the error."""
        return not self.coef.any()


@dataclass(frozen=True, eq=False)
class Branch:
    """Columns, half-spaces and forms; every change makes a new branch."""

    lower: Floats
    upper: Floats
    rows: Floats
    bound: Floats
    record: Any
    """Where the certificate of the branch is written, or read (:mod:`dtsemnet.verify.closed_loop.ledger`)."""
    time: int = 0
    forms: dict[Expression, Form] = field(default_factory=dict)
    """What is known of the symbols and terms of the current step."""
    chosen: dict[Expression, Expression] = field(default_factory=dict)
    """What each maximum or choice of the current step is, once that is known."""
    disturbances: tuple[Ints, ...] = ()
    """Columns of the disturbances of each step."""
    node: int = 0
    """Where the walk through the tree is; ``~k`` is leaf ``k``."""
    point: Floats | None = None
    """A point that obeys all half-spaces, up to the tolerance of a solver, if one is known."""
    leaves: tuple[int, ...] = ()
    """The node of the tree at which each step left it."""

    @property
    def size(self) -> Floats:
        """The largest size of each column."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def polytope(self) -> Polytope:
        """The half-spaces in the box of the columns."""
        return Polytope(self.rows, self.bound, self.lower, self.upper)

    def padded(self, form: Form) -> Floats:
        """Coefficients for all columns."""
        return np.append(form.coef, np.zeros(len(self.lower) - len(form.coef)))

    def combine(self, weights: Sequence[float] | Floats, forms: Sequence[Form], const: float = 0.0) -> Form:
        """Add up forms times weights; the error covers the rounding of the coefficients."""
        w = np.asarray(weights, dtype=np.float64)
        consts, errors = np.array([form.const for form in forms]), np.array([form.error for form in forms])
        matrix = np.zeros((len(forms), len(self.lower)))
        for k, form in enumerate(forms):
            matrix[k, : len(form.coef)] = form.coef
        absolute = np.abs(w)
        scale = absolute @ np.abs(matrix) @ self.size + absolute @ np.abs(consts) + abs(const)
        error = (absolute @ errors + _SUM * (len(forms) + 3) * scale) * (1 + 1e-9) + _TINY
        if len(forms) == 1 and abs(w[0]) == 1 and const == 0:
            error = errors[0]  # nothing is rounded
        return Form(w @ matrix, float(w @ consts + const), float(error))

    def interval(self, form: Form) -> tuple[float, float]:
        """Where a form lies in the box of the columns, rounded outwards."""
        n = len(form.coef)
        c, low, high = form.coef, self.lower[:n], self.upper[:n]
        used = np.flatnonzero(c)
        if len(used) == 1 and abs(c[used[0]]) == 1 and form.const == form.error == 0:  # a column itself: nothing rounds
            k = used[0]
            return (float(low[k]), float(high[k])) if c[k] > 0 else (float(-high[k]), float(-low[k]))
        positive, negative = np.maximum(c, 0.0), np.minimum(c, 0.0)
        slack = form.error + _SUM * (n + 4) * (float(np.abs(c) @ self.size[:n]) + abs(form.const) + form.error)
        least, most = positive @ low + negative @ high + form.const, positive @ high + negative @ low + form.const
        return float(least - slack * (1 + 1e-9)), float(most + slack * (1 + 1e-9))

    def rounded(self, form: Form, share: float = ROUND) -> Form:
        """The form of a computed result: an operation rounds once more."""
        low, high = self.interval(form)
        largest = max(abs(low), abs(high))
        if not largest < _MOST:
            raise OutOfRange("numbers of the system grow beyond 1e30; give fewer steps or smaller sets.")
        return form._replace(error=(form.error + share * largest) * (1 + 1e-9) + _TINY)

    def at_most(self, form: Form, bound: float) -> tuple[Floats, float]:
        """The row ``coef . columns <= b`` that every trace obeys if its number is at most ``bound``."""
        side = bound - form.const + form.error
        slack = 2.0**-50 * (abs(bound) + abs(form.const) + form.error) + _TINY
        return self.padded(form), float(side + slack)

    def require(self, *conditions: tuple[Form, float]) -> Branch:
        """Keep the traces whose numbers are at most these bounds."""
        pairs = [self.at_most(form, bound) for form, bound in conditions]
        rows = np.vstack([self.rows, *(row[None] for row, _ in pairs)])
        bounds = np.append(self.bound, [bound for _, bound in pairs])
        point = self.point
        if point is not None and any(row @ point > bound for row, bound in pairs):
            point = None
        return replace(self, rows=rows, bound=bounds, point=point)

    def with_column(self, low: float, high: float, value: float | None = None) -> tuple[Branch, Form]:
        """Add a column, with its value at the known point; its form has no error."""
        n = len(self.lower)
        if not (np.isfinite(low) and np.isfinite(high) and max(abs(low), abs(high)) < _MOST):
            raise OutOfRange("numbers of the system grow beyond 1e30; give fewer steps or smaller sets.")
        wider = replace(
            self,
            lower=np.append(self.lower, low),
            upper=np.append(self.upper, high),
            rows=np.column_stack([self.rows, np.zeros(len(self.rows))]),
            point=None if self.point is None or value is None else np.append(self.point, value),
        )
        return wider, Form(np.eye(1, n + 1, n)[0])

    def value(self, form: Form) -> float | None:
        """The form at the known point, up to rounding."""
        return None if self.point is None else float(self.padded(form) @ self.point + form.const)

    def with_form(self, term: Expression, form: Form) -> Branch:
        """Remember what is known of a term."""
        return replace(self, forms={**self.forms, term: form})

    def with_choice(self, term: Expression, part: Expression) -> Branch:
        """Remember which part a maximum or a choice is."""
        return replace(self, chosen={**self.chosen, term: part})
