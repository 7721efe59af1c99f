"""A path of trees in one page: from dense splits to splits on one column, all fitted to the same table.

The trees share columns, features and rows. What differs from tree to tree is described for each, and a slider of the
page chooses which of them is shown; the input stays as it is. See :meth:`dtsemnet.DTSemNetClassifier.sparsity_path`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.tree import Model, ReadingCost

__all__ = ["TreePath", "models_of", "steps_of"]

OWN = (
    "children", "weight", "bias", "value", "coef", "lower", "upper", "probability", "squash", "leaves", "image",
    "reading",
)  # fmt: skip
"""Fields of a description that differ from tree to tree."""


@runtime_checkable
class TreePath(Protocol):
    """What is read of a :class:`dtsemnet.estimators.sparsity.SparsityPath`."""

    limit: Sequence[int | None]
    n_columns: Floats
    n_leaves: Ints
    score: Floats
    chosen: int
    estimators: Sequence[Any]


def models_of(path: TreePath) -> list[Model]:
    """The models of a path; all of them must read the same features."""
    models = [Model.of(estimator) for estimator in path.estimators]
    for limit, model in zip(path.limit, models):
        if model.encoder != models[0].encoder:
            raise ValueError(
                f"the tree of limit {limit} reads its columns in another way than the first tree of the path; pass a "
                "path whose trees were fitted to the same table."
            )
    return models


def steps_of(path: TreePath, descriptions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Describe a path, given the descriptions of its models."""
    return {
        "at": int(path.chosen),
        "measure": "accuracy" if descriptions[0]["kind"] == "classifier" else "R2",
        "steps": [
            {"limit": limit, "columns": float(columns), "total": ReadingCost.of(estimator).total}
            | {"score": None if np.isnan(score) else float(score), "tree": {name: tree[name] for name in OWN}}
            for limit, columns, score, estimator, tree in zip(
                path.limit, path.n_columns, path.score, path.estimators, descriptions
            )
        ],
    }
