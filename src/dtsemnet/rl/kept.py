"""What a run has kept, loaded again: a tree from its model file, another agent from its archive.

A folder of a run knows its environment and its agent (``configuration.json``), and so does a model file among the
results, from its metadata. Any other file needs to be told the environment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet.rl.agents import algorithm_of, build_worlds
from dtsemnet.rl.configurations import Configuration, Environment, read_environment
from dtsemnet.rl.extraction import named_model
from dtsemnet.tree import Model, as_model, load_document

__all__ = ["Kept", "load_agent", "load_kept"]


@dataclass(frozen=True)
class Kept:
    """A policy and where it acts."""

    policy: Model | BaseAlgorithm
    environment: str | None
    """Name for ``gymnasium.make``, if the file tells it."""
    about: dict[str, Any]
    """What else is told: ``agent``, ``seed``, ``configuration``."""

    def named(self) -> Model:
        """The tree with the names of features and actions, for people; its actions are then words."""
        if not isinstance(self.policy, Model):
            raise TypeError(f"the agent {self.about.get('agent')!r} is no tree; there is nothing to read.")
        known = _known(self.environment)
        if known is None:
            return self.policy
        return named_model(self.policy, known.features, known.actions if self.policy.is_classifier else None)

    def output_names(self) -> Sequence[str] | None:
        """Names of the numbers of an action, where actions are continuous."""
        known = _known(self.environment)
        if isinstance(self.policy, Model):
            numbers = not self.policy.is_classifier
        else:
            numbers = isinstance(self.policy.action_space, spaces.Box)
        return known.actions if numbers and known is not None else None

    def playable(self) -> Model | BaseAlgorithm:
        """The policy for an environment that is told the number of an action by its name or its place."""
        if not isinstance(self.policy, Model):
            return self.policy
        named = self.named()
        # A tree that imitates may know fewer actions than there are: their places would tell the wrong ones.
        known = _known(self.environment)
        whole = known is None or known.actions is None or len(known.actions) == len(named.class_names or known.actions)
        return named if whole else named_model(self.policy, known.features if known else None)


def load_kept(path: str | PathLike[str], *, last: bool = False) -> Kept:
    """Load the policy of a run.

    Parameters
    ----------
    path : path
        Folder of a run, its ``best.zip`` or another archive in it, or a model file.
    last : bool, default=False
        Of a folder, the last policy and not the best.

    Examples
    --------
    >>> import tempfile
    >>> from dtsemnet.tree import Topology, Tree
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 1])
    ...     tree.save(f"{folder}/policy.json", about={"environment": "CartPole-v1"})
    ...     load_kept(f"{folder}/policy.json").environment
    'CartPole-v1'
    """
    place = Path(path)
    if place.is_dir():
        there = [place / f"{'last' if last else 'best'}.{ending}" for ending in ("json", "zip")]
        place = next((file for file in there if file.is_file()), there[0])
    if not place.is_file():
        raise FileNotFoundError(f"there is no policy {place}; name the folder of a run, or a model file.")
    note = place.parent / "configuration.json"
    about = json.loads(note.read_text("utf-8")) if note.is_file() else {}
    if place.suffix == ".zip":
        if not about:
            raise FileNotFoundError(f"{place} needs the configuration.json of its run beside it.")
        policy: Model | BaseAlgorithm = load_agent(place.parent, _configuration(about), place.stem)
    else:
        document = load_document(place)
        policy, about = as_model(document.content), about | document.about
    return Kept(policy, about.get("environment"), about)


def load_agent(folder: Path, configuration: Configuration, name: str = "best") -> BaseAlgorithm:
    """Load an agent that a run has kept, with environments of its own."""
    worlds = build_worlds(configuration)
    if isinstance(worlds, VecNormalize):
        worlds = VecNormalize.load(str(folder / f"{name}.pkl"), worlds.venv)
        worlds.training = False
    # A buffer that was chosen for returns of several steps is chosen again: taken for one of the user's, it would make
    # stable-baselines3 warn that it may not know of them.
    chosen = {"replay_buffer_class": None}
    return algorithm_of(configuration).load(folder / f"{name}.zip", env=worlds, device="cpu", custom_objects=chosen)


def _configuration(about: dict[str, Any]) -> Configuration:
    name, agent = about["environment"], about["agent"]
    return Configuration(Environment(name, name, {agent: about["configuration"]}), agent, about["configuration"])


def _known(name: str | None) -> Environment | None:
    """What is known of an environment, if it is one of ours."""
    try:
        return read_environment(name or "")
    except ValueError:
        return None
