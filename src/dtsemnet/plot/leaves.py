"""How a tree uses its leaves: their shares of the rows, and how well each answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import FuncFormatter

from dtsemnet.arrays import Floats, Ints
from dtsemnet.plot.style import (
    ACCENT,
    AMOUNTS,
    BARS,
    FAINT,
    GRID,
    INK,
    class_legend,
    fresh_axes,
    survey_rows,
    tidy_axes,
)  # fmt: skip
from dtsemnet.tree import LeafSurvey, Model, class_colors
from dtsemnet.tree.survey import leaf_answers

__all__ = ["plot_leaves"]


_NAMED = 40
"""Most leaves that are numbered one by one."""


def plot_leaves(tree: Any, X: Any, y: Any = None, *, sort: bool = True, ax: Axes | None = None) -> Axes:
    """Plot the share of the rows that each leaf gets.

    Bars of a classifier are stacked by class, those of a regressor coloured by the mean prediction; with ``y``, dots
    show the root mean squared error of each leaf, on the right axis.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame
        Rows to count.
    y : array_like, optional
        Their classes or targets. Without them, stacks show the tree's own probabilities.
    sort : bool, default=True
        Largest share first; else leaves are in the order of the tree, from left to right.
    ax : matplotlib Axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0]], [-2.0], [[10.0], [20.0]])
    >>> ax = plot_leaves(tree, [[1.0], [3.0], [4.0], [5.0]])
    >>> [float(bar.get_height()) for bar in ax.patches]
    [0.75, 0.25]
    """
    if X is None:
        raise ValueError("X must be given: the use of leaves is counted on rows.")
    survey = survey_rows(Model.of(tree), X, y)
    share = survey.share
    order = np.argsort(-share, kind="stable") if sort else np.arange(len(share))
    ax = fresh_axes(ax, float(np.clip(1.6 + 0.3 * len(share), 6.4, 12)), 3.6)
    if survey.model.is_classifier:
        _stacks(ax, survey, order)
    else:
        _bars(ax, survey, order)
        if y is not None:
            _errors(ax, survey, order)
    _label(ax, share, order, sort)
    return ax


def _stacks(ax: Axes, survey: LeafSurvey, order: Ints) -> None:
    assert survey.class_share is not None
    assert survey.model.class_names is not None
    colors, base = class_colors(survey.class_share.shape[1]), np.zeros(len(order))
    for k, color in enumerate(colors):
        part = (survey.class_share[:, k] * survey.share)[order]
        ax.bar(range(len(order)), part, bottom=base, color=color, width=_width(order), linewidth=0)
        base = base + part
    class_legend(
        ax, survey.model.class_names, colors, loc="upper right", ncols=1 + len(colors) // 6, handlelength=1.0,
        handleheight=1.0,
    )  # fmt: skip


def _bars(ax: Axes, survey: LeafSurvey, order: Ints) -> None:
    answer = leaf_answers(survey.model, survey)
    colors: Any = BARS
    if answer is not None and answer.shape[1] == 1 and np.isfinite(answer).any():
        norm = Normalize(float(np.nanmin(answer)), float(np.nanmax(answer)))
        colors = [colormaps[AMOUNTS](norm(value)) if np.isfinite(value) else GRID for value in answer[order, 0]]
        bar = ax.figure.colorbar(ScalarMappable(norm, AMOUNTS), ax=ax, pad=0.1, fraction=0.04)
        bar.set_label("mean prediction", color=INK)
        bar.outline.set_visible(False)
    ax.bar(range(len(order)), survey.share[order], color=colors, width=_width(order), linewidth=0)


def _width(order: Ints) -> float:
    return 0.82 if len(order) <= _NAMED else 1.0


def _errors(ax: Axes, survey: LeafSurvey, order: Ints) -> None:
    assert survey.squared_error is not None
    error = np.sqrt(survey.squared_error.mean(axis=1))[order]
    right = ax.twinx()
    right.plot(
        range(len(order)), error, "o", color=ACCENT, markersize=4.5, markeredgecolor="white", markeredgewidth=0.6
    )
    right.set_ylim(0, 1.15 * np.nanmax(error) or 1.0)
    right.set_ylabel("RMSE in the leaf (dots)", color=ACCENT)
    right.tick_params(color=ACCENT, labelcolor=ACCENT, labelsize=8.5)
    right.spines[["top", "left", "right", "bottom"]].set_visible(False)


def _label(ax: Axes, share: Floats, order: Ints, sort: bool) -> None:
    tidy_axes(ax, grid="y")
    n_leaves = len(order)
    if n_leaves <= _NAMED:
        ax.set_xticks(range(n_leaves), [str(leaf) for leaf in order], fontsize=8)
        ax.set_xlabel("leaf", color=INK)
    else:
        ax.set_xlabel("leaves, the most used first" if sort else "leaf", color=INK)
    ax.tick_params(axis="x", length=0)
    # If many leaves are sorted by use, those without rows are left out.
    shown = n_leaves if n_leaves <= _NAMED or not sort else max(_NAMED, int((share > 0).sum()))
    ax.set_xlim(-0.7, shown - 0.3)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    ax.set_ylabel("share of rows", color=INK)
    running = np.cumsum(np.sort(share)[::-1])
    most, empty = 1 + int(np.searchsorted(running, 0.9 - 1e-12)), int((share == 0).sum())
    leaves = f"{n_leaves} leaves" if n_leaves > 1 else "1 leaf"
    summary = f"{leaves}: {most} hold{'s' * (most == 1)} 90 % of the rows, "
    summary += f"{empty} are empty" if empty > 1 else "1 is empty" if empty else "none is empty"
    ax.set_title(summary, fontsize=9, loc="left", color=FAINT)
