"""Checkpoints: all that a training needs to resume after a kill.

A checkpoint is one file, replaced in one step, so that a kill while it is written leaves the previous one. It holds
networks and optimisers, the replay buffer, the statistics of ``VecNormalize``, the states of all random generators, and
the environments if they can be pickled. In that case the resumed training is bit for bit the one that was not killed.
Environments of Box2D cannot be pickled: they resume with new episodes, from seeds not used before.
"""

from __future__ import annotations

import os
import pickle
import random
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium.utils import EzPickle
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import NStepReplayBuffer, ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from stable_baselines3.common.vec_env.base_vec_env import CloudpickleWrapper

if TYPE_CHECKING:
    from dtsemnet.rl.training import Clock, Judge

__all__ = ["CheckpointCallback", "check_buffer", "restore_checkpoint", "save_checkpoint"]

COUNTERS = ("num_timesteps", "_n_updates", "_episode_num", "_current_progress_remaining")
POSITION = ("_last_obs", "_last_episode_starts", "_last_original_obs", "ep_info_buffer", "ep_success_buffer")
"""Last observations of an agent, and the results of its last episodes."""
REPLAY_ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
STATISTICS = ("obs_rms", "ret_rms", "returns", "old_obs", "old_reward")
"""Attributes that ``VecNormalize`` learns."""


class CheckpointCallback(BaseCallback):
    """Write a checkpoint at regular intervals, before a rollout: between an update and a rollout nothing is half done.

    It includes the states of the judge and of the clock.
    """

    def __init__(self, path: Path, minutes: float, judge: Judge, clock: Clock) -> None:
        super().__init__()
        self.path, self.minutes, self.judge, self.clock = path, minutes, judge, clock
        self.last = 0.0

    def restore(self, agent: BaseAlgorithm) -> None:
        """Return to the checkpoint, if there is one."""
        if self.path.is_file():
            judged, self.clock.earlier = restore_checkpoint(agent, self.path)
            self.judge.restore(judged)

    def _on_training_start(self) -> None:
        check_buffer(self.model)

    def _on_rollout_start(self) -> None:
        if self.clock.elapsed() - self.last >= 60 * self.minutes and self.model.num_timesteps:
            save_checkpoint(self.model, self.path, (self.judge.state(), self.clock.total()))
            self.last = self.clock.elapsed()

    def _on_step(self) -> bool:
        return True


def save_checkpoint(agent: BaseAlgorithm, path: str | PathLike[str], extra: Any = None) -> None:
    """Write the state of a training, between an update and the next rollout, and ``extra``, which must pickle."""
    check_buffer(agent)
    buffer, replay = getattr(agent, "replay_buffer", None), None
    if buffer is not None:  # the filled rows alone: for most of the time most of a million rows are empty
        arrays = {name: getattr(buffer, name)[: buffer.size()] for name in REPLAY_ARRAYS}
        replay = arrays | {"pos": buffer.pos, "full": buffer.full}
    content = {
        "parameters": agent.get_parameters(),
        "variables": {name: getattr(agent, name).detach() for name in agent._get_torch_save_params()[1]},
        "counters": {name: getattr(agent, name) for name in COUNTERS},
        "standing": {name: getattr(agent, name) for name in POSITION},
        "worlds": _pickle_environments(agent),
        "statistics": {name: getattr(agent.get_vec_normalize_env(), name, None) for name in STATISTICS},
        "replay": replay,
        "generators": {
            "python": random.getstate(),
            "numpy": np.random.get_state(),
            "torch": torch.get_rng_state(),
            "actions": agent.action_space.np_random.bit_generator.state,
        },
        "extra": extra,
    }
    part = Path(f"{path}.part")
    with part.open("wb") as stream:
        pickle.dump(content, stream, protocol=5)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)


def restore_checkpoint(agent: BaseAlgorithm, path: str | PathLike[str]) -> Any:
    """Put an agent, built like the one that was saved, into the saved state; return the ``extra`` that was kept.

    ``agent.learn(n_steps - agent.num_timesteps, reset_num_timesteps=False)`` then continues.

    Examples
    --------
    >>> import tempfile
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet.rl import TreePolicy, policy_tree
    >>> build = lambda: PPO(TreePolicy, "CartPole-v1", n_steps=64, batch_size=64, seed=0, device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     agent = build().learn(128)
    ...     save_checkpoint(agent, f"{folder}/state", "here")
    ...     agent.learn(128, reset_num_timesteps=False).num_timesteps
    ...     again = build()
    ...     restore_checkpoint(again, f"{folder}/state")
    ...     again.learn(128, reset_num_timesteps=False).num_timesteps
    256
    'here'
    256
    >>> policy_tree(agent) == policy_tree(again)
    True
    """
    with Path(path).open("rb") as stream:
        content = pickle.load(stream)
    agent.set_parameters(content["parameters"], exact_match=True, device=agent.device)
    for name, value in content["variables"].items():
        getattr(agent, name).data.copy_(value)
    for name, value in {**content["counters"], **content["standing"]}.items():
        setattr(agent, name, value)
    normalize = agent.get_vec_normalize_env()
    if isinstance(normalize, VecNormalize):
        for name, value in content["statistics"].items():
            setattr(normalize, name, value)
    buffer, replay, states = getattr(agent, "replay_buffer", None), content["replay"], content["generators"]
    if buffer is not None and replay is not None:
        for name in REPLAY_ARRAYS:
            getattr(buffer, name)[: len(replay[name])] = replay[name]
        buffer.pos, buffer.full = replay["pos"], replay["full"]
    _restore_environments(agent, content["worlds"])
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    agent.action_space.np_random.bit_generator.state = states["actions"]
    return content["extra"]


def check_buffer(agent: BaseAlgorithm) -> None:
    """Refuse an agent whose replay buffer cannot be kept; best called before it is trained."""
    buffer = getattr(agent, "replay_buffer", None)
    if buffer is not None and (type(buffer) not in (ReplayBuffer, NStepReplayBuffer) or buffer.optimize_memory_usage):
        raise TypeError(f"a checkpoint needs a plain ReplayBuffer, got {type(buffer).__name__}.")


def _base_env(agent: BaseAlgorithm) -> DummyVecEnv | None:
    base = None if agent.env is None else agent.env.unwrapped
    return base if isinstance(base, DummyVecEnv) else None


def _pickle_environments(agent: BaseAlgorithm) -> bytes | None:
    base = _base_env(agent)
    if base is None or any(isinstance(env.unwrapped, EzPickle) for env in base.envs):
        return None  # unpickling would construct a new environment, in its first state
    try:
        return pickle.dumps(CloudpickleWrapper(base.envs))
    except Exception:  # each environment raises an error of its own if it cannot be pickled
        return None


def _restore_environments(agent: BaseAlgorithm, environments: bytes | None) -> None:
    """Restore the environments, or else start new episodes, different from the first ones of the run."""
    base = _base_env(agent)
    if environments is not None and base is not None:
        base.envs = pickle.loads(environments).var
        return
    agent._last_obs = None
    assert agent.env is not None
    seed = np.random.SeedSequence([agent.seed or 0, agent.num_timesteps]).generate_state(1)[0]
    agent.env.seed(int(seed))
