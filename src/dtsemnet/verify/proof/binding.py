"""Where a domain meets a model: the one reading of the domain for all questions.

The model's encoder says what a column is. Columns are matched by name if both sides have names, as ``predict`` matches
the columns of a data frame, and by position if not. A restriction that the model cannot follow, or that contradicts
another one, is refused by name; so is a domain without a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.tree import Column, Model
from dtsemnet.verify.proof.certificates import Polytope
from dtsemnet.verify.proof.decision import decide_polytope
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, column_number, encode_readings, row_numbers
from dtsemnet.verify.proof.readings import Reading, is_absent
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = ["EmptyDomain", "bind", "bind_around"]


class EmptyDomain(ValueError):
    """A domain of which it is proved that no row lies in it."""


def bind(model: Model, domain: Domain, *, deadline: Deadline | None = None) -> EncodedDomain:
    """Read a domain as a model does; refuse one that is open, empty, contradictory or of other columns."""
    if not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain, got {type(domain).__name__}; write Domain(lower, upper).")
    reader = _Reader(model, domain)
    encoded = encode_readings(model, domain, reader.readings(), reader.constraints())
    if len(encoded.rows):
        _refuse_empty(encoded, deadline or Deadline(None))
    return encoded


def bind_around(model: Model, row: Array, reach: float) -> EncodedDomain:
    """Encode the cube around a row, rounded outwards; categories and missing values are held."""
    numbers = row_numbers(model, row)
    lower, upper = np.nextafter(numbers - reach, -np.inf), np.nextafter(numbers + reach, np.inf)
    readings = []
    for column, value, low, high in zip(model.encoder.columns, row.tolist(), lower.tolist(), upper.tolist()):
        is_held = column.categories is not None or is_absent(value)
        readings.append(Reading(column).held_at(value) if is_held else Reading(column, low, high))
    return encode_readings(model, Domain(lower, upper), tuple(readings), None)


def _refuse_empty(encoded: EncodedDomain, deadline: Deadline) -> None:
    polytope = Polytope(encoded.rows, encoded.bound, encoded.lower, encoded.upper, encoded.soft)
    found = decide_polytope(encoded, polytope, lambda Z: np.ones(len(Z), dtype=bool), lambda _: True, deadline)
    if found.status == "unreachable":
        used = sorted({row for row, _ in found.cases.get("farkas", [])}) if found.cases is not None else []
        used = [row for row in used if encoded.soft[row]]
        rows = f"; these rows of A take part: {used}" if used else ""
        raise EmptyDomain(f"domain is empty: no row satisfies its constraints in its box{rows}.")


class _Reader:
    """Reads the columns of a domain in the order of the model."""

    def __init__(self, model: Model, domain: Domain) -> None:
        self.model, self.domain = model, domain
        self.columns = model.encoder.columns
        self.names = [column.name for column in self.columns]
        self.width = next(
            (n for n in (domain.n_columns, _width(domain.A), _width(domain.names)) if n is not None), len(self.columns)
        )
        self.position = self._positions()

    def _positions(self) -> list[int]:
        """For each column of the model, its position in the domain."""
        known = self.domain.names
        if known is not None and all(name in known for name in self.names):
            return [known.index(name) for name in self.names]
        is_nameless = self.names == [f"x{j}" for j in range(len(self.names))]
        if known is not None and not is_nameless:
            absent = next(name for name in self.names if name not in known)
            raise ValueError(f"domain has no column {absent!r}, which the model reads; it has {list(known)[:5]}.")
        if self.width != len(self.columns):
            raise ValueError(f"domain has {self.width} columns, but the model reads {len(self.columns)}.")
        return list(range(self.width))

    def constraints(self) -> tuple[Floats, Floats] | None:
        """``A`` and ``b`` in the order of the model's columns."""
        A, b = self.domain.A, self.domain.b
        if A is None or b is None:
            return None
        others = np.setdiff1d(np.arange(A.shape[1]), self.position)
        if A[:, others].any():
            j = int(others[A[:, others].any(axis=0)][0])
            name = j if self.domain.names is None else self.domain.names[j]
            raise ValueError(f"A constrains column {name!r}, which the model does not read; leave it out of A.")
        return A[:, self.position], b

    def readings(self) -> tuple[Reading, ...]:
        """What the domain allows in each column of the model."""
        domain = self.domain
        self.integer, self.missing, self.unknown = (
            set(self._numbers(name, getattr(domain, name))) for name in ("integer", "missing", "unknown")
        )
        self.fixed, self.categories, self.seen = (
            self._by_number(name, getattr(domain, name)) for name in ("fixed", "categories", "seen")
        )
        self.ranges: dict[int, tuple[float, float]] = {}
        for name, (low, high) in domain.ranges.items():  # a column may be narrowed by its number and by its name
            j = self._number("ranges", name)
            if j is not None:
                before = self.ranges.get(j, (-np.inf, np.inf))
                self.ranges[j] = max(low, before[0]), min(high, before[1])
        lower, upper = (
            np.broadcast_to(end, (self.width,))[self.position].tolist() for end in (domain.lower, domain.upper)
        )
        found = []
        for j, column in enumerate(self.columns):
            if column.categories is None:
                found.append(self._read_number(j, column, lower[j], upper[j]))
            else:
                found.append(self._read_categories(j, column))
        return tuple(found)

    def _number(self, argument: str, name: Name) -> int | None:
        """Find a column of the model; None for a column of the domain that the model does not read."""
        known = self.domain.names
        place: int | None = None
        if isinstance(name, str):
            if known is not None and name in known:
                place = known.index(name)
            else:
                return column_number(self.model, name, argument)
        elif not 0 <= name < self.width:
            raise ValueError(f"{argument}: columns are numbered from 0 to {self.width - 1}, got {name}.")
        else:
            place = int(name)
        return self.position.index(place) if place in self.position else None

    def _numbers(self, argument: str, names: Iterable[Name]) -> list[int]:
        return [j for name in names if (j := self._number(argument, name)) is not None]

    def _by_number(self, argument: str, given: Any) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for name, value in given.items():
            j = self._number(argument, name)
            if j in found:
                raise ValueError(f"{argument} names column {self.names[j]!r} twice.")
            if j is not None:
                found[j] = value
        return found

    def _read_number(self, j: int, column: Column, low: float, high: float) -> Reading:
        """A column of numbers: its ends after ranges and fixed values, and whether it may be missing."""
        name = column.name
        for argument, given in (("categories", self.categories), ("unknown", self.unknown)):
            if j in given:
                raise ValueError(f"{argument} names column {name!r}, which the model reads as numbers; use ranges.")
        if j in self.ranges:
            low, high = max(low, self.ranges[j][0]), min(high, self.ranges[j][1])
            if low > high:
                raise ValueError(f"ranges leaves nothing of column {name!r}: it would go from {low} to {high}.")
        if j in self.fixed:
            low = high = self._fixed_number(j, name, low, high)
        may_miss = j in self.missing and j not in self.fixed
        if may_miss and column.missing is None:
            raise ValueError(f"missing names column {name!r}, but the model refuses missing values there.")
        is_integer = j in self.integer
        if is_integer and (column.center != 0.0 or column.scale != 1.0 or column.is_clipped):
            raise ValueError(f"integer names column {name!r}, which is mapped; only plain columns may be integers.")
        if may_miss and self.seen.get(j) == () and not np.isfinite([low, high]).any():
            return Reading(column, present=False, may_miss=True)
        if not np.isfinite([low, high]).all():
            self._refuse_open(j, name, low, high)
        if is_integer and np.ceil(low) > np.floor(high):
            raise ValueError(f"integer: domain holds no integer in column {name!r}, which goes from {low} to {high}.")
        return Reading(column, low, high, is_integer, may_miss=may_miss)

    def _fixed_number(self, j: int, name: str, low: float, high: float) -> float:
        value = self.fixed[j]
        try:
            number = np.nan if isinstance(value, str) or is_absent(value) else float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise ValueError(f"fixed must hold a number for column {name!r}, got {value!r}.")
        if not low <= number <= high:
            raise ValueError(f"fixed puts column {name!r} at {number}, outside its box [{low}, {high}].")
        return number

    def _refuse_open(self, j: int, name: str, low: float, high: float) -> None:
        values = self.seen.get(j)
        if values:
            raise ValueError(f"domain holds {values[0]!r} in column {name!r}, which the model reads as numbers.")
        raise ValueError(
            f"domain is open in column {name!r} ([{low}, {high}]), and a proof needs a bound there; "
            f"give lower and upper, or take Domain.from_data(X, margin=1.0)."
        )

    def _read_categories(self, j: int, column: Column) -> Reading:
        """A column of categories: those fixed, listed, seen in a table, or known to the model, in this order."""
        name, known = column.name, column.categories
        assert known is not None
        if j in self.ranges:
            raise ValueError(f"ranges names column {name!r}, which has categories; restrict it by categories or fixed.")
        if j in self.integer:
            raise ValueError(f"integer names column {name!r}, which the model reads as categories.")
        allowed = Reading(column, may_be_unknown=j in self.unknown, may_miss=j in self.missing)
        if j in self.categories:
            listed = self.categories[j]
            if not len(listed) and not (allowed.may_be_unknown or allowed.may_miss):
                raise ValueError(f"categories leaves no value for column {name!r}.")
            allowed = self._with_values("categories", allowed, listed)
        elif j in self.seen:
            values = self.seen[j]
            strange = known if values is None else [value for value in values if value not in known]
            if strange:
                allowed = replace(allowed, may_be_unknown=True, unknown=None if values is None else strange[0])
            allowed = replace(allowed, categories=tuple(v for v in known if values is None or v in values))
        else:
            allowed = replace(allowed, categories=known)
        if j in self.fixed:
            value = self.fixed[j]
            only = self._with_values("fixed", replace(allowed, categories=(), may_miss=False), [value])
            if j in self.categories and not allowed.contains(value):
                raise ValueError(
                    f"fixed puts column {name!r} at {value!r}, which categories leaves out: {list(self.categories[j])}."
                )
            is_unknown = not only.categories and not only.may_miss
            allowed = replace(only, may_be_unknown=is_unknown, unknown=value if is_unknown else None)
        if allowed.may_be_unknown and allowed.unknown is None:
            allowed = replace(allowed, unknown=_strange_value(known))
        return allowed

    def _with_values(self, argument: str, reading: Reading, values: Iterable[Any]) -> Reading:
        """Add values that the user listed; one that the model does not know is likely a slip."""
        column = reading.column
        assert column.categories is not None
        given = list(values)
        present = [value for value in given if not is_absent(value)]
        for value in present:
            if value not in column.categories and not reading.may_be_unknown:
                raise ValueError(
                    f"{argument} holds {value!r} for column {column.name!r}, which the model does not know; it knows "
                    f"{list(column.categories)[:8]}. To allow what it does not know, name the column in unknown."
                )
        categories = tuple(value for value in column.categories if value in present)
        return replace(reading, categories=categories, may_miss=reading.may_miss or len(present) < len(given))


def _strange_value(known: tuple[Any, ...]) -> str:
    """A value that is no category."""
    value = "a value that the model does not know"
    while value in known:
        value += "'"
    return value


def _width(given: Any) -> int | None:
    return None if given is None else np.shape(given)[-1]
