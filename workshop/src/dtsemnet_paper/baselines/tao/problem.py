"""What is the same whatever the search finds: targets as leaves want them, and the tree in raw units."""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.fit.data import Sample, Scaling, TrainingData
from dtsemnet.fit.leaves import count_classes, frequencies, guard_of, leaves_of
from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.baselines.tao.leaves import ClassLeaves, Leaves, LinearLeaves
from dtsemnet_paper.baselines.tao.search import Rows

__all__ = ["ClassProblem", "NumberProblem", "scaled_rows", "skeleton"]


class ClassProblem:
    """Leaves that hold classes."""

    def __init__(self, data: TrainingData) -> None:
        self.names, self.n_classes = data.feature_names, len(data.class_names or ())
        self.class_names = data.class_names

    def targets(self, sample: Sample) -> Array:
        """Targets as the leaves want them."""
        return sample.y

    def leaves(self, rows: Rows, n_leaves: int) -> Leaves:
        """Leaves over some rows."""
        return ClassLeaves(rows.y, rows.weight, n_leaves, self.n_classes)

    def tree(self, splits: Tree, sample: Sample, scaling: Scaling) -> Tree:
        """Count the classes in the leaves of the folded tree."""
        table = count_classes(splits, sample, self.n_classes) / sample.weight.mean()
        value = frequencies(splits.topology, table)
        names = {"feature_names": self.names, "class_names": self.class_names}
        return Tree(splits.topology, splits.weight, splits.bias, value, **names)


class NumberProblem:
    """Leaves that hold linear models or constants. Targets are standardised while the splits are sought."""

    def __init__(self, data: TrainingData, *, linear: bool, ridge: float) -> None:
        self.names, self.linear, self.ridge = data.feature_names, linear, ridge
        y, weight = data.sample.y, data.sample.weight
        unit = np.maximum(np.abs(y).max(axis=0), np.finfo(float).tiny)  # nothing overflows, whatever the unit
        mean = np.average(y / unit, axis=0, weights=weight)
        spread = np.sqrt(np.average(np.square(y / unit - mean), axis=0, weights=weight))
        self.center, self.scale = mean * unit, np.where(spread > 10 * np.finfo(float).eps, spread, 1.0) * unit

    def targets(self, sample: Sample) -> Array:
        """Targets as the leaves want them."""
        scaled: Array = (sample.y - self.center) / self.scale
        return scaled

    def leaves(self, rows: Rows, n_leaves: int) -> LinearLeaves:
        """Leaves over some rows."""
        return LinearLeaves(rows.X, rows.y, rows.weight, n_leaves, linear=self.linear, ridge=self.ridge)

    def tree(self, splits: Tree, sample: Sample, scaling: Scaling) -> Tree:
        """Fit the leaves to the rows that reach them in the folded tree, and fold them to raw units."""
        leaf, n_leaves = leaves_of(splits, sample), splits.n_leaves
        leaves = self.leaves(scaled_rows(sample, self.targets(sample), scaling), n_leaves)
        leaves.refit(leaf, n_leaves)
        n_outputs = leaves.model.shape[1]
        coef = None
        offset: Floats = leaves.model[:, :, -1]
        if self.linear:
            slopes, flat = scaling.fold(leaves.model.reshape(n_leaves * n_outputs, -1))
            coef = slopes.reshape(n_leaves, n_outputs, -1) * self.scale[:, None]
            offset = flat.reshape(n_leaves, n_outputs)
        value = offset * self.scale + self.center
        guard = guard_of(leaf, sample.y, n_leaves)
        return Tree(splits.topology, splits.weight, splits.bias, value, coef, *guard, feature_names=self.names)


def scaled_rows(sample: Sample, targets: Array, scaling: Scaling) -> Rows:
    """Copy rows to training coordinates."""
    return Rows(scaling.apply(sample, np.float64), targets, sample.weight / sample.weight.mean())


def skeleton(splits: Floats, scaling: Scaling) -> Tree:
    """The splits folded to raw inputs; those on one feature are written as a threshold of it."""
    weight, bias = scaling.fold(splits)
    alone = np.count_nonzero(weight, axis=1) == 1
    size = np.where(alone, np.abs(weight).sum(axis=1), 1.0)
    topology = Topology.complete((len(splits) + 1).bit_length() - 1)
    return Tree(topology, weight / size[:, None], bias / size, np.zeros((len(splits) + 1, 1)))
