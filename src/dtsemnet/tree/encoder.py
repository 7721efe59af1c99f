"""From the columns that a user has to the numbers (features) that a tree reads.

An encoder is a tuple of columns. A numeric column gives the feature

    clip((x - center) * scale, lower, upper)

in float64, each operation rounded once. A categorical column gives one 0/1 feature per category,
all 0 for a value that it does not know. Missing is ``None``, NaN, or the null of a data frame.
With ``missing="fill"`` the column reads ``fill``, a number or a category, in place of a missing
value. With ``missing="indicator"`` it gives one more feature, its last, that is 1 if the value is
missing; a missing number is read as ``fill``, too, and a missing category gives zeros.

``encoder.features`` lists the features with the column that each comes from: read them there
instead of counting columns. ``encoder.read_columns`` and ``encoder.read_row`` read a table by
column name (a data frame) or by position (an array).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.names import printable, shown
from dtsemnet.tree._validate import Scalar, Value, digest, scalars
from dtsemnet.tree.columns import Column, Feature, FeatureKind, map_numbers
from dtsemnet.tree.frames import as_frame

__all__ = ["Encoder", "as_array", "is_missing"]

_MOST_LETTERS = 2**24
_FEW, _DOT = 4096, (np.dtype(np.float64), np.dtype(np.float32))


@dataclass(frozen=True, eq=False)
class Encoder(Value):
    """Columns in the order in which they are read.

    Parameters
    ----------
    columns : iterable of Column
        One for each column of the input, with distinct names.

    Examples
    --------
    >>> encoder = Encoder([Column("age", center=40.0, scale=0.1), Column("colour", categories=["red", "blue"])])
    >>> encoder.transform(np.array([[50, "red"], [30, "green"]], dtype=object))
    array([[ 1.,  1.,  0.],
           [-1.,  0.,  0.]])
    """

    columns: tuple[Column, ...]

    def __init__(self, columns: Iterable[Column]) -> None:
        columns = tuple(columns)
        if not columns:
            raise ValueError("columns must hold at least one Column, got none.")
        for column in columns:
            if not isinstance(column, Column):
                raise TypeError(f"columns must hold Column objects, got {shown(column)}.")
        scalars("columns", [column.name for column in columns])
        _check_letters(columns)
        object.__setattr__(self, "columns", columns)
        scalars("feature names of columns", self.feature_names)
        if not self.feature_names:
            raise ValueError("columns must give at least one feature, got categorical columns without categories.")

    @classmethod
    def identity(cls, names: Iterable[str]) -> Encoder:
        """Make the encoder that passes numbers on unchanged."""
        return cls(Column(name) for name in names)

    @property
    def n_columns(self) -> int:
        """Number of columns read."""
        return len(self.columns)

    @property
    def n_features(self) -> int:
        """Number of features given."""
        return len(self.feature_names)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The features in the order in which the tree reads them."""
        features: list[Feature] = []
        for column_index, column in enumerate(self.columns):
            kinds: list[tuple[FeatureKind, Scalar | None]] = [("number", None)]
            if column.categories is not None:
                kinds = [("category", category) for category in column.categories]
            if column.has_indicator:
                kinds.append(("missing", None))
            for kind, category in kinds:
                features.append(Feature(len(features), column, column_index, kind, category))
        return tuple(features)

    @cached_property
    def features_of_column(self) -> tuple[slice, ...]:
        """For each column, the slice of the features that it gives."""
        ends = np.cumsum([0, *(len(column.feature_names) for column in self.columns)]).tolist()
        return tuple(slice(first, last) for first, last in pairwise(ends))

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features as trees store them, such as ``age``, ``age missing``, ``colour=red``."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @cached_property
    def is_identity(self) -> bool:
        """Whether every column passes its numbers on unchanged; columns may fill missing ones."""
        return all(column.is_identity for column in self.columns)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether no column is categorical."""
        return all(column.categories is None for column in self.columns)

    def transform(self, X: Any) -> Array:
        """Encode rows.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_columns), or data frame
            A data frame of any kind (:mod:`dtsemnet.tree.frames`) is read by column name, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_features)
            ``X`` itself if the encoder is the identity and ``X`` an array of numbers, none of which it must fill.
        """
        is_array = type(X) is np.ndarray
        X = X if is_array else as_frame(X)
        if is_array or not hasattr(X, "columns"):
            X = self._check_shape(as_array(X))
            if self._one_each and X.dtype.kind in "fiub":
                X = self.fill_missing(X)
                return X if self.is_identity else self._transform_numbers(X)
        given = self.read_columns(X)
        features = np.empty((len(given[0]), self.n_features))
        for column, values, part in zip(self.columns, given, self.features_of_column):
            if values.ndim != 1 or values.dtype.kind in "mMcV":
                raise ValueError(
                    f"column {shown(column.name)} must be one column of numbers, strings or booleans, "
                    f"got {values.dtype} of shape {values.shape}; convert it."
                )
            encode = _encode_numbers if column.categories is None else _encode_categories
            encode(column, values, features[:, part])
        return features

    def fill_missing(self, rows: Array) -> Array:
        """Fill in what is missing in columns with ``missing="fill"``; the rows themselves are returned if nothing is.

        Parameters
        ----------
        rows : ndarray of numbers or objects, shape (n_samples, n_columns)

        Examples
        --------
        >>> encoder = Encoder([Column("age", missing="fill", fill=40.0), Column("dose")])
        >>> encoder.fill_missing(np.array([[np.nan, 1.5], [30.0, np.nan]]))
        array([[40. ,  1.5],
               [30. ,  nan]])
        """
        if not self._filled_columns or not _may_hold_missing(rows):
            return rows
        filled = rows.astype(object if rows.dtype.kind == "O" else np.float64)  # float32 would round the fill
        for j in self._filled_columns:
            filled[is_missing(rows[:, j]), j] = self.columns[j].fill
        return filled

    def read_columns(self, X: Any) -> list[Array]:
        """Read the columns of a table: of a data frame by name, of anything else by position.

        Examples
        --------
        >>> Encoder.identity(["age", "dose"]).read_columns([[40, 1.5], [50, 2.0]])
        [array([40., 50.]), array([1.5, 2. ])]
        """
        X = as_frame(X)
        if not hasattr(X, "columns"):
            array = self._check_shape(as_array(X))
            return [array[:, j] for j in range(self.n_columns)]
        absent = [column.name for column in self.columns if column.name not in X.columns]
        if absent:
            raise ValueError(f"X has no column {shown(absent[0])}; it has {_first_names(X.columns)}")
        return [np.asarray(X[column.name].to_numpy()) for column in self.columns]

    def read_row(self, x: Any) -> Array:
        """Read one row into an object array of shape (1, n_columns), which keeps the type of every value.

        Parameters
        ----------
        x : one row
            A sequence of values, a mapping or pandas Series by column name, or a table or array of one row.

        Examples
        --------
        >>> Encoder.identity(["age", "dose"]).read_row({"dose": 1.5, "age": 40})
        array([[40, 1.5]], dtype=object)
        """
        names, x = [column.name for column in self.columns], as_frame(x)
        if hasattr(x, "columns"):
            if len(x) != 1:
                raise ValueError(f"x must be one row, got a table of {len(x)}; pass one, as in X[i : i + 1].")
            x = {str(name): np.asarray(x[name].to_numpy())[0] for name in x.columns}
        by_name = isinstance(x, Mapping) or (hasattr(x, "index") and hasattr(x, "keys"))
        if by_name and all(name in x for name in names):  # a Series without these names is read by position
            values = [x[name] for name in names]
        elif isinstance(x, Mapping):
            absent = next(name for name in names if name not in x)
            raise ValueError(f"x has no value for column {shown(absent)}; it has {_first_names(x)}")
        else:
            values = list(x)
            if len(values) == 1 and np.ndim(values[0]) == 1:
                values = list(values[0])
            if len(values) != len(names) or any(np.ndim(value) for value in values):
                raise ValueError(f"x must be one row of {len(names)} values, got shape {np.shape(values)}.")
        row = np.empty((1, len(values)), dtype=object)
        row[0] = values
        return row

    def fingerprint(self) -> str:
        """Hash the content."""
        return digest([[repr(vars(column)) for column in self.columns]])

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder, (self.columns,)

    def _check_shape(self, array: Array) -> Array:
        if array.ndim != 2 or array.shape[1] != len(self.columns):
            raise ValueError(
                f"X must have shape (n_samples, {self.n_columns}), got {array.shape}; "
                f"pass the columns {', '.join(printable(column.name) for column in self.columns[:3])}... in that order."
            )
        return array

    def _transform_numbers(self, X: Array) -> Floats:
        """Encode an array of numbers, all columns at once: each gives one feature."""
        numbers = X.astype(np.float64)
        bad = ~np.isfinite(numbers).all(axis=0)
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            _refuse(self.columns[j], numbers[:, j])
        map_numbers(numbers, *self._affine)
        return numbers

    @cached_property
    def _one_each(self) -> bool:
        """Whether each column gives one number: none is categorical, none marks missing values."""
        return self.is_numeric and self.n_features == self.n_columns

    @cached_property
    def _filled_columns(self) -> tuple[int, ...]:
        """Columns whose missing values are filled in."""
        return tuple(j for j, column in enumerate(self.columns) if column.fills_missing)

    @cached_property
    def _affine(self) -> Floats:
        """Center, scale, lower and upper bound of all columns, shape (4, n_columns)."""
        return np.array([(column.center, column.scale, *column.bounds) for column in self.columns]).T


def _first_names(names: Iterable[Any]) -> str:
    return f"[{', '.join(shown(str(name)) for name in islice(names, 5))}]..."


def as_array(X: Any) -> Array:
    """Make an array of rows; a list of mixed values becomes an object array, so that its numbers stay numbers.

    Examples
    --------
    >>> as_array([[1.5, "red"]]).tolist(), as_array([[1, 2.5]]).dtype
    ([[1.5, 'red']], dtype('float64'))
    """
    array = np.asarray(X)
    return np.array(X, dtype=object) if array.dtype.kind == "U" and not isinstance(X, np.ndarray) else array


def _encode_numbers(column: Column, values: Array, features: Floats) -> None:
    missing = is_missing(values)
    numbers = np.zeros(len(values))
    try:
        numbers[~missing] = values[~missing].astype(np.float64)
    except (ValueError, TypeError, OverflowError):  # an integer may be too large for a double
        wrong = next(value for value in values[~missing].tolist() if not _is_number(value))
        raise ValueError(f"column {shown(column.name)} must hold numbers, got {shown(wrong)}.") from None
    if (column.missing is None and missing.any()) or not np.isfinite(numbers).all():
        _refuse(column, np.where(missing, np.nan if column.missing is None else 0.0, numbers))
    numbers[missing] = column.fill
    map_numbers(numbers, column.center, column.scale, *column.bounds)
    features[:, 0] = numbers
    if column.has_indicator:
        features[:, 1] = missing


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _encode_categories(column: Column, values: Array, features: Floats) -> None:
    assert column.categories is not None
    missing = is_missing(values)
    code_of = {value: k for k, value in enumerate(column.categories)}
    absent = column.fill_code if column.fills_missing else -1
    features[:] = 0.0
    plain = values.tolist()  # Python's own values: equality and hashing across int, float and bool
    try:
        codes = [absent if gone else code_of.get(value, -1) for value, gone in zip(plain, missing)]
    except TypeError as error:
        raise ValueError(f"column {shown(column.name)} must hold strings, numbers or booleans: {error}.") from None
    code = np.array(codes, dtype=np.int64)
    known = np.flatnonzero(code >= 0)
    features[known, code[known]] = 1.0
    if column.has_indicator:
        features[:, -1] = missing


def _may_hold_missing(rows: Array) -> bool:
    """Whether rows may hold missing values: one quick look, after which most tables need no closer one."""
    if rows.dtype.kind != "f":
        return rows.dtype.kind == "O"
    if rows.size <= _FEW and rows.dtype in _DOT:  # a sum of squares is NaN if a term is, and takes a tenth of the time
        square = np.vdot(rows, rows)
        return bool(square != square)
    return bool(np.isnan(rows.min(initial=0.0)))  # if a value is NaN, so is the least one


def is_missing(values: Array) -> Bools:
    """Find the missing values of a column: None, NaN, or the null of a data frame."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    # pandas' NA and NaT are recognised by name: pandas is not imported, and NA has no truth value to test.
    return np.array(
        [
            value is None
            or (isinstance(value, float) and value != value)
            or type(value).__name__ in ("NAType", "NaTType")
            for value in values.tolist()
        ],
        dtype=bool,
    )


def _refuse(column: Column, numbers: Floats) -> None:
    row = int(np.flatnonzero(~np.isfinite(numbers))[0])
    problem = "is missing" if np.isnan(numbers[row]) else f"is {numbers[row]}"
    way_out = "fill it, or fit with missing='indicator'" if np.isnan(numbers[row]) else "pass finite numbers"
    raise ValueError(f"X must be finite, but row {row} of column {shown(column.name)} {problem}; {way_out}.")


def _check_letters(columns: tuple[Column, ...]) -> None:
    """Refuse names that would take far more memory as names of features: each category repeats that of its column."""
    categories = [[len(str(value)) for value in column.categories or ()] for column in columns]
    given = sum(len(column.name) + sum(lengths) for column, lengths in zip(columns, categories))
    made = sum(len(column.name) * len(lengths) + sum(lengths) for column, lengths in zip(columns, categories))
    if made > _MOST_LETTERS + 4 * given:
        longest = max(columns, key=lambda column: len(column.name) * len(column.categories or ()))
        raise ValueError(
            f"columns give features whose names have {made:,} letters in all; "
            f"shorten the name {shown(longest.name)} or its {len(longest.categories or ()):,} categories."
        )
