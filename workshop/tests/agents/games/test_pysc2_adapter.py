"""The adapter over pysc2, on hand-made tables of units and a game that is played back."""

from __future__ import annotations

from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet_paper.agents.games import pysc2_adapter as adapter
from dtsemnet_paper.agents.games.marines import ACTION_NAMES, FEATURE_NAMES, MarinesAndCritters
from dtsemnet_paper.agents.games.marines_rules import ATTACK, HEADING, HOLD, look
from dtsemnet_paper.agents.games.pysc2_adapter import (
    ENEMY,
    MARINE,
    SELF,
    VISIBLE,
    ZERGLING,
    Command,
    FindAndDefeatZerglings,
    command,
    marine_tags,
    observe,
    outcome,
    read_units,
)

SIZE = (64, 48)
START = np.array([32.0, -24.0])


def unit(kind, side, x, y, health, tag, cooldown=0, display=VISIBLE):
    row = np.zeros(46, np.int64)
    columns = ["UNIT_TYPE", "ALLIANCE", "X", "Y", "HEALTH", "TAG", "WEAPON_COOLDOWN", "DISPLAY_TYPE"]
    row[[getattr(adapter, name) for name in columns]] = kind, side, x, y, health, tag, cooldown, display
    return row


def marine(x, y, tag, health=45, cooldown=0):
    return unit(MARINE, SELF, x, y, health, tag, cooldown)


def zergling(x, y, tag, health=35, display=VISIBLE):
    return unit(ZERGLING, ENEMY, x, y, health, tag, 0, display)


THREE = [marine(32, 24, 2**40 + 3), marine(33, 24, 5, health=9), marine(31, 20, 4, cooldown=7)]
TAGS = (4, 5, 2**40 + 3)


def test_marines_keep_their_numbers_whatever_the_order_of_the_table():
    assert marine_tags(THREE) == TAGS == marine_tags(THREE[::-1])
    units = read_units([zergling(1, 1, 9), *THREE[:2]], TAGS)  # the marine with tag 4 died
    assert units.alive.tolist() == [False, True, True]
    assert units.marine[1].tolist() == [33, -24]
    assert units.health.tolist() == [0, 9, 45]


def test_only_living_visible_zerglings_count():
    table = [*THREE, zergling(40, 24, 10), zergling(41, 24, 11, display=2), zergling(42, 24, 12, health=0)]
    table += [unit(ZERGLING, SELF, 30, 30, 35, 13), unit(MARINE, ENEMY, 30, 30, 35, 14)]
    assert read_units(table, TAGS).zergling_tag.tolist() == [10]


def test_features_have_the_places_of_the_other_game():
    units = read_units([*THREE, zergling(32, 14, 10, health=7)], TAGS)
    x = dict(zip(FEATURE_NAMES, observe(units, np.linspace(0, 1, 8), START, SIZE), strict=True))
    assert x["marine 0 x"] == pytest.approx(-1 / 32)
    assert x["marine 0 y"] == pytest.approx(4 / 32)  # y = 20 lies north of the middle, y = 24
    assert x["marine 0 reload"] == pytest.approx(0.5)
    assert x["marine 1 health"] == pytest.approx(0.2)
    assert x["critter 0 dx"] == pytest.approx(0)
    assert x["critter 0 dy"] == pytest.approx((68 / 3 - 14) / 18, rel=1e-6)
    assert x["critter 0 health"] == pytest.approx(0.2)
    assert x["critter 1 health"] == 0
    assert x["seen south-east"] == 1


