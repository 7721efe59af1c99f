"""A model as people read it: in the columns and units of the data, with one colour per class.

Every readable view (text, table, Graphviz, drawings, the page, explanations) reads a
:class:`ReadableView` and the features of the encoder, so that all of them show the same numbers:

* What is affine in an encoder folds into the splits and leaves: ``w * (x - c) * s`` reads
  ``(w s) x - w s c``. A clipped number, a category or an indicator stays a feature of its own.
* If all weights and biases of the splits are whole numbers, they are points, and a column that is encoded in steps of
  1, 2 or 5 times a power of ten is read in these steps: ``3 (age / 10)``.
* A missing number counts as 0, and what the model fills in for it joins the weight of the
  indicator, ``w_missing + w * fill``. So ``0.8 visits + 7.2 (visits missing)`` is all there is
  to know about a column.

The folded tree is for reading: it equals the model to rounding, while predictions and exports
repeat the model itself.
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree.columns import Column, Feature
from dtsemnet.tree.edits import fold_affine
from dtsemnet.tree.encoder import Encoder
from dtsemnet.tree.model import Identity, Model
from dtsemnet.tree.tree import Tree

__all__ = ["RawView", "ReadableView", "class_colors", "raw_view", "tint"]

_EIGHT = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6f4e9c", "#b8b000")
_TWELVE = (
    "#332288", "#ddcc77", "#44aa99", "#cc6677", "#88ccee", "#882255",
    "#117733", "#e8a05c", "#aa4499", "#8a8d2e", "#4477cc", "#8c8c8c",
)  # fmt: skip


@dataclass(frozen=True)
class ReadableView:
    """A tree in the units of the data, and the features that it reads. Made by :meth:`ReadableView.of`.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[2.0, 1.0]], [-3.0], [[0.0], [1.0]])
    >>> view = ReadableView.of(Model(Encoder([Column("age", missing="indicator", fill=40.0)]), tree))
    >>> view.labels, view.tree.weight
    (('age', 'age missing'), array([[ 2., 81.]]))
    """

    model: Model
    tree: Tree
    """The folded tree, with a missing number counted as 0."""
    filled: Tree
    """The folded tree, with a missing number counted as its fill."""
    remark: str
    """How outputs are mapped behind the leaves, or empty."""
    features: tuple[Feature, ...]
    """The features that the tree reads."""

    @classmethod
    def of(cls, tree: Any) -> ReadableView:
        """Make the view of a Tree, a Model or a fitted estimator."""
        model = Model.of(tree)
        features = _features(model)
        filled = _fold(model.tree, features)
        weight, coef = filled.weight.copy(), None if filled.coef is None else filled.coef.copy()
        for feature in features:
            if feature.fill is not None:  # the number is right before its indicator
                number, missing = feature.index - 1, feature.index
                with np.errstate(over="ignore", invalid="ignore"):  # a tree with such weights is refused below
                    weight[:, missing] += weight[:, number] * feature.fill
                    if coef is not None:
                        coef[:, :, missing] += coef[:, :, number] * feature.fill
        shown = filled.replace(weight=weight, coef=coef, feature_names=None)
        return cls(model, shown, filled, _remark(model), features)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The features in words."""
        return tuple(feature.label for feature in self.features)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the model."""
        return self.model.encoder.columns

    def members(self, column: int) -> list[int]:
        """List the features that a column gives."""
        part = self.model.encoder.features_of_column[column]
        return list(range(part.start, part.stop))

    def rows(self, X: Any) -> Floats:
        """Give the features of rows in the units of the view, a missing number as 0."""
        rows = np.array(self._encoder.transform(X), dtype=np.float64, order="C")
        for feature in self.features:
            if feature.fill is not None:
                rows[rows[:, feature.index] == 1, feature.index - 1] = 0.0
        return rows

    def spread(self, X: Any) -> Floats:
        """Compute the standard deviation of each feature in the units of the view, a missing number as its fill."""
        rows = np.asarray(self.model.transform(X), dtype=np.float64)
        if not len(rows):
            raise ValueError("X has no rows; pass at least one, or leave X out.")
        with np.errstate(over="ignore", invalid="ignore"):
            spread = rows.std(axis=0)
        scale = np.array([feature.scale for feature in self.features])
        return spread / np.where(scale == 0, 1.0, np.abs(scale))

    def sizes(self, part: Literal["weight", "coef"], spread: Floats | None) -> Floats:
        """Say how much each feature moves a sum, as signed shares of the largest in that sum.

        Parameters
        ----------
        part : "weight" or "coef"
            The sums of the splits, or of linear leaves.
        spread : array of shape (n_features,), optional
            Standard deviations (:meth:`spread`), so that features in different units compare: sizes are weight times
            standard deviation. Without it, sizes are the weights.
        """
        # With rows, a missing number is measured at its fill: at 0 it would seem to move far.
        array = getattr(self.tree if spread is None else self.filled, part)
        size: Floats = array / _largest(array)
        if spread is not None:
            size = size * (spread / _largest(spread))
        return size / _largest(size)

    @cached_property
    def _encoder(self) -> Encoder:
        """The model's encoder without what is folded into the tree."""
        return Encoder(
            replace(column, center=0.0, scale=1.0) if column.categories is None and not keeps else column
            for column, keeps in zip(self.columns, self._keeps_map)
        )

    @property
    def _keeps_map(self) -> list[bool]:
        """For each column whether its numbers are shown as the tree reads them: clipped, or in steps."""
        first = [self.features[self.members(j)[0]] if self.members(j) else None for j in range(len(self.columns))]
        return [column.is_clipped or (f is not None and f.in_steps) for column, f in zip(self.columns, first)]


