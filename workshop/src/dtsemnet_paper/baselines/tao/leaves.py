"""What leaves hold while a tree is optimised by alternation, and what each row would lose there."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints

__all__ = ["ClassLeaves", "Leaves", "LinearLeaves"]


class Leaves(ABC):
    """Leaves of a complete tree over a fixed set of rows."""

    @abstractmethod
    def fit(self, rows: Ints, leaves: Ints) -> None:
        """Fit one model to rows and give it to some leaves."""

    @abstractmethod
    def missed(self, rows: Ints, leaf: Ints) -> Ints:
        """The rows that another leaf beside theirs could serve; fewer than all of them."""

    @abstractmethod
    def loss(self, leaf: Ints) -> Floats:
        """Loss of every row, were it to reach the leaf named."""

    @abstractmethod
    def loss_of(self, X: Floats, y: Array, leaf: Ints) -> Floats:
        """Loss of other rows."""

    def refit(self, leaf: Ints, n_leaves: int) -> None:
        """Fit each leaf that has rows to them; the others stay as they are."""
        order = np.argsort(leaf, kind="stable")
        ends = np.cumsum(np.bincount(leaf, minlength=n_leaves))
        for number, rows in enumerate(np.split(order, ends[:-1])):
            if len(rows):
                self.fit(rows, np.array([number]))


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

    Outputs are clipped to the targets that a leaf has seen, in training as in the finished tree: a row far from a
    leaf would else weigh as much as the leaf's model runs away there.
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