@given(
    places=st.lists(st.tuples(st.integers(0, 63), st.integers(0, 47)), max_size=9),
    alive=st.integers(0, 3),
    action=st.integers(0, 29),
)
def test_every_table_gives_features_and_a_legal_call(places, alive, action):
    table = [*THREE[:alive], *(zergling(x, y, 100 + i) for i, (x, y) in enumerate(places))]
    tags = marine_tags(table)
    units = read_units(table, tags)
    x = observe(units, look(np.zeros(8), units.marine[units.alive]), START, SIZE)
    assert x.shape == (32,)
    assert x.dtype == np.float32
    assert np.abs(x).max() <= 1
    order = command(action, units, tags, SIZE)
    if action // 10 >= alive:
        assert order == Command("no_op")
    elif order.function == "Move_pt":
        assert action % 10 < ATTACK
        east, south = order.arguments[2]
        assert 0 <= east < SIZE[0]
        assert 0 <= south < SIZE[1]
    if order.arguments:
        assert order.arguments[:2] == ("now", [tags[action // 10]])


@pytest.mark.parametrize("order", range(8))
def test_go_walks_to_the_border_in_its_direction(order):
    units = read_units(THREE, TAGS)
    function, (_, _, (east, south)) = command(20 + order, units, TAGS, SIZE)
    assert function == "Move_pt"
    step = np.array([east, -south]) - units.marine[2]
    np.testing.assert_allclose(step / np.hypot(*step), HEADING[order], atol=0.05)
    assert east in (0, SIZE[0] - 1) or south in (0, SIZE[1] - 1)


def test_attack_takes_the_nearest_zergling_and_hold_stands():
    units = read_units([*THREE, zergling(60, 24, 10), zergling(36, 24, 11), zergling(20, 20, 12)], TAGS)
    assert command(10 + ATTACK, units, TAGS, SIZE) == Command("Attack_unit", ("now", [5], 11))
    assert command(ATTACK, units, TAGS, SIZE) == Command("Attack_unit", ("now", [4], 11))
    assert command(HOLD, units, TAGS, SIZE) == Command("HoldPosition_quick", ("now", [4]))
    assert command(ATTACK, read_units(THREE, TAGS), TAGS, SIZE) == Command("no_op")


def test_the_game_is_lost_without_marines_and_over_with_them():
    some, none = read_units(THREE, TAGS), read_units([], TAGS)
    assert outcome(np.int32(2), False, some) == (2.0, False, False)
    assert outcome(-1, True, none) == (-1.0, True, False)
    assert outcome(0, True, some) == (0.0, False, True)


class PlayedBack:
    """A game whose moments are given; notes the calls."""

    size = SIZE

    def __init__(self, tables, rewards):
        self.tables, self.rewards, self.calls, self.closed = tables, rewards, [], False

    def moment(self):
        time = len(self.calls)
        last = time == len(self.tables) - 1
        observation = {"raw_units": np.array(self.tables[time])}
        return SimpleNamespace(observation=observation, reward=self.rewards[time], last=lambda: last)

    def reset(self):
        self.calls.clear()
        return self.moment()

    def step(self, order):
        self.calls.append(order.function)
        return self.moment()

    def close(self):
        self.closed = True


def test_an_episode():
    tables = [THREE, [*THREE[:2], zergling(36, 24, 10)], [zergling(36, 24, 10)]]
    games = []

    def launch(seed):
        games.append((seed, PlayedBack(tables, [0, -1, -2])))
        return games[-1][1]

    env = FindAndDefeatZerglings(launch)
    other = MarinesAndCritters()
    assert env.observation_space == other.observation_space
    assert env.action_space == other.action_space
    assert env.action_space.n == len(ACTION_NAMES)
    x, info = env.reset(seed=3)
    assert env.observation_space.contains(x)
    assert info["marines"] == 3
    x, reward, lost, over, info = env.step(ATTACK)
    assert (reward, lost, over, info["marines"]) == (-1, False, False, 2)
    assert env.observation_space.contains(x)
    x, reward, lost, over, info = env.step(10 + ATTACK)
    assert (reward, lost, over, info["marines"]) == (-2, True, False, 0)
    assert not x[:12].any()
    assert games[0][1].calls == ["no_op", "Attack_unit"]
    env.reset()
    assert [seed for seed, _ in games] == [3]
    env.reset(seed=4)  # the seed is the game's own, which must start anew
    assert [seed for seed, _ in games] == [3, 4]
    assert games[0][1].closed
    env.close()
    assert games[1][1].closed


def test_without_pysc2_the_error_names_what_to_install():
    with pytest.raises(ImportError, match=r"StarCraft II .* pysc2"):
        gym.make("dtsemnet/FindAndDefeatZerglings-v0")
