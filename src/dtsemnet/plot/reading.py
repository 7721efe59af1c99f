"""What a plot says about a tree: shares of rows, class mixes, answers, and weights that compare.

The weight of a split times the spread of its feature tells how much the feature moves
the score over the rows at hand, so these products compare where raw weights do not.
Without rows the weights are those in raw units.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.tree import Model, RawView, as_model, raw_view

__all__ = ["Reading", "read_tree", "class_codes"]


@dataclass(frozen=True)
class Reading:
    """A model, and what the rows say about its leaves; arrays are None where nothing is known."""

    model: Model
    view: RawView
    spread: Floats | None
    """Standard deviation of each feature in the units of ``view``."""
    count: Ints | None
    """Rows in each leaf."""
    mix: Floats | None
    """Class shares of each leaf: of its rows where y is given, of the tree where not."""
    answer: Floats | None
    """Mean prediction in each leaf, (n_leaves, n_outputs); NaN in leaves without rows."""

    @cached_property
    def share(self) -> Floats | None:
        """Share of the rows in each leaf."""
        return None if self.count is None else self.count / max(1, self.count.sum())

    def sizes(self, weight: Floats) -> Floats:
        """Weights times spread, each row divided by its largest entry; zeros stay zeros."""
        size = weight / _top(weight)
        if self.spread is not None:
            size = size * (self.spread / _top(self.spread))
        return size / _top(size)

    @property
    def bars(self) -> str:
        """What :meth:`sizes` shows, in words."""
        return "weight in raw units" if self.spread is None else "weight times standard deviation of the feature"


def read_tree(tree: Any, X: Any = None, y: Any = None) -> Reading:
    """Read a Tree, Model or fitted estimator, with rows or without."""
    model, view = as_model(tree), raw_view(tree)
    if X is None:
        if y is not None:
            raise ValueError("y was given without X; pass the rows as X too.")
        return Reading(model, view, None, None, _probabilities(model), _constants(model))
    rows = model.transform(X)
    if not len(rows):
        raise ValueError("X has no rows; pass at least one, or leave X out.")
    leaf = model.tree.apply(rows)
    count = np.bincount(leaf, minlength=model.tree.n_leaves)
    mix, answer = _probabilities(model), None
    if model.is_classifier and y is not None:
        codes = class_codes(model, y, len(rows))
        table = np.zeros_like(model.tree.value)
        np.add.at(table, (leaf, codes), 1.0)
        # A leaf that no row reaches keeps the tree's own probabilities.
        mix = np.where(count[:, None] > 0, table / np.maximum(count, 1)[:, None], model.tree.value)
    if not model.is_classifier:
        answer = _constants(model)
        answer = _means(model, rows, leaf, count) if answer is None else answer
    return Reading(model, view, _spread(model, view, rows), count, mix, answer)


def class_codes(model: Model, y: Any, n_rows: int) -> Ints:
    """Number the classes of rows as the tree does."""
    assert model.class_names is not None
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise ValueError(f"y must have shape ({n_rows},), one class a row, got {given.shape}.")
    number = {name: k for k, name in enumerate(model.class_names)}
    codes = np.array([number.get(value, -1) for value in given.tolist()], dtype=np.int64)
    if (codes < 0).any():
        raise ValueError(f"y holds {given[codes < 0][0]!r}, which is none of the classes {list(model.class_names)}.")
    return codes


def _probabilities(model: Model) -> Floats | None:
    return model.tree.value if model.is_classifier else None


def _constants(model: Model) -> Floats | None:
    """Answers of leaves that are constant, through the guard and the output map."""
    tree = model.tree
    if model.is_classifier or tree.coef is not None:
        return None
    lower = -np.inf if tree.lower is None else tree.lower
    upper = np.inf if tree.upper is None else tree.upper
    return np.asarray(model.output(np.clip(tree.value, lower, upper)))


def _means(model: Model, rows: Array, leaf: Ints, count: Ints) -> Floats:
    predicted = np.asarray(model.output(model.tree.predict(rows))).reshape(len(rows), -1)
    total = np.zeros((model.tree.n_leaves, predicted.shape[1]))
    np.add.at(total, leaf, predicted / np.maximum(count, 1)[leaf, None])
    return np.where(count[:, None] > 0, total, np.nan)


def _spread(model: Model, view: RawView, rows: Array) -> Floats:
    """Standard deviations of the features that the folded tree reads: those of encoded features, unscaled."""
    spread = np.asarray(rows, dtype=np.float64).std(axis=0)
    place = 0
    for column in model.encoder.columns:
        # Only what was folded is in raw units; clipped numbers and categories stay as they are encoded.
        if column.categories is None and column.lower is None and column.upper is None and column.scale != 0:
            spread[place] /= abs(column.scale)
        place += len(column.feature_names)
    return spread


def _top(array: Floats) -> Any:
    """Largest absolute value along the last axis, 1 where all are zero."""
    top = np.abs(array).max(axis=-1, keepdims=True, initial=0.0)
    return np.where(top > 0, top, 1.0)
