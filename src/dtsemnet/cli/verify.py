"""``dtsemnet verify``: what is proved about a model, for every input of a domain."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dtsemnet.cli.output import (
    ModelArgument,
    check_columns,
    check_output,
    columns,
    number,
    print_json,
    remark,
    say,
    size_of,
    working,
)
from dtsemnet.cli.table_options import TableOptions, reads_tables

if TYPE_CHECKING:  # imported when the verb runs, so that other verbs start fast
    from dtsemnet.tree import Column, Model
    from dtsemnet.verify import Domain, Report

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet verify model.json --data data.csv
dtsemnet verify model.json --data data.csv --epsilon 0.01 --epsilon 0.1 --out report.md
dtsemnet verify model.json --box age=18:30 --box income=0:20000 --never grant
dtsemnet verify model.json --data data.csv --never grant --proof audit.proof.json
dtsemnet verify model.json --data data.csv --fix sex=2 --monotone age --output high
dtsemnet verify model.json --data data.csv --independent sex --independent age=1
dtsemnet verify model.json --vnnlib property.vnnlib
dtsemnet verify model.json --data data.csv --epsilon 0.01 --instances folder
"""


@reads_tables
def run(
    model: ModelArgument,
    data: Annotated[
        Path | None,
        typer.Option(help="Table whose ranges are the domain, and whose rows are certified.", metavar="FILE"),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column with the true classes; by default that of fit.", metavar="COLUMN")
    ] = None,
    box: Annotated[
        list[str] | None, typer.Option(help="Range of a column, in place of the table's.", metavar="COLUMN=LOW:HIGH")
    ] = None,
    fix: Annotated[
        list[str] | None, typer.Option(help="Column held at a number or a category.", metavar="COLUMN=VALUE")
    ] = None,
    integer: Annotated[list[str] | None, typer.Option(help="Column of integers.", metavar="COLUMN")] = None,
    margin: Annotated[
        float, typer.Option(help="Share by which the table's ranges are widened at both ends.", min=0.0)
    ] = 0.0,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Certify that rows keep their class within this distance.", min=0.0)
    ] = None,
    norm: Annotated[Literal["inf", "1", "2"], typer.Option(help="How distances are measured.")] = "inf",
    max_rows: Annotated[int, typer.Option(help="Rows to certify, at most, evenly spread.", min=1, metavar="N")] = 500,
    never: Annotated[
        list[str] | None, typer.Option(help="Prove that this class never comes out.", metavar="CLASS")
    ] = None,
    monotone: Annotated[
        list[str] | None, typer.Option(help="Prove that raising this column never lowers the output.", metavar="COLUMN")
    ] = None,
    independent: Annotated[
        list[str] | None,
        typer.Option(
            help="Prove that changing this column alone, or columns with commas between them, never changes the "
            "answer, and count the rows that it would flip; with an amount, by that at most.",
            metavar="COLUMN[=AMOUNT]",
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option(help="Class or number of the output that --monotone is about.", metavar="NAME")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(help="Seconds for each question; what is left then is undecided.", min=0.0)
    ] = 300.0,
    out: Annotated[Path | None, typer.Option(help="Markdown file for the audit.", metavar="FILE")] = None,
    proof: Annotated[
        Path | None, typer.Option(help="Proof file, which dtsemnet-check checks on its own.", metavar="FILE")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Explorer page that shows the proofs.", metavar="FILE")] = None,
    vnnlib: Annotated[
        Path | None,
        typer.Option(help="Answer this property in VNN-LIB: sat with an input, unsat or unknown.", metavar="FILE"),
    ] = None,
    instances: Annotated[
        Path | None,
        typer.Option(
            help="Write the questions of --epsilon and --never for other verifiers: the network in ONNX, properties "
            "in VNN-LIB, and their list.",
            metavar="FOLDER",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Prove what a model can and cannot do: leaves and classes in reach, ranges of outputs, robust rows.

    A proof covers every input of the domain, as the model runs in floating point. The domain is the range of the
    table, with its categories and missing values, or what [bold]--box[/] says.

    Exit code 1 if a statement of [bold]--never[/], [bold]--monotone[/] or [bold]--independent[/] is not proved.
    With [bold]--vnnlib[/] or [bold]--instances[/] no report is made.
    """
    check_output(out, force=force)
    check_output(page, force=force, what="--page")
    check_output(proof, force=force, what="--proof")
    from dtsemnet.cli.models import load
    from dtsemnet.files import write_atomically
    from dtsemnet.verify import audit

    loaded = load(model)
    if vnnlib is not None:
        from dtsemnet.cli.vnnlib import answer

        answer(loaded.model, vnnlib, time_limit=time_limit, out=out, as_json=as_json)
        return
    table = None if data is None else loaded.read(data, reading, target=target, guess=True)
    if epsilon and table is None:
        raise ValueError("--epsilon needs rows to certify; add --data FILE.")
    if epsilon and not loaded.model.is_classifier:
        raise ValueError(
            "--epsilon is about classes, and this model predicts numbers; leave it out, and hold its columns near a "
            "row by --box COLUMN=LOW:HIGH: the output ranges are then those around that row."
        )
    X, y = _some_rows(table, max_rows) if table is not None and (epsilon or independent) else (None, None)
    content = loaded.model
    domain = _domain(content, table, box or [], fix or [], integer or [], margin)
    classes = [_label(content, name, "--never") for name in never or ()]
    if instances is not None:
        from dtsemnet.cli.vnnlib import check_folder, write_instances

        check_folder(instances, force=force)
        write_instances(
            content, instances, name=model.stem, domain=domain, rows=X, epsilon=epsilon or (), never=classes,
            time_limit=time_limit,
        )  # fmt: skip
        return
    with working(f"proving, at most {time_limit:g} s a question") as tell:
        report = audit(
            content, domain, X, y, epsilon=epsilon or (), norm=norm, never_output=classes,
            monotone_in=[_column(content, name, "--monotone").name for name in monotone or ()],
            independent_of=[_change(content, text) for text in independent or ()],
            output=None if output is None else _label(content, output, "--output"), time_limit=time_limit,
            progress=tell,
        )  # fmt: skip
    if out is not None:
        write_atomically(out, report.to_markdown())
    if proof is not None:
        with working("proving bounds and radii once more, for the file"):
            report.save_proof(proof)
    if page is not None:
        from dtsemnet.explorer import to_html

        X, y = (None, None) if table is None else (table.X, table.y)
        to_html(content, page, X=X, y=y, title=model.stem, proofs=report)
    if as_json:
        print_json(_figures(model, report, loaded.output_names))
    else:
        _show(model, report, loaded.output_names)
        for path, what in ((out, "Report"), (page, "Page"), (proof, "Proof")):
            if path is not None:
                say(f"{what} written to {path} ({size_of(path)}).")
    failed = [claim.text for claim in report.statements if claim.status != "yes"]
    if failed:
        remark(f"not proved: {'; '.join(failed)}.")
        raise typer.Exit(1)


def _domain(model: Model, table: Any, box: list[str], fix: list[str], integer: list[str], margin: float) -> Domain:
    """Make the domain: the ranges of the table, if there is one, then what the options say."""
    from dataclasses import replace

    import numpy as np

    from dtsemnet.verify import Domain

    columns = model.encoder.columns
    base = Domain(-np.inf, np.inf) if table is None else Domain.from_data(table.X, margin=margin)
    lower, upper = (np.array(np.broadcast_to(end, len(columns))) for end in (base.lower, base.upper))
    for text in box:
        name, span = _split(text, "--box", "COLUMN=LOW:HIGH")
        column = _column(model, name, "--box")
        if column.categories is not None:
            raise ValueError(f"--box {name!r} is a column of categories; hold it by --fix {name}=VALUE.")
        j = columns.index(column)
        try:
            lower[j], upper[j] = (float(part) for part in span.split(":"))
        except ValueError:
            raise ValueError(f"--box must read {name}=LOW:HIGH with two numbers, got {text!r}.") from None
    fixed: dict[int | str, Any] = {}
    for text in fix:
        name, value = _split(text, "--fix", "COLUMN=VALUE")
        column = _column(model, name, "--fix")
        if column.categories is None:  # also outside the range of the table
            j = columns.index(column)
            lower[j] = upper[j] = fixed[name] = float(value)
        else:
            fixed[name] = _written(value, column.categories, f"--fix {text} is no category of the column")
    for j, column in enumerate(columns):
        if table is None and column.categories is None and not np.isfinite([lower[j], upper[j]]).all():
            raise ValueError(
                f"the range of column {column.name!r} is open, and a proof needs it; name a table by --data, or "
                f"add --box {shlex.quote(column.name + '=LOW:HIGH')}."
            )
    integers = [_column(model, name, "--integer").name for name in integer]
    return replace(base, lower=lower, upper=upper, integer=tuple(integers), fixed=fixed)


def _split(text: str, option: str, form: str) -> tuple[str, str]:
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise ValueError(f"{option} must read {form}, got {text!r}.")
    return name, value


def _column(model: Model, name: str, option: str) -> Column:
    columns = {column.name: column for column in model.encoder.columns}
    check_columns([name], columns, option, "the model")
    return columns[name]


def _change(model: Model, text: str) -> dict[int | str, float | None]:
    """Read columns that may change, each with the amount by which it changes at most."""
    names = [column.name for column in model.encoder.columns]
    change: dict[int | str, float | None] = {}
    for part in [text] if text in names else text.split(","):
        name, sign, amount = (part, "", "") if part in names else part.rpartition("=")
        column = _column(model, name if sign else part, "--independent").name
        try:
            change[column] = float(amount) if sign else None
        except ValueError:
            raise ValueError(f"--independent must read COLUMN=AMOUNT with a number, got {part!r}.") from None
    return change


def _label(model: Model, name: str, option: str) -> Any:
    """Read the class that is written like this, or the number of an output."""
    if model.class_names is not None:
        return _written(name, model.class_names, f"{option} {name!r} is no class of the model")
    if option == "--output" and name.isdigit():
        return int(name)
    raise ValueError(f"{option} {name!r} names a class, but the model predicts numbers.")


def _written(text: str, values: Sequence[Any], refusal: str) -> Any:
    """Find the value that is written like this."""
    for value in values:
        if str(value) == text:
            return value
    raise ValueError(f"{refusal}; there are {list(values)[:8]}.")


def _some_rows(table: Any, max_rows: int) -> tuple[Any, Any]:
    import numpy as np

    if len(table) > max_rows:
        remark(f"{max_rows:,} of {len(table):,} rows certified; all by --max-rows {len(table)}.")
    chosen = np.unique(np.linspace(0, len(table) - 1, min(max_rows, len(table))).round().astype(int))
    return table.X.iloc[chosen], None if table.y is None else table.y[chosen]


def _names(report: Report, names: Sequence[str] | None) -> list[str]:
    labels = report.model.class_names or names
    return [str(bounds.output if labels is None else labels[bounds.output]) for bounds in report.outputs]


def _figures(model: Path, report: Report, names: Sequence[str] | None) -> dict[str, Any]:
    leaves = report.leaves
    return {
        "model": model,
        "fingerprint": report.model.fingerprint(),
        "leaves": {"reachable": leaves.reachable, "unreachable": leaves.unreachable, "undecided": leaves.undecided},
        "classes": {str(name): status for name, status in report.classes.items()},
        "outputs": [
            {"output": name, "least": bounds.minimum.attained, "largest": bounds.maximum.attained}
            | {"never below": bounds.minimum.certified, "never above": bounds.maximum.certified}
            for name, bounds in zip(_names(report, names), report.outputs)
        ],
        "robustness": [
            {"epsilon": rows.epsilon, "rows": len(rows.status), "share": rows.share}
            | {status: int((rows.status == status).sum()) for status in ("certified", "broken", "undecided")}
            for rows in report.certified
        ],
        "rows outside the domain": report.n_outside,
        "flips": [
            {"change": change, "rows": len(found.status), "at least": found.lower, "at most": found.upper}
            for change, found in report.flips
        ],
        "statements": [
            {"text": claim.text, "status": claim.status, "shown_by": claim.shown_by} for claim in report.statements
        ],
    }


def _show(model: Path, report: Report, names: Sequence[str] | None) -> None:
    from dtsemnet.verify.proof.wording import end_text, share_text

    say(f"{model}: {report.leaves}")
    if report.leaves.unreachable:
        leaves = "leaf" if len(report.leaves.unreachable) == 1 else "leaves"
        say(f"out of reach: {leaves} {', '.join(map(str, report.leaves.unreachable))}")
    say()
    pairs = [(bounds.minimum, bounds.maximum) for bounds in report.outputs]
    values = [(low.attained, high.attained, low.certified, high.certified) for low, high in pairs]
    ends_of_outputs = [
        [number(low), number(high), end_text(least, up=False), end_text(most, up=True)]
        for low, high, least, most in values
    ]
    if report.classes:
        words = {"reachable": "yes", "unreachable": "never, proved"}
        verdicts = [[str(name), words.get(status, status)] for name, status in report.classes.items()]
        rows = [[*verdict, *ends[:2]] for verdict, ends in zip(verdicts, ends_of_outputs)]
        columns(["class", "can come out", f"{share_text(report.model)} from", "to"], rows)
    else:
        rows = [[name, *ends] for name, ends in zip(_names(report, names), ends_of_outputs)]
        columns(["output", "least", "largest", "never below", "never above"], rows)
    if report.certified or report.statements or report.flips:
        say()
    for outcome in report.certified:
        say(str(outcome))
    if report.n_outside:
        say(f"{report.n_outside} more rows lie outside the domain and were left out")
    for change, found in report.flips:
        say(f"changing {change}: {found}")
    for claim in report.statements:
        verdict = {"yes": "proved", "no": "wrong", "undecided": "undecided"}[claim.status]
        say(f"{claim.text}: {verdict} ({claim.shown_by})")
