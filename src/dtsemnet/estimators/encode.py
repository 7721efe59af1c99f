"""Choose the encoder for what users pass as X, and check X at prediction.

Arrays of numbers stay as they are. A column of strings or categories becomes one
0/1 feature for each category seen in training; a category that was not seen gives
zeros only. In a column with missing numbers the mean takes their place, and a
second feature is 1 if the number is missing. The encoder is part of the model: it
is saved, shown and exported with the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array

from dtsemnet.arrays import Array, Floats
from dtsemnet.tree import Column, Encoder
from dtsemnet.tree.encoder import as_array, is_missing

__all__ = ["as_table", "check_rows", "fit_encoder"]

MAX_CATEGORIES = 1000
"""A column with more categories than this looks like an identifier."""


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


def check_rows(encoder: Encoder, X: Any, estimator: Any) -> Array:
    """Check the values of a table at prediction, and return it as an array that ``encoder.transform`` reads."""
    if any(column.categories is not None for column in encoder.columns):
        return _object_array(_columns_of(X))
    return _numbers(X, any(column.missing for column in encoder.columns), estimator)


def _numbers(X: Any, allow_missing: bool, estimator: Any) -> Array:
    finite = "allow-nan" if allow_missing else True
    rows: Array = check_array(
        X, dtype=(np.float64, np.float32), ensure_all_finite=finite, estimator=estimator, input_name="X"
    )
    return rows


def _fit_numbers(X: Any, names: Sequence[str], missing: str, estimator: Any) -> tuple[Encoder, Array]:
    rows = _numbers(X, missing == "indicator", estimator)
    # The sum is NaN exactly if some value is, so most tables need no closer look.
    looks = missing == "indicator" and np.isnan(rows.sum())
    absent: Array = np.asarray(np.isnan(rows).any(axis=0) if looks else np.zeros(rows.shape[1], bool))
    encoder = Encoder(
        _filled_column(name, rows[:, j].astype(np.float64)) if absent[j] else Column(name)
        for j, name in enumerate(names)
    )
    return encoder, encoder.transform(rows)


def _filled_column(name: str, values: Floats) -> Column:
    """A column of numbers some of which are missing; if all are, they are filled with 0."""
    known = values[np.isfinite(values)]
    return Column(name, missing="indicator", fill=float(known.mean()) if len(known) else 0.0)


def _number_column(name: str, values: Array, missing: str) -> Column:
    absent = is_missing(values)
    if not absent.any():
        return Column(name)
    if missing == "error":
        raise ValueError(f"Input X contains NaN in column {name!r}; fill it in, or set missing='indicator'.")
    return _filled_column(name, values[~absent].astype(np.float64))


def _category_column(name: str, values: Array, missing: str) -> Column:
    absent = is_missing(values)
    if absent.any() and missing == "error":
        raise ValueError(
            f"Input X contains missing values in column {name!r}; fill them in, or set missing='indicator'."
        )
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
