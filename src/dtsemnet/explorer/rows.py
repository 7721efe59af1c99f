"""The rows that a page shows, and what all rows given say about the leaves.

The page knows a row as one number per column: the number itself, the position of its category,
-1 for a category that the encoder does not know, NaN for a missing value. So the page holds what
the encoder can tell apart, and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.explorer.packing import pack
from dtsemnet.tree import Column, LeafSurvey, Model
from dtsemnet.tree.encoder import is_missing

__all__ = ["GivenRows"]


class GivenRows:
    """The rows given to a page, with a survey of the leaves that they reach.

    Parameters
    ----------
    model : Model
    X : array_like or data frame
    y : array_like, optional
        Labels or targets.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> model = Model.of(Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]]))
    >>> GivenRows(model, [[1.0], [3.0], [4.0]], [10.0, 20.0, 22.0]).leaves()
    {'count': [1, 2], 'level': [[10.0], [20.0]], 'error': [[0.0], [1.4142135623730951]], 'target': [[10.0], [21.0]]}
    """

    def __init__(self, model: Model, X: Any, y: Any = None) -> None:
        self.model = model
        self.survey = LeafSurvey.of(model, X, y)
        if not self.survey.n_rows:
            raise ValueError("X must hold at least one row, got none; leave X out for a page without rows.")
        self.column = _read_columns(model, X)
        self.spread = _spread(model.transform(X))
        """Standard deviation of each feature."""

    def known(self, column: int) -> Floats:
        """Return the values of a column that are not missing."""
        values = self.column[:, column].astype(np.float64)
        return values[~np.isnan(values)]

    def leaf_means(self) -> Floats:
        """Compute the mean row of each leaf, in raw columns; 0 for a leaf without rows."""
        return np.where(self.survey.count[:, None] > 0, self.survey.mean(self.column), 0.0)

    def sample(self, max_rows: int) -> dict[str, Any]:
        """Choose the rows to embed, evenly spaced if there are more than ``max_rows``."""
        n_rows, target = self.survey.n_rows, self.survey.target
        index = np.unique(np.linspace(0, n_rows - 1, min(max_rows, n_rows)).astype(np.int64))
        return {
            "given": n_rows,
            "number": index.tolist(),
            "column": pack(self.column[index]),
            "target": None if target is None else pack(target[index]),
        }

    def leaves(self) -> dict[str, Any]:
        """Describe the leaves by all rows: counts, and the metrics that y allows."""
        survey = self.survey
        described: dict[str, Any] = {"count": survey.count.tolist()}
        if survey.class_count is not None and survey.n_correct is not None:
            described |= {"mix": survey.class_count.tolist(), "right": survey.n_correct.tolist()}
        if survey.mean_prediction is not None:
            described["level"] = _finite_rows(survey.mean_prediction)
        if survey.squared_error is not None and survey.mean_target is not None:
            described["error"] = _finite_rows(np.sqrt(survey.squared_error))
            described["target"] = _finite_rows(survey.mean_target)
        return described


def _finite_rows(array: Floats) -> list[list[float] | None]:
    """Write an array for JSON: one list per leaf, None for a leaf without rows or with a sum that overflowed."""
    return [row.tolist() if np.isfinite(row).all() else None for row in array]


def _spread(features: Array) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        spread = features.std(axis=0, dtype=np.float64)
    return np.where(np.isfinite(spread), spread, 1.0)


def _read_columns(model: Model, X: Any) -> Array:
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and model.encoder.is_numeric:
        return X  # numbers already: their type is kept, so that pixels travel as bytes
    given = model.encoder.read_columns(X)
    return np.stack([_read_column(column, values) for column, values in zip(model.encoder.columns, given)], axis=1)


def _read_column(column: Column, values: Array) -> Floats:
    missing = is_missing(values)
    numbers = np.full(len(values), np.nan)
    if column.categories is None:
        numbers[~missing] = values[~missing].astype(np.float64)
        return numbers
    code = {category: k for k, category in enumerate(column.categories)}
    numbers[~missing] = [code.get(value, -1) for value in values[~missing].tolist()]
    # Without an indicator a missing category is what an unknown one is: all zeros.
    return numbers if column.missing is not None else np.where(missing, -1.0, numbers)
