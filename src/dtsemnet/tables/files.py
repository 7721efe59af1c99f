"""From a file to a data frame, whatever wrote the file.

Delimited text (also packed by gzip, bzip2, xz, zip or zstd), Excel, Parquet, Feather and lines of JSON are known by
their ending. Of a text, the encoding comes from its byte order mark; without one it is UTF-8, and if it is not, the
Windows code page of Western Europe, with a remark that shows a word. The separator is the one that divides the first
lines alike. Cells stay as they are written: :mod:`dtsemnet.tables.recipe` decides which texts are numbers.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import importlib
import io
import lzma
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from dtsemnet.names import printable, quoted
from dtsemnet.tables import limits

__all__ = ["KINDS", "TableOptions", "import_pandas", "read_table"]

KINDS = "CSV, Excel, Parquet, Feather or JSON lines"
"""What can be read, in words."""

TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zip", ".zst")
OTHER_ENDINGS = (".xlsx", ".xlsm", ".parquet", ".pq", ".feather", ".arrow", ".jsonl", ".ndjson", ".json")

UNPACK_BY = {".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zip": "unzip", ".zst": "unzstd"}

WAY_OUT = {
    ".xls": "save it as .xlsx or .csv",
    ".ods": "save it as .xlsx or .csv",
    ".sav": "save it as .csv",
    ".dta": "save it as .csv, or by pandas.read_stata(...).to_parquet(...)",
    ".sas7bdat": "save it as .csv, or by pandas.read_sas(...).to_parquet(...)",
    ".rds": "save it as .csv by write.csv in R",
    ".rda": "save it as .csv by write.csv in R",
    ".tar": "unpack it first",
    ".7z": "unpack it first",
    ".orc": "save it as .parquet",
    ".db": "write the rows of a query to .csv",
    ".sqlite": "write the rows of a query to .csv",
}
"""What to do with a file of an ending that is known, but not read."""

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks, the longer ones first."""

HEAD = 2**16
"""As many bytes of a text decide its separator."""


@dataclass(frozen=True)
class TableOptions:
    """How a table is written, where its file does not say so itself."""

    sep: str | None = None
    """What stands between two columns of a text."""
    decimal: str | None = None
    """The decimal mark: a point or a comma."""
    thousands: str | None = None
    """What groups the digits of large numbers."""
    na: tuple[str, ...] = ()
    """Further texts that mean that a value is missing."""
    encoding: str | None = None
    sheet: str | None = None
    """Sheet of an Excel file; the first by default."""
    header: bool = True
    """Whether the first line holds names; without names, columns are called x0, x1, ..."""

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"--decimal must be . or , and not {self.decimal!r}.")
        if self.thousands is not None and self.thousands not in (".", ",", " ", "'", "_", "\N{NO-BREAK SPACE}"):
            raise ValueError(f"--thousands must be a comma, point, space, ' or _, got {self.thousands!r}.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(f"--decimal and --thousands must differ; both are {self.decimal!r}.")
        if self.sep is not None:
            object.__setattr__(self, "sep", {"\\t": "\t", "tab": "\t", "space": " "}.get(self.sep, self.sep))
            if len(self.sep or "") != 1:
                raise ValueError(f"--sep must be one character, or tab, or space; got {self.sep!r}.")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    f"--encoding {self.encoding!r} is not known; there are utf-8, latin-1, cp1252, utf-16, and more."
                ) from None


