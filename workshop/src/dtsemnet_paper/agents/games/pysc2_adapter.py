"""FindAndDefeatZerglings, the StarCraft II mini-game itself, as a gymnasium environment over pysc2.

Three marines look for zerglings in the fog; +1 for a zergling defeated, -1 for a marine lost, 180 seconds of game.
Observations and actions are laid out as in :mod:`~dtsemnet_paper.agents.games.marines`, with the sizes that the paper
gives (32 and 30), so that an agent for the one can be trained on the other. The paper does not say what
its numbers were.

pysc2 gives a table with one row per unit; plain functions lead from that table to the features, and from an action to
the call of a function. The differences from Marines and critters:

- Positions are whole numbers, relative to the start of the marines, in units of half the map's longer side.
- *go* walks to the border of the map in that direction; *attack* chases the zergling that is nearest now, after which
  the marine shoots, as idle marines do, whatever comes in range; an order to a dead marine does nothing.
- Half a second of game time (8 game loops) passes between steps, which makes about 360 steps per episode.
- StarCraft II reads its seed when it starts, so ``reset(seed=...)`` restarts it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet_paper.agents.games.marines import ACTION_NAMES, FEATURE_NAMES, N_MARINES, ORDERS
from dtsemnet_paper.agents.games.marines_rules import ATTACK, HEADING, describe, look, middle

__all__ = [
    "Command",
    "FindAndDefeatZerglings",
    "Game",
    "Units",
    "command",
    "marine_tags",
    "observe",
    "outcome",
    "read_units",
]


MARINE, ZERGLING = 48, 105
"""Numbers of the unit types."""
SELF, ENEMY, VISIBLE = 1, 4, 1
"""Values of a unit's alliance and display type."""
UNIT_TYPE, ALLIANCE, HEALTH, DISPLAY_TYPE, X, Y, WEAPON_COOLDOWN, TAG = 0, 1, 2, 10, 12, 13, 25, 29
"""Columns of the table of units (``pysc2.lib.features.FeatureUnit``, pysc2 3 and 4)."""
MARINE_HEALTH, ZERGLING_HEALTH, COOLDOWN = 45.0, 35.0, 14.0
"""Largest health, and loops of the game between two shots of a marine."""
STEP_LOOPS = 8
"""Loops of the game between two steps, pysc2's own choice for its mini-games."""


class Command(NamedTuple):
    """A call of one of pysc2's raw functions, by name."""

    function: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Units:
    """The marines and the visible zerglings of the table; positions have y to the north."""

    marine: Floats
    health: Floats
    cooldown: Floats
    zergling: Floats
    zergling_health: Floats
    zergling_tag: Ints

    @property
    def alive(self) -> Bools:
        """Which marines are alive."""
        return self.health > 0


def marine_tags(table: ArrayLike) -> tuple[int, ...]:
    """List the tags of the own marines, in ascending order: marine 0 keeps its number when others die."""
    units = _rows(table)
    mine = (units[:, ALLIANCE] == SELF) & (units[:, UNIT_TYPE] == MARINE)
    return tuple(sorted(int(tag) for tag in units[mine, TAG]))[:N_MARINES]


def read_units(table: ArrayLike, tags: Sequence[int]) -> Units:
    """Read the table of raw units.

    Parameters
    ----------
    table : array_like of shape (n_units, n_columns)
        ``raw_units`` of an observation, in any order.
    tags : sequence of int
        Tags of the marines; one that the table does not hold is dead.

    Examples
    --------
    >>> marine = np.zeros(46, dtype=np.int64)
    >>> marine[[UNIT_TYPE, ALLIANCE, HEALTH, X, Y, TAG]] = MARINE, SELF, 45, 30, 20, 7
    >>> units = read_units([marine], [7])
    >>> units.marine[0].tolist(), units.alive.tolist()
    ([30.0, -20.0], [True, False, False])
    """
    units = _rows(table)
    marine, health, cooldown = np.zeros((N_MARINES, 2)), np.zeros(N_MARINES), np.zeros(N_MARINES)
    for place, tag in enumerate(tags[:N_MARINES]):
        for row in units[(units[:, TAG] == tag) & (units[:, ALLIANCE] == SELF)]:
            marine[place], health[place], cooldown[place] = (row[X], -row[Y]), row[HEALTH], row[WEAPON_COOLDOWN]
    foes = (units[:, ALLIANCE] == ENEMY) & (units[:, UNIT_TYPE] == ZERGLING) & (units[:, DISPLAY_TYPE] == VISIBLE)
    foe = units[foes & (units[:, HEALTH] > 0)]
    places = foe[:, [X, Y]] * np.array([1.0, -1.0])
    return Units(marine, health, cooldown, places, foe[:, HEALTH].astype(np.float64), foe[:, TAG].astype(np.int64))


