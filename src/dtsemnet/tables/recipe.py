"""The recipe by which a table becomes columns of numbers and categories, kept so that the next table is read alike.

A file says ``3,75``, ``18.7%``, ``?`` or ``24.12.2023``; a tree reads numbers. :meth:`Recipe.find` decides for each
column of a table of training what its texts mean, and says so. :meth:`Recipe.apply` does the same to another table,
which need not say it itself: of three rows with ``3,750`` nobody could tell. The recipe is stored in the model file
(``about.table``), and every command that reads a table for the model applies it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dtsemnet.names import printable, quoted, shown
from dtsemnet.tables.dates import AmbiguousDates, DateParts
from dtsemnet.tables.files import TableOptions
from dtsemnet.tables.numbers import MISSING_MARKS, AmbiguousNumbers, NumberText, recognise

__all__ = ["Recipe", "is_text", "listed"]

SHOWN = 6
"""Columns that one remark names."""


@dataclass(frozen=True)
class Recipe:
    """How the texts of columns become numbers.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"price": ["3,75", "?", "12,5"], "kind": ["a", "b", "a"]})
    >>> recipe = Recipe.find(table, remark=print)
    column 'price' holds numbers written as text: '3,75' is read as 3.75.
    '?' is read as missing in column 'price' (1 row).
    >>> recipe.apply(pandas.DataFrame({"price": ["1,5"], "kind": ["b"]})).to_dict("list")
    {'price': [1.5], 'kind': ['b']}
    """

    numbers: Mapping[str, NumberText] = field(default_factory=dict)
    """Columns of numbers that are written as text."""
    dates: Mapping[str, DateParts] = field(default_factory=dict)
    """Columns of dates, which become columns of numbers."""
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts of a column that mean that the value is missing."""
    na: tuple[str, ...] = ()
    """Texts that mean so in every column."""

    @property
    def columns(self) -> set[str]:
        """Columns of a file that are to be read as text."""
        return {*self.numbers, *self.dates, *self.missing}

    @classmethod
    def find(
        cls,
        frame: Any,
        options: TableOptions | None = None,
        *,
        text: Collection[str] = (),
        dates: Mapping[str, tuple[str, ...]] | None = None,
        month_first: bool | None = None,
        remark: Callable[[str], None] = lambda _: None,
        only: Collection[str] | None = None,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> Recipe:
        """Decide what the texts of a table mean.

        Parameters
        ----------
        frame : pandas.DataFrame
        options : TableOptions, optional
            What the user says about marks; it decides where the texts do not.
        text : collection of str
            Columns that stay text.
        dates : mapping, optional
            Columns of dates that are to become numbers, and the parts of each, none for the usual ones.
        month_first : bool, optional
            Whether in 3/4/2024 the month comes first, for columns that do not say it.
        remark : callable
            Is told each decision in one sentence.
        only : collection of str, optional
            Columns to look at; by default all.
        progress : callable, optional
            Called with the number of columns of text that were looked at, and of all of them.
        """
        options = options or TableOptions()
        wanted = dates or {}
        looked_at = [
            name
            for name in frame.columns
            if name not in text and name not in wanted and (only is None or name in only) and is_text(frame[name])
        ]
        numbers, missing = _find_numbers(frame, looked_at, options, progress)
        parts = {name: _date_parts(frame[name], name, chosen, month_first) for name, chosen in wanted.items()}
        recipe = cls(numbers, parts, missing, options.na)
        recipe._tell(frame, remark)
        return recipe

    def with_options(self, options: TableOptions) -> Recipe:
        """The recipe for a table whose marks the user names."""
        if options.decimal is None and options.thousands is None:
            return self
        known = _known(options)
        marks = {"decimal": known.decimal, "thousands": known.thousands}
        return replace(self, numbers={name: replace(way, **marks) for name, way in self.numbers.items()})

    def apply(self, frame: Any, progress: Callable[[int, int], None] = lambda *_: None) -> Any:
        """Read the columns of a table by this recipe; columns that are not there, or hold numbers, stay."""
        result: dict[str, Any] = {}
        for done, name in enumerate(frame.columns):
            progress(done, frame.shape[1])
            values = frame[name]
            marks = {*self.missing.get(name, ()), *self.na}
            if marks and is_text(values):
                values = values.mask(values.astype("string").str.strip().isin(marks))
            if name in self.dates:
                result.update(self.dates[name].read(name, values))
            elif name in self.numbers and is_text(values):
                result[name] = self._numbers(name, values)
            else:
                result[name] = values
        # At once: a column at a time would take quadratic time in wide tables.
        read = type(frame)(result, index=frame.index, columns=list(result))
        read.attrs = frame.attrs
        return read

    def written_as_text(self, frame: Any) -> dict[str, str]:
        """Columns of a table whose numbers a program would not read as they are meant, each with an example."""
        texts = {name: map(str, frame[name].dropna().unique()) for name in self.numbers if is_text(frame[name])}
        found = {name: next((t for t in texts[name] if _tells(self.numbers[name], t)), None) for name in texts}
        return {name: example for name, example in found.items() if example is not None}

    def sources(self) -> dict[str, str]:
        """For each column of numbers that comes from a date, the column of the file."""
        return {part: name for name, parts in self.dates.items() for part in parts.names(name)}

    def without(self, names: Collection[str]) -> Recipe:
        """The recipe without some columns."""
        kept: dict[str, Any] = {
            part: {name: value for name, value in getattr(self, part).items() if name not in names}
            for part in ("numbers", "dates", "missing")
        }
        return replace(self, **kept)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain JSON, for the model file; empty if there is nothing to do."""
        described: dict[str, Any] = {
            "numbers": {name: way.to_dict() for name, way in self.numbers.items()},
            "dates": {name: parts.to_dict() for name, parts in self.dates.items()},
            "missing": {name: list(marks) for name, marks in self.missing.items()},
            "na": list(self.na),
        }
        return {name: part for name, part in described.items() if part}

    @classmethod
    def from_dict(cls, given: Any) -> Recipe:
        """Undo :meth:`to_dict`; what is not of the right form is refused, as a model file may come from anywhere."""
        if given is None:
            return cls()
        objects = (
            [given] + [given.get(part, {}) for part in ("numbers", "dates", "missing")] if _is_object(given) else []
        )
        if not objects or not all(map(_is_object, objects)):
            raise ValueError("the recipe of the table (about.table) must hold objects.")
        numbers, dates = objects[1], objects[2]
        if not all(map(_is_object, [*numbers.values(), *dates.values()])):
            raise ValueError("the recipe of the table (about.table) must hold one object for each column.")
        marks = [*objects[3].values(), given.get("na", [])]
        if not all(isinstance(part, list) and all(isinstance(mark, str) for mark in part) for part in marks):
            raise ValueError("the recipe of the table (about.table) must list missing values as texts.")
        return cls(
            {name: NumberText.from_dict(way) for name, way in numbers.items()},
            {name: DateParts.from_dict(parts) for name, parts in dates.items()},
            {name: tuple(texts) for name, texts in objects[3].items()},
            tuple(marks[-1]),
        )

    def _numbers(self, name: str, values: Any) -> Any:
        """The numbers of a column of texts; whole ones stay whole if none is missing."""
        way = self.numbers[name]
        texts = values.astype("string")
        known = {text: way.read(text) for text in texts.dropna().unique()}
        wrong = next((text for text, number in known.items() if number is None), None)
        if wrong is not None:
            row = frame_row(values, wrong)
            raise ValueError(
                f"column {quoted(name)} holds {quoted(wrong)} in row {row}, which is no number as it is written in "
                f"training{_written(way)}; if it means that the value is missing, add --na {_shell(wrong)}, and if "
                "this table has other marks, --decimal or --thousands."
            )
        whole = bool(known) and not texts.isna().any() and all(way.is_whole(text) for text in known)
        numbers = texts.astype(object).map(known).to_numpy(np.float64, na_value=np.nan)
        fits = whole and float(np.abs(numbers).max(initial=0.0)) < 2**53
        return type(values)(numbers.astype(np.int64) if fits else numbers.astype(np.float64), index=values.index)

    def _tell(self, frame: Any, remark: Callable[[str], None]) -> None:
        """Say what was found, alike columns in one sentence."""
        alike: dict[NumberText, dict[str, str]] = defaultdict(dict)
        for name, example in self.written_as_text(frame).items():
            alike[self.numbers[name]][name] = example
        for way, examples in alike.items():
            example = next(iter(examples.values()))
            number = f"{quoted(example)} is read as {way.read(example):.15g}"
            remark(f"{listed(list(examples), 'column')} {_hold(examples)} numbers written as text: {number}.")
        by_mark: dict[str, dict[str, int]] = defaultdict(dict)
        for name, marks in self.missing.items():
            counts = frame[name].astype("string").str.strip().value_counts()
            for mark in marks:
                by_mark[mark][name] = int(counts.get(mark, 0))
        for mark, counted in by_mark.items():
            total = sum(counted.values())
            remark(f"{quoted(mark)} is read as missing in {listed(list(counted), 'column')} ({_rows(total)}).")
        for name, parts in self.dates.items():
            remark(f"column {quoted(name)} is read as {listed(parts.names(name), '')}.")


def _find_numbers(
    frame: Any, names: list[str], options: TableOptions, progress: Callable[[int, int], None]
) -> tuple[dict[str, NumberText], dict[str, tuple[str, ...]]]:
    """Find the columns of numbers among columns of text, and what means missing in columns of text."""
    known = _known(options) if options.decimal or options.thousands else None
    ways: dict[str, NumberText] = {}
    missing: dict[str, tuple[str, ...]] = {}
    unclear: dict[str, AmbiguousNumbers] = {}
    texts = {name: [str(text) for text in frame[name].dropna().unique()] for name in names}
    texts = {name: [text for text in column if text.strip() not in options.na] for name, column in texts.items()}

    def look(name: str, known: NumberText | None) -> None:
        found = recognise(texts[name], known=known) if texts[name] else None
        if found is None:
            if "?" in texts[name]:
                missing[name] = ("?",)
            return
        ways[name], strangers = found
        words = [text for text in strangers if text.strip().lower() not in MISSING_MARKS]
        if words:
            row = frame_row(frame[name], words[0])
            raise ValueError(
                f"column {quoted(name)} holds numbers, but {quoted(words[0])} in row {row}; if it means that the "
                f"value is missing, add --na {_shell(words[0])}; to read the column as categories, --categorical "
                f"{_shell(name)}; to leave it out, --drop {_shell(name)}."
            )
        if strangers:
            missing[name] = tuple(dict.fromkeys(text.strip() for text in strangers))

    for done, name in enumerate(names):
        progress(done, len(names))
        try:
            look(name, known)
        except AmbiguousNumbers as error:
            unclear[name] = error
    if unclear:
        commas = any(way.decimal == "," for way in ways.values())
        points = frame.attrs.get("separator") == "," or any(way.thousands == "," for way in ways.values())
        if commas == points:
            name, reason = next(iter(unclear.items()))
            raise ValueError(f"column {quoted(name)}: {reason}; say which by --decimal , or by --thousands ,")
        for name in unclear:
            look(name, NumberText(decimal=",") if commas else NumberText(thousands=","))
    return ways, missing


def _date_parts(values: Any, name: str, parts: tuple[str, ...], month_first: bool | None) -> DateParts:
    try:
        return DateParts.of(values, parts, month_first=month_first)
    except AmbiguousDates as error:
        raise ValueError(f"--date {quoted(name)}: {error}; add --day-first or --month-first.") from None
    except ValueError as error:
        raise ValueError(f"--date {quoted(name)}: {error}.") from None


def _known(options: TableOptions) -> NumberText:
    """The marks that the user names; the one that is not named follows."""
    decimal = options.decimal or ("," if options.thousands == "." else ".")
    thousands = options.thousands or {",": ".", ".": ","}[decimal]
    return NumberText(decimal, thousands)


def is_text(values: Any) -> bool:
    """Whether a column of a data frame holds texts."""
    if values.dtype.kind in "iufbcmM":
        return False
    kind = str(values.dtype)
    if kind == "category":
        return any(isinstance(value, str) for value in values.cat.categories)
    if kind.startswith(("str", "string", "large_string")):
        return True
    return values.dtype == object and any(isinstance(value, str) for value in values.dropna().unique())


def listed(names: list[str], noun: str) -> str:
    """Name columns: one by its name, many by their number and the first of them."""
    if len(names) == 1:
        return f"{noun} {quoted(names[0])}".strip()
    some = ", ".join(map(shown, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return f"{len(names)} {noun}s ({some})" if noun else some


def frame_row(values: Any, text: str) -> Any:
    """The first row of a column that holds a text, as the user counts it."""
    return values.index[int(np.flatnonzero((values.astype("string") == text).fillna(False).to_numpy(bool))[0])]


def _tells(way: NumberText, text: str) -> bool:
    """Whether a program would not read a text as the number that it is."""
    number = way.read(text)
    try:
        return number is not None and float(text) != number
    except ValueError:
        return True


def _hold(names: Collection[str]) -> str:
    return "holds" if len(names) == 1 else "hold"


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _written(way: NumberText) -> str:
    parts = [f"decimal mark {way.decimal!r}"] + [f"thousands by {way.thousands!r}"] * bool(way.thousands)
    return f" ({', '.join(parts)})"


def _shell(text: str) -> str:
    """An argument as it is typed."""
    import shlex

    return shlex.quote(printable(text))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
