"""The sparsity path as a curve: what a tree loses with each column that its splits give up."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dtsemnet.plot.style import ACCENT, BARS, FAINT, INK, fresh_axes, tidy_axes

__all__ = ["plot_sparsity_path"]


def plot_sparsity_path(path: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the score of each tree of a sparsity path over the columns that its splits read.

    Scores are those on rows that the trees were not trained on. A full dot is a tree that is no more than one standard
    error worse than the best; the ring marks the sparsest of these. The numbers are those of leaves.

    Parameters
    ----------
    path : SparsityPath
        What ``sparsity_path`` of an estimator returned.
    ax : matplotlib Axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dtsemnet import DTSemNetClassifier
    >>> quick = DTSemNetClassifier(max_iter=10, random_state=0)
    >>> path = quick.sparsity_path(*load_iris(return_X_y=True), limits=[None, 1])
    >>> ax = plot_sparsity_path(path)
    >>> list(ax.lines[0].get_ydata()) == list(path.score)
    True
    """
    if not hasattr(path, "n_columns"):
        raise TypeError(f"path must be what sparsity_path returned, got {type(path).__name__}.")
    ax = fresh_axes(ax, 6.4, 3.6)
    near = path.behind <= path.error
    ax.plot(path.n_columns, path.score, color=BARS, linewidth=1.4)
    for chosen, color in ((near, BARS), (~near, "white")):
        ax.scatter(path.n_columns[chosen], path.score[chosen], color=color, edgecolors=BARS, s=34, zorder=3)
    best = path.chosen
    ax.scatter(path.n_columns[best], path.score[best], facecolors="none", edgecolors=ACCENT, s=130, linewidths=1.6)
    for x, y, n_leaves in zip(path.n_columns, path.score, path.n_leaves):
        label = f"{n_leaves} leaves" if n_leaves > 1 else "1 leaf"
        ax.annotate(label, (x, y), (0, -14), textcoords="offset points", ha="center", fontsize=8, color=FAINT)
    if path.n_columns.max() > 12:
        ax.set_xscale("symlog", linthresh=1.0)
    ticks = np.unique(np.round(path.n_columns, 1))
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.invert_xaxis()
    ax.margins(0.1, 0.2)
    ax.set_xlabel("columns a split, on average", color=INK)
    classes = path.estimators[0].tree_.is_classifier
    ax.set_ylabel(f"{'accuracy' if classes else 'R2'} on held-out rows", color=INK)
    tidy_axes(ax, grid="y")
    return ax
