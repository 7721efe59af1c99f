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

from dtsemnet.engine.protocol import Engine
from dtsemnet.training.callbacks import Callback, Context
from dtsemnet.training.checkpoint import Checkpoint, Saved, State
from dtsemnet.training.history import Epoch, History
from dtsemnet.training.phases import Phase

__all__ = ["train"]

logger = logging.getLogger("dtsemnet")


def train(
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
) -> History:
    """Train an engine; it is left in the best state seen.

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
    steps = [phase.step(epoch) for phase in phases for epoch in range(phase.n_epochs)]
    history, best = History(), None
    run = _run_name(engine, phases, rng, n_samples) if checkpoint else ""
    saved = checkpoint.read(run) if checkpoint else None
    if saved:
        engine.restore(saved.state)
        rng.bit_generator.state = saved.rng
        history, best = saved.history, saved.best
    context = Context(engine, len(steps), history)
    for callback in callbacks:
        callback.on_start(context)
    try:
        while len(history) < len(steps) and history.stopped is None:
            epoch = len(history)
            started = time.perf_counter()
            loss = _run_epoch(engine, rng.permutation(n_samples), steps[epoch], epoch)
            value = monitor(engine) if monitor and epoch >= monitor_from else None
            history.epochs.append(Epoch(epoch, steps[epoch], loss, value, time.perf_counter() - started))
            for callback in callbacks:
                callback.on_epoch(context)
            best = _keep_best(engine, history, best, value, tol)
            if patience is not None and history.best_epoch is not None and epoch - history.best_epoch >= patience:
                history.stopped = "patience"
            if checkpoint and (len(history) % checkpoint.every == 0 or len(history) == len(steps) or history.stopped):
                checkpoint.write(run, Saved(engine.state(), best, dict(rng.bit_generator.state), history))
    except KeyboardInterrupt:
        history.stopped = "interrupt"
        logger.warning("dtsemnet: interrupted after %d of %d epochs, keeping the best so far", len(history), len(steps))
    finally:
        for callback in callbacks:
            callback.on_end(context)
    if best is not None:
        engine.restore(best)
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
