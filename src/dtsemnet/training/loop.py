"""The training loop: one for both engines and for every kind of tree.

Each epoch draws an order of the rows, runs it through the engine, asks the
monitor (lower is better) and keeps the best state. Training ends after the
last phase, when patience runs out, or on Ctrl-C; in each case the best state
so far is what it hands back.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dtsemnet.training.callbacks import Callback, Context
from dtsemnet.training.checkpoint import Checkpoint, Saved, State
from dtsemnet.training.engine import Engine
from dtsemnet.training.history import Epoch, History
from dtsemnet.training.phases import Phase

__all__ = ["Training", "train"]

logger = logging.getLogger("dtsemnet")


class Training:
    """A run that can be paused: trained on by :meth:`advance`, ended by :meth:`finish`.

    Parameters
    ----------
    engine : Engine
    phases : sequence of Phase
    rng : numpy.random.Generator
        Draws the order of the rows of each epoch.
    n_samples : int
        Rows that the engine holds.
    monitor : callable, optional
        Value of an engine, lower is better. Without one the last state counts as the best.
    monitor_from : int, default=0
        First epoch whose state may be kept as the best.
    patience : int, optional
        Stop after so many epochs without an improvement by more than ``tol``.
    checkpoint : Checkpoint, optional
        Where the run is kept after each epoch, and resumed from.
    """

    def __init__(
        self,
        engine: Engine,
        phases: Sequence[Phase],
        rng: np.random.Generator,
        *,
        n_samples: int,
        monitor: Callable[[Engine], float] | None = None,
        monitor_from: int = 0,
        patience: int | None = None,
        tol: float = 0.0,
        callbacks: Sequence[Callback] = (),
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.engine, self.rng, self.n_samples = engine, rng, n_samples
        self.monitor, self.monitor_from, self.patience, self.tol = monitor, monitor_from, patience, tol
        self.callbacks, self.checkpoint = callbacks, checkpoint
        self.steps = [phase.step(epoch) for phase in phases for epoch in range(phase.n_epochs)]
        self.history, self._best = History(), None
        self._name = _run_name(engine, phases, rng, n_samples) if checkpoint else ""
        saved = checkpoint.read(self._name) if checkpoint else None
        if saved:
            engine.restore(saved.state)
            rng.bit_generator.state = saved.rng
            self.history, self._best = saved.history, saved.best
        self._context = Context(engine, len(self.steps), self.history)
        for callback in callbacks:
            callback.on_start(self._context)

    def advance(self, share: float = 1.0) -> None:
        """Train until that share of the epochs is done, patience runs out, or Ctrl-C is pressed."""
        history, until = self.history, round(share * len(self.steps))
        try:
            while len(history) < until and history.stopped is None:
                self._run_epoch()
                if self.checkpoint and (len(history) % self.checkpoint.every == 0 or len(history) == until):
                    self.keep()
        except KeyboardInterrupt:
            history.stopped = "interrupt"
            logger.warning(
                "dtsemnet: interrupted after %d of %d epochs, keeping the best so far", len(history), len(self.steps)
            )
        if history.stopped == "patience":
            self.keep()

    def finish(self) -> History:
        """Leave the engine in the best state seen."""
        for callback in self.callbacks:
            callback.on_end(self._context)
        if self._best is not None:
            self.engine.restore(self._best)
        return self.history

    def keep(self) -> None:
        """Write the checkpoint, where there is one."""
        if self.checkpoint:
            saved = Saved(self.engine.state(), self._best, dict(self.rng.bit_generator.state), self.history)
            self.checkpoint.write(self._name, saved)

    def _run_epoch(self) -> None:
        epoch, history = len(self.history), self.history
        started = time.perf_counter()
        loss = _run_epoch(self.engine, self.rng.permutation(self.n_samples), self.steps[epoch], epoch)
        value = self.monitor(self.engine) if self.monitor and epoch >= self.monitor_from else None
        history.epochs.append(Epoch(epoch, self.steps[epoch], loss, value, time.perf_counter() - started))
        for callback in self.callbacks:
            callback.on_epoch(self._context)
        self._best = _keep_best(self.engine, history, self._best, value, self.tol)
        if self.patience is not None and history.best_epoch is not None and epoch - history.best_epoch >= self.patience:
            history.stopped = "patience"


def train(
    engine: Engine, phases: Sequence[Phase], rng: np.random.Generator, *, n_samples: int, **options: Any
) -> History:
    """Train an engine to the end of its phases; it is left in the best state seen. Options are those of a run."""
    run = Training(engine, phases, rng, n_samples=n_samples, **options)
    try:
        run.advance()
    finally:
        history = run.finish()
    return history


def _run_epoch(engine: Engine, order: Any, step: Any, epoch: int) -> float:
    try:
        return engine.run_epoch(order, step)
    except FloatingPointError as error:
        raise FloatingPointError(f"training stopped in epoch {epoch}: {error}") from None


def _keep_best(engine: Engine, history: History, best: State | None, value: float | None, tol: float) -> State | None:
    """Copy the state if its value is the best so far; ``history.best_epoch`` tells which one that is."""
    if value is None:
        return best
    earlier = None if history.best_epoch is None else history.epochs[history.best_epoch].monitor
    if earlier is None or value < earlier - tol:
        history.best_epoch = len(history) - 1
        return engine.state()
    return best


def _run_name(engine: Engine, phases: Sequence[Phase], rng: np.random.Generator, n_samples: int) -> str:
    """Fingerprint of a run at its start, so that a checkpoint of another run is not taken for this one."""
    content = hashlib.sha256(repr((tuple(phases), n_samples, rng.bit_generator.state)).encode())
    content.update(engine.digest())
    for name, array in sorted(engine.state().items()):
        content.update(name.encode() + array.tobytes())
    return content.hexdigest()
