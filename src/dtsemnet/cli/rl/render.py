"""``dtsemnet rl render``: one episode as a film, with the active path of the tree beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import check_output, print_json, require, say, size_of
from dtsemnet.cli.rl import load

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl render runs/rl/CartPole-v1/dtsemnet/1 --out cartpole.gif
dtsemnet rl render paper/results/rl/LunarLander-v3-dtsemnet-1.json --seed 501 --out lander.mp4
"""


def run(
    policy: Annotated[Path, typer.Argument(help="Folder of a run, or model file.", metavar="POLICY")],
    out: Annotated[Path, typer.Option(help="Film to write: .gif or .mp4.", metavar="FILE")],
    env: Annotated[
        str | None, typer.Option(help="Environment; by default that of the training.", metavar="ENV")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the episode.", metavar="N")] = 500,
    steps: Annotated[int | None, typer.Option(help="Stop after so many steps.", min=1, metavar="N")] = None,
    fps: Annotated[int, typer.Option(help="Frames per second.", min=1, max=100, metavar="N")] = 30,
    last: Annotated[bool, typer.Option("--last", help="The last policy of the run, not the best.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the film.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Play one episode and write it as a film: the environment, and beside it the tree with its active path."""
    check_output(out, force=force)
    require("stable_baselines3", extra="rl", verb="dtsemnet rl render")
    from dtsemnet.rl.film import render

    saved, name = load(policy, env, last=last)
    names = saved.output_names()
    path = render(saved.playable(), name, out, seed=seed, max_steps=steps, fps=fps, output_names=names)
    if as_json:
        print_json({"out": path, "bytes": path.stat().st_size, "environment": name, "seed": seed})
    else:
        say(f"Film written to {path} ({size_of(path)}).")
