"""What an engine is: it holds parameters and rows, and runs one epoch when told how.

Parts of the contract:

- a *problem* (:class:`Classification` or :class:`Regression`) says what the
  leaves hold and what the loss is;
- :class:`Parameters` are the numbers that are trained, in the coordinates of
  the rows handed in;
- a :class:`Step` says how one epoch is run: rates, k, temperature, q;
- :class:`Penalties` stay the same over all epochs.

Two engines keep this contract: ``cpu`` (compiled loops) and ``torch``
(autograd, any device). In float64 their losses and gradients agree to rounding.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.tree import Topology

__all__ = [
    "ALL",
    "Classification",
    "Engine",
    "Gradients",
    "Parameters",
    "Penalties",
    "Problem",
    "Regression",
    "Rows",
    "Step",
]


ALL = 2**31 - 1
"""As ``k``: every leaf takes part."""


@dataclass(frozen=True)
class Classification:
    """Leaves hold classes; cross-entropy over pooled leaf logits."""

    n_classes: int


@dataclass(frozen=True)
class Regression:
    """Leaves hold numbers or linear models.

    Parameters
    ----------
    loss : {"squared", "absolute", "huber", "pinball"}
    parameter : float
        Where Huber's loss turns linear, or the quantile of the pinball loss.
    linear : bool
        Linear models in the leaves, else constants.
    """

    n_outputs: int = 1
    linear: bool = True
    loss: Literal["squared", "absolute", "huber", "pinball"] = "squared"
    parameter: float = 0.0


Problem = Classification | Regression


class Rows(NamedTuple):
    """Rows as an engine wants them: C-ordered, one float dtype, weights with mean 1."""

    X: Floats
    y: Array
    """Class codes (n,), or targets (n, n_outputs)."""
    weight: Floats


@dataclass(frozen=True)
class Parameters:
    """The numbers that are trained; the last column of each matrix is the bias.

    ``splits`` has shape (n_splits, n_features + 1); ``leaves`` has shape (n_leaves * n_outputs,
    n_features + 1 or 1), or is None where leaves hold classes, told by ``leaf_class`` (n_leaves,).
    """

    splits: Floats
    leaves: Floats | None = None
    leaf_class: Ints | None = None


@dataclass(frozen=True)
class Step:
    """How one epoch is run.

    Parameters
    ----------
    learning_rate, leaf_learning_rate : float
        Step size of splits and of leaves; 0 leaves them as they are. None: the same as the splits'.
    k : int
        Leaves that take part in a prediction (regression); ``ALL`` for every leaf.
    temperature : float
        Of the pooling of classes (0 is the max) or of the softmax over the selected leaves.
    q : float
        Exponent of the bounded classification loss; 0 is cross-entropy.
    selector : {"top_k", "straight_through", "augmented"}
    """

    learning_rate: float
    leaf_learning_rate: float | None = None
    k: int = 1
    temperature: float = 0.0
    q: float = 0.0
    selector: Literal["top_k", "straight_through", "augmented"] = "top_k"


@dataclass(frozen=True)
class Penalties:
    """Penalties of the training loss; decay is decoupled from the gradient (as in AdamW) and scales with the rate."""

    split_decay: float = 0.0
    leaf_decay: float = 0.0
    split_l1: float = 0.0
    split_l2: float = 0.0
    leaf_l1: float = 0.0
    leaf_l2: float = 0.0
    clip: float = 0.0


@dataclass(frozen=True)
class Gradients:
    """Gradient of the mean loss over some rows, shaped as the parameters."""

    splits: Floats
    leaves: Floats | None = field(default=None)


def digest(rows: Rows, batch_size: int, penalties: Penalties) -> bytes:
    """Fingerprint of what an engine is given once."""
    content = hashlib.sha256(repr((batch_size, penalties)).encode())
    for array in rows:
        content.update(np.ascontiguousarray(array).data)
    return content.digest()


def not_finite(loss: float, batch: int, rows: list[int]) -> FloatingPointError:
    """What an engine raises when the loss of a batch is no number."""
    return FloatingPointError(
        f"the loss became {loss} in batch {batch} of the epoch (rows {rows[:5]}...); "
        "lower the learning rate, or look for huge values in X, y or the sample weights."
    )


class Engine(Protocol):
    """Runs epochs on rows that it was given when it was made."""

    problem: Problem
    topology: Topology

    def run_epoch(self, order: Ints, step: Step) -> float:
        """Train on the rows in ``order``, batch by batch; return the mean loss. Raises FloatingPointError on NaN."""
        ...

    def loss(self, rows: Rows, step: Step) -> float:
        """Mean loss of rows, nothing trained."""
        ...

    def gradients(self, rows: Rows, step: Step) -> tuple[float, Gradients]:
        """Mean loss of rows and its gradient, penalties apart, nothing trained."""
        ...

    def reached(self, X: Floats) -> Ints:
        """Leaf that each row reaches."""
        ...

    def parameters(self) -> Parameters:
        """Copy of the parameters."""
        ...

    def assign(self, leaf_class: Ints) -> None:
        """Give the leaves other classes."""
        ...

    def digest(self) -> bytes:
        """Fingerprint of what stays the same: rows, batch size, penalties."""
        ...

    def state(self) -> dict[str, Array]:
        """Copy of all else that the next epoch depends on."""
        ...

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from a copy."""
        ...
