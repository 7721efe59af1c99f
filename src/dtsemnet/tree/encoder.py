"""From the columns that a user has to the numbers that a tree reads.

An encoder is a tuple of columns. A numeric column gives the feature

    clip((x - center) * scale, lower, upper)

in float64, each operation rounded once, and, if asked for, a second feature that is 1
where ``x`` is missing (then ``fill`` stands in for ``x``). A categorical column gives
one 0/1 feature for each category: all 0 for a value it does not know.

Missing is ``None``, NaN, or the null of a data frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree.checks import Scalar, digest, scalars

__all__ = ["Column", "Encoder", "is_missing"]


@dataclass(frozen=True)
class Column:
    """One column of the input and the features it becomes.

    Parameters
    ----------
    name : str
        Name of the column.
    categories : sequence of str, int, float or bool, optional
        Makes the column categorical: one 0/1 feature for each, matched by equality.
    missing : "indicator", optional
        Adds a feature that is 1 where the value is missing. Without it a missing number is an error, a missing
        category all zeros.
    fill : float, default=0.0
        Stands in for missing numbers, before the affine map.
    center, scale : float, default=0.0, 1.0
        The affine map ``(x - center) * scale``.
    lower, upper : float, optional
        Bounds that the mapped number is clipped to.

    Examples
    --------
    >>> Column("colour", categories=["red", "blue"]).feature_names
    ('colour=red', 'colour=blue')
    >>> Column("age", missing="indicator", fill=40.0).feature_names
    ('age', 'age missing')
    """

    name: str
    categories: tuple[Scalar, ...] | None = None
    missing: str | None = None
    fill: float = 0.0
    center: float = 0.0
    scale: float = 1.0
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        scalars("name", [self.name])
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a str, got {self.name!r}; convert it by str.")
        if self.missing not in (None, "indicator"):
            raise ValueError(f"missing must be None or 'indicator', got {self.missing!r} in column {self.name!r}.")
        for field in ("fill", "center", "scale", "lower", "upper"):
            given = getattr(self, field)
            if given is None and field in ("lower", "upper"):
                continue
            if isinstance(given, (bool, str)) or not isinstance(given, (int, float, np.number)):
                raise TypeError(f"{field} must be a number, got {given!r} in column {self.name!r}.")
            if not math.isfinite(given):
                raise ValueError(f"{field} must be finite, got {given!r} in column {self.name!r}.")
            object.__setattr__(self, field, float(given))
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ValueError(f"lower must not exceed upper, got {self.lower} > {self.upper} in column {self.name!r}.")
        if self.categories is not None:
            object.__setattr__(self, "categories", scalars("categories", self.categories))
            if (self.fill, self.center, self.scale, self.lower, self.upper) != (0.0, 0.0, 1.0, None, None):
                raise ValueError(f"column {self.name!r} has categories, so it takes no fill, center, scale or bounds.")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that the column gives."""
        names = [self.name] if self.categories is None else [f"{self.name}={value}" for value in self.categories]
        return tuple(names + [f"{self.name} missing"] * (self.missing is not None))

    @property
    def is_identity(self) -> bool:
        """Whether the column hands its numbers on as they are."""
        return self.is_affine and self.center == 0.0 and self.scale == 1.0

    @property
    def is_affine(self) -> bool:
        """Whether the column is one number, mapped but neither clipped nor ever missing."""
        return self.categories is None and self.missing is None and self.lower is None and self.upper is None