@dataclass(frozen=True)
class RawView:
    """A tree with the affine maps of its encoder folded in; it reads fills and indicators as the model does."""

    tree: Tree
    labels: tuple[str, ...]
    """The features in words."""
    column: tuple[int, ...]
    """Position of the column that gives the feature: features of one categorical column share it."""
    remark: str
    """How outputs are mapped behind the leaves, or empty."""


def raw_view(tree: Any) -> RawView:
    """Fold what is affine in the encoder of a Tree, Model or fitted estimator, for computing with raw numbers.

    What people read is :class:`ReadableView`, which also folds in the fill of missing numbers.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> standardised = Tree(Topology.complete(1), [[1.0]], [-1.0], [[0.0], [1.0]])
    >>> view = raw_view(Model(Encoder([Column("age", center=6.0, scale=0.5)]), standardised))
    >>> view.labels, view.tree.weight, view.tree.bias
    (('age',), array([[0.5]]), array([-4.]))
    """
    model = Model.of(tree)
    features = model.encoder.features
    labels, columns = (tuple(getattr(f, name) for f in features) for name in ("label", "column_index"))
    return RawView(_fold(model.tree, features), labels, columns, _remark(model))


def class_colors(n_classes: int) -> list[str]:
    """Choose a colour for each class, as hex strings: the same in every view.

    Up to eight and up to twelve classes have colours that people who see no red or no green tell apart; more have
    evenly spaced hues in three lightnesses.

    Examples
    --------
    >>> class_colors(3)
    ['#0072b2', '#e69f00', '#009e73']
    """
    for palette in (_EIGHT, _TWELVE):
        if n_classes <= len(palette):
            return list(palette[:n_classes])
    return [_hex(colorsys.hls_to_rgb(k / n_classes, (0.35, 0.5, 0.68)[k % 3], 0.6)) for k in range(n_classes)]


def tint(color: str, strength: float) -> str:
    """Mix a colour with white.

    Examples
    --------
    >>> tint("#0072b2", 1.0), tint("#0072b2", 0.5), tint("#0072b2", 0.0)
    ('#0072b2', '#80b8d8', '#ffffff')
    """
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (1 - strength * (1 - part) for part in parts)
    return _hex((red, green, blue))


def _hex(color: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in color)


def _features(model: Model) -> tuple[Feature, ...]:
    """The features of a model, in steps of their columns if its splits count points."""
    tree, features = model.tree, model.encoder.features
    counts_points = tree.n_splits > 0 and (tree.weight % 1 == 0).all() and (tree.bias % 1 == 0).all()
    if not counts_points:
        return features
    return tuple(
        replace(feature, in_steps=True)
        if not feature.column.is_identity and feature.column.step is not None
        else feature
        for feature in features
    )


def _fold(tree: Tree, features: Sequence[Feature]) -> Tree:
    scale, shift = (np.array([getattr(feature, name) for feature in features]) for name in ("scale", "shift"))
    return tree if (scale == 1).all() and (shift == 0).all() else fold_affine(tree, scale, shift)


def _remark(model: Model) -> str:
    if isinstance(model.output, Identity):
        return ""
    return f"output: low + (tanh(v) + 1) / 2 * (high - low), {model.output}"


def _largest(array: Floats) -> Floats:
    """Largest absolute value along the last axis, 1 if all are zero."""
    largest = np.abs(array).max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.where(largest > 0, largest, 1.0))
