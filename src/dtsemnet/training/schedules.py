"""Numbers that change over a phase of training: rates, k, temperatures, exponents.

A schedule is called with the epoch and the number of epochs of its phase and
gives the value for that epoch. All are frozen dataclasses: they compare,
print and hash as what they are, which is how a checkpoint knows its run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Constant", "Cosine", "Decay", "Geometric", "Linear", "Schedule", "Steps", "as_schedule"]


class Schedule(Protocol):
    """A value for each epoch."""

    def __call__(self, epoch: int, n_epochs: int) -> float: ...


@dataclass(frozen=True)
class Constant:
    """The same value throughout."""

    value: float

    def __call__(self, epoch: int, n_epochs: int) -> float:
        return self.value


@dataclass(frozen=True)
class Cosine:
    """From ``start`` to ``end`` along half a cosine: flat, then falling, then flat.

    >>> [round(Cosine(1.0)(epoch, 4), 3) for epoch in range(4)]
    [0.962, 0.691, 0.309, 0.038]
    """

    start: float
    end: float = 0.0

    def __call__(self, epoch: int, n_epochs: int) -> float:
        # Measured at the middle of the epoch, so that neither the first nor the last epoch is idle.
        progress = (epoch + 0.5) / n_epochs
        return self.end + (self.start - self.end) * 0.5 * (1 + math.cos(math.pi * progress))


@dataclass(frozen=True)
class Decay:
    """``start`` times ``factor`` after each epoch, as the paper's code lowers its rates."""

    start: float
    factor: float

    def __call__(self, epoch: int, n_epochs: int) -> float:
        return float(self.start * self.factor**epoch)


@dataclass(frozen=True)
class Geometric:
    """From ``start`` to ``end`` by a constant factor over the share ``until`` of the epochs, then ``after``.

    With ``after=0`` this anneals a pooling temperature to the exact max.

    >>> [round(Geometric(1.0, 0.01, until=0.75, after=0.0)(epoch, 4), 3) for epoch in range(4)]
    [1.0, 0.1, 0.01, 0.0]
    """

    start: float
    end: float
    until: float = 1.0
    after: float | None = None

    def __call__(self, epoch: int, n_epochs: int) -> float:
        n_falling = max(1, round(self.until * n_epochs))
        if epoch >= n_falling:
            return self.end if self.after is None else self.after
        share = epoch / (n_falling - 1) if n_falling > 1 else 1.0
        return float(self.start * (self.end / self.start) ** share)


@dataclass(frozen=True)
class Linear:
    """From ``start`` to ``end`` in equal steps.

    >>> [Linear(0.0, 1.0)(epoch, 3) for epoch in range(3)]
    [0.0, 0.5, 1.0]
    """

    start: float
    end: float

    def __call__(self, epoch: int, n_epochs: int) -> float:
        return self.start + (self.end - self.start) * (epoch / (n_epochs - 1) if n_epochs > 1 else 1.0)


@dataclass(frozen=True)
class Steps:
    """Given values, each for an equal share of the epochs: the paper's K(t).

    >>> [Steps((4, 3, 2))(epoch, 6) for epoch in range(6)]
    [4, 4, 3, 3, 2, 2]
    """

    values: tuple[float, ...]

    def __call__(self, epoch: int, n_epochs: int) -> float:
        return self.values[min(len(self.values) - 1, epoch * len(self.values) // n_epochs)]


def as_schedule(value: float | Schedule) -> Schedule:
    """Read a number as the schedule that stays there."""
    return value if callable(value) else Constant(value)
