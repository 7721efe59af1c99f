"""Marines and critters: gymnasium's rules, the game's rules, the same game from the same seed."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import dtsemnet_paper.agents  # noqa: F401 - registers the game
from dtsemnet_paper.agents.games import marines
from dtsemnet_paper.agents.games.marines import ACTION_NAMES, FEATURE_NAMES, MarinesAndCritters
from dtsemnet_paper.agents.games.marines_rules import ATTACK, HOLD, SHOT, SIGHT

NAME = "dtsemnet/MarinesAndCritters-v0"


def play(seed, actions):
    """Play a list of actions; give observations and rewards."""
    env = MarinesAndCritters()
    seen, rewards = [env.reset(seed=seed)[0]], []
    for action in actions:
        observation, reward, over, _, _ = env.step(action)
        seen.append(observation)
        rewards.append(reward)
        if over:
            break
    return np.array(seen), rewards


def test_gymnasium_accepts_it():
    env = gym.make(NAME)
    check_env(env.unwrapped)
    assert env.observation_space.shape == (32,) == (len(FEATURE_NAMES),)
    assert env.action_space.n == 30 == len(ACTION_NAMES)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31), actions=st.lists(st.integers(0, 29), min_size=1, max_size=60))
def test_same_seed_same_game(seed, actions):
    first, second = play(seed, actions), play(seed, actions)
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] == second[1]
    assert np.abs(first[0]).max() <= 1
    assert not np.array_equal(play(seed + 1, actions)[0], first[0]) or not first[0][:, 12:24].any()


def test_episodes_are_cut_after_500_steps():
    env = gym.make(NAME)
    env.reset(seed=0)
    for time in range(500):
        _, _, over, cut, _ = env.step(HOLD)
        assert not over  # who holds in the middle is noticed by nobody
        assert cut == (time == 499)


def test_rewards_count_kills_and_losses():
    env = MarinesAndCritters()
    env.reset(seed=0)
    env.critter = env.marine[:1] + np.array([3.0, 0.0])
    env.critter_health = np.array([SHOT])
    env.reload[1:] = 9
    _, reward, _, _, info = env.step(HOLD)
    assert reward == 1
    assert info["kills"] == 1
    assert len(env.critter) == marines.N_CRITTERS  # the field was cleared, new ones came
    assert (np.hypot(*(env.critter[:, None] - env.marine).T) > marines.SAFE).all()
    env.reset(seed=0)
    env.marine_health[:] = [1.0, 0.0, 0.0]
    env.critter = env.marine[:1] + np.array([0.5, 0.0])
    env.critter_health = np.array([100.0])
    _, reward, over, _, info = env.step(HOLD)
    assert (reward, over, info["marines"]) == (-1, True, 0)


def test_critters_out_of_sight_are_not_shown():
    env = MarinesAndCritters()
    env.reset(seed=0)
    env.critter = env.marine[:1] - [[SIGHT + 0.1, 0.0]]
    env.critter_health = np.array([35.0])
    assert not env._observe()[12:24].any()
    env.critter += 1.0
    assert env._observe()[12:15].all()


def test_orders_stand_until_changed():
    env = MarinesAndCritters()
    env.reset(seed=0)
    start = env.marine.copy()
    env.step(10)  # marine 1 goes east
    env.step(HOLD)  # marine 0 holds
    np.testing.assert_allclose(env.marine - start, [[0, 0], [2, 0], [0, 0]], atol=1e-12)


def test_playing_well_pays():
    # Go round the field together, and attack whatever comes in sight.
    def patrol(seed):
        env = gym.make(NAME)
        observation, _ = env.reset(seed=seed)
        total, over, cut, time = 0.0, False, False, 0
        while not (over or cut):
            order = ATTACK if observation[14] > 0 else (0, 2, 4, 4, 6, 6, 0, 0)[time // 36 % 8]
            observation, reward, over, cut, _ = env.step(time % 3 * 10 + order)
            total += reward
            time += 1
        return total

    def wander(seed):
        return sum(play(seed, np.random.default_rng(seed).integers(0, 30, 500))[1])

    good, random = (np.mean([player(seed) for seed in range(3)]) for player in (patrol, wander))
    assert good > random + 5


def test_picture_shows_marines_and_fog():
    env = gym.make(NAME, render_mode="ansi")
    env.reset(seed=0)
    picture = env.render()
    assert "M" in picture
    assert "." in picture
    assert len(picture.splitlines()) == 20
    env = gym.make(NAME, render_mode="rgb_array")  # as stable-baselines3 makes an environment by name
    env.reset(seed=0)
    image = env.render()
    assert image.shape == (400, 400, 3)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) >= 3


def test_image_shows_everybody_at_their_places():
    env = MarinesAndCritters(render_mode="rgb_array")
    env.reset(seed=0)
    env.marine[:] = [[5.0, 38.0], [39.9, 0.1], [20.0, 20.0]]
    env.marine_health[2] = 0.0
    env.critter = np.array([[8.0, 38.0], [20.0, 20.0], [0.0, 40.0]])
    env.critter_health = np.full(3, 35.0)
    image = env.render()

    def at(x, y):
        return tuple(int(part) for part in image[min(399, int((40 - y) * 10)), min(399, int(x * 10))])

    assert at(5, 38) == at(39.9, 0.1) == marines._MARINE
    assert at(8, 38) == marines._CRITTER
    assert at(20, 20) == marines._HIDDEN  # the marine there is dead, and nobody sees the critter
    assert at(10, 35) == marines._GROUND
    assert at(30, 30) == marines._FOG
    assert at(5, 37.0) == marines._HEALTH


def test_other_render_modes_are_refused():
    with pytest.raises(ValueError, match="render_mode"):
        MarinesAndCritters(render_mode="human")
