"""Choose the encoder for what users pass as X, and check X at prediction.

Arrays of numbers stay as they are. A column of strings or categories becomes one
0/1 feature for each category seen in training; a category that was not seen gives
zeros only. Texts that are hardly meant as categories (numbers, dates, identifiers)
are named in one warning with the way out, and never converted: only a person knows
what they mean. In a column with missing numbers the mean takes their place, and a
second feature is 1 if the number is missing. If the first missing value of a column
comes at prediction, no tree has learned what it means: the training mean or the
most frequent category takes its place, and a warning says so. The encoder is part
of the model: it is saved, shown and exported with the tree.

Numbers in a range where float64 has too few digits or too small an exponent for the
weights of a tree (an offset of 1e12 standard deviations, values of 1e-310 or 1e308) are
moved to an ordinary range first, by the affine map of their column (:func:`_conditioned`).
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.estimators.checks import naming, warn_user
from dtsemnet.fit.data import far_limits
from dtsemnet.names import shown
from dtsemnet.tables.numbers import AmbiguousNumbers, NumberText, recognise
from dtsemnet.tree import Column, Encoder
from dtsemnet.tree.encoder import as_array, is_missing
from dtsemnet.tree.frames import as_frame

__all__ = ["add_fills", "as_table", "check_plain_rows", "check_rows", "fit_encoder", "in_blocks", "is_plain"]

MAX_CATEGORIES = 1000
"""A column with more categories than this looks like an identifier."""

MANY_CATEGORIES = 20
"""From this number of categories on a column of text is looked at: it may hold numbers, dates or identifiers."""

Method = TypeVar("Method", bound=Callable[..., Any])

_SPARSE_BLOCK = 1 << 23  # numbers of a sparse table that are dense at a time in predictions: 64 MB
_FEW, _FLOATS = 4096, (np.dtype(np.float64), np.dtype(np.float32))
_SHOWN = 20  # columns that a warning names
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]|$)|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( |$)")


def as_table(X: Any, name: str = "X") -> Any:
    """Return a data frame as it is, and anything else as an array of two dimensions; ``name`` is for errors."""
    X = as_frame(X)
    if scipy.sparse.issparse(X):
        X = _dense(X, name)
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost; pass {name}.filled(np.nan).")
    if hasattr(X, "columns"):
        names = [str(column) for column in X.columns]
        twice = [column for k, column in enumerate(names) if column in names[:k]] if len({*names}) < len(names) else []
        if twice:
            raise ValueError(f"{name} has two columns named {twice[0]!r}; rename one.")
        for column, dtype in zip(X.columns, X.dtypes):
            example: Any = X[column].to_numpy()[:1] if str(dtype).lower() == "object" and len(X) else ()
            holds_dates = len(example) and hasattr(example[0], "toordinal")
            _refuse_dates(f"column {str(column)!r}", "date" if holds_dates else str(dtype), column)
        return _dense(X, name) if _has_sparse_columns(X) else X
    with naming(name, "must be a table of numbers, rows of equal length"):
        array = as_array(X)
    if array.ndim != 2:
        given = f", from {type(X).__name__}" if array.ndim == 0 else ""
        raise ValueError(
            f"Expected 2D array for {name}, got {array.ndim}D array instead{given}. Reshape your data using "
            f"{name}.reshape(-1, 1) if it has a single feature or {name}.reshape(1, -1) if it is a single row."
        )
    _refuse_dates(name, str(array.dtype))
    return array


def fit_encoder(
    X: Any, names: Sequence[str], *, categorical_features: Any, missing: str, estimator: Any
) -> tuple[Encoder, Array]:
    """Choose the encoder for the columns of X, and encode X.

    The last three arguments are parameters of the estimator, and the estimator that errors name. Categorical columns
    are given by name, position or mask.
    """
    chosen = _chosen_columns(X, names, categorical_features)
    if not any(chosen):
        return _fit_numbers(X, names, missing, estimator)
    given = _columns_of(X)
    conditions = _may_condition(estimator)
    with naming("X", "cannot be read"):
        encoder = Encoder(
            _category_column(name, values, missing)
            if categorical
            else _number_column(name, values, missing, conditions)
            for name, values, categorical in zip(names, given, chosen)
        )
        rows = encoder.transform(_object_array(given))
    if isinstance(categorical_features, str):  # nobody has said that these columns are categories
        _warn_of_categories(encoder, given)
    return encoder, rows


def add_fills(encoder: Encoder, mean: Floats) -> Encoder:
    """Let columns without missing values in training fill those that come later.

    ``mean`` holds the mean of each feature over the training rows. It is the fill of a number, and the largest mean
    among the 0/1 features of a column is that of its most frequent category.

    Examples
    --------
    >>> encoder = Encoder([Column("age"), Column("colour", categories=["red", "blue"])])
    >>> [column.fill for column in add_fills(encoder, np.array([40.0, 0.3, 0.7])).columns]
    [40.0, 'blue']
    """
    columns = []
    for column, part in zip(encoder.columns, encoder.features_of_column):
        if column.missing is None:
            fill: Any = _rounded(mean[part.start], column)
            if column.categories is not None:
                fill = column.categories[int(mean[part].argmax())]
            column = replace(column, missing="fill", fill=fill)
        columns.append(column)
    return Encoder(columns)


def check_rows(encoder: Encoder, X: Any, estimator: Any, name: str = "X") -> Array:
    """Check the values of a table at prediction, and return it as an array that ``encoder.transform`` reads.

    Missing values in columns that had none in training are refused or, with a warning, left to the encoder to fill.
    ``name`` is what the user calls the table.
    """
    if encoder.is_numeric:
        rows, absent = _numbers(X, [column.name for column in encoder.columns], estimator, name)
    else:
        given = _columns_of(X)
        rows, absent = _object_array(given), np.array([is_missing(values).sum() for values in given])
        for column, values in zip(encoder.columns, given):
            if column.categories is None and values.dtype.kind not in "fiub":
                _check_numbers(values, column.name, X, name)
    if absent.any():
        _judge_missing(encoder, absent, refuses=getattr(estimator, "missing", None) == "error", name=name)
    return rows


def is_plain(X: Any, n_columns: int) -> bool:
    """Whether X is an array of so many columns of floats, of which nothing but the values needs a check."""
    if type(X) is not np.ndarray or X.ndim != 2:
        return False
    return X.shape[1] == n_columns and len(X) > 0 and X.dtype in _FLOATS


def check_plain_rows(encoder: Encoder, X: Array, estimator: Any, name: str = "X") -> Array:
    """Do what :func:`check_rows` does for a plain array and columns of numbers, in a fraction of the time."""
    if X.size <= _FEW and math.isfinite(np.vdot(X, X)):  # a sum of squares is NaN or infinite if a value is
        return X
    absent = _count_missing(X, X, [column.name for column in encoder.columns], name)
    if absent.any():
        _judge_missing(encoder, absent, refuses=getattr(estimator, "missing", None) == "error", name=name)
    return X


def _rounded(mean: float, column: Column) -> float:
    """A mean to twelve digits: the others are rounding noise, and would have to be read in files and exports."""
    largest = np.finfo(np.float64).max
    return float(np.clip(float(f"{mean:.12g}") / column.scale + column.center, -largest, largest))


def _judge_missing(encoder: Encoder, absent: Ints, *, refuses: bool, name: str) -> None:
    """Refuse missing values, or warn of those that are filled; ``absent`` counts them in each column."""
    filled = []
    for column, count in zip(encoder.columns, absent.tolist()):
        if not count or column.has_indicator:
            continue
        if refuses or (column.missing is None and column.categories is None):
            raise ValueError(
                f"Input {name} contains NaN or other missing values in column {column.name!r}, which had none in "
                "training; fill them in, or fit with missing='indicator'."
            )
        if column.fills_missing:
            filled.append(f"{column.name} ({count} row{'s' * (count != 1)})")
    if filled:
        shown = ", ".join(filled[:_SHOWN]) + f" and {len(filled) - _SHOWN} more columns" * (len(filled) > _SHOWN)
        warn_user(
            f"{name} has missing values in columns that had none in training: {shown}; they are filled with the "
            "training mean or the most frequent category. Set missing='error' to refuse them.",
        )


def _numbers(X: Any, names: Sequence[str], estimator: Any, name: str = "X") -> tuple[Array, Ints]:
    """Check a table of numbers; return it with the number of missing values in each column."""
    try:
        rows: Array = check_array(
            X, dtype=(np.float64, np.float32), ensure_all_finite=False, estimator=estimator, input_name=name
        )
    except (TypeError, ValueError, OverflowError):
        for column, values in zip(names, _columns_of(X)):
            if values.ndim == 1 and values.dtype.kind not in "fiubc":
                _check_numbers(values, column, X, name)
        with naming(name, "cannot be read"):
            raise
    return rows, _count_missing(rows, X, names, name)


def _count_missing(rows: Array, X: Any, names: Sequence[str], name: str) -> Ints:
    """Count the missing values of each column; raise if a value is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):  # so is every value, and most tables need no closer look
            return np.zeros(rows.shape[1], dtype=np.int64)
    infinite = np.isinf(rows)
    if infinite.any():
        row, j = (int(where[0]) for where in np.nonzero(infinite))
        raise ValueError(
            f"Input {name} contains infinity, or a value too large for {rows.dtype}: {rows[row, j]} in "
            f"{_row_in_words(X, row)} of column {names[j]!r}; leave the row out, or pass a finite number."
        )
    missing: Ints = np.isnan(rows).sum(axis=0)
    return missing


