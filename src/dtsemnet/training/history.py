"""The record of a training run, one row per epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from dtsemnet.training.engine import Step

__all__ = ["Epoch", "History"]


@dataclass(frozen=True)
class Epoch:
    """One epoch: its number, its settings, the training loss and, if it was measured, the monitored value."""

    epoch: int
    step: Step
    loss: float
    monitor: float | None = None
    seconds: float = 0.0


@dataclass
class History:
    """The epochs of a run in order, and which of them was the best.

    ``history["loss"]`` reads one column: any field of :class:`Epoch` or of its step.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int | None = None
    stopped: Literal["patience", "interrupt"] | None = None
    """Why training ended before its last epoch, or None if it did not."""

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

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> History:
        """Undo :meth:`to_dict`."""
        epochs = [Epoch(**{**row, "step": Step(**row["step"])}) for row in content["epochs"]]
        return cls(epochs, content["best_epoch"], content["stopped"])
