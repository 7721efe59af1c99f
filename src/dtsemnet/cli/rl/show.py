"""``dtsemnet rl show``: a policy as rules, and as a drawing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import check_picture, print_json, put, require, say, size_of, write_picture
from dtsemnet.cli.show import tree_figures

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl show runs/rl/CartPole-v1/dtsemnet/1
dtsemnet rl show runs/rl/CartPole-v1/dtsemnet/1 --digits 2 --plot policy.png
"""


def run(
    policy: Annotated[Path, typer.Argument(help="Folder of a run, or model file.", metavar="POLICY")],
    digits: Annotated[int | None, typer.Option(help="Significant digits.", min=1, max=17, metavar="N")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it too: .png, .svg or .pdf.", metavar="FILE")] = None,
    last: Annotated[bool, typer.Option("--last", help="The last policy of the run, not the best.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the drawing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print splits and leaves as JSON.")] = False,
) -> None:
    """Print a tree policy as rules on what it observes, and what it does; `rl explain` tells which leaves act."""
    check_picture(plot, force=force, what="--plot")
    require("stable_baselines3", extra="rl", verb="dtsemnet rl show")
    from dtsemnet.export import to_text
    from dtsemnet.rl.runs import load_policy

    saved = load_policy(policy, last=last)
    tree = saved.named()
    text = to_text(tree, digits=digits, output_names=saved.output_names(), leaf_numbers=True)
    if as_json:
        print_json(tree_figures(tree) | {"text": text, "plot": plot})
    else:
        put(text)
    if plot is None:
        return
    require("matplotlib", extra="plot", verb="dtsemnet rl show --plot").use("Agg")
    from dtsemnet.plot import plot_tree

    write_picture(plot_tree(tree).figure, plot)
    if not as_json:
        say(f"Drawing written to {plot} ({size_of(plot)}).")
