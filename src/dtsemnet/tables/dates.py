"""Dates as numbers: year, month, weekday, days since a day.

A tree reads numbers, and only a person knows what about a date matters. :func:`recognise` finds how the dates of a
column are written; a :class:`DateParts` turns them into columns of numbers, the same ones for every later table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.names import shown
from dtsemnet.tables.files import import_pandas

__all__ = ["PARTS", "AmbiguousDates", "DateParts", "date_format", "looks_like_dates"]

PARTS = ("year", "month", "day", "weekday", "hour", "days")
"""What a date can be read as. ``weekday`` is 1 on Mondays, ``hour`` has decimals, ``days`` counts from a fixed day."""

USUAL = ("year", "month", "weekday", "days")
"""The parts that are read unless others are named; ``hour`` too if the column has times of the day."""

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([ T]\d{1,2}:\d.*)?"
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}|[A-Za-z]{3,9} \d{1,2}, \d{4}"
)
_TIMES = ("", " %H:%M:%S", " %H:%M", " %H:%M:%S.%f", "T%H:%M:%S", "T%H:%M", "T%H:%M:%S.%f", "T%H:%M:%SZ", "T%H:%M:%S%z",
          " %H:%M:%S%z", "T%H:%M:%S.%fZ", "T%H:%M:%S.%f%z", " %I:%M:%S %p", " %I:%M %p")  # fmt: skip
_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y",
         "%B %d, %Y", "%b %d, %Y")  # fmt: skip
_EITHER = (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"), ("%d/%m/%y", "%m/%d/%y"), ("%d-%m-%y", "%m-%d-%y"))
"""Formats of which a date alone may not say which one is meant."""
_FORMATS = frozenset(day + time for day in (*_DAYS, *sum(_EITHER, ())) for time in _TIMES) | {""}
"""All that a model file can name; nothing else comes to ``strptime`` from there."""


class AmbiguousDates(ValueError):
    """Dates of which it cannot be said which number is the day and which the month."""


@dataclass(frozen=True)
class DateParts:
    """How the dates of a column become columns of numbers.

    Examples
    --------
    >>> import pandas
    >>> parts = DateParts("%d.%m.%Y", ("year", "weekday", "days"), "2024-01-01")
    >>> {name: values.tolist() for name, values in parts.read("day", pandas.Series(["02.01.2024", None])).items()}
    {'day year': [2024.0, nan], 'day weekday': [2.0, nan], 'day days since 2024-01-01': [1.0, nan]}
    """

    format: str
    """As in ``strptime``; empty for columns that hold dates, not texts."""
    parts: tuple[str, ...]
    origin: str
    """Day from which ``days`` counts."""

    def names(self, column: str) -> list[str]:
        """Names of the columns of numbers."""
        return [f"{column} days since {self.origin}" if part == "days" else f"{column} {part}" for part in self.parts]

    def read(self, column: str, values: Any) -> dict[str, Any]:
        """Turn the dates of a column into columns of numbers; a missing date is missing in all of them."""
        dates = to_dates(values, self.format)
        wrong = np.flatnonzero((dates.isna() & values.notna()).to_numpy())
        if len(wrong):
            raise ValueError(
                f"column {column!r} holds {str(values.iloc[wrong[0]])!r} in row {values.index[wrong[0]]}, which is no "
                f"date written as in training ({self.format or 'a date'})."
            )
        return {
            name: self._part(part, dates).to_numpy(np.float64, na_value=np.nan)
            for name, part in zip(self.names(column), self.parts)
        }

    def _part(self, part: str, dates: Any) -> Any:
        match part:
            case "weekday":
                return dates.dt.day_of_week + 1.0
            case "hour":
                return dates.dt.hour + dates.dt.minute / 60 + dates.dt.second / 3600
            case "days":
                days = dates - np.datetime64(self.origin)
                return days.dt.total_seconds() / 86_400
            case _:
                return getattr(dates.dt, part).astype("float64")

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON."""
        return {"format": self.format, "parts": list(self.parts), "origin": self.origin}

    @classmethod
    def from_dict(cls, given: Any) -> DateParts:
        """Undo :meth:`to_dict`; what is not of the right form is refused."""
        form, parts, origin = given.get("format"), given.get("parts"), given.get("origin")
        if not isinstance(parts, list) or not parts or any(part not in PARTS for part in parts):
            raise ValueError(f"parts of dates must be among {', '.join(PARTS)}, got {shown(parts)}.")
        is_known = isinstance(form, str) and form in _FORMATS
        if not is_known or not isinstance(origin, str) or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", origin, re.ASCII):
            raise ValueError(
                f"dates must have a known format, an origin like 2024-01-01; got {shown(form)} and {shown(origin)}."
            )
        return cls(form, tuple(parts), origin)

    @classmethod
    def of(cls, values: Any, parts: Sequence[str], *, month_first: bool | None = None) -> DateParts:
        """Find how the dates of a column are written, and the day to count from: the first of January before them."""
        if values.isna().all():
            raise ValueError("it holds no dates")
        form = "" if _holds_dates(values) else date_format(values, month_first=month_first)
        dates = to_dates(values, form).dropna()
        usual: tuple[str, ...] = USUAL
        if not parts and ((dates.dt.hour != 0) | (dates.dt.minute != 0)).any():
            usual = (*USUAL[:3], "hour", "days")
        return cls(form, tuple(parts) or usual, f"{int(dates.dt.year.min()):04d}-01-01")