def _row_in_words(X: Any, row: int) -> str:
    """A row as its user finds it again: by its label in a pandas data frame whose rows are not counted from 0."""
    index = getattr(X, "index", None)
    if hasattr(X, "columns") and index is not None and index[row] != row:
        label = index[row]
        return f"the row with index {label.item() if isinstance(label, np.generic) else label!r}"
    return f"row {row}"


def _check_numbers(values: Array, column: str, X: Any, name: str) -> None:
    """Raise an error that says where in a column something is no number."""
    missing = is_missing(values)
    for row, value in enumerate(values.tolist()):
        try:
            if not missing[row]:
                float(value)
        except (TypeError, ValueError, OverflowError) as reason:
            kind = TypeError if isinstance(reason, TypeError) else ValueError
            raise kind(
                f"{name} must hold numbers, but {_row_in_words(X, row)} of column {column!r} holds {shown(value)} "
                f"({reason}); convert it, or name columns of categories in categorical_features."
            ) from None


def _fit_numbers(X: Any, names: Sequence[str], missing: str, estimator: Any) -> tuple[Encoder, Array]:
    rows, absent = _numbers(X, names, estimator)
    if missing == "error" and absent.any():
        _refuse_missing(names[int(np.flatnonzero(absent)[0])])
    _warn_of_lost_digits(X, names)
    conditions = _may_condition(estimator)
    encoder = Encoder(_column_of_numbers(name, rows[:, j], bool(absent[j]), conditions) for j, name in enumerate(names))
    return encoder, encoder.transform(rows)


