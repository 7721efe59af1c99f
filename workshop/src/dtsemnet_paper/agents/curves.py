"""Learning curves: the judgements during training, mean and range over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dtsemnet.rl.environments import Environment
from dtsemnet_paper.agents.report import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_curves"]


def plot_curves(environment: Environment, rows: Sequence[Row]) -> Figure | None:
    """Draw the judgements of each agent over its steps: the mean over seeds, and their range as a band.

    A dotted line is the published test score of an agent, in its colour. Judgements so far below the others that these
    could not be distinguished are cut off. Returns None if no run has a curve.

    Examples
    --------
    >>> from dtsemnet.rl.environments import read_environment
    >>> row = Row("dtsemnet", {}, 4, [{"curve": {"step": [5, 10], "mean": [20.0, 30.0]}}], {"mean": 40.0})
    >>> plot_curves(read_environment("CartPole-v1"), [row]).axes[0].get_title()
    'CartPole'
    """
    from matplotlib.figure import Figure

    from dtsemnet.plot.style import tidy_axes
    from dtsemnet.tree import class_colors

    shown = [row for row in rows if any(record.get("curve", {}).get("step") for record in row.records)]
    if not shown:
        return None
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    ax, judged = figure.subplots(), []
    for row, color in zip(shown, class_colors(len(shown))):
        curves = [record["curve"] for record in row.records if record.get("curve", {}).get("step")]
        step = np.unique(np.concatenate([curve["step"] for curve in curves]))
        mean = np.array([np.interp(step, curve["step"], curve["mean"]) for curve in curves])
        judged.append(mean.ravel())
        ax.plot(step, mean.mean(axis=0), color=color, linewidth=1.6, label=f"{row.label}, {len(curves)}")
        ax.fill_between(step, mean.min(axis=0), mean.max(axis=0), color=color, alpha=0.15, linewidth=0)
        if row.published:
            ax.axhline(row.published["mean"], color=color, linewidth=1.0, linestyle=":")
    low, high = np.quantile(np.concatenate(judged), [0.05, 0.95])
    published = [row.published["mean"] for row in shown if row.published]
    bottom, top = 2 * low - high, max(*map(np.max, judged), *published, high)
    if min(map(np.min, judged)) < bottom:
        ax.set_ylim(bottom, top + 0.05 * (top - bottom))
    ax.set(title=environment.title or environment.name, xlabel="step", ylabel="mean reward of the judges' episodes")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
    ax.legend(
        title="agent, seeds", frameon=False, fontsize=8, title_fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5)
    )
    tidy_axes(ax)
    return figure
