"""How many digits a printed split needs, and which terms it can do without.

A split's digits are the fewest, from 3 up, with which every row that meets it takes the same
branch as in the tree; then every row reaches the same leaf. They count at the term that moves
the score most. The other numbers are rounded to the same place of the score: a weight whose
term reaches a tenth as far gets a digit less, and the bias as many as that place asks for.

A term is small if it moves the score of the split's rows by less than a share of the score's
own spread (standard deviations both). Folding puts its mean in its place: the bias takes
``w * mean(x)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Bools, Floats
from dtsemnet.tree.view import ReadableView
from dtsemnet.tree.wording import MOST_DIGITS, Digits, Question, Sum, write_question

__all__ = ["FEWEST_DIGITS", "aligned", "choose_digits", "fold_small", "spread", "Folded"]


FEWEST_DIGITS = 3
_FEWEST_OF_A_TERM = 2  # one digit would write 0.95 as 1


class Folded(NamedTuple):
    """A linear function without its small terms."""

    weight: Floats
    bias: float
    n_folded: int


def choose_digits(
    view: ReadableView, weight: Floats, bias: float, rows: Floats, yes: Bools, shown: list[int] | None
) -> tuple[Question, int]:
    """Write a split with the fewest digits with which the rows answer as told, or with all that a double has."""
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        found = write_question(view, weight, bias, aligned(weight, bias, rows, digits), shown)
        if np.array_equal(found(rows), yes):
            break
    return found, digits


def aligned(weight: Floats, bias: float, rows: Floats, digits: int) -> Digits:
    """Digits of each weight and the bias, such that all terms are rounded to the same place of the sum.

    Examples
    --------
    >>> aligned(np.array([0.5, 0.5]), 1234.5, np.array([[100.0, 1.0]]), 3)
    Digits(weight=array([3, 2]), bias=5, threshold=3)
    """
    reach = np.abs(rows).max(axis=0, initial=0.0)
    with np.errstate(divide="ignore"):  # a term that never moves the score has order -inf
        order = np.floor(np.log10(np.abs(weight)) + np.log10(reach))
        constant = np.floor(np.log10(abs(bias)))
    top = order.max(initial=-np.inf)
    if digits >= MOST_DIGITS or not np.isfinite(top):  # all digits, or no rows to align to
        return Digits.same(len(weight), digits)
    wanted = np.clip(digits + order - top, _FEWEST_OF_A_TERM, MOST_DIGITS).astype(np.int64)
    return Digits(wanted, int(np.clip(digits + constant - top, _FEWEST_OF_A_TERM, MOST_DIGITS)), digits)


def spread(weight: Floats, rows: Floats | None) -> Floats:
    """How much each term moves the sum: its standard deviation over the rows, its weight where there are none."""
    if rows is None or len(rows) < 2:
        return np.abs(weight)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(weight) * rows.std(axis=0)
    return np.where(np.isfinite(size), size, np.inf)


def fold_small(weight: Floats, bias: float, rows: Floats, fold: float) -> Folded:
    """Leave out terms whose spread is below a share of the sum's spread, never the largest.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [10.0, 1.1]])
    >>> fold_small(np.array([1.0, 2.0]), -5.0, rows, 0.1)
    Folded(weight=array([1., 0.]), bias=-2.9, n_folded=1)
    """
    if fold == 0 or len(rows) < 2:
        return Folded(weight, bias, 0)
    size = spread(weight, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        typical = float(Sum(weight, bias, (), 0)(rows).std())
        small = (size < fold * typical) & (weight != 0) & (size < size.max(initial=0.0))
        moved = bias + float(weight[small] @ rows[:, small].mean(axis=0))
    if not np.isfinite(moved):  # numbers too large to speak of a spread
        return Folded(weight, bias, 0)
    return Folded(np.where(small, 0.0, weight), moved, int(small.sum()))
