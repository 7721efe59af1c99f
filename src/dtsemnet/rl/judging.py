"""What accompanies a training: judgements of the policy, checkpoints, and word of how far it is.

None of them touches the training: it learns the same policy with them and without.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from dtsemnet.rl.checkpoints import check_buffer, restore_checkpoint, save_checkpoint
from dtsemnet.rl.evaluation import evaluate, is_tree, summary
from dtsemnet.rl.extraction import policy_tree
from dtsemnet.tree.file import write_atomically
from dtsemnet_paper.records import Record, append_record

__all__ = ["Checkpoints", "Clock", "Judge", "Progress", "Watch"]


@dataclass(frozen=True)
class Progress:
    """How far a training is; rewards are None until there are any."""

    step: int
    n_steps: int
    reward: float | None
    """Mean of the last episodes trained on, which explore."""
    judged: float | None
    """Mean of the last judgement, which does not."""
    best: float | None
    """Mean of the best judgement."""
    seconds: float
    """Time spent, that before a kill included."""
    left: float | None
    """Time left, by the pace so far."""


class Clock:
    """Wall and CPU time, counted on after a kill.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.earlier = (100.0, 90.0)
    >>> clock.spent()[0] >= 100.0
    True
    """

    def __init__(self) -> None:
        self.earlier = (0.0, 0.0)
        self.started = (time.perf_counter(), time.process_time())

    def here(self) -> float:
        """Seconds in this process."""
        return time.perf_counter() - self.started[0]

    def spent(self) -> tuple[float, float]:
        """Seconds in all, of the wall and of the CPU."""
        return self.earlier[0] + self.here(), self.earlier[1] + time.process_time() - self.started[1]


HEARING = 30
"""Episodes by which every policy is judged; one that may be the best is judged by all."""


class Judge(BaseCallback):
    """Judge every so many steps, note it, and keep the policy when it is the best so far.

    Thirty episodes tell a bad policy, not the best of several good ones: one whose mean is within a standard error
    of the best, or above it, is played on all the seeds before the two are compared. Among equals the first is kept.

    Parameters
    ----------
    env : gymnasium.Env or str
        The raw environment.
    folder : Path
        Gets the judgements, and the best and the last policy.
    every : int
        Steps between judgements.
    seeds : sequence of int
        Of the episodes, the first thirty for every policy.
    names : sequence of str, optional
        Names of the observation's entries, for the model files.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any] | str,
        folder: Path,
        every: int,
        seeds: Sequence[int],
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.env, self.folder, self.every, self.seeds, self.names = env, folder, every, seeds, names
        self.best, self.best_step = -np.inf, 0
        self.next = every
        self.judgements: list[Record] = []
        self._write()  # those of a run that was given up are not of this one

    def state(self) -> Any:
        """All that is known so far, the files of the best policy included."""
        files = {path.name: path.read_bytes() for path in self.folder.glob("best.*")}
        return self.best, self.best_step, self.next, self.judgements, files

    def restore(self, state: Any) -> None:
        """Return to a state; what came after it is forgotten."""
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
        # The tree itself, which is what is kept: it is a hundred times faster than the network, too.
        policy = policy_tree(self.model) if is_tree(self.model) else self.model
        rewards = evaluate(policy, self.env, self.seeds[:HEARING])
        if np.mean(rewards) + summary(rewards)["sem"] > self.best and len(self.seeds) > HEARING:
            rewards += evaluate(policy, self.env, self.seeds[HEARING:])
        mean = float(np.mean(rewards))
        self.judgements.append({"step": self.num_timesteps, "mean": mean, "rewards": rewards})
        append_record(self.folder / "judgements.jsonl", self.judgements[-1])
        self.logger.record("eval/mean_reward", mean)
        # Among equals the first: at the floor or the ceiling of rewards all tie, and playing on would tell nothing.
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


class Checkpoints(BaseCallback):
    """Write a checkpoint every so many minutes, before a rollout: nothing is half done there.

    Parameters
    ----------
    path : Path
        File of the checkpoint.
    minutes : float
        Time between checkpoints.
    judge, clock
        Whose states are kept with it.
    """

    def __init__(self, path: Path, minutes: float, judge: Judge, clock: Clock) -> None:
        super().__init__()
        self.path, self.minutes, self.judge, self.clock = path, minutes, judge, clock
        self.last = 0.0

    def restore(self, agent: BaseAlgorithm) -> None:
        """Go back to the checkpoint, if there is one."""
        if self.path.is_file():
            judged, self.clock.earlier = restore_checkpoint(agent, self.path)
            self.judge.restore(judged)

    def _on_training_start(self) -> None:
        check_buffer(self.model)

    def _on_rollout_start(self) -> None:
        if self.clock.here() - self.last >= 60 * self.minutes and self.model.num_timesteps:
            save_checkpoint(self.model, self.path, (self.judge.state(), self.clock.spent()))
            self.last = self.clock.here()

    def _on_step(self) -> bool:
        return True


class Watch(BaseCallback):
    """Tell how far the training is, twice a second and at its end.

    Parameters
    ----------
    tell : callable
        Told a :class:`Progress`.
    judge, clock
        Who know it.
    """

    def __init__(self, tell: Callable[[Progress], None], judge: Judge, clock: Clock) -> None:
        super().__init__()
        self.tell, self.judge, self.clock = tell, judge, clock
        self.last, self.first_step = 0.0, 0

    def _on_training_start(self) -> None:
        self.first_step = self.num_timesteps

    def _on_step(self) -> bool:
        if self.clock.here() - self.last >= 0.5:
            self._tell()
        return True

    def _on_training_end(self) -> None:
        self._tell()

    def _tell(self) -> None:
        self.last = self.clock.here()
        total = self.model._total_timesteps
        done, left = self.num_timesteps - self.first_step, max(0, total - self.num_timesteps)
        episodes = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        judged = self.judge.judgements
        self.tell(
            Progress(
                step=min(self.num_timesteps, total),  # the last rollout may go beyond
                n_steps=total,
                reward=float(np.mean(episodes)) if episodes else None,
                judged=judged[-1]["mean"] if judged else None,
                best=self.judge.best if judged else None,
                seconds=self.clock.spent()[0],
                left=left * self.last / done if done else None,
            )
        )
