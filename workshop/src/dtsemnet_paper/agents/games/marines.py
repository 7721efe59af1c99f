"""Marines and critters: a small game of search and defence, in the spirit of a StarCraft II mini-game.

Three marines start in the middle of a square field over which 25 critters are scattered. Marines have
limited sight; critters idle until a marine comes near, then run at it, faster than it walks. Each
step commands one marine, the others continue with their last order. The reward is +1 for a critter
killed and -1 for a marine lost; when the last critter is killed, new ones appear.

It has the sizes that the paper gives for FindAndDefeatZerglings (32 features, 30 actions) and the
same task, but it is another game: scores are not comparable.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dtsemnet.arrays import Bools, Floats
from dtsemnet_paper.agents.games.marines_rules import (
    CRITTER_HEALTH,
    FIELD,
    HOLD,
    MARINE_HEALTH,
    N_SHOWN,
    SECTORS,
    SIGHT,
    fight,
    in_sight,
    look,
    observe,
)

__all__ = ["ACTION_NAMES", "FEATURE_NAMES", "MarinesAndCritters"]


N_MARINES, N_CRITTERS = 3, 25
SAFE = 10.0
"""New critters appear at least this far from every marine."""

ORDERS = (*(f"go {sector}" for sector in SECTORS), "attack", "hold")
ACTION_NAMES = tuple(f"marine {i}: {order}" for i in range(N_MARINES) for order in ORDERS)
"""Names of the 30 actions: three marines, ten orders each."""
FEATURE_NAMES = (
    *(f"marine {i} {what}" for i in range(N_MARINES) for what in ("x", "y", "health", "reload")),
    *(f"critter {i} {what}" for i in range(N_SHOWN) for what in ("dx", "dy", "health")),
    *(f"seen {sector}" for sector in SECTORS),
)
"""Names of the 32 features."""

_FOG, _GROUND, _HIDDEN = (178, 182, 186), (250, 248, 242), (150, 154, 158)
_CRITTER, _MARINE, _HEALTH = (200, 40, 40), (30, 70, 200), (60, 150, 60)


class MarinesAndCritters(gym.Env[NDArray[np.float32], np.int64]):
    """The game as a gymnasium environment, ``dtsemnet/MarinesAndCritters-v0``, of 500 steps.

    Observations are 32 numbers in [-1, 1]. For each marine: position relative to the middle of the field, health, time
    to reload; all 0 if it is dead. For the four nearest visible critters: position relative to the centre of the living
    marines in units of twice the sight, health; all 0 if there are fewer. For each of eight sectors around the marines:
    how recently it was seen, 1 for now, fading to 0.

    Action ``10 * i + j`` gives order ``j`` to marine ``i``: go in one of eight directions, attack (go to the nearest
    critter in sight and shoot), or hold (stand and shoot what comes in range). Marines that go do not shoot. Orders
    stand until changed.

    Examples
    --------
    >>> env = gym.make("dtsemnet/MarinesAndCritters-v0")
    >>> observation, _ = env.reset(seed=0)
    >>> observation.shape, int(env.action_space.n)
    ((32,), 30)
    >>> ACTION_NAMES[18], FEATURE_NAMES[2]
    ('marine 1: attack', 'marine 0 health')
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}  # noqa: RUF012 - gymnasium reads it from the class

    def __init__(self, render_mode: str | None = None) -> None:
        if render_mode not in (None, "ansi", "rgb_array"):
            raise ValueError(f"render_mode must be None, 'ansi' or 'rgb_array', got {render_mode!r}.")
        self.render_mode = render_mode
        self.observation_space = spaces.Box(-1.0, 1.0, (len(FEATURE_NAMES),), np.float32)
        self.action_space = spaces.Discrete(len(ACTION_NAMES))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Put three marines in the middle and scatter the critters."""
        super().reset(seed=seed)
        self.marine = FIELD / 2 + np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        self.marine_health = np.full(N_MARINES, MARINE_HEALTH)
        self.reload = np.zeros(N_MARINES)
        self.order = np.full(N_MARINES, HOLD)
        self.kills = 0
        self._scatter()
        self.seen = look(np.zeros(len(SECTORS)), self.marine)
        return self._observe(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Command one marine, then let everybody move, shoot and bite."""
        marine, order = divmod(int(action), len(ORDERS))
        self.order[marine] = order
        lost = int(self._alive.sum())
        fight(self.order, self.marine, self.marine_health, self.reload, self.critter, self.critter_health)
        lost -= int(self._alive.sum())
        kills = self._bury()
        self.seen = look(self.seen, self.marine[self._alive])
        return self._observe(), float(kills - lost), not self._alive.any(), False, self._info()

    def render(self) -> Any:
        """Draw the field, north on top.

        As text: M a marine, c a critter in sight, . what no marine sees. As an image: marines blue with their health
        below, critters red, those that no marine sees dark in the fog.
        """
        if self.render_mode is None:
            return None
        return self._draw_text(20) if self.render_mode == "ansi" else self._draw_image(400)

    def _draw_text(self, side: int) -> str:
        cell = FIELD / side
        row, column = np.divmod(np.arange(side * side), side)
        centre = (np.column_stack([column, row]) + 0.5) * cell
        sight = in_sight(centre, self.marine[self._alive])
        grid = np.where(sight, " ", ".").reshape(side, side)
        for where, mark in ((self.critter[self._visible()], "c"), (self.marine[self._alive], "M")):
            column, row = np.clip((where / cell).astype(np.int64), 0, side - 1).T
            grid[row, column] = mark
        return "\n".join("".join(row) for row in grid[::-1])

    def _draw_image(self, side: int) -> NDArray[np.uint8]:
        image = np.full((side, side, 3), _FOG, dtype=np.float64)
        for place in self.marine[self._alive]:
            _disc(image, place, SIGHT, _GROUND)
        for place, seen in zip(self.critter, self._visible()):
            _disc(image, place, 0.45, _CRITTER if seen else _HIDDEN)
        for place, health in zip(self.marine[self._alive], self.marine_health[self._alive]):
            _disc(image, place, 0.6, _MARINE)
            row, column = (np.array([FIELD - place[1] + 0.9, place[0] - 0.9]) * side / FIELD).astype(np.int64)
            length = int(1.8 * health / MARINE_HEALTH * side / FIELD)
            image[max(0, row) : row + 3, max(0, column) : max(0, column + length)] = _HEALTH
        return np.rint(image).astype(np.uint8)

    @property
    def _alive(self) -> Bools:
        return self.marine_health > 0

    def _scatter(self) -> None:
        """Place critters anywhere but near a marine."""
        places: list[Floats] = []
        while len(places) < N_CRITTERS:
            place = self.np_random.uniform(0.0, FIELD, (1, 2))
            if (np.hypot(*(place - self.marine[self._alive]).T) > SAFE).all():
                places.append(place)
        self.critter = np.concatenate(places)
        self.critter_health = np.full(N_CRITTERS, CRITTER_HEALTH)

    def _bury(self) -> int:
        """Take the dead critters away and count them; when none is left, new ones appear."""
        standing = self.critter_health > 0
        kills = len(standing) - int(standing.sum())
        if kills:
            self.critter, self.critter_health = self.critter[standing], self.critter_health[standing]
            self.kills += kills
        if not len(self.critter):
            self._scatter()
        return kills

    def _visible(self) -> Bools:
        return in_sight(self.critter, self.marine[self._alive])

    def _observe(self) -> NDArray[np.float32]:
        return observe(self.marine, self.marine_health, self.reload, self.critter, self.critter_health, self.seen)

    def _info(self) -> dict[str, Any]:
        return {"kills": self.kills, "marines": int(self._alive.sum())}


def _disc(image: Floats, place: Floats, radius: float, color: tuple[int, int, int]) -> None:
    """Paint a disc with a smooth edge, north on top; touch only the pixels around it."""
    scale = len(image) / FIELD
    centre = np.array([FIELD - place[1], place[0]]) * scale
    low = np.maximum(centre - radius * scale - 2, 0).astype(np.int64)
    row, column = np.ogrid[low[0] : int(centre[0] + radius * scale + 3), low[1] : int(centre[1] + radius * scale + 3)]
    part = image[low[0] : low[0] + len(row), low[1] : low[1] + column.size]
    distance = np.hypot(row + 0.5 - centre[0], column + 0.5 - centre[1])[: part.shape[0], : part.shape[1]]
    share = np.clip(radius * scale - distance + 0.5, 0.0, 1.0)[..., None]
    part[:] = share * np.array(color) + (1 - share) * part
