"""The course of a training: loss, validation error, and the schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dtsemnet.plot.style import ACCENT, EDGE, FAINT, INK, fresh_axes, tidy_axes
from dtsemnet.tree import class_colors
from dtsemnet.tree.wording import display_number

__all__ = ["plot_history"]

_SCHEDULES = ("temperature", "learning_rate")


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
    schedule = _choose(history, schedule)
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


def _choose(history: Any, schedule: str | None) -> str | None:
    if schedule == "auto":
        return "temperature" if len(set(history["temperature"])) > 1 else "learning_rate"
    if schedule not in (None, *_SCHEDULES):
        raise ValueError(f"schedule must be 'auto', one of {_SCHEDULES} or None, got {schedule!r}.")
    return schedule


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
    ax.fill_between(epoch, height, step="mid", color=EDGE, alpha=0.6, linewidth=0, transform=foot, zorder=1)
    ends = f"{label} from {display_number(values[0])} to {display_number(values[-1])}"
    ax.text(0.98, 0.03, ends, fontsize=8, color=FAINT, ha="right", transform=ax.transAxes)


def _make_room(ax: Axes) -> None:
    """Lift the curve off the lowest quarter, and leave no ticks there."""
    low, high = ax.get_ylim()
    ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])
    ax.set_ylim(low - 0.3 * (high - low), high)
