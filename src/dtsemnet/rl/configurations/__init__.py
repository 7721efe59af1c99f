"""Configurations: one TOML file an environment says how each agent is trained there, and what was published.

================= ====================================================================
``environment``   its name for ``gymnasium.make``; ``title`` its name in tables
``seeds``         what a full table has
``features``      names of the observation's entries, ``actions`` those of discrete ones
``[all]``         settings of every agent, ``[agents.NAME]`` those of one, which win
``[published]``   by agent: ``mean`` and ``sem``, the standard error of the mean
================= ====================================================================

Settings are flat: ``steps``, ``judge_every``, ``depth``, what :mod:`dtsemnet.rl.agents` builds an agent with, and any
option of its algorithm. A file of your own, named by its path, serves as well as those in this folder.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Configuration", "Environment", "environment_names", "parse_setting", "read_environment"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Configuration:
    """How one agent is trained in one environment."""

    environment: Environment
    agent: str
    settings: Mapping[str, Any]

    @property
    def steps(self) -> int:
        """Steps to train for."""
        return int(self.settings["steps"])

    def changed(self, settings: Mapping[str, Any]) -> Configuration:
        """The same with other settings."""
        return Configuration(self.environment, self.agent, {**self.settings, **settings})


@dataclass(frozen=True)
class Environment:
    """What a TOML file says; its fields are those of the file."""

    name: str
    environment: str
    agents: Mapping[str, Mapping[str, Any]]
    title: str = ""
    source: str = ""
    seeds: Sequence[int] = (1, 2, 3, 4, 5)
    features: Sequence[str] | None = None
    actions: Sequence[str] | None = None
    all: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def configuration(self, agent: str, settings: Mapping[str, Any] | None = None) -> Configuration:
        """Settings of an agent, with changes."""
        if agent not in self.agents:
            raise ValueError(f"agent must be one of {', '.join(self.agents)} in {self.name}, got {agent!r}.")
        return Configuration(self, agent, {**self.all, **self.agents[agent], **(settings or {})})


def environment_names() -> list[str]:
    """Names of the environments that have a file here, in the order of the paper."""
    first = ["CartPole-v1", "Acrobot-v1", "LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3"]
    there = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return [name for name in first if name in there] + [name for name in there if name not in first]


def read_environment(name: str) -> Environment:
    """Read what is known of an environment, by its name, with or without version, or from a file.

    Examples
    --------
    >>> lander = read_environment("lunarlander")
    >>> lander.environment, lander.configuration("dtsemnet").settings["depth"]
    ('LunarLander-v3', 5)
    """
    path = Path(name) if name.endswith(".toml") else _find(name)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {name}.")
    with path.open("rb") as stream:
        content = tomllib.load(stream)
    try:
        environment = Environment(path.stem, **content)
    except TypeError as error:
        raise ValueError(f"{path} describes no environment: {error}.") from None
    for agent in environment.agents:
        missing = {"steps", "judge_every", "depth"} - set(environment.configuration(agent).settings)
        if missing:
            raise ValueError(f"{path} does not give {sorted(missing)[0]!r} to the agent {agent!r}.")
    return environment


def parse_setting(text: str) -> tuple[str, Any]:
    """Read ``name=value``; the value as TOML or JSON, else as text.

    Examples
    --------
    >>> parse_setting("learning_rate=0.01"), parse_setting("critic=[32, 32]"), parse_setting("activation=relu")
    (('learning_rate', 0.01), ('critic', [32, 32]), ('activation', 'relu'))
    """
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise ValueError(f"a setting is name=value, got {text!r}.")
    for read in (lambda text: tomllib.loads(f"value = {text}")["value"], json.loads):
        try:
            return name.strip(), read(value.strip())
        except ValueError:
            continue
    return name.strip(), value.strip()


def _find(name: str) -> Path:
    wanted = name.rpartition("/")[2].casefold()
    for known in environment_names():
        if wanted in (known.casefold(), re.sub(r"-v\d+$", "", known).casefold()):
            return FOLDER / f"{known}.toml"
    raise ValueError(
        f"ENV must be one of {', '.join(environment_names())} or a TOML file such as theirs, got {name!r}."
    )
