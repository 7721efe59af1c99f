"""A domain as the tree sees it: a box of features, linear rows, and which features are integers.

An encoder maps each column by itself and never reverses the order of its numbers by rounding, so the
box of a feature has the images of the column's ends as its ends, exactly. Categories and missing
marks are features that are 0 or 1. A column that only fills in missing values reads one as its fill,
so there a missing value is that point of the column. What is proved for the box of features therefore
holds for all inputs of the domain. A point of features is turned back into a row of columns, and
counts as a witness only if that row lies in the domain and the model itself sends it where it should
go.

:func:`bind` is the one place where a domain meets a model, and :meth:`EncodedDomain.contains` the
one place that judges whether a row lies in the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Column, Model
from dtsemnet.tree.encoder import is_missing
from dtsemnet.verify.proof.certificates import Polytope, exact_dot
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.linear_programs import Solution, contradiction, interior

__all__ = [
    "EncodedDomain", "MissingMark", "bind", "bind_around", "column_number", "deepest_point", "row_numbers",
    "points_inwards", "read_row", "roundings",
]  # fmt: skip

_UNIT = 2.0**-53
_Row = tuple[Floats, float]
"""A constraint of the features: coefficients and bound."""


class MissingMark(NamedTuple):
    """What a feature that marks missing values does to the number beside it."""

    number: int
    """Feature of the number."""
    fill: float
    """Value of that feature if the number is missing."""
    low: float
    """Ends of that feature if the number is present."""
    high: float


@dataclass(frozen=True, eq=False)
class EncodedDomain:
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
    """Features that are integers: columns of integers, categories and missing marks."""
    marks: dict[int, MissingMark]
    """Features that mark missing values, if values may be missing."""
    unknown: dict[int, Any]
    """By column: a value that is no category of the model, if such values (or missing ones) may occur."""
    column_lower: Floats
    column_upper: Floats

    def contains(self, row: Array) -> bool:
        """Check in exact arithmetic that a row of columns lies in the domain; categories are not checked."""
        numbers = np.zeros(len(row))
        for j, column in enumerate(self.model.encoder.columns):
            if column.categories is not None:
                continue  # rows are made from the categories allowed; `hold` looks at those of users
            x = np.nan if row[j] is None else float(row[j])
            x = column.fill if np.isnan(x) and column.fills_missing else x
            if self.column_lower[j] <= x <= self.column_upper[j]:
                numbers[j] = x
            elif not (np.isnan(x) and j in self.columns(self.domain.missing)):
                return False
        if not all(float(numbers[j]).is_integer() for j in self.columns(self.domain.integer)):
            return False
        if self.domain.A is None or self.domain.b is None:
            return True
        pairs = zip(self.domain.A, self.domain.b.tolist())
        return all(exact_dot(a, numbers) <= Fraction(b) for a, b in pairs)

    def columns(self, names: tuple[Name, ...]) -> set[int]:
        """The numbers of columns."""
        return {column_number(self.model, name) for name in names}

    def leaf_of(self, row: Array) -> int:
        """The leaf that the model sends a row to."""
        return int(self.model.apply(row[None])[0])

    def encode(self, row: Array) -> Floats:
        """The features of a row."""
        return np.asarray(self.model.transform(row[None])[0], dtype=np.float64)

    def row(self, z: Floats) -> Array:
        """Turn features into a row of columns, up to rounding."""
        encoder = self.model.encoder
        if encoder.is_identity:
            return np.clip(z, self.column_lower, self.column_upper)
        row = np.empty(encoder.n_columns, dtype=np.float64 if encoder.is_numeric else object)
        for j, (column, part) in enumerate(zip(encoder.columns, encoder.features_of_column)):
            values = z[part]
            is_absent = column.has_indicator and values[-1] > 0.5
            if column.categories is None:
                z_j = float(values[0])
                x = z_j if column.is_identity or column.scale == 0 else z_j / column.scale + column.center
                row[j] = np.nan if is_absent else float(min(max(x, self.column_lower[j]), self.column_upper[j]))
                continue
            present = np.flatnonzero(values[: len(column.categories)] > 0.5)
            if len(present):
                row[j] = column.categories[present[0]]
            else:
                row[j] = None if is_absent else self.unknown.get(j)
        return row

    def round_integers(self, z: Floats, lower: Floats, upper: Floats) -> Floats:
        """Round the integers of points, and clip them to a box."""
        return np.clip(np.where(self.integer, np.round(z), z), lower, upper)

    def fill_missing(self, z: Floats) -> Floats:
        """Put the numbers of points at their fill if a mark says missing, and between their ends if not."""
        z = z.copy()
        for mark, (number, fill, low, high) in self.marks.items():
            z[..., number] = np.where(z[..., mark] > 0.5, fill, np.clip(z[..., number], low, high))
        return z

    def find_row(self, points: Iterable[Floats], polytope: Polytope, accepts: Callable[[Array], bool]) -> Array | None:
        """Turn points of a box into rows until one lies in the domain and the model accepts it."""
        rows = (self.row(self.round_integers(point, polytope.lower, polytope.upper)) for point in points)
        return next((row for row in rows if self.contains(row) and accepts(row)), None)

    def find_row_near(
        self, points: Iterable[Floats], polytope: Polytope, accepts: Callable[[Array], bool], known: Floats | None
    ) -> Array | None:
        """Look for such a row on the way from points on the edge of a polytope to its inside, or to a known point."""
        inside = polytope._replace(soft=None)
        ends = [inside if len(inside.rows) else None, *([] if known is None else [known])]
        ways = (points_inwards(point, end) for point in points for end in ends)
        return self.find_row(chain.from_iterable(ways), polytope, accepts)

    def halve(self, polytope: Polytope, solution: Solution | None) -> list[Polytope]:
        """Halve a box at the integer feature that is farthest from whole; no parts if all integers are settled."""
        lower, upper = polytope.lower, polytope.upper
        open_ = np.flatnonzero(self.integer & (upper > lower))
        if not len(open_):
            return []
        middle = (lower + upper) / 2
        z = middle[open_] if solution is None else solution.point[open_]
        away = np.abs(z - np.round(z))
        k = int(np.argmax(away))
        j = int(open_[k])
        at = float(np.floor(z[k])) if away[k] > 1e-6 else float(np.floor(middle[j]))
        at = min(max(at, float(lower[j])), float(upper[j]) - 1)
        parts = self._cut(polytope, j, lower[j], at), self._cut(polytope, j, at + 1, upper[j])
        return [part for part in parts if (part.lower <= part.upper).all()]

    def _cut(self, polytope: Polytope, feature: int, low: float, high: float) -> Polytope:
        """Cut a box at one feature; a missing mark that is settled settles the number beside it."""
        lower, upper = polytope.lower.copy(), polytope.upper.copy()
        lower[feature], upper[feature] = low, high
        mark = self.marks.get(feature)
        if mark is not None and low == high:
            least, most = (mark.fill, mark.fill) if low == 1 else (mark.low, mark.high)
            lower[mark.number], upper[mark.number] = max(lower[mark.number], least), min(upper[mark.number], most)
        return polytope._replace(lower=lower, upper=upper)

    def is_whole(self, z: Floats) -> bool:
        """Whether integers are whole at a point, and numbers agree with the missing marks beside them."""
        return bool((np.abs(z - np.round(z))[self.integer] < 1e-6).all()) and self.agrees_with_marks(z, 1e-6)

    def agrees_with_marks(self, z: Sequence[Any] | Floats, slack: float = 0.0) -> bool:
        """Whether numbers are at their fill where a mark says missing, and between their ends if not."""
        for index, (number, fill, low, high) in self.marks.items():
            least, most = (fill, fill) if z[index] > 0.5 else (low, high)
            if not least - slack <= z[number] <= most + slack:
                return False
        return True

    def hold(self, row: Array, columns: frozenset[int] = frozenset(), *, categories: bool = True) -> EncodedDomain:
        """Hold columns at a row's values: those named, those missing in the row, and by default categories."""
        z = self.encode(row)
        if not (self.contains(row) and (self.lower <= z).all() and (z <= self.upper).all()):
            raise ValueError(
                "x must lie in the domain; widen the domain, or take Domain.from_data over rows that hold x."
            )
        lower, upper = self.lower.copy(), self.upper.copy()
        encoder, absent = self.model.encoder, is_missing(row.astype(object))
        for j, (column, part) in enumerate(zip(encoder.columns, encoder.features_of_column)):
            number, mark = part.start, part.stop - 1
            is_number = column.categories is None
            if j in columns or (absent[j] if is_number else categories):
                lower[part] = upper[part] = z[part]
            elif is_number and column.has_indicator:
                lower[mark] = upper[mark] = 0.0
                if mark in self.marks:
                    lower[number], upper[number] = self.marks[mark].low, self.marks[mark].high
        return replace(self, lower=lower, upper=upper)


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


