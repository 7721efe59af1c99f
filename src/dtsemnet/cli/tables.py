"""Tables: from a file to rows that a tree can be fitted to, with a remark on every decision.

Nothing is decided silently: rows without a target are dropped, columns that cannot help
(one value only, texts that differ in nearly every row) are left out, and dates are refused,
because only a person knows what about a date matters. Texts become categories. A column
that is text in training is always read as text, so that ``7`` is then the text "7".
"""

from __future__ import annotations

import gzip
import io
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.cli.output import check_columns, counted, listed, quoted, require

__all__ = [
    "LabelledRows",
    "SplitTable",
    "pick",
    "prepare",
    "read_split_table",
    "read_table",
    "take_target",
    "task_of",
]

TaskName: TypeAlias = Literal["classification", "regression"]

MOST_CLASSES = 20
"""Whole numbers with more distinct values than this are a quantity, not classes."""

MOST_CATEGORIES = 1000
"""A column of text with more distinct values than this is left out."""

MOST_UNPACKED = 2**28, 50
"""A packed table may unpack to this many bytes, or to this many times its size if that is more."""

MOSTLY_NUMBERS = 0.9
"""A column of text with this share of numbers is probably one of numbers with slips of the pen."""

DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}( \d.*)?")


@dataclass(frozen=True)
class LabelledRows:
    """Columns and targets of rows, and remarks on how they were chosen."""

    X: Any
    """A data frame, or an array for the embedded table, which needs no pandas."""
    y: Array
    names: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Array) -> LabelledRows:
        """Take some of the rows."""
        X = self.X[rows] if isinstance(self.X, np.ndarray) else self.X.iloc[rows]
        return replace(self, X=X, y=self.y[rows])


@dataclass(frozen=True)
class SplitTable:
    """Rows for training, testing and validation, and what is known about their table."""

    name: str
    target: str
    task: TaskName
    reason: str
    """Why it is that task, for the summary."""
    test_rows: str
    """How the test rows were chosen, for the summary."""
    train: LabelledRows
    test: LabelledRows | None
    validation: LabelledRows | None


def read_split_table(
    data: Path | None,
    target: str | None,
    *,
    task: str,
    test: Path | None,
    test_fraction: float,
    validation: Path | None,
    drop: Sequence[str],
    categorical: Sequence[str],
    seed: int,
) -> SplitTable:
    """Read a table to fit a tree to, and set test rows aside; the arguments are the options of ``dtsemnet fit``."""
    if data is None:
        if target not in (None, "species") or test or validation or drop or categorical:
            raise ValueError(
                "--target, --test, --validation, --drop and --categorical need a data file; name one first."
            )
        from sklearn.datasets import load_iris

        iris = load_iris()
        names = tuple(str(name).removesuffix(" (cm)") for name in iris.feature_names)
        table = LabelledRows(iris.data, iris.target_names.astype(object)[iris.target], names)
        target, name = "species", "iris, a table embedded in scikit-learn"
    else:
        whole = read_table(data, text=categorical)
        check_columns(categorical, whole.columns, "--categorical")
        frame, y, dropped = take_target(whole, target)
        X, remarks = prepare(frame, drop=drop)
        table, name = LabelledRows(X, y, tuple(X.columns), (*dropped, *remarks)), str(data)
    assert target is not None
    kind, reason = task_of(table.y, task)
    table = replace(table, y=_typed(table.y, kind))
    others = [None if path is None else _like(table, path, target, kind) for path in (test, validation)]
    train, held, test_rows = table, others[0], f", the rows of {test}"
    if test is None:
        train, held = _hold_out(table, test_fraction, seed, by_class=kind == "classification")
        test_rows = f" ({100 * test_fraction:g} %, drawn with seed {seed})" if held is not None else ""
    return SplitTable(name, target, kind, reason, test_rows, train, held, others[1])


