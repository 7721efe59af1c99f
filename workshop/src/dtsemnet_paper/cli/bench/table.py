"""``dtsemnet bench table``: run a table and show it beside what was published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dtsemnet.cli.output import counted, print_json, remark, say

if TYPE_CHECKING:
    from dtsemnet_paper.bench import Selection, Summary
    from dtsemnet_paper.records import Record

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet bench table concise --seeds 2 --methods dtsemnet,cart
dtsemnet bench table dense --sets letter,pendigits --protocol honest --jobs 2
dtsemnet bench table regression-1 --show --markdown
dtsemnet bench table tables-classes --methods cart-tuned,linear
"""


class ProtocolOption(StrEnum):
    """Protocols, as the option ``--protocol`` names them."""

    PAPER = "paper"
    HONEST = "honest"
    BOTH = "both"
    WHOLE = "whole"


def run(
    name: Annotated[str | None, typer.Argument(help="Table.", metavar="[NAME]")] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds 0 to N - 1; by default as published.", metavar="N")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas.", metavar="A,B")] = None,
    sets: Annotated[str | None, typer.Option(help="Data sets, separated by commas.", metavar="A,B")] = None,
    protocol: Annotated[ProtocolOption | None, typer.Option(help="By default as the table says.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes, one thread each; -1: one for each core.", metavar="N")] = 1,
    folder: Annotated[Path | None, typer.Option(help="Folder of the tables.", metavar="FOLDER")] = None,
    file: Annotated[Path | None, typer.Option(help="File of the table, in place of its name.", metavar="FILE")] = None,
    show: Annotated[bool, typer.Option("--show", help="Run nothing; show what is recorded.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed runs again.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask OpenML for missing sets.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Run a benchmark table and show it beside the published values.

    Runs that have a record in results/ beside the table are not done again; Ctrl-C or a kill loses none that has ended.
    """
    from dtsemnet_paper.bench import Selection, find_tables, read_table
    from dtsemnet_paper.bench.tables import tables_folder

    folder = tables_folder(folder)
    if name is None and file is None:
        known = ", ".join(find_tables(folder)) or f"none, as there is no folder {folder} here"
        raise typer.BadParameter(f"name a table; there are: {known}.", param_hint="NAME")
    both = ("paper", "honest") if protocol is ProtocolOption.BOTH else None
    protocols = both or (None if protocol is None else (protocol.value,))
    selection = Selection(
        read_table(name or "", folder=folder, file=file), _words(sets), _words(methods), protocols, seeds,
        download=not (offline or show),
    )  # fmt: skip
    missing = selection.missing_data()
    if not show:
        _work(selection, missing, jobs, retry=retry, quiet=quiet)
    _show(selection.summary(missing), markdown=markdown, as_json=as_json)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _work(selection: Selection, missing: dict[str, str], jobs: int, *, retry: bool, quiet: bool) -> None:
    """Run what has no record yet, with a bar; a Ctrl-C keeps what is done."""
    absent = selection.missing_methods()
    for reason in absent.values():
        remark(f"left out: {reason}")
    if len(missing) == len(selection.sets or selection.table.sets):
        remark("no data set of this table is here; the table shows what is recorded or published.")
    runs = selection.runs(without=[*missing, *absent])
    waiting = selection.waiting(runs, retry=retry)
    remark(f"{counted(len(runs), 'run')}, {len(runs) - len(waiting):,} of them recorded; {selection.table.results}")
    if not waiting:
        return
    with _bar(len(waiting), hidden=quiet) as advance:
        try:
            selection.run_missing(runs, n_jobs=jobs, retry=retry, watch=advance)
        except KeyboardInterrupt:
            left = len(selection.waiting(runs, retry=retry))
            remark(f"interrupted; {len(waiting) - left} new records are kept. The same command does the other {left}.")
            raise typer.Exit(130) from None


@contextmanager
def _bar(total: int, *, hidden: bool) -> Iterator[Callable[[Record], None]]:
    """Show a progress bar with the time left on standard error; yields what is called after each run."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        MofNCompleteColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        TextColumn("{task.description}"), console=Console(stderr=True), disable=hidden,
    ) as progress:  # fmt: skip
        task = progress.add_task("", total=total)

        def advance(record: Record) -> None:
            label = f"{record['method']}, {record['set']}, seed {record['seed']}"
            progress.update(task, advance=1, description=label)
            if record["error"]:
                reason = escape(f"{label}: {record['error']}")
                progress.console.print(f"[red]failed:[/] {reason}", markup=True, highlight=False)

        yield advance


def _show(summary: Summary, *, markdown: bool, as_json: bool) -> None:
    from rich.console import Console

    from dtsemnet_paper.bench.render import caption, remarks, to_grids, to_json, to_markdown

    if as_json:
        print_json(to_json(summary))
    elif markdown:
        print(to_markdown(summary), end="")
    else:
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = 120  # a file has no edge; a wider table comes in parts
        for grid in to_grids(summary, console.width):
            console.print(grid)
        for line in [caption(summary), *remarks(summary)]:
            say(line)
