"""Tables to fit a tree to: which columns, which target, which rows for what, with a remark on every decision.

:mod:`dtsemnet.tables` reads the file and turns texts into numbers. Nothing is decided silently: rows without a target
are dropped, columns that cannot help (one value only, texts that differ in nearly every row, dates that nobody asked
for) are left out. Texts become categories. A column that is text in training is always read as text, so that ``7`` is
then the text "7".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.cli.output import Tell, check_columns, counted, listed, quoted, working
from dtsemnet.names import printable
from dtsemnet.tables.dates import PARTS, looks_like_dates
from dtsemnet.tables.files import TableOptions, import_pandas, read_table
from dtsemnet.tables.recipe import Recipe, is_text

__all__ = [
    "Fates",
    "LabelledRows",
    "SplitTable",
    "TableRequest",
    "pick",
    "prepare",
    "read_split_table",
    "read_table",
    "read_weight",
    "take_target",
    "task_of",
]

TaskName: TypeAlias = Literal["classification", "regression"]
Remark: TypeAlias = Callable[[str], None]
Fates: TypeAlias = dict[str, str]
"""What became of each column of a file, in words."""

MOST_CLASSES = 20
"""Whole numbers with more distinct values than this are a quantity, not classes."""

MOST_CATEGORIES = 1000
"""A column of text with more distinct values than this is left out."""

FEWEST_IDENTIFIERS = 20
"""With fewer distinct values a column is not taken for an identifier."""


@dataclass(frozen=True)
class LabelledRows:
    """Columns and targets of rows, and how they were chosen."""

    X: Any
    """A data frame, or an array for the embedded table, which needs no pandas."""
    y: Array
    names: tuple[str, ...]
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Array) -> LabelledRows:
        """Take some of the rows."""
        X = self.X[rows] if isinstance(self.X, np.ndarray) else self.X.iloc[rows]
        return replace(self, X=X, y=self.y[rows], weight=None if self.weight is None else self.weight[rows])


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
    recipe: Recipe
    fates: Fates
    remarks: tuple[str, ...]
    weight: str | None = None


@dataclass(frozen=True)
class TableRequest:
    """What the options of ``dtsemnet fit`` say about the table."""

    data: Path | None = None
    target: str | None = None
    task: str = "auto"
    test: Path | None = None
    test_fraction: float = 0.2
    validation: Path | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    dates: Sequence[str] = ()
    month_first: bool | None = None
    weight: str | None = None
    seed: int = 0
    reading: TableOptions = field(default_factory=TableOptions)


def read_split_table(request: TableRequest, remark: Remark) -> SplitTable:
    """Read a table to fit a tree to, and set test rows aside; ``remark`` is told each decision."""
    remarks: list[str] = []

    def tell(text: str) -> None:
        remarks.append(text)
        remark(text)

    data, target, recipe, fates = request.data, request.target, Recipe(), Fates()
    if data is None:
        table = _embedded(request)
        target, name = "species", "iris, a table embedded in scikit-learn"
    else:
        table, recipe, fates = _read_training(request, data, tell)
        name = str(data)
    assert target is not None
    kind, reason = task_of(table.y, request.task)
    table = replace(table, y=_typed(table.y, kind))
    paths = (request.test, request.validation)
    others = [None if path is None else _like(table, path, request, recipe, kind) for path in paths]
    train, held, test_rows = table, others[0], f", the rows of {request.test}"
    if request.test is None:
        by_class = kind == "classification"
        train, held = _hold_out(table, request.test_fraction, request.seed, by_class=by_class)
        drawn = f" ({100 * request.test_fraction:g} %, drawn with seed {request.seed})"
        test_rows = drawn if held is not None else ""
    return SplitTable(
        name, target, kind, reason, test_rows, train, held, others[1], recipe, fates, tuple(remarks), request.weight
    )


def _embedded(request: TableRequest) -> LabelledRows:
    """Iris, for the first try without a file."""
    others = (request.test, request.validation, request.drop, request.categorical, request.dates, request.weight)
    if request.target not in (None, "species") or any(others):
        raise ValueError("--target, --test, --validation, --drop, --categorical, --date and --weight need a data file; "
                         "name one first.")  # fmt: skip
    from sklearn.datasets import load_iris

    iris = load_iris()
    names = tuple(str(name).removesuffix(" (cm)") for name in iris.feature_names)
    return LabelledRows(iris.data, iris.target_names.astype(object)[iris.target], names)


def _read_training(request: TableRequest, path: Path, remark: Remark) -> tuple[LabelledRows, Recipe, Fates]:
    """Read the file of training rows, and find the recipe for its columns."""
    with working(f"reading {path.name}"):
        frame = read_table(path, request.reading, text=request.categorical, remark=remark)
    check_columns(request.categorical, frame.columns, "--categorical")
    check_columns(request.drop, frame.columns, "--drop")
    target, text = request.target, list(request.categorical)
    if target is not None:
        check_columns([target], frame.columns, "--target")
        text += [target] if request.task == "classification" else []
    dates = _date_requests(request.dates, frame.columns)
    with working(f"reading the columns of {path.name}") as tell:
        frame, recipe, texts = _with_recipe(frame, path, request, [*text, *request.drop], dates, remark, tell)
    frame, y, weight = take_target(frame, target, request.weight, remark)
    if len(y) > 1 and len(set(y.tolist())) == 1:
        remark(f"every row has the target {quoted(y[0])}, so there is nothing to tell apart: the tree is one leaf.")
    X, fates = prepare(frame, drop=request.drop, remark=remark)
    origin = recipe.sources()
    fates = {name: _fate(name, fates, texts, origin) for name in fates}
    recipe = recipe.without([name for name, fate in fates.items() if fate.startswith("left out")])
    return LabelledRows(X, y, tuple(X.columns), weight), recipe, fates


def _with_recipe(
    frame: Any, path: Path, request: TableRequest, text: Sequence[str], dates: Mapping[str, tuple[str, ...]],
    remark: Remark, tell: Tell,
) -> tuple[Any, Recipe, Collection[str]]:  # fmt: skip
    """Turn texts into numbers, and say in which columns.

    A file with decimal commas is read again as text: its 1.234 is more than a thousand.
    """
    quiet: Any = lambda _: None  # noqa: E731
    options: dict[str, Any] = {"text": text, "dates": dates, "month_first": request.month_first, "progress": tell}
    reading, recipe = request.reading, Recipe.find(frame, request.reading, remark=quiet, **options)
    has_commas = any(way.decimal == "," for way in recipe.numbers.values())
    if (has_commas or reading.decimal == "," or reading.thousands == ".") and reading.decimal != ".":
        separator = frame.attrs.get("separator")
        if separator is not None and str(path) != "-":
            frame = read_table(path, reading, text=None)
        reading = replace(reading, decimal=",")
    recipe = Recipe.find(frame, reading, remark=remark, **options)
    return recipe.apply(frame, tell), recipe, recipe.written_as_text(frame)


def _date_requests(texts: Sequence[str], columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Read ``COLUMN`` and ``COLUMN=year,month``."""
    wanted: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, sign, parts = (text, "", "") if text in columns else text.rpartition("=")
        check_columns([name if sign else text], columns, "--date")
        chosen = tuple(part.strip() for part in parts.split(",") if part.strip())
        unknown = [part for part in chosen if part not in PARTS]
        if unknown:
            raise ValueError(f"--date {text}: a date has no {quoted(unknown[0])}; there are {', '.join(PARTS)}.")
        wanted[name] = chosen
    return wanted


