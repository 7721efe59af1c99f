"""Saved policies: loading what a run has kept, a tree from its model file or another agent from its archive.

The folder of a run states its environment and its agent (``configuration.json``), and so does a model file among the
results, in its metadata. For any other file the environment must be given.
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

from dtsemnet.rl.environments import Configuration, Environment, read_environment
from dtsemnet.rl.extraction import named_model
from dtsemnet.rl.recipes import find_recipe, make_training_environments, read_settings
from dtsemnet.tree import Model, load_document

__all__ = ["SavedPolicy", "load_agent", "load_policy"]


@dataclass(frozen=True)
class SavedPolicy:
    """A policy and the environment that it acts in."""

    policy: Model | BaseAlgorithm
    environment: str | None
    """Name for ``gymnasium.make``, if the file states it."""
    about: dict[str, Any]
    """What else the file states: ``agent``, ``seed``, ``configuration``."""

    def named(self) -> Model:
        """Give the tree the names of features and actions, for people to read; its actions are then words."""
        if not isinstance(self.policy, Model):
            raise TypeError(f"the agent {self.about.get('agent')!r} is not a tree, so there is nothing to read.")
        described = _description(self.environment)
        if described is None:
            return self.policy
        return named_model(self.policy, described.features, described.actions if self.policy.is_classifier else None)

    def output_names(self) -> Sequence[str] | None:
        """Give the names of the numbers of a continuous action."""
        described = _description(self.environment)
        if isinstance(self.policy, Model):
            continuous = not self.policy.is_classifier
        else:
            continuous = isinstance(self.policy.action_space, spaces.Box)
        return described.actions if continuous and described is not None else None

    def playable(self) -> Model | BaseAlgorithm:
        """Give the policy with names, as long as its actions can still be told by their order."""
        if not isinstance(self.policy, Model):
            return self.policy
        named, described = self.named(), _description(self.environment)
        if described is None or described.actions is None:
            return named
        # A tree that imitates may know fewer actions than there are, and their order would give the wrong ones.
        complete = len(described.actions) == len(named.class_names or described.actions)
        return named if complete else named_model(self.policy, described.features)


def load_policy(path: str | PathLike[str], *, last: bool = False) -> SavedPolicy:
    """Load the policy of a run.

    Parameters
    ----------
    path : path
        Folder of a run, its ``best.zip`` or another archive in it, or a model file.
    last : bool, default=False
        Load the last policy of a folder instead of the best.

    Examples
    --------
    >>> import tempfile
    >>> from dtsemnet.tree import Topology, Tree
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 1])
    ...     tree.save(f"{folder}/policy.json", about={"environment": "CartPole-v1"})
    ...     load_policy(f"{folder}/policy.json").environment
    'CartPole-v1'
    """
    file = Path(path)
    if file.is_dir():
        candidates = [file / f"{'last' if last else 'best'}.{ending}" for ending in ("json", "zip")]
        file = next((candidate for candidate in candidates if candidate.is_file()), candidates[0])
    if not file.is_file():
        raise FileNotFoundError(f"there is no policy {file}; name the folder of a run, or a model file.")
    note = file.parent / "configuration.json"
    about = json.loads(note.read_text("utf-8")) if note.is_file() else {}
    if file.suffix == ".zip":
        if not about:
            raise FileNotFoundError(f"{file} needs the configuration.json of its run beside it.")
        name, agent, settings = about["environment"], about["agent"], about["configuration"]
        configuration = Configuration(Environment(name, name, {agent: settings}), agent, settings)
        policy: Model | BaseAlgorithm = load_agent(file.parent, configuration, file.stem)
    else:
        document = load_document(file)
        policy, about = Model.of(document.content), about | document.about
    return SavedPolicy(policy, about.get("environment"), about)


def load_agent(folder: Path, configuration: Configuration, name: str = "best") -> BaseAlgorithm:
    """Load an agent that a run has kept, with environments of its own."""
    recipe, settings = find_recipe(configuration), read_settings(configuration)
    worlds = make_training_environments(configuration)
    if isinstance(worlds, VecNormalize):
        worlds = VecNormalize.load(str(folder / f"{name}.pkl"), worlds.venv)
        worlds.training = False
    # Made by the recipe, and not unpickled: the archive names classes by modules, which may have moved. The buffer for
    # returns of several steps is chosen anew: if it were given, stable-baselines3 would warn that it may not fit.
    replaced: dict[str, Any] = {"replay_buffer_class": None, "policy_kwargs": recipe.policy_options(settings)}
    if not isinstance(recipe.policy, str):
        replaced["policy_class"] = recipe.policy
    return recipe.algorithm.load(folder / f"{name}.zip", env=worlds, device="cpu", custom_objects=replaced)


def _description(name: str | None) -> Environment | None:
    """Read the file of an environment, if there is one."""
    try:
        return read_environment(name or "")
    except ValueError:
        return None
