"""The course of a fit, from the rows to the tree.

1. Some training rows are set aside to judge trees by, unless the user gave validation rows.
2. A few starts, each with its own seed and setting, are trained side by side. At the
   task's pause the worse half is dropped. For classifiers the pause is the end of the
   annealing, because settings with strong weight decay catch up late.
3. The best tree is kept, or a tree with fewer leaves if that does better.
4. The best tree is trained on with all rows, those set aside included.

Starts run in threads (the compiled kernels release the interpreter's lock), each on one
core. They meet only where they are compared, so the result does not depend on the number
of jobs. With a checkpoint folder, a fit that was killed resumes to the same bytes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from dtsemnet.fit.data import Sample, set_aside
from dtsemnet.fit.leaves import LeafFit
from dtsemnet.fit.settings import Setting, n_epochs_for
from dtsemnet.fit.tasks import Candidate, Task
from dtsemnet.kernels import one_thread
from dtsemnet.training import Checkpoint, History, Phase, ProgressBar, Training
from dtsemnet.tree import Tree

__all__ = ["fit", "train_one_epoch"]

logger = logging.getLogger("dtsemnet")

LAST_SHARE = 0.5
"""Number of epochs of the last training, with all rows, as a share of those of a start."""


def fit(task: Task[Any, Any], rng: np.random.Generator) -> Candidate:
    """Fit a tree: set rows aside, train and compare the starts, train the best on with all rows.

    Parameters
    ----------
    task : Task
        What is fitted, to which data, with which options.
    rng : numpy.random.Generator
        All randomness of the fit: the rows set aside, then one stream for each start.
    """
    options, data = task.options, task.data
    n_starts = options.n_init if options.n_init != "auto" else len(task.settings) if task.init is None else 1
    split_rng, *streams = rng.spawn(n_starts + 1)
    compares = n_starts > 1 or options.early_stopping or task.init is not None
    train, held = set_aside(data, options.validation_fraction if compares else 0.0, split_rng)
    uses_all_rows = held is not None and data.validation is None and options.refit
    with one_thread(), ProgressBar() if options.verbose else nullcontext() as bar:
        n_epochs = _n_epochs(task, len(train), is_final=not uses_all_rows or options.early_stopping)
        candidates = train_starts(Stage(task, "start", train, held, n_epochs, bar), streams)
        interrupted = any(candidate.history.stopped == "interrupt" for candidate in candidates)
        if task.init is not None:
            candidates.insert(0, task.fill(task.init, None, train, held))
        best = min(candidates, key=attrgetter("score"))
        # Only rows that no start was trained on can show that a smaller tree does better.
        tries_smaller = options.n_init == "auto" and task.init is None and held is not None and n_starts > 1
        smaller = task.smaller() if tries_smaller and not interrupted else None
        if smaller is not None:
            streams += rng.spawn(1)
            rivals = train_starts(Stage(smaller, "start", train, held, n_epochs, bar), streams[n_starts:], n_starts)
            candidates += rivals
            if rivals and rivals[0].score < best.score:
                best, task = rivals[0], smaller
        for candidate in candidates:
            outcome = "kept" if candidate is best else "dropped"
            logger.info("start %d, %s: %s, %s", candidate.number, candidate.setting, candidate.score, outcome)
        if uses_all_rows and best.history.stopped != "interrupt":
            best = train_on(task, best, streams[best.number].bit_generator.seed_seq, bar)
    return best


def train_starts(stage: Stage, streams: Sequence[np.random.Generator], first: int = 0) -> list[Candidate]:
    """Train starts side by side, drop the worse half at the pause, and return the others as candidates.

    Each start has its own stream; ``first`` is the number of the first start. After Ctrl-C the start that is running
    ends, the others stay as they are, and those that have not begun are skipped.
    """
    task, options = stage.task, stage.task.options
    settings = [task.settings[n % len(task.settings)] for n in range(len(streams))]
    starts = [Start(stage, first + n, settings[n], rng, task.init) for n, rng in enumerate(streams)]
    compares = len(starts) > 2 and stage.held is not None and stage.monitor is None
    for share in (1.0,) if task.pause is None or not compares else (task.pause, 1.0):
        if joblib.effective_n_jobs(options.n_jobs) == 1 or len(starts) == 1:
            for start in starts:
                start.train(share)
        else:
            joblib.Parallel(n_jobs=options.n_jobs, prefer="threads")(
                joblib.delayed(start.train)(share) for start in starts
            )
        if share < 1:
            starts = _better_half(starts)
    return [start.candidate for start in starts if start.candidate is not None]


def train_on(task: Task[Any, Any], best: Candidate, seed: Any, bar: ProgressBar | None) -> Candidate:
    """Let the best tree use all rows: its leaves are fitted to them, and its splits are trained on unless they stopped.

    It was chosen as it is, so it is trained on and not replaced by another tree; ``seed`` is that of its start.
    """
    sample, options = task.data.sample, task.options
    if best.setting is None or options.early_stopping:
        return replace(best, tree=task.fill(best.tree, None, sample, None, best.leaf_fit).tree)
    setting, tree = task.again(best)
    n_epochs = _n_epochs(task, len(sample), is_final=tree is None)
    if tree is not None:
        seed = seed.spawn(1)[0]
        n_epochs = max(round(LAST_SHARE * n_epochs), task.fewest_epochs[1] if options.max_iter is None else 1)
    stage = Stage(task, "all rows", sample, None, n_epochs, bar)
    start = Start(stage, best.number, setting, np.random.default_rng(seed), tree, best.leaf_fit)
    start.train(1.0)
    assert start.candidate is not None
    last = start.candidate
    history = last.history if tree is None else best.history.followed_by(last.history)
    # A tree whose last training was interrupted may be worse than the tree that was chosen.
    return replace(best if last.history.stopped == "interrupt" else last, history=history)


def train_one_epoch(task: Task[Any, Any], phase: Phase, l1: float = 0.0) -> tuple[Any, History]:
    """Train the ``init`` of a task for one epoch on all its rows (``partial_fit``); return its parameters."""
    rng, setting = np.random.default_rng(0), Setting(0.0, l1=l1)
    with one_thread():
        rows = task.rows(task.data.sample)
        engine = task.engine(setting, task.initial(setting, task.data.sample, rng, task.init), rows)
        run = Training(engine, (phase,), rng, n_samples=len(rows.X)).start()
        run.advance()
        return _trained(run), run.finish()


@dataclass(eq=False)
class Stage:
    """What the starts of one stage share: rows in training coordinates, the number of epochs, the monitor."""

    task: Task[Any, Any]
    name: str
    """Names the stage in checkpoints and in the progress bar."""
    train: Sample
    held: Sample | None
    """Rows to judge by."""
    n_epochs: int
    bar: ProgressBar | None

    def __post_init__(self) -> None:
        self.rows = self.task.rows(self.train)
        held = self.held if self.task.options.early_stopping else None
        self.monitor = None if held is None else self.task.monitor(self.task.rows(held))
        self.interrupted = threading.Event()  # set after Ctrl-C


@dataclass(eq=False)
class Start:
    """One start of a fit: begun when its turn comes, trained to the pause or to the end, then made into a candidate."""

    stage: Stage
    number: int
    setting: Setting
    rng: np.random.Generator
    init: Tree | None
    """Tree to begin with; None for random parameters."""
    leaf_fit: LeafFit | None = None
    """The way to fit the leaves, if it was chosen before."""
    run: Training[Any] | None = field(init=False, default=None)
    candidate: Candidate | None = field(init=False, default=None)

    def train(self, share: float) -> None:
        """Train until this share of the epochs is done; at the end, make the candidate."""
        interrupted = self.stage.interrupted
        if self.run is None:
            if interrupted.is_set():
                return
            self.run = self._begin().start()
        if not interrupted.is_set():
            self.run.advance(share)
            if self.run.history.stopped == "interrupt":
                interrupted.set()
        if share < 1:
            if self.run.score is None:  # else the run was resumed behind the pause
                self.run.score = self._judge(self.run).score
                if not interrupted.is_set():  # an interrupted run has another score when it is resumed
                    self.run.write_checkpoint()
        else:
            self.run.finish()
            self.candidate = self._judge(self.run)

    def _begin(self) -> Training[Any]:
        stage, task, options = self.stage, self.stage.task, self.stage.task.options
        folder = options.checkpoint
        parameters = task.initial(self.setting, stage.train, self.rng, self.init)
        callbacks = task.callbacks(stage.rows)
        if stage.bar is not None:
            callbacks.append(stage.bar.run(f"{stage.name} {self.number + 1}"))
        return Training(
            task.engine(self.setting, parameters, stage.rows),
            task.phases(self.setting, stage.n_epochs),
            self.rng,
            n_samples=len(stage.rows.X),
            monitor=stage.monitor,
            patience=None if stage.monitor is None else options.n_iter_no_change,
            tol=options.tol,
            callbacks=callbacks,
            checkpoint=None if folder is None else Checkpoint(Path(folder) / f"{stage.name}-{self.number}.npz"),
        )

    def _judge(self, run: Training[Any]) -> Candidate:
        """The tree that training has reached, and its score."""
        stage, task, trained = self.stage, self.stage.task, _trained(run)
        filled = task.fill(task.splits_only(trained.splits), trained, stage.train, stage.held, self.leaf_fit)
        return replace(filled, number=self.number, setting=self.setting, history=run.history)


def _better_half(starts: Sequence[Start]) -> list[Start]:
    """Drop the worse half of the starts that have begun; the others keep their order."""
    ranked = sorted((start.run.score, start.number, start.run) for start in starts if start.run is not None)
    n_kept = (len(starts) + 1) // 2
    for score, number, run in ranked[n_kept:]:
        run.finish()
        logger.info("start %d: %s after %d epochs, dropped", number, score, len(run.history))
    kept = {number for _, number, _ in ranked[:n_kept]}
    return [start for start in starts if start.number in kept]


def _n_epochs(task: Task[Any, Any], n_rows: int, *, is_final: bool) -> int:
    """Number of epochs of a start: as given, or as many as make the usual number of steps."""
    options = task.options
    if options.max_iter is not None:
        return int(options.max_iter)
    return n_epochs_for(n_rows, options.batch_size, task.most_epochs, task.fewest_epochs[is_final])


def _trained(run: Training[Any]) -> Any:
    """Parameters that a run has reached so far."""
    trained = run.engine.parameters()
    if not all(np.isfinite(array).all() for array in vars(trained).values()):
        raise FloatingPointError(
            "training left numbers that are not finite; lower learning_rate, or look for huge values in X and y."
        )
    return trained
