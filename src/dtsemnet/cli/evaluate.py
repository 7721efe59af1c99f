"""``dtsemnet evaluate``: how well a model does on a table whose answers are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dtsemnet.cli.output import (
    WIDTH,
    ModelArgument,
    TargetOption,
    columns,
    counted,
    listed,
    number,
    print_json,
    remark,
    say,
)
from dtsemnet.cli.table_options import TableOptions, reads_tables

if TYPE_CHECKING:
    from dtsemnet.arrays import Bools, Floats, Ints

__all__ = ["EXAMPLES", "class_scores", "regression_scores", "run", "scores_of"]

EXAMPLES = """
dtsemnet evaluate model.json test.csv
dtsemnet evaluate model.json test.csv --target y --leaves
dtsemnet evaluate model.json test.csv --target y --json
"""

MOST_CLASSES = 12
"""A wider confusion matrix does not fit on a screen; JSON has it whatever its size."""


@reads_tables
def run(
    model: ModelArgument,
    data: Annotated[Path, typer.Argument(help="Table with the columns of training and the target.", metavar="DATA")],
    target: TargetOption = None,
    weight: Annotated[str | None, typer.Option(help="Column of weights of the rows.", metavar="COLUMN")] = None,
    leaves: Annotated[bool, typer.Option("--leaves", help="Add a table with one line per leaf.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Score a model: accuracy and confusion of classes, or the errors of numbers.

    The scores are honest only for rows that the model was not trained on.
    """
    from dtsemnet.cli.models import load

    loaded = load(model)
    target = target or loaded.target
    if target is None:
        raise ValueError(
            f"--target is missing, and {model} does not name its target; name the column with the answers."
        )
    table = loaded.read(data, reading, target=target, weight=weight)
    if trained := loaded.trained_on(data, table):
        remark(f"{counted(len(table), 'row')} of the table of the fit, {trained}: new rows are answered less well.")
    figures = {"model": model, "data": data, "target": target, "rows": len(table)} | _score(loaded.model, table)
    if as_json:
        print_json(figures if leaves else {name: value for name, value in figures.items() if name != "leaves"})
    else:
        _show(figures, leaves=leaves)


def class_scores(codes: Ints, predicted: Ints, probability: Floats, weight: Floats | None = None) -> dict[str, float]:
    """Compute accuracy, balanced accuracy and log loss; a label that is none of the classes (code -1) is an error.

    Log loss leaves such rows out, since the model gives them no probability.

    Examples
    --------
    >>> import numpy as np
    >>> class_scores(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([[1.0, 0], [0.5, 0.5], [0, 1]]))["accuracy"]
    0.6666666666666666
    """
    import numpy as np

    correct, known = codes == predicted, codes >= 0
    weight = np.ones(len(codes)) if weight is None else weight

    def share(rows: Bools) -> float:
        return float(np.average(correct[rows], weights=weight[rows])) if weight[rows].any() else float("nan")

    recall = [share(codes == code) for code in np.unique(codes)]
    with np.errstate(divide="ignore"):
        losses = -np.log(probability[known, codes[known]])
    loss = float(np.average(losses, weights=weight[known])) if weight[known].any() else float("nan")
    accuracy = share(np.ones(len(codes), dtype=bool))
    return {"accuracy": accuracy, "balanced accuracy": float(np.nanmean(recall)), "log loss": loss}


def regression_scores(y: Floats, predicted: Floats, weight: Floats | None = None) -> dict[str, float]:
    """Compute the root mean squared error, the mean absolute error and R2 (NaN if y does not vary).

    Examples
    --------
    >>> import numpy as np
    >>> regression_scores(np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    {'RMSE': 1.0, 'MAE': 1.0, 'R2': 0.0}
    """
    import numpy as np

    weight = np.ones(len(y)) if weight is None else weight
    if not weight.any():
        return dict.fromkeys(("RMSE", "MAE", "R2"), float("nan"))
    # In a power of 2 near the largest number squares do not overflow, and no digit changes.
    unit = np.exp2(np.frexp(max(np.abs(y).max(), np.abs(predicted).max()))[1] - 1.0)
    y, predicted = y / unit, predicted / unit
    error = predicted - y
    spread = float((weight * (y - np.average(y, weights=weight)) ** 2).sum())
    return {
        "RMSE": float(np.sqrt(np.average(error**2, weights=weight)) * unit),
        "MAE": float(np.average(np.abs(error), weights=weight) * unit),
        "R2": 1 - float((weight * error**2).sum()) / spread if spread > 0 else float("nan"),
    }


