"""A domain as the tree sees it: a box of features, rows, and which features are integers.

An encoder maps each column by itself and never turns the order of its numbers around by
rounding, so the box of a feature has the images of the column's ends as its ends, exactly.
Categories and missing marks are features that are 0 or 1. What is proved for the box of
features therefore holds for all inputs of the domain; a witness is turned back into a row of
columns, and counts only if that row lies in the domain and the model itself sends it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Column, Model
from dtsemnet.verify.proof.certificates import Farkas, exact_dot
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.linear_programs import interior

__all__ = ["Space", "bind", "column_number"]

_UNIT = 2.0**-53


class Mark(NamedTuple):
    """What a missing mark does to the number beside it."""

    number: int
    fill: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Space:
    """A domain in the features of a model."""

    model: Model
    domain: Domain
    lower: Floats
    upper: Floats
    rows: Floats
    """Constraints ``rows @ z <= bound`` of the features."""
    bound: Floats
    soft: Bools
    """Rows that come from the domain's constraints; the others say that one category holds."""
    integer: Bools
    """Features that are integers: columns said to be, categories and missing marks."""
    marks: dict[int, Mark]
    first: tuple[int, ...]
    """First feature of each column."""
    strange: dict[int, Any]
    """A value that stands for unknown or missing categories, by column where such may occur."""
    column_lower: Floats
    column_upper: Floats

    def row(self, z: Floats) -> Array:
        """Turn features into a row of columns, to rounding."""
        columns = self.model.encoder.columns
        plain = all(column.categories is None for column in columns)
        row = np.empty(len(columns), dtype=np.float64 if plain else object)
        for j, column in enumerate(columns):
            place = self.first[j]
            if column.categories is None:
                row[j] = self._number(j, column, float(z[place]))
                if column.missing and z[place + 1] > 0.5:
                    row[j] = np.nan
                continue
            part = z[place : place + len(column.categories)]
            best = int(np.argmax(part)) if len(part) else 0
            known = len(part) and part[best] > 0.5
            lost = column.missing and z[place + len(part)] > 0.5
            row[j] = column.categories[best] if known else None if lost else self.strange.get(j)
        return row

    def _number(self, j: int, column: Column, z: float) -> float:
        x = z if column.is_identity or column.scale == 0 else z / column.scale + column.center
        return min(max(x, float(self.column_lower[j])), float(self.column_upper[j]))

    def holds(self, row: Array) -> bool:
        """Check in exact arithmetic that a row of columns lies in the domain."""
        numbers = np.zeros(len(row))
        for j, column in enumerate(self.model.encoder.columns):
            if column.categories is not None:
                continue  # made from the categories allowed
            x = np.nan if row[j] is None else float(row[j])
            if np.isnan(x):
                if j not in _numbers(self.model, self.domain.missing):
                    return False
                continue
            if not self.column_lower[j] <= x <= self.column_upper[j]:
                return False
            numbers[j] = x
        for name in self.domain.integer:
            if not float(numbers[column_number(self.model, name)]).is_integer():
                return False
        if self.domain.A is None or self.domain.b is None:
            return True
        pairs = zip(self.domain.A, self.domain.b.tolist())
        return all(exact_dot(a, numbers) <= Fraction(b) for a, b in pairs)

    def narrow(self, lower: Floats, upper: Floats, feature: int, low: float, high: float) -> tuple[Floats, Floats]:
        """Cut a box at one feature; a missing mark that is settled settles the number beside it."""
        lower, upper = lower.copy(), upper.copy()
        lower[feature], upper[feature] = low, high
        mark = self.marks.get(feature)
        if mark is not None and low == high:
            ends = (mark.fill, mark.fill) if low == 1 else (mark.low, mark.high)
            lower[mark.number] = max(lower[mark.number], ends[0])
            upper[mark.number] = min(upper[mark.number], ends[1])
        return lower, upper