def bind(model: Model, domain: Domain) -> EncodedDomain:
    """Encode a domain for a model; refuse one that is open, empty or of another width."""
    if not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain, got {type(domain).__name__}; write Domain(lower, upper).")
    d, nothing = model.tree.n_features, np.zeros(0)
    encoded = EncodedDomain(
        model, domain, np.zeros(d), np.ones(d), nothing, nothing, nothing > 0, np.zeros(d, dtype=bool), {}, {},
        *_column_ends(model, domain),
    )  # fmt: skip
    integers, may_miss = (encoded.columns(names) for names in (domain.integer, domain.missing))
    one_category: list[_Row] = []
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None:
            _bind_number(encoded, j, is_integer=j in integers, may_miss=j in may_miss)
        else:
            one_category += _bind_categories(encoded, j)
    soft = _encoded_constraints(encoded)
    rows, bound = (np.array([pair[k] for pair in soft + one_category]) for k in (0, 1))
    encoded = replace(encoded, rows=rows.reshape(-1, d), bound=bound, soft=np.arange(len(rows)) < len(soft))
    proof = contradiction(Polytope(encoded.rows, encoded.bound, encoded.lower, encoded.upper))
    if proof is not None and proof.margin < 0:
        raise ValueError(
            "domain is empty: its constraints contradict each other or its box; these rows of A take part: "
            f"{np.flatnonzero(proof.multiplier).tolist()}."
        )
    return encoded


