"""What rows say about the leaves of a tree: how many reach each leaf, their classes, means and errors.

One survey serves the table, the drawings, the page and the scores of a model, so that their counts
agree. Every array has one row per leaf; :meth:`Topology.sums_below` adds the leaves below each split.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.tree.model import Model

__all__ = ["LeafSurvey", "leaf_answers"]


@dataclass(frozen=True, eq=False)
class LeafSurvey:
    """Rows counted and judged at the leaves that they reach. Made by :meth:`LeafSurvey.of`.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0]], [-2.0], [[1, 0], [0, 1]], class_names=["low", "high"])
    >>> survey = LeafSurvey.of(tree, [[1.0], [3.0], [4.0]], ["low", "high", "low"])
    >>> survey.count, survey.class_count.tolist(), survey.n_correct
    (array([1, 2]), [[1, 0], [1, 1]], array([1, 1]))
    """

    model: Model
    leaf: Ints
    """Leaf that each row reaches."""
    prediction: Array
    """Prediction for each row: the code of a class, shape (n_rows, 1), or numbers, shape (n_rows, n_outputs)."""
    target: Array | None
    """Class codes (-1 for a label that is none of the classes) or numbers of the rows, in the shape of
    ``prediction``; None if y was not given."""

    @classmethod
    def of(cls, tree: Any, X: Any, y: Any = None, *, allow_unknown: bool = False) -> LeafSurvey:
        """Send rows down a tree.

        Parameters
        ----------
        tree : Tree, Model or fitted estimator
        X : array_like or data frame
        y : array_like, optional
            Classes or targets of the rows.
        allow_unknown : bool, default=False
            Count rows whose label is none of the classes, as errors, instead of refusing them.
        """
        model = Model.of(tree)
        features = model.transform(X)
        leaf = model.tree.apply(features)
        if model.is_classifier:
            prediction: Array = model.tree.leaf_class[leaf][:, None]
        else:
            prediction = np.asarray(model.output(model.tree.predict(features))).reshape(len(leaf), -1)
        target = None if y is None else _read_target(model, y, len(leaf), allow_unknown)
        return cls(model, leaf, prediction, target)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.leaf)

    @cached_property
    def count(self) -> Ints:
        """Rows in each leaf."""
        return np.bincount(self.leaf, minlength=self.model.tree.n_leaves)

    @cached_property
    def share(self) -> Floats:
        """Share of the rows in each leaf."""
        return self.count / max(1, self.n_rows)

    @cached_property
    def class_count(self) -> Ints | None:
        """Rows of each class in each leaf, shape (n_leaves, n_classes); None without y or for a regressor."""
        if self.target is None or not self.model.is_classifier:
            return None
        table = np.zeros(self.model.tree.value.shape, dtype=np.int64)
        known = self.target[:, 0] >= 0
        np.add.at(table, (self.leaf[known], self.target[known, 0]), 1)
        return table

    @cached_property
    def n_correct(self) -> Ints | None:
        """Rows of each leaf whose class is the one predicted; None without y or for a regressor."""
        if self.class_count is None:
            return None
        return self.class_count[np.arange(self.model.tree.n_leaves), self.model.tree.leaf_class]

    @cached_property
    def class_share(self) -> Floats | None:
        """Share of each class in each leaf; None for a regressor.

        The shares of the rows if y is given. Without it, and in leaves without rows, the probabilities of the tree.
        """
        value = self.model.tree.value
        if self.class_count is None:
            return value if self.model.is_classifier else None
        total = self.class_count.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, self.class_count / np.maximum(total, 1), value))

    @cached_property
    def mean_prediction(self) -> Floats | None:
        """Mean prediction in each leaf, shape (n_leaves, n_outputs), NaN in leaves without rows; None for classes."""
        return None if self.model.is_classifier else self.mean(self.prediction)

    @cached_property
    def mean_target(self) -> Floats | None:
        """Mean target in each leaf, like :attr:`mean_prediction`; None without y."""
        return None if self.target is None or self.model.is_classifier else self.mean(self.target)

    @cached_property
    def squared_error(self) -> Floats | None:
        """Mean squared error of each output in each leaf, NaN in leaves without rows; None without y or for classes."""
        if self.target is None or self.model.is_classifier:
            return None
        with np.errstate(over="ignore"):
            return self.mean((self.prediction - self.target) ** 2)

    def mean(self, numbers: Array) -> Floats:
        """Average numbers of the rows, shape (n_rows, n_columns), in each leaf; NaN in leaves without rows."""
        total = np.full((len(self.count), numbers.shape[1]), np.nan)
        reached = np.flatnonzero(self.count)
        starts = np.cumsum(self.count[reached]) - self.count[reached]
        # Divided before they are added, so that no sum overflows if the mean does not.
        with np.errstate(over="ignore", invalid="ignore"):
            part = numbers / self.count[self.leaf][:, None]
            if len(reached):
                order = np.argsort(self.leaf, kind="stable")
                total[reached] = np.add.reduceat(part[order], starts, axis=0, dtype=np.float64)
        return total


def leaf_answers(model: Model, survey: LeafSurvey | None = None) -> Floats | None:
    """Give the number that each leaf of a regressor answers with, shape (n_leaves, n_outputs).

    Constant leaves answer with their constant, after the guard and the output map. Linear leaves answer with their
    mean over the rows of a survey: NaN in leaves without rows, and None in all without a survey. None for classes.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> leaf_answers(Model.of(Tree(Topology.complete(1), [[1.0]], [0.0], [[1.0], [9.0]], upper=[[5.0], [5.0]])))
    array([[1.],
           [5.]])
    """
    tree = model.tree
    if tree.is_classifier:
        return None
    if tree.coef is not None:
        return None if survey is None else survey.mean_prediction
    return np.asarray(model.output(np.clip(tree.value, *tree.guard)))


def _read_target(model: Model, y: Any, n_rows: int, allow_unknown: bool) -> Array:
    target = np.asarray(y)
    n_outputs = 1 if model.is_classifier else model.tree.n_outputs
    if target.shape[:1] != (n_rows,) or target.size != n_rows * n_outputs:
        wanted = f"({n_rows},)" if n_outputs == 1 else f"({n_rows}, {n_outputs})"
        raise ValueError(f"y must have shape {wanted}, one entry per row of X, got {target.shape}.")
    if model.is_classifier:
        return model.class_codes(target, allow_unknown=allow_unknown)[:, None]
    try:
        numbers = target.astype(np.float64).reshape(n_rows, n_outputs)
    except (TypeError, ValueError):
        raise ValueError(f"y must hold numbers, got dtype {target.dtype}; convert it.") from None
    if not np.isfinite(numbers).all():
        raise ValueError("y must be finite numbers; drop the rows whose target is missing.")
    return numbers
