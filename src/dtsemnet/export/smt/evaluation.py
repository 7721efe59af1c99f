"""Rows sent through an SMT-LIB script as z3 reads it.

z3 parses the script and checks its sorts; the terms that it gives back are turned into
functions once. Doubles are dyadic, ``m * 2**e``, and so are their sums and products, which
integers compute exactly; a choice evaluates the branch it takes and no other. That is
many times faster than to let z3 evaluate all terms for every row, and as exact.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.export.artefact import Answer
from dtsemnet.tree import Model

if TYPE_CHECKING:
    from dtsemnet.export.smt import Symbols

__all__ = ["MOST_PRODUCTS", "can_check", "make_answer"]

MOST_PRODUCTS = 50_000
"""Products in a script that the exporter checks: with more it would take minutes."""

Dyadic = tuple[int, int]
"""A number m * 2**e, as (m, e)."""
Row = dict[Any, Any]
"""Values of the constants by name, and of the terms that are met again by number."""
Term = Callable[[Row], Any]

logger = logging.getLogger("dtsemnet")


def can_check(model: Model) -> bool:
    """Tell whether the script can be checked in a matter of seconds; if not, log why."""
    tree = model.tree
    n_products = np.count_nonzero(tree.weight) + (0 if tree.coef is None else np.count_nonzero(tree.coef))
    why_not = None
    try:
        import z3  # type: ignore[import-untyped,unused-ignore]  # noqa: F401
    except ImportError:
        why_not = "z3 is not installed (pip install z3-solver)"
    else:
        if n_products > MOST_PRODUCTS:
            why_not = f"it has {n_products:,} products; check_export(tree, artefact) takes its time and does it"
    if why_not is not None:
        logger.warning("the SMT-LIB script was not checked: %s", why_not)
    return why_not is None


def make_answer(model: Model, symbols: Symbols, text: str) -> Callable[[Array], Answer]:
    """Make the function that runs the script."""

    def answer(rows: Array) -> Answer:
        leaf_term, *output_terms = _read(text, symbols)
        leaf, output = np.empty(len(rows), dtype=np.int64), np.empty((len(rows), model.tree.n_outputs))
        for i, values in enumerate(rows.tolist()):
            row = _constants(model, symbols, values)
            leaf[i] = _float(leaf_term(row))
            output[i] = [_float(term(row)) for term in output_terms]
        return Answer(leaf, model.output(output))

    return answer


def _read(text: str, symbols: Symbols) -> list[Term]:
    """Let z3 parse the script; leaf and outputs are read off equations, since it gives back assertions alone."""
    import z3

    wanted = [("leaf", "Int"), *((name, "Real") for name in symbols.outputs)]
    asks = "".join(f"(declare-const ask.{k} {sort})\n" for k, (_, sort) in enumerate(wanted))
    asks += "".join(f"(assert (= ask.{k} {name}))\n" for k, (name, _) in enumerate(wanted))
    equations = z3.parse_smt2_string(text + asks)[-len(wanted) :]
    known: dict[int, Term] = {}
    return [_compile(equation.arg(1), known) for equation in equations]


def _compile(term: Any, known: dict[int, Term]) -> Term:
    """Turn a term of z3 into a function of a row; shared terms are one function."""
    import z3

    number = term.get_id()
    if number in known:
        return known[number]
    if z3.is_rational_value(term) or z3.is_int_value(term):
        value = _dyadic(term.as_fraction() if z3.is_rational_value(term) else term.as_long())
        made: Term = lambda row: value  # noqa: E731
    elif term.num_args() == 0:
        name = term.decl().name()
        made = lambda row: row[name]  # noqa: E731
    else:
        parts = [_compile(part, known) for part in term.children()]
        made = _remembered(number, _OPERATORS[term.decl().name()](parts))
    known[number] = made
    return made


def _remembered(number: int, term: Term) -> Term:
    def remembered(row: Row) -> Any:
        if number not in row:
            row[number] = term(row)
        return row[number]

    return remembered


def _choose(parts: list[Term]) -> Term:
    test, yes, no = parts
    return lambda row: yes(row) if test(row) else no(row)


def _add(parts: list[Term]) -> Term:
    return lambda row: _total([part(row) for part in parts])


def _subtract(parts: list[Term]) -> Term:
    first, *rest = parts
    if not rest:
        return lambda row: _negative(first(row))
    return lambda row: _total([first(row), *(_negative(part(row)) for part in rest)])


def _multiply(parts: list[Term]) -> Term:
    def product(row: Row) -> Dyadic:
        (m, e), (n, f) = (part(row) for part in parts)
        return m * n, e + f

    return product


def _divide(parts: list[Term]) -> Term:
    def quotient(row: Row) -> Dyadic:
        (m, e), (n, f) = (part(row) for part in parts)
        assert n & (n - 1) == 0  # the denominator of a double is a power of two
        return m, e - f - (n.bit_length() - 1)

    return quotient


def _compare(parts: list[Term], sign: int) -> Term:
    one, other = parts
    return lambda row: sign * _total([one(row), _negative(other(row))])[0] > 0


_OPERATORS: dict[str, Callable[[list[Term]], Term]] = {
    "if": _choose,
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    ">": lambda parts: _compare(parts, 1),
    "<": lambda parts: _compare(parts, -1),
}


def _total(terms: list[Dyadic]) -> Dyadic:
    low = min(e for _, e in terms)
    return sum(m << (e - low) for m, e in terms), low


def _negative(number: Dyadic) -> Dyadic:
    return -number[0], number[1]


def _dyadic(number: Any) -> Dyadic:
    top, bottom = number.as_integer_ratio()
    return top, 1 - bottom.bit_length()


def _float(number: Dyadic) -> float:
    """The nearest double."""
    m, e = number
    try:
        return float(m << e) if e >= 0 else m / (1 << -e)
    except OverflowError:
        return float("inf") if m > 0 else float("-inf")


def _constants(model: Model, symbols: Symbols, values: list[Any]) -> Row:
    """The constants that stand for a row, by name."""
    row: Row = {}
    for j, (column, value) in enumerate(zip(model.encoder.columns, values)):
        missing = value is None or value != value
        if column.categories is None:
            row[symbols.number[j][1:-1]] = _dyadic(0.0 if missing else float(value))
        else:
            held = [not missing and value == category for category in column.categories]
            row |= {name[1:-1]: mark for name, mark in zip(symbols.category[j], held)}
        if j in symbols.missing:
            row[symbols.missing[j][1:-1]] = missing
    return row
