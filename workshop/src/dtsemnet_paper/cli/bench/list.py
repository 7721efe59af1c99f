"""``dtsemnet bench list``: tables, data sets and methods, and which of them are available."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import columns, say

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet bench list
dtsemnet bench list --folder my-tables
"""


def run(
    folder: Annotated[Path | None, typer.Option(help="Folder of the tables.", metavar="FOLDER")] = None,
) -> None:
    """List tables, data sets and methods, and which of them are available here."""
    from dtsemnet_paper.bench import METHODS, find_tables, read_table
    from dtsemnet_paper.bench.render import missing_lines
    from dtsemnet_paper.bench.selection import missing_data, missing_methods
    from dtsemnet_paper.bench.tables import tables_folder

    folder = tables_folder(folder)
    tables = [read_table(name, folder=folder) for name in find_tables(folder)]
    if not tables:
        say(f"no tables in {folder}/; run in a checkout of dtsemnet, or name a folder with --folder.")
    columns(
        ["table", "sets", "records", "title"],
        [[table.name, str(len(table.sets)), str(len(table.records())), table.title] for table in tables],
        words=True,
    )
    specs = {name: spec for table in tables for name, spec in table.catalogue().items()}
    absent = missing_data(list(specs.values()), download=False)
    say()
    columns(
        ["set", "task", "rows", "features", "here"],
        [
            [name, spec.task, str(spec.rows or "?"), str(spec.features), "no" if name in absent else "yes"]
            for name, spec in sorted(specs.items())
        ],
        words=True,
    )
    for line in missing_lines(absent):
        say(line)
    say()
    tasks = {task: missing_methods(list(METHODS), task) for task in ("classification", "regression")}
    columns(
        ["method", *tasks],
        [[name, *("no" if name in missing else "yes" for missing in tasks.values())] for name in METHODS],
        words=True,
    )