def _warn_of_lost_digits(X: Any, names: Sequence[str]) -> None:
    """Warn of whole numbers that float64 rounds."""
    kinds = [str(dtype) for dtype in X.dtypes] if hasattr(X, "columns") else [str(X.dtype)]
    if not any(kind.lower() in ("int64", "uint64") for kind in kinds):
        return
    for name, values in zip(names, _columns_of(X)):
        if values.dtype.kind not in "iu" or not len(values) or max(-int(values.min()), int(values.max())) <= 2**53:
            continue
        least = int(values.min())
        if any(int(float(value)) != value for value in values.tolist()):
            warn_user(
                f"column {name!r} holds whole numbers beyond 2**53, whose last digits float64 cannot hold, so that "
                f"values that differ may look equal; subtract an offset first, such as the smallest, {least}.",
            )


def _warn_of_categories(encoder: Encoder, given: Sequence[Array]) -> None:
    """Warn once of columns of text that are hardly meant as categories: numbers, dates, identifiers."""
    doubts = []
    for column, values in zip(encoder.columns, given):
        texts = [value for value in column.categories or () if isinstance(value, str)]
        if len(texts) < MANY_CATEGORIES:
            continue
        name, count, n_rows = column.name, f"{len(texts):,} categories", len(values) - int(is_missing(values).sum())
        if way_out := _number_way_out(name, texts):
            doubts.append(
                f"column {name!r} holds numbers written as text, such as {texts[0]!r}, and is read as {count}; convert "
                f"it by {way_out}"
            )
        elif all(_DATE.match(text) for text in texts):
            doubts.append(
                f"column {name!r} holds dates written as text, such as {texts[0]!r}, and is read as {count}; turn it "
                f"into numbers, as in pandas.to_datetime(X[{name!r}]).dt.month"
            )
        elif len(texts) > n_rows / 2:
            doubts.append(
                f"column {name!r} has {count} in {n_rows:,} rows, like an identifier; leave it out if it is one"
            )
    if doubts:
        more = f"; and {len(doubts) - _SHOWN} more columns" * (len(doubts) > _SHOWN)
        warn_user(
            "; ".join(doubts[:_SHOWN]) + f"{more}. Name columns in categorical_features to keep them as categories.",
        )


def _number_way_out(name: str, texts: Sequence[str]) -> str:
    """How pandas turns the numbers in these texts into numbers; empty if they are no numbers."""
    try:
        found = recognise(texts)
    except AmbiguousNumbers:
        found = NumberText(decimal=","), ()
    if found is None:
        return ""
    way, strangers = found
    steps = [f".str.replace({mark!r}, '')" for mark in (way.sign, way.thousands) if mark]
    steps += [".str.replace(',', '.')"] if way.decimal == "," else []
    if strangers:
        return f"pandas.to_numeric(X[{name!r}]{''.join(steps)}, errors='coerce')"
    return f"X[{name!r}]{''.join(steps)}.astype(float)"


