"""Figures: each a function of records that returns a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dtsemnet_paper.bench.statistics import Comparison
from dtsemnet_paper.records import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "plot_critical_difference", "plot_evolution", "plot_heights", "plot_landscapes", "plot_leaf_use", "plot_teacher",
    "plot_times", "save_figure",
]  # fmt: skip

SELECTORS = {
    "straight_through": "straight-through", "top_k_reg_1": "Top-4/Reg-1", "top_k": "Top-4", "top_2": "Top-2",
}  # fmt: skip


def plot_critical_difference(comparison: Comparison, title: str = "") -> Figure:
    """Draw average ranks on a line, best at the left; a bar joins methods whose ranks do not differ significantly.

    Examples
    --------
    >>> from dtsemnet_paper.bench.statistics import compare
    >>> scores = [[9, 8, 7], [9, 8, 6], [9, 7, 8], [8, 9, 7]]
    >>> figure = plot_critical_difference(compare(["a", "b", "c"], scores, larger_is_better=True))
    >>> sorted(text.get_text() for text in figure.axes[0].texts)[3:5]
    ['a  1.25', 'b  2.00']
    """
    if comparison.difference is None:
        raise ValueError("a critical difference needs at least three methods and two sets.")
    names, n = sorted(comparison.ranks, key=comparison.ranks.__getitem__), len(comparison.ranks)
    groups = _alike([comparison.ranks[name] for name in names], comparison.difference)
    figure, axes = _axes(1, 6.4, 1.1 + 0.22 * n + 0.14 * len(groups))
    ax, foot = axes[0], -0.35 * len(groups) - 0.4
    for i, name in enumerate(names):
        rank, level, left = comparison.ranks[name], foot - 0.55 * min(i, n - 1 - i), i < (n + 1) / 2
        edge = 0.75 if left else n + 0.25
        ax.plot([rank, rank, edge], [0, level, level], color="#444444", linewidth=0.9)
        ax.text(edge + (-0.05 if left else 0.05), level, f"{name}  {rank:.2f}", ha="right" if left else "left",
                va="center", fontsize=9)  # fmt: skip
    for height, (first, last) in enumerate(groups):
        low, high = comparison.ranks[names[first]], comparison.ranks[names[last]]
        ax.plot([low - 0.03, high + 0.03], [-0.3 - 0.35 * height] * 2, color="#0072b2", linewidth=3.5)
    ax.plot([1, 1 + comparison.difference], [0.7, 0.7], color="black", linewidth=1.5, marker="|")
    ax.text(
        1 + comparison.difference / 2, 0.8, f"critical difference {comparison.difference:.2f}", ha="center", fontsize=8
    )
    ax.hlines(0, 1, n, color="black", linewidth=1)
    for rank in range(1, n + 1):
        ax.plot([rank, rank], [0, 0.12], color="black", linewidth=1)
        ax.text(rank, 0.17, str(rank), ha="center", fontsize=8)
    ax.set(xlim=(-0.4, n + 1.4), ylim=(foot - 0.55 * (n // 2) - 0.3, 1.5), title=title)
    ax.axis("off")
    return figure


def plot_heights(records: Sequence[Record]) -> Figure:
    """Draw the test score against the height, one panel per set, mean and deviation over seeds."""
    figure, panels = _panels(records, 3.4)
    for name, ax in panels.items():
        for color, method in _methods(records):
            groups = _by(records, name, method, lambda r: r["configuration"]["max_depth"])
            mean = np.array([np.mean([r["test"] for r in group]) for group in groups.values()])
            sd = np.array([np.std([r["test"] for r in group]) for group in groups.values()])
            ax.plot(list(groups), mean, color=color, marker="o", markersize=3, label=method)
            ax.fill_between(list(groups), mean - sd, mean + sd, color=color, alpha=0.18, linewidth=0)
        ax.set(title=name, xlabel="height", ylabel=_unit(records, name))
        ax.xaxis.get_major_locator().set_params(integer=True)
    return _finish(figure, list(panels.values()))


def plot_times(records: Sequence[Record]) -> Figure:
    """Draw the test score against CPU seconds of a fit, one panel per set, one point per run and a ring at the mean."""
    figure, panels = _panels(records, 3.4)
    for name, ax in panels.items():
        for color, method in _methods(records):
            mine = _of(records, name, method)
            if mine:
                seconds, test = [r["cpu_seconds"] for r in mine], [r["test"] for r in mine]
                ax.scatter(seconds, test, color=color, s=8, alpha=0.35, linewidth=0)
                ax.scatter(np.mean(seconds), np.mean(test), color=color, s=45, label=method, edgecolor="white")
        ax.set(title=name, xlabel="CPU seconds", ylabel=_unit(records, name), xscale="log")
        _plain_seconds(ax)
    return _finish(figure, list(panels.values()))


def plot_leaf_use(records: Sequence[Record]) -> Figure:
    """Draw the share of training rows in each leaf, largest first, averaged over seeds, one panel per set."""
    figure, panels = _panels(records, 4.2)
    for name, ax in panels.items():
        for color, method in _methods(records):
            mine = _of(records, name, method)
            if mine:
                share = np.mean([_shares(r["leaf_rows"], r["leaves"]) for r in mine], axis=0)
                used = np.mean([(_shares(r["leaf_rows"], r["leaves"]) >= 1).sum() for r in mine])
                ax.step(
                    1 + np.arange(len(share)), share, where="mid", color=color, label=f"{method}, {used:.1f} leaves"
                )
        ax.set(title=name, xlabel="leaf, largest first", ylabel="training rows, %")
    return _finish(figure, list(panels.values()), legend="leaves with at least 1 %", each=True)


def plot_evolution(records: Sequence[Record]) -> Figure:
    """Draw training rows in each leaf at the start, after epochs 1 and 2, and at the end; one row of panels per set."""
    sets = list(dict.fromkeys(r["set"] for r in records))
    stages = {"start": 0, "epoch 1": 1, "epoch 2": 2, "end": -1}
    figure, axes = _axes(len(sets) * len(stages), 2.7, 2.3, columns=len(stages))
    for i, (name, (stage, epoch)) in enumerate((s, item) for s in sets for item in stages.items()):
        ax = axes[i]
        for color, record in zip(_colors(), (r for r in records if r["set"] == name)):
            counts = record["rows"][epoch]
            label = f"{SELECTORS[record['selector']]}: {int((_shares(counts, len(counts)) >= 1).sum())}"
            ax.step(1 + np.arange(len(counts)), counts, where="mid", color=color, label=label)
        ax.set(title=f"{name}, {stage}", xlabel="leaf, largest first", ylabel="training rows")
    return _finish(figure, axes, legend="leaves with at least 1 %", each=True)


def plot_teacher(records: Sequence[Record]) -> Figure:
    """Draw the error of the student's tree over the epochs, and the path of the root's weight."""
    figure, axes = _axes(2, 3.9, 3.2)
    for color, record in zip(_colors(), records):
        label, path = SELECTORS[record["selector"]], np.array(record["path"])
        axes[0].plot(record["train"], color=color, label=f"{label}, test {record['test']:.3f}")
        axes[1].plot(*path.T, color=color, marker=".", markersize=3, linewidth=1, label=label)
        axes[1].annotate("", path[-1], path[-2], arrowprops={"arrowstyle": "->", "color": color})
    goal, start = records[0]["goal"], records[0]["path"][0]
    axes[1].scatter(*goal, marker="*", s=130, color="black", zorder=3)
    axes[1].annotate("teacher", goal, (6, 4), textcoords="offset points", fontsize=8)
    axes[1].annotate("start", start, (6, 4), textcoords="offset points", fontsize=8)
    axes[0].set(xlabel="epoch", ylabel="training RMSE of the tree", title="Error")
    axes[1].set(xlabel="first weight", ylabel="second weight", title="Weight of the root")
    return _finish(figure, axes, each=True)


def plot_landscapes(records: Sequence[Record]) -> Figure:
    """Draw loss landscapes as filled contours, one row of panels per set, above the loss of the tree itself."""
    sets = list(dict.fromkeys(r["set"] for r in records))
    methods = list(dict.fromkeys(r["method"] for r in records))
    figure, axes = _axes(len(sets) * len(methods), 3.0, 2.6, columns=len(methods))
    for i, (name, method) in enumerate((s, m) for s in sets for m in methods):
        ax, mine = axes[i], _of(records, name, method)
        ax.set_title(f"{name}, {method}", fontsize=9)
        if not mine:
            ax.axis("off")
            continue
        steps, loss = mine[0]["steps"], np.array(mine[0]["loss"])
        # Two losses have two zeros: what counts is how fast each rises.
        picture = ax.contourf(steps, steps, loss - loss[len(steps) // 2, len(steps) // 2], levels=18, cmap="viridis")
        figure.colorbar(picture, ax=ax, shrink=0.85)
        ax.plot(0, 0, marker="+", color="white")
        ax.tick_params(labelsize=7)
    return figure


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Save as PNG and SVG, ``path`` without its ending; the same records give the same files."""
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    png, svg = (path.with_name(f"{path.name}.{kind}") for kind in ("png", "svg"))
    with matplotlib.rc_context({"svg.hashsalt": "dtsemnet"}):
        figure.savefig(png, dpi=150)
        figure.savefig(svg, metadata={"Date": None})
    return [png, svg]


