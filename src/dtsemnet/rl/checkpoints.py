"""Checkpoints: all that a training needs to go on after a kill.

One file, put in place in one step, so that a kill while it is written leaves the one before. It holds networks
and optimisers, the replay buffer, the statistics of ``VecNormalize``, the states of all random generators, and
the environments where they can be pickled. Then the training goes on to the bit as if nothing had happened.
Environments of Box2D cannot be pickled: there it goes on with new episodes, from seeds not used before.
"""

from __future__ import annotations

import os
import pickle
import random
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.utils import EzPickle
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import NStepReplayBuffer, ReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from stable_baselines3.common.vec_env.base_vec_env import CloudpickleWrapper

__all__ = ["check_buffer", "restore_checkpoint", "save_checkpoint"]

COUNTERS = ("num_timesteps", "_n_updates", "_episode_num", "_current_progress_remaining")
"""What an agent counts."""
STANDING = ("_last_obs", "_last_episode_starts", "_last_original_obs", "ep_info_buffer", "ep_success_buffer")
"""Where an agent stands in its environments, and how its last episodes went."""
ROWS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
"""Arrays of a replay buffer."""
STATISTICS = ("obs_rms", "ret_rms", "returns", "old_obs", "old_reward")
"""What ``VecNormalize`` learns and remembers."""


def save_checkpoint(agent: BaseAlgorithm, path: str | PathLike[str], extra: Any = None) -> None:
    """Write the state of a training, between an update and the next rollout.

    Parameters
    ----------
    agent : agent of stable-baselines3
    path : path
        File to write or replace.
    extra : object
        What else to keep; it must be possible to pickle it.
    """
    check_buffer(agent)
    content = {
        "parameters": agent.get_parameters(),
        "variables": {name: getattr(agent, name).detach() for name in agent._get_torch_save_params()[1]},
        "counters": {name: getattr(agent, name) for name in COUNTERS},
        "standing": {name: getattr(agent, name) for name in STANDING},
        "worlds": _pickled_worlds(agent),
        "statistics": {name: getattr(agent.get_vec_normalize_env(), name, None) for name in STATISTICS},
        "replay": _rows(agent),
        "generators": _generators(agent),
        "extra": extra,
    }
    part = Path(f"{path}.part")
    with part.open("wb") as stream:
        pickle.dump(content, stream, protocol=5)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)


def restore_checkpoint(agent: BaseAlgorithm, path: str | PathLike[str]) -> Any:
    """Put an agent, built as the one that was saved, into the saved state; give what else was kept.

    ``agent.learn(n_steps - agent.num_timesteps, reset_num_timesteps=False)`` then goes on.

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
    for name, value in content["statistics"].items():
        if isinstance(agent.get_vec_normalize_env(), VecNormalize):
            setattr(agent.get_vec_normalize_env(), name, value)
    _fill(agent, content["replay"])
    _put_worlds(agent, content["worlds"])
    _set_generators(agent, content["generators"])
    return content["extra"]


def _base(agent: BaseAlgorithm) -> DummyVecEnv | None:
    base = None if agent.env is None else agent.env.unwrapped
    return base if isinstance(base, DummyVecEnv) else None


def _pickled_worlds(agent: BaseAlgorithm) -> bytes | None:
    base = _base(agent)
    if base is None or any(isinstance(world.unwrapped, EzPickle) for world in base.envs):
        return None  # it would be built anew where it is loaded, in its first state
    try:
        return pickle.dumps(CloudpickleWrapper(base.envs))
    except Exception:  # an environment says in its own way that it cannot be pickled
        return None


def _put_worlds(agent: BaseAlgorithm, worlds: bytes | None) -> None:
    """Put the environments back, or else start new episodes, which must not be those that the run began with."""
    base = _base(agent)
    if worlds is not None and base is not None:
        base.envs = pickle.loads(worlds).var
        return
    agent._last_obs = None
    assert agent.env is not None
    fresh = np.random.SeedSequence([agent.seed or 0, agent.num_timesteps]).generate_state(1)[0]
    agent.env.seed(int(fresh))


def check_buffer(agent: BaseAlgorithm) -> None:
    """Refuse an agent whose replay buffer cannot be kept; best asked before it is trained."""
    buffer = getattr(agent, "replay_buffer", None)
    if buffer is not None and (type(buffer) not in (ReplayBuffer, NStepReplayBuffer) or buffer.optimize_memory_usage):
        raise TypeError(f"a checkpoint needs a plain ReplayBuffer, got {type(buffer).__name__}.")


def _rows(agent: BaseAlgorithm) -> dict[str, Any] | None:
    """The rows of a replay buffer that are filled: of a million most are not, for most of the time."""
    buffer = getattr(agent, "replay_buffer", None)
    if buffer is None:
        return None
    kept = {name: getattr(buffer, name)[: buffer.size()] for name in ROWS}
    return kept | {"pos": buffer.pos, "full": buffer.full}


def _fill(agent: BaseAlgorithm, rows: dict[str, Any] | None) -> None:
    buffer = getattr(agent, "replay_buffer", None)
    if rows is None or buffer is None:
        return
    for name in ROWS:
        getattr(buffer, name)[: len(rows[name])] = rows[name]
    buffer.pos, buffer.full = rows["pos"], rows["full"]


def _generators(agent: BaseAlgorithm) -> dict[str, Any]:
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state(),
        "actions": agent.action_space.np_random.bit_generator.state,
    }


def _set_generators(agent: BaseAlgorithm, states: dict[str, Any]) -> None:
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    agent.action_space.np_random.bit_generator.state = states["actions"]