def _may_condition(estimator: Any) -> bool:
    """Whether columns may be moved to another range: not if the tree to start from reads them as they are."""
    return getattr(estimator, "init", None) is None


def _column_of_numbers(name: str, values: Array, has_missing: bool, conditions: bool) -> Column:
    column = _filled_column(name, values.astype(np.float64)) if has_missing else Column(name)
    return _conditioned(column, values) if conditions else column


def _conditioned(column: Column, values: Array) -> Column:
    """Let a column move its numbers to a range in which the weights and scores of a tree keep their digits.

    An offset of more than ``2**33`` times the range is subtracted: the sum of a split would round by more than a
    millionth of the range. Tiny and huge numbers are multiplied by a power of 2, which changes no digit.
    """
    known = values[np.isfinite(values)].astype(np.float64)
    if not len(known):
        return column
    low, high = float(known.min()), float(known.max())
    reach, width = max(-low, high), high / 2 - low / 2
    if reach > 2.0**1000:
        return replace(column, scale=2.0**-100)
    if 0 < reach < 2.0**-900:
        return replace(column, scale=2.0**900)
    if 0 < width < reach * 2.0**-34:
        return replace(column, center=low)
    return column


def _refuse_missing(name: str) -> NoReturn:
    raise ValueError(
        f"Input X contains NaN or other missing values in column {name!r}; fill them in, or set missing='indicator'."
    )


def _filled_column(name: str, values: Floats) -> Column:
    """A column of numbers some of which are missing; if all are, they are filled with 0."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Column(name, missing="indicator", fill=0.0)
    low, high = far_limits(known, np.ones(len(known)))
    with np.errstate(over="ignore"):
        mean = float(np.clip(known, low, high).mean())
    # Huge numbers: their sum overflows, their mean does not.
    return Column(name, missing="indicator", fill=mean if np.isfinite(mean) else float((known / len(known)).sum()))


def _number_column(name: str, values: Array, missing: str, conditions: bool) -> Column:
    absent = is_missing(values)
    if absent.any() and missing == "error":
        _refuse_missing(name)
    try:
        known = values[~absent].astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        return Column(name)  # the encoder says which value is no number
    return _column_of_numbers(name, known, bool(absent.any()), conditions)


def _category_column(name: str, values: Array, missing: str) -> Column:
    absent = is_missing(values)
    if absent.any() and missing == "error":
        _refuse_missing(name)
    seen = {_plain(value, name) for value in values[~absent]}
    if len(seen) > MAX_CATEGORIES:
        raise ValueError(
            f"column {name!r} has {len(seen)} categories, more than {MAX_CATEGORIES}; drop it if it is an identifier, "
            "or group its values."
        )
    categories = sorted(seen, key=lambda value: (isinstance(value, str), value))
    return Column(name, categories=tuple(categories), missing="indicator" if absent.any() else None)


def _plain(value: Any, name: str) -> Any:
    """The Python value of a category."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (str, int, float, bool)):
        raise ValueError(
            f"column {name!r} holds categories of type {type(value).__name__}, such as {value!r}; "
            "turn them into strings, in training and at prediction alike."
        )
    return value


def _chosen_columns(X: Any, names: Sequence[str], categorical_features: Any) -> list[bool]:
    """Whether each column is read as categories."""
    if categorical_features is None:
        return [False] * len(names)
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                f"categorical_features must be 'from_dtype', None, or a list or mask of columns, "
                f"got {categorical_features!r}; a single column is [{categorical_features!r}]."
            )
        if not hasattr(X, "columns"):
            return [False] * len(names)  # an array has one dtype, and scikit-learn's rule: numbers
        return [_reads_as_categories(X[column]) for column in X.columns]
    wanted = np.asarray(categorical_features)
    if wanted.ndim != 1 or isinstance(categorical_features, (dict, set)):
        raise ValueError(
            f"categorical_features must be 'from_dtype', None, or a list or mask of columns, "
            f"got {shown(categorical_features)}."
        )
    if wanted.dtype == bool:
        if len(wanted) != len(names):
            raise ValueError(
                f"categorical_features is a mask of {len(wanted)} columns, but X has {len(names)}; "
                "pass one True or False for each column."
            )
        return [bool(flag) for flag in wanted]
    unknown = [w for w in wanted.tolist() if w not in names and not (isinstance(w, int) and 0 <= w < len(names))]
    if unknown:
        raise ValueError(
            f"categorical_features names {unknown[0]!r}, which is no column of X; it has {list(names)[:5]}..."
        )
    return [name in wanted.tolist() or j in wanted.tolist() for j, name in enumerate(names)]