def observe(units: Units, seen: Floats, start: Floats, size: tuple[int, int]) -> NDArray[np.float32]:
    """Lay out the 32 features.

    Parameters
    ----------
    units : Units
    seen : ndarray of shape (8,)
        How lately each sector was seen.
    start : ndarray of shape (2,)
        Middle of the marines when the game began, which is the middle of the map.
    size : (int, int)
        Sides of the map.
    """
    own = np.column_stack(
        [(units.marine - start) / (max(size) / 2), units.health / MARINE_HEALTH, units.cooldown / COOLDOWN]
    )
    gap = units.zergling - middle(units.marine[units.alive], 0.0)
    return describe(own, units.alive, gap, units.zergling_health / ZERGLING_HEALTH, seen)


def command(action: int, units: Units, tags: Sequence[int], size: tuple[int, int]) -> Command:
    """Translate an action into the call of a function.

    Examples
    --------
    >>> nobody = read_units(np.empty((0, 46)), [])
    >>> command(0, nobody, [], (64, 64)).function
    'no_op'
    """
    marine, order = divmod(int(action), len(ORDERS))
    if not units.alive[marine]:
        return Command("no_op")
    mine = ("now", [int(tags[marine])])
    if order < ATTACK:
        return Command("Move_pt", (*mine, _border(units.marine[marine], HEADING[order], size)))
    if order > ATTACK:
        return Command("HoldPosition_quick", mine)
    if not len(units.zergling):
        return Command("no_op")
    nearest = np.hypot(*(units.zergling - units.marine[marine]).T).argmin()
    return Command("Attack_unit", (*mine, int(units.zergling_tag[nearest])))


def outcome(reward: float, last: bool, units: Units) -> tuple[float, bool, bool]:
    """Return the reward, whether the game is lost, and whether the time is over.

    pysc2's reward is the change of the map's score: zerglings defeated minus marines lost.
    """
    lost = bool(last and not units.alive.any())
    return float(reward), lost, bool(last and not lost)


