"""``dtsemnet rl``: train tree policies, test them, read them and film them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtsemnet.rl.runs import ResultsStore, SavedPolicy

__all__ = ["EXAMPLES", "HELP", "RUNS", "VERBS", "load", "look_here", "open_store"]

HELP = """
Train policies that are trees, and read what they have learnt.

Needs stable-baselines3 and gymnasium: pip install 'dtsemnet\\[rl]'. A training that was killed resumes when the same
command is given again.
"""

EXAMPLES = """
dtsemnet rl train CartPole-v1 --depth 4 --seed 1
dtsemnet rl train my_module:MyEnvironment
dtsemnet rl evaluate runs/rl/CartPole-v1/dtsemnet/1
dtsemnet rl show runs/rl/CartPole-v1/dtsemnet/1
dtsemnet rl shrink runs/rl/CartPole-v1/dtsemnet/1 --out small.json
dtsemnet rl render runs/rl/CartPole-v1/dtsemnet/1 --out cartpole.gif
"""

VERBS = {
    verb: f"dtsemnet.cli.rl.{verb}" for verb in ("train", "init", "evaluate", "show", "explain", "shrink", "render")
}
"""Module of each verb of ``rl``, in the order of the help."""

RUNS = Path("runs/rl")
"""Default folder of all runs."""


def look_here() -> None:
    """Let ``module:Class`` name a module in the working folder, as ``python -m`` does."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def open_store(named: Path | None, runs: Path) -> ResultsStore | None:
    """Open the store of results of an installed extension; without one there is none, and none can be named."""
    from dtsemnet.rl.environments import extensions

    for extension in extensions():
        return extension.open_results(named, runs)
    if named is not None:
        raise ValueError(
            f"--record {named} needs the distribution dtsemnet-paper, which collects records; install it, or leave "
            "--record out: the record of a run is in its own folder."
        )
    return None


def load(path: Path, env: str | None = None, *, last: bool = False) -> tuple[SavedPolicy, str]:
    """Load a policy and name its environment: the one given, else that of its training."""
    import gymnasium as gym

    from dtsemnet.rl.environments import environment_names, extensions, read_environment
    from dtsemnet.rl.environments.from_spaces import register_class
    from dtsemnet.rl.runs import load_policy

    look_here()
    extensions()  # they register environments
    saved = load_policy(path, last=last)
    if env is not None and env not in gym.registry:
        env = read_environment(env).environment
    name = env or saved.environment
    if name is None:
        raise ValueError(f"{path} does not state its environment; add --env, such as --env {environment_names()[0]}.")
    register_class(name)
    return replace(saved, environment=name), name