def read_table(
    path: Path,
    options: TableOptions | None = None,
    *,
    text: Iterable[str] | None = (),
    written: Iterable[str] = (),
    remark: Callable[[str], None] = lambda _: None,
) -> Any:
    """Read a table.

    Parameters
    ----------
    path : Path
        The file; ``-`` is delimited text on standard input.
    options : TableOptions, optional
    text : iterable of str, or None
        Columns that are read as text whatever they look like; None: all.
    written : iterable of str
        Columns of numbers that are read as text from delimited text, since their marks are known; in files of other
        kinds a number is a number.
    remark : callable, optional
        Is told what was decided on the way.

    Returns
    -------
    pandas.DataFrame
        Numbers that are written as Python would write them are numbers; all else is text.
    """
    options = options or TableOptions()
    if str(path) != "-" and not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"data file {quoted(path)} {what}; name a file of {KINDS}.")
    pandas = import_pandas()
    ending = _ending(path)
    try:
        if ending in ("", *TEXT_ENDINGS):
            text = None if text is None else [*text, *written]
            frame = _read_text(pandas, path, options, text, remark)
        elif ending in OTHER_ENDINGS:
            frame = _read_other(pandas, path, ending, options, remark)
        else:
            raise ValueError(_unknown(ending))
        named = frame.columns if text is None else set(text)
        wanted = [n for n, kind in zip(frame.columns, frame.dtypes) if n in named and kind.kind in "iufb"]
        frame = frame.astype(dict.fromkeys(wanted, "string")) if wanted else frame
    except UnicodeDecodeError as error:
        raise ValueError(
            f"data file {quoted(path)} cannot be read: {error}; name its encoding, as in --encoding latin-1."
        ) from error
    except MemoryError:
        raise
    except Exception as error:  # a damaged file may break any step of the packages that read it
        raise ValueError(f"data file {quoted(path)} cannot be read: {_reason(error)}.") from error
    frame.columns = [str(name) for name in frame.columns]
    if not frame.columns.is_unique:
        name, n = Counter(frame.columns).most_common(1)[0]
        raise ValueError(f"data file {quoted(path)} has {n} columns named {quoted(name)}; give each a name of its own.")
    if not len(frame):
        raise ValueError(f"data file {quoted(path)} has a header but no rows.")
    return frame


def _reason(error: Exception) -> str:
    """Say in plain words why a table cannot be read."""
    reason = printable(" ".join(str(error).split())[:1000].rstrip(".") or type(error).__name__)
    if "No columns to parse" in reason:
        return "it is empty"
    uneven = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", reason)
    if uneven is None:
        return reason
    expected, line, seen = uneven.groups()
    return (
        f"line {line} has {seen} cells, and those before it have {expected}; if another character divides the columns, "
        "name it by --sep"
    )


def _ending(path: Path) -> str:
    """The ending that names the kind of a file; empty for standard input. A packed file is of the kind inside."""
    if str(path) == "-":
        return ""
    endings = [part.lower() for part in path.suffixes]
    if endings and endings[-1] in PACKED_ENDINGS:
        inner = endings[-2] if len(endings) > 1 else ".csv"  # data.zip: the member decides
        return inner if inner in TEXT_ENDINGS or endings[-1] != ".zip" else ".csv"
    return endings[-1] if endings else "none"


def _unknown(ending: str) -> str:
    way_out = WAY_OUT.get(ending)
    if way_out:
        return f"{ending} files are not read; {way_out}"
    known = ", ".join((*TEXT_ENDINGS, *OTHER_ENDINGS))
    return f"the ending must be {known}, or one of the first few followed by {', '.join(PACKED_ENDINGS)}"


def _read_other(pandas: Any, path: Path, ending: str, options: TableOptions, remark: Callable[[str], None]) -> Any:
    if ending in (".xlsx", ".xlsm"):
        frame = _read_excel(pandas, path, options, remark)
    elif ending in (".parquet", ".pq", ".feather", ".arrow"):
        limits.check_arrow(path)
        frame = (pandas.read_parquet if ending in (".parquet", ".pq") else pandas.read_feather)(path)
    else:
        lines = ending != ".json"
        limits.check_records(path, lines=lines)
        as_written = {"convert_dates": False} if _is_before_3_1(pandas) else {}  # later dtype=False says it all
        frame = pandas.read_json(path, lines=lines, orient="records", dtype=False, **as_written)
    nested = [n for n in frame.columns if any(isinstance(value, (list, dict)) for value in frame[n].head(100))]
    if nested:
        raise ValueError(f"column {quoted(nested[0])} holds lists or objects; give each of their values a column")
    if isinstance(frame.index, pandas.MultiIndex) or frame.index.name is not None:
        frame = frame.reset_index()  # what was the index when the file was written is a column like the others
    return frame.mask(frame.astype(str).isin(options.na)) if options.na else frame


def _read_excel(pandas: Any, path: Path, options: TableOptions, remark: Callable[[str], None]) -> Any:
    try:
        importlib.import_module("openpyxl")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "reading Excel needs openpyxl, which is not installed; install it by: pip install 'dtsemnet[excel]', or "
            "save the sheet as .csv"
        ) from None
    try:
        limits.check_book(path)
        with pandas.ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            sheet = sheets[0] if options.sheet is None else options.sheet
            if sheet not in sheets:
                raise ValueError(f"it has no sheet {quoted(sheet)}; it has {', '.join(map(quoted, sheets))}")
            if len(sheets) > 1 and options.sheet is None:
                remark(f"{path.name} has {len(sheets)} sheets; {quoted(sheet)} is read, another by --sheet NAME.")
            frame = pandas.read_excel(book, sheet_name=sheet, header=0 if options.header else None)
    except zipfile.BadZipFile:
        raise ValueError("it is no Excel file") from None
    return frame if options.header else _numbered(frame)


