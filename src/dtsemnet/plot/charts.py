"""Charts beside the drawings: how a tree uses its leaves and its columns, and the course of its training."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import FuncFormatter

from dtsemnet.arrays import Floats, Ints
from dtsemnet.plot import style
from dtsemnet.plot.style import ACCENT, BARS, FAINT, INK, fresh_axes, plain, survey_rows, tidy_axes
from dtsemnet.tree import LeafSurvey, Model, ReadableView, class_colors
from dtsemnet.tree.survey import leaf_answers
from dtsemnet.tree.wording import display_number

__all__ = ["plot_history", "plot_importance", "plot_leaves"]

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
    _label_leaves(ax, share, order, sort)
    return ax


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


def plot_history(estimator: Any, *, schedule: str | None = "auto", ax: Axes | None = None) -> Axes:
    """Plot the training loss of a fitted estimator after each epoch.

    The error that early stopping watched, if there was one, is on the right axis, since it has other units. The best
    epoch is marked. A band at the foot shows the temperature or the learning rate: while the temperature falls, the
    loss is that of a changing function, whose limit is the tree.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with a ``history_``.
    schedule : {"auto", "temperature", "learning_rate"} or None, default="auto"
        What the band shows. "auto" is the temperature if it changed, else the learning rate.
    ax : matplotlib Axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the loss.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dtsemnet import DTSemNetClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DTSemNetClassifier(max_depth=2, n_init=1, max_iter=10, random_state=0).fit(X, y)
    >>> ax = plot_history(classifier)
    >>> list(ax.lines[0].get_ydata()) == classifier.loss_curve_
    True
    """
    history = getattr(estimator, "history_", None)
    if history is None:
        raise TypeError(f"estimator must be fitted and have a history_, got {type(estimator).__name__}.")
    if not len(history):
        raise ValueError("history_ is empty: constants need no training, and a loaded model does not keep its history.")
    if schedule not in ("auto", "temperature", "learning_rate", None):
        raise ValueError(f"schedule must be 'auto', 'temperature', 'learning_rate' or None, got {schedule!r}.")
    if schedule == "auto":
        schedule = "temperature" if len(set(history["temperature"])) > 1 else "learning_rate"
    ax = fresh_axes(ax, 6.4, 4.0)
    epoch = 1 + np.arange(len(history))
    blue, orange = class_colors(2)
    ax.plot(epoch, history["loss"], color=blue, linewidth=1.8)
    ax.set_ylabel("training loss", color=blue)
    ax.set_xlabel("epoch", color=INK)
    tidy_axes(ax, grid="y")
    watched = [np.nan if value is None else float(value) for value in history["monitor"]]
    if not np.isnan(watched).all():
        _watched(ax, epoch, np.array(watched), orange)
    if history.best_epoch is not None:
        best = epoch[[row.epoch for row in history].index(history.best_epoch)]
        ax.axvline(best, color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)))
        ax.annotate("best", (best, 1.0), (3, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
                    fontsize=8, color=ACCENT, va="top")  # fmt: skip
    ax.margins(x=0.02)
    if schedule is not None:
        _band(ax, epoch, history[schedule], schedule.replace("_", " "))
    return ax


def _stacks(ax: Axes, survey: LeafSurvey, order: Ints) -> None:
    assert survey.class_share is not None
    assert survey.model.class_names is not None
    colors, base = class_colors(survey.class_share.shape[1]), np.zeros(len(order))
    for k, color in enumerate(colors):
        part = (survey.class_share[:, k] * survey.share)[order]
        ax.bar(range(len(order)), part, bottom=base, color=color, width=_width(order), linewidth=0)
        base = base + part
    style.class_legend(
        ax, survey.model.class_names, colors, loc="upper right", ncols=1 + len(colors) // 6, handlelength=1.0,
        handleheight=1.0,
    )  # fmt: skip


def _bars(ax: Axes, survey: LeafSurvey, order: Ints) -> None:
    answer = leaf_answers(survey.model, survey)
    colors: Any = BARS
    if answer is not None and answer.shape[1] == 1 and np.isfinite(answer).any():
        norm = Normalize(float(np.nanmin(answer)), float(np.nanmax(answer)))
        colors = [
            colormaps[style.AMOUNTS](norm(value)) if np.isfinite(value) else style.GRID for value in answer[order, 0]
        ]
        bar = ax.figure.colorbar(ScalarMappable(norm, style.AMOUNTS), ax=ax, pad=0.1, fraction=0.04)
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


def _label_leaves(ax: Axes, share: Floats, order: Ints, sort: bool) -> None:
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
    by_feature = view.tree.topology.sums_below(survey.share) @ (size / np.where(total > 0, total, 1.0))
    column = [feature.column_index for feature in view.features]
    by_column = np.bincount(column, by_feature, len(view.columns))
    return by_column / (by_column.sum() or 1.0)


def _watched(ax: Axes, epoch: Any, watched: Any, color: Any) -> None:
    right = ax.twinx()
    right.plot(epoch, watched, color=color, linewidth=1.5)
    right.set_ylabel("validation error", color=color)
    right.spines[["top", "left"]].set_visible(False)
    right.spines[["right", "bottom"]].set_color(FAINT)
    right.tick_params(color=FAINT, labelcolor=INK, labelsize=8.5)
    _make_room(right)


def _band(ax: Axes, epoch: Any, values: Any, label: str) -> None:
    """Fill the foot of the axes with a schedule, its largest value a fifth of the height."""
    values = np.asarray(values, dtype=np.float64)
    _make_room(ax)
    height = 0.2 * values / (values.max() or 1.0)
    foot = ax.get_xaxis_transform()
    ax.fill_between(epoch, height, step="mid", color=style.EDGE, alpha=0.6, linewidth=0, transform=foot, zorder=1)
    ends = f"{label} from {display_number(values[0])} to {display_number(values[-1])}"
    ax.text(0.98, 0.03, ends, fontsize=8, color=FAINT, ha="right", transform=ax.transAxes)


def _make_room(ax: Axes) -> None:
    """Lift the curve off the lowest quarter, and leave no ticks there."""
    low, high = ax.get_ylim()
    ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])
    ax.set_ylim(low - 0.3 * (high - low), high)
