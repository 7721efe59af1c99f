"""The CPU engine: one compiled call is one epoch, see :mod:`dtsemnet.kernels.epochs`.

Rows and parameters have one dtype, float32 or float64.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

# Loaded before any limit on threads is set: kernels call this BLAS, and a limit reaches only what is loaded.
import scipy.linalg.cython_blas  # noqa: F401

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels.classification import ClassLoss, classification_loss
from dtsemnet.kernels.epochs import Rates, classification_epoch, regression_epoch
from dtsemnet.kernels.logits import reached
from dtsemnet.kernels.optimizer import Moments, hold
from dtsemnet.kernels.regression import LOSSES, SELECTORS, RegressionLoss, regression_loss
from dtsemnet.training.columns import Rules, sides_of_classes
from dtsemnet.training.engine import (
    Classification,
    ClassParameters,
    Parameters,
    Penalties,
    Problem,
    Regression,
    RegressionParameters,
    Rows,
    Step,
    digest,
    not_finite,
)
from dtsemnet.tree import Topology

__all__ = ["CompiledEngine", "CpuClassification", "CpuRegression", "cpu_engine"]


class CompiledEngine(ABC):
    """What engines with compiled epochs share: rows, parameters with their moments, and the count of steps.

    ``parameters`` are matrices by name; they are copied.
    """

    def __init__(self, rows: Rows, topology: Topology, batch_size: int, **parameters: Floats) -> None:
        self.rows = Rows(*map(np.ascontiguousarray, rows))
        self.topology, self.batch_size, self.n_steps = topology, batch_size, 0
        self._total_weight = _exact_sum(self.rows.weight)
        self.trained = {name: Moments.start(value, rows.X.dtype) for name, value in parameters.items()}

    @abstractmethod
    def run_epoch(self, order: Ints, step: Step) -> float:
        """Train for one epoch; see :class:`~dtsemnet.training.Engine`."""

    def digest(self) -> bytes:
        return digest(self.rows, self.batch_size)

    def state(self) -> dict[str, Array]:
        return {name: array.copy() for name, array in self._arrays().items()} | {"n_steps": np.array(self.n_steps)}

    def restore(self, state: dict[str, Array]) -> None:
        for name, array in self._arrays().items():
            array[...] = state[name]
        self.n_steps = int(state["n_steps"])
        if self.n_steps < 0:
            raise ValueError(f"n_steps must be at least 0, got {self.n_steps}")

    def _arrays(self) -> dict[str, Array]:
        """Everything that training changes, apart from the count of steps."""
        return {
            f"{name}.{field}": array
            for name, moments in self.trained.items()
            for field, array in moments._asdict().items()
        }

    def _weight_of(self, order: Ints) -> float:
        """Weight of the rows of an epoch, which is an order of all rows if there are so many."""
        if self._total_weight is not None and len(order) == len(self.rows.weight):
            return self._total_weight
        return _sum(self.rows.weight[order])

    def _count(self, total: float, taken: int, order: Ints) -> None:
        """Count the steps of an epoch; raise an error if its last batch went wrong."""
        self.n_steps += taken
        if not math.isfinite(total):
            rows = order[taken * self.batch_size : (taken + 1) * self.batch_size]
            raise not_finite(total, taken, rows.tolist())


class _CpuEngine(CompiledEngine):
    """What both problems share beyond that: penalties, and the splits of a tree."""

    def __init__(
        self, topology: Topology, rows: Rows, batch_size: int, penalties: Penalties, rules: Rules | None = None,
        **parameters: Floats,
    ) -> None:  # fmt: skip
        super().__init__(rows, topology, batch_size, **parameters)
        self.penalties, self.children = penalties, topology.children
        self.rules = Rules(np.arange(rows.X.shape[1])) if rules is None else rules
        self.splits = self.trained["splits"]
        self._any_splits = np.empty((0, rows.X.shape[1] + 1), np.int8)

    def reached(self, X: Floats) -> Ints:
        return reached(X, self.splits.value, self.children)

    def digest(self) -> bytes:
        return digest(self.rows, self.batch_size, self.penalties)

    def keep_rules(self, step: Step) -> Ints:
        """Make the splits keep the rules of an epoch, and return what their weights may be."""
        if self.rules.leave_free(step.n_columns):
            return self._any_splits
        allowed = self.rules.of_splits(self.splits.value, step.n_columns, self.sides())
        hold(self.splits.value, allowed)
        return allowed

    def sides(self) -> Ints | None:
        """The side of each split to which features with a direction may push; None: where they push already."""
        return None

    def rates(self, step: Step) -> Rates:
        """Learning rates and penalties of one epoch."""
        p = self.penalties
        return Rates(
            float(step.learning_rate), float(step.rate_of_leaves), float(p.weight_decay), float(p.l1), float(p.clip)
        )


class CpuClassification(_CpuEngine):
    """Splits trained by cross-entropy over pooled classes."""

    def __init__(
        self, problem: Classification, topology: Topology, rows: Rows, parameters: ClassParameters, **options: Any
    ) -> None:
        super().__init__(topology, rows, splits=parameters.splits, **options)
        self.n_classes = problem.n_classes
        self.leaf_class: Ints = np.array(parameters.leaf_class, dtype=np.int64)

    def run_epoch(self, order: Ints, step: Step) -> float:
        loss, rates, n_steps = self.settings(step), self.rates(step), self.n_steps
        total, taken = classification_epoch(
            self.rows, order, self.batch_size, self.children, self.leaf_class, self.splits,
            self.keep_rules(step), n_steps, loss, rates,
        )  # fmt: skip
        self._count(total, taken, order)
        return total / self._weight_of(order)

    def loss(self, rows: Rows, step: Step) -> float:
        loss = self.settings(step)
        return classification_loss(rows, self.children, self.leaf_class, self.splits.value, loss) / _sum(rows.weight)

    def parameters(self) -> ClassParameters:
        return ClassParameters(self.splits.value.copy(), self.leaf_class.copy())

    def restore(self, state: dict[str, Array]) -> None:
        # Kernels look up classes by these numbers without a check, and a checkpoint may hold any.
        if not ((state["leaf_class"] >= 0) & (state["leaf_class"] < self.n_classes)).all():
            raise ValueError(f"leaf_class must hold classes from 0 to {self.n_classes - 1}")
        super().restore(state)

    def assign(self, leaf_class: Ints) -> None:
        self.leaf_class[...] = leaf_class

    def sides(self) -> Ints | None:
        direction = self.rules.direction
        if direction is None:
            return None
        return sides_of_classes(self.topology, self.leaf_class, self.splits.value, direction)

    def settings(self, step: Step) -> ClassLoss:
        """Settings of the loss in one epoch."""
        return ClassLoss(self.n_classes, float(step.temperature), float(step.q))

    def _arrays(self) -> dict[str, Array]:
        return super()._arrays() | {"leaf_class": self.leaf_class}


class CpuRegression(_CpuEngine):
    """Splits and leaves trained on a regression loss."""

    def __init__(
        self, problem: Regression, topology: Topology, rows: Rows, parameters: RegressionParameters, **options: Any
    ) -> None:
        super().__init__(topology, rows, splits=parameters.splits, leaves=parameters.leaves, **options)
        self.problem, self.leaves = problem, self.trained["leaves"]

    def run_epoch(self, order: Ints, step: Step) -> float:
        loss, rates, n_steps = self.settings(step), self.rates(step), self.n_steps
        in_leaves = self.rules.of_leaves(self.leaves.value, step.n_leaf_columns)
        hold(self.leaves.value, in_leaves)
        total, taken = regression_epoch(
            self.rows, order, self.batch_size, self.children, self.splits, self.leaves,
            self.keep_rules(step), in_leaves, n_steps, loss, rates,
        )  # fmt: skip
        self._count(total, taken, order)
        return total / self._weight_of(order)

    def loss(self, rows: Rows, step: Step) -> float:
        loss = self.settings(step)
        total = regression_loss(rows, self.children, self.splits.value, self.leaves.value, loss)
        return total / _sum(rows.weight)

    def parameters(self) -> RegressionParameters:
        return RegressionParameters(self.splits.value.copy(), self.leaves.value.copy())

    def settings(self, step: Step) -> RegressionLoss:
        """Settings of the loss in one epoch."""
        # If k is 1 the temperature has no effect; 1 avoids a division by 0.
        temperature = float(step.temperature) if step.temperature > 0 else 1.0
        loss = LOSSES[self.problem.loss]
        return RegressionLoss(SELECTORS[step.selector], int(step.k), temperature, loss, float(self.problem.parameter))


def cpu_engine(
    problem: Problem,
    topology: Topology,
    rows: Rows,
    parameters: Parameters,
    *,
    batch_size: int = 128,
    penalties: Penalties | None = None,
    rules: Rules | None = None,
) -> CpuClassification | CpuRegression:
    """Make the compiled engine for a problem.

    Parameters
    ----------
    problem : Classification or Regression
    topology : Topology
        Shape of the tree.
    rows : Rows
        The rows to train on.
    parameters : ClassParameters or RegressionParameters
        The start of training, copied.
    batch_size : int, default=128
        Rows per step of the optimizer.
    penalties : Penalties, optional
        Weight decay, L1 penalty and limit of the gradient; none by default.
    rules : Rules, optional
        What the weights of splits and leaves may be; by default anything, and each feature is a column of its own.
    """
    make: Any = CpuClassification if isinstance(problem, Classification) else CpuRegression
    return make(
        problem, topology, rows, parameters, batch_size=batch_size, penalties=penalties or Penalties(), rules=rules
    )


def _sum(weight: Floats) -> float:
    return float(weight.sum(dtype=np.float64))


def _exact_sum(weight: Floats) -> float | None:
    """The sum of weights that have the same sum in any order; None if rounding may depend on the order."""
    unit = 2.0**-20
    multiples, total = weight.astype(np.float64) / unit, _sum(weight)
    return total if (multiples == np.rint(multiples)).all() and total / unit < 2.0**53 else None
