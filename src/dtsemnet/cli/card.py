"""``dtsemnet card``: the page that goes with a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dtsemnet.cli.output import ModelArgument, TargetOption, check_output, counted, print_json, put, remark, say
from dtsemnet.cli.table_options import TableOptions, reads_tables

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet card model.json
dtsemnet card model.json --data test.csv --license mit --out README.md
dtsemnet card model.json --proofs audit.md --use "Sorting beans. Not for seeds." --out README.md
"""


@reads_tables
def run(
    model: ModelArgument,
    data: Annotated[
        Path | None,
        typer.Option(help="Table with the target that the model was not trained on; it is scored.", metavar="FILE"),
    ] = None,
    target: TargetOption = None,
    proofs: Annotated[
        Path | None, typer.Option(help="What is proved: a report of dtsemnet verify --out.", metavar="FILE")
    ] = None,
    license: Annotated[str | None, typer.Option(help="Licence of the model, such as mit.", metavar="NAME")] = None,
    use: Annotated[str | None, typer.Option(help="What the model is for and not for.", metavar="TEXT")] = None,
    name: Annotated[str | None, typer.Option(help="Title; by default that of the file.", metavar="NAME")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write, such as README.md.", metavar="FILE")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print card and scores as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Write a model card: Markdown with the header that Hugging Face and other hubs read.

    It states what the file knows: columns, the tree, the training, the scores of [bold]fit[/]; with [bold]--data[/] the
    scores on that table. Nothing is sent anywhere.
    """
    from dtsemnet.cli.models import load
    from dtsemnet.export import to_card
    from dtsemnet.files import read_bytes, write_atomically

    check_output(out, force=force)
    loaded = load(model)
    scores, rows, evaluated_on = _kept_scores(loaded.document.about)
    if data is not None:
        target = target or loaded.target
        if target is None:
            raise ValueError(f"--target is missing, and {model} does not name its target; name the column to score.")
        from dtsemnet.cli.evaluate import scores_of

        table = loaded.read(data, reading, target=target)
        scores, rows, evaluated_on = (
            scores_of(loaded.model, table),
            table.X,
            f"{counted(len(table), 'row')} of {data.name}",
        )
    elif not scores:
        remark("the file holds no scores of rows that were set aside; --data FILE adds some.")
    text = to_card(
        loaded.model, rows, name=name or model.stem, file=model.name, scores=scores, evaluated_on=evaluated_on,
        about=loaded.document.about, license=license, intended_use=use,
        proofs=None if proofs is None else read_bytes(proofs, max_bytes=2**24).decode("utf-8", "replace"),
    )  # fmt: skip
    if out is not None:
        write_atomically(out, text)
    if as_json:
        print_json({"out": out, "scores": scores, "evaluated on": evaluated_on, "text": text})
    elif out is None:
        put(text.rstrip("\n"))
    else:
        say(f"Model card written to {out}.")


def _kept_scores(about: Any) -> tuple[dict[str, float], None, str | None]:
    """The scores that ``dtsemnet fit`` kept in the file: those of the rows that it set aside."""
    part = about
    for key in ("fit", "dtsemnet", "test"):
        part = part.get(key) if isinstance(part, dict) else None
    if not isinstance(part, dict):
        return {}, None, None
    scores = {name: float(value) for name, value in part.items() if isinstance(value, (int, float))}
    return scores, None, "rows that were set aside from training" if scores else None
