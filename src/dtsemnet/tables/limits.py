"""How much a table may hold: what a file says in a few bytes must not fill the memory.

A sheet of Excel with one value in its last corner has 17 billion cells. Lines of JSON have a column for each name that
any of them uses. Parquet says "a billion times 1.0" in a few bytes, and a long text once for many rows. So a table is
measured before it is made: its cells, of eight bytes each, and its texts may fill 256 MB, or 50 times the size of the
file if that is more. Delimited text needs no such limit, since each cell has its separator there; packed text has the
same one.

The sizes of compressed blocks in Parquet and Feather files are not checked; a file that was made to lie about them can
take more.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import json
import xml.parsers.expat
import zipfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from dtsemnet.names import quoted

__all__ = ["check_arrow", "check_book", "check_names", "check_records", "most_bytes"]

LEAST, FACTOR = 2**28, 50
CELL = 8
"""Bytes of a cell in memory, at least."""
MOST_ALIKE = 2000
"""Columns of one name."""


def most_bytes(size: int) -> int:
    """As many bytes as a file of some size may unpack to."""
    return max(LEAST, FACTOR * size)


def _need(n_bytes: int, path: Path, what: str) -> None:
    size = path.stat().st_size
    if n_bytes > most_bytes(size):
        raise ValueError(
            f"{what}, {n_bytes / 1e6:,.0f} MB or more, which is too much for a file of {size:,} bytes; save what you "
            "need of it as .csv"
        )


def _need_cells(n_rows: int, n_columns: int, path: Path) -> None:
    _need(CELL * n_rows * n_columns, path, f"it has {n_rows:,} rows and {n_columns:,} columns")


def check_names(text: TextIO, separator: str) -> None:
    """Refuse a header that has one name thousands of times: pandas numbers such names in quadratic time."""
    try:
        if separator == r"\s+":
            names = next(filter(None, map(str.split, text)), [])
        else:
            names = next(filter(None, csv.reader(text, delimiter=separator)), [])
    except csv.Error:
        return  # pandas says what is wrong
    name, n = Counter(names).most_common(1)[0] if names else ("", 0)
    if n > MOST_ALIKE:
        raise ValueError(f"{n:,} of its columns are called {quoted(name)}; give each a name of its own")


def check_records(path: Path, *, lines: bool) -> None:
    """Count the cells of records in JSON: as many rows as there are records, a column for each name."""
    with path.open("rb") as stream:
        records: Iterable[Any] = map(json.loads, filter(bytes.strip, stream)) if lines else json.load(stream)
        n_rows, names = 0, set[str]()
        for record in records:
            n_rows += 1
            names.update(record if isinstance(record, dict) else ())
    _need_cells(n_rows, len(names), path)


def check_book(path: Path) -> None:
    """Measure an Excel file: the cells of each sheet, up to the last row and column that it names, and their texts."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        _need(sum(member.file_size for member in members), path, "it unpacks to a long text")
        parts = []
        for member in members:  # whatever their names: others inside the file say which ones are sheets
            with archive.open(member) as stream, contextlib.suppress(xml.parsers.expat.ExpatError):
                parts.append(_Part(stream))
    for part in parts:
        _need_cells(part.n_rows, part.n_columns, path)
    texts = next((part.texts for part in parts if part.texts), [])
    uses = [(number, n) for part in parts for number, n in part.uses.items()]
    _need(sum(n * texts[number] for number, n in uses if number < len(texts)), path, "it has long texts")


class _Part:
    """What a part of an Excel file says of its size, if it is a sheet or the list of texts that sheets share."""

    def __init__(self, stream: Any) -> None:
        self.n_rows = self.n_columns = 0
        self.texts: list[int] = []
        """Lengths of shared texts."""
        self.uses: Counter[int] = Counter()
        """How often a cell is one of them."""
        self._row = self._column = self._length = 0
        self._is_shared, self._letters = False, ""
        parser = xml.parsers.expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._begin, self._end
        parser.CharacterDataHandler = self._read
        parser.ParseFile(stream)

    def _begin(self, tag: str, fields: dict[str, str]) -> None:
        kind, place = tag.rpartition(":")[2], fields.get("r", "")
        self._letters = ""
        if kind == "row":
            self._row, self._column = int(place[:20]) if place.isdecimal() else self._row + 1, 0
            self.n_rows = max(self.n_rows, self._row)
            if self.n_rows > 2**20:
                raise ValueError(f"a sheet of Excel has at most {2**20:,} rows, and this one has more")
        elif kind == "c":
            letters = place.rstrip("0123456789")
            self._column = _number_of(letters) if letters else self._column + 1
            self.n_columns = max(self.n_columns, self._column)
            self._is_shared = fields.get("t") == "s"
        elif kind == "si":
            self._length = 0

    def _read(self, letters: str) -> None:
        self._letters = letters
        self._length += len(letters)

    def _end(self, tag: str) -> None:
        kind = tag.rpartition(":")[2]
        if kind == "v" and self._is_shared and self._letters.isdecimal():
            self.uses[int(self._letters[:20])] += 1
        elif kind == "si":
            self.texts.append(self._length)


def _number_of(letters: str) -> int:
    """The number of a column of Excel.

    Examples
    --------
    >>> _number_of("A"), _number_of("XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters[:4].upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def check_arrow(path: Path) -> None:
    """Measure a Parquet or Feather file: its cells, and its texts, which may stand there once for many rows."""
    with path.open("rb") as stream:
        is_parquet = stream.read(4) == b"PAR1"
    try:
        _check_parquet(path) if is_parquet else _check_feather(path)
    except MemoryError:
        raise ValueError("it says that a part of it is longer than the memory") from None


def _check_feather(path: Path) -> None:
    table = importlib.import_module("pyarrow.feather").read_table(path)
    table.validate(full=True)  # Arrow trusts what it reads: places of texts may lie outside of them
    _need_cells(table.num_rows, table.num_columns, path)
    _need(table.nbytes, path, "it unpacks to long columns")


def _check_parquet(path: Path) -> None:
    pyarrow, compute, parquet = map(importlib.import_module, ("pyarrow", "pyarrow.compute", "pyarrow.parquet"))
    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        _need_cells(file.metadata.num_rows, len(schema), path)
        kinds = (pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_binary)
        texts = [field.name for field in schema if any(holds(field.type) for holds in kinds)]
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        n_bytes = 0
        for batch in file.iter_batches(columns=texts) if texts else ():
            for column in batch.columns:
                if isinstance(column, pyarrow.DictionaryArray):
                    lengths = compute.binary_length(column.dictionary).cast(pyarrow.int64())
                    n_bytes += compute.sum(lengths.take(column.indices)).as_py() or 0
            _need(n_bytes, path, "it has long texts")
