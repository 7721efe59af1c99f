"""``dtsemnet explore``: the tree as one page for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import ModelArgument, TargetOption, check_output, print_json, say, size_of, working
from dtsemnet.cli.table_options import TableOptions, reads_tables

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet explore model.json --out tree.html
dtsemnet explore model.json --data data.csv --target y --out tree.html --open
"""


@reads_tables
def run(
    model: ModelArgument,
    out: Annotated[Path, typer.Option(help="Page to write.", metavar="FILE")],
    data: Annotated[Path | None, typer.Option(help="Table whose rows go into the page.", metavar="FILE")] = None,
    target: TargetOption = None,
    max_rows: Annotated[int, typer.Option(help="Rows of the table in the page, at most.", min=0, metavar="N")] = 1000,
    title: Annotated[
        str | None, typer.Option(help="Title of the page; by default the name of the file.", metavar="TEXT")
    ] = None,
    separate: Annotated[
        bool,
        typer.Option(
            "--separate", help="Write script, style and data beside the page, for servers that forbid inline ones."
        ),
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Write a page that shows a tree: walk through it, type values, watch the path change.

    One file that needs no network. It holds rows of data only if [bold]--data[/] names a table.
    """
    for file in (out, out.with_suffix(".js"), out.with_suffix(".css")) if separate else (out,):
        check_output(file, force=force)
    from dtsemnet.cli.models import load
    from dtsemnet.explorer import to_html

    loaded = load(model)
    X, y, rows_are = None, None, ""
    if data is not None:
        table = loaded.read(data, reading, target=target, guess=True)
        X, y, rows_are = table.X, table.y, loaded.trained_on(data, table)
    with working("writing the page"):
        to_html(
            loaded.model,
            out,
            X=X,
            y=y,
            title=title or model.stem,
            max_rows=max_rows,
            separate=separate,
            rows_are=rows_are,
        )
    if as_json:
        n_rows = 0 if X is None else min(len(X), max_rows)
        print_json({"out": out, "bytes": out.stat().st_size, "rows": n_rows, "target": y is not None})
    else:
        say(f"Page written to {out} ({size_of(out)}); open it in a browser.")
    if show:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())