def scores_of(model: Any, table: Any) -> dict[str, float]:
    """Score a model on a table that was read for it, with its target."""
    scores: dict[str, float] = _score(model, table)["scores"]
    return scores


def _score(model: Any, table: Any) -> dict[str, Any]:
    return (_score_classes if model.is_classifier else _score_numbers)(model, table)


def _score_classes(model: Any, table: Any) -> dict[str, Any]:
    import numpy as np

    from dtsemnet.tree import LeafSurvey

    survey = LeafSurvey.of(model, table.X, table.y, allow_unknown=True)
    assert survey.target is not None
    assert survey.n_correct is not None
    codes, predicted = survey.target[:, 0], survey.prediction[:, 0]
    if (codes < 0).all():
        raise ValueError(
            f"the target holds none of the classes of the model, {listed(map(str, model.class_names))}, but values "
            f"such as {table.y[0]!r}; name the column with the classes by --target."
        )
    if (codes < 0).any():
        n_unknown = counted(int((codes < 0).sum()), "row")
        remark(f"{n_unknown} of classes unknown to the model: counted as errors, left out of the log loss.")
    names = [str(name) for name in model.class_names]
    confusion = np.zeros((len(names) + 1, len(names)), dtype=np.int64)
    np.add.at(confusion, (codes, predicted), 1)
    true = [*names, "(unknown)"] if confusion[-1].any() else names
    accuracy = [n / total if total else None for n, total in zip(survey.n_correct, survey.count)]
    return {
        "scores": class_scores(codes, predicted, model.predict_proba(table.X), table.weight),
        "confusion": {"true": true, "predicted": names, "rows": confusion[: len(true)].tolist()},
        "leaves": [
            {"leaf": leaf, "rows": int(survey.count[leaf]), "answer": names[code], "accuracy": accuracy[leaf]}
            for leaf, code in enumerate(model.tree.leaf_class)
        ],
    }


def _score_numbers(model: Any, table: Any) -> dict[str, Any]:
    import numpy as np

    from dtsemnet.tree import LeafSurvey

    if model.tree.n_outputs > 1:
        raise ValueError(f"evaluate scores one target, but this model has {model.tree.n_outputs} outputs.")
    if table.y.dtype.kind not in "iufb":
        raise ValueError(f"the model predicts numbers, but the target holds {table.y[0]!r}.")
    survey = LeafSurvey.of(model, table.X, table.y)
    assert survey.target is not None
    assert survey.mean_target is not None
    assert survey.squared_error is not None
    figures = survey.count, survey.mean_target[:, 0], np.sqrt(survey.squared_error[:, 0])
    return {
        "scores": regression_scores(survey.target[:, 0], survey.prediction[:, 0], table.weight),
        "leaves": [
            {"leaf": leaf, "rows": rows, "mean target": mean, "RMSE": error}
            for leaf, (rows, mean, error) in enumerate(zip(*(figure.tolist() for figure in figures)))
        ],
    }


def _show(figures: dict[str, Any], *, leaves: bool) -> None:
    say(f"{figures['data']}: {counted(figures['rows'], 'row')}, target '{figures['target']}'")
    say()
    columns(["", "value"], [[name, number(value)] for name, value in figures["scores"].items()], bold=1)
    confusion = figures.get("confusion")
    if confusion and len(confusion["predicted"]) <= MOST_CLASSES:
        say()
        true, predicted = confusion["true"], confusion["predicted"]
        if sum(len(name) + 3 for name in ["true \\ predicted", *predicted]) > WIDTH:  # then columns are numbered
            true = [f"{k}  {name}" for k, name in enumerate(true, 1)]
            predicted = [str(k) for k in range(1, len(predicted) + 1)]
        rows = [[name, *(f"{n:,}" for n in row)] for name, row in zip(true, confusion["rows"])]
        columns(["true \\ predicted", *predicted], rows)
    if leaves:
        say()
        cells = [
            [number(cell) if isinstance(cell, float) or cell is None else str(cell) for cell in line.values()]
            for line in figures["leaves"]
        ]
        columns(list(figures["leaves"][0]), cells)
