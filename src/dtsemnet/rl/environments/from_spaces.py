"""Settings for an environment that has no file: they follow from what it observes and how it acts.

Discrete actions are learnt by PPO, a ``Box`` of actions by ``TopKSAC``; observations without bounds are normalised. The
numbers are those that serve most environments with a file, so that a first tree needs no settings. They are a start:
``dtsemnet rl init`` writes them down to be edited.

An environment may be anything that gymnasium knows, or a class, as ``module:Class``. A class that nobody registered has
no limit on its episodes, and a good policy might never end one: :func:`register_class` gives it one.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from dtsemnet.names import printable, quoted, shown
from dtsemnet.rl.spaces import check_observations

__all__ = ["EPISODE_STEPS", "register_class", "settings_from_spaces", "to_toml"]

EPISODE_STEPS = 1_000
"""Steps after which an episode ends in a class that nobody registered with another limit."""

IMITATION = {"rounds": 20, "round_steps": 2_000, "round_episodes": 30}
DISCRETE = {
    "all": {
        "steps": 300_000, "judge_every": 15_000, "judge_episodes": 60, "depth": 4, "n_envs": 8, "n_steps": 256,
        "batch_size": 64, "n_epochs": 10, "gamma": 0.99, "gae_lambda": 0.92, "ent_coef": 0.01, "critic": [64, 64],
        "decay": True,
    },
    "agents": {
        "dtsemnet": {"learning_rate": 0.02, "pooling": 1.0, "pooling_end": 0.05, "pooling_fraction": 0.8},
        "mlp": {"learning_rate": 0.003, "actor": [64, 64]},
        "viper": IMITATION,
        "dtsemnet-viper": IMITATION,
    },
}  # fmt: skip
CONTINUOUS = {
    "all": {
        "steps": 300_000, "judge_every": 15_000, "judge_episodes": 60, "depth": 3, "n_envs": 8, "critic": [256, 256],
        "activation": "relu", "learning_rate": 0.001, "decay": True, "batch_size": 256, "buffer_size": 300_000,
        "learning_starts": 10_000, "gamma": 0.99, "tau": 0.005, "train_freq": 8, "gradient_steps": 32,
    },
    "agents": {
        "dtsemnet": {"top_k": 4, "temperature": 0.05, "leaf_learning_rate": 0.0005},
        "dtsemnet-ste": {},
        "mlp": {"actor": [256, 256]},
        "viper": IMITATION,
        "dtsemnet-viper": IMITATION,
    },
}  # fmt: skip


def register_class(name: str) -> bool:
    """Register ``module:Class`` under the name of the class, unless the module has registered it.

    Parameters
    ----------
    name : str
        Name of an environment. One without a colon is left alone.

    Returns
    -------
    bool
        True if the class is now known under its name and had no limit on its episodes.

    Examples
    --------
    >>> register_class("CartPole-v1"), register_class("gymnasium.envs.classic_control:PendulumEnv")
    (False, True)
    >>> gym.make("gymnasium.envs.classic_control:PendulumEnv").spec.max_episode_steps
    1000
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        return False
    if not all(part.isidentifier() for part in module.split(".")):
        raise ValueError(f"{printable(name)}: {quoted(module)} is no name of a module; write package.module:Class.")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and misses another one
        raise ValueError(
            f"{printable(name)}: there is no module {quoted(module)} here; call from the folder of its file."
        ) from None
    if attribute in gym.registry:
        return False
    if isinstance(found, type) and issubclass(found, gym.Env):
        gym.register(id=attribute, entry_point=f"{module}:{attribute}", max_episode_steps=EPISODE_STEPS)
        return True
    return False


def settings_from_spaces(name: str) -> dict[str, Any]:
    """Find how agents are trained in an environment; the result has the entries of a file of settings.

    Examples
    --------
    >>> content = settings_from_spaces("Pendulum-v1")
    >>> content["agents"]["dtsemnet"]["top_k"], content["all"]["normalize"]
    (4, False)
    """
    register_class(name)
    try:
        made = gym.make(name)
    except gym.error.DependencyNotInstalled as error:
        extra = "; with this library: pip install 'dtsemnet[mujoco]'." if "mujoco" in str(error).lower() else "."
        raise ImportError(f"{name} needs a package that is not installed: {str(error).rstrip('.')}{extra}") from None
    except gym.error.Error as error:
        raise ValueError(
            "ENV must be an environment that gymnasium knows, such as CartPole-v1, a class as module:Class, or a TOML "
            f"file, got {shown(name)}: {printable(str(error)[:300])}"
        ) from None
    seen, done = made.observation_space, made.action_space
    made.close()
    check_observations(seen, name)
    if not isinstance(done, spaces.Discrete | spaces.Box):
        raise TypeError(
            f"{name} needs actions that are Discrete or a Box, got {done}; wrap the environment so that one number "
            "stands for a combination of actions."
        )
    if isinstance(done, spaces.Discrete) and done.start != 0:
        raise TypeError(f"{name} needs actions that are numbered from 0, got {done}; wrap the environment so.")
    template: dict[str, Any] = DISCRETE if isinstance(done, spaces.Discrete) else CONTINUOUS
    assert isinstance(seen, spaces.Box)
    is_bounded = bool(np.isfinite(seen.low).all() and np.isfinite(seen.high).all())
    return {
        "environment": name,
        "features": [f"x{j}" for j in range(int(np.prod(seen.shape)))],
        "all": {**template["all"], "normalize": not is_bounded},
        "agents": template["agents"],
    }


def to_toml(content: Mapping[str, Any]) -> str:
    """Write settings as a TOML file that people edit: a table for all agents, and one for each.

    Examples
    --------
    >>> print(to_toml({"environment": "A-v0", "all": {"depth": 2}, "agents": {"mlp": {"decay": True}}}), end="")
    environment = "A-v0"
    <BLANKLINE>
    [all]
    depth = 2
    <BLANKLINE>
    [agents.mlp]
    decay = true
    """
    own = {key: value for key, value in content.items() if not isinstance(value, Mapping)}
    tables = {"all": content["all"]} | {f"agents.{agent}": table for agent, table in content["agents"].items()}
    parts = [_lines(own), *(f"[{title}]\n{_lines(table)}" for title, table in tables.items())]
    return "\n".join(parts)


def _lines(values: Mapping[str, Any]) -> str:
    # JSON writes texts, numbers, truth values and lists as TOML does.
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())
