"""``dtsemnet rl list``: the environments, their agents, and the runs that are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import columns, require, say
from dtsemnet.cli.rl import RUNS

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl list
dtsemnet rl list --runs runs/trial
"""


def run(
    runs: Annotated[Path, typer.Option(help="Folder of the runs.", metavar="FOLDER")] = RUNS,
    results: Annotated[
        Path | None, typer.Option(help="Folder of the records; by default as for train.", metavar="FOLDER")
    ] = None,
) -> None:
    """List environments and agents, the seeds that are recorded and those that have begun."""
    require("stable_baselines3", extra="rl", verb="dtsemnet rl list")
    from dtsemnet.rl.environments import environment_names, read_environment
    from dtsemnet.rl.runs import Run
    from dtsemnet_paper.agents.report import in_order
    from dtsemnet_paper.agents.results import open_results, read_results

    folder = open_results(results, runs).folder
    recorded = read_results(folder)
    rows = []
    for name in environment_names():
        environment = read_environment(name)
        for agent in in_order(environment):
            configuration = environment.configuration(agent)
            planned = [Run(configuration, seed, runs) for seed in environment.seeds]
            keys = {run.key for run in planned}
            done = [str(record["seed"]) for record in recorded if record["key"] in keys]
            begun = [str(run.seed) for run in planned if run.begun()]
            depth = "" if agent == "mlp" else str(configuration.settings["depth"])
            steps = f"{configuration.settings['steps']:,}"
            first = agent == in_order(environment)[0]
            rows.append([name if first else "", agent, depth, steps, " ".join(done), " ".join(begun)])
    columns(["environment", "agent", "depth", "steps", "seeds recorded", "seeds begun"], rows, words=True)
    say(f"records: {len(recorded)} in {folder}")
