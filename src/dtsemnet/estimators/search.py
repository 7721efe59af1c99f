"""Several starts, the best of them kept.

Each start has its own seed and the next of the settings. Starts run side by
side in threads (kernels leave the interpreter's lock alone), each on one core,
and none depends on another, so the result is the same for any number of jobs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from dtsemnet.engine import Engine, Parameters, Penalties, Problem, Rows, cpu_engine
from dtsemnet.training import Callback, Checkpoint, History, Phase, ProgressBar, train
from dtsemnet.tree import Topology, Tree

__all__ = ["Candidate", "Plan", "one_thread", "run_starts", "train_once"]


@dataclass(frozen=True)
class Candidate:
    """A trained tree, how it did, and how it came about; smaller is better, the first among equals wins."""

    tree: Tree
    merit: tuple[float, ...]
    history: History
    setting: Any
    number: int
    way: Any = None
    """How its leaves were fitted, where there was a choice."""


@dataclass(frozen=True)
class Plan:
    """All that is the same for every start."""

    problem: Problem
    topology: Topology
    rows: Rows
    batch_size: int
    clip: float
    split_l1: float
    engine: str
    device: str | None
    monitor: Callable[[Engine], float] | None = None
    patience: int | None = None
    tol: float = 0.0
    checkpoint: str | Path | None = None
    stage: str = "start"
    """What the runs of this plan are called."""
    bar: ProgressBar | None = None


def train_once(
    plan: Plan,
    parameters: Parameters,
    phases: Sequence[Phase],
    weight_decay: float,
    rng: np.random.Generator,
    *,
    number: int,
    callbacks: Sequence[Callback] = (),
) -> tuple[Parameters, History]:
    """Train one start to its end."""
    make: Callable[..., Any] = cpu_engine
    if plan.engine == "torch":
        from dtsemnet.engine.torch import torch_engine

        make = functools.partial(torch_engine, device=plan.device or "cpu")
    penalties = Penalties(split_decay=weight_decay, split_l1=plan.split_l1, clip=plan.clip)
    engine: Engine = make(
        plan.problem, plan.topology, plan.rows, parameters, batch_size=plan.batch_size, penalties=penalties
    )
    shown = [plan.bar.run(f"{plan.stage} {number + 1}")] if plan.bar else []
    kept = None if plan.checkpoint is None else Checkpoint(Path(plan.checkpoint) / f"{plan.stage}-{number}.npz")
    history = train(
        engine, phases, rng, n_samples=len(plan.rows.X), monitor=plan.monitor, patience=plan.patience, tol=plan.tol,
        callbacks=[*callbacks, *shown], checkpoint=kept,
    )  # fmt: skip
    found = engine.parameters()
    if not all(np.isfinite(array).all() for array in (found.splits, found.leaves) if array is not None):
        raise FloatingPointError(
            "training left numbers that are not finite; lower learning_rate, or look for huge values in X and y."
        )
    return found, history


def run_starts(start: Callable[[int], Candidate], n_starts: int, n_jobs: int | None) -> list[Candidate]:
    """Run the starts side by side; a Ctrl-C ends the one that runs and skips the others."""
    with one_thread():
        if joblib.effective_n_jobs(n_jobs) == 1 or n_starts == 1:
            return list(_until_interrupted(start, n_starts))
        found: list[Candidate] = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
            joblib.delayed(start)(number) for number in range(n_starts)
        )
        return found


def _until_interrupted(start: Callable[[int], Candidate], n_starts: int) -> Iterator[Candidate]:
    for number in range(n_starts):
        candidate = start(number)
        yield candidate
        if candidate.history.stopped == "interrupt":
            return


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its products are small here, and the sums of two threads could differ in a bit."""
    with _controller().limit(limits=1):
        yield


@functools.lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
