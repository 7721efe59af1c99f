"""``dtsemnet rl evaluate``: test a policy on episodes of fixed seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import print_json, require, say
from dtsemnet.cli.rl import load

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl evaluate runs/rl/CartPole-v1/dtsemnet/1
dtsemnet rl evaluate paper/results/rl/LunarLander-v3-dtsemnet-1.json --json
dtsemnet rl evaluate policy.json --env CartPole-v1 --episodes 20
"""


def run(
    policy: Annotated[Path, typer.Argument(help="Folder of a run, or model file.", metavar="POLICY")],
    env: Annotated[
        str | None, typer.Option(help="Environment; by default that of the training.", metavar="ENV")
    ] = None,
    episodes: Annotated[int, typer.Option(help="Episodes, of the seeds 500, 501, ...", min=1, metavar="N")] = 100,
    last: Annotated[bool, typer.Option("--last", help="The last policy of the run, not the best.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures and rewards as JSON.")] = False,
) -> None:
    """Play episodes without exploration and sum up their rewards.

    With 100 episodes these are the seeds that a training is tested on; none of them is trained on.
    """
    require("stable_baselines3", extra="rl", verb="dtsemnet rl evaluate")
    from dtsemnet.rl.evaluation import TEST_SEEDS, evaluate, summary

    saved, name = load(policy, env, last=last)
    seeds = range(TEST_SEEDS[0], TEST_SEEDS[0] + episodes)
    figures = summary(evaluate(saved.policy, name, seeds))
    if as_json:
        print_json({"policy": policy, "environment": name, "seeds": [seeds[0], seeds[-1]], **figures})
        return
    rewards = figures["rewards"]
    say(f"{name}, {len(rewards)} episodes, seeds {seeds[0]} to {seeds[-1]}")
    say(f"mean {figures['mean']:.2f}, standard error {figures['sem']:.2f}, standard deviation {figures['std']:.2f}")
    say(f"least {min(rewards):.2f}, most {max(rewards):.2f}")
