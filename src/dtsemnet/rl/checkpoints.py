"""Checkpoints: all that a training needs to resume after a kill.

A checkpoint is one file, replaced in one step, so that a kill while it is written leaves the previous one. It holds
networks and optimisers, the replay buffer, the statistics of ``VecNormalize``, the states of all random generators, and
the states of the environments (:mod:`dtsemnet.rl.environment_states`), or, if they do not show it, the actions of their
episodes, which are played again (:mod:`dtsemnet.rl.episodes`). So the resumed training is bit for bit the one that was
not killed. If neither is possible, new episodes begin, from seeds not used before.

The file holds numbers, texts and arrays, and reading it runs no code (:mod:`dtsemnet.rl.plain_values`). Checkpoints of
earlier versions were pickles, which can run any code, so they are refused.
"""

from __future__ import annotations

import logging
import random
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import NStepReplayBuffer, ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet.rl.environment_states import environment_state, restore_environment
from dtsemnet.rl.episodes import episodes_of, record_episodes, replay_episodes
from dtsemnet.rl.plain_values import read_values, write_values
from dtsemnet.training.archive import unreadable

if TYPE_CHECKING:
    from dtsemnet.rl.training import Clock, Judge

__all__ = [
    "CHECKPOINT", "CheckpointCallback", "check_buffer", "refuse_pickle", "restore_checkpoint", "restore_statistics",
    "save_checkpoint", "statistics_of",
]  # fmt: skip

CHECKPOINT = "checkpoint.npz"
"""File that a killed training resumes from."""

logger = logging.getLogger("dtsemnet")

COUNTERS = ("num_timesteps", "_n_updates", "_episode_num", "_current_progress_remaining")
POSITION = ("_last_obs", "_last_episode_starts", "_last_original_obs", "ep_info_buffer", "ep_success_buffer")
"""Last observations of an agent, and the results of its last episodes."""
REPLAY_ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
MOMENTS, LAST_VALUES = ("obs_rms", "ret_rms"), ("returns", "old_obs", "old_reward")
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
        """Return to the checkpoint, if there is one; if there is none, make sure that one can be written."""
        record_episodes(agent)
        if not self.path.is_file():
            refuse_pickle(self.path.with_suffix(".pickle"))
            return
        extra = restore_checkpoint(agent, self.path)
        try:
            judged, (wall, cpu) = extra
            self.judge.restore(judged)
            self.clock.earlier = float(wall), float(cpu)
        except (OverflowError, TypeError, ValueError) as error:
            raise unreadable(self.path, error) from error

    def _on_training_start(self) -> None:
        check_buffer(self.model)

    def _on_rollout_start(self) -> None:
        if self.clock.elapsed() - self.last >= 60 * self.minutes and self.model.num_timesteps:
            save_checkpoint(self.model, self.path, (self.judge.state(), self.clock.total()))
            self.last = self.clock.elapsed()

    def _on_step(self) -> bool:
        return True


def save_checkpoint(agent: BaseAlgorithm, path: str | PathLike[str], extra: Any = None) -> None:
    """Write the state of a training, between an update and the next rollout, and ``extra``, which must be plain values.

    Raises
    ------
    OSError
        If it cannot be written; it names the file, and the checkpoint before it is still there.
    """
    check_buffer(agent)
    buffer, replay = getattr(agent, "replay_buffer", None), None
    if buffer is not None:  # the filled rows alone: for most of the time most of a million rows are empty
        arrays = {name: getattr(buffer, name)[: buffer.size()] for name in REPLAY_ARRAYS}
        replay = arrays | {"pos": buffer.pos, "full": buffer.full}
    normalize = agent.get_vec_normalize_env()
    content = {
        "parameters": agent.get_parameters(),
        "variables": {name: getattr(agent, name) for name in agent._get_torch_save_params()[1]},
        "counters": {name: getattr(agent, name) for name in COUNTERS},
        "position": {name: getattr(agent, name) for name in POSITION},
        "environments": environment_state(agent.env),
        "episodes": episodes_of(agent),
        "statistics": None if normalize is None else statistics_of(normalize),
        "replay": replay,
        "generators": {
            "python": random.getstate(),
            "numpy": np.random.get_state(legacy=False),
            "torch": torch.get_rng_state(),
            "actions": agent.action_space.np_random.bit_generator.state,
        },
        "extra": extra,
    }
    write_values(path, content)


def restore_checkpoint(agent: BaseAlgorithm, path: str | PathLike[str]) -> Any:
    """Put an agent, built like the one that was saved, into the saved state; return the ``extra`` that was kept.

    ``agent.learn(n_steps - agent.num_timesteps, reset_num_timesteps=False)`` then continues.

    Raises
    ------
    ValueError
        If the file is torn, or no checkpoint; it names the file and the way out.
    RuntimeError
        If the agent was built otherwise.

    Examples
    --------
    >>> import tempfile
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet.rl import TreePolicy, policy_tree
    >>> build = lambda: PPO(TreePolicy, "CartPole-v1", n_steps=64, batch_size=64, seed=0, device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     agent = build().learn(128)
    ...     save_checkpoint(agent, f"{folder}/state.npz", "here")
    ...     agent.learn(128, reset_num_timesteps=False).num_timesteps
    ...     again = build()
    ...     restore_checkpoint(again, f"{folder}/state.npz")
    ...     again.learn(128, reset_num_timesteps=False).num_timesteps
    256
    'here'
    256
    >>> policy_tree(agent) == policy_tree(again)
    True
    """
    content = read_values(path)
    try:
        _restore(agent, content)
        return content["extra"]
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise unreadable(path, error) from error


