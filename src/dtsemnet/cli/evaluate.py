"""``dtsemnet evaluate``: how well a model does on a table whose answers are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dtsemnet.cli.output import columns, counted, print_json, remark, say

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet evaluate model.json test.csv
dtsemnet evaluate model.json test.csv --target y --leaves
dtsemnet evaluate model.json test.csv --target y --json
"""

MOST_CLASSES = 12
"""A wider confusion matrix does not fit on a screen; JSON has it whatever its size."""


def run(
    model: Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")],
    data: Annotated[
        Path, typer.Argument(help="CSV or Parquet file with the columns of training and the target.", metavar="DATA")
    ],
    target: Annotated[
        str | None, typer.Option(help="Column with the true answers; by default that of fit.", metavar="COLUMN")
    ] = None,
    leaves: Annotated[bool, typer.Option("--leaves", help="Add a table with one line a leaf.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """Score a model: accuracy and confusion of classes, or the errors of numbers.

    The scores are honest only for rows that the model was not trained on.
    """
    from dtsemnet.cli.models import load

    loaded = load(model)
    target = target or loaded.target
    if target is None:
        raise ValueError(f"--target is missing, and {model} does not tell it; name the column with the answers.")
    table = loaded.read(data, target=target)
    scored = _score_classes if loaded.model.is_classifier else _score_numbers
    figures = {"model": model, "data": data, "target": target, "rows": len(table)} | scored(loaded.model, table)
    if as_json:
        print_json(figures if leaves else {k: v for k, v in figures.items() if k != "leaves"})
    else:
        _show(figures, leaves=leaves)


def _score_classes(model: Any, table: Any) -> dict[str, Any]:
    import numpy as np

    from dtsemnet.cli.scores import class_scores, codes_of

    codes = codes_of(table.y, model.class_names)
    reached = model.apply(table.X)
    predicted = model.tree.leaf_class[reached]
    if (codes < 0).any():
        remark(
            f"{counted(int((codes < 0).sum()), 'row')} of classes unknown to the model: missed, not in the log loss."
        )
    n_classes = len(model.class_names)
    confusion = np.zeros((n_classes + 1, n_classes), dtype=np.int64)
    np.add.at(confusion, (codes, predicted), 1)
    names = [str(name) for name in model.class_names]
    true = [*names, "(unknown)"] if confusion[-1].any() else names
    hits = codes == predicted
    return {
        "scores": class_scores(codes, predicted, model.predict_proba(table.X)),
        "confusion": {"true": true, "predicted": names, "rows": confusion[: len(true)].tolist()},
        "leaves": [
            {"leaf": leaf, "rows": int(here.sum()), "answer": names[model.tree.leaf_class[leaf]]}
            | {"accuracy": float(hits[here].mean()) if here.any() else None}
            for leaf, here in ((leaf, reached == leaf) for leaf in range(model.tree.n_leaves))
        ],
    }


def _score_numbers(model: Any, table: Any) -> dict[str, Any]:
    import numpy as np

    from dtsemnet.cli.scores import regression_scores

    if model.tree.n_outputs > 1:
        raise ValueError(f"evaluate scores one target, but this model has {model.tree.n_outputs} outputs.")
    if table.y.dtype.kind not in "iufb":
        raise ValueError(f"the model predicts numbers, but the target holds {table.y[0]!r}.")
    y, predicted, reached = table.y.astype(np.float64), np.asarray(model.predict(table.X)), model.apply(table.X)
    return {
        "scores": regression_scores(y, predicted),
        "leaves": [
            {"leaf": leaf, "rows": int(here.sum())}
            | {"mean target": float(y[here].mean()) if here.any() else None}
            | {"RMSE": regression_scores(y[here], predicted[here])["RMSE"] if here.any() else None}
            for leaf, here in ((leaf, reached == leaf) for leaf in range(model.tree.n_leaves))
        ],
    }


def _show(figures: dict[str, Any], *, leaves: bool) -> None:
    from dtsemnet.cli.scores import number

    say(f"{figures['data']}: {counted(figures['rows'], 'row')}, target '{figures['target']}'")
    say()
    columns(["", "value"], [[name, number(value)] for name, value in figures["scores"].items()], bold=1)
    confusion = figures.get("confusion")
    if confusion and len(confusion["predicted"]) <= MOST_CLASSES:
        say()
        columns(
            ["true \\ predicted", *confusion["predicted"]],
            [[name, *(f"{n:,}" for n in row)] for name, row in zip(confusion["true"], confusion["rows"])],
        )
    if leaves:
        say()
        names = list(figures["leaves"][0])
        cells = [
            [number(cell) if isinstance(cell, float) or cell is None else str(cell) for cell in line.values()]
            for line in figures["leaves"]
        ]
        columns(names, cells)