def _refuse_dates(what: str, dtype: str, column: Any = None) -> None:
    if dtype.lower().startswith(("datetime", "date", "time", "duration", "timedelta", "period")):
        parts = "" if column is None else f" (X[{column!r}].dt.year, .dt.month, .dt.weekday in pandas)"
        raise ValueError(
            f"{what} holds dates or times ({dtype.lower()}); turn it into numbers{parts}, such as days since a day, or "
            "leave it out."
        )


def in_blocks(method: Method) -> Method:
    """Let a method of an estimator that answers row by row read large sparse tables in blocks.

    Only a block is dense at a time. Tables with missing or infinite values are read whole, so that messages count all
    of their rows.
    """

    @functools.wraps(method)
    def blockwise(self: Any, X: Any) -> Any:
        parts = None if type(X) is np.ndarray else _sparse_parts(X)
        return method(self, X) if parts is None else np.concatenate([method(self, part) for part in parts])

    return cast(Method, blockwise)


def _sparse_parts(X: Any) -> Iterator[Any] | None:
    """Cut a sparse table of finite numbers into blocks of rows; None if it is another table, or small."""
    is_matrix = scipy.sparse.issparse(X)
    if not is_matrix and not _has_sparse_columns(X):
        return None
    if len(X.shape) != 2 or X.shape[0] * X.shape[1] <= _SPARSE_BLOCK:
        return None
    rows = X.tocsr() if is_matrix else X.iloc
    parts = [rows.data] if is_matrix else [X.iloc[:, j].array for j in range(X.shape[1])]
    if not all(map(_is_finite, parts)):
        return None
    size = max(1, _SPARSE_BLOCK // X.shape[1])
    return (rows[start : start + size] for start in range(0, X.shape[0], size))


def _has_sparse_columns(X: Any) -> bool:
    """Whether X is a data frame of pandas that leaves out a value in some columns, such as 0."""
    is_frame = hasattr(X, "iloc") and hasattr(X, "columns")  # in this order: a LazyFrame of polars computes its columns
    return is_frame and any(str(dtype).startswith("Sparse") for dtype in X.dtypes)


def _is_finite(values: Any) -> bool:
    """Whether values are finite numbers; a sparse column of pandas holds one that stands for all that it leaves out."""
    given, fill = np.asarray(getattr(values, "sp_values", values)), getattr(values, "fill_value", 0.0)
    if given.dtype.kind in "iub":
        return True
    return given.dtype.kind == "f" and bool(np.isfinite(given).all()) and math.isfinite(fill)


def _dense(X: Any, name: str) -> Any:
    """Make a sparse table dense, if the memory holds it: training reads every value of every row."""
    size, kind = X.shape[0] * X.shape[1] * 8, "table" if hasattr(X, "columns") else "matrix"
    error = (
        f"{name} is a sparse {kind} of {X.shape[0]:,} rows and {X.shape[1]:,} columns, which takes {size / 1e9:,.1f} "
        "GB once it is dense, more than the memory holds; choose fewer columns first, by SelectKBest or TruncatedSVD "
        "of scikit-learn, or fewer rows."
    )
    if size > _memory():
        raise MemoryError(error)
    try:
        if hasattr(X, "columns"):
            sparse = {column: dtype.subtype for column, dtype in X.dtypes.items() if str(dtype).startswith("Sparse")}
            return X.astype(sparse)
        dense: Array = X.toarray()
    except MemoryError:
        raise MemoryError(error) from None
    return dense


def _memory() -> float:
    """Bytes of memory of this machine; infinite if it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return np.inf


def _reads_as_categories(values: Any) -> bool:
    dtype = str(values.dtype).lower()
    if dtype == "object":  # numbers, with None among them, or strings
        return any(isinstance(value, (str, bytes)) for value in values.to_numpy())
    return dtype.startswith(("category", "categorical", "enum", "str", "string", "utf8", "large_string"))


def _columns_of(X: Any) -> list[Array]:
    if hasattr(X, "columns"):
        return [np.asarray(X[column].to_numpy()) for column in X.columns]
    return [X[:, j] for j in range(X.shape[1])]


def _object_array(columns: list[Array]) -> Array:
    """Columns of mixed types as one array of objects: each value stays what it is in its column."""
    array = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        array[:, j] = column
    return array
