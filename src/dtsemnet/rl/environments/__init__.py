"""Environments: one TOML file per environment says how each agent is trained there.

================= ====================================================================
``environment``   its name for ``gymnasium.make``; ``title`` is its name in tables
``features``      names of the entries of an observation
``actions``       names of the discrete actions, or of the numbers of a continuous action
``[all]``         settings of every agent
``[agents.NAME]`` settings of one agent; they override those of ``[all]``
``[published]``   published results by agent: ``mean`` and ``sem``, the standard error of the mean
``seeds``         seeds of a full table; ``source`` and ``notes`` are printed below it
================= ====================================================================

Settings are flat: the fields of :class:`dtsemnet.rl.recipes.Settings` and the options of the algorithm. A file of your
own, given by its path, works like those in this folder. An environment without a file gets its settings from its spaces
(:mod:`dtsemnet.rl.environments.from_spaces`).

Another installed package can add environments and agents (:class:`Extension`). If it has a file of the same name as
one in this folder, the tables of both files are merged.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dtsemnet.names import printable, shown
from dtsemnet.rl.environments.from_spaces import register_class, settings_from_spaces

if TYPE_CHECKING:
    from dtsemnet.rl.recipes import ActionKind, Recipe
    from dtsemnet.rl.runs import ResultsStore

__all__ = ["Configuration", "Environment", "Extension", "environment_names", "extensions", "parse_setting",
           "read_environment"]  # fmt: skip

FOLDER = Path(__file__).parent

MOST_BYTES = 1_000_000
"""A longer file is no file of settings."""

FORMS: tuple[tuple[str, frozenset[str], Callable[[Any], bool]], ...] = (
    ("a text", frozenset({"environment", "title", "source"}), lambda value: isinstance(value, str)),
    ("a list of texts", frozenset({"features", "actions", "notes"}), lambda value: _is_list_of(str, value)),
    ("a list of whole numbers", frozenset({"seeds"}), lambda value: _is_list_of(int, value)),
    ("a table", frozenset({"all"}), lambda value: isinstance(value, dict)),
    ("a table of tables", frozenset({"agents", "published"}),
     lambda value: isinstance(value, dict) and all(isinstance(part, dict) for part in value.values())),
)  # fmt: skip
"""What the entries of a file must be, and their names."""


@dataclass(frozen=True)
class Configuration:
    """How one agent is trained in one environment."""

    environment: Environment
    agent: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Environment:
    """The content of a TOML file; the fields are those of the file."""

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
        """Combine the settings of an agent with changes to them."""
        if agent not in self.agents:
            raise ValueError(f"agent must be one of {', '.join(self.agents)} in {self.name}, got {agent!r}.")
        return Configuration(self, agent, {**self.all, **self.agents[agent], **(settings or {})})


@dataclass(frozen=True)
class Extension:
    """What another package adds, found by an entry point of the group ``dtsemnet.agents``."""

    environments: Path
    """Folder of TOML files."""
    recipes: Mapping[ActionKind, Mapping[str, Recipe]]
    """Further agents, by the kind of actions and by name."""
    open_results: Callable[[Path | None, Path], ResultsStore]
    """Opens a store of results, given the folder that the user named, if any, and the folder of the runs."""


@functools.cache
def extensions() -> tuple[Extension, ...]:
    """Load the extensions that are installed."""
    return tuple(entry.load() for entry in entry_points(group="dtsemnet.agents"))


def environment_names() -> list[str]:
    """List the environments that have a file, those of the paper first and in its order."""
    first = ["CartPole-v1", "Acrobot-v1", "LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3"]
    names = sorted({path.stem for folder in _folders() for path in folder.glob("*.toml")})
    return [name for name in first if name in names] + [name for name in names if name not in first]


def read_environment(name: str) -> Environment:
    """Read the settings of an environment, by its name, with or without version, or from a file.

    Any other name is one that gymnasium knows, or ``module:Class``; its settings are found from its spaces.

    Examples
    --------
    >>> lander = read_environment("lunarlander")
    >>> lander.environment, lander.configuration("dtsemnet").settings["depth"]
    ('LunarLander-v3', 5)
    >>> read_environment("Pendulum-v1").configuration("dtsemnet").settings["depth"]
    3
    """
    paths = [Path(name)] if name.endswith(".toml") else _find(name)
    if not paths:
        return Environment(name.rpartition(":")[2].replace("/", "-"), **settings_from_spaces(name))
    content: dict[str, Any] = {}
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {name}.")
        for key, value in _read_file(path).items():
            content[key] = {**content.get(key, {}), **value} if isinstance(value, dict) else value
    try:
        environment = Environment(paths[0].stem, **content)
    except TypeError as error:
        raise ValueError(f"{paths[0]} describes no environment: {printable(error)}.") from None
    for agent in environment.agents:
        missing = {"steps", "judge_every", "depth"} - set(environment.configuration(agent).settings)
        if missing:
            raise ValueError(f"{paths[0]} does not give {sorted(missing)[0]!r} to the agent {agent!r}.")
    register_class(environment.environment)
    return environment


def parse_setting(text: str) -> tuple[str, Any]:
    """Read ``name=value``; the value is read as TOML or JSON, and otherwise as text.

    Examples
    --------
    >>> parse_setting("learning_rate=0.01"), parse_setting("critic=[32, 32]"), parse_setting("activation=relu")
    (('learning_rate', 0.01), ('critic', [32, 32]), ('activation', 'relu'))
    """
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise ValueError(f"a setting must have the form name=value, got {text!r}.")
    for read in (lambda text: tomllib.loads(f"value = {text}")["value"], json.loads):
        try:
            return name.strip(), read(value.strip())
        except (ValueError, RecursionError):
            continue
    return name.strip(), value.strip()


def _read_file(path: Path) -> dict[str, Any]:
    """Read a TOML file, and check that its entries have the form of those of an environment."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} has more than {MOST_BYTES:,} bytes, so it is no file of settings.")
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except RecursionError:
        raise ValueError(f"{path} nests lists or tables too deeply.") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise ValueError(f"{path} cannot be read: {printable(error)}.") from None
    for name, value in content.items():
        for words, names, is_right in FORMS:
            if name in names and not is_right(value):
                raise ValueError(f"{path} describes no environment: {name} must be {words}, got {shown(value)}.")
    return content


def _folders() -> list[Path]:
    return [FOLDER, *(extension.environments for extension in extensions())]


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list) and all(type(part) is kind for part in value)


def _find(name: str) -> list[Path]:
    """Find the files of an environment; none if it has none."""
    wanted = name.rpartition("/")[2].casefold()
    for known in environment_names():
        if wanted in (known.casefold(), re.sub(r"-v\d+$", "", known).casefold()):
            paths = [folder / f"{known}.toml" for folder in _folders()]
            return [path for path in paths if path.is_file()]
    return []
