"""``dtsemnet bench figure``: make the records of a figure and draw it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import say

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet bench figure teacher-student
dtsemnet bench figure accuracy-height --jobs 2
dtsemnet bench figure
"""


def run(
    name: Annotated[str | None, typer.Argument(help="Figure; by default all.", metavar="[NAME]")] = None,
    jobs: Annotated[int, typer.Option(help="Processes, one thread each; -1: one for each core.", metavar="N")] = 1,
    folder: Annotated[Path | None, typer.Option(help="Folder of figures.toml.", metavar="FOLDER")] = None,
) -> None:
    """Draw a figure, or all of them; records that are missing are made first.

    What has a record in results/ is not run again. Pictures go to figures/, as PNG and SVG.
    """
    from dtsemnet_paper.bench.figure_files import draw
    from dtsemnet_paper.bench.tables import tables_folder

    for path in draw(name, tables_folder(folder), n_jobs=jobs):
        say(f"wrote {path}")
