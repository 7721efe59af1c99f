"""Starts of the alternating optimisation, compared on validation rows.

A start is an initial tree and a penalty. All of them run a few passes; the best
third goes on, and is reduced to its best third once more. The result is the best
tree that any run had after any of its passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet.arrays import Floats
from dtsemnet.training import Epoch, History, Rows, Step
from dtsemnet_paper.baselines.tao.alternation import Alternation, AxisAligned, Oblique, reach
from dtsemnet_paper.baselines.tao.leaves import Problem

__all__ = ["Run", "Start", "race"]


PAUSES = (2, 5)
"""Passes after which the worse starts are dropped."""

PATIENCE = 6
"""Passes without a better tree after which a run ends."""


@dataclass(frozen=True)
class Start:
    """Where a run starts and how it solves its splits."""

    init: Literal["cart", "random"]
    solve: Oblique | AxisAligned
    seed: int

    def splits(self, rows: Rows, depth: int) -> Floats:
        """The splits of the initial tree, biases last."""
        if self.init == "cart":
            return _greedy_splits(rows, depth, self.seed)
        return _random_splits(rows.X, depth, self.solve, np.random.default_rng(self.seed))


class Run:
    """One start in progress; it keeps the best tree of all its passes.

    Parameters
    ----------
    start : Start
    splits : array of shape (n_splits, n_features + 1)
        Splits of the initial tree.
    train : Rows
        Training rows.
    validation : Rows or None
        Rows that passes are judged by; None: the training rows.
    problem : Problem
    monotone : bool
        Refuse a split that loses more than the one it replaces.
    n_jobs : int, optional
        Splits of a level that are solved at once.
    """

    def __init__(
        self, start: Start, splits: Floats, train: Rows, validation: Rows | None, problem: Problem, *,
        monotone: bool, n_jobs: int | None,
    ) -> None:  # fmt: skip
        self.start, self.validation, self.history = start, validation, History()
        leaves = problem.leaves(train, len(splits) + 1)
        self.tree = Alternation(train.X, train.weight, splits, leaves, start.solve, monotone=monotone, n_jobs=n_jobs)
        self.score: tuple[float, float] = self._judge()
        self.best, self.best_pass = self.tree.splits.copy(), 0

    def advance(self, n_passes: int) -> None:
        """Go on until this many passes are done in all."""
        while len(self.history) < n_passes and self.history.stopped is None:
            self.tree.sweep()
            score = self._judge()
            epoch = len(self.history)
            watched = None if self.validation is None else score[0]
            self.history.epochs.append(Epoch(epoch, Step(0.0), score[1], watched))
            if score < self.score:
                self.score, self.best, self.best_pass = score, self.tree.splits.copy(), epoch + 1
                self.history.best_epoch = epoch
            elif epoch + 1 - self.best_pass >= PATIENCE:
                self.history.stopped = "patience"

    def _judge(self) -> tuple[float, float]:
        """Loss on validation rows, then on training rows."""
        loss, judges = self.tree.loss(), self.validation
        if judges is None:
            return loss, loss
        losses = self.tree.leaves.loss_of(judges.X, judges.y, reach(judges.X, self.tree.splits))
        return float(np.average(losses, weights=judges.weight)), loss


def race(runs: Sequence[Run], max_iter: int) -> Run:
    """Advance all runs, drop the worse ones at the pauses, and return the best; among equals the first."""
    for pause in PAUSES:
        if len(runs) > 1:
            for run in runs:
                run.advance(min(pause, max_iter))
            runs = sorted(runs, key=lambda run: run.score)[: -(-len(runs) // 3)]
    for run in runs:
        run.advance(max_iter)
    return min(runs, key=lambda run: run.score)


def _greedy_splits(rows: Rows, depth: int, seed: int) -> Floats:
    """The splits of CART in a complete tree; below its leaves all rows go left."""
    grower = DecisionTreeClassifier if rows.y.ndim == 1 else DecisionTreeRegressor
    nodes = grower(max_depth=max(depth, 1), random_state=seed).fit(rows.X, rows.y, rows.weight).tree_
    splits = np.zeros((2**depth - 1, rows.X.shape[1] + 1))
    todo = [(0, 0)]
    while todo:
        node, i = todo.pop()
        if i < len(splits) and nodes.children_left[node] >= 0:
            splits[i, nodes.feature[node]], splits[i, -1] = 1.0, -nodes.threshold[node]
            todo += [(nodes.children_left[node], 2 * i + 1), (nodes.children_right[node], 2 * i + 2)]
    return splits


def _random_splits(X: Floats, depth: int, solve: Oblique | AxisAligned, rng: np.random.Generator) -> Floats:
    """Random directions, each of which halves the rows that reach it."""
    splits, node = np.zeros((2**depth - 1, X.shape[1] + 1)), np.zeros(len(X), np.int64)
    for level in range(depth):
        order = np.argsort(node, kind="stable")
        ends = np.searchsorted(node[order], np.arange(2**level - 1, 2 ** (level + 1)))
        for i in range(2**level - 1, 2 ** (level + 1) - 1):
            splits[i, :-1] = solve.draw(X.shape[1], rng)
            position = i - 2**level + 1
            own = order[ends[position] : ends[position + 1]]
            if len(own):
                score = X[own] @ splits[i, :-1]
                splits[i, -1] = -np.median(score)
                node[own] = 2 * i + 1 + (score + splits[i, -1] > 0)
    return splits
