"""``dtsemnet fit``: from a table to a model file, with honest scores.

Test rows are held out before anything is fitted, or come from a file of their own. The tree that is written is
the tree that was scored. scikit-learn's CART of the same depth is fitted to the same encoded rows and scored
beside it.
"""

from __future__ import annotations

import logging
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dtsemnet.cli.output import (
    MOST_NAMES,
    check_columns,
    check_output,
    columns,
    counted,
    interruptible,
    listed,
    may_replace,
    number,
    print_json,
    quoted,
    remark,
    say,
)
from dtsemnet.cli.table_options import TableOptions, reads_tables
from dtsemnet.tables.files import KINDS

if TYPE_CHECKING:
    from dtsemnet import Model
    from dtsemnet.cli.tables import LabelledRows, SplitTable

__all__ = ["EXAMPLES", "run"]

MOST_COLUMNS = 25
"""Lines of the table that says what became of the columns."""

EXAMPLES = """
dtsemnet fit
dtsemnet fit wine.csv --target cultivar --depth 2 --out wine.json
dtsemnet fit houses.parquet --target price --task regression --drop id
dtsemnet fit train.csv --target y --test test.csv --seed 1 --json
dtsemnet fit loans.csv --target paid --increasing income --decreasing debt
dtsemnet fit sales.xlsx --target revenue --date day --weight units --na unknown
"""


