"""The state of an environment comes back in another one; what cannot be read is told."""

from __future__ import annotations

import enum

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from dtsemnet.rl.environment_states import environment_state, restore_environment
from dtsemnet.rl.plain_values import read_values, write_values
from rl.worlds import Echo, Sides


def through_a_file(state, folder):
    write_values(folder / "state.npz", state)
    return read_values(folder / "state.npz")


def played(env, n_steps, seed=0):
    """Actions are drawn by a generator outside, results are listed."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(n_steps):
        actions = [rng.integers(env.action_space.n) for _ in range(env.num_envs)]
        observations, rewards, dones, _ = env.step(np.array(actions))
        seen.append((observations.tolist(), rewards.tolist(), dones.tolist()))
    return seen


def wrapped(wrap, name):
    return lambda: wrap(make_vec_env(name, 3, seed=1))


MAKERS = {
    "CartPole": wrapped(lambda env: env, "CartPole-v1"),
    "Acrobot": wrapped(lambda env: env, "Acrobot-v1"),
    "MountainCar": wrapped(lambda env: env, "MountainCar-v0"),
    "normalised": wrapped(VecNormalize, "CartPole-v1"),
    "stacked": wrapped(lambda env: VecFrameStack(env, 3), "CartPole-v1"),
    "own": lambda: DummyVecEnv([Sides] * 2),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_episode_goes_on_in_another_environment(make, tmp_path):
    one, two = make(), make()
    one.reset()
    played(one, 37)
    state = through_a_file(environment_state(one), tmp_path)
    expected = played(one, 60, seed=1)
    two.reset()
    assert restore_environment(two, state)
    assert played(two, 60, seed=1) == expected


@pytest.mark.parametrize("name", ["LunarLander-v3", "BipedalWalker-v3"])
def test_environments_of_box2d_are_opaque(name):
    env = make_vec_env(name, 1)
    env.reset()
    assert environment_state(env) is None


def test_parts_that_are_shared_stay_shared(tmp_path):
    def made():
        env = Echo()
        env.reset(seed=1)
        env.other = env.state
        env.draws = env.np_random
        return env

    one, two = made(), made()
    one.step(np.zeros(2))
    one.other = one.state
    assert restore_environment(two, through_a_file(environment_state(one), tmp_path))
    assert two.other is two.state
    assert two.draws is two.np_random


class Mood(enum.Enum):
    CALM = 1
    WILD = 2


def test_members_of_an_enumeration_are_not_changed():
    env = Echo()
    env.reset(seed=0)
    env.mood = Mood.WILD
    assert environment_state(env) is None
    assert Mood.WILD.value == 2


class Part:
    pass


class Another:
    pass


def test_a_part_of_another_class_cannot_be_restored():
    one, two = Echo(), Echo()
    for env, part in ((one, Part()), (two, Another())):
        env.reset(seed=0)
        env.part = part
        part.content = env  # a circle
    assert not restore_environment(two, environment_state(one))
    assert restore_environment(one, environment_state(one))


def test_attributes_of_later_are_gone():
    one, two = gym.make("CartPole-v1"), gym.make("CartPole-v1")
    one.reset(seed=1)
    two.reset(seed=2)
    two.unwrapped.later = 1
    assert restore_environment(two, environment_state(one))
    assert not hasattr(two.unwrapped, "later")
