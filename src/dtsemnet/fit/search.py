"""Several starts, the best of them kept.

Each start has its own seed and the next of the settings. Starts run side by
side in threads (kernels leave the interpreter's lock alone), each on one core.
They meet only where they are compared, so the result is the same for any number
of jobs. Classifiers are compared once on the way too, and the worse half is
dropped there: where the annealing ends, at seven tenths of the training, those
that will win can be told. Earlier they cannot: strong decay comes late to the fore.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from dtsemnet.kernels import one_thread
from dtsemnet.training import (
    Callback,
    Checkpoint,
    History,
    Parameters,
    Penalties,
    Phase,
    Problem,
    ProgressBar,
    Rows,
    Training,
    TreeEngine,
    cpu_engine,
)
from dtsemnet.tree import Topology, Tree

__all__ = ["Candidate", "Plan", "begin", "parameters_of", "race"]

logger = logging.getLogger("dtsemnet")


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
    engine: str
    device: str | None
    monitor: Callable[[Any], float] | None = None
    patience: int | None = None
    tol: float = 0.0
    checkpoint: str | Path | None = None
    stage: str = "start"
    """What the runs of this plan are called."""
    bar: ProgressBar | None = None


def begin(
    plan: Plan,
    parameters: Parameters,
    phases: Sequence[Phase],
    rng: np.random.Generator,
    *,
    number: int,
    weight_decay: float = 0.0,
    l1: float = 0.0,
    callbacks: Sequence[Callback] = (),
) -> Training[Any]:
    """Make a start ready to be trained."""
    make: Callable[..., TreeEngine] = cpu_engine
    if plan.engine == "torch":
        from dtsemnet.training.torch import torch_engine

        make = functools.partial(torch_engine, device=plan.device or "cpu")
    penalties = Penalties(weight_decay, l1, plan.clip)
    engine = make(plan.problem, plan.topology, plan.rows, parameters, batch_size=plan.batch_size, penalties=penalties)
    shown = [plan.bar.run(f"{plan.stage} {number + 1}")] if plan.bar else []
    kept = None if plan.checkpoint is None else Checkpoint(Path(plan.checkpoint) / f"{plan.stage}-{number}.npz")
    return Training(
        engine, phases, rng, n_samples=len(plan.rows.X), monitor=plan.monitor, patience=plan.patience, tol=plan.tol,
        callbacks=[*callbacks, *shown], checkpoint=kept,
    )  # fmt: skip


def parameters_of(run: Training[Any]) -> Any:
    """What a run has found so far."""
    found: Parameters = run.engine.parameters()
    if not all(np.isfinite(array).all() for array in vars(found).values()):
        raise FloatingPointError(
            "training left numbers that are not finite; lower learning_rate, or look for huge values in X and y."
        )
    return found


def race(
    start: Callable[[int], Training[Any]],
    judge: Callable[[int, Training[Any]], Candidate],
    n_starts: int,
    n_jobs: int | None,
    pause: float | None,
) -> list[Candidate]:
    """Train the starts side by side; at the pause the worse half is dropped, the others are trained to the end.

    A Ctrl-C ends the start that runs; the others stay as they are, and those that have not begun are skipped.
    """
    each = _each if joblib.effective_n_jobs(n_jobs) == 1 or n_starts == 1 else functools.partial(_at_once, n_jobs)
    runs: dict[int, Training[Any]] = {}
    candidates: dict[int, Candidate] = {}
    interrupted = False

    def to_the_pause(number: int) -> None:
        nonlocal interrupted
        if interrupted:
            return
        run = runs[number] = start(number).start()
        run.advance(1.0 if pause is None else pause)
        if pause is not None and run.score is None:
            run.score = judge(number, run).merit
            run.write_checkpoint()  # a run resumed behind the pause must be compared as it was there
        interrupted |= run.history.stopped == "interrupt"

    def to_the_end(number: int) -> None:
        nonlocal interrupted
        run = runs[number]
        if not interrupted:
            run.advance()
            interrupted |= run.history.stopped == "interrupt"
        run.finish()
        candidates[number] = judge(number, run)

    with one_thread():
        each(to_the_pause, range(n_starts))
        kept = sorted(runs)
        if pause is not None:
            kept = sorted(kept, key=lambda number: (runs[number].score, number))[: (n_starts + 1) // 2]
            for number in set(runs) - set(kept):
                dropped = runs.pop(number)
                dropped.finish()
                logger.info("start %d: %s after %d epochs, dropped", number, dropped.score, len(dropped.history))
        each(to_the_end, sorted(kept))
    return [candidates[number] for number in sorted(candidates)]


def _each(task: Callable[[int], None], numbers: Iterable[int]) -> None:
    for number in numbers:
        task(number)


def _at_once(n_jobs: int | None, task: Callable[[int], None], numbers: Iterable[int]) -> None:
    joblib.Parallel(n_jobs=n_jobs, prefer="threads")(joblib.delayed(task)(number) for number in numbers)
