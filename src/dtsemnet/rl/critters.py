"""Marines and critters: a small game of search and defence, in the spirit of a StarCraft II mini-game.

Three marines start in the middle of a square field, 25 critters are scattered over it. Marines see
only so far; critters idle until a marine comes near, then run at it, faster than it walks. Each
step commands one marine, the others go on with their last order. A critter killed counts +1, a
marine lost -1; when the last critter falls, new ones appear.

It has the sizes that the paper gives for FindAndDefeatZerglings (32 features, 30 actions) and the
same task, but it is another game: scores here say nothing about scores there.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

__all__ = ["MarinesAndCritters", "ACTION_NAMES", "FEATURE_NAMES", "describe", "look", "middle"]

FloatArray = NDArray[np.float64]

N_MARINES, N_CRITTERS, N_SHOWN = 3, 25, 4
FIELD = 40.0
"""Side of the field; all lengths are in the same unit, all times in steps."""
SIGHT, RANGE, MARINE_SPEED = 9.0, 5.0, 1.0
MARINE_HEALTH, SHOT, RELOAD = 45.0, 12.0, 2
NOTICE, BITE_RANGE, CRITTER_SPEED = 7.0, 1.0, 1.3
CRITTER_HEALTH, BITE = 35.0, 3.0
SAFE = 10.0
"""New critters keep this distance from every marine."""
FADING = 0.99
"""What is known of a sector fades by this factor with each step."""

SECTORS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
ORDERS = (*(f"go {sector}" for sector in SECTORS), "attack", "hold")
ATTACK, HOLD = len(SECTORS), len(SECTORS) + 1
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
_ANGLE = np.arange(len(SECTORS)) * np.pi / 4
HEADING = np.stack([np.cos(_ANGLE), np.sin(_ANGLE)], axis=1)
"""Unit vectors of the sectors, x to the east, y to the north."""


class MarinesAndCritters(gym.Env[NDArray[np.float32], np.int64]):
    """The game as a gymnasium environment, ``dtsemnet/MarinesAndCritters-v0``, of 500 steps.

    Observations are 32 numbers in [-1, 1]. Of each marine: position relative to the middle of the field,
    health, time to reload; all 0 when it is dead. Of the four nearest critters in sight: position relative to the
    middle of the living marines in units of twice the sight, health; all 0 when there are fewer. Of each of eight
    sectors around the marines: how lately it was looked at, 1 for now, fading to 0.

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
        self.seen = np.zeros(len(SECTORS))
        self.kills = 0
        self._scatter()
        self._look()
        return self._observe(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Command one marine, then let everybody move, shoot and bite."""
        marine, order = divmod(int(action), len(ORDERS))
        self.order[marine] = order
        alive_before = int(self._alive.sum())
        self._move_marines()
        kills = self._shoot()
        self._move_critters()
        lost = alive_before - int(self._alive.sum())
        self.kills += kills
        if not len(self.critter):
            self._scatter()
        self._look()
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
        sight = (_distance(centre.astype(np.float64), self.marine[self._alive]) <= SIGHT).any(axis=1)
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
    def _alive(self) -> NDArray[np.bool_]:
        return self.marine_health > 0

    def _scatter(self) -> None:
        """Place critters anywhere but near a marine."""
        places: list[FloatArray] = []
        while len(places) < N_CRITTERS:
            place = self.np_random.uniform(0.0, FIELD, (1, 2))
            if (_distance(place, self.marine[self._alive]) > SAFE).all():
                places.append(place)
        self.critter = np.concatenate(places)
        self.critter_health = np.full(N_CRITTERS, CRITTER_HEALTH)

    def _visible(self) -> NDArray[np.bool_]:
        return np.asarray((_distance(self.critter, self.marine[self._alive]) <= SIGHT).any(axis=1))

    def _move_marines(self) -> None:
        visible = self.critter[self._visible()]
        for i in np.flatnonzero(self._alive):
            if self.order[i] < ATTACK:
                self.marine[i] += MARINE_SPEED * HEADING[self.order[i]]
            elif self.order[i] == ATTACK and len(visible):
                gap = visible - self.marine[i]
                distance = np.hypot(*gap.T)
                nearest = int(distance.argmin())
                if distance[nearest] > RANGE:
                    self.marine[i] += MARINE_SPEED * gap[nearest] / distance[nearest]
        np.clip(self.marine, 0.0, FIELD, out=self.marine)

    def _shoot(self) -> int:
        """Let loaded marines shoot the nearest critter in range; count the dead and remove them."""
        self.reload = np.maximum(self.reload - 1, 0)
        for i in np.flatnonzero(self._alive & (self.reload == 0) & (self.order >= ATTACK)):
            distance = np.hypot(*(self.critter - self.marine[i]).T)
            distance[self.critter_health <= 0] = np.inf
            target = int(distance.argmin())
            if distance[target] <= RANGE:
                self.critter_health[target] -= SHOT
                self.reload[i] = RELOAD
        standing = self.critter_health > 0
        self.critter, self.critter_health = self.critter[standing], self.critter_health[standing]
        return int((~standing).sum())

    def _move_critters(self) -> None:
        """Let critters that noticed a marine run at the nearest, and bite where they are close enough."""
        alive = np.flatnonzero(self._alive)
        if not len(self.critter) or not len(alive):
            return
        distance = _distance(self.critter, self.marine[alive])
        prey, gap = alive[distance.argmin(axis=1)], distance.min(axis=1)
        bites = gap <= BITE_RANGE
        runs = ~bites & (gap <= NOTICE)
        stride = np.minimum(CRITTER_SPEED, gap[runs] - BITE_RANGE / 2) / gap[runs]
        self.critter[runs] += stride[:, None] * (self.marine[prey[runs]] - self.critter[runs])
        np.subtract.at(self.marine_health, prey[bites], BITE)
        self.marine_health = np.maximum(self.marine_health, 0.0)

    def _look(self) -> None:
        self.seen = look(self.seen, self.marine[self._alive])

    def _observe(self) -> NDArray[np.float32]:
        own = np.column_stack([2 * self.marine / FIELD - 1, self.marine_health / MARINE_HEALTH, self.reload / RELOAD])
        visible = self._visible()
        gap = self.critter[visible] - middle(self.marine[self._alive], FIELD / 2)
        return describe(own, self._alive, gap, self.critter_health[visible] / CRITTER_HEALTH, self.seen)

    def _info(self) -> dict[str, Any]:
        return {"kills": self.kills, "marines": int(self._alive.sum())}


def middle(marine: FloatArray, default: float) -> FloatArray:
    """Give the middle of the living marines, or a default place on both axes when all are dead."""
    return np.asarray(marine.mean(axis=0) if len(marine) else np.full(2, default))


def look(seen: FloatArray, marine: FloatArray) -> FloatArray:
    """Let what was seen of the sectors fade, and note those seen now.

    A sector counts as seen if some living marine sees its near part, one sight ahead of the middle of them all.

    Examples
    --------
    >>> look(np.ones(8), np.empty((0, 2)))[0], look(np.zeros(8), np.array([[5.0, 5.0]]))[0]
    (np.float64(0.99), np.float64(1.0))
    """
    seen = FADING * seen
    if len(marine):
        # A lone marine looks exactly one sight ahead, and rounding must not hide a sector from it.
        spot = marine.mean(axis=0) + (1 - 1e-9) * SIGHT * HEADING
        seen[(_distance(spot, marine) <= SIGHT).any(axis=1)] = 1.0
    return seen


def describe(
    own: FloatArray, alive: NDArray[np.bool_], gap: FloatArray, health: FloatArray, seen: FloatArray
) -> NDArray[np.float32]:
    """Lay out the 32 features.

    Parameters
    ----------
    own : ndarray of shape (3, 4)
        Of each marine: place, health and time to reload, in units of their largest values.
    alive : ndarray of shape (3,)
        Which marines live; the others show as 0.
    gap, health : ndarray of shape (n_visible, 2), (n_visible,)
        Places of the enemies in sight, relative to the middle of the marines, and the share of their health.
    seen : ndarray of shape (8,)
        How lately each sector was seen.
    """
    near = np.zeros((N_SHOWN, 3))
    order = np.argsort(np.hypot(*gap.T), kind="stable")[:N_SHOWN]
    near[: len(order), :2] = gap[order] / (2 * SIGHT)
    near[: len(order), 2] = health[order]
    shown = np.where(alive[:, None], own, 0.0)
    return np.clip(np.concatenate([shown.ravel(), near.ravel(), seen]), -1.0, 1.0).astype(np.float32)


def _disc(image: FloatArray, place: FloatArray, radius: float, color: tuple[int, int, int]) -> None:
    """Paint a disc with a smooth edge, north on top; touch only the pixels around it."""
    scale = len(image) / FIELD
    centre = np.array([FIELD - place[1], place[0]]) * scale
    low = np.maximum(centre - radius * scale - 2, 0).astype(np.int64)
    row, column = np.ogrid[low[0] : int(centre[0] + radius * scale + 3), low[1] : int(centre[1] + radius * scale + 3)]
    part = image[low[0] : low[0] + len(row), low[1] : low[1] + column.size]
    distance = np.hypot(row + 0.5 - centre[0], column + 0.5 - centre[1])[: part.shape[0], : part.shape[1]]
    share = np.clip(radius * scale - distance + 0.5, 0.0, 1.0)[..., None]
    part[:] = share * np.array(color) + (1 - share) * part


def _distance(a: FloatArray, b: FloatArray) -> FloatArray:
    """Compute the distances of all pairs."""
    gap = a[:, None] - b[None]
    return np.asarray(np.hypot(gap[..., 0], gap[..., 1]))


def register() -> None:
    """Make this game, and the one it stands in for, known to gymnasium; again is harmless."""
    name = "dtsemnet/MarinesAndCritters-v0"
    if name not in gym.registry:
        gym.register(name, entry_point="dtsemnet.rl.critters:MarinesAndCritters", max_episode_steps=500)
        # It ends by itself, after 180 seconds of game.
        gym.register(
            "dtsemnet/FindAndDefeatZerglings-v0", entry_point="dtsemnet.rl.pysc2_adapter:FindAndDefeatZerglings"
        )
