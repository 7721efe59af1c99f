"""From records to the figures of a table: means over seeds, beside what was published.

A cell is one method (under one protocol) on one set. The figures of a cell are means and
standard deviations over its seeds (the population's, as in the published tables).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dtsemnet_paper.bench.statistics import Comparison, compare, distance_to_best
from dtsemnet_paper.bench.tables import Table
from dtsemnet_paper.records import Record

__all__ = ["Cell", "Column", "Figure", "Summary", "summarise"]


@dataclass(frozen=True)
class Figure:
    """A mean, its standard deviation if known, and the number of values."""

    mean: float
    sd: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class Column:
    """A method under a protocol."""

    method: str
    protocol: str
    label: str


@dataclass(frozen=True)
class Cell:
    """A method on a set: ours and published figures by quantity, heights, runs that failed, our values by seed."""

    ours: Mapping[str, Figure] = field(default_factory=dict)
    published: Mapping[str, Figure] = field(default_factory=dict)
    height: str = ""
    published_height: str = ""
    leaves: float | None = None
    failed: int = 0
    error: str = ""
    by_seed: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """By quantity and seed; a quantity that a method does not have, such as leaves, is left out."""

    @property
    def verdict(self) -> str:
        """Compare our test score with the published one: within two standard deviations, above or below."""
        ours, theirs = self.ours.get("test"), self.published.get("test")
        if ours is None or theirs is None:
            return ""
        # The published deviations are rounded: 0.00 may be half a unit of the last digit.
        room = 2 * max(theirs.sd or 0.0, ours.sd or 0.0, 0.005)
        return "agrees" if abs(ours.mean - theirs.mean) <= room else "above" if ours.mean > theirs.mean else "below"


@dataclass(frozen=True)
class Summary:
    """A filled table: cells by set and column, distances and statistics over the sets that all columns have.

    Columns are compared on the seeds that all of them have for a set (``paired``, by set, column and quantity): some
    seeds are harder than others.
    """

    table: Table
    sets: tuple[str, ...]
    titles: Mapping[str, str]
    columns: tuple[Column, ...]
    cells: Mapping[tuple[str, Column], Cell]
    shared: tuple[str, ...] = ()
    paired: Mapping[tuple[str, Column], Mapping[str, Figure]] = field(default_factory=dict)
    distance: Mapping[Column, float] = field(default_factory=dict)
    comparison: Comparison | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def protocol(self) -> str:
        """The protocol whose columns show the published values."""
        return self.columns[0].protocol if self.columns else ""

    def best(self, name: str) -> set[Column]:
        """Columns with the best test score of ours on a set, as it is shown."""
        shown = {c: self.cells[name, c].ours["test"].mean for c in self.columns if "test" in self.cells[name, c].ours}
        if len(shown) < 2:
            return set()
        digits = self.table.digits
        pick = max if self.table.larger_is_better else min
        top = pick(round(value, digits) for value in shown.values())
        return {column for column, value in shown.items() if round(value, digits) == top}


def summarise(
    table: Table,
    records: Iterable[Record],
    *,
    sets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
    seeds: int | None = None,
    missing: Mapping[str, str] | None = None,
) -> Summary:
    """Fill a table, or a part of it, from records.

    Records of runs that are no longer in the table (another height, another configuration) are left out.
    """
    records, wanted = list(records), tuple(table.sets if sets is None else sets)
    chosen = _methods(table, records) if methods is None else list(methods)
    modes = list(protocols or dict.fromkeys([*table.protocols, *(r["protocol"] for r in records)]))
    by_key = {record["key"]: record for record in records}
    kept: dict[tuple[str, str, str], list[Record]] = {}
    n_seeds = max([table.seeds, *(record["seed"] + 1 for record in records)]) if seeds is None else seeds
    for run in table.runs(sets=wanted, methods=chosen, seeds=n_seeds, protocols=modes):
        if run.key in by_key:
            kept.setdefault((run.set, run.method, run.protocol), []).append(by_key[run.key])
    columns = _columns(table, chosen, modes, kept)
    cells = {
        (name, column): _cell(table, name, column, kept.get((name, column.method, column.protocol), []))
        for name in wanted
        for column in columns
    }
    titles = {name: spec.title for name, spec in table.catalogue().items()}
    return _compared(Summary(table, wanted, titles, columns, cells, missing=missing or {}))


def _methods(table: Table, records: Sequence[Record]) -> list[str]:
    """List the methods of the table, and others that have records."""
    return list(dict.fromkeys([*table.methods, *(record["method"] for record in records)]))


def _columns(table: Table, methods: Sequence[str], protocols: Sequence[str], kept: Mapping[Any, Any]) -> Any:
    """Make one column per method and protocol; one without records is shown if values were published for it."""
    recorded = {(method, protocol) for _, method, protocol in kept}
    shown = [
        (method, protocol)
        for method in methods
        for protocol in protocols
        if (method, protocol) in recorded or (method in table.published and protocol == protocols[0])
    ]
    several = len({protocol for _, protocol in shown}) > 1
    return tuple(Column(m, p, f"{m} ({p})" if several and p != "paper" else m) for m, p in shown)


def _cell(table: Table, name: str, column: Column, records: Sequence[Record]) -> Cell:
    done = [record for record in records if not record["error"]]
    failed = [record for record in records if record["error"]]
    by_seed = {
        quantity: {record["seed"]: number for record in done if (number := _quantity(record, quantity)) is not None}
        for quantity in dict.fromkeys(["test", *table.shows, *table.means])
    }
    ours = {quantity: _figure(list(values.values())) for quantity, values in by_seed.items() if values}
    value = table.value(column.method, name)
    leaves = [r["leaves_used"] for r in done if r["leaves_used"] is not None]
    return Cell(
        ours, _published(value), _heights(done), str(value.get("height", "")),
        float(np.mean(leaves)) if leaves else None, len(failed), failed[-1]["error"] if failed else "", by_seed,
    )  # fmt: skip


def _quantity(record: Record, quantity: str) -> float | None:
    """Look a quantity up; None if the record has none, as those from before it was measured."""
    if quantity == "gap":
        return float(record["train"] - record["test"])
    value = record.get("cpu_seconds" if quantity == "seconds" else quantity)
    return None if value is None else float(value)


def _figure(values: Sequence[float]) -> Figure:
    return Figure(float(np.mean(values)), float(np.std(values)), len(values))


def _published(value: Mapping[str, float]) -> dict[str, Figure]:
    figures = {}
    if "mean" in value:
        figures["test"] = Figure(value["mean"], value.get("sd"))
    if "train" in value:
        figures["train"] = Figure(value["train"], value.get("train_sd"))
        figures["gap"] = Figure(round(value["train"] - value["mean"], 9))
    if "seconds" in value:
        figures["seconds"] = Figure(value["seconds"])
    return figures


def _heights(records: Sequence[Record]) -> str:
    """Heights asked for or chosen, smallest and largest."""
    heights = {{**r["configuration"], **r.get("chosen", {})}.get("max_depth") for r in records}
    known = sorted(height for height in heights if height is not None)
    if not known:
        return ""
    return str(known[0]) if len(known) == 1 else f"{known[0]}-{known[-1]}"


def _compared(summary: Summary) -> Summary:
    """Compare the columns of one protocol over all sets: of the first protocol that has results."""
    for protocol in dict.fromkeys(column.protocol for column in summary.columns):
        columns = [c for c in summary.columns if c.protocol == protocol]
        columns = [c for c in columns if any(summary.cells[name, c].ours for name in summary.sets)]
        paired = {key: figure for name in summary.sets for key, figure in _paired(summary, name, columns).items()}
        shared = tuple(dict.fromkeys(name for name, _ in paired))
        if len(columns) > 1 and shared:
            scores = [[paired[name, column]["test"].mean for column in columns] for name in shared]
            larger = summary.table.larger_is_better
            distance = dict(zip(columns, distance_to_best(scores, larger_is_better=larger).tolist()))
            comparison = compare([c.label for c in columns], scores, larger_is_better=larger)
            return replace(summary, shared=shared, paired=paired, distance=distance, comparison=comparison)
    return summary


def _paired(summary: Summary, name: str, columns: Sequence[Column]) -> dict[tuple[str, Column], dict[str, Figure]]:
    """Figures of a set on the seeds that all columns have; nothing if there are none."""
    cells = {column: summary.cells[name, column].by_seed for column in columns}
    seeds = sorted(set.intersection(*(set(by_seed["test"]) for by_seed in cells.values()))) if cells else []
    found = {}
    for column, by_seed in cells.items() if seeds else ():
        kept = {q: [values[seed] for seed in seeds if seed in values] for q, values in by_seed.items()}
        found[name, column] = {quantity: _figure(values) for quantity, values in kept.items() if values}
    return found
