"""Numbers, sums and splits in words: one way to write them, for every readable view.

Two number formats. :func:`number_text` rounds to so many significant digits and reads back as
a number; texts, tables and Graphviz files use it. :func:`display_number` is for pictures: a true
minus sign, large numbers by thousands.

One way to write a sum: the terms with their signs, a weight of 1 left out, the constant last, how
many terms are left out. :func:`fit_condition` and :func:`fit_sum` cut a sum to the room there is, the
largest terms first.

What :func:`write_sum` and :func:`write_question` write can also be evaluated: a :class:`Sum` or a
:class:`Question` keeps the numbers that its text shows, so that a text can be checked against the
tree. A split on one column is solved for it: ``w x + b > 0`` reads ``x > -b / w``, a split on the
categories of one column reads ``colour in {red, blue}``. A point on a hyperplane takes the branch
``no``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.names import printable
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree
from dtsemnet.tree.view import ReadableView

__all__ = [
    "MINUS", "MOST_DIGITS", "Digits", "Question", "Sum", "display_number", "fit_condition", "fit_sum", "largest_terms",
    "number_text", "outward_text", "shorten", "write_question", "write_sum",
]  # fmt: skip

MOST_DIGITS = 17
"""Significant digits that tell any two doubles apart."""
MINUS = "\N{MINUS SIGN}"
Fits = Callable[[str], bool]
"""Whether a text fits into the room there is."""


def number_text(number: float, digits: int) -> str:
    """Write a number with so many significant digits, without an exponent between 1e-4 and 1e7.

    Examples
    --------
    >>> number_text(123456.0, 3), number_text(0.00012, 3), number_text(1e9, 3), number_text(-0.0, 3)
    ('123000', '0.00012', '1e+09', '0')
    """
    text = f"{number + 0.0:.{digits}g}"  # + 0.0: minus zero is shown as 0
    return f"{float(text):.0f}" if "e+" in text and abs(float(text)) < 1e7 else text


def outward_text(number: float, digits: int, *, up: bool) -> str:
    """Write a number rounded up, or down.

    Examples
    --------
    >>> outward_text(2.0714, 3, up=True), outward_text(2.0714, 3, up=False), outward_text(-1.5, 3, up=True)
    ('2.08', '2.07', '-1.5')
    """
    exact = Decimal(number)
    unit = Decimal((0, (1,), exact.adjusted() - digits + 1))
    rounded = exact.quantize(unit, ROUND_CEILING if up else ROUND_FLOOR) if number else exact
    return number_text(float(rounded), digits)


def display_number(value: float, digits: int = 3) -> str:
    """Write a number for a picture: few digits, a true minus sign, large ones by thousands.

    Examples
    --------
    >>> display_number(-0.12345), display_number(287654.0), display_number(1.5e-7)
    ('−0.123', '288,000', '1.5e−7')
    """
    text = f"{value + 0.0:.{digits}g}"
    if "e" in text and 10 <= abs(value) < 1e7:
        text = f"{float(text):,.0f}"
    text = text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return text.replace("-", MINUS)


def largest_terms(weight: Floats, size: Floats | None = None) -> list[int]:
    """List the features with a weight, the largest first: by the size of their terms, or else of their weights.

    Examples
    --------
    >>> largest_terms(np.array([0.5, -2.0, 0.0]))
    [1, 0]
    """
    order = np.argsort(-np.abs(weight if size is None else size), kind="stable")
    return [int(j) for j in order if weight[j] != 0]


@dataclass(frozen=True)
class Digits:
    """Significant digits of the numbers of a sum, and of a threshold if it is solved for one column."""

    weight: Ints
    bias: int
    threshold: int

    @classmethod
    def same(cls, n_features: int, digits: int) -> Digits:
        """Use as many digits everywhere."""
        return cls(np.full(n_features, digits), digits, digits)


@dataclass(frozen=True)
class Sum:
    """A linear function as printed."""

    weight: Floats
    bias: float
    parts: tuple[str, ...]
    """Pieces of the text, between which a line may be broken."""
    n_hidden: int
    """Terms that the text leaves out."""

    def __call__(self, rows: Floats) -> Floats:
        """Evaluate the numbers printed, in the documented order of summation."""
        width = len(self.weight)
        line = Tree(Topology([]), np.empty((0, width)), [], [[self.bias]], coef=[[self.weight]])
        return line.predict(rows)


@dataclass(frozen=True)
class Question:
    """A split as printed: yes or no for each row."""

    parts: tuple[str, ...]
    """Pieces of the text, between which a line may be broken."""
    answer: Callable[[Floats], Bools]
    n_hidden: int = 0
    """Terms that the text leaves out."""
    n_terms: int = 0
    """Terms of the sum, hidden ones included; 0 if the text asks about one column."""
    ending: str = ""
    """The comparison at the end of a text that may be shortened before it."""

    def __call__(self, rows: Floats) -> Bools:
        """Answer for each row."""
        return self.answer(rows)


def write_question(
    view: ReadableView, weight: Floats, bias: float, digits: Digits, shown: Sequence[int] | None = None,
    rest: tuple[float, float] | None = None,
) -> Question:  # fmt: skip
    """Write a split as a question; a sum shows all features in their order, or those in ``shown``, in that order.

    ``rest`` is the least and the most that the others add, if that is known.
    """
    solved = _solve(view, weight, bias, digits.threshold, number_text)
    if solved is not None:
        return solved
    total = write_sum(view, weight, bias, digits, shown, rest)
    return Question((*total.parts, "> 0"), lambda rows: total(rows) > 0, total.n_hidden, int((weight != 0).sum()))


def write_sum(
    view: ReadableView, weight: Floats, bias: float, digits: Digits, shown: Sequence[int] | None = None,
    rest: tuple[float, float] | None = None,
) -> Sum:  # fmt: skip
    """Write ``weight . x + bias``; arguments as in :func:`write_question`."""
    used = np.flatnonzero(weight).tolist()
    printed = np.zeros(len(weight))
    for j in used:
        printed[j] = float(number_text(float(weight[j]), int(digits.weight[j])))
    chosen = used if shown is None else [j for j in shown if weight[j] != 0]
    parts: list[str] = []
    for j in chosen:
        size = number_text(abs(float(weight[j])), int(digits.weight[j]))
        parts.append(_term(float(weight[j]), size, view.features[j].term, first=not parts))
    n_hidden = len(used) - len(chosen)
    if n_hidden:
        ends = "" if rest is None else f" [{number_text(rest[0], 3)} to {number_text(rest[1], 3)}]"
        parts.append(f"{'+ ' if parts else ''}… {n_hidden} more term{'s' * (n_hidden > 1)}{ends}")
    if bias != 0 or not parts:
        parts.append(_term(bias, number_text(abs(bias), digits.bias), "", first=not parts))
    return Sum(printed, float(number_text(bias, digits.bias)), tuple(parts), n_hidden)


def fit_condition(view: ReadableView, weight: Floats, bias: float, size: Floats, fits: Fits) -> str:
    """Write a split in little room: ``w . x > -b``, divided by the weight of its largest term.

    The terms that move the sum most, by ``size``, are written first, as many as fit. If some do not, an ellipsis stands
    for the rest, the constant included: beside a part of the sum a threshold would only mislead.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> weight = np.array([2.0, -1.0, 0.1])
    >>> tree = Tree(Topology.complete(1), [weight], [-3.0], [[0], [1]], feature_names=["age", "height", "long name"])
    >>> view = ReadableView.of(tree)
    >>> fit_condition(view, weight, -3.0, weight, lambda text: len(text) <= 24)
    'age − 0.5 height … > 0'
    >>> fit_condition(view, np.array([-2.0, 0.0, 0.0]), 3.0, weight, lambda text: True)
    'age < 1.5'
    """
    used = largest_terms(weight, size)
    if not used:
        return f"0 > {display_number(-bias)}"
    solved = _solve(view, weight, bias, 3, display_number)
    if solved is not None and solved.ending:
        ending = solved.ending
        return shorten(solved.parts[0].removesuffix(ending), lambda label: fits(label + ending)) + ending
    if solved is not None:
        return _fit_parts(solved.parts, fits)
    lead = float(weight[used[0]])
    with np.errstate(over="ignore"):
        weight, threshold = weight / lead, float(np.float64(-bias) / lead)
    sign = ">" if lead > 0 else "<"
    ending, cut = f" {sign} {display_number(threshold)}", f" … {sign} 0"
    terms = [view.features[j].term for j in used]
    start = shorten(terms[0], lambda term: fits(f"{term}{cut}")).removesuffix("…")
    best, text = f"{start}{cut}" if start else "score > 0", ""
    for k, (j, term) in enumerate(zip(used, terms)):
        factor = float(weight[j])
        part = _term(factor, display_number(abs(factor), 2), term, first=not k, minus=MINUS)
        text = f"{text} {part}" if k else part
        whole = text + (cut if k < len(used) - 1 else ending)
        if not fits(whole):
            break
        best = whole
    return best


def fit_sum(view: ReadableView, weight: Floats, bias: float, size: Floats, fits: Fits, n_lines: int) -> list[str]:
    """Write a linear model in a few lines: the constant, then the largest terms, as many as fit.

    If some terms do not fit, an ellipsis stands for the rest, the constant included: it balances all of them.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> coef = np.array([0.5, -2.0, 0.1])
    >>> names = ["age", "height", "weight"]
    >>> view = ReadableView.of(Tree(Topology([]), np.empty((0, 3)), [], [[3.0]], [[coef]], feature_names=names))
    >>> fit_sum(view, coef, 3.0, coef, lambda text: len(text) <= 14, 3)
    ['3 − 2 height', '+ 0.5 age', '+ 0.1 weight']
    >>> fit_sum(view, coef, 3.0, coef, lambda text: len(text) <= 14, 2)
    ['−2 height', '+ 0.5 age …']
    """
    used = largest_terms(weight, size)
    for head in ([display_number(bias)], [""]):
        lines, n_written = list(head), 0
        for j in used:
            number, first = float(weight[j]), lines == [""]
            term = _term(number, display_number(abs(number), 2), view.features[j].term, first=first, minus=MINUS)
            rest = " …" if n_written < len(used) - 1 else ""
            if first or fits(f"{lines[-1]} {term}{rest}"):
                lines[-1] += term if first else f" {term}"
            elif len(lines) < n_lines:
                lines.append(term)
            else:
                break
            n_written += 1
        if n_written == len(used):
            break
    return lines if n_written == len(used) else [*lines[:-1], lines[-1] + " …"]


def shorten(text: str, fits: Fits) -> str:
    """Cut a text until it fits, with an ellipsis; empty if not even two letters fit.

    Examples
    --------
    >>> shorten("temperature", lambda text: len(text) <= 6)
    'tempe…'
    """
    if fits(text):
        return text
    low, high = 1, len(text)  # a longer text is wider: halve the interval of lengths that may fit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(text[:middle].rstrip() + "…") else (low, middle)
    return text[:low].rstrip() + "…" if low > 1 else ""


def _fit_parts(parts: tuple[str, ...], fits: Fits) -> str:
    """Write the categories that fit."""
    for n_parts in range(len(parts), 0, -1):
        text = " ".join(parts) if n_parts == len(parts) else f"{' '.join(parts[:n_parts])} …}}"
        if fits(text):
            return text
    return shorten(parts[0], fits)


def _term(number: float, size: str, name: str, *, first: bool, minus: str = "-") -> str:
    """Write one term with its sign; a term without a name is the constant."""
    text = size if not name else name if size == "1" else f"{size} {name}"
    if first:
        return f"{minus}{text}" if number < 0 else text
    return f"{minus} {text}" if number < 0 else f"+ {text}"


def _solve(
    view: ReadableView, weight: Floats, bias: float, digits: int, write: Callable[[float, int], str]
) -> Question | None:
    """Write a split on one column as a question about it, if it is one."""
    columns = {view.features[j].column_index for j in np.flatnonzero(weight)}
    if len(columns) != 1:
        return None
    members = view.members(columns.pop())
    if view.features[members[0]].kind != "number":
        return _choice(view, weight, bias, members)
    if weight[members[0]] == 0:
        return _choice(view, weight, bias, members[1:])
    feature, missing = members[0], members[1] if len(members) > 1 else None
    slope = float(weight[feature])
    threshold = -bias / slope
    name, column = view.features[feature].label, view.features[feature].column
    if view.features[feature].in_steps:  # steps are for adding up: alone, a column reads better in its own units
        name, threshold = printable(column.name), column.unmap(threshold)
    if not math.isfinite(threshold):
        return None
    answers = missing is not None and bool(weight[missing] + bias > 0)
    rest = "" if missing is None else " or missing" if answers else " and not missing"
    ending = f" {'>' if slope > 0 else '<'} {write(threshold, digits)}{rest}"
    printed = float(number_text(threshold, digits))
    printed = column.map(printed) if view.features[feature].in_steps else printed

    def is_beyond(rows: Floats) -> Bools:
        beyond = rows[:, feature] > printed if slope > 0 else rows[:, feature] < printed
        return beyond if missing is None else np.where(rows[:, missing] == 1, answers, beyond)

    return Question((f"{name}{ending}",), is_beyond, ending=ending)


def _choice(view: ReadableView, weight: Floats, bias: float, members: list[int]) -> Question | None:
    """Ask for categories by name; a value that the model does not know scores the bias alone."""
    unknown_answers = bias > 0
    named = [j for j in members if (weight[j] + bias > 0) != unknown_answers]
    if not named:
        return None
    features = [view.features[j] for j in named]
    column = printable(features[0].column.name)
    names = [printable(feature.category) if feature.kind == "category" else "missing" for feature in features]
    if len(features) == 1 and features[0].kind == "missing":
        pieces = [f"{column} is {'not ' * unknown_answers}missing"]
    elif len(names) == 1:
        pieces = [f"{column} {'≠' if unknown_answers else '='} {names[0]}"]
    else:
        pieces = [f"{name}," for name in names[:-1]] + [f"{names[-1]}}}"]
        pieces[0] = f"{column} {'not in' if unknown_answers else 'in'} {{{pieces[0]}"
    return Question(tuple(pieces), lambda rows: (rows[:, named] == 1).any(axis=1) != unknown_answers)
