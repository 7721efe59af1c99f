"""Episodes that are played again lead to the same state, also if the environment does not show it."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize

from dtsemnet.rl.checkpoints import restore_checkpoint, save_checkpoint
from dtsemnet.rl.episodes import RecordedEpisode, episodes_of, record_episodes
from rl.worlds import Echo


def play(env, n_steps, rng):
    """Random actions; a new episode follows one that ends."""
    seen = []
    for _ in range(n_steps):
        space = env.action_space
        action = rng.integers(space.n) if isinstance(space, gym.spaces.Discrete) else rng.uniform(-1, 1, space.shape)
        observation, reward, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            observation, _ = env.reset()
        seen.append((observation.tolist(), reward))
    return seen


@pytest.mark.parametrize("n_before", [0, 1, 150, 400])
@pytest.mark.parametrize("name", ["LunarLander-v3", "LunarLanderContinuous-v3", "Pendulum-v1"])
def test_an_episode_that_is_played_again_goes_on_alike(name, n_before):
    one, two = RecordedEpisode(gym.make(name)), RecordedEpisode(gym.make(name))
    one.reset(seed=1)
    play(one, n_before, np.random.default_rng(0))
    assert two.replay(one.episode())
    assert play(two, 300, np.random.default_rng(1)) == play(one, 300, np.random.default_rng(1))


class Forgetful(Echo):
    """Depends on something else than its generator and the actions."""

    def __init__(self):
        self.simulation = iter(())

    def _draw(self):
        self.state = np.random.default_rng().uniform(-1, 1, 2).astype(np.float32)
        return self.state


def test_an_episode_that_ends_elsewhere_is_told():
    one, two = RecordedEpisode(Forgetful()), RecordedEpisode(Forgetful())
    one.reset(seed=1)
    assert not two.replay(one.episode())


def test_an_episode_without_an_end_is_not_recorded_for_ever(monkeypatch):
    monkeypatch.setattr("dtsemnet.rl.episodes.MOST_ACTIONS", 5)
    env = RecordedEpisode(gym.make("Pendulum-v1"))
    env.reset(seed=0)
    play(env, 5, np.random.default_rng(0))
    assert env.episode() is not None
    play(env, 1, np.random.default_rng(0))
    assert env.episode() is None
    env.reset()
    assert env.episode() is not None


def test_only_opaque_environments_are_recorded():
    for name, recorded in (("CartPole-v1", False), ("LunarLander-v3", True)):
        agent = PPO("MlpPolicy", make_vec_env(name, 2), n_steps=8, batch_size=8, device="cpu")
        record_episodes(agent)
        record_episodes(agent)
        agent.learn(8)
        assert (episodes_of(agent) is not None) == recorded
    stacked = PPO(
        "MlpPolicy", VecFrameStack(make_vec_env("LunarLander-v3", 2), 2), n_steps=8, batch_size=8, device="cpu"
    )
    record_episodes(stacked)
    assert episodes_of(stacked) is None


def test_an_agent_in_box2d_goes_on_bit_for_bit(tmp_path):
    def build():
        env = VecNormalize(make_vec_env("LunarLanderContinuous-v3", 2, seed=1))
        return SAC("MlpPolicy", env, learning_starts=50, buffer_size=500, batch_size=16, seed=1, device="cpu")

    straight, again = build(), build()
    record_episodes(straight)
    straight.learn(300)
    save_checkpoint(straight, tmp_path / "checkpoint.npz")
    straight.learn(100, reset_num_timesteps=False)
    restore_checkpoint(again, tmp_path / "checkpoint.npz")
    again.learn(100, reset_num_timesteps=False)
    for one, two in zip(again.policy.parameters(), straight.policy.parameters()):
        assert one.detach().numpy().tobytes() == two.detach().numpy().tobytes()
