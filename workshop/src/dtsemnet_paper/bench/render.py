"""A filled table for a terminal, for Markdown, and as JSON.

In the terminal the published figure is below ours, in grey. In Markdown it has a
column of its own. Bold is the best of ours on a set. Below are the means over all
sets, method by method, if the table names some.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table as Grid
from rich.text import Text

from dtsemnet_paper.bench.data import WAYS
from dtsemnet_paper.bench.overall import Overall, overall
from dtsemnet_paper.bench.summary import Cell, Column, Figure, Summary

__all__ = ["caption", "missing_lines", "remarks", "to_grids", "to_json", "to_markdown"]

UNITS = {
    "test": "test", "train": "train", "gap": "train - test", "seconds": "seconds", "log_loss": "log loss",
    "brier": "Brier", "auc": "AUC", "r2": "R2", "leaves": "leaves", "depth": "depth", "columns": "columns a split",
}  # fmt: skip
DIGITS = {"log_loss": 3, "brier": 3, "auc": 3, "r2": 3, "leaves": 1, "depth": 1, "columns": 1}
"""Decimals of quantities that are not in the unit of the score."""


def to_grids(summary: Summary, width: int) -> list[Grid]:
    """Lay a table out for a terminal; one that is wider than it comes in several parts."""
    wide = [(column, quantity) for quantity in summary.table.shows for column in summary.columns]
    names = max([len("distance to best, %"), *(len(_name(summary, name)) for name in summary.sets)])
    parts: list[list[tuple[Column, str]]] = [[]]
    room = width - names - 5
    for column, quantity in wide:
        shown = [_stacked(summary, name, column, quantity, bold=False).plain.split("\n") for name in summary.sets]
        need = 3 + max(map(len, [_head(summary, column, quantity), *(line for cell in shown for line in cell)]))
        if parts[-1] and need > room:
            parts.append([])
            room = width - names - 5
        parts[-1].append((column, quantity))
        room -= need
    return [_grid(summary, part) for part in parts if part] + _overall_grids(summary)


def _grid(summary: Summary, wide: list[tuple[Column, str]]) -> Grid:
    table = summary.table
    grid = Grid(title=table.title, title_style="bold", title_justify="left")
    grid.add_column("set", no_wrap=True)
    for column, quantity in wide:
        grid.add_column(_head(summary, column, quantity), justify="right", no_wrap=True)
    for name in summary.sets:
        best = summary.best(name)
        cells = [
            _stacked(summary, name, column, quantity, bold=quantity == "test" and column in best)
            for column, quantity in wide
        ]
        published = any(summary.cells[name, column].published for column in summary.columns)
        grid.add_row(_titled(_name(summary, name), published=published), *cells)
    if summary.distance:
        grid.add_section()
        title = _titled("distance to best, %", published=bool(table.distance))
        grid.add_row(title, *(_distance(summary, column, quantity) for column, quantity in wide))
    return grid


def _overall_grids(summary: Summary) -> list[Grid]:
    """Lay out the means over all sets; nothing if the table names none."""
    rows = _overall_rows(summary)
    if not rows:
        return []
    grid = Grid(title=_overall_title(summary), title_style="bold", title_justify="left")
    for number, head in enumerate(rows[0]):
        grid.add_column(head, justify="right" if number else "left", no_wrap=not number)
    for row in rows[1:]:
        grid.add_row(*row)
    return [grid]


def _overall_title(summary: Summary) -> str:
    return f"Means over the {len(summary.shared)} sets that all have"


def _overall_rows(summary: Summary) -> list[list[str]]:
    """The means over all sets as text, with a head; empty if the table names none."""
    rows = [[column.label, *_overall_cells(summary, it)] for column, it in overall(summary).items()]
    for row in rows[:1]:
        row[-1] = ""  # the first method against itself
    head = ["method", *(UNITS[quantity] for quantity in summary.table.means), "rank", "wins, ties, losses"]
    return [head, *rows] if rows else []


def _overall_cells(summary: Summary, it: Overall) -> list[str]:
    table = summary.table
    means = [_number(Figure(it.means[q]), q, table.digits) if q in it.means else "-" for q in table.means]
    return [*means, f"{it.rank:.2f}", f"{it.wins}, {it.ties}, {it.losses}"]


def to_markdown(summary: Summary) -> str:
    """Write a table in Markdown, ours and published figures in columns beside each other."""
    table = summary.table
    head, rows = ["set"], [[_name(summary, name)] for name in summary.sets]
    foot = ["distance to best, %"]
    for quantity in table.shows:
        for column in summary.columns:
            title = _head(summary, column, quantity)
            theirs = any(quantity in summary.cells[name, column].published for name in summary.sets)
            theirs = theirs and column.protocol == summary.protocol
            head += [title, "published"] if theirs else [title]
            for row, name in zip(rows, summary.sets):
                cell = summary.cells[name, column]
                ours = _ours(summary, cell, quantity)
                ours = f"**{ours}**" if quantity == "test" and column in summary.best(name) else ours
                row += [ours, _theirs(summary, cell, quantity) or "-"] if theirs else [ours]
            distance = f"{summary.distance[column]:.1f}" if quantity == "test" and column in summary.distance else ""
            known = table.distance.get(table.stands_for.get(column.method, column.method))
            published = f"{known:.1f}" if quantity == "test" and known is not None else ""
            foot += [distance, published] if theirs else [distance]
    lines = _markdown_lines([head, *rows, foot] if summary.distance else [head, *rows])
    if below := _overall_rows(summary):
        lines += ["", f"{_overall_title(summary)}:", "", *_markdown_lines(below)]
    return "\n".join([*lines, "", *(f"- {remark}" for remark in [caption(summary), *remarks(summary)])]) + "\n"


def _markdown_lines(rows: list[list[str]]) -> list[str]:
    ruled = [rows[0], ["---"] + ["---:"] * (len(rows[0]) - 1), *rows[1:]]
    return ["| " + " | ".join(row) + " |" for row in ruled]


def to_json(summary: Summary) -> dict[str, Any]:
    """The figures of a table as plain values."""
    comparison = summary.comparison
    return {
        "table": summary.table.name,
        "title": summary.table.title,
        "score": summary.table.score,
        "sets": {
            name: {column.label: _plain_cell(summary.cells[name, column]) for column in summary.columns}
            for name in summary.sets
        },
        "distance_to_best": {column.label: value for column, value in summary.distance.items()},
        "published_distance": dict(summary.table.distance),
        "overall": {column.label: it._asdict() for column, it in overall(summary).items()},
        "statistics": None if comparison is None else {**vars(comparison)},
        "missing": dict(summary.missing),
    }


def caption(summary: Summary) -> str:
    """What the figures are: the unit, over how many seeds, and where the others were published."""
    table = summary.table
    unit = "Accuracy in percent" if table.larger_is_better else "Root mean squared error"
    counts = sorted({cell.ours["test"].n or 0 for cell in summary.cells.values() if cell.ours})
    seeds = "no runs yet" if not counts else "1 seed" if counts == [1] else f"{counts[0]} to {counts[-1]} seeds"
    seeds = f"{counts[0]} seeds" if len(counts) == 1 and counts != [1] else seeds
    notes = [f"{unit}, mean ± sd ({seeds})", "height in brackets"]
    notes += ["CPU seconds of a fit"] if "seconds" in table.shows else []
    if table.means:
        unit = "accuracy" if table.larger_is_better else "R2 in percent"
        notes.append(f"wins and losses against the first method by more than {table.tie:g} points of {unit}")
        notes += ["mean CPU seconds are the geometric mean"] if "seconds" in table.means else []
    source = f"; published: {table.source}" if table.source else ""
    source += f", {table.published_seeds} runs" if table.published_seeds else ""
    return ", ".join(notes) + source + "."


def remarks(summary: Summary) -> list[str]:
    """What a reader should know below the table: tests over sets, failures, and what is missing."""
    lines = []
    comparison = summary.comparison
    if comparison is not None:
        lines.append(f"Over the {comparison.n_sets} sets that all columns have:")
        lines[-1] += (
            " average ranks " + ", ".join(f"{name} {rank:.2f}" for name, rank in comparison.ranks.items()) + "."
        )
        first = next(iter(comparison.ranks))
        pairs = ", ".join(f"{name} {_p(value)}" for name, value in comparison.wilcoxon.items())
        lines.append(f"Wilcoxon signed-rank, {first} against: {pairs}.")
        if comparison.friedman is not None and comparison.difference is not None:
            lines.append(
                f"Friedman {_p(comparison.friedman)}; ranks further apart than {comparison.difference:.2f} differ "
                f"(Nemenyi, {comparison.alpha:g})."
            )
    for name in summary.sets:
        for column in summary.columns:
            cell = summary.cells[name, column]
            if cell.failed:
                error = cell.error.splitlines()[0][:160]
                lines.append(f"{column.label} on {name}: {cell.failed} runs failed, the last with {error}")
    if summary.missing:
        kinds = dict.fromkeys(spec.file for spec in summary.table.catalogue().values() if spec.name in summary.missing)
        ways = "; ".join(WAYS[kind].format(name="NAME") for kind in kinds)
        lines.append(f"Sets without data are left out. To have one, {ways}.")
    return lines + missing_lines(summary.missing)


def missing_lines(missing: Mapping[str, str]) -> list[str]:
    """Say what is missing and why, in one line for each reason.

    Examples
    --------
    >>> missing_lines({"ash": "not here", "birch": "torn", "cedar": "not here"})
    ['ash, cedar: not here', 'birch: torn']
    """
    names: dict[str, list[str]] = {}
    for name, reason in missing.items():
        names.setdefault(reason, []).append(name)
    return [f"{', '.join(those)}: {reason}" for reason, those in names.items()]


def _head(summary: Summary, column: Column, quantity: str) -> str:
    return column.label if tuple(summary.table.shows) == ("test",) else f"{column.label} {UNITS[quantity]}"


def _name(summary: Summary, name: str) -> str:
    return f"{summary.titles[name]} (no data)" if name in summary.missing else summary.titles[name]


def _titled(title: str, *, published: bool) -> Text:
    return Text(title).append("\n  published", style="dim") if published else Text(title)


def _stacked(summary: Summary, name: str, column: Column, quantity: str, *, bold: bool) -> Text:
    cell = summary.cells[name, column]
    text = Text(_ours(summary, cell, quantity), style="bold" if bold else "")
    theirs = _theirs(summary, cell, quantity) if column.protocol == summary.protocol else ""
    return text.append(f"\n{theirs}", style="not bold dim") if theirs else text


def _ours(summary: Summary, cell: Cell, quantity: str) -> str:
    if quantity not in cell.ours:
        return "failed" if cell.failed else "-"
    height = f" ({cell.height})" if quantity == "test" and cell.height else ""
    return _number(cell.ours[quantity], quantity, summary.table.digits) + height


def _theirs(summary: Summary, cell: Cell, quantity: str) -> str:
    if quantity not in cell.published:
        return ""
    height = f" ({cell.published_height})" if quantity == "test" and cell.published_height else ""
    digits = summary.table.published_digits or summary.table.digits
    return _number(cell.published[quantity], quantity, digits) + height


def _number(figure: Figure, quantity: str, digits: int) -> str:
    if quantity == "seconds":
        return f"{figure.mean:.2f}" if figure.mean < 10 else f"{figure.mean:.0f}"
    digits = DIGITS.get(quantity, digits)
    shown = f"{figure.mean:.{digits}f}"
    return shown if figure.sd is None or figure.n == 1 else f"{shown} ± {figure.sd:.{digits}f}"


def _distance(summary: Summary, column: Column, quantity: str) -> Text:
    if quantity != "test":
        return Text("")
    text = Text(f"{summary.distance[column]:.1f}" if column in summary.distance else "-")
    known = summary.table.distance.get(summary.table.stands_for.get(column.method, column.method))
    return text if known is None or column.protocol != summary.protocol else text.append(f"\n{known:.1f}", style="dim")


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _plain_cell(cell: Cell) -> dict[str, Any]:
    return {
        "ours": {quantity: vars(figure) for quantity, figure in cell.ours.items()},
        "published": {quantity: vars(figure) for quantity, figure in cell.published.items()},
        "height": cell.height,
        "leaves_used": cell.leaves,
        "failed": cell.failed,
        "verdict": cell.verdict,
    }
