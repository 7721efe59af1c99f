"""Choose the encoder for what users pass as X, and check X at prediction.

Arrays of numbers stay as they are. A column of strings or categories becomes one
0/1 feature for each category seen in training; a category that was not seen gives
zeros only. In a column with missing numbers the mean takes their place, and a
second feature is 1 if the number is missing. If the first missing value of a column
comes at prediction, no tree has learned what it means: the training mean or the
most frequent category takes its place, and a warning says so. The encoder is part
of the model: it is saved, shown and exported with the tree.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_array

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.tree import Column, Encoder
from dtsemnet.tree.encoder import as_array, is_missing

__all__ = ["add_fills", "as_table", "check_rows", "fit_encoder"]

MAX_CATEGORIES = 1000
"""A column with more categories than this looks like an identifier."""

_SHOWN = 20  # columns that a warning names


def as_table(X: Any) -> Any:
    """Return a data frame as it is, and anything else as an array of two dimensions."""
    if scipy.sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required. Use '.toarray()' to convert to a dense "
            "numpy array, or sklearn's TruncatedSVD to reduce the number of columns first."
        )
    if hasattr(X, "columns"):
        return X
    array = as_array(X)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data using X.reshape(-1, 1) if it has "
            "a single feature or X.reshape(1, -1) if it is a single row."
        )
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
    encoder = Encoder(
        (_category_column if categorical else _number_column)(name, values, missing)
        for name, values, categorical in zip(names, given, chosen)
    )
    return encoder, encoder.transform(_object_array(given))


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
            fill: Any = _rounded(mean[part.start])
            if column.categories is not None:
                fill = column.categories[int(mean[part].argmax())]
            column = replace(column, missing="fill", fill=fill)
        columns.append(column)
    return Encoder(columns)


def check_rows(encoder: Encoder, X: Any, estimator: Any) -> Array:
    """Check the values of a table at prediction, and return it as an array that ``encoder.transform`` reads.

    Missing values in columns that had none in training are refused or, with a warning, left to the encoder to fill.
    """
    if encoder.is_numeric:
        rows, absent = _numbers(X, estimator)
    else:
        given = _columns_of(X)
        rows, absent = _object_array(given), np.array([is_missing(values).sum() for values in given])
    if absent.any():
        _judge_missing(encoder, absent, refuses=getattr(estimator, "missing", None) == "error")
    return rows


def _rounded(mean: float) -> float:
    """A mean to twelve digits: the others are rounding noise, and would have to be read in files and exports."""
    largest = np.finfo(np.float64).max
    return float(np.clip(float(f"{mean:.12g}"), -largest, largest))


def _judge_missing(encoder: Encoder, absent: Ints, *, refuses: bool) -> None:
    """Refuse missing values, or warn of those that are filled; ``absent`` counts them in each column."""
    filled = []
    for column, count in zip(encoder.columns, absent.tolist()):
        if not count or column.has_indicator:
            continue
        if refuses or (column.missing is None and column.categories is None):
            raise ValueError(
                f"Input X contains NaN or other missing values in column {column.name!r}, which had none in training; "
                "fill them in, or fit with missing='indicator'."
            )
        if column.fills_missing:
            filled.append(f"{column.name} ({count} row{'s' * (count != 1)})")
    if filled:
        shown = ", ".join(filled[:_SHOWN]) + f" and {len(filled) - _SHOWN} more columns" * (len(filled) > _SHOWN)
        warnings.warn(
            f"X has missing values in columns that had none in training: {shown}; they are filled with the training "
            "mean or the most frequent category. Set missing='error' to refuse them.",
            UserWarning,
            stacklevel=5,
        )


def _numbers(X: Any, estimator: Any) -> tuple[Array, Ints]:
    """Check a table of numbers; return it with the number of missing values in each column."""
    rows: Array = check_array(
        X, dtype=(np.float64, np.float32), ensure_all_finite=False, estimator=estimator, input_name="X"
    )
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):  # so is every value, and most tables need no closer look
            return rows, np.zeros(rows.shape[1], dtype=np.int64)
    assert_all_finite(rows, allow_nan=True, input_name="X")
    return rows, np.isnan(rows).sum(axis=0)


def _fit_numbers(X: Any, names: Sequence[str], missing: str, estimator: Any) -> tuple[Encoder, Array]:
    rows, absent = _numbers(X, estimator)
    if missing == "error" and absent.any():
        _refuse_missing(names[int(np.flatnonzero(absent)[0])])
    encoder = Encoder(
        _filled_column(name, rows[:, j].astype(np.float64)) if absent[j] else Column(name)
        for j, name in enumerate(names)
    )
    return encoder, encoder.transform(rows)


def _refuse_missing(name: str) -> NoReturn:
    raise ValueError(
        f"Input X contains NaN or other missing values in column {name!r}; fill them in, or set missing='indicator'."
    )


def _filled_column(name: str, values: Floats) -> Column:
    """A column of numbers some of which are missing; if all are, they are filled with 0."""
    known = values[np.isfinite(values)]
    return Column(name, missing="indicator", fill=float(known.mean()) if len(known) else 0.0)


def _number_column(name: str, values: Array, missing: str) -> Column:
    absent = is_missing(values)
    if not absent.any():
        return Column(name)
    if missing == "error":
        _refuse_missing(name)
    return _filled_column(name, values[~absent].astype(np.float64))


def _category_column(name: str, values: Array, missing: str) -> Column:
    absent = is_missing(values)
    if absent.any() and missing == "error":
        _refuse_missing(name)
    seen = {_plain(value) for value in values[~absent]}
    if len(seen) > MAX_CATEGORIES:
        raise ValueError(
            f"column {name!r} has {len(seen)} categories, more than {MAX_CATEGORIES}; drop it if it is an identifier, "
            "or group its values."
        )
    categories = sorted(seen, key=lambda value: (isinstance(value, str), value))
    return Column(name, categories=tuple(categories), missing="indicator" if absent.any() else None)


def _plain(value: Any) -> Any:
    """The Python value of a numpy scalar; anything that is no scalar becomes a string."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _chosen_columns(X: Any, names: Sequence[str], categorical_features: Any) -> list[bool]:
    """Whether each column is read as categories."""
    by_dtype = isinstance(categorical_features, str)
    if categorical_features is None or (by_dtype and not hasattr(X, "columns")):
        return [False] * len(names)  # an array has one dtype, and scikit-learn's rule: numbers
    if by_dtype:
        return [_reads_as_categories(name, X[column]) for name, column in zip(names, X.columns)]
    wanted = np.asarray(categorical_features)
    if wanted.dtype == bool and wanted.shape == (len(names),):
        return [bool(flag) for flag in wanted]
    unknown = [w for w in wanted.tolist() if w not in names and not (isinstance(w, int) and 0 <= w < len(names))]
    if unknown:
        raise ValueError(
            f"categorical_features names {unknown[0]!r}, which is no column of X; it has {list(names)[:5]}..."
        )
    return [name in wanted.tolist() or j in wanted.tolist() for j, name in enumerate(names)]


def _reads_as_categories(name: str, values: Any) -> bool:
    dtype = str(values.dtype).lower()
    if dtype.startswith(("datetime", "date", "time", "duration", "timedelta", "period")):
        raise ValueError(
            f"column {name!r} holds dates or times ({dtype}); turn it into numbers, such as days since a day."
        )
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
