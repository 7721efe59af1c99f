"""Training as a sequence of phases, and the paper's Algorithm 1 as three of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dtsemnet.training.engine import Step
from dtsemnet.training.schedules import Schedule, as_schedule

__all__ = ["Phase", "algorithm_1"]


@dataclass(frozen=True)
class Phase:
    """Some epochs run alike, each setting a number or a schedule over the phase.

    >>> from dtsemnet.training import Linear
    >>> Phase(3, learning_rate=0.1, q=Linear(0, 1)).step(1)
    Step(learning_rate=0.1, leaf_learning_rate=None, k=1, temperature=0, q=0.5, selector='top_k')
    """

    n_epochs: int
    learning_rate: float | Schedule
    leaf_learning_rate: float | Schedule | None = None
    k: int | Schedule = 1
    temperature: float | Schedule = 0
    q: float | Schedule = 0
    selector: Literal["top_k", "straight_through", "augmented"] = "top_k"

    def step(self, epoch: int) -> Step:
        """Settings of one epoch, counted from the start of the phase."""

        def now(value: float | Schedule) -> float:
            return as_schedule(value)(epoch, self.n_epochs)

        return Step(
            learning_rate=now(self.learning_rate),
            leaf_learning_rate=None if self.leaf_learning_rate is None else now(self.leaf_learning_rate),
            k=int(now(self.k)),
            temperature=now(self.temperature),
            q=now(self.q),
            selector=self.selector,
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
        Epochs with k = 1 in which each sample trains its first and its second choice; splits rest.
    n_actual : int
        Epochs with k = 1 on the samples that each leaf receives; splits rest.
    k, temperature, learning_rate
        Of the joint phase. ``k`` may be a schedule such as ``Steps((4, 3, 2))``.
    leaf_learning_rate
        Of the two phases with k = 1.
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
