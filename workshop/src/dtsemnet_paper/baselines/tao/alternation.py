"""Alternating optimisation of a complete tree: one level at a time, from the leaves to the root.

If all other nodes are fixed, a split matters only for the rows that reach it, and
only by the side that it sends them to: a row has one loss in the left subtree and
one in the right. Splits of one level see different rows, so they can be solved in
parallel.

A split is solved by a surrogate problem, so the loss of the tree may rise in a
pass. Refusing such steps makes the loss fall monotonically, but the search gets
stuck early: if every step is taken it ends lower, on training and on test rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import joblib
import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet_paper.baselines.kernels.tao_splits import best_threshold, sparse_logistic, walk
from dtsemnet_paper.baselines.tao.leaves import Leaves

__all__ = ["Alternation", "AxisAligned", "Oblique", "reach"]


BLOCK = 16384
"""Rows that are scored at a time."""


@dataclass(frozen=True)
class Oblique:
    """Splits by sparse logistic regression."""

    penalty: float
    """L1 penalty on the weights, in rows."""

    def draw(self, n_features: int, rng: np.random.Generator) -> Floats:
        """A random direction to start from."""
        return rng.standard_normal(n_features) / np.sqrt(n_features)

    def __call__(self, X: Floats, side: Floats, weight: Floats, current: Floats) -> Floats:
        """Solve one reduced problem."""
        return sparse_logistic(X, side, weight / weight.mean(), self.penalty, current, 30, 1e-3)


@dataclass(frozen=True)
class AxisAligned:
    """Splits on one feature, by looking at all thresholds."""

    def draw(self, n_features: int, rng: np.random.Generator) -> Floats:
        """A random feature to start from."""
        return np.eye(1, n_features, int(rng.integers(n_features)))[0]

    def __call__(self, X: Floats, side: Floats, weight: Floats, current: Floats) -> Floats:
        """Solve one reduced problem."""
        feature, threshold, sign, _ = best_threshold(X, side, weight)
        split = np.zeros(len(current))
        split[-1] = sign
        if feature >= 0:
            split[feature], split[-1] = sign, -sign * threshold
        return split


class Alternation:
    """A complete tree in training coordinates, improved pass by pass.

    Parameters
    ----------
    X : array of float64, shape (n_rows, n_features)
        Scaled rows.
    weight : array of shape (n_rows,)
    splits : array of shape (n_splits, n_features + 1)
        Where to start, biases last.
    leaves : Leaves
    solve : Oblique or AxisAligned
    monotone : bool, default=False
        Refuse a split that loses more than the one it replaces.
    n_jobs : int, optional
        Splits of a level that are solved at once; the result does not depend on it.
    """

    def __init__(
        self, X: Floats, weight: Floats, splits: Floats, leaves: Leaves, solve: Oblique | AxisAligned,
        *, monotone: bool = False, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.monotone = monotone
        self.X, self.weight, self.leaves, self.solve, self.n_jobs = X, weight, leaves, solve, n_jobs
        self.splits = splits.copy()
        self.depth = (len(splits) + 1).bit_length() - 1
        self.right = np.zeros((len(X), max(len(splits), 1)), np.uint8)
        self._score(np.arange(len(splits)))
        self.leaf = self._walk(np.zeros(len(X), np.int64))
        self.leaves.refit(self.leaf, len(splits) + 1)

    def loss(self) -> float:
        """Mean loss of the rows."""
        return float(np.average(self.leaves.loss(self.leaf), weights=self.weight))

    def sweep(self) -> None:
        """One pass over the tree: leaves, then splits from the bottom up, then the leaves of the rows as they fall."""
        at: list[Ints] = [np.zeros(len(self.X), np.int64)]
        for _ in range(self.depth):
            at.append(2 * at[-1] + 1 + self.right[np.arange(len(self.X)), at[-1]])
        self._revive(at)
        for level in range(self.depth - 1, -1, -1):
            self._level(at[level])
        self.leaf = self._walk(np.zeros(len(self.X), np.int64))
        self.leaves.refit(self.leaf, len(self.splits) + 1)

    def _level(self, node: Ints) -> None:
        """Solve the splits that the rows reach on one level."""
        gain = self.leaves.loss(self._walk(2 * node + 1)) - self.leaves.loss(self._walk(2 * node + 2))
        care = np.flatnonzero(np.abs(gain) > 1e-12)
        if not len(care):
            return
        order = care[np.argsort(node[care], kind="stable")]
        nodes, starts = np.unique(node[order], return_index=True)
        groups = np.split(order, starts[1:])
        tasks = ((int(i), rows, gain[rows]) for i, rows in zip(nodes, groups))
        if joblib.effective_n_jobs(self.n_jobs) == 1:
            changed = [self._split(*task) for task in tasks]
        else:
            parallel = joblib.Parallel(n_jobs=self.n_jobs, prefer="threads")
            changed = parallel(joblib.delayed(self._split)(*task) for task in tasks)
        self._score(nodes[np.array(changed, dtype=bool)])

    def _split(self, i: int, rows: Ints, gain: Floats) -> bool:
        """Solve one split; return whether it was replaced."""
        side, weight = np.where(gain > 0, 1.0, -1.0), np.abs(gain) * self.weight[rows]
        wrong = weight[(self.right[rows, i] > 0) != (side > 0)].sum()
        X = self.X[rows]
        if (side == side[0]).all():
            if wrong == 0:
                return False
            split: Floats = np.zeros(len(self.splits[i]))
            split[-1] = side[0]
        else:
            split = self.solve(X, side, weight, self.splits[i])
        now = weight[(X @ split[:-1] + split[-1] > 0) != (side > 0)].sum()
        if (self.monotone and now > wrong) or not np.isfinite(split).all():
            return False
        self.splits[i] = split
        return True

    def _revive(self, at: list[Ints]) -> None:
        """Give subtrees that no row reaches something to offer: a model of the rows that their sibling serves badly."""
        n_splits = len(self.splits)
        for level in range(self.depth):
            order = np.argsort(at[level], kind="stable")
            nodes, starts = np.unique(at[level][order], return_index=True)
            for i, rows in zip(nodes, np.split(order, starts[1:])):
                below = at[level + 1][rows]
                if (below == below[0]).all():
                    dead = 4 * i + 3 - below[0]  # the other of the two children
                    missed = self.leaves.missed(rows, self.leaf)
                    if len(missed):
                        span = 2 ** (self.depth - level - 1)
                        first = (dead + 1) * span - 1 - n_splits
                        self.leaves.fit(missed, np.arange(first, first + span))

    def _walk(self, node: Ints) -> Ints:
        return walk(self.right, node, len(self.splits))

    def _score(self, nodes: Ints) -> None:
        """Find the sides of all rows at some splits."""
        if len(nodes):
            matrix = self.splits[nodes]
            for start in range(0, len(self.X), BLOCK):
                rows = slice(start, start + BLOCK)
                self.right[rows, nodes] = self.X[rows] @ matrix[:, :-1].T + matrix[:, -1] > 0


def reach(X: Floats, splits: Floats) -> Ints:
    """Leaf of a complete tree that each scaled row reaches."""
    leaf = np.zeros(len(X), np.int64)
    if len(splits):
        for start in range(0, len(X), BLOCK):
            rows = slice(start, start + BLOCK)
            right = (X[rows] @ splits[:, :-1].T + splits[:, -1] > 0).astype(np.uint8)
            leaf[rows] = walk(right, leaf[rows], len(splits))
    return leaf
