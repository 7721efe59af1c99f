"""``dtsemnet show``: the tree as text, in the units of the data, or as scorecards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dtsemnet.cli.output import ModelArgument, check_output, print_json, put, say
from dtsemnet.cli.table_options import TableOptions, reads_tables

if TYPE_CHECKING:
    from dtsemnet.tree import Model, Tree

__all__ = ["EXAMPLES", "run", "tree_figures"]

EXAMPLES = """
dtsemnet show model.json
dtsemnet show model.json --data data.csv
dtsemnet show model.json --data data.csv --fold 0.05 --max-terms 3
dtsemnet show model.json --digits 2 --out tree.txt
dtsemnet show model.json --scorecard --out card.html
"""


@reads_tables
def run(
    model: ModelArgument,
    data: Annotated[
        Path | None, typer.Option(help="Table whose rows are counted in each leaf.", metavar="FILE")
    ] = None,
    digits: Annotated[int | None, typer.Option(help="Significant digits.", min=1, max=17, metavar="N")] = None,
    fold: Annotated[
        float | None,
        typer.Option(
            help="Leave out terms that move a sum by less than this share of its spread; needs --data. "
            "By default, with --data, those that hardly move it at all.",
            min=0,
            max=0.99,
            metavar="X",
        ),
    ] = None,
    max_terms: Annotated[
        int | None, typer.Option(help="Terms of a sum that are shown, the largest first.", min=1, metavar="N")
    ] = None,
    leaf_numbers: Annotated[
        bool, typer.Option("--leaf-numbers/--no-leaf-numbers", help="Number the leaves, as the other verbs do.")
    ] = True,
    scorecard: Annotated[
        bool, typer.Option("--scorecard", help="Show the points of a tree of whole weights; its depth is at most 2.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write instead of printing; scorecards are a page if it ends in .html.", metavar="FILE"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print splits and leaves as JSON.")] = False,
    *,
    reading: TableOptions,
) -> None:
    """Print a tree as rules that a person can follow.

    A row goes to [bold]yes[/] if the inequality holds.
    """
    from dtsemnet.cli.models import load
    from dtsemnet.export import to_scorecard, to_text

    check_output(out, force=force)
    loaded = load(model)
    X = None if data is None else loaded.read(data, reading).X
    if scorecard:
        cards = to_scorecard(loaded.model, X)
        is_page = out is not None and out.suffix.lower() in (".html", ".htm")
        _put(str(cards), cards.to_html(loaded.target or "Scorecard") if is_page else str(cards), out,
             cards.to_dict() | {"target": loaded.target} if as_json else None)  # fmt: skip
        return
    text = to_text(
        loaded.model, X, digits=digits, fold=fold, max_terms=max_terms, leaf_numbers=leaf_numbers,
        output_names=loaded.output_names,
    )  # fmt: skip
    _put(text, text, out, {"target": loaded.target, **tree_figures(loaded.model, X), "text": text} if as_json else None)


def _put(text: str, content: str, out: Path | None, figures: dict[str, Any] | None) -> None:
    """Print a text, or write the content of a file; figures take the place of the text on the screen."""
    from dtsemnet.files import write_atomically

    if out is not None:
        write_atomically(out, content.rstrip("\n") + "\n")
    if figures is not None:
        print_json(figures | ({"out": out} if out else {}))
    elif out is None:
        put(text)
    else:
        say(f"Text written to {out}.")


def tree_figures(model: Model | Tree, X: Any = None) -> dict[str, Any]:
    """A tree as plain values: its splits in raw columns, and its leaves, with their rows if there are any."""
    from dtsemnet.tree import LeafSurvey, ReadableView

    view = ReadableView.of(model)
    tree, labels = view.tree, view.labels
    count = None if X is None else LeafSurvey.of(model, X).count

    def terms(weight: Any) -> dict[str, float]:
        return {labels[k]: float(weight[k]) for k in weight.nonzero()[0]}

    splits = [
        {"split": i, "terms": terms(tree.weight[i]), "constant": tree.bias[i]}
        | {side: int(child) if child >= 0 else f"leaf {~child}" for side, child in zip(("no", "yes"), children)}
        for i, children in enumerate(tree.topology.children.tolist())
    ]
    leaves: list[dict[str, Any]] = []
    for leaf, value in enumerate(tree.value.tolist()):
        answer: dict[str, Any] = {"value": value}
        if tree.class_names is not None:
            answer = {"answer": tree.class_names[tree.leaf_class[leaf]], "shares": value}
        elif tree.coef is not None:
            answer["terms"] = [terms(coef) for coef in tree.coef[leaf]]
        leaves.append({"leaf": leaf} | answer | ({} if count is None else {"rows": int(count[leaf])}))
    return {"splits": splits, "leaves": leaves}
