"""Training with a record: judged on the way, tested at the end, the best and the last policy kept.

Three kinds of episodes never meet: those trained on, those that judge a policy on the way (the best is
kept by them), and those that test it at the end. All judge the deterministic policy, one episode a seed, in the
raw environment. Judging does not touch the training: it learns the same policy with it and without.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import stable_baselines3
import torch
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.vec_env import VecNormalize

import dtsemnet
from dtsemnet.bench.records import Record, append_record
from dtsemnet.rl.actors import DiscreteActor
from dtsemnet.rl.continuous import RegressionActor
from dtsemnet.rl.extraction import policy_tree
from dtsemnet.tree import Model

__all__ = ["evaluate", "train", "JUDGING_SEEDS", "TEST_SEEDS"]

JUDGING_SEEDS = range(10_000, 10_030)
"""Seeds of the episodes that judge a policy on the way."""
TEST_SEEDS = range(500, 600)
"""Seeds of the episodes that test it at the end, the paper's."""


def evaluate(
    policy: BaseAlgorithm | Model,
    env: gym.Env[Any, Any] | str,
    seeds: Iterable[int] = TEST_SEEDS,
    *,
    vec_normalize: VecNormalize | None = None,
) -> list[float]:
    """Play one episode a seed without exploration and give the sums of rewards.

    Parameters
    ----------
    policy : agent of stable-baselines3, or Model
        An agent behind ``VecNormalize`` gets its observations normalised; a model reads them raw.
    env : gymnasium.Env or str
        The raw environment, or its name.
    seeds : iterable of int, default=TEST_SEEDS
        Seeds of the resets.
    vec_normalize : VecNormalize, optional
        Statistics for an agent that was loaded without its environment; a model has its own.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet.rl import TreePolicy, policy_tree
    >>> agent = PPO(TreePolicy, "CartPole-v1", n_steps=64, batch_size=64, seed=0)
    >>> evaluate(agent, "CartPole-v1", range(5)) == evaluate(policy_tree(agent), "CartPole-v1", range(5))
    True
    """
    world: gym.Env[Any, Any] = gym.make(env) if isinstance(env, str) else env
    act = _act_by_tree(policy, world) if isinstance(policy, Model) else _act_by_agent(policy, vec_normalize)
    rewards = []
    for seed in seeds:
        observation, _ = world.reset(seed=seed)
        total, done = 0.0, False
        while not done:
            observation, reward, over, cut, _ = world.step(act(observation))
            total += float(reward)
            done = over or cut
        rewards.append(total)
    return rewards


