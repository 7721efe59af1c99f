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
from dtsemnet.tree.model import Identity, Model
from dtsemnet.tree.tree import Tree

__all__ = ["RawView", "raw_view"]


@dataclass(frozen=True)
class RawView:
    """The folded tree, a label for each of its features, and the column each of them comes from."""

    tree: Tree
    labels: tuple[str, ...]
    column: tuple[int, ...]
    """Number of the column that gives the feature: features of one categorical column share it."""
    remark: str
    """How outputs are mapped behind the leaves, or empty."""


def raw_view(tree: Any) -> RawView:
    """Fold what is affine in the encoder of a Tree, Model or fitted estimator.

    Examples
    --------
    >>> from dtsemnet.tree import Column, Encoder, Topology
    >>> standardised = Tree(Topology.complete(1), [[1.0]], [-1.0], [[0.0], [1.0]])
    >>> view = raw_view(Model(Encoder([Column("age", center=6.0, scale=0.5)]), standardised))
    >>> view.labels, view.tree.weight, view.tree.bias
    (('age',), array([[0.5]]), array([-4.]))
    """
    model = Model.of(tree)
    features = model.encoder.features
    scale = np.array([feature.scale for feature in features])
    shift = np.array([feature.shift for feature in features])
    remark = (
        "" if isinstance(model.output, Identity) else f"output: low + (tanh(v) + 1) / 2 * (high - low), {model.output}"
    )
    folded = model.tree if (scale == 1).all() and (shift == 0).all() else fold_affine(model.tree, scale, shift)
    labels = [
        feature.label.replace(" = ", "=", 1) if feature.kind == "category" else feature.label for feature in features
    ]
    return RawView(folded, tuple(labels), tuple(feature.column_index for feature in features), remark)
