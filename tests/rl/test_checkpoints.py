"""Checkpoints: a training that is taken up again goes on as if nothing had happened."""

from __future__ import annotations

import pickle
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dtsemnet.rl import AnnealPooling, TopKSAC, TreePolicy, TreeSACPolicy, policy_tree, train
from dtsemnet.rl.checkpoints import restore_checkpoint, save_checkpoint
from dtsemnet.rl.plain_values import read_values, write_values
from dtsemnet.rl.training import Judge
from rl.worlds import Echo, Sides, eight


class Sealed(Echo):
    """Opaque, as the environments of Box2D are: it holds an object that is not of Python."""

    def __init__(self):
        self.starts = []
        self.simulation = iter(())

    def reset(self, *, seed=None, options=None):
        start = super().reset(seed=seed)
        self.starts.append(start[0].tolist())
        return start


def ppo():
    env = VecNormalize(eight(Sides), norm_reward=True)
    kwargs = {"max_depth": 3, "pooling": 1.0}
    return PPO(TreePolicy, env, policy_kwargs=kwargs, n_steps=12, batch_size=32, n_epochs=2, seed=3, device="cpu")


def sac(world=Echo, **more):
    kwargs = {"max_depth": 2, "net_arch": [16, 16]}  # two layers, as elsewhere: kernels are compiled for their number
    options = {"learning_starts": 50, "train_freq": 8, "gradient_steps": 2, "batch_size": 16, "buffer_size": 90}
    return TopKSAC(TreeSACPolicy, DummyVecEnv([world]), policy_kwargs=kwargs, seed=3, device="cpu", **options | more)


def several_steps():
    return sac(n_steps=3)


def go_on(agent, n_steps):
    callback = AnnealPooling() if isinstance(agent, PPO) else None
    agent.learn(n_steps - agent.num_timesteps, callback=callback, reset_num_timesteps=agent.num_timesteps == 0)
    return agent


# Of SAC: within the random steps at the start, while the replay buffer fills, and when it has wrapped around.
@pytest.mark.parametrize(
    ("build", "saved", "end"),
    [(ppo, 192, 384), (sac, 24, 120), (sac, 72, 120), (sac, 104, 200), (several_steps, 72, 120)],
)
def test_what_is_taken_up_again_learns_the_same(build, saved, end, tmp_path):
    path = tmp_path / "checkpoint.npz"
    straight = go_on(build(), saved)
    save_checkpoint(straight, path, {"note": 1})
    go_on(straight, end)
    np.random.seed(77)
    torch.manual_seed(77)
    again = build()
    assert restore_checkpoint(again, path) == {"note": 1}
    assert again.num_timesteps == saved
    go_on(again, end)
    assert policy_tree(again) == policy_tree(straight)
    assert again.get_parameters().keys() == straight.get_parameters().keys()
    for one, two in zip(again.policy.parameters(), straight.policy.parameters()):
        assert torch.equal(one, two)
    assert [episode["r"] for episode in again.ep_info_buffer] == [episode["r"] for episode in straight.ep_info_buffer]


def test_buffers_that_cannot_be_kept_are_refused_before_the_training(tmp_path):
    class Odd(ReplayBuffer):
        pass

    agent = sac(replay_buffer_class=Odd)
    with pytest.raises(TypeError, match="a checkpoint needs a plain ReplayBuffer, got Odd"):
        train(agent, Echo(), tmp_path, n_steps=50, judge_every=50, checkpoint_minutes=5)
    assert agent.num_timesteps == 0


def test_environments_without_their_state_begin_new_episodes(tmp_path):
    agent = sac(Sealed).learn(24)
    save_checkpoint(agent, tmp_path / "checkpoint.npz")
    again = sac(Sealed)
    restore_checkpoint(again, tmp_path / "checkpoint.npz")
    go_on(again, 48)
    assert again.num_timesteps == 48
    before, after = (worker.env.envs[0].unwrapped.starts for worker in (agent, again))
    assert after
    assert not any(start in before for start in after)


def test_a_kill_while_it_is_written_leaves_the_one_before(tmp_path, monkeypatch):
    agent, path = ppo(), tmp_path / "checkpoint.npz"
    save_checkpoint(agent.learn(96), path, "first")

    def torn(stream, **arrays):
        stream.write(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", torn)
        with pytest.raises(KeyboardInterrupt):
            save_checkpoint(agent, path, "second")
    assert restore_checkpoint(ppo(), path) == "first"
    assert list(tmp_path.iterdir()) == [path]


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return (Path("exploded").touch, ())


@pytest.mark.parametrize("folder_holds", ["checkpoint.pickle", "checkpoint.npz"])
def test_code_in_a_checkpoint_does_not_run(folder_holds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder_holds).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match=rf"{folder_holds} (was written by an earlier version|cannot be read)"):
        train(ppo(), Sides(), tmp_path, n_steps=96, judge_every=96, checkpoint_minutes=5)
    assert not Path("exploded").exists()


@pytest.mark.parametrize("member", ["0.npy", "text.npy"])
def test_code_in_an_array_of_a_checkpoint_does_not_run(member, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrays = {"0": np.array([Bomb()]), "text": np.array("{}")} if member[0] == "0" else {"text": np.array([Bomb()])}
    np.savez("checkpoint.npz", **arrays)
    with pytest.raises(ValueError, match=r"checkpoint\.npz cannot be read"):
        restore_checkpoint(ppo(), "checkpoint.npz")
    assert not Path("exploded").exists()


@pytest.mark.parametrize("size", [0, 1, 10, 1000, -1, -100])
def test_a_torn_checkpoint_is_one_error_that_names_the_way_out(size, tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(ppo(), path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"checkpoint\.npz cannot be read .*[Dd]elete it to start anew"):
        restore_checkpoint(ppo(), path)


def test_a_flipped_bit_is_found(tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(ppo(), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read"):
        restore_checkpoint(ppo(), path)


@pytest.mark.parametrize(
    ("generator", "damage"),
    [
        ("numpy", lambda state: state | {"state": state["state"] | {"pos": 700}}),  # numpy takes it, and reads on
        ("numpy", lambda state: state | {"state": state["state"] | {"pos": -1}}),
        ("actions", lambda state: state | {"uinteger": 10**40}),
        ("python", lambda state: (3, (0,) * 7, None)),
    ],
)
def test_a_random_generator_in_an_impossible_state_is_refused(generator, damage, tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(ppo(), path)
    content = read_values(path)
    content["generators"][generator] = damage(content["generators"][generator])
    write_values(path, content)
    with pytest.raises(ValueError, match=r"checkpoint\.npz cannot be read"):
        restore_checkpoint(ppo(), path)


def test_the_files_of_a_checkpoint_go_nowhere_else(tmp_path):
    """A name with a path in it, from a file that somebody made, must not be written to."""
    (tmp_path / "run").mkdir()
    judge = Judge(Sides(), tmp_path / "run", 10, range(3))
    judge.restore((1.0, 2, 3, [], {"/../../stolen": b"x", "../stolen": b"x", "json": b"{}"}))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["best.json", "judgements.jsonl", "run"]


def test_an_agent_built_otherwise_is_refused(tmp_path):
    save_checkpoint(ppo(), tmp_path / "checkpoint.npz")
    other = PPO("MlpPolicy", gym.make("CartPole-v1"), device="cpu")
    with pytest.raises(RuntimeError, match="loading state_dict"):
        restore_checkpoint(other, tmp_path / "checkpoint.npz")
