"""The options by which every verb that reads a table is told how it is written.

A verb declares one parameter ``reading: TableOptions`` and the decorator :func:`reads_tables`; on the command line it
then has ``--sep``, ``--decimal``, ``--thousands``, ``--na``, ``--encoding``, ``--sheet`` and ``--no-header``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dtsemnet.tables.files import TableOptions

__all__ = ["TableOptions", "reads_tables"]

_PANEL = "How the table is written"


def _option(help: str, metavar: str) -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel=_PANEL)


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "sep": (Annotated[str | None, _option("Character between columns; found by itself.", "CHARACTER")], None),
    "decimal": (Annotated[str | None, _option("Decimal mark; a comma is mostly found by itself.", ". or ,")], None),
    "thousands": (Annotated[str | None, _option("What groups the digits of large numbers.", "CHARACTER")], None),
    "na": (Annotated[list[str] | None, _option("Text that means missing; repeatable.", "TEXT")], None),
    "encoding": (Annotated[str | None, _option("Encoding of the text, such as latin-1.", "NAME")], None),
    "sheet": (Annotated[str | None, _option("Sheet of an Excel file; the first by default.", "NAME")], None),
    "no_header": (
        Annotated[
            bool,
            typer.Option(
                "--no-header", help="The first line is a row; columns are x0, x1, ...", rich_help_panel=_PANEL
            ),
        ],
        False,
    ),
}


def reads_tables(run: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of :class:`TableOptions`, and hand them to its parameter ``reading``."""

    @functools.wraps(run)
    def with_options(*args: Any, **given: Any) -> None:
        chosen = {name: given.pop(name) for name in _OPTIONS if name in given}
        header = not chosen.pop("no_header", False)
        na = tuple(chosen.pop("na", None) or ())
        run(*args, **given, reading=TableOptions(**chosen, na=na, header=header))

    own = [p for p in inspect.signature(run, eval_str=True).parameters.values() if p.name != "reading"]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _OPTIONS.items()
    ]
    with_options.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    return with_options
