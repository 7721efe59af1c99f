"""What a record says of a fitted method: its scores on rows, and the size of its tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from dtsemnet.arrays import Ints
from dtsemnet_paper.records import Record

__all__ = ["further_scores", "score", "tree_size"]

MOST_LEAVES = 256
"""Leaves whose rows a record states; an axis-aligned tree can have thousands."""


def score(task: str, y: Any, predicted: Any) -> float:
    """Accuracy in percent, or the root of the mean squared error.

    Examples
    --------
    >>> score("classification", [0, 1, 1, 0], [0, 1, 0, 0]), score("regression", [1.0, 3.0], [1.0, 5.0]) ** 2
    (75.0, 2.0000000000000004)
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    if task == "classification":
        return 100 * float(np.mean(y == predicted))
    return float(np.sqrt(np.mean((y - predicted.reshape(y.shape)) ** 2)))


def further_scores(task: str, estimator: Any, X: Any, y: Any) -> Record:
    """Scores beside the main one.

    Returns
    -------
    dict
        For numbers ``r2``. For classes ``log_loss``, ``brier`` (the squared error of the probabilities, summed over the
        classes) and, if there are two classes, ``auc``. None if the method gives no probabilities.
    """
    if task == "regression":
        return {"r2": float(r2_score(y, np.asarray(estimator.predict(X)).reshape(y.shape)))}
    if not hasattr(estimator, "predict_proba"):
        return {"log_loss": None, "brier": None, "auc": None}
    classes = np.union1d(estimator.classes_, y)
    chance = np.zeros((len(y), len(classes)))
    chance[:, np.searchsorted(classes, estimator.classes_)] = estimator.predict_proba(X)
    hit = y[:, None] == classes
    two = len(classes) == 2 and len(np.unique(y)) == 2
    return {
        "log_loss": float(log_loss(y, chance, labels=classes)),
        "brier": float(np.mean(np.square(chance - hit).sum(axis=1))),
        "auc": float(roc_auc_score(hit[:, 1], chance[:, 1])) if two else None,
    }


def tree_size(estimator: Any, X: Any, columns: Ints | None = None) -> Record:
    """Size of the tree, and training rows in each leaf, largest first; None for each if there is no tree.

    Parameters
    ----------
    estimator : fitted estimator
        If it is a search, the tree is that of the estimator it kept.
    X : array or data frame
        Training rows, as the estimator reads them.
    columns : array of int, optional
        For each column of ``X`` the column of the data set that it comes from; by default its own position.

    Returns
    -------
    dict
        ``leaves``, ``leaves_used``, ``leaf_rows``, ``depth``, and ``columns``: how many columns of the data set a split
        reads, on average.
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    tree: Any = getattr(estimator, "tree_", None)
    if not hasattr(tree, "n_leaves") or not hasattr(estimator, "apply"):
        return dict.fromkeys(("leaves", "leaves_used", "leaf_rows", "depth", "columns"))
    rows = np.unique(estimator.apply(X), return_counts=True)[1]
    return {
        "leaves": int(tree.n_leaves), "leaves_used": len(rows), "leaf_rows": sorted(rows.tolist())[::-1][:MOST_LEAVES],
        "depth": int(tree.topology.depth) if hasattr(tree, "topology") else int(tree.max_depth),
        "columns": _columns_per_split(estimator, tree, columns),
    }  # fmt: skip


def _columns_per_split(estimator: Any, tree: Any, columns: Ints | None) -> float | None:
    """Count the columns that a split reads, on average; None if there is no split."""
    if tree.n_leaves == 1:
        return None
    if not hasattr(tree, "weight"):  # scikit-learn's: one column in each split
        return 1.0
    source = np.array([feature.column_index for feature in estimator.model_.encoder.features])
    source = source if columns is None else columns[source]
    reads = (tree.weight != 0) @ (source[:, None] == np.unique(source))
    return float(np.mean(reads.sum(axis=1)))
