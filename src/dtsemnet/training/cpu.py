"""The CPU engine: one compiled call is one epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

# Loaded before any limit on threads is set: kernels call this BLAS, and a limit reaches only what is loaded.
import scipy.linalg.cython_blas  # noqa: F401

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels import epoch, evaluate, regression
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

__all__ = ["CpuClassification", "CpuRegression", "cpu_engine"]

SELECTORS = {
    "top_k": regression.TOP_K,
    "straight_through": regression.STRAIGHT_THROUGH,
    "augmented": regression.AUGMENTED,
}
LOSSES = {
    "squared_error": regression.SQUARED,
    "absolute_error": regression.ABSOLUTE,
    "huber": regression.HUBER,
    "quantile": regression.PINBALL,
}


class _CpuEngine:
    """What both problems share: the rows, the splits and their moments, the count of steps."""

    def __init__(
        self,
        problem: Problem,
        topology: Topology,
        rows: Rows,
        parameters: Parameters,
        *,
        batch_size: int,
        penalties: Penalties,
    ) -> None:
        self.problem, self.topology, self.rows = problem, topology, rows
        self.batch_size, self.penalties = batch_size, penalties
        self.children = topology.children
        self.n_steps = 0
        self.arrays: dict[str, Array] = {}
        self._hold("splits", parameters.splits)

    def _hold(self, name: str, values: Floats) -> None:
        """Keep a parameter beside its two moments."""
        self.arrays[name] = np.array(values, dtype=self.rows.X.dtype, order="C")
        self.arrays[name + "_first"] = np.zeros_like(self.arrays[name])
        self.arrays[name + "_second"] = np.zeros_like(self.arrays[name])

    def _rates(self, step: Step) -> epoch.Rates:
        p = self.penalties
        numbers = (step.learning_rate, step.rate_of_leaves, p.weight_decay, 0, p.l1, 0, 0, 0, p.clip)
        return epoch.Rates(*map(float, numbers))

    def _finish(self, total: float, taken: int, order: Ints) -> float:
        self.n_steps += taken
        if not np.isfinite(total):
            rows = order[taken * self.batch_size : (taken + 1) * self.batch_size]
            raise not_finite(total, taken, rows.tolist())
        return total / float(self.rows.weight[order].sum(dtype=np.float64))

    def reached(self, X: Floats) -> Ints:
        leaf: Ints = evaluate.reached(X, self.arrays["splits"], self.children)
        return leaf

    def digest(self) -> bytes:
        return digest(self.rows, self.batch_size, self.penalties)

    def state(self) -> dict[str, Array]:
        return {name: array.copy() for name, array in self.arrays.items()} | {"n_steps": np.array(self.n_steps)}

    def restore(self, state: dict[str, Array]) -> None:
        for name in self.arrays:
            self.arrays[name][...] = state[name]
        self.n_steps = int(state["n_steps"])


class CpuClassification(_CpuEngine):
    """Splits trained by cross-entropy over pooled classes."""

    problem: Classification

    def __init__(
        self, problem: Classification, topology: Topology, rows: Rows, parameters: ClassParameters, **options: Any
    ) -> None:
        super().__init__(problem, topology, rows, parameters, **options)
        self.arrays["leaf_class"] = np.array(parameters.leaf_class, dtype=np.int64)

    def run_epoch(self, order: Ints, step: Step) -> float:
        a, rows = self.arrays, self.rows
        total, taken = epoch.class_epoch(
            rows.X, rows.y, rows.weight, order, self.batch_size, self.children, a["leaf_class"],
            self.problem.n_classes, a["splits"], a["splits_first"], a["splits_second"], self.n_steps,
            float(step.temperature), float(step.q), self._rates(step),
        )  # fmt: skip
        return self._finish(total, taken, order)

    def loss(self, rows: Rows, step: Step) -> float:
        total: float = evaluate.class_evaluate(
            rows.X, rows.y, rows.weight, self.children, self.arrays["leaf_class"], self.problem.n_classes,
            self.arrays["splits"], float(step.temperature), float(step.q),
        )  # fmt: skip
        return total / float(rows.weight.sum(dtype=np.float64))

    def parameters(self) -> ClassParameters:
        return ClassParameters(self.arrays["splits"].copy(), self.arrays["leaf_class"].copy())

    def assign(self, leaf_class: Ints) -> None:
        self.arrays["leaf_class"][...] = leaf_class


class CpuRegression(_CpuEngine):
    """Splits and leaves trained on a regression loss."""

    problem: Regression

    def __init__(
        self, problem: Regression, topology: Topology, rows: Rows, parameters: RegressionParameters, **options: Any
    ) -> None:
        super().__init__(problem, topology, rows, parameters, **options)
        self._hold("leaves", parameters.leaves)

    def _selection(self, step: Step) -> tuple[int, int, float, int, float]:
        problem, temperature = self.problem, float(step.temperature)
        # At k = 1 the temperature does nothing; 1 keeps the division away from 0.
        temperature = temperature if temperature > 0 else 1.0
        return SELECTORS[step.selector], int(step.k), temperature, LOSSES[problem.loss], float(problem.parameter)

    def run_epoch(self, order: Ints, step: Step) -> float:
        a, rows = self.arrays, self.rows
        total, taken = epoch.leaf_epoch(
            rows.X, rows.y, rows.weight, order, self.batch_size, self.children,
            a["splits"], a["splits_first"], a["splits_second"], a["leaves"], a["leaves_first"], a["leaves_second"],
            self.n_steps, *self._selection(step), self._rates(step),
        )  # fmt: skip
        return self._finish(total, taken, order)

    def loss(self, rows: Rows, step: Step) -> float:
        total: float = evaluate.leaf_evaluate(
            rows.X, rows.y, rows.weight, self.children, self.arrays["splits"], self.arrays["leaves"],
            *self._selection(step),
        )  # fmt: skip
        return total / float(rows.weight.sum(dtype=np.float64))

    def parameters(self) -> RegressionParameters:
        return RegressionParameters(self.arrays["splits"].copy(), self.arrays["leaves"].copy())


def cpu_engine(
    problem: Problem,
    topology: Topology,
    rows: Rows,
    parameters: Parameters,
    *,
    batch_size: int = 128,
    penalties: Penalties | None = None,
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
        Where training starts, copied.
    batch_size : int, default=128
        Rows per step of the optimizer.
    penalties : Penalties
        Weight decay, L1 penalty and limit of the gradient; none by default.
    """
    make: Any = CpuClassification if isinstance(problem, Classification) else CpuRegression
    return make(problem, topology, rows, parameters, batch_size=batch_size, penalties=penalties or Penalties())
