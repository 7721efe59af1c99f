"""A column of a domain as the model's encoder reads it: which values lie in it, and which features they give.

The values of a column form a few *alternatives*: an interval of numbers, a missing value, one category each, any value
that the model does not know. In features each alternative is a box of its own: a category is a point of zeros and a
one, a missing number is its fill with the mark beside it set. A row lies in the domain if each of its values lies in
the reading of its column and the linear constraints hold; there is no other test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.tree import Column
from dtsemnet.tree._validate import Scalar
from dtsemnet.tree.encoder import is_missing

__all__ = ["Alternative", "Reading", "is_absent"]


class Alternative(NamedTuple):
    """A box of the features of one column."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    is_number: bool = False
    """Whether the value is a number of the column's interval; else it is ``value``."""
    is_whole: bool = False
    """Whether that number is an integer."""
    value: Any = None


@dataclass(frozen=True)
class Reading:
    """Values that a domain allows in one column."""

    column: Column
    low: float = np.nan
    """Ends of the numbers, if the column has numbers."""
    high: float = np.nan
    is_integer: bool = False
    present: bool = True
    """Whether numbers may occur; if not, the column is always missing."""
    categories: tuple[Scalar, ...] = ()
    """Categories of the model that may occur."""
    may_miss: bool = False
    may_be_unknown: bool = False
    """Whether values may occur that are no categories of the model."""
    unknown: Any = None
    """One of those."""

    @property
    def has_numbers(self) -> bool:
        """Whether the model reads numbers."""
        return self.column.categories is None

    @property
    def is_interval(self) -> bool:
        """Whether its values are all numbers between two ends."""
        return self.column.categories is None and self.present and not (self.is_integer or self.may_miss)

    def contains(self, value: Any) -> bool:
        """Whether a value may occur."""
        column = self.column
        if is_absent(value):
            if not column.fills_missing:
                return self.may_miss
            value = column.fill
        if self.may_miss and column.fills_missing and value == column.fill:
            return True  # to the model a missing value and its fill are the same
        if column.categories is not None:
            is_known = value in column.categories
            return value in self.categories if is_known else self.may_be_unknown
        try:
            number = float(value)
        except (TypeError, ValueError):
            return False
        return self.present and self.low <= number <= self.high and (number.is_integer() or not self.is_integer)

    def number(self, value: Any) -> float:
        """The number that linear constraints see; 0 for a category."""
        if not self.has_numbers:
            return 0.0
        return float(self.column.fill) if is_absent(value) else float(value)

    @property
    def largest(self) -> float:
        """The largest size of a number of the column."""
        ends = [abs(self.low), abs(self.high)] if self.present else []
        return max([*ends, abs(self.column.fill)] if self.may_miss else ends)

    def alternatives(self) -> list[Alternative]:
        """The values as boxes of features."""
        return self._of_numbers() if self.has_numbers else self._of_categories()

    def held_at(self, value: Any) -> Reading:
        """The same column with one value alone."""
        nothing = replace(self, categories=(), may_miss=False, may_be_unknown=False)
        column = self.column
        if is_absent(value):
            if not column.fills_missing:
                return replace(nothing, present=False, may_miss=True)
            value = column.fill
        if column.categories is None:
            return replace(nothing, low=float(value), high=float(value), present=True, is_integer=False)
        if value in column.categories:
            return replace(nothing, categories=(value,))
        return replace(nothing, may_be_unknown=True, unknown=value)

    def kept_present(self) -> Reading:
        """The same column without missing values."""
        return replace(self, may_miss=False) if self.may_miss else self

    def _of_numbers(self) -> list[Alternative]:
        column, found = self.column, []
        mark = (0.0,) if column.has_indicator else ()
        ends = [column.map(end) for end in (self.low, self.high)] if self.present else []
        if self.present:
            found.append(Alternative((min(ends), *mark), (max(ends), *mark), True, self.is_integer))
        fill = column.map(column.fill)
        if self.may_miss and column.has_indicator:
            found.append(Alternative((fill, 1.0), (fill, 1.0), value=np.nan))
        elif self.may_miss:
            inside = bool(ends) and min(ends) <= fill <= max(ends) and (fill.is_integer() or not self.is_integer)
            found += [] if inside else [Alternative((fill,), (fill,), value=np.nan)]
        return found

    def _of_categories(self) -> list[Alternative]:
        column = self.column
        assert column.categories is not None
        n = len(column.categories) + column.has_indicator
        values: dict[int, Any] = {column.categories.index(value): value for value in self.categories}
        if self.may_be_unknown:
            values[-1] = self.unknown
        if self.may_miss:
            code = column.fill_code if column.fills_missing else n - 1 if column.has_indicator else -1
            values.setdefault(code, column.fill if column.fills_missing else None)
        points = [tuple(float(k == code) for k in range(n)) for code in values]
        return [Alternative(point, point, value=value) for point, value in zip(points, values.values())]


def is_absent(value: Any) -> bool:
    """Whether one value is missing."""
    if type(value) is float:
        return value != value
    return bool(is_missing(np.array([value, None], dtype=object))[0])