class FindAndDefeatZerglings(gym.Env[NDArray[np.float32], np.int64]):
    """The mini-game, ``dtsemnet/FindAndDefeatZerglings-v0``; needs StarCraft II with its mini-games, and pysc2.

    Parameters
    ----------
    launch : callable, optional
        Starts a game from a seed or None; :class:`Game` if not given.

    Notes
    -----
    Features and actions have the names ``FEATURE_NAMES`` and ``ACTION_NAMES`` of
    :mod:`~dtsemnet_paper.agents.games.marines`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - gymnasium reads it from the class

    def __init__(self, launch: Callable[[int | None], Any] | None = None) -> None:
        if launch is None:
            _pysc2()  # raises here, not at the first reset, if something is missing
        self.launch = Game if launch is None else launch
        self.observation_space = spaces.Box(-1.0, 1.0, (len(FEATURE_NAMES),), np.float32)
        self.action_space = spaces.Discrete(len(ACTION_NAMES))
        self.game: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode; with a seed, restart StarCraft II."""
        super().reset(seed=seed)
        if self.game is None or seed is not None:
            self.close()
            self.game = self.launch(seed)
        moment = self.game.reset()
        self.tags = marine_tags(moment.observation["raw_units"])
        self.units = read_units(moment.observation["raw_units"], self.tags)
        self.start = middle(self.units.marine[self.units.alive], 0.0)
        self.seen = look(np.zeros(8), self.units.marine[self.units.alive])
        return observe(self.units, self.seen, self.start, self.game.size), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Command one marine and let half a second of the game pass."""
        moment = self.game.step(command(int(action), self.units, self.tags, self.game.size))
        self.units = read_units(moment.observation["raw_units"], self.tags)
        self.seen = look(self.seen, self.units.marine[self.units.alive])
        reward, lost, over = outcome(moment.reward, moment.last(), self.units)
        return observe(self.units, self.seen, self.start, self.game.size), reward, lost, over, self._info()

    def close(self) -> None:
        """End the process of the game."""
        if self.game is not None:
            self.game.close()
            self.game = None

    def _info(self) -> dict[str, Any]:
        return {"marines": int(self.units.alive.sum()), "zerglings in sight": len(self.units.zergling)}


class Game:
    """StarCraft II, running the mini-game for one player."""

    def __init__(self, seed: int | None) -> None:
        sc2_env, actions, features = _pysc2()
        seen = features.AgentInterfaceFormat(action_space=actions.ActionSpace.RAW, use_raw_units=True)
        self.functions = actions.RAW_FUNCTIONS
        try:
            self.env = sc2_env.SC2Env(
                map_name="FindAndDefeatZerglings",
                players=[sc2_env.Agent(sc2_env.Race.terran)],
                agent_interface_format=seen,
                step_mul=STEP_LOOPS,
                random_seed=seed,
            )
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"StarCraft II was not found ({error.filename}): install it, or set SC2PATH to its folder."
            ) from error
        width, height = self.env.action_spec()[0].types.world.sizes
        self.size = (int(width), int(height))

    def reset(self) -> Any:
        """Begin an episode."""
        return self.env.reset()[0]

    def step(self, order: Command) -> Any:
        """Call a function."""
        return self.env.step([getattr(self.functions, order.function)(*order.arguments)])[0]

    def close(self) -> None:
        """End the process."""
        self.env.close()


def _pysc2() -> tuple[Any, Any, Any]:
    """Import the modules of pysc2, and parse its flags, which other programs than its own must do."""
    try:
        flags = import_module("absl.flags").FLAGS
        with _shuffle_of_old():
            env, actions, features = (
                import_module(f"pysc2.{name}") for name in ("env.sc2_env", "lib.actions", "lib.features")
            )
    except ModuleNotFoundError as error:
        raise ImportError(
            "FindAndDefeatZerglings needs StarCraft II with the mini-games of pysc2, and pysc2 itself "
            f"({error.name} was not found): install StarCraft II, unpack mini_games.zip of pysc2 into its folder Maps, "
            'and run: pip install "pysc2>=3" "protobuf<3.21". '
            "Without it, dtsemnet/MarinesAndCritters-v0 is a game of the same sizes."
        ) from error
    if features.FeatureUnit.tag != TAG:
        raise ImportError('FindAndDefeatZerglings reads the unit tables of pysc2 3 and later: pip install "pysc2>=3".')
    if not flags.is_parsed():
        flags(["dtsemnet"])
    return env, actions, features


@contextmanager
def _shuffle_of_old() -> Iterator[None]:
    """Let ``random.shuffle`` accept a second argument, as before Python 3.11: pysc2 4.0 passes one for its colours."""
    shuffle = random.shuffle
    random.shuffle = lambda x, _=None: random.Random(0).shuffle(x)  # type: ignore[misc]
    try:
        yield
    finally:
        random.shuffle = shuffle


def _rows(table: ArrayLike) -> Ints:
    rows = np.asarray(table, dtype=np.int64)
    return rows.reshape(-1, rows.shape[-1]) if rows.size else np.empty((0, TAG + 1), np.int64)


def _border(place: Floats, heading: Floats, size: tuple[int, int]) -> tuple[int, int]:
    """Find the point at which a walking marine would leave the map, in pysc2's coordinates: y to the south."""
    direction = heading * np.array([1.0, -1.0])
    here, last = place * np.array([1.0, -1.0]), np.array(size) - 1.0
    room = np.where(direction > 0, last - here, here)
    moves = np.abs(direction) > 1e-9
    far = float((room[moves] / np.abs(direction[moves])).min())
    x, y = np.clip(np.rint(here + far * direction), 0, last)
    return int(x), int(y)
