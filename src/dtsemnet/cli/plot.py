"""``dtsemnet plot``: pictures of a tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from dtsemnet.cli.output import (
    ModelArgument,
    TargetOption,
    check_picture,
    print_json,
    require,
    say,
    size_of,
    write_picture,
)
from dtsemnet.cli.table_options import TableOptions, reads_tables

if TYPE_CHECKING:
    from dtsemnet.cli.models import Loaded, ModelRows

__all__ = ["EXAMPLES", "Picture", "run"]

EXAMPLES = """
dtsemnet plot model.json tree --out tree.png
dtsemnet plot model.json tree --data data.csv --target y --row 3 --out path.svg
dtsemnet plot model.json regions --data data.csv --along alcohol hue --out regions.png
dtsemnet plot model.json leaves --data data.csv --out leaves.pdf
dtsemnet plot model.json importance --out importance.png
"""


Picture: TypeAlias = Literal["tree", "regions", "leaves", "importance"]


@reads_tables
def run(
    model: ModelArgument,
    picture: Annotated[Picture, typer.Argument(help="What to draw.")],
    out: Annotated[Path, typer.Option(help="Picture to write: .png, .svg or .pdf.", metavar="FILE")],
    data: Annotated[Path | None, typer.Option(help="Table whose rows are shown.", metavar="FILE")] = None,
    target: TargetOption = None,
    row: Annotated[
        int | None, typer.Option(help="Row of the table whose path is drawn, from 0.", min=0, metavar="N")
    ] = None,
    along: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Two columns that regions are drawn along; by default the most important.", metavar="X Y"),
    ] = None,
    dpi: Annotated[int, typer.Option(help="Dots per inch of a PNG.", min=20, max=1200, metavar="N")] = 150,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Draw a tree, its regions, the use of its leaves, or the importance of its columns."""
    check_picture(out, force=force)
    require("matplotlib", extra="plot", verb="dtsemnet plot").use("Agg")
    from dtsemnet.cli.models import load

    loaded = load(model)
    table = None if data is None else loaded.read(data, reading, target=target, guess=True)
    write_picture(_draw(picture, loaded, table, row, along).figure, out, dpi=dpi)
    if as_json:
        print_json({"picture": picture, "out": out, "bytes": out.stat().st_size})
    else:
        say(f"Picture written to {out} ({size_of(out)}).")


def _draw(picture: Picture, loaded: Loaded, table: ModelRows | None, row: int | None, along: Any) -> Any:
    """Draw a picture; those that cannot be drawn without rows are refused if there is no table."""
    from dtsemnet.plot import plot_importance, plot_leaves, plot_regions, plot_tree

    model, estimator = loaded.model, loaded.estimator() if picture == "importance" else None
    needs_rows = row is not None if picture == "tree" else estimator is None
    if table is None and needs_rows:
        what = "path of a row" if picture == "tree" else picture
        raise ValueError(f"the picture '{what}' needs rows: add --data FILE.")
    X: Any = None if table is None else table.X
    y = None if table is None else table.y
    match picture:
        case "tree":
            if row is not None and row >= len(X):
                raise ValueError(f"--row {row} does not exist: the table has rows 0 to {len(X) - 1}.")
            return plot_tree(model, X, y, x=None if row is None else X.iloc[[row]])
        case "regions":
            return plot_regions(model, X, y, features=along or _important(loaded))
        case "leaves":
            return plot_leaves(model, X, y)
        case "importance":  # the file of a bare tree does not state it; rows do
            return plot_importance(model, X) if estimator is None else plot_importance(estimator)


def _important(loaded: Loaded) -> list[str]:
    """Name the two most important columns of numbers; the first two if the file does not state importances."""
    columns, estimator = loaded.model.encoder.columns, loaded.estimator()
    share = [0.0] * len(columns) if estimator is None else estimator.feature_importances_.tolist()
    numeric = [j for j, column in enumerate(columns) if column.categories is None]
    if len(numeric) < 2:
        raise ValueError("the picture 'regions' needs two columns of numbers; this model has fewer.")
    return [columns[j].name for j in sorted(numeric, key=lambda j: -share[j])[:2]]
