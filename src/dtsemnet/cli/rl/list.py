"""``dtsemnet rl list``: environments, their agents, and what is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import columns, require, say
from dtsemnet.cli.rl.shared import RUNS, results_folder

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
    """List environments and agents, how far each seed is, and what is recorded."""
    require("stable_baselines3", extra="rl", verb="dtsemnet rl list")
    from dtsemnet.rl.configurations import environment_names, read_environment
    from dtsemnet.rl.results import read_results
    from dtsemnet.rl.runs import Run

    folder = results_folder(results, runs)
    recorded = read_results(folder)
    rows = []
    for name in environment_names():
        environment = read_environment(name)
        first = next(iter(environment.agents))
        for agent in environment.agents:
            configuration = environment.configuration(agent)
            asked = [Run(configuration, seed, runs, folder) for seed in environment.seeds]
            keys = {run.key for run in asked}
            done = [str(record["seed"]) for record in recorded if record["key"] in keys]
            begun = [str(run.seed) for run in asked if run.begun()]
            depth = "" if agent == "mlp" else str(configuration.settings["depth"])
            rows.append(
                [
                    name if agent == first else "",
                    agent,
                    depth,
                    f"{configuration.steps:,}",
                    " ".join(done),
                    " ".join(begun),
                ]
            )
    columns(["environment", "agent", "depth", "steps", "seeds recorded", "seeds begun"], rows, words=True)
    say(f"records: {len(recorded)} in {folder}")
