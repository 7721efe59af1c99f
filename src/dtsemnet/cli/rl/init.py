"""``dtsemnet rl init``: write the settings of an environment to a file, to be edited."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dtsemnet.cli.output import check_output, print_json, require, say
from dtsemnet.cli.rl import look_here

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet rl init Pendulum-v1
dtsemnet rl init my_module:MyEnvironment --out mine.toml
"""


def run(
    env: Annotated[
        str, typer.Argument(help="Environment that gymnasium knows, or a class as module:Class.", metavar="ENV")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The file; by default the name of the environment.", metavar="FILE")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON, too.")] = False,
) -> None:
    """Write the settings that `rl train ENV` would use, so that you can change them and train by the file."""
    require("stable_baselines3", extra="rl", verb="dtsemnet rl init")
    from dtsemnet.files import write_atomically
    from dtsemnet.rl.environments import read_environment
    from dtsemnet.rl.environments.from_spaces import to_toml

    look_here()
    environment = read_environment(env)
    path = out or Path(f"{environment.name}.toml")
    check_output(path, force=force)
    names = {"features": environment.features, "actions": environment.actions}
    content = {
        "environment": environment.environment,
        **{key: list(values) for key, values in names.items() if values is not None},
        "all": environment.all,
        "agents": environment.agents,
    }
    write_atomically(path, to_toml(content))
    if as_json:
        print_json({"out": path, **content})
        return
    say(f"Settings written to {path}; edit them, then: dtsemnet rl train {path}")
