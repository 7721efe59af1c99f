"""Prediction intervals and sets, from the trees that judged the plans of a fit.

A fit compares its plans by rows that their trees were not trained on. The trees of the plan that
won, one for each fold, and how far each was off on its own rows, give CV+ intervals (Barber, Candes,
Ramdas and Tibshirani, 2021): with ``R_i`` the error of the tree that did not see row ``i``,

    [ the a-quantile of  tree_without_i(x) - R_i,   the (1 - a)-quantile of  tree_without_i(x) + R_i ]

For rows drawn alike, such an interval covers the truth with a probability of at least ``1 - 2 a``, whatever
the trees are, and in practice about ``1 - a``. With one fold (large tables, or validation rows of the
user) it is a split conformal interval, with at least ``1 - a``. Sets of classes are made in the same way
(Romano, Sesia and Candes, 2020), with the error of a row being 1 minus the probability of its class; the
class that is predicted always belongs to the set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import MarginProbability, Tree

__all__ = ["CrossFit"]

BLOCK = 4_000_000
"""Numbers that are compared at a time."""


@dataclass(frozen=True)
class CrossFit:
    """Trees that were trained without some rows, and what these rows say about them."""

    trees: tuple[Tree, ...]
    """One for each fold."""
    errors: tuple[Floats, ...]
    """For each fold the errors of its rows: (n_rows, n_outputs) of numbers, (n_rows,) of classes."""
    weights: tuple[Floats, ...]
    """For each fold the weights of its rows, of mean 1 over all folds."""
    probabilities: tuple[MarginProbability | None, ...] = ()
    """How the tree of each fold computes probabilities (classes)."""

    def interval(self, rows: Floats, coverage: float) -> Floats:
        """Lower and upper ends for encoded rows, shape (n_rows, n_outputs, 2)."""
        outputs = [np.asarray(tree.predict(rows)).reshape(len(rows), tree.n_outputs) for tree in self.trees]
        ends = np.empty((len(rows), self.trees[0].n_outputs, 2))
        weight = np.concatenate(self.weights)
        for output in range(ends.shape[1]):
            for part in _slices(len(rows), len(weight)):
                for side, sign in enumerate((-1.0, 1.0)):
                    reach = [o[part, output, None] + sign * e[:, output] for o, e in zip(outputs, self.errors)]
                    # The lower end is minus the upper end of the negated values.
                    ends[part, output, side] = sign * _quantile(sign * np.concatenate(reach, axis=1), weight, coverage)
        return ends

    def sets(self, rows: Floats, coverage: float) -> Bools:
        """Which classes belong to the set of each encoded row, shape (n_rows, n_classes)."""
        weight, n_classes = np.concatenate(self.weights), self.trees[0].n_outputs
        limit, stranger = coverage * (weight.sum() + 1), np.zeros((len(rows), n_classes))
        for tree, probability, error, own in zip(self.trees, self.probabilities, self.errors, self.weights):
            chance = tree.predict_proba(rows) if probability is None else probability(tree, rows)
            order = np.argsort(error, kind="stable")
            below = np.concatenate([[0.0], np.cumsum(own[order])])
            # Weight of the rows that fit their class better than this row would fit this class.
            stranger += below[np.searchsorted(error[order], 1 - chance, side="left")]
        inside: Bools = stranger < limit
        return inside


def _quantile(values: Floats, weight: Floats, coverage: float) -> Array:
    """The smallest value of each row that at least ``coverage * (total + 1)`` of the weight reaches, else infinity."""
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weight[order], axis=1)
    position = (reached < coverage * (weight.sum() + 1) - 1e-9).sum(axis=1)
    padded = np.concatenate([np.take_along_axis(values, order, axis=1), np.full((len(values), 1), np.inf)], axis=1)
    chosen: Array = padded[np.arange(len(values)), position]
    return chosen


def _slices(n_rows: int, width: int) -> list[slice]:
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, n_rows, step)]
