"""Formulas of a system: written once by the user, evaluated in doubles, and enclosed by a proof.

The user writes the next state as ordinary Python, ``[x[0] + 0.1 * x[1], x[1] + 0.1 * u[0] + w[0]]``. It is called once
with symbols and returns a small graph of operations. The same graph is evaluated on arrays of doubles, to simulate, and
on sets, to prove (:mod:`dtsemnet.verify.closed_loop.branches`), so that both are about the same system.

Numbers are the doubles that Python reads: ``0.1`` is the double next to a tenth. Functions that jump or have corners
are written with :func:`where`, :func:`maximum`, :func:`minimum`, :func:`absolute` and :func:`clip`; a proof takes
their pieces one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Floats

__all__ = [
    "Condition", "Expression", "absolute", "clip", "constant", "cos", "evaluate", "float32", "float64", "maximum",
    "minimum", "read_formula", "sin", "square", "symbol", "tanh", "where",
]  # fmt: skip


class Expression:
    """An operation on other expressions; made by Python's operators and the functions of this module.

    Examples
    --------
    >>> x = symbol("x")
    >>> y = 2 * x + sin(x) / 4
    >>> evaluate([y], {x: np.array([0.0, 1.0])})[0].round(3)
    array([0.  , 2.21])
    """

    __slots__ = ("name", "number", "operation", "parts")
    __array_ufunc__ = None  # so that numpy leaves `array_entry * expression` to this class

    def __init__(self, operation: str, parts: tuple[Expression, ...] = (), number: float = 0.0, name: str = "") -> None:
        self.operation, self.parts, self.number, self.name = operation, parts, number, name

    def __add__(self, other: Any) -> Expression:
        return _pair("add", self, other)

    def __radd__(self, other: Any) -> Expression:
        return _pair("add", other, self)

    def __sub__(self, other: Any) -> Expression:
        return _pair("subtract", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return _pair("subtract", other, self)

    def __mul__(self, other: Any) -> Expression:
        return _pair("multiply", self, other)

    def __rmul__(self, other: Any) -> Expression:
        return _pair("multiply", other, self)

    def __truediv__(self, other: Any) -> Expression:
        return _pair("divide", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return _pair("divide", other, self)

    def __neg__(self) -> Expression:
        return _pair("multiply", -1.0, self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return absolute(self)

    def __pow__(self, power: Any) -> Expression:
        if isinstance(power, bool) or not isinstance(power, (int, np.integer)) or power < 1:
            raise TypeError(f"a power must be a whole number from 1 on, got {power!r}; write products instead.")
        if power == 1:
            return self
        half = square(self ** (power // 2)) if power > 1 else self
        return half if power % 2 == 0 else half * self

    def __gt__(self, other: Any) -> Condition:
        return Condition(self, read_formula(other), False)

    def __lt__(self, other: Any) -> Condition:
        return Condition(read_formula(other), self, False)

    def __ge__(self, other: Any) -> Condition:
        return Condition(read_formula(other), self, True)

    def __le__(self, other: Any) -> Condition:
        return Condition(self, read_formula(other), True)

    def __bool__(self) -> bool:
        raise TypeError("a formula has no truth value; write where(x > 0, a, b) in place of `a if x > 0 else b`.")

    def __repr__(self) -> str:
        if self.operation in ("symbol", "constant"):
            return self.name if self.operation == "symbol" else repr(self.number)
        return f"{self.operation}({', '.join(map(repr, self.parts))})"


class Condition(NamedTuple):
    """``left > right``, or its contrary; see :func:`where`."""

    left: Expression
    right: Expression
    is_negated: bool

    def __bool__(self) -> bool:
        raise TypeError("a condition of a formula has no truth value; write where(x > 0, a, b).")


def symbol(name: str) -> Expression:
    """Make a variable."""
    return Expression("symbol", name=name)


def constant(number: float) -> Expression:
    """Make a number a formula."""
    if not np.isfinite(number):
        raise ValueError(f"a formula must hold finite numbers, got {number!r}.")
    return Expression("constant", number=float(number))


def read_formula(given: Any) -> Expression:
    """Read an expression or a number."""
    if isinstance(given, Expression):
        return given
    if isinstance(given, (bool, str)) or np.ndim(given) != 0:
        raise TypeError(f"a formula must be an expression or a number, got {given!r}; write one for each entry.")
    return constant(float(given))


def sin(x: Any) -> Any:
    """Sine of a formula, or of numbers."""
    return _unary("sin", x)


def cos(x: Any) -> Any:
    """Cosine of a formula, or of numbers."""
    return _unary("cos", x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent of a formula, or of numbers."""
    return _unary("tanh", x)


