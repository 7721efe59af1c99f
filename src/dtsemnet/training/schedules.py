"""Numbers that change from epoch to epoch, and phases of training that use them.

A schedule is called with an epoch and the number of epochs of its phase, and
returns the value for that epoch: a learning rate, k, a temperature or an
exponent. Schedules and phases are frozen dataclasses: their ``repr`` says all
about them, which is how a checkpoint recognises its run.

A :class:`Phase` is a number of epochs with one set of schedules. A training is
a sequence of phases; :func:`algorithm_1` lays out the paper's as three of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from dtsemnet.kernels.regression import SelectorName
from dtsemnet.training.engine import ALL, Step

__all__ = ["Constant", "Cosine", "Decay", "Geometric", "Linear", "Phase", "Schedule", "algorithm_1"]


class Schedule(Protocol):
    """A value for each epoch."""

    def __call__(self, epoch: int, n_epochs: int) -> float:
        """Return the value for ``epoch``, counted from 0, of a phase with ``n_epochs`` epochs."""
        ...


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
        # Evaluated at the middle of the epoch, so that neither the first nor the last epoch is idle.
        progress = (epoch + 0.5) / n_epochs
        return self.end + (self.start - self.end) * 0.5 * (1 + math.cos(math.pi * progress))


@dataclass(frozen=True)
class Decay:
    """``start`` times ``factor`` after each epoch, as in the paper's code."""

    start: float
    factor: float

    def __call__(self, epoch: int, n_epochs: int) -> float:
        return float(self.start * self.factor**epoch)


@dataclass(frozen=True)
class Geometric:
    """From ``start`` to ``end`` by a constant factor over the share ``until`` of the epochs, then ``after``.

    With ``after=0`` this anneals a pooling temperature to the exact maximum.

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
class Phase:
    """A number of epochs with one set of schedules.

    Parameters
    ----------
    n_epochs : int
        Number of epochs of the phase.
    learning_rate, leaf_learning_rate, k, temperature, q, selector, n_columns, n_leaf_columns
        The settings of :class:`Step`, each a number or a schedule over the phase.

    Examples
    --------
    >>> step = Phase(3, learning_rate=0.1, q=Linear(0, 1), n_columns=5).step(1)
    >>> step.learning_rate, step.q, step.n_columns
    (0.1, 0.5, 5)
    """

    n_epochs: int
    learning_rate: float | Schedule
    leaf_learning_rate: float | Schedule | None = None
    k: int | Schedule = 1
    temperature: float | Schedule = 0
    q: float | Schedule = 0
    selector: SelectorName = "top_k"
    n_columns: int | Schedule = ALL
    n_leaf_columns: int | Schedule = ALL

    def step(self, epoch: int) -> Step:
        """Settings of one epoch, counted from the start of the phase."""

        def now(value: float | Schedule) -> float:
            return value(epoch, self.n_epochs) if callable(value) else value

        return Step(
            learning_rate=now(self.learning_rate),
            leaf_learning_rate=None if self.leaf_learning_rate is None else now(self.leaf_learning_rate),
            k=int(now(self.k)),
            temperature=now(self.temperature),
            q=now(self.q),
            selector=self.selector,
            n_columns=round(now(self.n_columns)),
            n_leaf_columns=round(now(self.n_leaf_columns)),
        )


def algorithm_1(
    n_joint: int,
    n_augmented: int,
    n_actual: int,
    *,
    k: int | Schedule = 4,
    temperature: float | Schedule = 0.5,
    learning_rate: float | Schedule = 0.01,
    leaf_learning_rate: float | Schedule = 1e-4,
) -> tuple[Phase, Phase, Phase]:
    """Lay out the paper's Algorithm 1 (regression with the annealed Top-k selector).

    Parameters
    ----------
    n_joint : int
        Epochs with ``k >= 2``, splits and leaves trained together.
    n_augmented : int
        Epochs with k = 1 in which each sample trains its first and its second choice; splits do not change.
    n_actual : int
        Epochs with k = 1 on the samples that each leaf receives; splits do not change.
    k, temperature, learning_rate : number or Schedule
        Settings of the joint phase.
    leaf_learning_rate : float or Schedule
        Step size of the two phases with k = 1.
    """
    joint = Phase(n_joint, learning_rate, k=k, temperature=temperature)
    for epoch in range(n_joint):
        if joint.step(epoch).k < 2:
            raise ValueError(
                f"k must be at least 2 in the joint phase, got {joint.step(epoch).k} in epoch {epoch}; "
                "with k = 1 the splits have no gradient."
            )
    return (
        joint,
        Phase(n_augmented, 0.0, leaf_learning_rate, selector="augmented"),
        Phase(n_actual, 0.0, leaf_learning_rate),
    )
