"""Training with a record: the policy is judged on the way, the best and the last are kept and tested at the end.

:func:`train` runs ``agent.learn`` with callbacks: a :class:`Judge` that plays episodes without exploration and keeps
the best policy, checkpoints to resume from, and a report of the progress. None of them touches the training: the agent
learns the same policy with them and without.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet import versions
from dtsemnet.rl.checkpoints import CheckpointCallback
from dtsemnet.rl.evaluation import JUDGING_EPISODES, JUDGING_SEEDS, TEST_SEEDS, EnvOrName, evaluate, is_tree, summary
from dtsemnet.rl.extraction import policy_tree
from dtsemnet.tree import Model
from dtsemnet.tree.file import write_atomically

__all__ = [
    "CHECKPOINT", "Clock", "Judge", "Progress", "Record", "ReportProgress", "Watch", "append_record", "read_lines",
    "train",
]  # fmt: skip

Record: TypeAlias = dict[str, Any]
CHECKPOINT = "checkpoint.pickle"
"""File that a killed training resumes from."""
SCREENING = 30
"""Episodes that judge every policy; one that may be the best is judged by all."""


def train(
    agent: BaseAlgorithm,
    env: EnvOrName,
    folder: str | PathLike[str],
    *,
    n_steps: int,
    judge_every: int = 10_000,
    judging_seeds: Sequence[int] = JUDGING_SEEDS[:JUDGING_EPISODES],
    test_seeds: Sequence[int] = TEST_SEEDS,
    callback: BaseCallback | Sequence[BaseCallback] = (),
    feature_names: Sequence[str] | None = None,
    checkpoint_minutes: float | None = None,
    watch: Watch | None = None,
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
        Receives ``best.zip`` and ``last.zip``; for tree policies also ``best.json`` and ``last.json`` (model files);
        for agents behind ``VecNormalize`` also its statistics (``best.pkl`` and ``last.pkl``); the judgements in
        ``judgements.jsonl``, and the record as a line of ``record.jsonl``.
    n_steps : int
        Steps to train for.
    judge_every : int, default=10_000
        Steps between judgements.
    judging_seeds, test_seeds : sequence of int
        Seeds of the episodes on the way and at the end; they must have none in common.
    callback : BaseCallback or sequence of BaseCallback
        Further callbacks, such as :class:`AnnealPooling`.
    feature_names : sequence of str, optional
        Names of the entries of an observation, for the model files.
    checkpoint_minutes : float, optional
        Minutes between two checkpoints in ``checkpoint.pickle``. If the file exists, the training resumes from it:
        call with an agent that was built in the same way.
    watch : callable, optional
        Called with a :class:`Progress` twice a second.
    about : dict, optional
        Further entries of the record, such as the configuration.
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
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    judge, clock = Judge(env, target, judge_every, judging_seeds, feature_names), Clock()
    callbacks: list[BaseCallback] = [callback] if isinstance(callback, BaseCallback) else list(callback)
    callbacks.append(judge)
    if checkpoint_minutes is not None:
        checkpoints = CheckpointCallback(target / CHECKPOINT, checkpoint_minutes, judge, clock)
        checkpoints.restore(agent)
        callbacks.append(checkpoints)
    if watch is not None:
        callbacks.append(ReportProgress(watch, judge, clock))
    remaining, is_new = max(0, n_steps - agent.num_timesteps), agent.num_timesteps == 0
    agent.learn(remaining, callback=CallbackList(callbacks), reset_num_timesteps=is_new, progress_bar=progress_bar)
    spent = clock.entries()
    record = {
        "environment": env if isinstance(env, str) else env.spec.id if env.spec else type(env.unwrapped).__name__,
        **(about or {}),
        "algorithm": type(agent).__name__,
        "policy": type(agent.policy).__name__,
        "seed": agent.seed,
        "steps": agent.num_timesteps,
        "best_step": judge.best_step,
        "judged": judge.best,
        "test": summary(_test(agent, target / "best", env, test_seeds)),
        "test_last": summary(_test(agent, target / "last", env, test_seeds)),
    }
    record = append_record(target / "record.jsonl", record | spent)
    (target / CHECKPOINT).unlink(missing_ok=True)
    return record


@dataclass(frozen=True)
class Progress:
    """How far a training is; rewards are None until there are any."""

    step: int
    n_steps: int
    reward: float | None
    """Mean of the last training episodes, with exploration."""
    judged: float | None
    """Mean of the last judgement, without exploration."""
    best: float | None
    seconds: float
    """Time spent, including the time before a kill."""
    left: float | None
    """Estimate of the time left."""


Watch: TypeAlias = Callable[[Progress], None]


class Clock:
    """Wall and CPU time, continued after a kill.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.earlier = (100.0, 90.0)
    >>> clock.total()[0] >= 100.0
    True
    """

    def __init__(self) -> None:
        self.earlier = (0.0, 0.0)
        self.started = (time.perf_counter(), time.process_time())

    def elapsed(self) -> float:
        """Seconds in this process."""
        return time.perf_counter() - self.started[0]

    def total(self) -> tuple[float, float]:
        """Seconds of wall time and of CPU time, in this process and before it."""
        return self.earlier[0] + self.elapsed(), self.earlier[1] + time.process_time() - self.started[1]

    def entries(self) -> Record:
        """Give the total as entries of a record."""
        return {name: round(seconds, 1) for name, seconds in zip(("seconds", "cpu_seconds"), self.total())}


class Judge(BaseCallback):
    """Judge the policy at regular steps, and keep it if it is the best so far.

    Thirty episodes identify a bad policy, but not the best of several good ones: a policy whose mean is above the best,
    or within a standard error of it, plays all the seeds before the two are compared. Among equals the first is kept.
    The arguments are those of :func:`train`; ``folder`` receives the judgements, and the best and the last policy.
    """

    def __init__(
        self, env: EnvOrName, folder: Path, every: int, seeds: Sequence[int], names: Sequence[str] | None = None
    ) -> None:
        super().__init__()
        self.env, self.folder, self.every, self.seeds, self.names = env, folder, every, seeds, names
        self.best, self.best_step = -np.inf, 0
        self.next = every
        self.judgements: list[Record] = []
        self._write()  # replaces the judgements of an abandoned run

    def state(self) -> Any:
        """Give all that is needed to resume, including the files of the best policy."""
        files = {path.name: path.read_bytes() for path in self.folder.glob("best.*")}
        return self.best, self.best_step, self.next, self.judgements, files

    def restore(self, state: Any) -> None:
        """Return to a state and forget what came after it."""
        self.best, self.best_step, self.next, self.judgements, files = state
        for name, content in files.items():
            write_atomically(self.folder / name, content)
        self._write()

    def _write(self) -> None:
        lines = [json.dumps(judgement) + "\n" for judgement in self.judgements]
        write_atomically(self.folder / "judgements.jsonl", "".join(lines))

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.next:
            self.next += self.every * (1 + (self.num_timesteps - self.next) // self.every)
            self._judge()
        return True

    def _on_training_end(self) -> None:
        self._judge()  # the last update came after the last step
        self._keep("last")

    def _judge(self) -> None:
        # The tree itself, which is what is kept: it is also a hundred times faster than the network.
        policy = policy_tree(self.model) if is_tree(self.model) else self.model
        rewards = evaluate(policy, self.env, self.seeds[:SCREENING])
        if np.mean(rewards) + summary(rewards)["sem"] > self.best and len(self.seeds) > SCREENING:
            rewards += evaluate(policy, self.env, self.seeds[SCREENING:])
        mean = float(np.mean(rewards))
        self.judgements.append({"step": self.num_timesteps, "mean": mean, "rewards": rewards})
        self._write()
        self.logger.record("eval/mean_reward", mean)
        # Among equals the first: at the floor or the ceiling of rewards all tie, and more episodes show no difference.
        if mean > self.best and len(rewards) == len(self.seeds):
            self.best, self.best_step = mean, self.num_timesteps
            self._keep("best")

    def _keep(self, name: str) -> None:
        self.model.save(self.folder / f"{name}.zip")
        normalize = self.model.get_vec_normalize_env()
        if normalize is not None:
            normalize.save(str(self.folder / f"{name}.pkl"))
        if is_tree(self.model):
            policy_tree(self.model, feature_names=self.names).save(self.folder / f"{name}.json")


class ReportProgress(BaseCallback):
    """Report the progress of a training twice a second and at its end."""

    def __init__(self, report: Watch, judge: Judge, clock: Clock) -> None:
        super().__init__()
        self.report, self.judge, self.clock = report, judge, clock
        self.last, self.first_step = 0.0, 0

    def _on_training_start(self) -> None:
        self.first_step = self.num_timesteps

    def _on_step(self) -> bool:
        if self.clock.elapsed() - self.last >= 0.5:
            self._report()
        return True

    def _on_training_end(self) -> None:
        self._report()

    def _report(self) -> None:
        self.last = self.clock.elapsed()
        total = self.model._total_timesteps
        done, left = self.num_timesteps - self.first_step, max(0, total - self.num_timesteps)
        episodes = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        judgements = self.judge.judgements
        progress = Progress(
            step=min(self.num_timesteps, total),  # the last rollout may go beyond the end
            n_steps=total,
            reward=float(np.mean(episodes)) if episodes else None,
            judged=judgements[-1]["mean"] if judgements else None,
            best=self.judge.best if judgements else None,
            seconds=self.clock.total()[0],
            left=left * self.last / done if done else None,
        )
        self.report(progress)


def append_record(path: Path, entries: Record) -> Record:
    """Append a record, with the date and the versions, as a line of JSON; a torn last line that a kill left is lost."""
    packages = ("dtsemnet", "stable-baselines3", "gymnasium", "torch", "python")
    record = entries | {"date": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions(*packages)}
    write_atomically(path, "".join(json.dumps(line) + "\n" for line in [*read_lines(path), record]))
    return record


def read_lines(path: Path) -> list[Record]:
    """Read the records of a file, one per line; a missing file has none, and a torn last line does not count.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "record.jsonl")
    ...     _ = file.write_text('{"seed": 1}\\n{"se')
    ...     _ = append_record(file, {"seed": 2})
    ...     [record["seed"] for record in read_lines(file)]
    [1, 2]
    """
    text = path.read_text("utf-8") if path.is_file() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _test(agent: BaseAlgorithm, path: Path, env: EnvOrName, seeds: Sequence[int]) -> list[float]:
    """Test a policy that was kept, loaded from its files."""
    if is_tree(agent):
        return evaluate(Model.load(path.with_suffix(".json")), env, seeds)
    normalize = agent.get_vec_normalize_env()
    if normalize is not None:
        normalize = VecNormalize.load(str(path.with_suffix(".pkl")), normalize.venv)
    kept = type(agent).load(path.with_suffix(".zip"), device=agent.device)
    return evaluate(kept, env, seeds, vec_normalize=normalize)
