"""Starts of the alternating optimisation, raced against each other on validation rows.

A start is an initial tree and a penalty. All of them run a few passes, the best
third goes on, and so once more; the tree kept is the best that any of them passed
through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet.arrays import Array, Floats
from dtsemnet.training import History, Step
from dtsemnet.training.history import Epoch
from dtsemnet_paper.baselines.tao.alternation import Alternation, AxisAligned, Oblique, reach
from dtsemnet_paper.baselines.tao.leaves import Leaves

__all__ = ["Rows", "Run", "Start", "race"]


PAUSES = (2, 5)
"""Passes after which the worse starts are dropped."""

PATIENCE = 6
"""Passes without a better tree after which a run ends."""


@dataclass(frozen=True)
class Rows:
    """Scaled rows with targets and weights of mean 1."""

    X: Floats
    y: Array
    weight: Floats


@dataclass(frozen=True)
class Start:
    """Where a run starts and how it solves its splits."""

    init: str
    solve: Oblique | AxisAligned
    seed: int

    def splits(self, rows: Rows, depth: int) -> Floats:
        """The splits of the initial tree, biases last."""
        if self.init == "cart":
            return _greedy_splits(rows, depth, self.seed)
        return _random_splits(rows.X, depth, self.solve, np.random.default_rng(self.seed))


class Run:
    """One start under way; knows the best tree that it has passed through."""

    def __init__(
        self,
        start: Start,
        splits: Floats,
        train: Rows,
        validation: Rows | None,
        make_leaves: Callable[[Rows, int], Leaves],
        *,
        monotone: bool,
        n_jobs: int | None,
    ) -> None:
        self.start, self.validation, self.history = start, validation, History()
        leaves = make_leaves(train, len(splits) + 1)
        self.tree = Alternation(train.X, train.weight, splits, leaves, start.solve, monotone=monotone, n_jobs=n_jobs)
        self.merit: tuple[float, float] = self._judge()
        self.best, self.best_pass = self.tree.splits.copy(), 0

    def advance(self, n_passes: int) -> None:
        """Go on until so many passes have been run in all."""
        while len(self.history) < n_passes and self.history.stopped is None:
            self.tree.sweep()
            merit = self._judge()
            number = len(self.history)
            watched = None if self.validation is None else merit[0]
            self.history.epochs.append(Epoch(number, Step(0.0), merit[1], watched))
            if merit < self.merit:
                self.merit, self.best, self.best_pass = merit, self.tree.splits.copy(), number + 1
                self.history.best_epoch = number
            elif number + 1 - self.best_pass >= PATIENCE:
                self.history.stopped = "patience"

    def _judge(self) -> tuple[float, float]:
        """Loss on validation rows, then on training rows."""
        loss, judges = self.tree.loss(), self.validation
        if judges is None:
            return loss, loss
        losses = self.tree.leaves.loss_of(judges.X, judges.y, reach(judges.X, self.tree.splits))
        return float(np.average(losses, weights=judges.weight)), loss


def race(starts: Sequence[Start], begin: Callable[[Start], Run], max_iter: int) -> Run:
    """Run all starts, drop the worse at the pauses, and return the best; among equals the first."""
    runs = [begin(start) for start in starts]
    for pause in PAUSES:
        if len(runs) > 1:
            for run in runs:
                run.advance(min(pause, max_iter))
            runs = sorted(runs, key=lambda run: run.merit)[: -(-len(runs) // 3)]
    for run in runs:
        run.advance(max_iter)
    return min(runs, key=lambda run: run.merit)


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
            place = i - 2**level + 1
            own = order[ends[place] : ends[place + 1]]
            if len(own):
                score = X[own] @ splits[i, :-1]
                splits[i, -1] = -np.median(score)
                node[own] = 2 * i + 1 + (score + splits[i, -1] > 0)
    return splits
