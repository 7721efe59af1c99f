"""What happened in training, one row an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dtsemnet.training.engine import Step

__all__ = ["Epoch", "History"]


@dataclass(frozen=True)
class Epoch:
    """One epoch: its number, settings, training loss and, where it was measured, the monitored value."""

    epoch: int
    step: Step
    loss: float
    monitor: float | None = None
    seconds: float = 0.0


@dataclass
class History:
    """Epochs in order, and which of them was the best.

    ``history["loss"]`` reads one column, as does any field of :class:`Epoch` or of its step.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int | None = None
    stopped: str | None = None
    """Why training ended before its last epoch: "patience", "interrupt", or None."""
    merit: list[float] | None = None
    """How the run did when it was compared with others on the way."""

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)

    def __getitem__(self, column: str) -> list[Any]:
        return [getattr(row, column) if hasattr(row, column) else getattr(row.step, column) for row in self.epochs]

    def followed_by(self, later: History) -> History:
        """This run and one that went on from its end, the epochs counted through.

        Examples
        --------
        >>> run = History([Epoch(0, Step(0.1), loss=2.0), Epoch(1, Step(0.1), loss=1.0)])
        >>> run.followed_by(run)["epoch"]
        [0, 1, 2, 3]
        """
        moved = [replace(row, epoch=row.epoch + len(self)) for row in later.epochs]
        return History([*self.epochs, *moved], stopped=later.stopped)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> History:
        """Undo :meth:`to_dict`."""
        epochs = [Epoch(**{**row, "step": Step(**row["step"])}) for row in content["epochs"]]
        return cls(epochs, content["best_epoch"], content["stopped"], content["merit"])
