"""``dtsemnet explain``: why one row gets its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import ModelArgument, print_json, put
from dtsemnet.cli.table_options import TableOptions, reads_tables

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet explain model.json data.csv
dtsemnet explain model.json data.csv --row 3
dtsemnet explain model.json data.csv --row 3 --json
"""


@reads_tables
def run(
    model: ModelArgument,
    data: Annotated[Path, typer.Argument(help="Table with the columns of training.", metavar="DATA")],
    row: Annotated[int, typer.Option(help="Row of the table, counted from 0.", min=0, metavar="N")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Explain one prediction: the splits on its path, how far each is from flipping, and the leaf's own model.

    The other rows of the table are the background that a linear leaf is compared with.
    """
    from dtsemnet.cli.models import load
    from dtsemnet.export.readable.explain import explain

    loaded = load(model)
    table = loaded.read(data, reading)
    if row >= len(table):
        raise ValueError(f"--row {row} does not exist: {data} has rows 0 to {len(table) - 1}.")
    names = loaded.output_names
    explanation = explain(loaded.model, table.X.iloc[[row]], background=table.X, output_names=names)
    if as_json:
        print_json({"row": row} | explanation.to_dict())
    else:
        put(str(explanation))
