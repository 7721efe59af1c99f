"""The compiled rules of the game against the same rules in numpy, on armies in any state."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet_paper.agents.games import marines_rules as rules


def distances(a, b):
    """All pairs."""
    return np.hypot(*(a[:, None] - b[None]).transpose(2, 0, 1))


@st.composite
def armies(draw):
    """Two armies, close enough to meet: some are dead, some may stand on the same spot."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, spread = draw(st.integers(0, 12)), draw(st.sampled_from([0.0, 1.0, 6.0, 20.0]))
    marine = np.clip(rng.normal(20, spread, (3, 2)), 0, rules.FIELD)
    critter = np.clip(rng.normal(20, spread + 1, (n, 2)), 0, rules.FIELD)
    health = rng.choice([0.0, 2.0, 45.0], 3), rng.choice([5.0, 20.0, 35.0], n)
    return rng.integers(0, 10, 3), marine, health[0], rng.integers(0, 3, 3).astype(float), critter, health[1]


def fight(order, marine, marine_health, reload, critter, critter_health):
    """One step, in numpy; gives marines, their health, times to reload, critters and their health."""
    alive = marine_health > 0
    visible = critter[(distances(critter, marine[alive]) <= rules.SIGHT).any(axis=1)]
    goes, attacks = alive & (order < rules.ATTACK), alive & (order == rules.ATTACK) & (len(visible) > 0)
    marine, marine_health, critter_health = marine.copy(), marine_health.copy(), critter_health.copy()
    marine[goes] = np.clip(marine[goes] + rules.MARINE_SPEED * rules.HEADING[order[goes]], 0, rules.FIELD)
    for i in np.flatnonzero(attacks):
        gap = distances(marine[i : i + 1], visible)[0]
        if gap.min() > rules.RANGE:
            marine[i] += (visible[gap.argmin()] - marine[i]) * rules.MARINE_SPEED / gap.min()
    reload = np.maximum(reload - 1, 0)
    for i in np.flatnonzero(alive & (reload == 0) & (order >= rules.ATTACK)):
        gap = np.where(critter_health > 0, distances(marine[i : i + 1], critter)[0], np.inf)
        if len(gap) and gap.min() <= rules.RANGE:
            critter_health[gap.argmin()] -= rules.SHOT
            reload[i] = rules.RELOAD
    gap = np.where(critter_health[:, None] > 0, distances(critter, marine), np.inf)
    gap[:, ~alive] = np.inf
    prey, near = gap.argmin(axis=1), gap.min(axis=1)
    runs = (near > rules.BITE_RANGE) & (near <= rules.NOTICE)
    way = np.minimum(rules.CRITTER_SPEED, near[runs] - rules.BITE_RANGE / 2) / near[runs]
    critter = critter.copy()
    critter[runs] += way[:, None] * (marine[prey[runs]] - critter[runs])
    bites = np.bincount(prey[near <= rules.BITE_RANGE], minlength=3)
    return marine, np.maximum(marine_health - rules.BITE * bites, 0), reload, critter, critter_health


@given(armies())
@settings(max_examples=200)
def test_a_step_follows_the_rules(army):
    expected = fight(*army)
    rules.fight(*army)
    for found, wanted in zip(army[1:], expected):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


@given(armies(), st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_features_are_laid_out_as_told(army, seen):
    _, marine, marine_health, reload, critter, critter_health = army
    alive = marine_health > 0
    found = rules.observe(marine, marine_health, reload, critter, critter_health, np.array(seen))
    assert found.dtype == np.float32
    own = np.column_stack([marine / 20 - 1, marine_health / rules.MARINE_HEALTH, reload / rules.RELOAD])
    own[~alive] = 0
    np.testing.assert_allclose(found[:12], own.ravel(), atol=1e-6)
    centre = marine[alive].mean(axis=0) if alive.any() else np.full(2, 20.0)
    visible = (distances(critter, marine[alive]) <= rules.SIGHT).any(axis=1)
    gap, health = critter[visible] - centre, critter_health[visible] / rules.CRITTER_HEALTH
    nearest = np.argsort(np.hypot(*gap.T), kind="stable")[:4]
    shown = np.column_stack([gap[nearest] / (2 * rules.SIGHT), health[nearest]]).ravel()
    np.testing.assert_allclose(found[12 : 12 + len(shown)], np.clip(shown, -1, 1), atol=1e-6)
    assert not found[12 + len(shown) : 24].any()
    np.testing.assert_allclose(found[24:], seen, atol=1e-6)
