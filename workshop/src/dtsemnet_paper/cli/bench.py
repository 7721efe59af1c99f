"""``dtsemnet bench``: run the tables of a folder ``paper`` and show them beside what was published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dtsemnet.cli.output import columns, counted, print_json, remark, say

if TYPE_CHECKING:
    from dtsemnet_paper.bench import Selection, Summary

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet bench list
dtsemnet bench table concise --seeds 2 --methods dtsemnet,cart
dtsemnet bench table dense --sets letter,pendigits --protocol honest --jobs 2
dtsemnet bench table regression-1 --show --markdown
dtsemnet bench report
"""

ACTIONS = ("table", "list", "figure", "report")


def run(
    action: Annotated[
        str,
        typer.Argument(
            help="table: run and show one; list: tables, sets and methods; figure: draw one; report: write all.",
            metavar="ACTION",
            autocompletion=lambda: list(ACTIONS),
        ),
    ],
    name: Annotated[str | None, typer.Argument(help="Table or figure.", metavar="[NAME]")] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds 0 to N - 1; by default as published.", metavar="N")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, by comma.", metavar="A,B")] = None,
    sets: Annotated[str | None, typer.Option(help="Data sets, by comma.", metavar="A,B")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="paper, honest, both, or whole; by default as the table says.", metavar="WORD")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes, one thread each; -1: one for each core.", metavar="N")] = 1,
    folder: Annotated[Path, typer.Option(help="Folder of the tables.", metavar="FOLDER")] = Path("paper"),
    file: Annotated[Path | None, typer.Option(help="Table, wherever it lies.", metavar="FILE")] = None,
    show: Annotated[bool, typer.Option("--show", help="Run nothing; show what is there.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Do failed runs again.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask OpenML for missing sets.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Run a benchmark table and show it beside the published values.

    Data sets are found in the folder named by DTSEMNET_DATA, in the cache, or on OpenML. Runs that have a record in
    results/ beside the table are not done again; Ctrl-C or a kill loses none that has ended.
    """
    if action == "list":
        _list(folder)
    elif action == "report":
        from dtsemnet_paper.bench.report import write_report

        say(f"wrote {write_report(folder)}")
    elif action == "figure":
        _figure(name, folder, jobs)
    elif action == "table":
        selection = _session(name, file, folder, sets, methods, protocol, seeds, offline=offline or show)
        missing = selection.missing_data()
        if not show:
            _work(selection, missing, jobs, retry=retry, quiet=quiet)
        _show(selection.summary(missing), markdown=markdown, as_json=as_json)
    else:
        raise typer.BadParameter(f"there is no {action!r}; there are {', '.join(ACTIONS)}.", param_hint="ACTION")


def _session(
    name: str | None, file: Path | None, folder: Path, sets: Any, methods: Any, protocol: str | None, seeds: int | None,
    *, offline: bool,
) -> Selection:  # fmt: skip
    from dtsemnet_paper.bench import Selection, find_tables, read_table
    from dtsemnet_paper.bench.runs import PROTOCOLS

    if name is None and file is None:
        there = ", ".join(find_tables(folder)) or f"none, as there is no folder {folder} here"
        raise typer.BadParameter(f"name a table; there are: {there}.", param_hint="NAME")
    if protocol not in (None, "both", *PROTOCOLS):
        raise typer.BadParameter(f"must be paper, honest, both or whole, got {protocol!r}.", param_hint="--protocol")
    table = read_table(name or "", folder=folder, file=file)
    protocols = None if protocol is None else ("paper", "honest") if protocol == "both" else (protocol,)
    return Selection(table, _words(sets), _words(methods), protocols, seeds, download=not offline)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _work(selection: Selection, missing: dict[str, str], jobs: int, *, retry: bool, quiet: bool) -> None:
    """Run what waits, with a bar; a Ctrl-C keeps what is done."""
    absent = selection.missing_methods()
    for reason in absent.values():
        remark(f"left out: {reason}")
    if len(missing) == len(selection.sets or selection.table.sets):
        remark("no data set of this table is here; the table shows what was published.")
    runs = selection.runs(without=[*missing, *absent])
    waiting = selection.waiting(runs, retry=retry)
    remark(f"{counted(len(runs), 'run')}, {len(runs) - len(waiting):,} of them recorded; {selection.table.results}")
    if not waiting:
        return
    with _bar(len(waiting), hidden=quiet) as advance:
        try:
            selection.go(runs, n_jobs=jobs, retry=retry, watch=advance)
        except KeyboardInterrupt:
            left = len(selection.waiting(runs, retry=retry))
            remark(f"interrupted; {len(waiting) - left} new records are kept. The same command does the other {left}.")
            raise typer.Exit(130) from None


def _bar(total: int, *, hidden: bool) -> Any:
    """A progress bar on standard error with the time left; yields what is called after each run."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    @contextmanager
    def bar() -> Any:
        with Progress(
            MofNCompleteColumn(), BarColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
            TextColumn("{task.description}"), console=Console(stderr=True), disable=hidden,
        ) as progress:  # fmt: skip
            task = progress.add_task("", total=total)

            def advance(record: dict[str, Any]) -> None:
                what = f"{record['method']}, {record['set']}, seed {record['seed']}"
                progress.update(task, advance=1, description=what)
                if record["error"]:
                    progress.console.print(f"[red]failed:[/] {what}: {record['error']}", markup=True, highlight=False)

            yield advance

    return bar()


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


def _list(folder: Path) -> None:
    from dtsemnet_paper.bench import METHODS, find_tables, read_table
    from dtsemnet_paper.bench.selection import missing_data, missing_methods

    found = [read_table(name, folder=folder) for name in find_tables(folder)]
    if not found:
        say(f"no tables in {folder}/; run in a checkout of dtsemnet, or name a folder with --folder.")
    columns(
        ["table", "sets", "records", "title"],
        [[t.name, str(len(t.sets)), str(len(t.records())), t.title] for t in found], words=True,
    )  # fmt: skip
    specs = {name: spec for table in found for name, spec in table.catalogue().items()}
    absent = missing_data(list(specs.values()), download=False)
    say()
    columns(
        ["set", "task", "rows", "features", "here"],
        [
            [n, s.task, str(s.rows or "?"), str(s.features), "no" if n in absent else "yes"]
            for n, s in sorted(specs.items())
        ],
        words=True,
    )
    for name, reason in absent.items():
        say(f"{name}: {reason}")
    say()
    tasks = {task: missing_methods(list(METHODS), task) for task in ("classification", "regression")}
    columns(["method", *tasks], [[m, *("no" if m in tasks[t] else "yes" for t in tasks)] for m in METHODS], words=True)


def _figure(name: str | None, folder: Path, jobs: int) -> None:
    from dtsemnet_paper.bench.figure_files import draw

    for path in draw(name, folder, n_jobs=jobs):
        say(f"wrote {path}")
