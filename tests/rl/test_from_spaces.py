"""Settings from spaces: every kind that a tree can act in gets an agent, everything else one clear error."""

from __future__ import annotations

import tomllib

import gymnasium as gym
import numpy as np
import pytest

from dtsemnet.rl.environments import read_environment
from dtsemnet.rl.environments.from_spaces import EPISODE_STEPS, register_class, settings_from_spaces, to_toml
from dtsemnet.rl.recipes import build_agent, read_settings, recipes_for


@pytest.mark.parametrize(("name", "kind"), [("MountainCar-v0", "discrete"), ("Pendulum-v1", "continuous")])
def test_every_agent_has_legal_settings(name, kind):
    environment = read_environment(name)
    assert list(environment.agents) == list(recipes_for(kind))[: len(environment.agents)]
    for agent in environment.agents:
        assert read_settings(environment.configuration(agent)).steps == environment.all["steps"]
    agent, _ = build_agent(environment.configuration("dtsemnet"), seed=1)
    assert agent.get_vec_normalize_env() is None, "both have bounds"


def test_observations_without_bounds_are_normalised():
    assert settings_from_spaces("CartPole-v1")["all"]["normalize"] is True
    assert settings_from_spaces("MountainCar-v0")["all"]["normalize"] is False


def test_a_class_gets_a_limit_and_can_be_made_by_its_name():
    name = "rl.worlds:Echo"
    assert read_environment(name).name == "Echo"
    made = gym.make(name)
    assert made.spec.max_episode_steps == EPISODE_STEPS
    assert made.reset(seed=0)[0].shape == (2,)
    assert register_class(name) is False, "once"


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("nowhere:Thing", ValueError, "there is no module 'nowhere' here"),
        (".worlds:Echo", ValueError, "'.worlds' is no name of a module"),
        ("\x1b[2J:Thing", ValueError, r"^\\x1b\[2J:Thing: '\\x1b\[2J' is no name of a module"),
        (":", ValueError, "'' is no name of a module"),
        ("rl.worlds:Nothing", ValueError, "ENV must be an environment that gymnasium knows"),
        ("Blackjack-v1", TypeError, "FlattenObservation"),
        ("rl.test_from_spaces:Keys", TypeError, "Discrete or a Box, got MultiBinary"),
        ("rl.test_from_spaces:FromMinusOne", TypeError, "numbered from 0, got Discrete"),
        ("rl.test_from_spaces:Blind", TypeError, "needs a number to observe at least"),
    ],
)
def test_what_no_tree_can_act_in_is_refused_before_training(name, error, told):
    with pytest.raises(error, match=told):
        read_environment(name)


class Keys(gym.Env):
    """Several keys pressed at once."""

    observation_space = gym.spaces.Box(0.0, 1.0, (2,))
    action_space = gym.spaces.MultiBinary(3)


class FromMinusOne(Keys):
    """Actions -1, 0 and 1."""

    action_space = gym.spaces.Discrete(3, start=-1)


class Blind(Keys):
    """Observes nothing."""

    observation_space = gym.spaces.Box(0.0, 1.0, (0,))
    action_space = gym.spaces.Discrete(2)


def test_the_file_says_what_the_settings_are():
    content = settings_from_spaces("Pendulum-v1")
    assert tomllib.loads(to_toml(content)) == content


def test_a_module_that_misses_another_one_says_so(tmp_path, monkeypatch):
    (tmp_path / "half_a_world.py").write_text("import a_package_that_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_package_that_nobody_has"):
        register_class("half_a_world:World")


def test_a_package_that_is_missing_is_named_with_the_extra(monkeypatch):
    def make(name):
        raise gym.error.DependencyNotInstalled('MuJoCo is not installed, run `pip install "gymnasium[mujoco]"`')

    monkeypatch.setattr(gym, "make", make)
    with pytest.raises(ImportError, match=r"Hopper-v5 needs a package .*dtsemnet\[mujoco\]"):
        settings_from_spaces("Hopper-v5")


def test_a_world_that_cannot_draw_is_made():
    worlds = build_agent(read_environment("rl.worlds:Sides").configuration("dtsemnet"), seed=1)[0].get_env()
    assert worlds is not None
    assert np.shape(worlds.reset()) == (8, 2)
