"""The rules of Marines and critters, compiled: what happens in a step, and what marines see.

Positions are rows of two numbers, x to the east and y to the north; times are in steps. A unit without health is dead
and takes no part. Written as loops, because for such small armies the overhead of numpy calls would dominate.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.kernels import kernel

__all__ = ["describe", "fight", "in_sight", "look", "middle", "observe"]


N_SHOWN = 4
"""Number of critters in the observation."""
FIELD = 40.0
"""Side of the field; all lengths are in the same unit."""
SIGHT, RANGE, MARINE_SPEED = 9.0, 5.0, 1.0
MARINE_HEALTH, SHOT, RELOAD = 45.0, 12.0, 2
NOTICE, BITE_RANGE, CRITTER_SPEED = 7.0, 1.0, 1.3
CRITTER_HEALTH, BITE = 35.0, 3.0
FADING = 0.99
"""Knowledge about a sector is multiplied by this factor in each step."""

SECTORS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
ATTACK, HOLD = len(SECTORS), len(SECTORS) + 1
"""Orders beyond those to go in the direction of a sector."""
_ANGLE = np.arange(len(SECTORS)) * np.pi / 4
HEADING = np.stack([np.cos(_ANGLE), np.sin(_ANGLE)], axis=1)
"""Unit vectors of the sectors."""


@kernel
def fight(
    order: Ints,
    marine: Floats,
    marine_health: Floats,
    reload: Floats,
    critter: Floats,
    critter_health: Floats,
) -> None:
    """Let marines move and shoot, then critters run and bite; all arrays except the orders change in place."""
    _move_marines(order, marine, marine_health > 0, critter)
    _shoot(order, marine, marine_health, reload, critter, critter_health)
    _move_critters(marine, marine_health, critter, critter_health)


@kernel
def _move_marines(order: Ints, marine: Floats, alive: Bools, critter: Floats) -> None:
    visible = critter[in_sight(critter, marine[alive])]
    for i in np.flatnonzero(alive):
        if order[i] < ATTACK:
            for axis in range(2):
                place = marine[i, axis] + MARINE_SPEED * HEADING[order[i], axis]
                marine[i, axis] = min(max(place, 0.0), FIELD)
        elif order[i] == ATTACK and len(visible):
            nearest, distance = _nearest(marine[i], visible)
            if distance > RANGE:
                _approach(marine[i], visible[nearest], MARINE_SPEED / distance)


@kernel
def _shoot(
    order: Ints,
    marine: Floats,
    marine_health: Floats,
    reload: Floats,
    critter: Floats,
    critter_health: Floats,
) -> None:
    """Let marines that are loaded and do not walk shoot at the nearest critter in range."""
    for i in range(len(marine)):
        reload[i] = max(reload[i] - 1, 0.0)
        if marine_health[i] <= 0 or reload[i] > 0 or order[i] < ATTACK:
            continue
        standing = np.flatnonzero(critter_health > 0)
        if len(standing):
            nearest, distance = _nearest(marine[i], critter[standing])
            if distance <= RANGE:
                critter_health[standing[nearest]] -= SHOT
                reload[i] = RELOAD


@kernel
def _move_critters(marine: Floats, marine_health: Floats, critter: Floats, critter_health: Floats) -> None:
    """Let critters that noticed a marine run at the nearest, and bite if they are close enough."""
    alive = np.flatnonzero(marine_health > 0)
    if not len(alive):
        return
    prey = marine[alive]
    for i in np.flatnonzero(critter_health > 0):
        nearest, gap = _nearest(critter[i], prey)
        if gap <= BITE_RANGE:
            marine_health[alive[nearest]] = max(marine_health[alive[nearest]] - BITE, 0.0)
        elif gap <= NOTICE:
            _approach(critter[i], prey[nearest], min(CRITTER_SPEED, gap - BITE_RANGE / 2) / gap)


@kernel
def in_sight(place: Floats, marine: Floats) -> Bools:
    """Compute which positions at least one of these marines sees."""
    seen = np.zeros(len(place), dtype=np.bool_)
    if len(marine):
        for i in range(len(place)):
            seen[i] = _nearest(place[i], marine)[1] <= SIGHT
    return seen


@kernel
def look(seen: Floats, marine: Floats) -> Floats:
    """Let the knowledge of the sectors fade, and set it for those seen now.

    A sector counts as seen if some of these marines, the living, sees its near part, one sight ahead of the middle of
    them all.

    Examples
    --------
    >>> float(look(np.ones(8), np.empty((0, 2)))[0]), float(look(np.zeros(8), np.array([[5.0, 5.0]]))[0])
    (0.99, 1.0)
    """
    seen = FADING * seen
    if len(marine):
        # A lone marine looks exactly one sight ahead, and rounding must not hide a sector from it.
        spot = middle(marine, 0.0) + (1 - 1e-9) * SIGHT * HEADING
        seen[in_sight(spot, marine)] = 1.0
    return seen


@kernel
def observe(
    marine: Floats,
    marine_health: Floats,
    reload: Floats,
    critter: Floats,
    critter_health: Floats,
    seen: Floats,
) -> NDArray[np.float32]:
    """Lay out the 32 features of the game."""
    alive = marine_health > 0
    own = np.empty((len(marine), 4))
    for i in range(len(marine)):
        own[i, 0], own[i, 1] = 2 * marine[i, 0] / FIELD - 1, 2 * marine[i, 1] / FIELD - 1
        own[i, 2], own[i, 3] = marine_health[i] / MARINE_HEALTH, reload[i] / RELOAD
    visible = in_sight(critter, marine[alive])
    gap = critter[visible] - middle(marine[alive], FIELD / 2)
    return describe(own, alive, gap, critter_health[visible] / CRITTER_HEALTH, seen)


@kernel
def describe(own: Floats, alive: Bools, gap: Floats, health: Floats, seen: Floats) -> NDArray[np.float32]:
    """Lay out 32 features.

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
    n_own, n_near = own.size, 3 * N_SHOWN
    features = np.zeros(n_own + n_near + len(seen), dtype=np.float32)
    for i in range(len(own)):
        for j in range(own.shape[1]):
            features[i * own.shape[1] + j] = own[i, j] if alive[i] else 0.0
    distance = np.hypot(gap[:, 0], gap[:, 1])
    for rank in range(min(N_SHOWN, len(gap))):
        nearest, start = np.argmin(distance), n_own + 3 * rank
        features[start] = gap[nearest, 0] / (2 * SIGHT)
        features[start + 1] = gap[nearest, 1] / (2 * SIGHT)
        features[start + 2] = health[nearest]
        distance[nearest] = np.inf
    for i in range(len(seen)):
        features[n_own + n_near + i] = seen[i]
    for i in range(len(features)):
        features[i] = min(max(features[i], np.float32(-1)), np.float32(1))
    return features


@kernel
def middle(marine: Floats, default: float) -> Floats:
    """Compute the centre of the living marines, or a default on both axes if all are dead."""
    place = np.full(2, default)
    for axis in range(2):
        if len(marine):
            place[axis] = marine[:, axis].mean()
    return place


@kernel
def _approach(place: Floats, goal: Floats, share: float) -> None:
    """Move a share of the way to a goal."""
    for axis in range(2):
        place[axis] += share * (goal[axis] - place[axis])


@kernel
def _nearest(place: Floats, others: Floats) -> tuple[int, float]:
    """Find the nearest of several positions, among equals the first, and its distance."""
    nearest, distance = 0, math.inf
    for i in range(len(others)):
        gap = math.hypot(others[i, 0] - place[0], others[i, 1] - place[1])
        if gap < distance:
            nearest, distance = i, gap
    return nearest, distance
