"""``dtsemnet plot``: pictures of a tree."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dtsemnet.cli.output import check_picture, require, say, size_of, write_picture

__all__ = ["EXAMPLES", "PICTURES", "run"]

EXAMPLES = """
dtsemnet plot model.json tree --out tree.png
dtsemnet plot model.json tree --data data.csv --target y --row 3 --out path.svg
dtsemnet plot model.json regions --data data.csv --along alcohol hue --out regions.png
dtsemnet plot model.json leaves --data data.csv --out leaves.pdf
dtsemnet plot model.json importance --out importance.png
"""


class Picture(StrEnum):
    """What can be drawn."""

    TREE = "tree"
    REGIONS = "regions"
    LEAVES = "leaves"
    IMPORTANCE = "importance"


def run(
    model: Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")],
    picture: Annotated[Picture, typer.Argument(help="What to draw.")],
    out: Annotated[Path, typer.Option(help="Picture to write: .png, .svg or .pdf.", metavar="FILE")],
    data: Annotated[Path | None, typer.Option(help="Table whose rows are shown.", metavar="FILE")] = None,
    target: Annotated[
        str | None, typer.Option(help="Column with the true answers; by default that of fit.", metavar="COLUMN")
    ] = None,
    row: Annotated[
        int | None, typer.Option(help="Row of the table whose path is drawn, from 0.", min=0, metavar="N")
    ] = None,
    along: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Two columns that regions are drawn along; by default the most important.", metavar="X Y"),
    ] = None,
    dpi: Annotated[int, typer.Option(help="Dots per inch of a PNG.", min=20, max=1200, metavar="N")] = 150,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")] = False,
) -> None:
    """Draw a tree, its regions, the use of its leaves, or the importance of its columns."""
    check_picture(out, force=force)
    require("matplotlib", extra="plot", verb="dtsemnet plot").use("Agg")
    from dtsemnet.cli.models import load

    loaded = load(model)
    table = None if data is None else loaded.read(data, target=target, guess=True)
    write_picture(PICTURES[picture](Request(loaded, table, row, along)), out, dpi=dpi)
    say(f"Picture written to {out} ({size_of(out)}).")


class Request(NamedTuple):
    """What a picture shows."""

    loaded: Any
    table: Any
    """Rows, or None."""
    row: int | None
    along: tuple[str, str] | None

    def rows(self) -> tuple[Any, Any]:
        """Columns and target; each None if there is none."""
        return (None, None) if self.table is None else (self.table.X, self.table.y)

    def needed_rows(self, picture: str) -> tuple[Any, Any]:
        """Columns and target for a picture that cannot be drawn without them."""
        if self.table is None:
            raise ValueError(f"the picture '{picture}' needs rows: add --data FILE.")
        return self.rows()


def _tree(request: Request) -> Any:
    from dtsemnet.plot import plot_tree

    X, y = request.rows()
    x = None
    if request.row is not None:
        X, y = request.needed_rows("path of a row")
        if request.row >= len(X):
            raise ValueError(f"--row {request.row} does not exist: the table has rows 0 to {len(X) - 1}.")
        x = X.iloc[[request.row]]
    return plot_tree(request.loaded.model, X, y, x=x).figure


def _regions(request: Request) -> Any:
    from dtsemnet.plot import plot_regions

    X, y = request.needed_rows("regions")
    return plot_regions(request.loaded.model, X, y, features=request.along or _important(request.loaded)).figure


def _leaves(request: Request) -> Any:
    from dtsemnet.plot import plot_leaves

    return plot_leaves(request.loaded.model, *request.needed_rows("leaves")).figure


def _importance(request: Request) -> Any:
    from dtsemnet.plot import plot_importance

    estimator = request.loaded.estimator()
    if estimator is not None:
        return plot_importance(estimator).figure
    X, _ = request.needed_rows("importance")  # the file of a bare tree does not state it; rows do
    return plot_importance(request.loaded.model, X).figure


def _important(loaded: Any) -> list[str]:
    """Name the two most important columns of numbers; the first two if the file does not state importances."""
    columns, estimator = loaded.model.encoder.columns, loaded.estimator()
    share = [0.0] * len(columns) if estimator is None else estimator.feature_importances_.tolist()
    numeric = [j for j, column in enumerate(columns) if column.categories is None]
    if len(numeric) < 2:
        raise ValueError("the picture 'regions' needs two columns of numbers; this model has fewer.")
    return [columns[j].name for j in sorted(numeric, key=lambda j: -share[j])[:2]]


PICTURES: dict[Picture, Callable[[Request], Any]] = {
    Picture.TREE: _tree,
    Picture.REGIONS: _regions,
    Picture.LEAVES: _leaves,
    Picture.IMPORTANCE: _importance,
}
"""What draws each picture."""