@reads_tables
def run(
    data: Annotated[
        Path | None, typer.Argument(help=f"Table with a header ({KINDS}). Without one: iris.", metavar="DATA")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict.", metavar="COLUMN")] = None,
    depth: Annotated[
        int | None,
        typer.Option(help="Most splits on a path; by default the fit finds the depth.", min=0, max=20, metavar="N"),
    ] = None,
    effort: Annotated[
        int, typer.Option(help="0: a few starts of one depth, in a tenth of the time.", min=0, max=1, metavar="N")
    ] = 1,
    out: Annotated[Path, typer.Option(help="Model file to write.", metavar="FILE")] = Path("model.json"),
    task: Annotated[
        Literal["auto", "classification", "regression"],
        typer.Option(help="classification or regression; auto: decided by the target.", metavar="KIND"),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Same seed, same tree, to the bit.", min=0, metavar="N")] = 0,
    test: Annotated[
        Path | None,
        typer.Option(help="File of test rows; all rows of DATA are then used for training.", metavar="FILE"),
    ] = None,
    test_fraction: Annotated[
        float, typer.Option(help="Share of the rows held out for testing.", min=0, max=0.9, metavar="X")
    ] = 0.2,
    validation: Annotated[
        Path | None,
        typer.Option(
            help="File of rows that choose among the starts; by default some rows are set aside.", metavar="FILE"
        ),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Leave a column out; repeatable.", metavar="COLUMN")] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="Read a column of numbers as categories; repeatable.", metavar="COLUMN")
    ] = None,
    date: Annotated[
        list[str] | None,
        typer.Option(
            help="Read a column of dates as numbers: year, month, weekday, days; or those named (PART,PART). "
            "Repeatable.",
            metavar="COLUMN[=PART]",
        ),
    ] = None,
    month_first: Annotated[
        bool | None, typer.Option("--month-first/--day-first", help="What comes first in dates such as 3/4/2024.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of weights of the rows.", metavar="COLUMN")] = None,
    leaf: Annotated[
        Literal["linear", "constant"] | None,
        typer.Option(help="Leaves for regression, linear or constant; linear by default.", metavar="KIND"),
    ] = None,
    n_init: Annotated[
        int | None, typer.Option(help="Starts; by default one for each of four settings.", min=1, metavar="N")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs of each start; by default 20 to 500.", min=1, metavar="N")
    ] = None,
    l1: Annotated[float | None, typer.Option(help="Penalty on the weights of splits.", min=0, metavar="X")] = None,
    integer_weights: Annotated[
        int | None,
        typer.Option(help="Whole weights in splits, up to this number: points.", min=1, metavar="N"),
    ] = None,
    max_split_features: Annotated[
        int | None, typer.Option(help="Most columns that a split may read.", min=1, metavar="N")
    ] = None,
    max_leaf_features: Annotated[
        int | None, typer.Option(help="Most columns that a linear leaf may read.", min=1, metavar="N")
    ] = None,
    sparsity: Annotated[
        Literal["auto"] | None, typer.Option(help="auto: the fewest columns a split that do nearly as well.")
    ] = None,
    increasing: Annotated[
        list[str] | None,
        typer.Option(
            help="Answers never fall along a column, proved (two classes: of the last one); repeatable.",
            metavar="COLUMN",
        ),
    ] = None,
    decreasing: Annotated[
        list[str] | None, typer.Option(help="Answers never rise along a column; repeatable.", metavar="COLUMN")
    ] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give every class the same total weight.")] = False,
    jobs: Annotated[int, typer.Option(help="Starts that run in parallel; -1: one per core.", metavar="N")] = 1,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the model file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Fit a tree to a table and write it to a model file.

    The target decides between classification and regression, texts become numbers or categories, missing values a
    feature of their own; the summary says what became of every column. A fifth of the rows is held out for the scores,
    which are shown beside those of CART of the depth that was asked for, or found (of any depth if no split is needed).
    """
    check_output(out, force=True)  # whether it may be replaced is asked when the table was read
    if jobs == 0:
        raise typer.BadParameter("--jobs must be a number of starts, or -1 for one per core; got 0.")
    if seed >= 2**32:  # as a bound of the option it would crowd the names of others out of the help
        raise typer.BadParameter(f"--seed must be from 0 to {2**32 - 1}; got {seed}.")
    with interruptible():  # from here on: a Ctrl-C during the imports ends the command as one during the fit does
        from dtsemnet.cli.tables import TableRequest, read_split_table

        request = TableRequest(
            data, target, task=task, test=test, test_fraction=test_fraction, validation=validation, drop=drop or (),
            categorical=categorical or (), dates=date or (), month_first=month_first, weight=weight, seed=seed,
            reading=reading,
        )  # fmt: skip
        table = read_split_table(request, remark)
        check_output(out, force=force or may_replace(out))
        options: dict[str, Any] = {
            "max_depth": depth, "effort": effort,
            "n_init": n_init or "auto", "max_iter": epochs, "l1": l1,
            "integer_weights": integer_weights or False, "max_split_features": max_split_features, "sparsity": sparsity,
            "monotonic_cst": _order(table.train.names, increasing or (), decreasing or ()),
            "n_jobs": jobs, "random_state": seed,
            "verbose": int(not quiet and not as_json and sys.stderr.isatty()),
        }  # fmt: skip
        estimator, figures = _fit(
            table, options | _task_options(table.task, leaf, max_leaf_features, balanced=balanced)
        )
    _save(estimator, table, figures, out)
    if as_json:
        print_json(figures | {"model": out})
    else:
        _show(table, figures, data, out, linear=getattr(estimator, "leaf", None) == "linear")


class _Log(logging.Handler):
    """Shows what the library logs during a fit as remarks, and notes whether it compiled its kernels."""

    compiled = False

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().removeprefix("dtsemnet: ")
        self.compiled |= text.startswith("compiling")
        remark(f"{text.rstrip('.')}.")


@contextmanager
def _logging() -> Iterator[_Log]:
    log, logger = _Log(logging.WARNING), logging.getLogger("dtsemnet")
    logger.addHandler(log)
    try:
        yield log
    finally:
        logger.removeHandler(log)


def _order(names: Sequence[str], increasing: Sequence[str], decreasing: Sequence[str]) -> list[int] | None:
    """The order of the answers along each column; None if none was asked for."""
    check_columns(increasing, names, "--increasing")
    check_columns(decreasing, names, "--decreasing")
    for name in increasing:
        if name in decreasing:
            raise ValueError(f"--increasing and --decreasing both name {quoted(name)}; keep one of them.")
    order = [(name in increasing) - (name in decreasing) for name in names]
    return order if any(order) else None


def _task_options(task: str, leaf: str | None, most: int | None, *, balanced: bool) -> dict[str, Any]:
    """Options that only one of the two estimators has; given for the other they are refused, not ignored."""
    if task == "regression" and balanced:
        raise ValueError("--balanced weighs classes, but this is regression; add --task classification if it is not.")
    if task == "classification" and leaf is not None:
        raise ValueError("--leaf is for regression, but this is classification; add --task regression if it is not.")
    if task == "classification" and most is not None:
        raise ValueError(
            "--max-leaf-features is for regression, but this is classification; add --task regression if it is not."
        )
    if task == "regression":
        return {"leaf": leaf or "linear", "max_leaf_features": most}
    return {"class_weight": "balanced"} if balanced else {}


def _fit(table: SplitTable, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Fit our tree and CART, and score both; returns the estimator and all figures of the summary."""
    import numpy as np
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
    from dtsemnet.tree import Encoder

    classes, train, validation = table.task == "classification", table.train, table.validation
    estimator: Any = (DTSemNetClassifier if classes else DTSemNetRegressor)(**options)
    held = {} if validation is None else {"X_val": validation.X, "y_val": validation.y}
    if validation is not None and validation.weight is not None:
        held["sample_weight_val"] = validation.weight
    start = time.process_time()
    with _logging() as log:
        estimator.fit(train.X, train.y, train.weight, **held)
    seconds = time.process_time() - start
    if isinstance(train.X, np.ndarray):  # give it the column names that a data frame would have brought
        named = estimator.tree_.replace(feature_names=train.names)
        columns = estimator.model_.encoder.columns
        encoder = Encoder(replace(column, name=name) for column, name in zip(columns, train.names))
        encoder = Encoder.identity(train.names) if encoder.is_identity else encoder
        estimator.model_ = replace(estimator.model_, encoder=encoder, tree=named)
        estimator.feature_names_in_ = np.array(train.names, dtype=object)
    model = estimator.model_
    # CART cannot have a depth of 0, which is one leaf; if that was asked for, no node has rows enough to be split. If
    # the fit found that one linear model is enough, a constant would be no comparison: CART grows as it likes.
    asked, found = options["max_depth"], model.tree.depth or None
    limit = {"max_depth": 1, "min_samples_split": 2**30} if asked == 0 else {"max_depth": asked or found}
    cart = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(**limit, random_state=options["random_state"])
    start = time.process_time()
    cart.fit(model.transform(train.X), train.y, sample_weight=train.weight)
    cart_seconds = time.process_time() - start
    ours: dict[str, Any] = {
        "depth asked for": options["max_depth"],
        "depth": model.tree.depth,
        "leaves": model.tree.n_leaves,
        "cpu_seconds": seconds,
        "compiled": log.compiled,
    }
    theirs: dict[str, Any] = {"depth": int(cart.get_depth()), "leaves": int(cart.get_n_leaves())}
    theirs["cpu_seconds"] = cart_seconds
    for part, rows in (("train", train), ("test", table.test)):
        ours[part], theirs[part] = (None, None) if rows is None else _scores(model, cart, rows)
    figures = {
        "data": table.name, "target": table.target, "task": table.task, "because": table.reason,
        "classes": list(model.class_names) if classes else None,
        "rows": {"train": len(train), "test": 0 if table.test is None else len(table.test)},
        "columns": len(train.names), "seed": options["random_state"], "dtsemnet": ours, "cart": theirs,
        "remarks": list(table.remarks), "fate of columns": table.fates,
    }  # fmt: skip
    return estimator, figures


def _scores(model: Model, cart: Any, rows: LabelledRows) -> list[dict[str, float]]:
    """Scores of our tree and of CART on the same encoded rows, weighted if the rows are."""
    import numpy as np

    from dtsemnet.cli.evaluate import regression_scores

    features = model.transform(rows.X)
    if model.is_classifier:
        codes = model.class_codes(rows.y, allow_unknown=True)
        classes = model.tree.leaf_class[model.tree.apply(features)], model.class_codes(cart.predict(features))
        return [{"accuracy": float(np.average(codes == predicted, weights=rows.weight))} for predicted in classes]
    numbers = np.asarray(model.output(model.tree.predict(features))), cart.predict(features)
    scores = (regression_scores(rows.y, predicted, rows.weight) for predicted in numbers)
    return [{name: score[name] for name in ("RMSE", "R2")} for score in scores]


def _save(estimator: Any, table: SplitTable, figures: dict[str, Any], path: Path) -> None:
    """Write the model file, with the target and the scores for the verbs that read it later."""
    from dtsemnet.estimators.persistence import describe

    # No times and no folders: the same table and seed give the same bytes, on anybody's disk.
    fit = {name: figures[name] for name in ("task", "rows", "seed")} | {"data": Path(table.name).name}
    fit |= {name: {part: figures[name][part] for part in ("train", "test")} for name in ("dtsemnet", "cart")}
    about = describe(estimator) | {"target": table.target, "fit": fit}
    about |= {"table": recipe} if (recipe := table.recipe.to_dict()) else {}
    about |= {"weight": table.weight} if table.weight else {}
    estimator.model_.save(path, about=about)


def _show(table: SplitTable, figures: dict[str, Any], data: Path | None, out: Path, *, linear: bool) -> None:
    """Print what was fitted to what, how well, and what can be done with it."""
    rows = figures["rows"]
    say()
    size = f"{counted(rows['train'] + rows['test'], 'row')}, {counted(figures['columns'], 'column')}"
    say(f"{table.name}: {size}", style="bold")
    say(f"{figures['task']} of {quoted(figures['target'])}: {figures['because']}" + _classes(figures["classes"]))
    weighted = f", weighted by {quoted(table.weight)}, as are the scores" if table.weight else ""
    say(f"{rows['train']:,} rows to train on, {rows['test']:,} to test on{table.test_rows}{weighted}")
    _show_columns(table)
    say()
    ours, cart = figures["dtsemnet"], figures["cart"]
    lines = [[name, *(f"{tree[name]:,}" for tree in (ours, cart))] for name in ("depth", "leaves")]
    for part in ("train", "test"):
        for name in ours[part] or {}:
            lines.append([f"{name}, {part}", number(ours[part][name]), number(cart[part][name])])
    lines.append(["CPU time", *(f"{tree['cpu_seconds']:.2f} s" for tree in (ours, cart))])
    columns(["", "dtsemnet", "CART"], lines, bold=1)
    if ours["compiled"]:
        say("The CPU time of dtsemnet includes compiling its kernels, once on this machine.", style="dim")
    asked = ours["depth asked for"]
    if asked is not None and ours["depth"] < asked:
        n_leaves = f"{ours['leaves']:,} {'leaf' if ours['leaves'] == 1 else 'leaves'}"
        say(
            f"Shrunk: --depth {asked} allows {2**asked:,} leaves, but {n_leaves} at depth {ours['depth']} answered "
            "rows set aside as well.",
            style="dim",
        )
    if linear:
        say("The leaves of dtsemnet are linear models, those of CART constants.", style="dim")
    say()
    say(f"Model written to {out}. What to do with it:")
    model, stem = shlex.quote(str(out)), shlex.quote(str(out.with_suffix("")))
    options = f" --data {shlex.quote(str(data))} --target {shlex.quote(figures['target'])}" if data else ""
    say(f"  dtsemnet show {model}", style="cyan")
    say(f"  dtsemnet explore {model}{options} --out {stem}.html", style="cyan")
    say(f"  dtsemnet export {model} --to c --out {stem}.c", style="cyan")


def _show_columns(table: SplitTable) -> None:
    """Say what became of every column, in one line for all that were read alike."""
    alike: dict[str, list[str]] = {}
    for name, fate in table.fates.items():
        alike.setdefault(fate, []).append(name)
    if not alike:
        return
    say()
    say("What became of the columns:", style="dim")
    lines = [[listed(names), fate] for fate, names in alike.items()]
    columns(["column", "read as"], lines[:MOST_COLUMNS], words=True)
    if len(lines) > MOST_COLUMNS or any(len(names) > MOST_NAMES for names in alike.values()):
        say("The fate of each column by itself: add --json.", style="dim")


def _classes(names: list[Any] | None) -> str:
    if names is None:
        return ""
    shown = ", ".join(map(str, names[:6])) + (", ..." if len(names) > 6 else "")
    return f", {len(names):,} class{'' if len(names) == 1 else 'es'} ({shown})"