def to_dates(values: Any, form: str) -> Any:
    """The dates in a column, without a time zone; NaT where there is none."""
    pandas = import_pandas()
    if form:
        dates = pandas.to_datetime(values.astype("string").str.strip(), format=form, errors="coerce")
    else:
        dates = pandas.to_datetime(values, errors="coerce")
    return dates.dt.tz_localize(None) if dates.dt.tz is not None else dates


def looks_like_dates(values: Any) -> str:
    """An example if a column holds dates, or texts all of which are written like dates; else empty.

    Examples
    --------
    >>> import pandas
    >>> looks_like_dates(pandas.Series(["24.12.2023", "1.1.2024"])), looks_like_dates(pandas.Series(["7", "1.1.2024"]))
    ('24.12.2023', '')
    """
    known = values.dropna()
    if not len(known):
        return str(values.dtype) if values.dtype.kind in "mM" else ""
    if _holds_dates(values):
        return str(known.iloc[0]).removesuffix(" 00:00:00")
    seen = [str(value).strip() for value in known.unique()[:100]]
    return seen[0] if all(_DATE.fullmatch(value) for value in seen) else ""


def date_format(values: Any, *, month_first: bool | None = None) -> str:
    """Find the ``strptime`` format of all dates of a column of texts."""
    texts = values.dropna().astype("string").str.strip().drop_duplicates()
    some = texts.iloc[: min(50, len(texts))]
    for day in _DAYS:
        for time in _TIMES:
            if _fits(some, day + time) and _fits(texts, day + time):
                return day + time
    for pair in _EITHER:
        for time in _TIMES:
            fitting = [form for form in pair if _fits(some, form + time) and _fits(texts, form + time)]
            if len(fitting) == 2 and month_first is None:
                raise AmbiguousDates(f"{str(texts.iloc[0])!r} may be read with the day or with the month first")
            if fitting:
                chosen = fitting[-1] if month_first else fitting[0]
                return chosen + time
    raise ValueError(f"dates such as {str(texts.iloc[0])!r} are not all written alike")


def _fits(texts: Any, form: str) -> bool:
    try:
        return bool(import_pandas().to_datetime(texts, format=form, errors="coerce").notna().all())
    except ValueError:  # dates of more than one time zone
        return False


def _holds_dates(values: Any) -> bool:
    """Whether a column holds dates themselves: by its type, or as objects."""
    if values.dtype.kind == "M" or "timestamp" in str(values.dtype) or str(values.dtype).startswith("date"):
        return True
    if values.dtype != object:
        return False
    known = values.dropna()
    return bool(len(known)) and all(hasattr(value, "toordinal") for value in known.iloc[:100])