def take_target(
    frame: Any, target: str | None, weight: str | None = None, remark: Remark = lambda _: None
) -> tuple[Any, Any, Floats | None]:
    """Separate the target and the weights from the columns; rows without a target are dropped, with a remark."""
    if target is None:
        raise ValueError(f"--target is missing: which column is to be predicted? There are {listed(frame.columns)}.")
    check_columns([target], frame.columns, "--target")
    if weight is not None:
        check_columns([weight], frame.columns, "--weight")
    if weight == target:
        raise ValueError(f"--weight {quoted(weight)} is the target; name another column.")
    absent = frame[target].isna().to_numpy()
    if absent.any():
        remark(f"{counted(int(absent.sum()), 'row')} without a target dropped.")
        frame = frame[~absent]
        if not len(frame):
            raise ValueError(f"--target {quoted(target)} is empty in every row.")
    y = frame[target].infer_objects()
    _refuse_infinite(frame[[target]], "--target")
    return frame.drop(columns=[target, *([weight] if weight else [])]), _plain_target(y), read_weight(frame, weight)


def read_weight(frame: Any, weight: str | None) -> Floats | None:
    """Read the weights of rows; None if no column is named."""
    if weight is None:
        return None
    check_columns([weight], frame.columns, "--weight")
    values = frame[weight]
    if values.dtype.kind not in "biuf":
        raise ValueError(f"--weight {quoted(weight)} must hold numbers, got {quoted(values.iloc[0])}.")
    weights = np.asarray(values, dtype=np.float64)
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(wrong):
        raise ValueError(
            f"--weight {quoted(weight)} must hold numbers of at least 0, got {weights[wrong[0]]:g} in row "
            f"{values.index[wrong[0]]}, counted from 0 below the header."
        )
    return weights


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
            seen = f"the target has {n_values:,} classes in {len(y):,} rows, such as {quoted(y[0])}; "
            if y.dtype.kind in "iuf":
                raise ValueError(seen + "it looks like a quantity: leave out --task classification.")
            if looks_like_dates(import_pandas().Series(y)):
                raise ValueError(seen + "turn dates into numbers in the file, such as the days since one of them.")
            raise ValueError(
                seen + "it looks like a name, not a class. If it is a number, write it in the file without what "
                "stands beside its digits."
            )
        return "classification", reason
    if y.dtype.kind not in "iuf":
        raise ValueError(f"regression needs a target of numbers, got {quoted(y[0])}; choose --task classification.")
    if option == "regression":
        return "regression", "as --task says"
    if y.dtype.kind in "iu" and n_values <= min(MOST_CLASSES, max(2, len(y) // 10)):
        return "classification", f"{n_values} different whole numbers"
    return "regression", f"{n_values:,} different numbers"


def prepare(frame: Any, *, drop: Sequence[str] = (), remark: Remark = lambda _: None) -> tuple[Any, Fates]:
    """Choose and convert the columns to fit a tree to; returns them, and what became of all columns."""
    check_columns(drop, frame.columns, "--drop")
    kept, fates, reasons = {}, Fates(), []
    for name in frame.columns:
        values = frame[name]
        useless = "" if name in drop else _useless(name, values)
        if name in drop or useless:
            fates[name] = f"left out: {useless or '--drop'}"
            if useless:
                reasons.append(f"column {quoted(name)} left out: {useless}.")
                remark(reasons[-1])
            continue
        known, absent = values.dropna(), int(values.isna().sum())
        fates[name] = "number"
        if is_text(values) or str(values.dtype) == "category":
            values = values.astype("category")
            n_values = known.nunique()
            fates[name] = counted(n_values, "category").replace("categorys", "categories")
            if n_values >= FEWEST_IDENTIFIERS and n_values > 0.5 * len(known):
                remark(
                    f"column {quoted(name)} has {n_values:,} categories in {counted(len(known), 'row')}, like an "
                    f"identifier; leave it out by --drop {quoted(name)} if it is one."
                )
        elif _counts_rows(values):
            remark(f"column {quoted(name)} looks like an identifier; leave it out by --drop {quoted(name)}.")
            fates[name] = "number; looks like an identifier"
        if absent:
            fates[name] += f", missing in {counted(absent, 'row')}"
        kept[name] = values
    if not kept:
        none = " ".join(reasons) or "the table has no other than the target" + " and those of --drop" * bool(drop) + "."
        raise ValueError(f"no column is left to predict from: {none}")
    X = frame.iloc[:, :0].assign(**kept)
    _refuse_infinite(X, "column")
    return X, fates


def _fate(name: str, fates: Fates, texts: Collection[str], origin: Mapping[str, str]) -> str:
    """What became of a column, with what its texts were read as."""
    if name in origin:
        return f"{fates[name]}, from the date {quoted(origin[name])}"
    if name in texts:
        return f"{fates[name]}, written as text"
    return fates[name]


def pick(frame: Any, names: Sequence[str], path: Path, recipe: Recipe | None = None) -> Any:
    """Take the columns of training, in their order, from another table."""
    absent = [name for name in names if name not in frame.columns]
    if absent:
        source = {} if recipe is None else recipe.sources()
        name = source.get(absent[0], absent[0])
        raise ValueError(f"{path} has no column {quoted(name)}, which the tree reads; it has {listed(frame.columns)}.")
    _refuse_infinite(frame[list(names)], f"{path}: column")
    return frame[list(names)]


def _refuse_infinite(frame: Any, what: str) -> None:
    """Refuse infinite numbers, and name the row as it is counted in the file."""
    for name in frame.columns:
        if frame[name].dtype.kind == "f" and np.isinf(values := frame[name].to_numpy()).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            label = printable(str(frame.index[row]))  # a file may name its rows
            raise ValueError(
                f"{what} {quoted(name)} holds {values[row]} in row {label}, counted from 0 below the header; leave the "
                "cell empty if the number is not known."
            )


def _useless(name: str, values: Any) -> str:
    """Say why a column cannot help; empty if it may."""
    if example := looks_like_dates(values):
        return (
            f"it holds dates or times ({example}); --date {quoted(name)} reads them as numbers "
            "(year, month, weekday, days)"
        )
    if values.dtype.kind == "m":
        return "it holds durations; turn them into numbers first"
    known = values.dropna()
    n_values = known.nunique()
    if n_values == 0:
        return "it is empty"
    if n_values == 1 and len(known) == len(values):
        only = known.iloc[0]
        return f"every row has {f'{only:.15g}' if isinstance(only, float) else quoted(only)}"
    if re.fullmatch(r"Unnamed: \d+", name) and _counts_rows(values):
        return "it numbers the rows"
    if values.dtype == object and not is_text(values) and not all(isinstance(v, (bool, int, float)) for v in known):
        return f"it holds values of type {type(known.iloc[0]).__name__}"
    if is_text(values):
        many = n_values > MOST_CATEGORIES or (n_values >= FEWEST_IDENTIFIERS and n_values > 0.9 * len(known))
        if many:
            return f"{n_values:,} different texts in {counted(len(known), 'row')}"
    return ""


def _counts_rows(values: Any) -> bool:
    """Decide whether whole numbers only number the rows: all differ, and hardly any between them is missing."""
    if values.dtype.kind not in "iu" or len(values) < FEWEST_IDENTIFIERS or not values.is_unique:
        return False
    return int(values.max()) - int(values.min()) < 1.5 * len(values)


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


def _like(table: LabelledRows, path: Path, request: TableRequest, recipe: Recipe, task: str) -> LabelledRows:
    """Read another table with the columns of the first."""
    target = request.target
    assert target is not None
    text = [name for name in table.names if str(table.X[name].dtype) == "category"]
    text += [target] if table.y.dtype.kind == "O" else []
    with working(f"reading {path.name}") as tell:
        others = recipe.columns - set(recipe.numbers)
        whole = read_table(path, request.reading, text=[*text, *others], written=recipe.numbers)
        frame = recipe.apply(whole, tell)
    frame, y, weight = take_target(frame, target, request.weight)
    X = pick(frame, table.names, path, recipe)
    for name in table.names:  # now, and not after a long fit
        if name not in text and X[name].isna().any() and not table.X[name].isna().any():
            raise ValueError(
                f"column {quoted(name)} has empty cells in {path}, but none in training, so the tree cannot know what "
                "they mean; fill them, or leave those rows out."
            )
    return replace(table, X=X, y=_typed(y, task), weight=weight)


def _typed(y: Array, task: str) -> Array:
    return y if task == "classification" else y.astype(np.float64)