def _read_text(
    pandas: Any, path: Path, options: TableOptions, text: Iterable[str] | None, remark: Callable[[str], None]
) -> Any:
    """Read delimited text; an encoding that was guessed is said."""
    if str(path) == "-":
        stdin: Any = getattr(sys.stdin, "buffer", None)
        content = sys.stdin.read().encode() if stdin is None else stdin.read()
        opened: Callable[[], BinaryIO] = lambda: io.BytesIO(content)  # noqa: E731
    else:
        opened = lambda: _open(path)  # noqa: E731
    with opened() as stream:
        head = stream.read(HEAD)
    encoding = options.encoding or _encoding(head)
    try:
        return _parse(pandas, opened, head, encoding, options, text, remark)
    except UnicodeDecodeError as error:
        if options.encoding is not None:
            raise
        frame = _parse(pandas, opened, head, "cp1252", options, text, remark)
        word = _word_beyond_ascii(frame)
        example = f" ({quoted(word)})" if word else ""
        remark(
            f"{path.name} is not UTF-8 ({error.reason} at byte {error.start:,}) and is read as Western European text, "
            f"cp1252{example}; if that looks wrong, name its --encoding."
        )
        return frame


def _parse(
    pandas: Any, opened: Callable[[], BinaryIO], head: bytes, encoding: str, options: TableOptions,
    text: Iterable[str] | None, remark: Callable[[str], None],
) -> Any:  # fmt: skip
    lines = head.decode(encoding, errors="replace")
    cut = len(head) == HEAD
    n_comments = _count_comments(lines)
    if n_comments:
        some = "1 line that begins" if n_comments == 1 else f"{n_comments} lines that begin"
        remark(f"{some} with # above the table left out.")
        lines = "".join(lines.splitlines(keepends=True)[n_comments:])
    separator = options.sep or _separator(lines, cut)
    if options.header:
        _question_header(lines, separator, remark)
        with opened() as stream, io.TextIOWrapper(stream, encoding, errors="replace", newline="") as words:
            limits.check_names(words, separator)
    # Before 3.1 pandas reads some numbers a bit off by default, and a row could then reach another leaf.
    exact = {"float_precision": "round_trip"} if _is_before_3_1(pandas) else {}
    with opened() as stream:
        frame = pandas.read_csv(
            stream, sep=separator, dtype=str if text is None else dict.fromkeys(text, str), encoding=encoding,
            low_memory=False, skipinitialspace=True, na_values=list(options.na),
            header=0 if options.header else None, skiprows=n_comments, **exact,
        )  # fmt: skip
    frame = frame if options.header else _numbered(frame)
    frame.attrs["separator"] = separator
    return frame


def _numbered(frame: Any) -> Any:
    return frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1)


def _encoding(head: bytes) -> str:
    """The encoding that a byte order mark names; UTF-16 also without one, by the zeros between its letters."""
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    if len(head) >= 4:
        for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
            zeros = head[start::2].count(0)
            if zeros > 0.6 * len(head[start::2]) and zeros > 4 * head[1 - start :: 2].count(0):
                return name
    return "utf-8"


def _separator(head: str, cut: bool) -> str:
    """The character that divides the header and as many of the first lines as possible alike.

    Examples
    --------
    >>> _separator("name;price (EUR, net)\\nbread;1,50\\n", False)
    ';'
    >>> _separator("a  b c\\n1 2  3\\n", False)
    '\\\\s+'
    """

    def agreement(separator: str) -> tuple[bool, float, int]:
        records = [record for record in csv.reader(io.StringIO(head), delimiter=separator) if record]
        records = records[:-1] if cut and len(records) > 1 else records
        if not records:
            return False, 0.0, 0
        alike = sum(len(record) == len(records[0]) for record in records) / len(records)
        return len(records[0]) > 1, round(alike, 1), len(records[0])

    try:
        best = max(";\t|,", key=agreement)
        if agreement(best)[0]:
            return best
    except csv.Error:
        return ","
    lines = [line.split() for line in head.splitlines() if line.strip()]
    lines = lines[:-1] if cut else lines
    return r"\s+" if lines and len(lines[0]) > 1 and len({len(words) for words in lines}) == 1 else ","


