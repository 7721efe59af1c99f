"""What leaves hold while a tree is optimised by alternation, and in the finished tree.

``Leaves`` fit models to rows and give the loss of each row in each leaf. A *problem*
makes the leaves for some rows, and the tree with leaves in raw units at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.data import Sample, TrainingData
from dtsemnet.fit.leaves import class_tree, count_classes, frequencies, guard_of, leaves_of
from dtsemnet.fit.regression_task import fold_leaves
from dtsemnet.training import Rows
from dtsemnet.tree import Topology, Tree

__all__ = ["ClassLeaves", "ClassProblem", "Leaves", "LinearLeaves", "Problem", "RegressionProblem"]


class Leaves(ABC):
    """Leaves of a complete tree over a fixed set of rows."""

    @abstractmethod
    def fit(self, rows: Ints, leaves: Ints) -> None:
        """Fit one model to rows and give it to some leaves."""

    @abstractmethod
    def missed(self, rows: Ints, leaf: Ints) -> Ints:
        """The rows that a second leaf could serve better than the leaf they reach; never all of them."""

    @abstractmethod
    def loss(self, leaf: Ints) -> Floats:
        """Loss of every row if it reached the given leaf."""

    @abstractmethod
    def loss_of(self, X: Floats, y: Array, leaf: Ints) -> Floats:
        """Loss of other rows."""

    def refit(self, leaf: Ints, n_leaves: int) -> None:
        """Fit each leaf that has rows to them; the others stay as they are."""
        order = np.argsort(leaf, kind="stable")
        ends = np.cumsum(np.bincount(leaf, minlength=n_leaves))
        for i, rows in enumerate(np.split(order, ends[:-1])):
            if len(rows):
                self.fit(rows, np.array([i]))


class ClassLeaves(Leaves):
    """Leaves that answer with one class, wrong or right."""

    def __init__(self, y: Ints, weight: Floats, n_leaves: int, n_classes: int) -> None:
        self.y, self.weight, self.n_classes = y, weight, n_classes
        self.label = np.zeros(n_leaves, np.int64)

    def fit(self, rows: Ints, leaves: Ints) -> None:
        self.label[leaves] = np.bincount(self.y[rows], self.weight[rows], self.n_classes).argmax()

    def missed(self, rows: Ints, leaf: Ints) -> Ints:
        return rows[self.label[leaf[rows]] != self.y[rows]]

    def loss(self, leaf: Ints) -> Floats:
        return (self.label[leaf] != self.y).astype(np.float64)

    def loss_of(self, X: Floats, y: Array, leaf: Ints) -> Floats:
        return (self.label[leaf] != y).astype(np.float64)


class LinearLeaves(Leaves):
    """Leaves that answer with a linear model (ridge), or with a constant.

    Outputs are clipped to the targets that a leaf has seen, in training as in the finished tree. Without this, rows far
    from a leaf would have huge losses there, because linear models grow without bound.
    """

    def __init__(self, X: Floats, y: Floats, weight: Floats, n_leaves: int, *, linear: bool, ridge: float) -> None:
        self.linear, self.y, self.weight = linear, y, weight
        self.design = self._with_ones(X)
        n_columns, n_outputs = self.design.shape[1], y.shape[1]
        self.penalty = np.full(n_columns, ridge)
        self.penalty[-1] = 1e-6  # the intercept is free
        self.model = np.zeros((n_leaves, n_outputs, n_columns))
        self.lower, self.upper = np.zeros((2, n_leaves, n_outputs))
        self.common: Floats = np.zeros((n_columns, n_outputs))
        self.common = self._ridge(np.arange(len(y)))
        self.fit(np.arange(len(y)), np.arange(n_leaves))

    def _with_ones(self, X: Floats) -> Floats:
        ones = np.ones((len(X), 1))
        return np.hstack([X, ones]) if self.linear else ones

    def _ridge(self, rows: Ints) -> Floats:
        """Towards the model of all rows, so that a leaf with few rows is no worse than no leaf."""
        design, weight = self.design[rows], self.weight[rows, None]
        gram = (design * weight).T @ design + np.diag(self.penalty)
        rest = self.y[rows] - design @ self.common
        return self.common + np.linalg.solve(gram, design.T @ (weight * rest))

    def fit(self, rows: Ints, leaves: Ints) -> None:
        self.model[leaves] = self._ridge(rows).T
        self.lower[leaves], self.upper[leaves] = self.y[rows].min(axis=0), self.y[rows].max(axis=0)

    def missed(self, rows: Ints, leaf: Ints) -> Ints:
        """Rows that lie above their model."""
        return rows[(self.y[rows] - self._output(self.design[rows], leaf[rows])).sum(axis=1) > 0]

    def loss(self, leaf: Ints) -> Floats:
        return np.square(self.y - self._output(self.design, leaf)).sum(axis=1)

    def loss_of(self, X: Floats, y: Array, leaf: Ints) -> Floats:
        return np.square(y - self._output(self._with_ones(X), leaf)).sum(axis=1)

    def _output(self, design: Floats, leaf: Ints) -> Floats:
        output = np.einsum("nc,noc->no", design, self.model[leaf])
        return np.clip(output, self.lower[leaf], self.upper[leaf])


class Problem(ABC):
    """What differs between classes and numbers.

    Parameters
    ----------
    data : TrainingData
    """

    def __init__(self, data: TrainingData) -> None:
        self.data = data

    @abstractmethod
    def targets(self, sample: Sample) -> Array:
        """Targets as the leaves read them."""

    @abstractmethod
    def leaves(self, rows: Rows, n_leaves: int) -> Leaves:
        """Leaves over some rows."""

    @abstractmethod
    def fill(self, tree: Tree, sample: Sample) -> Tree:
        """Fit the leaves of a tree that reads raw inputs to the rows that reach them."""

    def rows(self, sample: Sample) -> Rows:
        """Copy rows to training coordinates, in float64."""
        weight = sample.weight / sample.weight.mean()
        return Rows(self.data.scaling.apply(sample, np.float64), self.targets(sample), weight)

    def tree(self, splits: Floats, sample: Sample) -> Tree:
        """Fold splits to raw inputs, those on one feature as a threshold of it, and fit the leaves to rows."""
        weight, bias = self.data.scaling.fold(splits)
        has_one_feature = np.count_nonzero(weight, axis=1) == 1
        size = np.where(has_one_feature, np.abs(weight).sum(axis=1), 1.0)
        topology = Topology.complete((len(splits) + 1).bit_length() - 1)
        empty = np.zeros((len(splits) + 1, 1))
        return self.fill(Tree(topology, weight / size[:, None], bias / size, empty), sample)


class ClassProblem(Problem):
    """Leaves that hold classes."""

    def targets(self, sample: Sample) -> Array:
        return sample.y

    def leaves(self, rows: Rows, n_leaves: int) -> ClassLeaves:
        return ClassLeaves(rows.y, rows.weight, n_leaves, self.data.n_outputs)

    def fill(self, tree: Tree, sample: Sample) -> Tree:
        table = count_classes(tree, sample, self.data.n_outputs) / sample.weight.mean()
        return class_tree(tree, frequencies(tree.topology, table), self.data)


class RegressionProblem(Problem):
    """Leaves that hold linear models or constants. Targets are standardised until the tree is finished.

    Parameters
    ----------
    data : TrainingData
    linear : bool
        Linear models, else constants.
    ridge : float
        Penalty that pulls a leaf towards the model of all rows, in rows.
    """

    def __init__(self, data: TrainingData, *, linear: bool, ridge: float) -> None:
        super().__init__(data)
        self.linear, self.ridge = linear, ridge

    def targets(self, sample: Sample) -> Array:
        return self.data.standardise(sample.y)

    def leaves(self, rows: Rows, n_leaves: int) -> LinearLeaves:
        return LinearLeaves(rows.X, rows.y, rows.weight, n_leaves, linear=self.linear, ridge=self.ridge)

    def fill(self, tree: Tree, sample: Sample) -> Tree:
        leaf, leaves = leaves_of(tree, sample), self.leaves(self.rows(sample), tree.n_leaves)
        leaves.refit(leaf, tree.n_leaves)
        return fold_leaves(tree, leaves.model, guard_of(leaf, sample.y, tree.n_leaves), self.data)