def train(
    agent: BaseAlgorithm,
    env: gym.Env[Any, Any] | str,
    folder: str | PathLike[str],
    *,
    n_steps: int,
    judge_every: int = 10_000,
    judging_seeds: Sequence[int] = JUDGING_SEEDS,
    test_seeds: Sequence[int] = TEST_SEEDS,
    callback: BaseCallback | Sequence[BaseCallback] = (),
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
    shared = sorted(set(judging_seeds) & set(test_seeds))
    if shared:
        raise ValueError(f"judging_seeds and test_seeds must have no seed in common, got {shared[:3]}... in both.")
    if judge_every < 1 or not len(judging_seeds) or not len(test_seeds):
        raise ValueError("judge_every must be at least 1, judging_seeds and test_seeds must not be empty.")
    world: gym.Env[Any, Any] = gym.make(env) if isinstance(env, str) else env
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    judge = _Judge(world, place, judge_every, judging_seeds)
    others = [callback] if isinstance(callback, BaseCallback) else list(callback)
    started, cpu = time.perf_counter(), time.process_time()
    agent.learn(n_steps, callback=CallbackList([*others, judge]), progress_bar=progress_bar)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    last = _summary(evaluate(agent, world, test_seeds))
    best = _summary(_test_best(agent, place, world, test_seeds))
    record = {
        "environment": world.spec.id if world.spec is not None else type(world.unwrapped).__name__,
        "algorithm": type(agent).__name__,
        "policy": type(agent.policy).__name__,
        "seed": agent.seed,
        "steps": agent.num_timesteps,
        "best_step": judge.best_step,
        "judged": judge.best,
        "test": best,
        "test_last": last,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
    }
    append_record(place / "record.jsonl", record)
    return record


class _Judge(BaseCallback):
    """Judge every so many steps, note it, and keep the policy when it is the best so far."""

    def __init__(self, env: gym.Env[Any, Any], folder: Path, every: int, seeds: Sequence[int]) -> None:
        super().__init__()
        self.env, self.folder, self.every, self.seeds = env, folder, every, seeds
        self.best, self.best_step = -np.inf, 0
        self.next = every

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.next:
            self.next += self.every * (1 + (self.num_timesteps - self.next) // self.every)
            self._judge()
        return True

    def _on_training_end(self) -> None:
        self._judge()  # the last update came after the last step
        _keep(self.model, self.folder / "last")

    def _judge(self) -> None:
        rewards = evaluate(self.model, self.env, self.seeds)
        mean = float(np.mean(rewards))
        append_record(self.folder / "judgements.jsonl", {"step": self.num_timesteps, "mean": mean, "rewards": rewards})
        self.logger.record("eval/mean_reward", mean)
        if mean >= self.best:  # among equals the latest: it has seen more
            self.best, self.best_step = mean, self.num_timesteps
            _keep(self.model, self.folder / "best")


def _keep(agent: BaseAlgorithm, path: Path) -> None:
    agent.save(path.with_suffix(".zip"))
    normalize = agent.get_vec_normalize_env()
    if normalize is not None:
        normalize.save(str(path.with_suffix(".pkl")))
    if _is_tree(agent):
        policy_tree(agent).save(path.with_suffix(".json"))


def _test_best(agent: BaseAlgorithm, folder: Path, env: gym.Env[Any, Any], seeds: Sequence[int]) -> list[float]:
    """Test what was kept, from its files: the tree where there is one."""
    if _is_tree(agent):
        return evaluate(Model.load(folder / "best.json"), env, seeds)
    normalize = agent.get_vec_normalize_env()
    if normalize is not None:
        normalize = VecNormalize.load(str(folder / "best.pkl"), normalize.venv)
    best = type(agent).load(folder / "best.zip", device=agent.device)
    return evaluate(best, env, seeds, vec_normalize=normalize)


def _is_tree(agent: BaseAlgorithm) -> bool:
    return isinstance(getattr(agent.policy, "actor", None), DiscreteActor | RegressionActor)


def _act_by_agent(agent: BaseAlgorithm, normalize: VecNormalize | None) -> Callable[[NDArray[Any]], Any]:
    if normalize is None:
        normalize = agent.get_vec_normalize_env()

    def act(observation: NDArray[Any]) -> Any:
        seen = observation if normalize is None else np.asarray(normalize.normalize_obs(observation))
        return agent.predict(seen, deterministic=True)[0]

    return act


def _act_by_tree(model: Model, env: gym.Env[Any, Any]) -> Callable[[NDArray[Any]], Any]:
    shape, dtype = env.action_space.shape, env.action_space.dtype
    return lambda observation: model.predict(np.reshape(observation, (1, -1))).astype(dtype).reshape(shape)[()]


def _summary(rewards: list[float]) -> dict[str, Any]:
    """Mean, standard deviation with n - 1, and the standard error of the mean."""
    std = float(np.std(rewards, ddof=1)) if len(rewards) > 1 else 0.0
    return {"mean": float(np.mean(rewards)), "std": std, "sem": std / len(rewards) ** 0.5, "rewards": rewards}


def _versions() -> dict[str, str]:
    return {
        "dtsemnet": dtsemnet.__version__,
        "stable-baselines3": stable_baselines3.__version__,
        "gymnasium": gym.__version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }
