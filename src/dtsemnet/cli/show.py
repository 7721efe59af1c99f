"""``dtsemnet show``: the tree as text, in the units of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import ModelArgument, check_output, put, say
from dtsemnet.cli.table_options import TableOptions, reads_tables

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet show model.json
dtsemnet show model.json --data data.csv
dtsemnet show model.json --digits 2 --out tree.txt
"""


@reads_tables
def run(
    model: ModelArgument,
    data: Annotated[
        Path | None, typer.Option(help="Table whose rows are counted in each leaf.", metavar="FILE")
    ] = None,
    digits: Annotated[int | None, typer.Option(help="Significant digits.", min=1, max=17, metavar="N")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write instead of printing.", metavar="FILE")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Print a tree as rules that a person can follow.

    A row goes to [bold]yes[/] if the inequality holds.
    """
    from dtsemnet.cli.models import load
    from dtsemnet.export import to_text
    from dtsemnet.files import write_atomically

    check_output(out, force=force)
    loaded = load(model)
    X = None if data is None else loaded.read(data, reading).X
    text = to_text(loaded.model, X) if digits is None else to_text(loaded.model, X, digits=digits)
    if out is None:
        put(text)
    else:
        write_atomically(out, text + "\n")
        say(f"Text written to {out}.")