def bind_around(model: Model, row: Array, reach: float) -> EncodedDomain:
    """Encode the cube around a row, rounded outwards; categories and missing values are held."""
    columns = model.encoder.columns
    numbers = row_numbers(model, row)
    lower, upper = np.nextafter(numbers - reach, -np.inf), np.nextafter(numbers + reach, np.inf)
    categories: dict[Name, Any] = {j: (row[j],) for j, column in enumerate(columns) if column.categories is not None}
    missing = [j for j, column in enumerate(columns) if column.has_indicator and column.categories is None]
    return bind(model, Domain(lower, upper, categories=categories, missing=missing)).hold(row)


def read_row(model: Model, x: Any) -> Array:
    """Read one row of columns: an array of numbers, or of objects if there are categories."""
    row = model.encoder.read_row(x)[0]
    return row.astype(np.float64) if model.encoder.is_numeric else row


def row_numbers(model: Model, row: Array) -> Floats:
    """The numbers of a row; 0 for categories, the fill for missing values."""
    numbers = np.zeros(len(row))
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None:
            numbers[j] = column.fill if row[j] is None or np.isnan(float(row[j])) else row[j]
    return numbers


def roundings(point: Floats) -> Iterator[Floats]:
    """The point, then the same rounded: regions without an inside hold round numbers or nothing."""
    yield point
    for bits in (20, 10, 6, 3):
        with np.errstate(over="ignore"):
            rounded = np.round(point * 2.0**bits) / 2.0**bits
        if np.isfinite(rounded).all():
            yield rounded


def points_inwards(point: Floats, inside: Polytope | Floats | None, start: Floats | None = None) -> Iterator[Floats]:
    """Points from one on the edge of a region to one inside it, then round numbers near the edge.

    With ``start``, points a little farther along the way from there come first: they change no other feature. Of a
    polytope the deepest point is found only when its turn comes.
    """
    yield point
    if start is not None:
        for share in 10.0 ** np.arange(-15.0, -9.0):
            yield point + share * (point - start)
    if isinstance(inside, Polytope):
        inside = deepest_point(inside)
    if inside is not None:
        for share in 10.0 ** np.arange(-14.0, 1.0):
            yield point + share * (inside - point)
    yield from roundings(point)


def deepest_point(polytope: Polytope) -> Floats | None:
    """The point that lies farthest inside the soft rows."""
    solution = interior(polytope)
    return None if solution is None else solution.point


def _column_ends(model: Model, domain: Domain) -> tuple[Floats, Floats]:
    """Ends of all columns, after ranges and fixed values."""
    columns, n_columns = model.encoder.columns, model.encoder.n_columns
    width = domain.A.shape[1] if domain.A is not None else domain.n_columns
    if width is not None and width != n_columns:
        raise ValueError(f"domain has {width} columns, but the model reads {n_columns}.")
    low, high = (np.array(np.broadcast_to(end, (n_columns,))) for end in (domain.lower, domain.upper))
    for name, (least, most) in domain.ranges.items():
        j = column_number(model, name)
        if columns[j].categories is not None:
            raise ValueError(f"ranges names column {name!r}, which has categories; restrict it by categories or fixed.")
        low[j], high[j] = max(low[j], least), min(high[j], most)
        if low[j] > high[j]:
            raise ValueError(f"ranges leaves nothing of column {name!r}: it would go from {low[j]} to {high[j]}.")
    for name, value in domain.fixed.items():
        j = column_number(model, name)
        if columns[j].categories is None:
            number = float(value)
            if not low[j] <= number <= high[j]:
                raise ValueError(f"fixed puts column {name!r} at {number}, outside its box [{low[j]}, {high[j]}].")
            low[j] = high[j] = number
    for j, column in enumerate(columns):
        if column.categories is None and not np.isfinite([low[j], high[j]]).all():
            raise ValueError(
                f"domain is open in column {column.name!r} ([{low[j]}, {high[j]}]), and a proof needs a bound there; "
                f"give lower and upper, or take Domain.from_data(X, margin=1.0)."
            )
    return low, high


