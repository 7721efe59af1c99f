"""What an engine is: it holds rows and parameters, and trains the parameters for one epoch at a time.

A problem says what the leaves hold and what the loss is. Parameters are the
numbers that are trained, in the coordinates of the rows. A :class:`Step` holds
the settings of one epoch; :class:`Penalties` are the same in every epoch.

The training loop needs the four methods of :class:`Engine` and nothing else, so
that any method that trains in epochs can use it. The two engines of DTSemNet,
``cpu`` (compiled loops) and ``torch`` (autograd, any device), also evaluate rows
and return their parameters. In float64 their losses and gradients agree to
rounding.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels.regression import LossName, SelectorName
from dtsemnet.kernels.rows import Rows
from dtsemnet.tree import Topology

__all__ = [
    "ALL",
    "ClassEngine",
    "ClassParameters",
    "Classification",
    "Engine",
    "Parameters",
    "Penalties",
    "Problem",
    "Regression",
    "RegressionParameters",
    "Rows",
    "Step",
    "TreeEngine",
]

ALL = 2**31 - 1
"""As ``k``: every leaf takes part in a prediction."""


@dataclass(frozen=True)
class Classification:
    """Leaves hold classes; the loss is cross-entropy over pooled leaf logits."""

    n_classes: int


@dataclass(frozen=True)
class Regression:
    """Leaves hold linear models, or constants."""

    n_outputs: int = 1
    linear: bool = True
    loss: LossName = "squared_error"
    parameter: float = 0.0
    """The residual from which Huber's loss is linear, the quantile, or the power of Tweedie's deviance."""


Problem = Classification | Regression


@dataclass(frozen=True)
class ClassParameters:
    """What a classifier trains."""

    splits: Floats
    """(n_splits, n_features + 1): one hyperplane per row, the bias last."""
    leaf_class: Ints
    """(n_leaves,): class of each leaf. The gradient does not change it; see :meth:`ClassEngine.assign`."""


@dataclass(frozen=True)
class RegressionParameters:
    """What a regressor trains."""

    splits: Floats
    """(n_splits, n_features + 1): one hyperplane per row, the bias last."""
    leaves: Floats
    """(n_leaves * n_outputs, n_features + 1 or 1): one model per row, the bias last; constants are the bias alone."""


Parameters = ClassParameters | RegressionParameters


@dataclass(frozen=True)
class Step:
    """The settings of one epoch."""

    learning_rate: float
    """Step size of the splits; 0 leaves them unchanged."""
    leaf_learning_rate: float | None = None
    """Step size of the leaves; 0 leaves them unchanged, None means the step size of the splits."""
    k: int = 1
    """Number of leaves that take part in a prediction (regression); ``ALL`` for every leaf."""
    temperature: float = 0.0
    """Temperature of the class pooling (0 is the maximum), or of the softmax over the selected leaves."""
    q: float = 0.0
    """Exponent of the bounded classification loss; 0 is cross-entropy."""
    selector: SelectorName = "top_k"
    """How leaves are selected (regression)."""
    n_columns: int = ALL
    """Most columns that a split may read: those that move its score most stay, the others get weights of zero."""
    n_leaf_columns: int = ALL
    """Most columns that a linear model in a leaf may read, likewise."""

    @property
    def rate_of_leaves(self) -> float:
        """Step size of the leaves, as a number."""
        return self.learning_rate if self.leaf_learning_rate is None else self.leaf_learning_rate


@dataclass(frozen=True)
class Penalties:
    """What is added to the loss in every epoch, and the limit of its gradient."""

    weight_decay: float = 0.0
    """Decay of the splits, decoupled from the gradient as in AdamW and multiplied by the learning rate."""
    l1: float = 0.0
    """Penalty on the absolute values of the splits."""
    clip: float = 0.0
    """Largest norm of the gradient of all parameters together; larger gradients are scaled down. 0 for no limit."""


class Engine(Protocol):
    """What the training loop needs: epochs on the rows that the engine holds, and a state to save and restore."""

    def run_epoch(self, order: Ints, step: Step) -> float:
        """Train for one epoch and return the mean loss.

        ``order`` lists the rows in the order in which they are cut into batches; ``step`` holds the settings of the
        epoch. Raises FloatingPointError if the loss of a batch is not finite.
        """
        ...

    def digest(self) -> bytes:
        """Fingerprint of what training does not change: rows, batch size, penalties."""
        ...

    def state(self) -> dict[str, Array]:
        """Copy of everything that training changes and that the next epoch depends on."""
        ...

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from a state that :meth:`state` returned."""
        ...


class TreeEngine(Engine, Protocol):
    """An engine that trains the splits of a tree, and evaluates other rows."""

    topology: Topology

    def loss(self, rows: Rows, step: Step) -> float:
        """Mean loss of some rows under the settings of ``step``; nothing is trained."""
        ...

    def reached(self, X: Floats) -> Ints:
        """Leaf that each row of ``X`` reaches."""
        ...

    def parameters(self) -> Parameters:
        """Copy of the parameters."""
        ...


class ClassEngine(TreeEngine, Protocol):
    """An engine for classification."""

    def parameters(self) -> ClassParameters: ...

    def assign(self, leaf_class: Ints) -> None:
        """Replace the class of each leaf, shape (n_leaves,)."""
        ...


def digest(rows: Rows, *settings: object) -> bytes:
    """Fingerprint of the rows and of settings whose ``repr`` says all about them."""
    content = hashlib.sha256(repr(settings).encode())
    for array in rows:
        content.update(np.ascontiguousarray(array).data)
    return content.digest()


def not_finite(loss: float, batch: int, rows: list[int]) -> FloatingPointError:
    """Make the error for a batch whose loss is not finite."""
    return FloatingPointError(
        f"the loss became {loss} in batch {batch} of the epoch (rows {rows[:5]}...); "
        "lower the learning rate, or look for huge values in X, y or the sample weights."
    )
