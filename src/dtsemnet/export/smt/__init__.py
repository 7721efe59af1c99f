"""A tree as an SMT-LIB 2 script, over the real numbers.

Every double is a rational number, so the script states the tree exactly: one constant for
each feature, the score of each split, the leaf, and the outputs as functions of them. Its
arithmetic is that of the reals and not of doubles: it agrees with the tree on every row that
is not within the rounding bound of a split. Append ``assert`` and ``(check-sat)`` to search
for a row with a property, or to prove that there is none.

The check reads the script back through z3, which parses it and checks its sorts, and turns
the terms that z3 returns into functions of a row. Doubles are dyadic, ``m * 2**e``, and so are
their sums and products, which integers compute exactly; a choice evaluates only the branch
that it takes. That is many times faster than to let z3 evaluate all terms for every row, and
as exact.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.artefact import Artefact, Predictions, checked
from dtsemnet.tree import Column, Encoder, Model, TanhScale, Tree

__all__ = ["constants_of", "symbols_of", "to_smt2"]

MOST_PRODUCTS = 50_000
"""Products in a script that the exporter checks: with more the check would take minutes."""

Dyadic = tuple[int, int]
"""A number m * 2**e, as (m, e)."""
Row = dict[Any, Any]
"""Values of the constants by name, and of the terms that occur again by their id in z3."""
Term = Callable[[Row], Any]

logger = logging.getLogger("dtsemnet")

_HEAD = """; A decision tree, written by dtsemnet {version}.
; Real arithmetic: agrees with the tree on every row that is not within rounding of a split.
; Append what you want to know, for example (assert (= leaf 0)) (check-sat) (get-model).
"""


def to_smt2(tree: Any, X: Any = None) -> Artefact:
    """Write a tree as an SMT-LIB 2 script.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows on which the script is compared with the tree, beside the probes of :func:`check_export`.

    Returns
    -------
    Artefact
        The script declares for a column ``age`` the Real ``|x:age|``, for a category ``red`` of ``colour`` the Bool
        ``|x:colour=red|`` (at most one holds), and ``|missing:age|`` if values may be missing; ``|``, backslash and
        control characters in names become ``_``. It defines the Int ``leaf``, the Reals ``score.0``, ..., and
        ``class`` (Int) with ``probability.0``, ... or ``output.0``, ... Probabilities are the shares of the leaf, since
        SMT-LIB has no ``exp``. Outputs squashed by tanh are given before it: tanh grows, so a bound on one is a bound
        on the other. The check runs if z3 is installed and there are no
        more than 50,000 products; otherwise the report is None and a warning is logged.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[0.5, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> script = to_smt2(tree).text
    >>> "(define-fun score.0 () Real (+ (* (/ 1.0 2.0) |x:x0|) (* (- 1.0) |x:x1|) 0.0))" in script
    True
    >>> "(define-fun leaf () Int (ite (> score.0 0.0) 1 0))" in script
    True
    """
    model = Model.of(tree)
    text = _write(model)
    artefact = Artefact("SMT-LIB", text, exact=False, answer=partial(_run, model, text), shares_only=True)
    return checked(model, artefact, X) if _can_check(model) else artefact


def symbols_of(encoder: Encoder) -> list[str]:
    """Name the constant of each feature: a Real for a number, a Bool for a category or a missing value.

    Examples
    --------
    >>> symbols_of(Encoder([Column("age", missing="indicator"), Column("colour", categories=["red"])]))
    ['|x:age|', '|missing:age|', '|x:colour=red|']
    """
    taken: set[str] = set()
    symbols = []
    for feature in encoder.features:
        label = f"{'missing' if feature.kind == 'missing' else 'x'}:{feature.column.name}"
        label += f"={feature.category}" if feature.kind == "category" else ""
        plain = "".join("_" if letter in "|\\" or not letter.isprintable() else letter for letter in label)
        symbol, count = plain, 1
        while symbol in taken:
            count += 1
            symbol = f"{plain} ({count})"
        taken.add(symbol)
        symbols.append(f"|{symbol}|")
    return symbols


def _output_names(model: Model) -> list[str]:
    kind = "probability" if model.is_classifier else "output"
    return [f"{kind}.{o}" for o in range(model.tree.n_outputs)]


def _write(model: Model) -> str:
    from dtsemnet import __version__

    tree, symbols = model.tree, symbols_of(model.encoder)
    lines = [_HEAD.format(version=__version__)]
    if isinstance(model.output, TanhScale):
        lines.append("; Outputs are given before the map low + (tanh(v) + 1) / 2 * (high - low).\n")
    if tree.class_names is not None:
        shown = ", ".join(f"{c} is {name}" for c, name in enumerate(tree.class_names))
        lines.append(f"; Classes: {''.join(letter if letter.isprintable() else ' ' for letter in shown)}\n")
    lines += ["(set-logic QF_LIRA)\n", *_declarations(model.encoder, symbols)]
    names = list(symbols)
    for k, term in _encoded(model.encoder, symbols).items():
        names[k] = f"feature.{k}"
        lines.append(_define(names[k], "Real", term))
    for i in range(tree.n_splits):
        lines.append(_define(f"score.{i}", "Real", _sum(names, tree.weight[i], tree.bias[i])))
    lines.append(_define("leaf", "Int", _nest(tree, [str(k) for k in range(tree.n_leaves)])))
    if tree.class_names is not None:
        lines.append(_define("class", "Int", _nest(tree, [str(c) for c in tree.leaf_class])))
    for o, name in enumerate(_output_names(model)):
        lines.append(_define(name, "Real", _nest(tree, [_leaf(tree, names, k, o) for k in range(tree.n_leaves)])))
    return "".join(lines)


def _declarations(encoder: Encoder, symbols: list[str]) -> list[str]:
    lines = []
    for column, features in zip(encoder.columns, encoder.features_of_column):
        for feature, symbol in zip(encoder.features[features], symbols[features]):
            lines.append(f"(declare-const {symbol} {'Real' if feature.kind == 'number' else 'Bool'})\n")
        if column.categories is not None:  # at most one of the categories and "missing" holds
            marks = symbols[features]
            pairs = [(a, b) for k, a in enumerate(marks) for b in marks[k + 1 :]]
            lines += [f"(assert (not (and {a} {b})))\n" for a, b in pairs]
    return lines


def _encoded(encoder: Encoder, symbols: list[str]) -> dict[int, str]:
    """Write the features that are not a column as it is, by their index."""
    terms = {}
    for feature, symbol in zip(encoder.features, symbols):
        if feature.kind != "number":
            terms[feature.index] = f"(ite {symbol} 1.0 0.0)"
        elif not feature.column.is_identity:
            missing = symbols[feature.index + 1] if feature.column.has_indicator else None
            terms[feature.index] = _number(feature.column, symbol, missing)
    return terms


def _number(column: Column, name: str, missing: str | None) -> str:
    term = name if missing is None else f"(ite {missing} {_rational(column.fill)} {name})"
    term = term if column.center == 0 else f"(- {term} {_rational(column.center)})"
    term = term if column.scale == 1 else f"(* {_rational(column.scale)} {term})"
    return _clip(term, column.lower, column.upper)


def _clip(term: str, lower: float | None, upper: float | None) -> str:
    if lower is None and upper is None:
        return term
    inner = "v"
    if upper is not None:
        inner = f"(ite (> v {_rational(upper)}) {_rational(upper)} {inner})"
    if lower is not None:
        inner = f"(ite (< v {_rational(lower)}) {_rational(lower)} {inner})"
    return f"(let ((v {term})) {inner})"


def _leaf(tree: Tree, names: list[str], leaf: int, output: int) -> str:
    """Write an output of a leaf: a number, or its linear model clipped to its guard."""
    value = tree.value[leaf, output]
    coef = np.zeros(tree.n_features) if tree.coef is None else tree.coef[leaf, output]
    ends = [None if not np.isfinite(end[leaf, output]) else float(end[leaf, output]) for end in tree.guard]
    return _clip(_sum(names, coef, value), *ends)


def _sum(names: list[str], weight: Floats, bias: float) -> str:
    terms = [f"(* {_rational(w)} {name})" for name, w in zip(names, weight.tolist()) if w != 0]
    return f"(+ {' '.join(terms)} {_rational(bias)})" if terms else _rational(bias)


def _nest(tree: Tree, answers: list[str]) -> str:
    """Write the tree as nested choices, from the bottom up: children have higher numbers than their parent."""
    node: dict[int, str] = {~k: answer for k, answer in enumerate(answers)}
    for i in range(tree.n_splits - 1, -1, -1):
        left, right = tree.topology.children[i].tolist()
        node[i] = f"(ite (> score.{i} 0.0) {node.pop(right)} {node.pop(left)})"
    return node.popitem()[1]


def _define(name: str, sort: str, term: str) -> str:
    return f"(define-fun {name} () {sort} {term})\n"


def _rational(number: float) -> str:
    """Write a double as the fraction of two integers that it is."""
    fraction = Fraction(float(number))
    size = f"{abs(fraction.numerator)}.0"
    if fraction.denominator != 1:
        size = f"(/ {size} {fraction.denominator}.0)"
    return f"(- {size})" if fraction < 0 else size


def _can_check(model: Model) -> bool:
    """Whether the script can be checked within seconds; if not, log why."""
    tree = model.tree
    n_products = np.count_nonzero(tree.weight) + (0 if tree.coef is None else np.count_nonzero(tree.coef))
    if importlib.util.find_spec("z3") is None:
        why_not = "z3 is not installed (pip install z3-solver)"
    elif n_products > MOST_PRODUCTS:
        why_not = f"it has {n_products:,} products; check_export(tree, artefact) checks it, which takes minutes"
    else:
        return True
    logger.warning("the SMT-LIB script was not checked: %s", why_not)
    return False


def _run(model: Model, text: str, rows: Array) -> Predictions:
    """Send rows through the script."""
    leaf_term, *output_terms = _read(text, _output_names(model))
    leaf, output = np.empty(len(rows), dtype=np.int64), np.empty((len(rows), model.tree.n_outputs))
    symbols = symbols_of(model.encoder)
    for i, values in enumerate(rows.tolist()):
        row = constants_of(model.encoder, symbols, values)
        leaf[i] = _float(leaf_term(row))
        output[i] = [_float(term(row)) for term in output_terms]
    return Predictions(leaf, model.output(output))


def constants_of(encoder: Encoder, symbols: list[str], values: list[Any]) -> Row:
    """Find the values of the constants for a row, by name."""
    row: Row = {}
    for feature, symbol in zip(encoder.features, symbols):
        column, value = feature.column, values[feature.column_index]
        missing = value is None or value != value
        if missing and column.fills_missing:
            value, missing = column.fill, False
        if feature.kind == "number":
            row[symbol[1:-1]] = _dyadic(0.0 if missing else float(value))
        else:
            row[symbol[1:-1]] = missing if feature.kind == "missing" else not missing and value == feature.category
    return row


def _read(text: str, output_names: list[str]) -> list[Term]:
    """Let z3 parse the script; leaf and outputs are read off equations, since z3 returns assertions only."""
    import z3  # type: ignore[import-untyped,unused-ignore]

    wanted = [("leaf", "Int"), *((name, "Real") for name in output_names)]
    asks = "".join(f"(declare-const ask.{k} {sort})\n" for k, (_, sort) in enumerate(wanted))
    asks += "".join(f"(assert (= ask.{k} {name}))\n" for k, (name, _) in enumerate(wanted))
    equations = z3.parse_smt2_string(text + asks)[-len(wanted) :]
    known: dict[int, Term] = {}
    return [_compile(equation.arg(1), known) for equation in equations]


def _compile(term: Any, known: dict[int, Term]) -> Term:
    """Turn a term of z3 into a function of a row; shared terms are one function."""
    import z3

    identity = term.get_id()
    if identity in known:
        return known[identity]
    if z3.is_rational_value(term) or z3.is_int_value(term):
        value = _dyadic(term.as_fraction() if z3.is_rational_value(term) else term.as_long())
        made: Term = lambda row: value  # noqa: E731
    elif term.num_args() == 0:
        name = term.decl().name()
        made = lambda row: row[name]  # noqa: E731
    else:
        parts = [_compile(part, known) for part in term.children()]
        operator = term.decl().name()

        def made(row: Row) -> Any:
            if identity not in row:
                if operator == "if":  # only the branch taken is evaluated
                    row[identity] = parts[1 if parts[0](row) else 2](row)
                else:
                    row[identity] = _OPERATORS[operator](*[part(row) for part in parts])
            return row[identity]

    known[identity] = made
    return made


def _add(*terms: Dyadic) -> Dyadic:
    low = min(e for _, e in terms)
    return sum(m << (e - low) for m, e in terms), low


def _subtract(first: Dyadic, *rest: Dyadic) -> Dyadic:
    return _add(first, *map(_negative, rest)) if rest else _negative(first)


def _divide(one: Dyadic, other: Dyadic) -> Dyadic:
    (m, e), (n, f) = one, other
    assert n & (n - 1) == 0  # the denominator of a double is a power of two
    return m, e - f - (n.bit_length() - 1)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": _add,
    "-": _subtract,
    "*": lambda one, other: (one[0] * other[0], one[1] + other[1]),
    "/": _divide,
    ">": lambda one, other: _subtract(one, other)[0] > 0,
    "<": lambda one, other: _subtract(other, one)[0] > 0,
}


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
