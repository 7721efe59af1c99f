"""The report: every table and figure of a folder, what agrees with the published values and what does not.

It is written from records alone. A cell *agrees* if its mean is within two standard
deviations (the larger of ours and the published one) of the published mean. Notes in the
files of the tables say what is known about differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dtsemnet.files import write_atomically
from dtsemnet_paper.bench.figure_files import draw, read_figures
from dtsemnet_paper.bench.lead_table import ablation_table, lead_table
from dtsemnet_paper.bench.render import to_markdown
from dtsemnet_paper.bench.selection import Selection, missing_data
from dtsemnet_paper.bench.summary import Summary
from dtsemnet_paper.bench.tables import FOLDER, Table, find_tables, output_folder, read_table

__all__ = ["agreement", "report", "write_report"]

INTRODUCTION = """# Results beside the published ones

Written by `dtsemnet bench report` from the records in `results/`; no number is typed by hand. Each record holds its
seed, configuration, data fingerprint, split, versions and times. `dtsemnet bench table NAME` repeats a table.

Under the *paper* protocol heights are the published ones, which were chosen by test score. Under the *honest* protocol
heights are chosen on validation rows. In both, selection inside a method sees training and validation rows alone.
Under the *whole* protocol `fit` is called as a user would, with all rows but the test rows, and given the height alone,
or nothing if the table names no height.
*Agrees* means within two standard deviations, the larger of ours and the published one.
"""


def write_report(folder: Path = FOLDER) -> Path:
    """Draw the figures that have records and write ``REPORT.md``."""
    if (folder / "figures.toml").is_file():
        draw(None, folder, make=False)
    path = output_folder(folder) / "REPORT.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, report(folder))


def report(folder: Path = FOLDER) -> str:
    """Compose the report of a folder."""
    parts = [INTRODUCTION]
    for name in find_tables(folder):
        table = read_table(name, folder=folder)
        if not table.published and not table.records():
            continue
        summary = Selection(table).summary(_without_data(table))
        parts.append(f"## {table.title}\n\n`dtsemnet bench table {name}`\n")
        parts += _lead(summary) if table.lead else [to_markdown(summary), *_differences(summary)]
    parts += _pictures(folder)
    return "\n".join(parts)


def _lead(summary: Summary) -> Iterator[str]:
    yield lead_table(summary)
    yield "\n".join(f"- {_note(summary, note)}" for note in summary.table.notes) + "\n"
    if ablations := ablation_table(summary):
        yield "### One ingredient left out\n\n" + ablations


def _without_data(table: Table) -> dict[str, str]:
    """Sets of a table without data or records; a report does not show the folders of whoever wrote it."""
    known = table.catalogue()
    recorded = {record["set"] for record in table.records()}
    absent = missing_data([spec for name, spec in known.items() if name not in recorded], download=False)
    return {name: f"source: {known[name].source or 'unknown'}" for name in absent}


def agreement(summary: Summary) -> dict[str, list[str]]:
    """Sort the cells that have a published value: those that agree, lie above, lie below."""
    cells: dict[str, list[str]] = {"agrees": [], "above": [], "below": []}
    for name in summary.sets:
        for column in summary.columns:
            cell = summary.cells[name, column]
            if cell.verdict:
                ours, theirs = cell.ours["test"].mean, cell.published["test"].mean
                digits = summary.table.digits
                line = f"{summary.titles[name]}, {column.label}: {ours:.{digits}f} against {theirs:.{digits}f}"
                cells[cell.verdict].append(line)
    return cells


def _differences(summary: Summary) -> Iterator[str]:
    cells = agreement(summary)
    total = sum(map(len, cells.values()))
    if not total:
        return
    up, down = ("better", "worse") if summary.table.larger_is_better else ("worse", "better")
    yield f"**{len(cells['agrees'])} of {total} published values agree.**\n"
    for verdict, word in (("above", up), ("below", down)):
        if cells[verdict]:
            yield f"Ours is {word}:\n\n" + "\n".join(f"- {line}" for line in cells[verdict]) + "\n"
    shown = {column.method for column in summary.columns}
    notes = [n for n in summary.table.notes if not n.get("methods") or shown & set(n["methods"])]
    if notes:
        yield "What is known about differences:\n\n" + "\n".join(f"- {_note(summary, note)}" for note in notes) + "\n"


def _note(summary: Summary, note: object) -> str:
    assert isinstance(note, dict)
    scope = [summary.titles.get(name, name) for name in note.get("sets", [])] + list(note.get("methods", []))
    return f"{', '.join(scope)}: {note['text']}" if scope else str(note["text"])


def _pictures(folder: Path) -> Iterator[str]:
    if not (folder / "figures.toml").is_file():
        return
    pictures = output_folder(folder) / "figures"
    drawn = {n: figure for n, figure in read_figures(folder).items() if (pictures / f"{n}.png").is_file()}
    if drawn:
        yield "## Figures\n"
    for name, figure in drawn.items():
        caption = figure.options.get("caption", "")
        yield f"### {name.replace('-', ' ').capitalize()}\n\n{caption}\n\n![{name}](figures/{name}.png)\n"