def refuse_pickle(path: Path) -> None:
    """Refuse to go on from a file of an earlier version, which was a pickle: reading it could run any code."""
    if path.is_file():
        raise ValueError(
            f"{path} was written by an earlier version and is not read, because a pickle can run any code. Finish the "
            "run with that version, or delete the file (rl train: add --fresh) to start again."
        )


def statistics_of(normalize: VecNormalize) -> dict[str, Any]:
    """Give what a ``VecNormalize`` has learnt, as plain values.

    Examples
    --------
    >>> from stable_baselines3.common.env_util import make_vec_env
    >>> one, two = (VecNormalize(make_vec_env("CartPole-v1", 2)) for _ in range(2))
    >>> _ = one.reset()
    >>> restore_statistics(two, statistics_of(one))
    >>> two.obs_rms.count == one.obs_rms.count
    True
    """
    return {
        "moments": {name: _moments_of(getattr(normalize, name, None)) for name in MOMENTS},
        "last": {name: getattr(normalize, name, None) for name in LAST_VALUES},
    }


def restore_statistics(normalize: VecNormalize, statistics: dict[str, Any]) -> None:
    """Put a ``VecNormalize`` into the state that :func:`statistics_of` gave."""
    for name in MOMENTS:
        setattr(normalize, name, _moments_from(statistics["moments"][name]))
    for name in LAST_VALUES:
        setattr(normalize, name, statistics["last"][name])


def check_buffer(agent: BaseAlgorithm) -> None:
    """Refuse an agent whose replay buffer cannot be kept; best called before it is trained."""
    buffer = getattr(agent, "replay_buffer", None)
    if buffer is not None and (type(buffer) not in (ReplayBuffer, NStepReplayBuffer) or buffer.optimize_memory_usage):
        raise TypeError(f"a checkpoint needs a plain ReplayBuffer, got {type(buffer).__name__}.")


def _restore(agent: BaseAlgorithm, content: dict[str, Any]) -> None:
    parameters = {name: content["parameters"][name] for name in agent._get_torch_save_params()[0]}
    agent.set_parameters(parameters, exact_match=True, device=agent.device)
    for name in agent._get_torch_save_params()[1]:
        getattr(agent, name).data.copy_(content["variables"][name])
    for name in COUNTERS:
        setattr(agent, name, content["counters"][name])
    for name in POSITION:
        setattr(agent, name, content["position"][name])
    normalize = agent.get_vec_normalize_env()
    if normalize is not None:
        restore_statistics(normalize, content["statistics"])
    buffer, replay, states = getattr(agent, "replay_buffer", None), content["replay"], content["generators"]
    if buffer is not None and replay is not None:
        for name in REPLAY_ARRAYS:
            getattr(buffer, name)[: len(replay[name])] = replay[name]
        buffer.pos, buffer.full = replay["pos"], replay["full"]
    _restore_environments(agent, content["environments"], content["episodes"])
    random.setstate(states["python"])
    if not 0 <= states["numpy"]["state"]["pos"] <= 624:  # numpy would read behind its 624 numbers
        raise ValueError("the position of the random generator is out of range")
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    agent.action_space.np_random.bit_generator.state = states["actions"]


def _restore_environments(agent: BaseAlgorithm, state: Any, episodes: Any) -> None:
    """Restore the environments, or else start new episodes, different from the first ones of the run."""
    assert agent.env is not None
    if state is not None:
        agent.env.unwrapped.reset()  # makes the parts that an episode needs
        if restore_environment(agent.env, state):
            return
    elif episodes is not None and replay_episodes(agent, episodes):
        return
    logger.warning("dtsemnet: the environments cannot be put back into their episodes; new ones begin")
    agent._last_obs = None
    seed = np.random.SeedSequence([agent.seed or 0, agent.num_timesteps]).generate_state(1)[0]
    agent.env.seed(int(seed))


def _moments_of(statistics: Any) -> Any:
    """Give mean, variance and count of running statistics, of which there may be a dictionary, or none."""
    if isinstance(statistics, dict):
        return {name: _moments_of(part) for name, part in statistics.items()}
    return None if statistics is None else (statistics.mean, statistics.var, statistics.count)


def _moments_from(moments: Any) -> Any:
    """Undo :func:`_moments_of`."""
    if isinstance(moments, dict):
        return {name: _moments_from(part) for name, part in moments.items()}
    if moments is None:
        return None
    statistics = RunningMeanStd(shape=np.shape(moments[0]))
    statistics.mean, statistics.var, statistics.count = moments
    return statistics
