"""The training loop, for every engine, and the checkpoints that it resumes from.

Each epoch draws an order of the rows, lets the engine train on them, evaluates
the monitor (lower is better) and copies the state if it is the best so far.
Training ends after the last phase, when patience runs out, or on Ctrl-C; in
each case the engine is left in its best state.

A checkpoint is one file that holds everything the rest of a run depends on: the
state of the engine, its best state, the state of the random generator and the
history. It is written when the run pauses or ends, and before that after an
epoch if the last one is a second old: flushing it to the disk may take longer
than an epoch. It is written aside and then moved into place, so that a kill
leaves the old one or the new one. A run that resumes from it ends with the same
bytes as a run that was never stopped.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.training.archive import DAMAGES, read_archive, unreadable, write_archive
from dtsemnet.training.callbacks import Callback, Context, Epoch, History
from dtsemnet.training.engine import Engine, Step
from dtsemnet.training.schedules import Phase

__all__ = ["Checkpoint", "Training"]

logger = logging.getLogger("dtsemnet")

CHECKPOINT_SECONDS = 1.0
"""Least time between two checkpoints of a run that goes on."""

E = TypeVar("E", bound=Engine)
State = dict[str, Array]


class Training(Generic[E]):
    """A run: :meth:`start` it, :meth:`advance` it in one go or with pauses, then :meth:`finish` it.

    Parameters
    ----------
    engine : Engine
        What is trained.
    phases : sequence of Phase
        The settings of all epochs.
    rng : numpy.random.Generator
        Draws the order of the rows of each epoch.
    n_samples : int
        Number of rows that the engine holds.
    monitor : callable, optional
        Takes the engine and returns a number, lower is better. Without one the last state counts as the best.
    patience : int, optional
        Stop after this many epochs without an improvement by more than ``tol``.
    tol : float, default=0.0
        Smallest decrease of the monitor that counts as an improvement.
    callbacks : sequence of Callback
        Called at the start, after each epoch and at the end.
    checkpoint : Checkpoint, optional
        File that the run is written to, and resumed from.
    interrupted : threading.Event, optional
        Ends training after the epoch in which it is set; several runs may share it. A Ctrl-C that reaches the run sets
        it too.

    Attributes
    ----------
    history : History
        The epochs that have ended.
    score : tuple of float, optional
        For the caller: how the run did when it was compared with others. Checkpoints keep it.

    Examples
    --------
    >>> from dtsemnet.training import Classification, ClassParameters, Rows, cpu_engine
    >>> from dtsemnet.tree import Topology
    >>> rows = Rows(np.array([[0.0], [1.0]]), np.array([0, 1]), np.ones(2))
    >>> start = ClassParameters(np.array([[-1.0, 0.2]]), np.array([0, 1]))
    >>> engine = cpu_engine(Classification(2), Topology.complete(1), rows, start)
    >>> run = Training(engine, [Phase(30, learning_rate=0.1)], np.random.default_rng(0), n_samples=2).start()
    >>> run.advance()
    >>> history = run.finish()
    >>> history["loss"][-1] < history["loss"][0]
    True
    """

    def __init__(
        self,
        engine: E,
        phases: Sequence[Phase],
        rng: np.random.Generator,
        *,
        n_samples: int,
        monitor: Callable[[E], float] | None = None,
        patience: int | None = None,
        tol: float = 0.0,
        callbacks: Sequence[Callback] = (),
        checkpoint: Checkpoint | None = None,
        interrupted: threading.Event | None = None,
    ) -> None:
        self.engine, self.phases, self.rng, self.n_samples = engine, tuple(phases), rng, n_samples
        self.monitor, self.patience, self.tol = monitor, patience, tol
        self.callbacks, self.checkpoint = callbacks, checkpoint
        self.interrupted = threading.Event() if interrupted is None else interrupted
        self.steps = _steps(self.phases)
        self.history = History()
        self.score: tuple[float, ...] | None = None
        self._best: State | None = None
        self._fingerprint = ""
        self._written_at, self._is_written = -math.inf, True

    def start(self) -> Self:
        """Resume from the checkpoint if its file exists, then call ``on_start`` of the callbacks. Returns self."""
        if self.checkpoint is not None:
            self._fingerprint = _fingerprint(self.engine, self.phases, self.rng, self.n_samples)
            saved = self.checkpoint.read(self._fingerprint)
            if saved is not None:
                try:
                    if saved.best is not None:
                        self.engine.restore(saved.best)  # what cannot be restored at the end is refused now
                    self.engine.restore(saved.state)
                    self.rng.bit_generator.state = saved.rng
                except DAMAGES as error:
                    raise unreadable(self.checkpoint.path, error) from error
                self.history, self.score, self._best = saved.history, saved.score, saved.best
        for callback in self.callbacks:
            callback.on_start(self._context)
        return self

    def advance(self, share: float = 1.0) -> None:
        """Train until this share of all epochs is done, patience runs out, or Ctrl-C is pressed."""
        until, context = round(share * len(self.steps)), self._context
        try:
            while len(self.history) < until and self.history.stopped is None and not self.interrupted.is_set():
                epoch, started = len(self.history), time.perf_counter()
                try:
                    loss = self.engine.run_epoch(self.rng.permutation(self.n_samples), self.steps[epoch])
                except FloatingPointError as error:
                    raise FloatingPointError(f"training stopped in epoch {epoch}: {error}") from None
                self._end_epoch(loss, started, context)
            if not self._is_written:
                self.write_checkpoint()
        except KeyboardInterrupt:
            if self.interrupted.is_set():  # the second Ctrl-C
                raise
            self.interrupted.set()
        if self.interrupted.is_set() and len(self.history) < until and self.history.stopped is None:
            # Not in the checkpoint, so that the run can be resumed.
            self.history.stopped = "interrupt"
            done, planned = len(self.history), len(self.steps)
            logger.warning("dtsemnet: interrupted after %d of %d epochs, keeping the best so far", done, planned)

    def finish(self) -> History:
        """Call ``on_end`` of the callbacks and leave the engine in the best state."""
        for callback in self.callbacks:
            callback.on_end(self._context)
        if self._best is not None:
            self.engine.restore(self._best)
        return self.history

    def write_checkpoint(self) -> None:
        """Write the checkpoint, if the run has one."""
        if self.checkpoint is not None:
            rng = dict(self.rng.bit_generator.state)
            saved = Saved(self.engine.state(), self._best, rng, self.history, self.score)
            self.checkpoint.write(self._fingerprint, saved)
            self._written_at, self._is_written = time.monotonic(), True

    @property
    def _context(self) -> Context:
        return Context(self.engine, len(self.steps), self.history)

    def _end_epoch(self, loss: float, started: float, context: Context) -> None:
        """Record an epoch, call the callbacks, update the best state and write the checkpoint."""
        epoch, history = len(self.history), self.history
        value = self.monitor(self.engine) if self.monitor else None
        history.epochs.append(Epoch(epoch, self.steps[epoch], loss, value, time.perf_counter() - started))
        for callback in self.callbacks:
            callback.on_epoch(context)
        # A state whose splits or leaves still read more columns than those at the end is not one to keep.
        step, last = self.steps[epoch], self.steps[-1]
        if value is not None and step.n_columns <= last.n_columns and step.n_leaf_columns <= last.n_leaf_columns:
            best = None if history.best_epoch is None else history.epochs[history.best_epoch].monitor
            if best is None or value < best - self.tol:
                history.best_epoch, self._best = epoch, self.engine.state()
        if self.patience is not None and history.best_epoch is not None and epoch - history.best_epoch >= self.patience:
            history.stopped = "patience"
        self._is_written = False
        if time.monotonic() - self._written_at >= CHECKPOINT_SECONDS:
            self.write_checkpoint()


@dataclass(frozen=True)
class Saved:
    """The content of a checkpoint."""

    state: State
    best: State | None
    rng: dict[str, Any]
    history: History
    score: tuple[float, ...] | None


@dataclass(frozen=True)
class Checkpoint:
    """The file of a run: a numpy archive without pickled objects.

    Parameters
    ----------
    path : str or Path
        File to write; its folder is made if needed. If the file exists when training starts, training resumes from it.
    """

    path: str | Path

    def write(self, fingerprint: str, saved: Saved) -> None:
        """Write the content; ``fingerprint`` identifies the run that it belongs to."""
        about = {"run": fingerprint, "rng": saved.rng, "history": saved.history.to_dict(), "score": saved.score}
        arrays = {f"state/{name}": array for name, array in saved.state.items()}
        arrays |= {f"best/{name}": array for name, array in (saved.best or {}).items()}
        write_archive(self.path, about, arrays)

    def read(self, fingerprint: str) -> Saved | None:
        """Read the content, or return None if there is no file; refuse the file of a run with another fingerprint."""
        if not Path(self.path).exists():
            return None
        about, arrays = read_archive(self.path)

        def part(prefix: str) -> State:
            return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}

        try:
            owner, history = about["run"], History.from_dict(about["history"])
            score = None if about["score"] is None else tuple(map(float, about["score"]))
            saved = Saved(part("state/"), part("best/") or None, about["rng"], history, score)
        except DAMAGES as error:
            raise unreadable(self.path, error) from error
        if owner != fingerprint:
            raise ValueError(
                f"checkpoint {self.path} belongs to another run (other data, settings or seed); "
                "delete it or name another file."
            )
        return saved


@lru_cache(maxsize=64)
def _steps(phases: tuple[Phase, ...]) -> tuple[Step, ...]:
    """The settings of all epochs; the trainings of a fit share few sequences of phases."""
    return tuple(phase.step(epoch) for phase in phases for epoch in range(phase.n_epochs))


def _fingerprint(engine: Engine, phases: Sequence[Phase], rng: np.random.Generator, n_samples: int) -> str:
    """Identify a run at its start, so that the checkpoint of another run is not taken for its own."""
    content = hashlib.sha256(repr((tuple(phases), n_samples, rng.bit_generator.state)).encode())
    content.update(engine.digest())
    for name, array in sorted(engine.state().items()):
        content.update(name.encode() + array.tobytes())
    return content.hexdigest()
