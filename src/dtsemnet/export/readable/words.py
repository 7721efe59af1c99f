"""Splits and sums in words, with the numbers as they are printed.

What is written here can also be evaluated: a :class:`Sum` or a question keeps the numbers that
its text shows, so that a text can be checked against the tree it stands for. A split on one
column is solved for it: ``w x + b > 0`` reads ``x > -b / w``, a split on the categories of one
column reads ``colour in {red, blue}``. A point on a hyperplane takes the branch ``no``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Protocol

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.export.readable.words_view import View
from dtsemnet.tree import Topology, Tree

__all__ = ["MOST_DIGITS", "Digits", "Question", "Sum", "number_text", "outward_text", "question", "write_sum"]


MOST_DIGITS = 17
"""Significant digits that tell any two doubles apart."""


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
    place = Decimal((0, (1,), exact.adjusted() - digits + 1))
    rounded = exact.quantize(place, ROUND_CEILING if up else ROUND_FLOOR) if number else exact
    return number_text(float(rounded), digits)


@dataclass(frozen=True)
class Digits:
    """Significant digits of the numbers of a sum, and of a threshold where it is solved for one column."""

    weight: Ints
    bias: int
    threshold: int

    @classmethod
    def same(cls, n_features: int, digits: int) -> Digits:
        """Ask for as many digits everywhere."""
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


class Question(Protocol):
    """A split as printed: yes or no for each row."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Pieces of the text."""

    @property
    def n_hidden(self) -> int:
        """Terms that the text leaves out."""

    def __call__(self, rows: Floats) -> Bools:
        """Answer for each row."""


@dataclass(frozen=True)
class Positive:
    """Whether a sum is positive."""

    sum: Sum

    @property
    def parts(self) -> tuple[str, ...]:
        """The sum, then the comparison."""
        return (*self.sum.parts, "> 0")

    @property
    def n_hidden(self) -> int:
        """Terms that the sum leaves out."""
        return self.sum.n_hidden

    def __call__(self, rows: Floats) -> Bools:
        """Compare the sum with 0."""
        return self.sum(rows) > 0


@dataclass(frozen=True)
class Beyond:
    """Whether a number lies beyond a threshold, and what a missing one answers."""

    parts: tuple[str, ...]
    feature: int
    above: bool
    threshold: float
    missing: int | None
    missing_says: bool
    n_hidden: int = 0

    def __call__(self, rows: Floats) -> Bools:
        """Compare the number with the threshold."""
        number = rows[:, self.feature]
        answer = number > self.threshold if self.above else number < self.threshold
        return answer if self.missing is None else np.where(rows[:, self.missing] == 1, self.missing_says, answer)


@dataclass(frozen=True)
class Among:
    """Whether one of some 0/1 features holds, or none of them."""

    parts: tuple[str, ...]
    features: tuple[int, ...]
    wanted: bool
    n_hidden: int = 0

    def __call__(self, rows: Floats) -> Bools:
        """Look for a feature that holds."""
        return (rows[:, list(self.features)] == 1).any(axis=1) == self.wanted


def question(view: View, weight: Floats, bias: float, digits: Digits, shown: Sequence[int] | None = None) -> Question:
    """Write a split as a question.

    Parameters
    ----------
    view : View
    weight, bias : array of shape (n_features,), float
    digits : Digits
    shown : sequence of int, optional
        Features to show in a sum, in this order. All in their order by default.
    """
    columns = {view.features[j].column for j in np.flatnonzero(weight)}
    if len(columns) == 1:
        members = view.members(columns.pop())
        numeric = view.features[members[0]].kind == "number"
        if numeric and weight[members[0]] != 0:
            solved: Question | None = _threshold(view, weight, bias, members, digits.threshold)
        else:
            solved = _choice(view, weight, bias, members[1:] if numeric else members)
        if solved is not None:
            return solved
    return Positive(write_sum(view, weight, bias, digits, shown))


def write_sum(view: View, weight: Floats, bias: float, digits: Digits, shown: Sequence[int] | None = None) -> Sum:
    """Write ``weight . x + bias``; arguments as in :func:`question`."""
    used = np.flatnonzero(weight).tolist()
    printed = np.zeros(len(weight))
    for j in used:
        printed[j] = float(number_text(float(weight[j]), int(digits.weight[j])))
    printed_bias = float(number_text(bias, digits.bias))
    chosen = used if shown is None else [j for j in shown if weight[j] != 0]
    parts: list[str] = []
    for j in chosen:
        size = number_text(abs(float(weight[j])), int(digits.weight[j]))
        term = view.features[j].term
        parts.append(_signed(float(weight[j]), term if size == "1" else f"{size} {term}", first=not parts))
    n_hidden = len(used) - len(chosen)
    if n_hidden:
        parts.append(f"{'+ ' if parts else ''}… {n_hidden} more terms")
    if bias != 0 or not parts:
        parts.append(_signed(bias, number_text(abs(bias), digits.bias), first=not parts))
    return Sum(printed, printed_bias, tuple(parts), n_hidden)


def _signed(number: float, text: str, *, first: bool) -> str:
    if first:
        return f"-{text}" if number < 0 else text
    return f"- {text}" if number < 0 else f"+ {text}"


def _threshold(view: View, weight: Floats, bias: float, members: list[int], digits: int) -> Question | None:
    feature, missing = members[0], members[1] if len(members) > 1 else None
    slope = float(weight[feature])
    threshold = -bias / slope
    if not math.isfinite(threshold):
        return None
    text = number_text(threshold, digits)
    says = missing is not None and bool(weight[missing] + bias > 0)
    rest = "" if missing is None else " or missing" if says else " and not missing"
    words = f"{view.features[feature].label} {'>' if slope > 0 else '<'} {text}{rest}"
    return Beyond((words,), feature, slope > 0, float(text), missing, says)


def _choice(view: View, weight: Floats, bias: float, members: list[int]) -> Question | None:
    """Ask for categories by name; a value that the model does not know scores the bias alone."""
    unknown_says = bias > 0
    named = tuple(j for j in members if (weight[j] + bias > 0) != unknown_says)
    if not named:
        return None
    column = view.columns[view.features[named[0]].column]
    known = column.categories or ()
    names = [str(known[j - members[0]]) if view.features[j].kind == "category" else "missing" for j in named]
    if names == ["missing"]:
        words = f"{column.name} is not missing" if unknown_says else f"{column.name} is missing"
        return Among((words,), named, not unknown_says)
    if len(names) == 1:
        return Among((f"{column.name} {'≠' if unknown_says else '='} {names[0]}",), named, not unknown_says)
    pieces = [f"{name}," for name in names[:-1]] + [f"{names[-1]}}}"]
    pieces[0] = f"{column.name} {'not in' if unknown_says else 'in'} {{{pieces[0]}"
    return Among(tuple(pieces), named, not unknown_says)