def square(x: Any) -> Any:
    """``x * x``; tighter in a proof than a product of two formulas."""
    return _unary("square", x)


def float32(x: Any) -> Any:
    """Round to the nearest number of 32 bits, as many environments do with what they show."""
    return _unary("float32", x)


def float64(x: Any) -> Any:
    """Round to the nearest double: a state of real arithmetic as a policy reads it."""
    return _unary("float64", x)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of two."""
    if not (isinstance(a, Expression) or isinstance(b, Expression)):
        return np.maximum(a, b)
    return _pair("maximum", a, b)


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of two."""
    return -maximum(-a, -b)


def absolute(x: Any) -> Any:
    """Return the size of a number."""
    return maximum(x, -x)


def clip(x: Any, low: Any, high: Any) -> Any:
    """Move a number between two ends.

    Examples
    --------
    >>> float(clip(3.0, -1.0, 1.0))
    1.0
    """
    return minimum(maximum(x, low), high)


def where(condition: Condition, yes: Any, no: Any) -> Expression:
    """Choose between two formulas by a comparison such as ``x[0] <= -1.2``.

    Examples
    --------
    >>> x = symbol("x")
    >>> evaluate([where(x > 1, x, 0.0)], {x: np.array([0.5, 1.0, 1.5])})[0]
    array([0. , 0. , 1.5])
    """
    if not isinstance(condition, Condition):
        raise TypeError(f"condition must compare two formulas, such as x[0] > 1.0, got {condition!r}.")
    yes, no = read_formula(yes), read_formula(no)
    if condition.is_negated:
        yes, no = no, yes
    return Expression("where", (condition.left, condition.right, yes, no))


def evaluate(formulas: Sequence[Expression], values: Mapping[Expression, Array]) -> list[Floats]:
    """Evaluate formulas in doubles, operation by operation; ``values`` are those of the symbols."""
    known: dict[Expression, Any] = dict(values)
    for formula in formulas:
        for term in in_order(formula, known):
            known[term] = _evaluate_one(term, known)
    shape = np.shape(next(iter(values.values()))) if values else ()
    return [np.broadcast_to(np.asarray(known[formula], dtype=np.float64), shape).copy() for formula in formulas]


def in_order(formula: Expression, known: Mapping[Expression, Any]) -> Iterable[Expression]:
    """The terms of a formula that are not known yet, each after its parts."""
    found: dict[Expression, None] = {}
    todo = [formula]
    while todo:
        term = todo[-1]
        if term in known or term in found:
            todo.pop()
            continue
        missing = [part for part in term.parts if part not in known and part not in found]
        if missing:
            todo += missing
        else:
            found[term] = None
            todo.pop()
    return found


def _evaluate_one(term: Expression, known: Mapping[Expression, Any]) -> Any:
    if term.operation == "constant":
        return np.float64(term.number)
    if term.operation == "symbol":
        raise ValueError(f"the formula reads {term.name!r}, which has no value here.")
    return _FUNCTIONS[term.operation](*(known[part] for part in term.parts))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "square": lambda x: x * x,
    "float64": lambda x: np.asarray(x, dtype=np.float64),
    "float32": lambda x: np.asarray(x, dtype=np.float64).astype(np.float32).astype(np.float64),
    "where": lambda left, right, yes, no: np.where(np.greater(left, right), yes, no),
}


def _pair(operation: str, a: Any, b: Any) -> Expression:
    return Expression(operation, (read_formula(a), read_formula(b)))


def _unary(operation: str, x: Any) -> Any:
    return Expression(operation, (x,)) if isinstance(x, Expression) else _FUNCTIONS[operation](x)
