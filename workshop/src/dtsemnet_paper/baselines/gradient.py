"""What the rivals that train a tree by gradient descent share: an engine, and a task of a fit.

Each start has its own seed and the next setting of a small grid. At two fifths of the
training the worse half is dropped. The best on validation rows is kept; if these were a
part of the training rows, it is trained once more from its start, on all rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.data import Sample, TrainingData
from dtsemnet.fit.leaves import LeafFit, class_error, guard_of, leaves_of
from dtsemnet.fit.regression_task import fold_leaves
from dtsemnet.fit.settings import FitOptions, Setting
from dtsemnet.fit.tasks import Candidate, Task
from dtsemnet.training import RegressionParameters, Step
from dtsemnet.training.cpu import CompiledEngine
from dtsemnet.tree import Topology, Tree

__all__ = ["GradientEngine", "GradientTask", "settings_left"]

S = TypeVar("S", bound=Setting)


class GradientEngine(CompiledEngine):
    """Splits and leaves trained by a compiled epoch, on indicators of classes or on standardised targets."""

    @abstractmethod
    def train_batches(self, order: Ints, step: Step) -> tuple[float, int]:
        """Train on the rows in ``order``; return the sum of the losses and the number of steps."""

    def run_epoch(self, order: Ints, step: Step) -> float:
        total, n_steps = self.train_batches(order, step)
        self._count(total, n_steps, order)
        return total / len(order)

    def values(self, name: str) -> Floats:
        """Current values of a parameter, in float64."""
        return self.trained[name].value.astype(np.float64)

    def parameters(self) -> RegressionParameters:
        """Splits and leaves as a tree reads them, in training coordinates."""
        return RegressionParameters(self.values("splits"), self.values("leaves"))


class GradientTask(Task[S, RegressionParameters]):
    """Fit a complete tree by another method.

    Parameters
    ----------
    data : TrainingData
    parameters : dict
        Parameters of the estimator.
    settings : sequence of Setting
        What the starts are trained with, in turn.
    """

    most_epochs = 200
    fewest_epochs = (20, 20)
    pause = 0.4

    def __init__(self, data: TrainingData, parameters: dict[str, Any], settings: Sequence[S]) -> None:
        super().__init__(data, FitOptions.of(parameters), Topology.complete(parameters["max_depth"]))
        self.settings, self.guard = settings, bool(parameters.get("guard"))
        self.classes, self.n_outputs = data.class_names is not None, data.n_outputs
        self.linear = not self.classes and parameters["leaf"] == "linear"

    def targets(self, sample: Sample) -> Array:
        """Classes as indicators, or standardised targets."""
        targets = np.eye(self.n_outputs)[sample.y] if self.classes else self.data.standardise(sample.y)
        return targets.astype(np.float32)

    def fill(
        self,
        tree: Tree,
        trained: RegressionParameters | None,
        train: Sample,
        held: Sample | None,
        chosen: LeafFit | None = None,
    ) -> Candidate:
        assert trained is not None
        fill = self.class_leaves if self.classes else self.number_leaves
        filled = fill(tree, trained.leaves, train)
        samples = [train] if held is None else [held, train]
        return Candidate(filled, tuple(self._error(filled, sample) for sample in samples))

    @abstractmethod
    def class_leaves(self, tree: Tree, leaves: Floats, train: Sample) -> Tree:
        """Fill the leaves of a classifier, given its splits, the trained leaves and the training rows."""

    @abstractmethod
    def number_leaves(self, tree: Tree, leaves: Floats, train: Sample) -> Tree:
        """Fill the leaves of a regressor, given its splits, the trained leaves and the training rows."""

    def again(self, best: Candidate) -> tuple[S, Tree | None]:
        """Train the best setting once more from its start, on all rows."""
        return best.setting, None

    def _error(self, tree: Tree, sample: Sample) -> float:
        """Share of wrong classes, or mean square in units of the targets' variance."""
        if self.classes:
            return class_error(tree, sample)
        total, (_, scale) = 0.0, self.data.target_scale
        for part, rows in sample.blocks():
            miss = (tree.predict(rows).reshape(len(rows), -1) - sample.y[part]) / scale
            total += float(sample.weight[part] @ np.square(miss).mean(axis=1))
        return total / float(sample.weight.sum())

    def guarded(self, tree: Tree, leaves: Floats, train: Sample) -> Tree:
        """Fold leaf models of shape (n_leaves * n_outputs, n_columns) into a regression tree."""
        bounds: tuple[Floats | None, Floats | None] = (None, None)
        if self.guard:
            bounds = guard_of(leaves_of(tree, train), train.y, tree.n_leaves)
        return fold_leaves(tree, leaves.reshape(tree.n_leaves, self.n_outputs, -1), bounds, self.data)


def settings_left(grid: Sequence[S], given: dict[str, Any]) -> list[S]:
    """The settings of a grid with the values that the user gave; settings that become equal are tried once."""
    given = {name: value for name, value in given.items() if value is not None}
    return list(dict.fromkeys(replace(setting, **given) for setting in grid))
