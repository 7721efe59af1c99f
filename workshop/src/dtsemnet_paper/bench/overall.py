"""Methods over all sets of a table: means, ranks, and wins against the first method.

Everything is taken over the sets that all methods have, on the seeds of a set that all have. A
mean is that of the means of the sets; of seconds it is the geometric mean, so that the largest
set does not decide alone. A set counts as a win for a method if it is better than the first
method by more than the table's ``tie``: in percent of accuracy, or for numbers in percent of R2,
since the errors of different sets have different units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dtsemnet_paper.bench.statistics import count_wins
from dtsemnet_paper.bench.summary import Column, Summary

__all__ = ["Overall", "overall"]


class Overall(NamedTuple):
    """A method over all sets."""

    means: Mapping[str, float]
    """By quantity; one that the method has on no set is left out."""
    rank: float
    wins: int
    """Sets on which it is better than the first method."""
    ties: int
    losses: int


def overall(summary: Summary) -> dict[Column, Overall]:
    """Compare the methods of a table that names ``means``; empty if it does not, or has fewer than two methods."""
    if not summary.table.means or summary.comparison is None:
        return {}
    first, points = next(iter(summary.distance)), {column: _points(summary, column) for column in summary.distance}
    return {
        column: Overall(
            {q: mean for q in summary.table.means if (mean := _mean(summary, column, q)) is not None},
            summary.comparison.ranks[column.label],
            *count_wins(points[column], points[first], summary.table.tie),
        )
        for column in summary.distance
    }


def _values(summary: Summary, column: Column, quantity: str) -> list[float]:
    figures = (summary.paired[name, column] for name in summary.shared)
    return [found[quantity].mean for found in figures if quantity in found]


def _points(summary: Summary, column: Column) -> list[float]:
    """Scores in percent, larger is better."""
    if summary.table.larger_is_better:
        return _values(summary, column, "test")
    return [100 * value for value in _values(summary, column, "r2")]


def _mean(summary: Summary, column: Column, quantity: str) -> float | None:
    values = _values(summary, column, quantity)
    if not values:
        return None
    return float(np.exp(np.mean(np.log(values))) if quantity == "seconds" else np.mean(values))
