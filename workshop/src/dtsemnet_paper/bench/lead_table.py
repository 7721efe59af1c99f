"""The lead of one method: its scores beside the best published ones, and what each of its ingredients adds.

A table with ``lead = true`` has the method in its first column, with the figures to reach as its published values, and
in the other columns the same method with one ingredient left out.
"""

from __future__ import annotations

from dtsemnet_paper.bench.summary import Cell, Column, Summary

__all__ = ["ablation_table", "lead_table", "standing"]


def standing(summary: Summary, name: str) -> str:
    """Compare the first column with the published value of a set, as both are written: win, tie, loss, or empty."""
    cell = summary.cells[name, summary.columns[0]]
    if "test" not in cell.ours or "test" not in cell.published:
        return ""
    digits = _published_digits(summary)
    ours, goal = round(cell.ours["test"].mean, digits), round(cell.published["test"].mean, digits)
    if ours == goal:
        return "tie"
    return "win" if (ours > goal) == summary.table.larger_is_better else "loss"


def lead_table(summary: Summary) -> str:
    """Markdown: ours, the figure to reach, the difference and the CPU seconds of a fit, set by set."""
    first, digits = summary.columns[0], summary.table.digits
    lines = [
        "| set | height | ours | to reach | difference | | CPU seconds | seeds |",
        "|---|---:|---:|---:|---:|---|---:|---:|",
    ]
    for name in summary.sets:
        cell = summary.cells[name, first]
        if "test" not in cell.ours:
            lines.append(f"| {summary.titles[name]} | | - | {_goal(summary, cell)} | | | | |")
            continue
        ours, goal = cell.ours["test"], cell.published["test"].mean
        lines.append(
            f"| {summary.titles[name]} | {cell.height} | {ours.mean:.{digits}f} ± {ours.sd:.{digits}f} "
            f"| {_goal(summary, cell)} | {ours.mean - goal:+.{digits}f} | {standing(summary, name)} "
            f"| {cell.ours['seconds'].mean:.2f} | {ours.n} |"
        )
    standings = [standing(summary, name) for name in summary.sets]
    said = ", ".join(
        f"{word} {standings.count(key)}" for key, word in (("win", "wins"), ("tie", "ties"), ("loss", "losses"))
    )
    unit = (
        "Accuracy in percent" if summary.table.larger_is_better else "Root mean squared error, in the unit of the paper"
    )
    return "\n".join(lines) + f"\n\n**{said}.** {unit}, mean ± sd over seeds. To reach: {summary.table.source}.\n"


def ablation_table(summary: Summary) -> str:
    """Markdown: what each column loses or gains against the first, over the sets that all columns have."""
    if not summary.shared or len(summary.distance) < 2:
        return ""
    first = summary.columns[0]
    lines = ["| | distance to best, % | sets better | sets worse | largest loss |", "|---|---:|---:|---:|---|"]
    for column, distance in summary.distance.items():
        gains = {name: _gain(summary, name, column, first) for name in summary.shared}
        worst = min(gains, key=lambda name: gains[name])
        loss = "" if column == first else f"{summary.titles[worst]}, {gains[worst]:+.1f} %"
        better, worse = (sum(sign * gain > 0.05 for gain in gains.values()) for sign in (1, -1))
        counts = "| | |" if column == first else f"| {better} | {worse} |"
        lines.append(f"| {column.method} | {distance:.2f} {counts} {loss} |")
    said = f"Over the {len(summary.shared)} sets that all have, on the {_seeds(summary)} seeds of a set that all have."
    return "\n".join(lines) + f"\n\n{said} Better or worse than the first: by more than 0.05 % of its score.\n"


def _gain(summary: Summary, name: str, column: Column, first: Column) -> float:
    """How much better than the first column, in percent of its score."""
    score, base = (summary.paired[name, c]["test"].mean for c in (column, first))
    return 100 * (score - base) / base * (1 if summary.table.larger_is_better else -1)


def _seeds(summary: Summary) -> str:
    """Fewest and most seeds that all columns have of a set."""
    numbers = [figures["test"].n or 0 for figures in summary.paired.values()]
    return f"{min(numbers)} to {max(numbers)}"


def _goal(summary: Summary, cell: Cell) -> str:
    return f"{cell.published['test'].mean:.{_published_digits(summary)}f}"


def _published_digits(summary: Summary) -> int:
    digits = summary.table.published_digits
    return summary.table.digits if digits is None else digits