def column_number(model: Model, name: Name) -> int:
    """Find a column by name or number."""
    names = [column.name for column in model.encoder.columns]
    if isinstance(name, str):
        if name not in names:
            raise ValueError(f"there is no column {name!r}; the model reads {', '.join(names[:5])}...")
        return names.index(name)
    if not 0 <= name < len(names):
        raise ValueError(f"columns are numbered from 0 to {len(names) - 1}, got {name}.")
    return int(name)


def bind(model: Model, domain: Domain) -> Space:
    """Read a domain for a model; refuse one that is open, empty or of another width."""
    if not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain, got {type(domain).__name__}; write Domain(lower, upper).")
    low, high = _ends(model, domain)
    columns, d = model.encoder.columns, model.tree.n_features
    parts: dict[str, Any] = {"lower": np.zeros(d), "upper": np.ones(d), "integer": np.zeros(d, dtype=bool)}
    marks: dict[int, Mark] = {}
    strange: dict[int, Any] = {}
    groups: list[tuple[list[int], bool]] = []
    first, place = [], 0
    integers, may_miss = _numbers(model, domain.integer), _numbers(model, domain.missing)
    for j, column in enumerate(columns):
        first.append(place)
        if column.categories is None:
            _bind_number(column, place, low[j], high[j], j in may_miss, j in integers, parts, marks)
        else:
            _bind_categories(column, j, place, _allowed(model, domain, j), parts, groups, strange)
        place += len(column.feature_names)
    rows, bound = _feature_rows(model, domain, low, high, first)
    n_soft = len(rows)
    for members, exact in groups:
        row = np.zeros(d)
        row[members] = 1.0
        rows += [row, -row] if exact else [row]
        bound += [1.0, -1.0] if exact else [1.0]
    space = Space(
        model, domain, parts["lower"], parts["upper"], np.array(rows).reshape(-1, d), np.array(bound),
        np.arange(len(rows)) < n_soft, parts["integer"], marks, tuple(first), strange, low, high,
    )  # fmt: skip
    _refuse_empty(space)
    return space


def _numbers(model: Model, names: tuple[Name, ...]) -> set[int]:
    return {column_number(model, name) for name in names}


def _ends(model: Model, domain: Domain) -> tuple[Floats, Floats]:
    """Ends of all columns, after those that are fixed."""
    n_columns = model.encoder.n_columns
    width = domain.A.shape[1] if domain.A is not None else domain.n_columns
    if width is not None and width != n_columns:
        raise ValueError(f"domain has {width} columns, but the model reads {n_columns}.")
    low, high = (np.array(np.broadcast_to(end, (n_columns,))) for end in (domain.lower, domain.upper))
    for name, (least, most) in domain.ranges.items():
        j = column_number(model, name)
        if model.encoder.columns[j].categories is not None:
            raise ValueError(f"ranges names column {name!r}, which has categories; restrict it by categories or fixed.")
        low[j], high[j] = max(low[j], least), min(high[j], most)
        if low[j] > high[j]:
            raise ValueError(f"ranges leaves nothing of column {name!r}: it would go from {low[j]} to {high[j]}.")
    for name, value in domain.fixed.items():
        j = column_number(model, name)
        if model.encoder.columns[j].categories is None:
            number = float(value)
            if not low[j] <= number <= high[j]:
                raise ValueError(f"fixed puts column {name!r} at {number}, outside its box [{low[j]}, {high[j]}].")
            low[j] = high[j] = number
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None and not np.isfinite([low[j], high[j]]).all():
            raise ValueError(
                f"domain is open in column {column.name!r} ([{low[j]}, {high[j]}]), and a proof needs a bound there; "
                f"give lower and upper, or take Domain.from_data(X, margin=1.0)."
            )
    return low, high


