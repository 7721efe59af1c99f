"""A domain as the tree sees it: a box of features, linear rows, and columns that have alternatives.

An encoder maps each column by itself and never reverses the order of its numbers by rounding, so the
box of a feature has the images of the column's ends as its ends, exactly. Integers, categories and
missing values are *choices*: the features of such a column lie in one of a few boxes
(:mod:`dtsemnet.verify.proof.readings`). What is proved for the box of features holds for all inputs of
the domain. A point of features is moved into the nearest alternatives and turned back into a row of
columns. It counts as a witness only if that row lies in the domain and the model itself sends it
where it should go.

:meth:`EncodedDomain.contains` is the one place that judges whether a row lies in the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.names import shown
from dtsemnet.tree import Model
from dtsemnet.tree.doubles import double_at, rank_of
from dtsemnet.tree.encoder import is_missing
from dtsemnet.verify.proof.certificates import Polytope, exact_dot
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.linear_programs import Solution, interior
from dtsemnet.verify.proof.readings import Reading, is_absent

__all__ = [
    "Choice", "EncodedDomain", "Step", "column_number", "deepest_point", "encode_readings", "points_inwards",
    "read_row", "roundings", "row_numbers", "table_rows",
]  # fmt: skip

_UNIT = 2.0**-53


class Choice(NamedTuple):
    """Alternatives of one column, as boxes of its features."""

    column: int
    part: slice
    lower: Floats
    """Shape (n_alternatives, n_features of the column)."""
    upper: Floats
    is_number: Bools
    is_whole: Bools
    values: tuple[Any, ...]


class Step(NamedTuple):
    """How a box is cut in two, for searches and for the certificates that they leave."""

    choice: int
    """Which of the choices is cut."""
    alternative: int
    """The alternative that is split off from the others; -1 to cut the numbers."""
    at: float = 0.0
    """The last number of the first half."""


@dataclass(frozen=True, eq=False)
class EncodedDomain:
    """A domain in the features of a model."""

    model: Model
    domain: Domain
    readings: tuple[Reading, ...]
    """The columns of the model."""
    constraints: tuple[Floats, Floats] | None
    """``A`` and ``b`` in the order of the model's columns."""
    lower: Floats
    upper: Floats
    rows: Floats
    """Constraints ``rows @ z <= bound`` of the features."""
    bound: Floats
    soft: Bools
    """Rows that come from the domain's constraints; the others say that one category holds."""
    choices: tuple[Choice, ...]

    @property
    def discrete(self) -> Bools:
        """Features that are integers, categories or missing marks."""
        found = np.zeros(len(self.lower), dtype=bool)
        for choice in self.choices:
            reading = self.readings[choice.column]
            found[choice.part] = True
            if reading.has_numbers:
                found[choice.part.start] = bool(choice.is_whole.any()) or not choice.is_number.any()
        return found

    def contains(self, row: Array) -> bool:
        """Check in exact arithmetic that a row of columns lies in the domain."""
        return self._first_outside(row) is None

    def require(self, row: Array, name: str = "x") -> None:
        """Refuse a row that does not lie in the domain."""
        problem = self._first_outside(row)
        if problem is not None:
            raise ValueError(
                f"{name} must lie in the domain, but {problem}; widen the domain, or take Domain.from_data over rows "
                f"that hold {name}."
            )

    def _first_outside(self, row: Array) -> str | None:
        if not self._holds_plain_numbers(row):
            for reading, value in zip(self.readings, row.tolist()):
                if not reading.contains(value):
                    return f"column {reading.column.name!r} holds {value!r}"
        if self.constraints is not None:
            numbers = np.array([reading.number(value) for reading, value in zip(self.readings, row.tolist())])
            for k, (a, b) in enumerate(zip(self.constraints[0], self.constraints[1].tolist())):
                if exact_dot(a.tolist(), numbers.tolist()) > Fraction(b):
                    return f"row {k} of A does not hold"
        return None

    def _holds_plain_numbers(self, row: Array) -> bool:
        """Whether all columns hold numbers between two ends and no more is asked of them; False may mean anything."""
        if row.dtype != np.float64 or not all(reading.is_interval for reading in self.readings):
            return False
        ends = np.array([(reading.low, reading.high) for reading in self.readings]).reshape(-1, 2)
        return bool(((ends[:, 0] <= row) & (row <= ends[:, 1])).all())

    def leaf_of(self, row: Array) -> int:
        """The leaf that the model sends a row to."""
        return int(self.model.apply(row[None])[0])

    def encode(self, row: Array) -> Floats:
        """The features of a row."""
        return np.asarray(self.model.transform(row[None])[0], dtype=np.float64)

    def row(self, z: Floats) -> Array:
        """Turn features into a row of columns, up to rounding; choices take the nearest alternative."""
        encoder = self.model.encoder
        z = self.snap(z, self.lower, self.upper)
        if encoder.is_identity and not self.choices:
            return z
        row = np.empty(encoder.n_columns, dtype=np.float64 if encoder.is_numeric else object)
        taken = {choice.column: choice for choice in self.choices}
        for j, (reading, part) in enumerate(zip(self.readings, encoder.features_of_column)):
            choice = taken.get(j)
            if choice is not None:
                k = _nearest(z[part], choice.lower, choice.upper, choice.is_whole)
                if not choice.is_number[k]:
                    row[j] = choice.values[k]
                    continue
            column, z_j = reading.column, float(z[part.start])
            is_plain = column.scale == 0 or (column.scale == 1 and column.center == 0)
            x = z_j if is_plain else z_j / column.scale + column.center
            row[j] = float(min(max(x, reading.low), reading.high))
        return row

    def snap(self, z: Floats, lower: Floats, upper: Floats) -> Floats:
        """Move points into a box, and their choices into the nearest alternative that meets the box."""
        z = np.clip(z, lower, upper)
        for choice in self.choices:
            low, high, meets = _meet(choice, lower, upper)
            if meets.any():
                part = z[..., choice.part]
                k = _nearest(part, low[meets], high[meets], choice.is_whole[meets])
                moved = np.where(choice.is_whole[meets][k][..., None], np.round(part), part)
                z[..., choice.part] = np.clip(moved, low[meets][k], high[meets][k])
        return z

    def box_of_choices(self, z: Floats) -> tuple[Floats, Floats]:
        """The part of the box in which the choices are made as at a point."""
        lower, upper = self.lower.copy(), self.upper.copy()
        for choice in self.choices:
            low, high, meets = _meet(choice, lower, upper)
            k = np.flatnonzero(meets)[_nearest(z[choice.part], low[meets], high[meets], choice.is_whole[meets])]
            lower[choice.part], upper[choice.part] = low[k], high[k]
        return lower, upper

    def tighten(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats] | None:
        """Shrink a box to the alternatives that meet it; None if a column has none left."""
        if not self.choices:
            return lower, upper
        lower, upper = lower.copy(), upper.copy()
        for choice in self.choices:
            low, high, meets = _meet(choice, lower, upper)
            if not meets.any():
                return None
            lower[choice.part], upper[choice.part] = low[meets].min(axis=0), high[meets].max(axis=0)
        return lower, upper

    def find_row(self, points: Iterable[Floats], polytope: Polytope, accepts: Callable[[Array], bool]) -> Array | None:
        """Turn points of a box into rows until one lies in the domain and the model accepts it."""
        rows = (self.row(self.snap(point, polytope.lower, polytope.upper)) for point in points)
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
        """Cut a box in two at a choice; no parts if all choices are made."""
        step = self.next_step(polytope, solution)
        return [] if step is None else [part for part in self.cut(polytope, step) if part is not None]

    def next_step(self, polytope: Polytope, solution: Solution | None) -> Step | None:
        """Find the choice that is farthest from being made at a point; None if all are."""
        lower, upper = polytope.lower, polytope.upper
        z = lower / 2 + upper / 2 if solution is None else solution.point
        best, farthest = None, -1.0
        for index, choice in enumerate(self.choices):
            low, high, meets = _meet(choice, lower, upper)
            alive = np.flatnonzero(meets)
            if len(alive) == 1 and choice.is_whole[alive[0]] and low[alive[0], 0] < high[alive[0], 0]:
                x, least, most = float(z[choice.part.start]), float(low[alive[0], 0]), float(high[alive[0], 0])
                away = abs(x - round(x))
                at = np.floor(x) if away > 1e-6 else np.floor(least / 2 + most / 2)
                step = Step(index, -1, float(min(max(at, least), most - 1)))
            elif len(alive) > 1:
                part = z[choice.part]
                away_from = np.abs(part - np.clip(part, low[alive], high[alive])).sum(axis=1)
                # All zeros lie in the hull of the categories, so cutting them off would leave them in.
                apart = [_leaves_hull(low[alive], high[alive], k) for k in range(len(alive))]
                nearest = int(np.argmin(np.where(apart, away_from, np.inf)))
                away, step = float(away_from.min()), Step(index, int(alive[nearest]))
                if not any(apart):  # a fill among integers
                    value, most = float(low[alive[~choice.is_number[alive]][0], 0]), upper[choice.part.start]
                    step = Step(index, -1, value if value < most else float(np.nextafter(value, -np.inf)))
            else:
                continue
            if away > farthest:
                best, farthest = step, away
        return best

    def cut(self, polytope: Polytope, step: Step) -> tuple[Polytope | None, Polytope | None]:
        """Cut a box as a step says; a part that holds no alternative is None."""
        choice = self.choices[step.choice]
        part = choice.part
        if step.alternative < 0:
            first, second = polytope.upper.copy(), polytope.lower.copy()
            first[part.start] = min(first[part.start], step.at)
            second[part.start] = max(second[part.start], np.nextafter(step.at, np.inf))
            return self._shrunk(polytope, polytope.lower, first), self._shrunk(polytope, second, polytope.upper)
        low, high, meets = _meet(choice, polytope.lower, polytope.upper)
        chosen = np.arange(len(meets)) == step.alternative
        parts = []
        for kept in (meets & chosen, meets & ~chosen):
            lower, upper = polytope.lower.copy(), polytope.upper.copy()
            if kept.any():
                lower[part], upper[part] = low[kept].min(axis=0), high[kept].max(axis=0)
            parts.append(self._shrunk(polytope, lower, upper) if kept.any() else None)
        return parts[0], parts[1]

    def feature_cut(self, polytope: Polytope, step: Step) -> tuple[int, float, bool]:
        """Write a step as a cut of one feature: the last number of one side, and whether the parts are exchanged."""
        choice = self.choices[step.choice]
        start = choice.part.start
        if step.alternative < 0:
            return start, step.at, False
        low, high, meets = _meet(choice, polytope.lower, polytope.upper)
        others = meets & (np.arange(len(meets)) != step.alternative)
        least, most = low[others].min(axis=0), high[others].max(axis=0)
        for k, (first, last) in enumerate(zip(low[step.alternative].tolist(), high[step.alternative].tolist())):
            if last < least[k]:
                return start + k, last, False
            if first > most[k]:
                return start + k, float(most[k]), True
        raise AssertionError("the alternative lies in the hull of the others")

    @property
    def row_names(self) -> list[str]:
        """Names of the rows in proof files: constraints, then of each column of categories that one of them holds."""
        return [f"A{k}" for k in range(int(self.soft.sum()))] + self.names_of_choices

    @property
    def names_of_choices(self) -> list[str]:
        """Names of the rows that say that one category holds."""
        names = []
        for choice in self.choices:
            if not self.readings[choice.column].has_numbers and len(choice.values) > 1:
                names.append(f"most{choice.part.start}")
                names += [f"least{choice.part.start}"] if choice.lower.any(axis=1).all() else []
        return names

    def _shrunk(self, polytope: Polytope, lower: Floats, upper: Floats) -> Polytope | None:
        box = self.tighten(lower, upper) if (lower <= upper).all() else None
        return None if box is None else polytope._replace(lower=box[0], upper=box[1])

    def n_points(self, lower: Floats, upper: Floats) -> float:
        """Number of points of features in a box, at most: doubles, integers, alternatives."""
        plain = np.ones(len(lower), dtype=bool)
        total = 1.0
        for choice in self.choices:
            low, high, meets = _meet(choice, lower, upper)
            plain[choice.part] = False
            total *= sum(_n_values(choice, k, low[k], high[k]) for k in np.flatnonzero(meets).tolist())
        open_ = plain & (lower < upper)
        with np.errstate(over="ignore"):
            return total * float(np.prod(_n_doubles(lower[open_], upper[open_])))

    def points(self, lower: Floats, upper: Floats) -> Floats:
        """All those points, shape (n_points, n_features)."""
        columns: list[tuple[slice, Floats]] = []
        plain = np.ones(len(lower), dtype=bool)
        for choice in self.choices:
            low, high, meets = _meet(choice, lower, upper)
            plain[choice.part] = False
            parts = [_all_values(choice, k, low[k], high[k]) for k in np.flatnonzero(meets).tolist()]
            columns.append((choice.part, np.concatenate(parts)))
        for k in np.flatnonzero(plain & (lower < upper)).tolist():
            columns.append((slice(k, k + 1), _doubles(lower[k], upper[k])[:, None]))
        Z = lower[None].copy()
        for part, values in columns:
            Z = np.repeat(Z, len(values), axis=0)
            Z[:, part] = np.tile(values, (len(Z) // len(values), 1))
        return Z

    def obeys_rows(self, z: Floats) -> bool:
        """Whether a point satisfies the rows, in exact arithmetic."""
        pairs = zip(self.rows.tolist(), self.bound.tolist())
        return all(exact_dot(row, z.tolist()) <= Fraction(b) for row, b in pairs)

    def is_whole(self, z: Floats) -> bool:
        """Whether all choices are made at a point, up to the tolerance of a solver."""
        return self.makes_choices(z, 1e-6)

    def makes_choices(self, z: Sequence[Any] | Floats, slack: float = 0.0) -> bool:
        """Whether the features of every choice lie in one of its alternatives, exactly if ``slack`` is 0."""
        for choice in self.choices:
            values = z[choice.part]
            for k in range(len(choice.values)):
                ends = zip(choice.lower[k].tolist(), values, choice.upper[k].tolist())
                is_inside = all(low - slack <= x <= high + slack for low, x, high in ends)
                if is_inside and (not choice.is_whole[k] or abs(values[0] - round(values[0])) <= slack):
                    break
            else:
                return False
        return True

    def hold(self, row: Array, columns: frozenset[int] = frozenset(), *, categories: bool = True) -> EncodedDomain:
        """Hold columns at a row's values: those named, those missing in the row, and by default categories."""
        self.require(row)
        readings = []
        for j, (reading, value) in enumerate(zip(self.readings, row.tolist())):
            held = is_absent(value) if reading.has_numbers else categories
            is_moving_number = reading.has_numbers and not held and j not in columns
            if held or j in columns:
                readings.append(reading.held_at(value))
            else:
                readings.append(reading.kept_present() if is_moving_number else reading)
        return encode_readings(self.model, self.domain, tuple(readings), self.constraints)

    def without_missing(self, j: int) -> EncodedDomain:
        """The same domain with a number in column ``j``."""
        readings = tuple(one.kept_present() if k == j else one for k, one in enumerate(self.readings))
        return encode_readings(self.model, self.domain, readings, self.constraints)

    def shrunk(self, lower: Floats, upper: Floats) -> EncodedDomain:
        """The same domain in a smaller box of features."""
        return replace(self, lower=np.maximum(self.lower, lower), upper=np.minimum(self.upper, upper))


def encode_readings(
    model: Model, domain: Domain, readings: tuple[Reading, ...], constraints: tuple[Floats, Floats] | None
) -> EncodedDomain:
    """Turn the columns of a domain into a box of features, rows and choices."""
    d = model.tree.n_features
    lower, upper, choices, one_of = np.zeros(d), np.zeros(d), [], []
    for j, (reading, part) in enumerate(zip(readings, model.encoder.features_of_column)):
        found = reading.alternatives()
        low, high = np.array([one.lower for one in found]), np.array([one.upper for one in found])
        lower[part], upper[part] = low.min(axis=0), high.max(axis=0)
        if len(found) > 1 or not found[0].is_number or found[0].is_whole:
            numbers, whole = np.array([(one.is_number, one.is_whole) for one in found], dtype=bool).T
            choices.append(Choice(j, part, low, high, numbers, whole, tuple(one.value for one in found)))
        if not reading.has_numbers and len(found) > 1:
            row = np.zeros(d)
            row[part] = 1.0
            one_of.append((row, 1.0))
            one_of += [] if not low.any(axis=1).all() else [(-row, -1.0)]  # no value is all zeros
    soft = _encoded_constraints(model, readings, constraints)
    rows, bound = (np.array([pair[k] for pair in soft + one_of]) for k in (0, 1))
    encoded = EncodedDomain(
        model, domain, readings, constraints, lower, upper, rows.reshape(-1, d), bound,
        np.arange(len(bound)) < len(soft), tuple(choices),
    )  # fmt: skip
    box = encoded.tighten(lower, upper)
    assert box is not None
    return replace(encoded, lower=box[0], upper=box[1])


def column_number(model: Model, name: Name, argument: str = "feature") -> int:
    """Find a column of the model by name or number."""
    names = [column.name for column in model.encoder.columns]
    if isinstance(name, str):
        if name not in names:
            raise ValueError(f"{argument}: there is no column {name!r}; the model reads {', '.join(names[:5])}...")
        return names.index(name)
    if isinstance(name, bool) or not isinstance(name, (int, np.integer)):
        raise ValueError(f"{argument} must name a column by number or name, got {name!r}.")
    if not 0 <= name < len(names):
        raise ValueError(f"{argument}: columns are numbered from 0 to {len(names) - 1}, got {name}.")
    return int(name)


def read_row(model: Model, x: Any) -> Array:
    """Read one row of columns: an array of numbers, or of objects if there are categories."""
    row = model.encoder.read_row(x)[0]
    if not model.encoder.is_numeric:
        return row
    numbers = np.empty(len(row))
    for j, (column, value) in enumerate(zip(model.encoder.columns, row.tolist())):
        try:
            numbers[j] = np.nan if is_absent(value) else value
        except (TypeError, ValueError):
            raise ValueError(f"x must hold numbers, got {shown(value)} in column {shown(column.name)}.") from None
    return numbers


def table_rows(model: Model, X: Any) -> Array:
    """Read a table as rows of a model's columns: an array of numbers, or of objects if there are categories."""
    columns = model.encoder.read_columns(X)
    if not model.encoder.is_numeric:
        return np.column_stack([np.asarray(values, dtype=object) for values in columns])
    numbers = [np.where(is_missing(values), np.nan, values).astype(np.float64) for values in columns]
    return np.column_stack(numbers)


def row_numbers(model: Model, row: Array) -> Floats:
    """The numbers of a row; 0 for categories, the fill for missing values."""
    return np.array([Reading(column).number(value) for column, value in zip(model.encoder.columns, row.tolist())])


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


def _meet(choice: Choice, lower: Floats, upper: Floats) -> tuple[Floats, Floats, Bools]:
    """The alternatives cut by a box: their ends, and which of them are not empty."""
    low, high = np.maximum(choice.lower, lower[choice.part]), np.minimum(choice.upper, upper[choice.part])
    if choice.is_whole.any():
        whole = choice.is_whole
        low[whole, 0], high[whole, 0] = np.ceil(low[whole, 0]), np.floor(high[whole, 0])
    return low, high, np.asarray((low <= high).all(axis=1))


def _nearest(z: Floats, low: Floats, high: Floats, is_whole: Bools) -> Any:
    """The alternative that is nearest to a point, the first of equals; of several points the one of each."""
    z = z[..., None, :]
    # Between two integers may lie a fill.
    return np.abs(z - np.clip(np.where(is_whole[:, None], np.round(z), z), low, high)).sum(axis=-1).argmin(axis=-1)


def _leaves_hull(low: Floats, high: Floats, k: int) -> bool:
    """Whether one of some boxes is not met by the hull of the others."""
    others = np.arange(len(low)) != k
    least, most = low[others].min(axis=0), high[others].max(axis=0)
    return bool(((high[k] < least) | (low[k] > most)).any())


def _n_values(choice: Choice, k: int, low: Floats, high: Floats) -> float:
    if choice.is_whole[k]:
        return float(high[0] - low[0] + 1)
    return float(_n_doubles(low[0], high[0])) if choice.is_number[k] else 1.0


def _n_doubles(low: Any, high: Any) -> Any:
    """Number of doubles between two, with both."""
    first, last = rank_of(low), rank_of(high)
    # Across 0 the difference may be larger than an integer of 64 bits; elsewhere a float would round it.
    return np.where((first < 0) & (last > 0), last.astype(float) - first, last - first) + 1.0


def _all_values(choice: Choice, k: int, low: Floats, high: Floats) -> Floats:
    if not choice.is_number[k]:
        return low[None]
    numbers = np.arange(low[0], high[0] + 1) if choice.is_whole[k] else _doubles(low[0], high[0])
    points = np.repeat(low[None], len(numbers), axis=0)
    points[:, 0] = numbers
    return points


def _doubles(low: float, high: float) -> Floats:
    return np.asarray(double_at(np.arange(int(rank_of(low)), int(rank_of(high)) + 1)))


def _encoded_constraints(
    model: Model, readings: tuple[Reading, ...], constraints: tuple[Floats, Floats] | None
) -> list[tuple[Floats, float]]:
    """Write constraints of columns as constraints of features, a little wider if a column is mapped."""
    found: list[tuple[Floats, float]] = []
    if constraints is None:
        return found
    for a, b in zip(constraints[0], constraints[1].tolist()):
        row, slack, size = np.zeros(model.tree.n_features), 0.0, abs(b)
        for j in np.flatnonzero(a).tolist():
            column = readings[j].column
            if not column.is_affine or column.scale == 0:
                raise ValueError(f"A constrains column {column.name!r}, which is no plain number; leave it out of A.")
            row[model.encoder.features_of_column[j].start] = a[j] / column.scale
            if not column.is_identity:
                b -= a[j] * column.center
                size += abs(a[j]) * (readings[j].largest + abs(column.center))
                slack = 16 * _UNIT * (len(a) + 1)
        found.append((row, b + slack * size))
    return found
