"""``dtsemnet export``: the same tree in another language.

``FORMS`` is the whole list: a name, the function of :mod:`dtsemnet.export` and its arguments. Every exporter compares
its own result with the tree and refuses one that disagrees.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import typer

from dtsemnet.cli.output import (
    ModelArgument,
    check_output,
    listed,
    print_json,
    put,
    quoted,
    remark,
    say,
    size_of,
    working,
)
from dtsemnet.cli.table_options import TableOptions, reads_tables

if TYPE_CHECKING:
    from dtsemnet.cli.models import Loaded

__all__ = ["EXAMPLES", "FORMS", "Form", "FormName", "run"]

EXAMPLES = """
dtsemnet export model.json --to c --out tree.c
dtsemnet export model.json --to sql --name customers
dtsemnet export model.json --to onnx --out tree.onnx
dtsemnet export model.json --to python --out tree.py --force
"""

FIRST_ROWS = 10_000
"""Rows that the exporter compares itself; the others follow with a bar that shows the time left."""

FormName: TypeAlias = Literal[
    "c", "c-float", "python", "numpy", "sql", "postgresql", "onnx", "onnx-network", "json", "dot", "smt2", "text"
]


class Form(NamedTuple):
    """One way to write a tree."""

    function: str
    """Name of a function of :mod:`dtsemnet.export`."""
    options: dict[str, Any]
    what: str
    """What it is, for the help."""
    name: str = ""
    """Argument of the function that ``--name`` sets."""


FORMS: dict[FormName, Form] = {
    "c": Form("to_c", {}, "C99, no allocation", name="name"),
    "c-float": Form("to_c", {"number": "float"}, "C99 in single precision", name="name"),
    "python": Form("to_python", {}, "Python without dependencies"),
    "numpy": Form("to_numpy_function", {}, "Python with numpy"),
    "sql": Form("to_sql", {}, "one SQL expression", name="table"),
    "postgresql": Form("to_sql", {"dialect": "postgresql"}, "one SQL expression for PostgreSQL", name="table"),
    "onnx": Form("to_onnx", {"form": "tree"}, "ONNX, tree operators"),
    "onnx-network": Form("to_onnx", {"form": "network"}, "ONNX, Gemm-ReLU-Gemm, for verifiers"),
    "json": Form("to_json", {}, "JSON for other programs"),
    "dot": Form("to_dot", {}, "Graphviz"),
    "smt2": Form("to_smt2", {}, "SMT-LIB, for solvers"),
    "text": Form("to_text", {"leaf_numbers": True}, "rules to read"),
}


@reads_tables
def run(
    model: ModelArgument,
    to: Annotated[
        FormName,
        typer.Option(help="; ".join(f"{name}: {form.what}" for name, form in FORMS.items()) + ".", metavar="FORM"),
    ],
    out: Annotated[Path | None, typer.Option(help="File to write. Text is printed without it.", metavar="FILE")] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Table whose rows are compared too, besides those that the check makes up.", metavar="FILE"),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Start of every name in C; table of the columns in SQL.", metavar="NAME")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON; needs --out.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Write a tree in another language, checked to give the same answers.

    An export that disagrees with the tree beyond rounding is refused, not written.
    """
    check_output(out, force=force)
    if as_json and out is None:
        raise typer.BadParameter("--json needs --out: standard output can hold the export or the figures, not both.")
    if name is not None and not FORMS[to].name:
        raise typer.BadParameter(f"--name is for C and SQL; {to} takes none.")
    from dtsemnet.cli.models import load
    from dtsemnet.files import write_atomically

    loaded = load(model)
    if to == "onnx-network":
        _check_network(loaded)
    _remark_recipe(loaded, to)
    options = FORMS[to].options | ({} if name is None else {FORMS[to].name: name})
    X = None if data is None else loaded.read(data, reading).X
    export = importlib.import_module("dtsemnet.export")
    with working("writing, and comparing with the tree") as tell:
        first = X if X is None or to in ("text", "dot") else X.head(FIRST_ROWS)
        result = getattr(export, FORMS[to].function)(loaded.model, first, **options)
        if X is not None and len(X) > FIRST_ROWS and isinstance(result, export.Artefact) and result.report:
            result = replace(result, report=export.check_export(loaded.model, result, X, progress=tell))
    content, check = str(result), ""  # a text or a drawing is only for reading; a program was checked
    if isinstance(result, export.Artefact):
        content, check = result.content, str(result.report or "not checked, as nothing here can run it")
    if out is not None:
        write_atomically(out, content)
        if as_json:
            print_json({"form": to, "out": out, "bytes": out.stat().st_size, "check": check})
        else:
            say(f"{FORMS[to].what} written to {out} ({size_of(out)}){': ' * bool(check)}{check}.")
        return
    if isinstance(content, bytes):
        raise typer.BadParameter(f"{to} is no text: name a file with --out.")
    put(content)
    if check:
        remark(f"{check}.")


def _check_network(loaded: Loaded) -> None:
    """Refuse what the ONNX network cannot hold in words of the command line."""
    if odd := [column.name for column in loaded.model.encoder.columns if not column.is_affine]:
        raise ValueError(
            f"onnx-network holds numbers that are scaled, nothing else, but {listed(odd)} "
            f"{'is' if len(odd) == 1 else 'are'} clipped, categorical or marked if missing; use --to onnx."
        )


def _remark_recipe(loaded: Loaded, to: FormName) -> None:
    """Say what an export reads if the command line makes numbers of texts and dates: the numbers themselves."""
    if to in ("text", "dot"):
        return
    recipe, read = loaded.recipe, [column.name for column in loaded.model.encoder.columns]
    texts = [name for name in recipe.numbers if name in read]
    told = [f"numbers in {listed(texts)}, which the table holds as text"] if texts else []
    for name, parts in recipe.dates.items():
        if made := [part for part in parts.names(name) if part in read]:
            told.append(f"{listed(made)} in place of {quoted(name)}")
    if told:
        remark(f"the export reads {', and '.join(told)}.")
