"""``dtsemnet bench report``: every table and figure of a folder, written from records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import say

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet bench report
dtsemnet bench report --folder my-tables
"""


def run(
    folder: Annotated[Path | None, typer.Option(help="Folder of the tables.", metavar="FOLDER")] = None,
) -> None:
    """Write REPORT.md and the figures of a folder from its records; nothing is run."""
    from dtsemnet_paper.bench.report import write_report
    from dtsemnet_paper.bench.tables import tables_folder

    say(f"wrote {write_report(tables_folder(folder))}")
