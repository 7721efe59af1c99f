"""``dtsemnet rl explain``: when each leaf of a policy acts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import interruptible, print_json, require
from dtsemnet.cli.rl import load

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl explain runs/rl/CartPole-v1/dtsemnet/1
dtsemnet rl explain small.json --env LunarLander-v3 --episodes 50 --json
"""


def run(
    policy: Annotated[Path, typer.Argument(help="Folder of a run, or model file.", metavar="POLICY")],
    env: Annotated[
        str | None, typer.Option(help="Environment; by default that of the training.", metavar="ENV")
    ] = None,
    episodes: Annotated[int, typer.Option(help="Episodes to play.", min=1, metavar="N")] = 20,
    last: Annotated[bool, typer.Option("--last", help="The last policy of the run, not the best.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Play episodes, and tell for each leaf how often and when it acts, what it does, and on which observations."""
    require("stable_baselines3", extra="rl", verb="dtsemnet rl explain")
    from dtsemnet.rl.explaining import EXPLAINING_SEEDS, explain_policy

    saved, name = load(policy, env, last=last)
    seeds = range(EXPLAINING_SEEDS.start, EXPLAINING_SEEDS.start + episodes)
    with interruptible():
        explained = explain_policy(saved.named(), name, seeds)
    if as_json:
        print_json(explained.to_dict())
    else:
        print(explained)