def _alike(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Longest stretches of sorted ranks that lie within the difference."""
    stretches: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(j for j in range(len(ranks)) if ranks[j] - ranks[first] <= difference)
        if last > first and not any(a <= first and last <= b for a, b in stretches):
            stretches.append((first, last))
    return stretches


def _of(records: Sequence[Record], name: str, method: str) -> list[Record]:
    return [r for r in records if (r["set"], r["method"]) == (name, method)]


def _by(records: Sequence[Record], name: str, method: str, key: Any) -> Mapping[Any, list[Record]]:
    mine = sorted(_of(records, name, method), key=key)
    groups: dict[Any, list[Record]] = {}
    for record in mine:
        groups.setdefault(key(record), []).append(record)
    return groups


def _methods(records: Sequence[Record]) -> list[tuple[str, str]]:
    return list(zip(_colors(), dict.fromkeys(r["method"] for r in records)))


def _shares(rows: Sequence[int], n_leaves: int) -> Any:
    """Percent of the rows in each leaf, empty ones at the end."""
    return 100 * np.pad(np.array(rows, dtype=np.float64), (0, max(0, n_leaves - len(rows)))) / sum(rows)


def _unit(records: Sequence[Record], name: str) -> str:
    kind = next(r["score"] for r in records if r["set"] == name)
    return "test accuracy, %" if kind == "accuracy" else "test RMSE"


def _plain_seconds(ax: Any) -> None:
    """Label a logarithmic axis with plain numbers, few enough to be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _colors() -> list[str]:
    from dtsemnet.tree import class_colors

    return class_colors(8)


def _axes(n: int, width: float, height: float, columns: int = 4) -> tuple[Any, list[Any]]:
    """A figure without pyplot, so that nothing is left open, and its panels."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "figures need matplotlib, which is not installed; install it by: pip install 'dtsemnet[plot]'",
            name="matplotlib",
        ) from None
    columns = min(n, columns)
    rows = -(-n // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in axes[n:]:
        spare.axis("off")
    return figure, axes[:n]


def _panels(records: Sequence[Record], width: float) -> tuple[Any, dict[str, Any]]:
    """A figure with one panel per set, in the order of the records."""
    sets = list(dict.fromkeys(r["set"] for r in records))
    figure, axes = _axes(len(sets), width, 2.8)
    return figure, dict(zip(sets, axes))


def _finish(figure: Any, axes: Sequence[Any], *, legend: str | None = None, each: bool = False) -> Any:
    from dtsemnet.plot.style import tidy_axes

    for ax in axes:
        tidy_axes(ax, grid="y")
        ax.title.set_fontsize(9.5)
    for ax in axes if each else axes[:1]:
        ax.legend(frameon=False, fontsize=7.5, title=legend, title_fontsize=7.5)
    return figure
