"""A model as people read it: every split and leaf in the columns and units of the data.

What is affine in an encoder folds into the splits and leaves: ``w * (x - c) * s`` reads
``(w s) x - w s c``. What is not (a clipped number, a category, a missing value) stays a
feature of its own, with a label that says what it is. The folded tree is for eyes: it
equals the model to rounding, while predictions and exports repeat the model itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.tree.edits import fold_affine
from dtsemnet.tree.encoder import Column, Encoder
from dtsemnet.tree.model import Identity, Model
from dtsemnet.tree.tree import Tree

__all__ = ["RawView", "as_model", "raw_view"]


@dataclass(frozen=True)
class RawView:
    """The folded tree, a label for each of its features, and the column each of them comes from."""

    tree: Tree
    labels: tuple[str, ...]
    column: tuple[int, ...]
    """Number of the column that gives the feature: features of one categorical column share it."""
    remark: str
    """How outputs are mapped behind the leaves, or empty."""


def as_model(tree: Any) -> Model:
    """Take a Tree, a Model or a fitted estimator for a Model; a bare tree gets an encoder that hands columns on.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> as_model(Tree(Topology([]), np.empty((0, 1)), [], [[0.0]]))
    Model(1 column -> 1 feature, Tree(depth 0, 0 splits, 1 leaf, 1 feature, constant leaves))
    """
    found = getattr(tree, "model_", tree)
    if isinstance(found, Tree):
        return Model(Encoder.identity(found.feature_labels), found)
    if not isinstance(found, Model):
        fitted = hasattr(tree, "fit")
        way_out = "fit it first" if fitted else "load a model file by dtsemnet.tree.read"
        raise TypeError(f"tree must be a Tree, a Model or a fitted estimator, got {type(tree).__name__}; {way_out}.")
    return found


def raw_view(tree: Any) -> RawView:
    """Fold what is affine in the encoder of a Tree, Model or fitted estimator.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> standardised = Tree(Topology.complete(1), [[1.0]], [-1.0], [[0.0], [1.0]])
    >>> view = raw_view(Model(Encoder([Column("age", center=6.0, scale=0.5)]), standardised))
    >>> view.labels, view.tree.weight, view.tree.bias
    (('age',), array([[0.5]]), array([-4.]))
    """
    model = as_model(tree)
    scale, shift = np.ones(model.tree.n_features), np.zeros(model.tree.n_features)
    labels = list(model.encoder.feature_names)
    owner: list[int] = []
    for number, column in enumerate(model.encoder.columns):
        place = len(owner)
        owner += [number] * len(column.feature_names)
        if column.categories is not None:
            continue
        if column.lower is None and column.upper is None:
            scale[place], shift[place] = column.scale, -column.center * column.scale
        else:
            labels[place] = _clipped(column)
    remark = (
        "" if isinstance(model.output, Identity) else f"output: low + (tanh(v) + 1) / 2 * (high - low), {model.output}"
    )
    folded = model.tree if (scale == 1).all() and (shift == 0).all() else fold_affine(model.tree, scale, shift)
    return RawView(folded, tuple(labels), tuple(owner), remark)


def _clipped(column: Column) -> str:
    inner = column.name
    if column.center != 0:
        inner = f"({inner} {'-' if column.center > 0 else '+'} {abs(column.center):g})"
    if column.scale != 1:
        inner = f"{inner} * {column.scale:g}"
    ends = [
        "-inf" if column.lower is None else f"{column.lower:g}",
        "inf" if column.upper is None else f"{column.upper:g}",
    ]
    return f"clip({inner}, {', '.join(ends)})"