@dataclass(frozen=True, eq=False)
class Encoder:
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
                raise TypeError(f"columns must hold Column objects, got {column!r}.")
        scalars("columns", [column.name for column in columns])
        object.__setattr__(self, "columns", columns)
        scalars("feature names of columns", self.feature_names)
        if not self.feature_names:
            raise ValueError("columns must give at least one feature, got categorical columns without categories.")

    @classmethod
    def identity(cls, names: Iterable[str]) -> Encoder:
        """Make the encoder that hands numbers on as they are."""
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
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, such as ``age``, ``age missing``, ``colour=red``."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @cached_property
    def is_identity(self) -> bool:
        """Whether every column is handed on as it is."""
        return all(column.is_identity for column in self.columns)

    def transform(self, X: Any) -> Array:
        """Encode rows.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_columns), or data frame
            A data frame (anything with ``.columns``) is read by column name, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_features)
            Where the encoder is the identity and ``X`` an array of numbers, ``X`` itself.
        """
        if not hasattr(X, "columns"):
            array = np.asarray(X)
            # A list of mixed values must not become strings before numbers are matched.
            X = np.array(X, dtype=object) if array.dtype.kind == "U" and not isinstance(X, np.ndarray) else array
            if X.ndim != 2 or X.shape[1] != self.n_columns:
                raise ValueError(
                    f"X must have shape (n_samples, {self.n_columns}), got {X.shape}; "
                    f"pass the columns {', '.join(column.name for column in self.columns[:3])}... in that order."
                )
            if X.dtype.kind in "fiub" and all(column.categories is None for column in self.columns):
                return X if self.is_identity else self._transform_numbers(X)
            given = [X[:, j] for j in range(self.n_columns)]
        else:
            absent = [column.name for column in self.columns if column.name not in X.columns]
            if absent:
                raise ValueError(f"X has no column {absent[0]!r}; it has {[str(name) for name in X.columns][:5]}...")
            given = [np.asarray(X[column.name].to_numpy()) for column in self.columns]
        features = np.empty((len(given[0]), self.n_features))
        place = 0
        for column, values in zip(self.columns, given):
            if values.ndim != 1 or values.dtype.kind in "mMcV":
                raise ValueError(
                    f"column {column.name!r} must be one column of numbers, strings or booleans, "
                    f"got {values.dtype} of shape {values.shape}; convert it."
                )
            width = len(column.feature_names)
            encode = _encode_numbers if column.categories is None else _encode_categories
            encode(column, values, features[:, place : place + width])
            place += width
        return features

    def fingerprint(self) -> str:
        """Hash the content."""
        return digest([[repr(vars(column)) for column in self.columns]])

    def __eq__(self, other: object) -> bool:
        return self.fingerprint() == other.fingerprint() if isinstance(other, Encoder) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder, (self.columns,)

    def _transform_numbers(self, X: Array) -> Floats:
        """Encode an array of numbers, all columns at once where each gives one feature."""
        if any(column.missing for column in self.columns):
            features = np.empty((len(X), self.n_features))
            place = 0
            for j, column in enumerate(self.columns):
                width = len(column.feature_names)
                _encode_numbers(column, X[:, j], features[:, place : place + width])
                place += width
            return features
        numbers = X.astype(np.float64)
        bad = ~np.isfinite(numbers).all(axis=0)
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            _refuse(self.columns[j], numbers[:, j])
        center, scale, lower, upper = self._affine
        with np.errstate(over="ignore"):  # what is clipped may overflow before; what is not is refused by the tree
            numbers -= center
            numbers *= scale
        np.maximum(numbers, lower, out=numbers)
        np.minimum(numbers, upper, out=numbers)
        return numbers

    @cached_property
    def _affine(self) -> tuple[Floats, Floats, Floats, Floats]:
        center = np.array([column.center for column in self.columns])
        scale = np.array([column.scale for column in self.columns])
        lower = np.array([-np.inf if column.lower is None else column.lower for column in self.columns])
        upper = np.array([np.inf if column.upper is None else column.upper for column in self.columns])
        return center, scale, lower, upper


def _encode_numbers(column: Column, values: Array, features: Floats) -> None:
    missing = is_missing(values)
    numbers = np.zeros(len(values))
    try:
        numbers[~missing] = values[~missing].astype(np.float64)
    except (ValueError, TypeError):
        strange = next(value for value in values[~missing] if not isinstance(value, (int, float, np.number)))
        raise ValueError(f"column {column.name!r} must hold numbers, got {strange!r}.") from None
    if (column.missing is None and missing.any()) or not np.isfinite(numbers).all():
        _refuse(column, np.where(missing, np.nan if column.missing is None else 0.0, numbers))
    numbers[missing] = column.fill
    with np.errstate(over="ignore"):
        numbers -= column.center
        numbers *= column.scale
    if column.lower is not None:
        np.maximum(numbers, column.lower, out=numbers)
    if column.upper is not None:
        np.minimum(numbers, column.upper, out=numbers)
    features[:, 0] = numbers
    if column.missing is not None:
        features[:, 1] = missing


def _encode_categories(column: Column, values: Array, features: Floats) -> None:
    assert column.categories is not None
    missing = is_missing(values)
    number = {value: k for k, value in enumerate(column.categories)}
    features[:] = 0.0
    plain = values.tolist()  # Python's own values: equality and hashing across int, float and bool
    try:
        found = np.array([-1 if lost else number.get(value, -1) for value, lost in zip(plain, missing)], dtype=np.int64)
    except TypeError as error:
        raise ValueError(f"column {column.name!r} must hold strings, numbers or booleans: {error}.") from None
    known = np.flatnonzero(found >= 0)
    features[known, found[known]] = 1.0
    if column.missing is not None:
        features[:, -1] = missing


def is_missing(values: Array) -> Bools:
    """Tell which values of a column are missing: None, NaN, or the null of a data frame."""
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


def _refuse(column: Column, numbers: ArrayLike) -> None:
    numbers = np.asarray(numbers)
    row = int(np.flatnonzero(~np.isfinite(numbers))[0])
    what = "is missing" if np.isnan(numbers[row]) else f"is {numbers[row]}"
    way_out = "fill it, or fit with missing='indicator'" if np.isnan(numbers[row]) else "pass finite numbers"
    raise ValueError(f"X must be finite, but row {row} of column {column.name!r} {what}; {way_out}.")
