"""The command line: one verb, one file.

``VERBS`` names the module of each verb. A module is imported only when its verb is used
or listed, and imports pandas, scikit-learn or matplotlib only when it runs, so help
answers at once. The module of a verb holds ``run``, whose signature is the verb's
options, and ``EXAMPLES``, which its help shows. The module of a group of verbs holds
``VERBS`` and ``HELP`` in place of ``run``.

Other distributions add verbs by entry points: the group ``dtsemnet.verbs`` holds verbs
of the command, ``dtsemnet.rl_verbs`` verbs of ``dtsemnet rl``, and so on for every group
of verbs. An entry point names a module as above::

    [project.entry-points."dtsemnet.verbs"]
    bench = "some_package.cli.bench"

Exit codes: 0 done, 1 refused (the reason is on standard error), 2 the command line
itself is wrong, 130 interrupted, 143 terminated (SIGTERM).
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from dtsemnet.cli.output import guarded, terminable

__all__ = ["VERBS", "app", "main"]

VERBS = {
    "fit": "dtsemnet.cli.fit",
    "predict": "dtsemnet.cli.predict",
    "evaluate": "dtsemnet.cli.evaluate",
    "prune": "dtsemnet.cli.prune",
    "show": "dtsemnet.cli.show",
    "explain": "dtsemnet.cli.explain",
    "plot": "dtsemnet.cli.plot",
    "explore": "dtsemnet.cli.explore",
    "export": "dtsemnet.cli.export",
    "card": "dtsemnet.cli.card",
    "info": "dtsemnet.cli.info",
    "verify": "dtsemnet.cli.verify",
    "rl": "dtsemnet.cli.rl",
}
"""Module of each verb of this distribution, in the order of the help."""

OTHER_DISTRIBUTIONS = {
    "dtsemnet.verbs": {"bench": "dtsemnet-paper"},
    "dtsemnet.rl_verbs": {"list": "dtsemnet-paper", "report": "dtsemnet-paper"},
}
"""Distribution of known verbs that are not in this one, so that a missing verb can be explained."""


class Verbs(TyperGroup):
    """A group of verbs, each imported when it is used or listed: its own and those of other distributions."""

    verbs = VERBS
    entry_points = "dtsemnet.verbs"

    def list_commands(self, ctx: Any) -> list[str]:
        """Name the verbs, those of other distributions last."""
        return list(dict.fromkeys([*self.verbs, *(point.name for point in entry_points(group=self.entry_points))]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Make the command of a verb from its module."""
        debug = bool(ctx.find_root().params.get("debug"))
        if cmd_name in self.verbs:
            return _command(cmd_name, importlib.import_module(self.verbs[cmd_name]), debug=debug)
        for point in entry_points(group=self.entry_points, name=cmd_name):
            try:
                return _command(cmd_name, point.load(), debug=debug)
            except Exception as error:  # a broken package must not take the other verbs down
                owner = point.dist.name if point.dist is not None else "another package"
                broken = ImportError(
                    f"the verb {cmd_name!r} of {owner} could not be loaded from {point.value}: "
                    f"{type(error).__name__}: {error}; reinstall or remove {owner}."
                )
                broken.__cause__ = error
                return _unavailable(cmd_name, broken, debug=debug)
        distribution = OTHER_DISTRIBUTIONS.get(self.entry_points, {}).get(cmd_name)
        if distribution is None:
            return None
        missing = ModuleNotFoundError(
            f"the verb {cmd_name!r} is in the package {distribution}, which is not installed; "
            f"install it by: pip install {distribution} (in a checkout: pip install -e workshop)"
        )
        return _unavailable(cmd_name, missing, debug=debug)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept ``--debug`` at any position: people add it to the end of the line that failed."""
        if ctx.parent is None and "--debug" in args[1:]:
            args = ["--debug", *(word for word in args if word != "--debug")]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=Verbs,
    rich_markup_mode="rich",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 refused, 2 wrong command line, 130 interrupted, 143 terminated.",
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
    with terminable():
        app(args=sys.argv[1:] if arguments is None else list(arguments), prog_name="dtsemnet")


def _command(name: str, module: Any, *, debug: bool) -> Any:
    """Make the command of a verb, or of a group of verbs, which other distributions may add to, from its module."""
    own = typer.Typer(name=name, add_completion=False, rich_markup_mode="rich")
    if hasattr(module, "VERBS"):
        group = type("Verbs", (Verbs,), {"verbs": module.VERBS, "entry_points": f"dtsemnet.{name}_verbs"})
        own.callback(cls=group, no_args_is_help=True, help=_help(module, module.HELP))(lambda: None)
    else:
        own.command(name, help=_help(module, module.run.__doc__))(guarded(module.run, debug=debug))
    return get_command(own)


def _unavailable(name: str, error: Exception, *, debug: bool) -> Any:
    """Make a command that only says why it is not available, whatever its arguments."""

    def run() -> None:
        raise error

    own = typer.Typer(add_completion=False)
    any_arguments = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    own.command(name, help="Not available here.", context_settings=any_arguments)(guarded(run, debug=debug))
    return get_command(own)


def _help(module: Any, words: str) -> str:
    """What a verb does, each paragraph on one line for the terminal to wrap, and its examples."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(words).split("\n\n")]
    examples = "\n".join(f"  {line}" for line in module.EXAMPLES.strip().splitlines())
    return "\n\n".join([*paragraphs, f"\b\n[bold]Examples[/]\n{examples}"])
