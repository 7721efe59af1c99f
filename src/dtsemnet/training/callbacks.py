"""The record of a run, one row per epoch, and what is called between epochs: callbacks, progress bar, monitors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from dtsemnet.names import shown
from dtsemnet.notebook import Rewritten, block, curves, in_notebook
from dtsemnet.training.engine import ClassEngine, Engine, Rows, Step, TreeEngine

__all__ = ["Callback", "Context", "Epoch", "History", "ProgressBar", "validation_error", "validation_loss"]


@dataclass(frozen=True)
class Epoch:
    """One epoch: its number, its settings, the training loss and, if it was measured, the monitored value."""

    epoch: int
    step: Step
    loss: float
    monitor: float | None = None
    seconds: float = 0.0


@dataclass(repr=False)
class History:
    """The epochs of a run in order, and which of them was the best.

    ``history["loss"]`` reads one column: any field of :class:`Epoch` or of its step.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int | None = None
    stopped: Literal["patience", "interrupt", "callback"] | None = None
    """Why training ended before its last epoch, or None if it did not; a callback may set it to ``"callback"``.

    In the history of a fit, ``"interrupt"`` says that Ctrl-C was pressed, also if only leaves were left to fit.
    """

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)

    def __getitem__(self, column: str) -> list[Any]:
        return [getattr(row, column) if hasattr(row, column) else getattr(row.step, column) for row in self.epochs]

    def followed_by(self, later: History) -> History:
        """Join this run and one that continued from its end; epochs are numbered through.

        Examples
        --------
        >>> run = History([Epoch(0, Step(0.1), loss=2.0), Epoch(1, Step(0.1), loss=1.0)])
        >>> run.followed_by(run)["epoch"]
        [0, 1, 2, 3]
        """
        moved = [replace(row, epoch=row.epoch + len(self)) for row in later.epochs]
        return History([*self.epochs, *moved], stopped=later.stopped)

    def __repr__(self) -> str:
        parts = [f"{len(self)} epoch{'s' * (len(self) != 1)}"]
        parts += [f"loss {self.epochs[-1].loss:.4g}"] if self.epochs else []
        parts += [] if self.best_epoch is None else [f"best epoch {self.best_epoch}"]
        parts += [] if self.stopped is None else [f"stopped by {self.stopped}"]
        return f"History({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Draw the losses, for notebooks."""
        values = {"training loss": self["loss"], "validation": self["monitor"]}
        place = next((k for k, row in enumerate(self.epochs) if row.epoch == self.best_epoch), None)
        return block(repr(self), curves(values, place))

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> History:
        """Undo :meth:`to_dict`; raises a KeyError, TypeError or ValueError for what that did not write."""
        epochs = [Epoch(**{**row, "step": Step(**row["step"])}) for row in content["epochs"]]
        best, stopped = content["best_epoch"], content["stopped"]
        if best is not None:
            scored = [n for n, row in enumerate(epochs) if isinstance(row.monitor, (int, float))]
            if not isinstance(best, int) or best not in scored:
                raise ValueError(f"the best epoch is {shown(best)}, which was not judged")
        if stopped not in (None, "patience", "interrupt", "callback"):
            raise ValueError(f"it was stopped by {shown(stopped)}, which does not exist")
        return cls(epochs, best, stopped)


@dataclass(frozen=True)
class Context:
    """What a callback sees of a run."""

    engine: Engine
    """The engine that is trained; a callback may change its state."""
    n_epochs: int
    """Number of epochs planned, those before a resume included."""
    history: History
    """The epochs that have ended."""

    @property
    def last(self) -> Epoch:
        """The epoch that has just ended."""
        return self.history.epochs[-1]


class Callback:
    """Base class of callbacks: override the methods that you need. Each receives the context of the run."""

    def on_start(self, context: Context) -> None:
        """Called before the first epoch, or before the next one if the run was resumed from a checkpoint."""

    def on_epoch(self, context: Context) -> None:
        """Called after each epoch, before its checkpoint is written, so that the checkpoint has your changes."""

    def on_end(self, context: Context) -> None:
        """Called when training ends, early or not."""


class ProgressBar(Progress):
    """A display on standard error: one line for the whole fit, one line per run; epochs, loss, time left.

    Runs may be in several threads. Enter the display, say how many epochs are to be expected, and give each run the
    callback that shows it. In a notebook the lines are one output that is written anew a few times a second.

    Examples
    --------
    >>> with ProgressBar(Console(quiet=True)) as bar:
    ...     callbacks = [bar.run("start 1")]
    """

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("epoch {task.completed:,.0f}/{task.total:,.0f}"),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=console or Console(stderr=True),
            disable=console is None and in_notebook(),
        )
        self._output = Rewritten() if self.disable else None
        self._whole: TaskID | None = None

    def expect(self, n_epochs: float) -> None:
        """Say how many epochs are still to come, all runs together; what was expected before is forgotten."""
        if self._whole is None:
            self._whole = self.add_task("whole fit", total=n_epochs, figures="")
        else:
            done = next(task.completed for task in self.tasks if task.id == self._whole)
            self.update(self._whole, total=done + n_epochs)

    def epoch_ended(self) -> None:
        """Count an epoch of any run."""
        if self._whole is not None:
            self.advance(self._whole)

    def start(self) -> None:
        """Show the display."""
        super().start()
        if self._output is not None:
            self._output.open()

    def stop(self) -> None:
        """Show it a last time."""
        super().stop()
        if self._output is not None:
            self._output.write(self.get_renderable(), at_once=True)

    def update(self, *args: Any, **fields: Any) -> None:
        """Change a line."""
        super().update(*args, **fields)
        if self._output is not None:
            self._output.write(self.get_renderable())

    def run(self, title: str, *, stays: bool = True) -> Callback:
        """Make the callback that shows one run under ``title``; its line ``stays`` when the run has ended, or goes."""
        return _Line(self, title, stays)


class _Line(Callback):
    """One line of the display."""

    def __init__(self, progress: ProgressBar, title: str, stays: bool) -> None:
        self.progress, self.title, self.stays = progress, title, stays

    def on_start(self, context: Context) -> None:
        done = len(context.history)
        self.task = self.progress.add_task(self.title, total=context.n_epochs, completed=done, figures="")

    def on_epoch(self, context: Context) -> None:
        last = context.last
        figures = f"loss {last.loss:.4g}" + ("" if last.monitor is None else f", validation {last.monitor:.4g}")
        self.progress.update(self.task, completed=len(context.history), figures=figures)
        self.progress.epoch_ended()

    def on_end(self, context: Context) -> None:
        if not self.stays:
            self.progress.remove_task(self.task)
        elif len(context.history) < context.n_epochs and context.history.stopped is None:
            self.progress.update(self.task, figures="dropped")
            self.progress.stop_task(self.task)


def validation_loss(rows: Rows, step: Step) -> Callable[[TreeEngine], float]:
    """Make a monitor of the mean loss of ``rows`` under fixed settings, such as those of the hard tree."""
    return lambda engine: engine.loss(rows, step)


def validation_error(rows: Rows) -> Callable[[ClassEngine], float]:
    """Make a monitor of the share of ``rows``, by weight, that reach a leaf of another class."""

    def error(engine: ClassEngine) -> float:
        wrong = engine.parameters().leaf_class[engine.reached(rows.X)] != rows.y
        return float(np.average(wrong, weights=rows.weight))

    return error
