"""The command line: one verb, one file.

``VERBS`` names the module of each verb. A module is imported when its verb is asked
for, and imports pandas, scikit-learn or matplotlib only when it runs, so help answers
at once. A module of a verb holds ``run``, whose signature is the verb's options, and
``EXAMPLES``, which its help shows. A verb that has verbs of its own holds ``VERBS`` and
``HELP`` in place of ``run``.

Exit codes: 0 done, 1 refused (the reason stands on standard error), 2 the command line
itself is wrong, 130 interrupted.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from dtsemnet.cli.output import guarded

__all__ = ["VERBS", "app", "main"]

VERBS = {
    "fit": "dtsemnet.cli.fit",
    "predict": "dtsemnet.cli.predict",
    "evaluate": "dtsemnet.cli.evaluate",
    "show": "dtsemnet.cli.show",
    "explain": "dtsemnet.cli.explain",
    "plot": "dtsemnet.cli.plot",
    "explore": "dtsemnet.cli.explore",
    "export": "dtsemnet.cli.export",
    "info": "dtsemnet.cli.info",
    "verify": "dtsemnet.cli.verify",
    "bench": "dtsemnet_paper.cli.bench",
    "rl": "dtsemnet.cli.rl",
}
"""Module of each verb, in the order of the help."""


class Verbs(TyperGroup):
    """The verbs, each imported when it is asked for."""

    verbs = VERBS

    def list_commands(self, ctx: Any) -> list[str]:
        """Name the verbs."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Make the command of a verb from its module."""
        if cmd_name not in self.verbs:
            return None
        module = importlib.import_module(self.verbs[cmd_name])
        if hasattr(module, "VERBS"):
            return _group(cmd_name, module)
        own = typer.Typer(add_completion=False, rich_markup_mode="rich")
        debug = bool(ctx.find_root().params.get("debug"))
        own.command(cmd_name, help=_help(module, module.run.__doc__))(guarded(module.run, debug=debug))
        return get_command(own)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read ``--debug`` wherever it stands: people add it to the end of the line that failed."""
        if ctx.parent is None and "--debug" in args[1:]:
            args = ["--debug", *(word for word in args if word != "--debug")]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=Verbs,
    rich_markup_mode="rich",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 refused, 2 wrong command line, 130 interrupted.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dtsemnet import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Hard oblique decision trees: fit one to a table, read it, ship it.

    Start with [bold]dtsemnet fit data.csv --target COLUMN[/], or [bold]dtsemnet fit[/] alone for an embedded table.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default with the arguments of the process.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    SystemExit: 0
    """
    app(args=sys.argv[1:] if arguments is None else list(arguments), prog_name="dtsemnet")


def _group(name: str, module: Any) -> Any:
    """Make the command of a verb that has verbs of its own."""
    own = typer.Typer(
        name=name,
        cls=type("Verbs", (Verbs,), {"verbs": module.VERBS}),
        add_completion=False,
        rich_markup_mode="rich",
        no_args_is_help=True,
        help=_help(module, module.HELP),
    )
    own.callback()(lambda: None)
    return get_command(own)


def _help(module: Any, words: str) -> str:
    """What a verb does, each paragraph on one line for the terminal to wrap, and its examples."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(words).split("\n\n")]
    examples = "\n".join(f"  {line}" for line in module.EXAMPLES.strip().splitlines())
    return "\n\n".join([*paragraphs, f"\b\n[bold]Examples[/]\n{examples}"])