def _bind_number(encoded: EncodedDomain, j: int, *, is_integer: bool, may_miss: bool) -> None:
    """Set the ends of a column of numbers, feature by feature."""
    column, part = encoded.model.encoder.columns[j], encoded.model.encoder.features_of_column[j]
    low, high = encoded.column_lower[j], encoded.column_upper[j]
    if is_integer:
        low, high = float(np.ceil(low)), float(np.floor(high))
        if low > high:
            raise ValueError(f"domain holds no integer in column {column.name!r}.")
        if not column.is_identity:
            raise ValueError(
                f"integer names column {column.name!r}, which is mapped; only plain columns may be integers."
            )
    number, mark = part.start, part.stop - 1
    least, most = (low, high) if column.is_identity else sorted(column.map(end) for end in (low, high))
    encoded.integer[number] = is_integer
    if may_miss and column.missing is None:
        raise ValueError(f"missing names column {column.name!r}, but the model refuses missing values there.")
    if may_miss and column.has_indicator:
        fill = column.map(column.fill)
        encoded.marks[mark] = MissingMark(number, fill, least, most)
        encoded.integer[mark] = True
        least, most = min(least, fill), max(most, fill)
    elif column.has_indicator:
        encoded.upper[mark] = 0.0
    encoded.lower[number], encoded.upper[number] = least, most


def _bind_categories(encoded: EncodedDomain, j: int) -> list[_Row]:
    """Set the features of a column of categories; the rows say that at most one is 1, and one is if all are known."""
    model, domain = encoded.model, encoded.domain
    column, part = model.encoder.columns[j], model.encoder.features_of_column[j]
    assert column.categories is not None
    given = {column_number(model, name): values for name, values in domain.categories.items()}
    given |= {column_number(model, name): (value,) for name, value in domain.fixed.items()}
    allowed = [_read_category(column, value) for value in given.get(j, column.categories)]
    if not allowed:
        raise ValueError(f"categories leaves no value for column {column.name!r}.")
    members = [part.start + k for k, value in enumerate(column.categories) if value in allowed]
    if None in allowed and column.has_indicator:
        members.append(part.stop - 1)
    mapped = (*column.categories, None) if column.has_indicator else column.categories
    unknown = [value for value in allowed if value not in mapped]
    if unknown:
        encoded.unknown[j] = unknown[0]
    encoded.upper[part] = 0.0
    encoded.upper[members] = 1.0
    encoded.integer[members] = True
    if len(members) == 1 and not unknown:
        encoded.lower[members] = 1.0
        return []
    if not members:
        return []
    row: Floats = np.zeros(len(encoded.lower))
    row[members] = 1.0
    return [(row, 1.0)] if unknown else [(row, 1.0), (-row, -1.0)]


def _read_category(column: Column, value: Any) -> Any:
    """The value that the model reads for one of a column of categories: None if it is missing and not filled in."""
    if not is_missing(np.array([value, None], dtype=object))[0]:
        return value
    return column.fill if column.fills_missing else None


def _encoded_constraints(encoded: EncodedDomain) -> list[_Row]:
    """Write constraints of columns as constraints of features, a little wider if a column is mapped."""
    model, domain = encoded.model, encoded.domain
    constraints: list[_Row] = []
    if domain.A is None or domain.b is None:
        return constraints
    for a, b in zip(domain.A, domain.b.tolist()):
        row, slack, size = np.zeros(model.tree.n_features), 0.0, abs(b)
        for j in np.flatnonzero(a).tolist():
            column = model.encoder.columns[j]
            if not column.is_affine or column.scale == 0:
                raise ValueError(f"A constrains column {column.name!r}, which is no plain number; leave it out of A.")
            row[model.encoder.features_of_column[j].start] = a[j] / column.scale
            if not column.is_identity:
                b -= a[j] * column.center
                most = max(abs(encoded.column_lower[j]), abs(encoded.column_upper[j])) + abs(column.center)
                size += abs(a[j]) * most
                slack = 16 * _UNIT * (len(a) + 1)
        constraints.append((row, b + slack * size))
    return constraints
