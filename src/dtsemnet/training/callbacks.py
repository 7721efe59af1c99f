"""What may look on, or lend a hand, between two epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dtsemnet.training.engine import Engine, Rows, Step
from dtsemnet.training.history import Epoch, History

__all__ = ["Callback", "Context", "ProgressBar", "validation_error", "validation_loss"]


@dataclass(frozen=True)
class Context:
    """What a callback sees: the engine, how many epochs are planned, and the history so far."""

    engine: Engine
    n_epochs: int
    history: History

    @property
    def last(self) -> Epoch:
        """The epoch just ended."""
        return self.history.epochs[-1]


class Callback:
    """Base class: override what is needed."""

    def on_start(self, context: Context) -> None:
        """Before the first epoch."""

    def on_epoch(self, context: Context) -> None:
        """After each epoch, before its checkpoint is written, so that a change to the engine is kept."""

    def on_end(self, context: Context) -> None:
        """When training ends, early or not."""


class ProgressBar(Callback):
    """A bar with the loss and the time left, on standard error.

    Several runs share one display, also from threads, within ``with bar:`` and as ``bar.run(title)`` each.
    """

    def __init__(self, title: str = "training", console: Console | None = None) -> None:
        self.title = title
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("epoch {task.completed}/{task.total}"),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=console or Console(stderr=True),
        )

    def run(self, title: str) -> _Run:
        """A callback that shows one run on this display."""
        return _Run(self.progress, title)

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def on_start(self, context: Context) -> None:
        self.progress.start()
        self.only = self.run(self.title)
        self.only.on_start(context)

    def on_epoch(self, context: Context) -> None:
        self.only.on_epoch(context)

    def on_end(self, context: Context) -> None:
        self.progress.stop()


class _Run(Callback):
    """One line of a display."""

    def __init__(self, progress: Progress, title: str) -> None:
        self.progress, self.title = progress, title

    def on_start(self, context: Context) -> None:
        done = len(context.history)
        self.task = self.progress.add_task(self.title, total=context.n_epochs, completed=done, figures="")

    def on_epoch(self, context: Context) -> None:
        last = context.last
        figures = f"loss {last.loss:.4g}" + ("" if last.monitor is None else f", validation {last.monitor:.4g}")
        self.progress.update(self.task, completed=len(context.history), figures=figures)

    def on_end(self, context: Context) -> None:
        if len(context.history) < context.n_epochs and context.history.stopped is None:
            self.progress.update(self.task, figures="dropped")
            self.progress.stop_task(self.task)


def validation_loss(rows: Rows, step: Step) -> Callable[[Engine], float]:
    """Monitor the mean loss of rows under fixed settings, such as those of the hard tree."""
    return lambda engine: engine.loss(rows, step)


def validation_error(rows: Rows) -> Callable[[Engine], float]:
    """Monitor the share of rows, by weight, that reach a leaf of another class."""

    def error(engine: Engine) -> float:
        leaf_class = engine.parameters().leaf_class
        assert leaf_class is not None
        wrong = leaf_class[engine.reached(rows.X)] != rows.y
        return float(np.average(wrong, weights=rows.weight))

    return error
