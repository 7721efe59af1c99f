"""The share of each column in the decisions of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dtsemnet.arrays import Floats
from dtsemnet.plot.style import BARS, INK, fresh_axes, plain, survey_rows, tidy_axes
from dtsemnet.tree import ReadableView

__all__ = ["plot_importance"]


def plot_importance(tree: Any, X: Any = None, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Plot the importance of columns, the largest first.

    A split counts by the share of rows that pass it; within a split, a feature counts by its absolute weight times its
    standard deviation. Features made from one column are added up.

    Parameters
    ----------
    tree : fitted estimator, Model or Tree
        Its ``feature_importances_`` are shown if it has some.
    X : array_like or data frame, optional
        Rows to measure by, needed for a bare tree or model; with an estimator, they replace the training rows.
    top : int, default=20
        Columns shown; the others are summed in the last bar.
    ax : matplotlib Axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[0], [1]], feature_names=["age", "height"])
    >>> ax = plot_importance(tree, [[0.0, 0.0], [3.0, 1.0]])
    >>> [float(bar.get_width()) for bar in ax.patches]
    [0.75, 0.25]
    """
    importance, names = _importance(tree, X)
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}.")
    order = np.argsort(-importance, kind="stable")
    shown = order[:top]
    lengths, labels = importance[shown].tolist(), [plain(names[j]) for j in shown]
    colors = [BARS] * len(shown)
    if len(order) > top:
        rest = len(order) - top
        lengths.append(float(importance[order[top:]].sum()))
        labels.append(f"{rest} other{'s' * (rest > 1)}")
        colors.append("#b9c1c9")
    ax = fresh_axes(ax, 6.4, 0.9 + 0.24 * len(lengths))
    ax.barh(range(len(lengths)), lengths, color=colors, height=0.72)
    ax.set_yticks(range(len(lengths)), labels)
    ax.invert_yaxis()
    ax.set_xlabel("share in the decisions", color=INK)
    tidy_axes(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    ax.margins(y=0.02)
    return ax


def _importance(tree: Any, X: Any) -> tuple[Floats, list[str]]:
    known = getattr(tree, "feature_importances_", None) if X is None else None
    if known is None:
        if X is None:
            raise ValueError(f"a {type(tree).__name__} has no feature_importances_; pass rows as X to measure them by.")
        view = ReadableView.of(tree)
        return _measure(view, X), [column.name for column in view.columns]
    importance = np.asarray(known, dtype=np.float64)
    model = getattr(tree, "model_", None)
    names = getattr(tree, "feature_names_in_", None)
    if names is None and model is not None:
        names = [column.name for column in model.encoder.columns]
    return importance, [f"x{j}" for j in range(len(importance))] if names is None else [str(name) for name in names]


def _measure(view: ReadableView, X: Any) -> Floats:
    survey = survey_rows(view.model, X)
    size = np.abs(view.sizes("weight", view.spread(X)))
    total = size.sum(axis=1, keepdims=True)
    by_feature = survey.below(survey.share) @ (size / np.where(total > 0, total, 1.0))
    column = [feature.column_index for feature in view.features]
    by_column = np.bincount(column, by_feature, len(view.columns))
    return by_column / (by_column.sum() or 1.0)
