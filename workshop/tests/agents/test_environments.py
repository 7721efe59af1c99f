"""The settings of rivals and games join those of the product, with the published results."""

from __future__ import annotations

import gymnasium as gym
import pytest
from gymnasium import spaces

from dtsemnet.rl.environments import environment_names, read_environment
from dtsemnet.rl.recipes import read_settings, recipes_for
from dtsemnet_paper.agents.games.marines import ACTION_NAMES, FEATURE_NAMES
from dtsemnet_paper.agents.report import in_order
from rl.test_environments import NAMES
from rl.test_recipes import check_update

GAME = "MarinesAndCritters-v0"


def test_the_game_comes_after_the_environments_of_the_paper():
    assert environment_names() == [*NAMES, GAME]


@pytest.mark.parametrize("name", [*NAMES, GAME])
def test_files_agree_with_their_environments(name):
    described = read_environment(name)
    env = gym.make(described.environment)
    discrete = isinstance(env.action_space, spaces.Discrete)
    assert described.environment.rpartition("/")[2] == name
    assert set(described.agents) == set(recipes_for("discrete" if discrete else "continuous"))
    assert len(set(described.seeds)) == 5
    assert set(described.published) <= set(described.agents)
    assert all(set(value) == {"mean", "sem"} for value in described.published.values())
    for agent in described.agents:
        assert read_settings(described.configuration(agent)).steps == described.all["steps"]


def test_names_of_the_game_are_its_own():
    described = read_environment(GAME)
    assert tuple(described.features) == FEATURE_NAMES
    assert tuple(described.actions) == ACTION_NAMES


def test_agents_are_shown_in_the_order_of_the_paper():
    shown = in_order(read_environment("CartPole-v1"))
    assert shown == ["dtsemnet", "mlp", "dgt", "icct", "soft", "viper", "dtsemnet-viper"]


@pytest.mark.parametrize("agent", ["dgt", "icct", "soft"])
@pytest.mark.parametrize("name", [*NAMES, GAME])
def test_every_rival_takes_an_update(name, agent):
    if agent in read_environment(name).agents:
        check_update(name, agent)


@pytest.mark.parametrize("agent", ["dtsemnet", "mlp"])
def test_agents_of_the_product_play_the_game(agent):
    check_update(GAME, agent)
