"""What an engine is: it holds rows and parameters, and trains the parameters for one epoch at a time.

The parts of the contract:

- a *problem* (:class:`Classification` or :class:`Regression`) says what the
  leaves hold and what the loss is;
- *parameters* (:class:`ClassParameters` or :class:`RegressionParameters`) are
  the numbers that are trained, in the coordinates of the rows;
- a :class:`Step` holds the settings of one epoch: learning rates, k,
  temperature, q;
- :class:`Penalties` are the same in every epoch.

The training loop needs the four methods of :class:`Engine` and nothing else, so
that any method that trains in epochs can use it. The engines of DTSemNet are
:class:`TreeEngine`: they also evaluate rows and give their parameters. There
are two of them, ``cpu`` (compiled loops) and ``torch`` (autograd, any device).
In float64 their losses and gradients agree to rounding.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
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
    "RegressionEngine",
    "RegressionParameters",
    "Rows",
    "SelectorName",
    "Step",
    "TreeEngine",
]

ALL = 2**31 - 1
"""As ``k``: every leaf takes part in a prediction."""

LossName = Literal["squared_error", "absolute_error", "huber", "quantile"]
"""The regression losses, by the names that scikit-learn gives them."""

SelectorName = Literal["top_k", "straight_through", "augmented"]
"""How the leaves that predict and learn are chosen (regression)."""


@dataclass(frozen=True)
class Classification:
    """Leaves hold classes; the loss is cross-entropy over pooled leaf logits."""

    n_classes: int


@dataclass(frozen=True)
class Regression:
    """Leaves hold constants or linear models.

    Parameters
    ----------
    n_outputs : int
        Number of targets.
    linear : bool
        Linear models in the leaves if True, constants if False.
    loss : {"squared_error", "absolute_error", "huber", "quantile"}
    parameter : float
        The residual from which Huber's loss is linear, or the quantile.
    """

    n_outputs: int = 1
    linear: bool = True
    loss: LossName = "squared_error"
    parameter: float = 0.0


Problem = Classification | Regression


@dataclass(frozen=True)
class ClassParameters:
    """What a classifier trains.

    Parameters
    ----------
    splits : array of shape (n_splits, n_features + 1)
        One hyperplane per row, the bias last.
    leaf_class : array of int, shape (n_leaves,)
        Class of each leaf. The gradient does not change it; see :meth:`ClassEngine.assign`.
    """

    splits: Floats
    leaf_class: Ints


@dataclass(frozen=True)
class RegressionParameters:
    """What a regressor trains.

    Parameters
    ----------
    splits : array of shape (n_splits, n_features + 1)
        One hyperplane per row, the bias last.
    leaves : array of shape (n_leaves * n_outputs, n_features + 1 or 1)
        One model per leaf and output, the bias last; constant leaves have the bias alone.
    """

    splits: Floats
    leaves: Floats


Parameters = ClassParameters | RegressionParameters


@dataclass(frozen=True)
class Step:
    """The settings of one epoch.

    Parameters
    ----------
    learning_rate : float
        Step size of the splits; 0 leaves them unchanged.
    leaf_learning_rate : float, optional
        Step size of the leaves; 0 leaves them unchanged, None means the step size of the splits.
    k : int
        Number of leaves that take part in a prediction (regression); ``ALL`` for every leaf.
    temperature : float
        Temperature of the class pooling (0 is the maximum), or of the softmax over the selected leaves.
    q : float
        Exponent of the bounded classification loss; 0 is cross-entropy.
    selector : {"top_k", "straight_through", "augmented"}
        How leaves are selected (regression).
    """

    learning_rate: float
    leaf_learning_rate: float | None = None
    k: int = 1
    temperature: float = 0.0
    q: float = 0.0
    selector: SelectorName = "top_k"

    @property
    def rate_of_leaves(self) -> float:
        """Step size of the leaves, as a number."""
        return self.learning_rate if self.leaf_learning_rate is None else self.leaf_learning_rate


@dataclass(frozen=True)
class Penalties:
    """What is the same in every epoch beside the loss.

    Parameters
    ----------
    weight_decay : float
        Decay of the splits, decoupled from the gradient as in AdamW and multiplied by the learning rate.
    l1 : float
        Penalty on the absolute values of the splits.
    clip : float
        Largest norm of the gradient of all parameters together; larger gradients are scaled down. 0 for no limit.
    """

    weight_decay: float = 0.0
    l1: float = 0.0
    clip: float = 0.0


class Engine(Protocol):
    """What the training loop needs: epochs on the rows that the engine holds, and a state to save and restore."""

    def run_epoch(self, order: Ints, step: Step) -> float:
        """Train for one epoch.

        Parameters
        ----------
        order : array of int
            The rows, in the order in which they are cut into batches.
        step : Step
            The settings of this epoch.

        Returns
        -------
        float
            The mean loss.

        Raises
        ------
        FloatingPointError
            If the loss of a batch is not finite.
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
    """An engine that trains the splits of a tree, and can be asked about other rows."""

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


class RegressionEngine(TreeEngine, Protocol):
    """An engine for regression."""

    def parameters(self) -> RegressionParameters: ...


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
