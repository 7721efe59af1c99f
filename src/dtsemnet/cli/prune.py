"""``dtsemnet prune``: a smaller tree from a fitted one, without training it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dtsemnet.cli.output import (
    ModelArgument,
    TargetOption,
    check_output,
    columns,
    counted,
    number,
    print_json,
    quoted,
    say,
    working,
)
from dtsemnet.cli.table_options import TableOptions, reads_tables

if TYPE_CHECKING:
    from dtsemnet.cli.models import Loaded, ModelRows

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet prune model.json data.csv
dtsemnet prune model.json data.csv --leaves 4 --out small.json
dtsemnet prune model.json data.csv --min-rows 20 --out small.json
"""


@reads_tables
def run(
    model: ModelArgument,
    data: Annotated[Path, typer.Argument(help="Table that the tree was fitted to.", metavar="DATA")],
    out: Annotated[Path | None, typer.Option(help="Model file to write.", metavar="FILE")] = None,
    leaves: Annotated[int | None, typer.Option(help="Most leaves.", min=2, metavar="N")] = None,
    min_rows: Annotated[int, typer.Option(help="Fewest rows of a leaf.", min=1, metavar="N")] = 1,
    alpha: Annotated[
        float, typer.Option(help="What a leaf must save, as ccp_alpha of scikit-learn.", min=0, metavar="X")
    ] = 0.0,
    target: TargetOption = None,
    weight: Annotated[str | None, typer.Option(help="Column of weights of the rows.", metavar="COLUMN")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the model file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Make a fitted tree smaller: its least useful splits go, its leaves are fitted anew.

    Without [bold]--out[/] nothing is written: a table shows what each number of leaves costs on the rows of DATA.
    """
    check_output(out, force=force)
    if out is None and (leaves is not None or min_rows > 1 or alpha > 0):
        raise typer.BadParameter("name the model file to write by --out; without limits the sizes are listed.")
    from dtsemnet.cli.models import load

    loaded = load(model)
    target = target or loaded.target
    if target is None:
        raise ValueError(f"--target is missing, and {model} does not name its target; name the column.")
    if not hasattr(loaded.estimator(), "prune"):
        raise ValueError(f"{quoted(model)} holds no estimator of dtsemnet fit, so its splits cannot be judged.")
    table = loaded.read(data, reading, target=target, weight=weight)
    if out is None:
        sizes = range(max(2, loaded.model.tree.n_leaves), 1, -1)  # a tree of one leaf is a line, too
        lines: list[dict[str, Any]] = []
        with working("pruning to each size") as tell:
            for size in sizes:
                tell(len(lines), len(sizes))
                lines.append(_line(_pruned(loaded, table, max_leaf_nodes=size), table))
        lines = [line for k, line in enumerate(lines) if not k or line["leaves"] < lines[k - 1]["leaves"]]
        if as_json:
            print_json({"data": data, "rows": len(table), "sizes": lines})
            return
        columns(list(lines[0]), [[number(v) if isinstance(v, float) else f"{v:,}" for v in line.values()]
                                 for line in lines])  # fmt: skip
        say(f"On the {counted(len(table), 'row')} of {data}. Write one by --leaves N --out FILE.", style="dim")
        return
    with working("pruning"):
        small = _pruned(loaded, table, max_leaf_nodes=leaves, min_samples_leaf=min_rows, ccp_alpha=alpha)
    before, after = (_line(fitted, table) for fitted in (loaded.estimator(), small))
    _save(loaded, small, out)
    if as_json:
        print_json({"out": out, "rows": len(table), "before": before, "after": after})
        return
    cells = [[name, *(number(v) if isinstance(v, float) else f"{v:,}" for v in (before[name], after[name]))]
             for name in before]  # fmt: skip
    columns(["", "before", "after"], cells, bold=2)
    say(f"Scores are on the {counted(len(table), 'row')} of {data}. Model written to {out}.")


def _pruned(loaded: Loaded, table: ModelRows, **limits: Any) -> Any:
    """The estimator of a model file, pruned."""
    return loaded.estimator().prune(table.X, table.y, table.weight, **limits)


def _line(fitted: Any, table: ModelRows) -> dict[str, Any]:
    """Size and score of a tree."""
    import numpy as np

    from dtsemnet.cli.evaluate import class_scores, regression_scores

    tree, model, y = fitted.tree_, fitted.model_, np.asarray(table.y)
    size: dict[str, Any] = {"leaves": tree.n_leaves, "depth": tree.depth}
    if model.is_classifier:
        codes, predicted = model.class_codes(y), tree.leaf_class[model.apply(table.X)]
        scores = class_scores(codes, predicted, model.predict_proba(table.X), table.weight)
        return size | {name: scores[name] for name in ("accuracy", "log loss")}
    scores = regression_scores(y, model.predict(table.X), table.weight)
    return size | {name: scores[name] for name in ("RMSE", "R2")}


def _save(loaded: Loaded, fitted: Any, path: Path) -> None:
    """Write the model file; the scores of the larger tree are left out."""
    from dtsemnet.estimators.persistence import describe

    about = loaded.document.about
    fit = about.get("fit")
    kept = {name: part for name, part in fit.items() if name not in ("dtsemnet", "cart")} if fit else {}
    changed = {"fit": kept | {"pruned from leaves": loaded.model.tree.n_leaves}}
    fitted.model_.save(path, about=about | describe(fitted) | changed)