def read_table(path: Path, *, text: Iterable[str] = ()) -> Any:
    """Read a CSV or Parquet file, columns of ``text`` as text whatever they look like; ``-`` is CSV on stdin."""
    if str(path) != "-" and not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"data file {quoted(path)} {what}; name a CSV or Parquet file.")
    pandas = require("pandas", extra="data", verb="reading a table")
    kind = "".join(path.suffixes[-2:]).lower()
    try:
        if kind.endswith((".parquet", ".pq")):
            frame = pandas.read_parquet(path)
            wanted = [name for name in text if name in frame.columns and frame[name].dtype.kind in "iufb"]
            frame = frame.astype(dict.fromkeys(wanted, "string"))
        elif kind.endswith((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")) or str(path) == "-":
            frame = _read_csv(pandas, path, dict.fromkeys(text, str))
        else:
            raise ValueError("the ending must be .csv, .tsv, .txt, .parquet or .pq")
    except UnicodeDecodeError as error:
        raise ValueError(f"data file {quoted(path)} cannot be read: {error}; save it as UTF-8 text.") from error
    except (ValueError, OSError, ImportError, EOFError, pandas.errors.ParserError) as error:
        reason = str(error).strip().rstrip(".")
        raise ValueError(f"data file {quoted(path)} cannot be read: {reason}.") from error
    frame.columns = [str(name) for name in frame.columns]
    if not len(frame):
        raise ValueError(f"data file {quoted(path)} has a header but no rows.")
    return frame


def _read_csv(pandas: Any, path: Path, dtype: dict[str, type]) -> Any:
    """Read CSV; the separator is the one that the header has most of."""
    source: Any = path
    if str(path) == "-":
        source = io.StringIO(sys.stdin.read())
        head = source.readline()
        source.seek(0)
    else:
        if path.suffix.lower() == ".gz":
            _check_unpacked(path)
        opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig") as stream:
            head = stream.readline()
    separator = max(",;\t|", key=head.count)
    # Before 3.1 pandas reads some numbers a bit off by default, and a row could then reach another leaf.
    old = tuple(int(part) for part in pandas.__version__.split(".")[:2]) < (3, 1)
    exact = {"float_precision": "round_trip"} if old else {}
    return pandas.read_csv(source, sep=separator, dtype=dtype, encoding="utf-8-sig", low_memory=False, **exact)


def _check_unpacked(path: Path) -> None:
    """Refuse a packed table that would fill the memory: a file of a megabyte can unpack to a gigabyte."""
    packed, (least, factor), unpacked = path.stat().st_size, MOST_UNPACKED, 0
    limit = max(least, factor * packed)
    if packed * 1032 <= limit:  # deflate packs no tighter
        return
    with gzip.open(path, "rb") as stream:
        while part := stream.read(2**20):
            unpacked += len(part)
            if unpacked > limit:
                raise ValueError(
                    f"it unpacks to more than {limit / 1e6:,.0f} MB, {limit // packed} times its size; if it is "
                    f"meant to, unpack it first by: gunzip {path}"
                )


def take_target(frame: Any, target: str | None) -> tuple[Any, Any, tuple[str, ...]]:
    """Separate the target from the columns; rows without a target are dropped, and a remark says so."""
    if target is None:
        raise ValueError(f"--target is missing: which column is to be predicted? There are {listed(frame.columns)}.")
    check_columns([target], frame.columns, "--target")
    absent = frame[target].isna().to_numpy()
    remarks: tuple[str, ...] = ()
    if absent.any():
        remarks = (f"{counted(int(absent.sum()), 'row')} without a target dropped.",)
        frame = frame[~absent]
        if not len(frame):
            raise ValueError(f"--target {quoted(target)} is empty in every row.")
    y = frame[target].infer_objects()
    _refuse_infinite(frame[[target]], "--target")
    return frame.drop(columns=target), _plain_target(y), remarks


def _plain_target(y: Any) -> Array:
    """Convert a target to an array; whole floats, which integers become beside an empty cell, become integers again."""
    kind = y.dtype.kind
    if kind in "mM":
        raise ValueError(f"--target {quoted(y.name)} holds dates; turn it into a number first.")
    if kind in "biu":
        return np.asarray(y, dtype=bool if kind == "b" else np.int64)
    if kind == "f":
        numbers = np.asarray(y, dtype=np.float64)
        whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and np.abs(numbers).max() < 2**53
        return numbers.astype(np.int64) if whole else numbers
    return np.array([str(value) for value in y], dtype=object)


def task_of(y: Array, option: str = "auto") -> tuple[TaskName, str]:
    """Decide between classification and regression, and say why; ``option`` is that of ``--task``.

    Examples
    --------
    >>> task_of(np.array(["yes", "no"], dtype=object))
    ('classification', 'text')
    >>> task_of(np.arange(1000))
    ('regression', '1,000 different numbers')
    """
    n_values = len(set(y.tolist()))
    if option == "classification" or (option == "auto" and y.dtype.kind not in "iuf"):
        reason = "as --task says" if option != "auto" else "true or false" if y.dtype.kind == "b" else "text"
        if n_values > max(MOST_CLASSES, len(y) // 2):
            raise ValueError(
                f"the target has {n_values:,} classes in {len(y):,} rows; it looks like a name, not a class."
            )
        return "classification", reason
    if y.dtype.kind not in "iuf":
        raise ValueError(f"regression needs a target of numbers, got {quoted(y[0])}; choose --task classification.")
    if option == "regression":
        return "regression", "as --task says"
    if y.dtype.kind in "iu" and n_values <= min(MOST_CLASSES, max(2, len(y) // 10)):
        return "classification", f"{n_values} different whole numbers"
    return "regression", f"{n_values:,} different numbers"


def prepare(frame: Any, *, drop: Sequence[str] = ()) -> tuple[Any, tuple[str, ...]]:
    """Choose and convert the columns to fit a tree to; returns them and remarks."""
    check_columns(drop, frame.columns, "--drop")
    frame, remarks = frame.drop(columns=list(drop)).copy(), []
    for name in list(frame.columns):
        useless = _useless(name, frame[name])
        slip = _slip_of_the_pen(frame[name])
        if slip:
            remarks.append(f"column {quoted(name)} would hold numbers but for {slip}, and is read as text.")
        if useless:
            remarks.append(f"column {quoted(name)} left out: {useless}.")
            del frame[name]
        elif _is_text(frame[name]):
            _refuse_dates(name, frame[name])
            frame[name] = frame[name].astype("category")
        elif _counts_rows(frame[name]):
            remarks.append(f"column {quoted(name)} looks like an identifier; leave it out by --drop {quoted(name)}.")
    if not len(frame.columns):
        raise ValueError("no column is left to predict from: " + " ".join(remarks))
    _refuse_infinite(frame, "column")
    return frame, tuple(remarks)


def pick(frame: Any, names: Sequence[str], path: Path) -> Any:
    """Take the columns of training, in their order, from another table."""
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise ValueError(
            f"{path} has no column {quoted(absent[0])}, which the tree reads; it has {listed(frame.columns)}."
        )
    _refuse_infinite(frame[list(names)], f"{path}: column")
    return frame[list(names)]


def _refuse_infinite(frame: Any, what: str) -> None:
    """Refuse infinite numbers, and name the row as it is counted in the file."""
    for name in frame.columns:
        if frame[name].dtype.kind == "f" and np.isinf(values := frame[name].to_numpy()).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise ValueError(
                f"{what} {quoted(name)} holds {values[row]} in row {frame.index[row]}, counted from 0 below the header;"
                " leave the cell empty if the number is not known."
            )


def _useless(name: str, values: Any) -> str:
    """Say why a column cannot help; empty if it may."""
    if values.dtype.kind in "mM":
        _refuse_dates(name, values)
    known = values.dropna()
    n_values = known.nunique()
    if n_values == 0:
        return "it is empty"
    if n_values == 1 and len(known) == len(values):
        return f"every row has {quoted(known.iloc[0])}"
    if re.fullmatch(r"Unnamed: \d+", name) and _counts_rows(values):
        return "it numbers the rows"
    if _is_text(values):
        many = n_values > MOST_CATEGORIES or (n_values >= 20 and n_values > 0.9 * len(known))
        if many and not DATE.fullmatch(str(known.iloc[0])):
            return f"{n_values:,} different texts in {counted(len(known), 'row')}"
    return ""


def _slip_of_the_pen(values: Any) -> str:
    """Name a text in a column that otherwise holds numbers; empty if there is none, or many."""
    if not _is_text(values) or str(values.dtype) == "category":
        return ""
    pandas = require("pandas", extra="data", verb="reading a table")
    known = values.dropna()
    wrong = known[pandas.to_numeric(known, errors="coerce").isna()]
    if not len(wrong) or len(wrong) > (1 - MOSTLY_NUMBERS) * len(known):
        return ""
    return f"{quoted(wrong.iloc[0])} in row {wrong.index[0]}"


def _is_text(values: Any) -> bool:
    if values.dtype.kind in "iufbc":
        return False
    return str(values.dtype) == "category" or any(isinstance(value, str) for value in values.dropna().unique())


def _counts_rows(values: Any) -> bool:
    """Decide whether whole numbers only number the rows: all differ, and hardly any between them is missing."""
    if values.dtype.kind not in "iu" or len(values) < 20 or not values.is_unique:
        return False
    return int(values.max()) - int(values.min()) < 1.5 * len(values)


def _refuse_dates(name: str, values: Any) -> None:
    seen = [str(value) for value in values.dropna().unique()[:100]]
    if values.dtype.kind in "mM" or (seen and all(DATE.fullmatch(value) for value in seen)):
        raise ValueError(
            f"column {quoted(name)} holds dates or times ({seen[0] if seen else values.dtype}); turn it into numbers "
            f"that matter (days since a day, month, weekday), or leave it out by --drop {quoted(name)}."
        )


def _hold_out(
    table: LabelledRows, share: float, seed: int, *, by_class: bool
) -> tuple[LabelledRows, LabelledRows | None]:
    """Set test rows aside, in proportion to the classes if every class has at least two rows."""
    from sklearn.model_selection import train_test_split

    n_test = round(share * len(table))
    if n_test == 0:
        return table, None
    if len(table) - n_test < 2:
        raise ValueError(f"{len(table)} rows are too few to hold some out; add --test-fraction 0.")
    labels = None
    if by_class:
        _, counts = np.unique(table.y, return_counts=True)
        labels = table.y if counts.min() >= 2 and n_test >= len(counts) and len(table) - n_test >= len(counts) else None
    train, test = train_test_split(np.arange(len(table)), test_size=n_test, random_state=seed, stratify=labels)
    moved = _rows_with_empty_cells(table, train, test)
    train, test = np.concatenate([train, moved]), np.setdiff1d(test, moved)
    return table.take(np.sort(train)), table.take(test)


def _rows_with_empty_cells(table: LabelledRows, train: Array, test: Array) -> Array:
    """Choose one test row for each column whose empty cells are all among the test rows: training must see one."""
    if isinstance(table.X, np.ndarray):
        return np.empty(0, dtype=train.dtype)
    empty = table.X.isna().to_numpy()
    unknown = empty.any(axis=0) & ~empty[train].any(axis=0)
    return np.unique([test[empty[test, column]].min() for column in np.flatnonzero(unknown)]).astype(train.dtype)


def _like(table: LabelledRows, path: Path, target: str, task: str) -> LabelledRows:
    """Read another table with the columns of the first."""
    text = [name for name in table.names if str(table.X[name].dtype) == "category"]
    text += [target] if table.y.dtype.kind == "O" else []
    frame, y, _ = take_target(read_table(path, text=text), target)
    X = pick(frame, table.names, path)
    for name in table.names:  # now, and not after a long fit
        if name not in text and X[name].isna().any() and not table.X[name].isna().any():
            raise ValueError(
                f"column {quoted(name)} has empty cells in {path}, but none in training, so the tree cannot know what "
                "they mean; fill them, or leave those rows out."
            )
    return replace(table, X=X, y=_typed(y, task), remarks=())


def _typed(y: Array, task: str) -> Array:
    return y if task == "classification" else y.astype(np.float64)