def _bind_number(
    column: Column, place: int, low: float, high: float, may_miss: bool, integer: bool,
    parts: dict[str, Any], marks: dict[int, Mark],
) -> None:  # fmt: skip
    if integer:
        low, high = float(np.ceil(low)), float(np.floor(high))
        if low > high:
            raise ValueError(f"domain holds no integer in column {column.name!r}.")
        if not column.is_affine or not column.is_identity:
            raise ValueError(
                f"integer names column {column.name!r}, which is mapped; only plain columns may be integers."
            )
    ends = sorted(_image(column, end) for end in (low, high))
    parts["integer"][place] = integer
    if may_miss:
        if column.missing is None:
            raise ValueError(f"missing names column {column.name!r}, but the model refuses missing values there.")
        fill = _image(column, column.fill)
        marks[place + 1] = Mark(place, fill, *ends)
        parts["integer"][place + 1] = True
        ends = [min(ends[0], fill), max(ends[1], fill)]
    elif column.missing is not None:
        parts["upper"][place + 1] = 0.0
    parts["lower"][place], parts["upper"][place] = ends


def _image(column: Column, x: float) -> float:
    """The feature of a number, each operation rounded as the encoder does."""
    z = (x - column.center) * column.scale
    z = z if column.lower is None else max(z, column.lower)
    return z if column.upper is None else min(z, column.upper)


def _allowed(model: Model, domain: Domain, j: int) -> tuple[Any, ...]:
    column = model.encoder.columns[j]
    assert column.categories is not None
    given: tuple[Any, ...] = column.categories
    for name, values in domain.categories.items():
        given = values if column_number(model, name) == j else given
    for name, value in domain.fixed.items():
        given = (value,) if column_number(model, name) == j else given
    if not given:
        raise ValueError(f"categories leaves no value for column {column.name!r}.")
    return given


def _bind_categories(
    column: Column, j: int, place: int, allowed: tuple[Any, ...], parts: dict[str, Any],
    groups: list[tuple[list[int], bool]], strange: dict[int, Any],
) -> None:  # fmt: skip
    assert column.categories is not None
    members = [place + k for k, value in enumerate(column.categories) if value in allowed]
    width = len(column.feature_names)
    if None in allowed and column.missing is not None:
        members.append(place + width - 1)
    others = [
        value for value in allowed if value not in column.categories and (value is not None or not column.missing)
    ]
    if others:
        strange[j] = others[0]
    parts["upper"][place : place + width] = 0.0
    parts["upper"][members] = 1.0
    parts["integer"][members] = True
    if len(members) == 1 and not others:
        parts["lower"][members] = 1.0
    elif members:
        groups.append((members, not others))


def _feature_rows(
    model: Model, domain: Domain, low: Floats, high: Floats, first: list[int]
) -> tuple[list[Floats], list[float]]:
    """Write constraints of columns as constraints of features, a little wider where a column is mapped."""
    rows: list[Floats] = []
    bound: list[float] = []
    if domain.A is None or domain.b is None:
        return rows, bound
    for a, b in zip(domain.A, domain.b.tolist()):
        row, slack, size = np.zeros(model.tree.n_features), 0.0, abs(b)
        for j in np.flatnonzero(a).tolist():
            column = model.encoder.columns[j]
            if not column.is_affine or column.scale == 0:
                raise ValueError(f"A constrains column {column.name!r}, which is no plain number; leave it out of A.")
            row[first[j]] = a[j] / column.scale
            if not column.is_identity:
                b -= a[j] * column.center
                most = max(abs(low[j]), abs(high[j])) + abs(column.center)
                size += abs(a[j]) * most
                slack = 16 * _UNIT * (len(a) + 1)
        rows.append(row)
        bound.append(b + slack * size)
    return rows, bound


def _refuse_empty(space: Space) -> None:
    if not len(space.rows):
        return
    found = interior(space.rows, space.bound, space.lower, space.upper, np.zeros(len(space.rows), dtype=bool))
    if found is not None and found.margin < 0:
        proof = Farkas(space.rows, space.bound, found.multiplier, space.lower, space.upper)
        if proof.check():
            raise ValueError(
                "domain is empty: its constraints contradict each other or its box; rows of A with a part in it: "
                f"{np.flatnonzero(found.multiplier).tolist()}."
            )
