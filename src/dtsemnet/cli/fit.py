"""``dtsemnet fit``: from a table to a model file, with honest scores.

Test rows are held out before anything is fitted, or come from a file of their own. The tree that is written is
the tree that was scored. Beside it stands scikit-learn's CART of the same depth on the same encoded rows.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dtsemnet.cli.output import check_output, columns, counted, print_json, quoted, remark, say

if TYPE_CHECKING:
    from dtsemnet.cli.fitting import Fitted

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet fit
dtsemnet fit wine.csv --target cultivar --depth 2 --out wine.json
dtsemnet fit houses.parquet --target price --task regression --drop id
dtsemnet fit train.csv --target y --test test.csv --seed 1 --json
"""

TASKS = ("auto", "classification", "regression")
LEAVES = ("linear", "constant")


def run(
    data: Annotated[
        Path | None, typer.Argument(help="CSV or Parquet file with a header. Without one: iris.", metavar="DATA")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict.", metavar="COLUMN")] = None,
    depth: Annotated[
        int | None, typer.Option(help="Splits on each path: 4 by default, 2 for iris.", min=0, max=20, metavar="N")
    ] = None,
    out: Annotated[Path, typer.Option(help="Model file to write.", metavar="FILE")] = Path("model.json"),
    task: Annotated[
        str,
        typer.Option(help="auto, classification or regression.", metavar="TASK", autocompletion=lambda: list(TASKS)),
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Same seed, same tree, to the bit.", min=0, metavar="N")] = 0,
    test: Annotated[
        Path | None, typer.Option(help="Test rows, in a file of their own, all others to train on.", metavar="FILE")
    ] = None,
    test_fraction: Annotated[
        float, typer.Option(help="Share of the rows held out to test on.", min=0, max=0.9, metavar="SHARE")
    ] = 0.2,
    validation: Annotated[
        Path | None, typer.Option(help="Rows that judge the starts; by default a part set aside.", metavar="FILE")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Leave a column out; repeatable.", metavar="COLUMN")] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="Read a column of numbers as categories; repeatable.", metavar="COLUMN")
    ] = None,
    leaf: Annotated[
        str | None,
        typer.Option(
            help="Leaves for regression: linear (default) or constant.",
            metavar="KIND",
            autocompletion=lambda: list(LEAVES),
        ),
    ] = None,
    n_init: Annotated[
        int | None, typer.Option(help="Starts; by default one for each of four settings.", min=1, metavar="N")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs of each start; by default 20 to 500.", min=1, metavar="N")
    ] = None,
    l1: Annotated[float | None, typer.Option(help="Penalty that makes splits sparse.", min=0, metavar="X")] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give every class the same total weight.")] = False,
    jobs: Annotated[int, typer.Option(help="Starts run side by side; -1: on all cores.", metavar="N")] = 1,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the model file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Fit a tree to a table and write it to a model file.

    Classification or regression is told from the target, texts become categories, missing values a feature of their
    own. A fifth of the rows is held out for the scores; CART of the same depth stands beside them.
    """
    check_output(out, force=force)
    from dtsemnet.cli import fitting

    _check_choice("--task", task, TASKS)
    _check_choice("--leaf", leaf or "linear", LEAVES)
    parts = fitting.read(
        data, target, task=task, test=test, test_fraction=test_fraction, validation=validation, drop=drop or [],
        categorical=categorical or [], seed=seed,
    )  # fmt: skip
    for words in parts.remarks:
        remark(words)
    options: dict[str, Any] = {
        "max_depth": depth if depth is not None else 2 if data is None else 4,
        "n_init": n_init or "auto", "max_iter": epochs, "l1": l1, "n_jobs": jobs, "random_state": seed,
        "verbose": int(not quiet and not as_json and _watched()),
    }  # fmt: skip
    options |= _of_the_task(parts.task, leaf, balanced)
    fitted = fitting.fit(parts, options)
    fitting.save(fitted, out)
    if as_json:
        print_json(fitted.figures | {"model": out})
    else:
        _summary(fitted, data, out)


def _of_the_task(task: str, leaf: str | None, balanced: bool) -> dict[str, Any]:
    """Options that only one of the two estimators has; asked of the other they are refused, not passed over."""
    if task == "regression" and balanced:
        raise ValueError("--balanced weighs classes, but this is regression; add --task classification if it is not.")
    if task == "classification" and leaf is not None:
        raise ValueError("--leaf is for regression, but this is classification; add --task regression if it is not.")
    return {"leaf": leaf or "linear"} if task == "regression" else {"class_weight": "balanced"} if balanced else {}


def _summary(fitted: Fitted, data: Path | None, out: Path) -> None:
    """What was fitted to what, how well, and what can be done with it."""
    from dtsemnet.cli.scores import number

    figures = fitted.figures
    rows = figures["rows"]
    say()
    size = f"{counted(rows['train'] + rows['test'], 'row')}, {counted(figures['columns'], 'column')}"
    say(f"{fitted.parts.name}: {size}", style="bold")
    say(f"{figures['task']} of {quoted(figures['target'])}: {figures['because']}" + _classes(figures["classes"]))
    say(f"{rows['train']:,} rows to train on, {rows['test']:,} to test on" + fitted.parts.how)
    say()
    ours, cart = figures["dtsemnet"], figures["cart"]
    lines = [[name, *(f"{tree[name]:,}" for tree in (ours, cart))] for name in ("depth", "leaves")]
    for part in ("train", "test"):
        for name in ours[part] or {}:
            lines.append([f"{name}, {part}", number(ours[part][name]), number(cart[part][name])])
    lines.append(["CPU time", *(f"{tree['cpu_seconds']:.2f} s" for tree in (ours, cart))])
    columns(["", "dtsemnet", "CART"], lines, bold=1)
    if figures["task"] == "regression" and fitted.estimator.leaf == "linear":
        say("The leaves of dtsemnet are linear models, those of CART constants.", style="dim")
    say()
    say(f"Model written to {out}. What to do with it:")
    for line in _next(data, figures["target"], out):
        say(f"  {line}", style="cyan")


def _next(data: Path | None, target: str, out: Path) -> list[str]:
    model = shlex.quote(str(out))
    stem = shlex.quote(str(out.with_suffix("")))
    rows = f" --data {shlex.quote(str(data))} --target {shlex.quote(target)}" if data else ""
    return [
        f"dtsemnet show {model}",
        f"dtsemnet explore {model}{rows} --out {stem}.html",
        f"dtsemnet export {model} --to c --out {stem}.c",
    ]


def _classes(names: list[Any] | None) -> str:
    if names is None:
        return ""
    shown = ", ".join(map(str, names[:6])) + (", ..." if len(names) > 6 else "")
    return f", {len(names):,} class{'' if len(names) == 1 else 'es'} ({shown})"


def _check_choice(option: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise typer.BadParameter(f"{option} must be one of {', '.join(choices)}, got {given!r}.")


def _watched() -> bool:
    """Whether somebody looks on."""
    import sys

    return sys.stderr.isatty()
