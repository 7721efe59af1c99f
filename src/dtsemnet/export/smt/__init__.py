"""A tree as an SMT-LIB 2 script, over the real numbers.

Every double is a rational number, so the script states the tree exactly: one constant for
each column, the features, the score of each split, the leaf, and the outputs as functions of
them. Its arithmetic is that of the reals and not of doubles: it agrees with the tree on every
row that is not within the rounding bound of a split. Append ``assert`` and ``(check-sat)`` to
ask for a row with a property, or to prove that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.export.artefact import Artefact
from dtsemnet.export.check import checked
from dtsemnet.export.smt.evaluation import can_check, make_answer
from dtsemnet.export.terms import features_of
from dtsemnet.tree import Column, Model, TanhScale, Tree, as_model

__all__ = ["Symbols", "to_smt2"]

_HEAD = """; A decision tree, written by dtsemnet {version}.
; Real arithmetic: agrees with the tree on every row not within rounding of a split.
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
        ``|x:colour=red|`` (at most one holds), and ``|missing:age|`` where values may be missing; ``|``, backslash and
        control characters in names become ``_``. It defines the Int ``leaf``, the Reals ``score.0``, ..., and
        ``class`` (Int) with ``probability.0``, ... or ``output.0``, ... Outputs squashed by tanh are given before it:
        tanh grows, so a bound on one is a bound on the other. The check runs where z3 is installed and there are
        no more than 50,000 products; else the report is None and a warning is logged.

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
    model = as_model(tree)
    symbols = Symbols.of(model)
    text = _write(model, symbols)
    answer = make_answer(model, symbols, text)
    artefact = Artefact("SMT-LIB", text, exact=False, answer=answer, unit=2.0**-53)
    return checked(model, artefact, X) if can_check(model) else artefact


@dataclass(frozen=True)
class Symbols:
    """What the script calls its constants and functions."""

    number: dict[int, str]
    """By place of the column."""
    missing: dict[int, str]
    category: dict[int, list[str]]
    outputs: list[str]

    @classmethod
    def of(cls, model: Model) -> Symbols:
        """Name the columns of a model."""
        taken: set[str] = set()
        number, missing, category = {}, {}, {}
        for j, column in enumerate(model.encoder.columns):
            if column.categories is None:
                number[j] = _symbol(f"x:{column.name}", taken)
            else:
                category[j] = [_symbol(f"x:{column.name}={value}", taken) for value in column.categories]
            if column.missing is not None:
                missing[j] = _symbol(f"missing:{column.name}", taken)
        word = "probability" if model.is_classifier else "output"
        return cls(number, missing, category, [f"{word}.{o}" for o in range(model.tree.n_outputs)])


def _symbol(text: str, taken: set[str]) -> str:
    plain = "".join("_" if letter in "|\\" or not letter.isprintable() else letter for letter in text)
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain} ({number})", number + 1
    taken.add(name)
    return f"|{name}|"


def _write(model: Model, symbols: Symbols) -> str:
    from dtsemnet import __version__

    tree = model.tree
    lines = [_HEAD.format(version=__version__)]
    if isinstance(model.output, TanhScale):
        lines.append("; Outputs are given before the map low + (tanh(v) + 1) / 2 * (high - low).\n")
    if tree.class_names is not None:
        shown = (f"{c} is {_comment(name)}" for c, name in enumerate(tree.class_names))
        lines.append(f"; Classes: {', '.join(shown)}\n")
    lines.append("(set-logic QF_LIRA)\n")
    terms = _features(model, symbols)
    lines += _declarations(model, symbols)
    lines += [_define(f"feature.{k}", "Real", term) for k, term in enumerate(terms) if not term.startswith("|")]
    names = [term if term.startswith("|") else f"feature.{k}" for k, term in enumerate(terms)]
    for i in range(tree.n_splits):
        lines.append(_define(f"score.{i}", "Real", _sum(names, tree.weight[i], tree.bias[i])))
    lines.append(_define("leaf", "Int", _nest(tree, [str(k) for k in range(tree.n_leaves)])))
    if tree.class_names is not None:
        lines.append(_define("class", "Int", _nest(tree, [str(c) for c in tree.leaf_class])))
    for o, name in enumerate(symbols.outputs):
        lines.append(_define(name, "Real", _nest(tree, [_leaf(tree, names, k, o) for k in range(tree.n_leaves)])))
    return "".join(lines)


def _declarations(model: Model, symbols: Symbols) -> list[str]:
    lines = []
    for j in range(model.encoder.n_columns):
        if j in symbols.number:
            lines.append(f"(declare-const {symbols.number[j]} Real)\n")
        marks = symbols.category.get(j, []) + ([symbols.missing[j]] if j in symbols.missing else [])
        lines += [f"(declare-const {mark} Bool)\n" for mark in marks]
        if j in symbols.category:
            pairs = [(a, b) for k, a in enumerate(marks) for b in marks[k + 1 :]]
            lines += [f"(assert (not (and {a} {b})))\n" for a, b in pairs]
    return lines


def _features(model: Model, symbols: Symbols) -> list[str]:
    """One term a feature; a column that is handed on is its own name."""
    terms = []
    for feature in features_of(model.encoder):
        j, column = feature.place, feature.column
        if feature.kind == "number":
            term = _number(column, symbols.number[j], symbols.missing.get(j))
        elif feature.kind == "missing":
            term = f"(ite {symbols.missing[j]} 1.0 0.0)"
        else:
            term = f"(ite {symbols.category[j][_place(column, feature.category)]} 1.0 0.0)"
        terms.append(term)
    return terms


def _place(column: Column, category: Any) -> int:
    return list(column.categories or ()).index(category)


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
    """What a leaf answers: a number, or its linear model clipped to its guard."""
    value = tree.value[leaf, output]
    coef = np.zeros(tree.n_features) if tree.coef is None else tree.coef[leaf, output]
    ends = [None if not np.isfinite(end[leaf, output]) else float(end[leaf, output]) for end in tree.guard]
    return _clip(_sum(names, coef, value), *ends)


def _sum(names: list[str], weight: Floats, bias: float) -> str:
    terms = [f"(* {_rational(w)} {name})" for name, w in zip(names, weight.tolist()) if w != 0]
    return f"(+ {' '.join(terms)} {_rational(bias)})" if terms else _rational(bias)


def _nest(tree: Tree, answers: list[str]) -> str:
    """The tree as nested choices, from the bottom up: children have higher numbers."""
    node: dict[int, str] = {~k: answer for k, answer in enumerate(answers)}
    for i in range(tree.n_splits - 1, -1, -1):
        left, right = tree.topology.children[i].tolist()
        node[i] = f"(ite (> score.{i} 0.0) {node.pop(right)} {node.pop(left)})"
    return node.popitem()[1]


def _define(name: str, sort: str, term: str) -> str:
    return f"(define-fun {name} () {sort} {term})\n"


def _rational(number: float) -> str:
    """A double as it is: every one is a fraction of two integers."""
    fraction = Fraction(float(number))
    size = f"{abs(fraction.numerator)}.0"
    if fraction.denominator != 1:
        size = f"(/ {size} {fraction.denominator}.0)"
    return f"(- {size})" if fraction < 0 else size


def _comment(name: Any) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in str(name))
