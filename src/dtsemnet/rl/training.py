"""Training with a record: judged on the way, tested at the end, the best and the last policy kept."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import gymnasium as gym
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.vec_env import VecNormalize

import dtsemnet
from dtsemnet.rl.evaluation import JUDGING_EPISODES, JUDGING_SEEDS, TEST_SEEDS, evaluate, is_tree, summary
from dtsemnet.rl.judging import Checkpoints, Clock, Judge, Progress, Watch
from dtsemnet.tree import Model
from dtsemnet_paper.records import Record, append_record

__all__ = ["train", "CHECKPOINT", "versions"]

CHECKPOINT = "checkpoint.pickle"
"""File that a killed training goes on from."""


def train(
    agent: BaseAlgorithm,
    env: gym.Env[Any, Any] | str,
    folder: str | PathLike[str],
    *,
    n_steps: int,
    judge_every: int = 10_000,
    judging_seeds: Sequence[int] = JUDGING_SEEDS[:JUDGING_EPISODES],
    test_seeds: Sequence[int] = TEST_SEEDS,
    callback: BaseCallback | Sequence[BaseCallback] = (),
    feature_names: Sequence[str] | None = None,
    checkpoint_minutes: float | None = None,
    watch: Callable[[Progress], None] | None = None,
    about: Mapping[str, Any] | None = None,
    progress_bar: bool = False,
) -> Record:
    """Train an agent, keep its best and last policy, and write a record of the run.

    Parameters
    ----------
    agent : agent of stable-baselines3
        Built with its environment, not yet trained.
    env : gymnasium.Env or str
        Another copy of the raw environment, to judge and test in.
    folder : path
        Gets ``best.zip`` and ``last.zip``, of tree policies also ``best.json`` and ``last.json`` (model files), of
        agents behind ``VecNormalize`` also its statistics (``best.pkl`` and ``last.pkl``), the judgements in
        ``judgements.jsonl``, and the record as a line of ``record.jsonl``.
    n_steps : int
        Steps to train for.
    judge_every : int, default=10_000
        Steps between judgements.
    judging_seeds, test_seeds : sequence of int
        Seeds of the episodes on the way and at the end; they must have none in common.
    callback : BaseCallback or sequence of them
        Others to call, such as :class:`AnnealPooling`.
    feature_names : sequence of str, optional
        Names of the observation's entries, for the model files.
    checkpoint_minutes : float, optional
        Write ``checkpoint.pickle`` after so many minutes, again and again, and go on from it where there is one: call
        with an agent built alike, and the training goes on where it was killed.
    watch : callable, optional
        Told a :class:`Progress` twice a second.
    about : dict, optional
        What else the record is to tell, such as the configuration.
    progress_bar : bool, default=False
        Show stable-baselines3's progress bar.

    Returns
    -------
    dict
        The record. ``test`` and ``test_last`` hold mean, standard deviation (of the episodes) and its standard error
        for the best and the last policy.

    Examples
    --------
    >>> import tempfile
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet.rl import TreePolicy
    >>> agent = PPO(TreePolicy, "CartPole-v1", n_steps=64, batch_size=64, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = train(agent, "CartPole-v1", folder, n_steps=128, judging_seeds=range(9, 12), test_seeds=range(3))
    >>> record["environment"], record["policy"], record["steps"], len(record["test"]["rewards"])
    ('CartPole-v1', 'TreePolicy', 128, 3)
    """
    _check_seeds(judge_every, judging_seeds, test_seeds)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    judge, clock = Judge(env, place, judge_every, judging_seeds, feature_names), Clock()
    calls: list[BaseCallback] = [callback] if isinstance(callback, BaseCallback) else list(callback)
    calls.append(judge)
    if checkpoint_minutes is not None:
        checkpoints = Checkpoints(place / CHECKPOINT, checkpoint_minutes, judge, clock)
        checkpoints.restore(agent)
        calls.append(checkpoints)
    if watch is not None:
        calls.append(Watch(watch, judge, clock))
    left, fresh = max(0, n_steps - agent.num_timesteps), agent.num_timesteps == 0
    agent.learn(left, callback=CallbackList(calls), reset_num_timesteps=fresh, progress_bar=progress_bar)
    seconds, cpu = clock.spent()
    record = {
        "environment": _name(env),
        **(about or {}),
        "algorithm": type(agent).__name__,
        "policy": type(agent.policy).__name__,
        "seed": agent.seed,
        "steps": agent.num_timesteps,
        "best_step": judge.best_step,
        "judged": judge.best,
        "test": summary(_test(agent, place / "best", env, test_seeds)),
        "test_last": summary(_test(agent, place / "last", env, test_seeds)),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
    }
    append_record(place / "record.jsonl", record)
    (place / CHECKPOINT).unlink(missing_ok=True)
    return record


def versions() -> dict[str, str]:
    """Versions that a record tells."""
    return {
        "dtsemnet": dtsemnet.__version__,
        "stable-baselines3": stable_baselines3.__version__,
        "gymnasium": gym.__version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }


def _check_seeds(judge_every: int, judging_seeds: Sequence[int], test_seeds: Sequence[int]) -> None:
    shared = sorted(set(judging_seeds) & set(test_seeds))
    if shared:
        raise ValueError(f"judging_seeds and test_seeds must have no seed in common, got {shared[:3]}... in both.")
    if judge_every < 1 or not len(judging_seeds) or not len(test_seeds):
        raise ValueError("judge_every must be at least 1, judging_seeds and test_seeds must not be empty.")


def _test(agent: BaseAlgorithm, path: Path, env: gym.Env[Any, Any] | str, seeds: Sequence[int]) -> list[float]:
    """Test what was kept, from its files: the tree where there is one."""
    if is_tree(agent):
        return evaluate(Model.load(path.with_suffix(".json")), env, seeds)
    normalize = agent.get_vec_normalize_env()
    if normalize is not None:
        normalize = VecNormalize.load(str(path.with_suffix(".pkl")), normalize.venv)
    kept = type(agent).load(path.with_suffix(".zip"), device=agent.device)
    return evaluate(kept, env, seeds, vec_normalize=normalize)


def _name(env: gym.Env[Any, Any] | str) -> str:
    if isinstance(env, str):
        return env
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__
