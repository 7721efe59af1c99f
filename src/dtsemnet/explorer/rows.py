"""Rows that users let into the page, and what all rows say about the leaves.

The page knows a row as one number for each column: the number itself, the position of its
category, -1 for a category that the encoder does not know, NaN for a missing value. So the
page holds what the encoder can tell apart, and nothing else.

``sample`` gives the JSON field ``rows``: ``given``, how many rows there were; ``number``, which
of them are embedded; ``column``, their numbers; ``target``, their class numbers or targets, or
null. ``leaves`` gives the field of that name: ``count`` for each leaf; ``level``, the mean
prediction of its rows (regressors); with y also ``mix``, the classes counted, and ``right``, the
rows predicted right (classifiers), or ``error``, the root mean squared error of each output,
and ``target``, the mean of y (regressors). A leaf without rows has nulls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.explorer.packing import pack
from dtsemnet.tree import Column, Model
from dtsemnet.tree.encoder import is_missing

__all__ = ["Table"]


class Table:
    """Rows, encoded once and sent down the tree.

    Parameters
    ----------
    model : Model
    X : array_like or data frame
    y : array_like, optional
        Labels or targets.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree, as_model
    >>> model = as_model(Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]]))
    >>> Table(model, [[1.0], [3.0], [4.0]], [10.0, 20.0, 22.0]).leaves()["count"]
    [1, 2]
    """

    def __init__(self, model: Model, X: Any, y: Any = None) -> None:
        self.model = model
        self.features = model.transform(X)
        self.n_rows = len(self.features)
        if not self.n_rows:
            raise ValueError("X must hold at least one row, got none; leave X out for a page without rows.")
        self.leaf = model.tree.apply(self.features)
        self.prediction = model.output(model.tree.predict(self.features))
        self.column = self._read_columns(X)
        self.target = None if y is None else self._read_target(y)
        self.count = np.bincount(self.leaf, minlength=model.tree.n_leaves)

    def known(self, column: int) -> Floats:
        """The values of a column that are not missing."""
        values = self.column[:, column].astype(np.float64)
        return values[~np.isnan(values)]

    def spread(self) -> Floats:
        """Standard deviation of each feature."""
        with np.errstate(over="ignore", invalid="ignore"):
            wide = self.features.std(axis=0, dtype=np.float64)
        return np.where(np.isfinite(wide), wide, 1.0)

    def leaf_means(self) -> Floats:
        """Mean row of each leaf, in raw columns; 0 for a leaf without rows."""
        return self._totals(self.column) / np.maximum(self.count, 1)[:, None]

    def sample(self, max_rows: int) -> dict[str, Any]:
        """Rows to embed, evenly spaced where there are more than ``max_rows``."""
        n_kept = min(max_rows, self.n_rows)
        number = np.unique(np.linspace(0, self.n_rows - 1, n_kept).astype(np.int64))
        return {
            "given": self.n_rows,
            "number": number.tolist(),
            "column": pack(self.column[number]),
            "target": None if self.target is None else pack(self.target[number]),
        }

    def leaves(self) -> dict[str, Any]:
        """Counts and metrics of the leaves, over all rows."""
        found: dict[str, Any] = {"count": self.count.tolist()}
        tree = self.model.tree
        if tree.is_classifier:
            if self.target is not None:
                mix = np.zeros((tree.n_leaves, tree.n_outputs), dtype=np.int64)
                np.add.at(mix, (self.leaf, self.target[:, 0].astype(np.int64)), 1)
                found |= {"mix": mix.tolist(), "right": mix[np.arange(tree.n_leaves), tree.leaf_class].tolist()}
            return found
        prediction = self.prediction.reshape(self.n_rows, -1)
        found["level"] = self._mean(prediction)
        if self.target is not None:
            with np.errstate(over="ignore"):
                squares = (prediction - self.target) ** 2
            error = self._mean(squares)
            found["error"] = [None if e is None else np.sqrt(e).tolist() for e in error]
            found["target"] = self._mean(self.target)
        return found

    def _mean(self, numbers: Floats) -> list[list[float] | None]:
        mean = self._totals(numbers) / np.maximum(self.count, 1)[:, None]
        usable = (self.count > 0) & np.isfinite(mean).all(axis=1)
        return [row.tolist() if fine else None for row, fine in zip(mean, usable)]

    def _totals(self, numbers: Array) -> Floats:
        """Sum the rows of each leaf."""
        total = np.zeros((len(self.count), numbers.shape[1]))
        met = np.flatnonzero(self.count)
        starts = np.cumsum(self.count[met]) - self.count[met]
        with np.errstate(over="ignore", invalid="ignore"):
            total[met] = np.add.reduceat(
                numbers[np.argsort(self.leaf, kind="stable")], starts, axis=0, dtype=np.float64
            )
        return total

    def _read_columns(self, X: Any) -> Array:
        columns = self.model.encoder.columns
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and all(c.categories is None for c in columns):
            return X  # numbers already, in whatever type they came
        if hasattr(X, "columns"):
            given = [np.asarray(X[column.name].to_numpy()) for column in columns]
        else:
            array = np.array(X, dtype=object) if not isinstance(X, np.ndarray) else X
            given = [array[:, j] for j in range(len(columns))]
        return np.stack([_read_column(column, values) for column, values in zip(columns, given)], axis=1)

    def _read_target(self, y: Any) -> Floats:
        target, tree = np.asarray(y), self.model.tree
        n_wanted = 1 if tree.is_classifier else tree.n_outputs
        if target.shape[:1] != (self.n_rows,) or target.size != self.n_rows * n_wanted:
            wanted = f"({self.n_rows},)" if n_wanted == 1 else f"({self.n_rows}, {n_wanted})"
            raise ValueError(f"y must have shape {wanted}, one entry a row of X, got {target.shape}.")
        target = target.reshape(self.n_rows, n_wanted)
        if tree.class_names is None:
            numbers = target.astype(np.float64)
            if not np.isfinite(numbers).all():
                raise ValueError("y must be finite numbers; drop the rows whose target is missing.")
            return numbers
        number = {name: k for k, name in enumerate(tree.class_names)}
        labels = target[:, 0].tolist()
        strange = [label for label in labels if label not in number]
        if strange:
            raise ValueError(f"y holds {strange[0]!r}, which is none of the classes {list(number)[:10]}.")
        return np.array([[number[label]] for label in labels], dtype=np.float64)


def _read_column(column: Column, values: Array) -> Floats:
    missing = is_missing(values)
    found = np.full(len(values), np.nan)
    if column.categories is None:
        found[~missing] = values[~missing].astype(np.float64)
        return found
    number = {value: k for k, value in enumerate(column.categories)}
    found[~missing] = [number.get(value, -1) for value in values[~missing].tolist()]
    # Without an indicator a missing category is what an unknown one is: all zeros.
    return found if column.missing is not None else np.where(missing, -1.0, found)
