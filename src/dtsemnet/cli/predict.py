"""``dtsemnet predict``: answers for a table, as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dtsemnet.cli.output import (
    ModelArgument,
    Tell,
    check_columns,
    check_output,
    counted,
    print_json,
    put,
    quoted,
    require,
    say,
    working,
)
from dtsemnet.cli.table_options import TableOptions, reads_tables

__all__ = ["EXAMPLES", "run"]

BLOCK = 20_000
"""Rows that are written at a time."""

EXAMPLES = """
dtsemnet predict model.json new.csv --out answers.csv
dtsemnet predict model.json new.csv --proba --leaf --keep id
cat new.csv | dtsemnet predict model.json -
"""


@reads_tables
def run(
    model: ModelArgument,
    data: Annotated[
        Path,
        typer.Argument(help="Table with the columns of training; -: text from stdin.", metavar="DATA"),
    ],
    out: Annotated[Path | None, typer.Option(help="CSV file to write instead of printing.", metavar="FILE")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    leaf: Annotated[bool, typer.Option("--leaf", help="Add the number of the leaf.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="Column of the table to keep; may be repeated.", metavar="COLUMN")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Predict the rows of a table, one line of CSV for each, in their order."""
    check_output(out, force=force)
    from dtsemnet.cli.models import load
    from dtsemnet.files import write_atomically

    loaded = load(model)
    if proba and not loaded.model.is_classifier:
        raise ValueError(f"--proba needs a model that predicts classes; {quoted(model)} predicts numbers.")
    table = loaded.read(data, reading)
    with working(f"predicting {counted(len(table), 'row')}") as tell:
        answers = _answers(loaded.model, table, proba=proba, leaf=leaf, keep=keep or [])
        text = "" if as_json and out is None else _csv(answers, tell)
    if out is not None:
        write_atomically(out, text)
    if as_json:
        rows = answers.astype(object).where(answers.notna(), None).to_dict(orient="records")
        print_json({"rows": len(table), "out": out} if out else rows)
    elif out is None:
        put(text)
    else:
        say(f"{counted(len(table), 'prediction')} written to {out}.")


def _csv(answers: Any, tell: Tell) -> str:
    """Write the answers as text, many rows at a time."""
    parts = []
    for start in range(0, max(1, len(answers)), BLOCK):
        tell(start, len(answers), f"writing {counted(len(answers), 'row')}")
        parts.append(answers[start : start + BLOCK].to_csv(index=False, header=start == 0, lineterminator="\n"))
    return "".join(parts)


def _answers(model: Any, table: Any, *, proba: bool, leaf: bool, keep: list[str]) -> Any:
    """Make a data frame of the columns kept, the prediction, and the probabilities and leaves if they are wanted."""
    import numpy as np

    pandas = require("pandas", extra="data", verb="dtsemnet predict")
    check_columns(keep, table.frame.columns, "--keep")
    kept: dict[str, Any] = {name: table.frame[name].to_numpy() for name in keep}
    added: dict[str, Any] = {}
    predicted = np.asarray(model.predict(table.X))
    if predicted.ndim == 1:
        added["prediction"] = predicted
    else:
        added |= {f"prediction {k}": predicted[:, k] for k in range(predicted.shape[1])}
    if proba:
        probability = model.predict_proba(table.X)
        added |= {f"probability {name}": probability[:, k] for k, name in enumerate(model.class_names)}
    if leaf:
        added["leaf"] = model.apply(table.X)
    twice = [name for name in keep if name in added]
    if twice:
        raise ValueError(f"--keep {quoted(twice[0])} is also the name of an answer; rename the column.")
    return pandas.DataFrame(kept | added)