def _count_comments(head: str) -> int:
    """Count the lines above a table that begin with #, but for one that may be its header.

    Examples
    --------
    >>> _count_comments("# made in May, by us\\n# twice\\na,b,c\\n1,2,3\\n"), _count_comments("#a,b,c\\n1,2,3\\n")
    (2, 0)
    """
    lines = head.lstrip("\ufeff").splitlines()
    count = next((k for k, line in enumerate(lines) if not line.startswith("#")), 0)
    if count and count < len(lines):
        above, below = (re.sub(r"[^,;\t|]", "", line) for line in (lines[count - 1], lines[count]))
        count -= above == below
    return count


def _question_header(head: str, separator: str, remark: Callable[[str], None]) -> None:
    """Remark on a first line that looks like a row of the table, or that names two columns alike."""
    first = head.lstrip("\ufeff").partition("\n")[0].strip()
    cells = first.split() if separator == r"\s+" else next(csv.reader([first], delimiter=separator), [])
    names = Counter(cell.strip() for cell in cells)
    twice = next((name for name, count in names.items() if name and count > 1), None)
    if twice is not None:
        remark(f"{names[twice]} columns are called {quoted(twice)}; the second is read as {quoted(twice + '.1')}.")
    # No two parts of the pattern can read the same digits: else a long cell would take quadratic time.
    number = re.compile(r"-?(\d+([.,]\d+)?|[.,]\d+)([eE][+-]?\d+)?")
    numbers = [cell for cell in cells if number.fullmatch(cell.strip())]
    if numbers and len(numbers) >= len(cells) / 2:
        some = ", ".join(quoted(cell.strip()) for cell in cells[:3])
        remark(f"the first line is read as the names of the columns ({some}, ...); if it is a row, add --no-header.")


def _word_beyond_ascii(frame: Any) -> str:
    """A short text of a table that is not ASCII; empty if there is none."""
    for texts in (frame.columns, *(frame[name].dropna().unique()[:1000] for name in frame.columns)):
        for value in texts:
            if isinstance(value, str) and not value.isascii():
                return value[:30]
    return ""


def _open(path: Path) -> BinaryIO:
    """Open a file to read its bytes, unpacked; a small file cannot unpack to fill the memory."""
    packing = path.suffix.lower()
    if packing not in PACKED_ENDINGS:
        return path.open("rb")
    stream: Any
    if packing == ".zip":
        stream = _open_member(path)
    elif packing == ".zst":
        arrow = importlib.import_module("pyarrow")
        stream = arrow.CompressedInputStream(arrow.OSFile(str(path)), "zstd")
    else:
        unpack: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[packing]
        stream = unpack(path, "rb")
    return cast(BinaryIO, io.BufferedReader(_Unpacked(stream, path, packing)))


def _open_member(path: Path) -> Any:
    """Open the only table of a zip archive."""
    archive = zipfile.ZipFile(path)
    files = [info for info in archive.infolist() if not info.is_dir() and not info.filename.startswith("__MACOSX")]
    tables = [info for info in files if info.filename.lower().endswith(TEXT_ENDINGS)]
    if len(tables) != 1:
        some = ", ".join(quoted(info.filename) for info in files[:5])
        raise ValueError(f"it must hold one .csv file, and holds {some or 'none'}; unpack it, and name one")
    if tables[0].flag_bits & 1:
        raise ValueError("it is encrypted; unpack it first")
    return archive.open(tables[0])


class _Unpacked(io.RawIOBase):
    """The bytes of a packed file, up to a limit."""

    def __init__(self, stream: Any, path: Path, packing: str) -> None:
        self.stream, self.path, self.packing = stream, path, packing
        self.packed, self.n_read = path.stat().st_size, 0
        self.limit = limits.most_bytes(self.packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self.stream.read(len(buffer))
        self.n_read += len(part)
        if self.n_read > self.limit:
            raise ValueError(
                f"it unpacks to more than {self.limit / 1e6:,.0f} MB, {self.limit // self.packed} times its size; if "
                f"it is meant to, unpack it first by: {UNPACK_BY[self.packing]} {self.path}"
            )
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()


def import_pandas() -> Any:
    """Import pandas, or name the extra that installs it."""
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise ModuleNotFoundError(
            "reading a table needs pandas, which is not installed; install it by: pip install 'dtsemnet[data]'",
            name="pandas",
        ) from None


def _is_before_3_1(pandas: Any) -> bool:
    return tuple(int(part) for part in pandas.__version__.split(".")[:2]) < (3, 1)
