"""Trees that a fit may begin with, grown from the rows in a moment.

Random splits are one beginning (:class:`RandomTree`). These are others:

- :class:`CartTree`: axis-aligned splits, by scikit-learn.
- :class:`LogisticTree`: a multinomial logistic regression of K classes *is* a tree of depth
  K - 1, a tournament: the winner so far against the next class, by the difference of their scores.
- :class:`GreedyTree`: grown from the root; each split is the best of a few logistic regressions between
  two groups of classes, and of a single column.
- :class:`HingeTree`: for numbers; each split is where the two linear models meet whose maximum (or minimum)
  fits the rows best, found by alternating least squares.
- :class:`OneLeaf`: no split.

Each can be kept as it is or trained on. They are grown in training coordinates, where columns
have a standard deviation of 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet.arrays import Array, Bools, Floats, Ints
from dtsemnet.fit.sparse import ColumnLimit, forward_selection, moments, sparse_planes
from dtsemnet.training import Rows
from dtsemnet.tree import Topology, Tree
from dtsemnet.tree.edits import number

__all__ = [
    "CartTree",
    "GreedyTree",
    "Grown",
    "HingeTree",
    "InitialTree",
    "LogisticTree",
    "OneLeaf",
    "RandomTree",
]

MOST_ROWS = 4000
"""Rows of a node that a linear model of a split is fitted to; of more, a random part."""
RIDGE = 1.0
"""Penalty on the weights of those models, in rows."""


class Grown(NamedTuple):
    """A tree in training coordinates."""

    topology: Topology
    splits: Floats
    """(n_splits, n_features + 1): one hyperplane per row, the bias last."""
    leaf_class: Ints | None
    """Class of each leaf (classification)."""

    def unit_scores(self, X: Floats) -> Grown:
        """Divide each split by the standard deviation of its scores, so that all of them train at one pace."""
        deviation = (X @ self.splits[:, :-1].T.astype(X.dtype)).std(axis=0)
        return self._replace(splits=self.splits / np.maximum(deviation, 1e-9)[:, None])


class InitialTree(Protocol):
    """A way to grow a tree."""

    def grow(
        self, rows: Rows, rng: np.random.Generator, limit: ColumnLimit | None = None, direction: Ints | None = None
    ) -> Grown | None:
        """Grow a tree from rows in training coordinates; class codes are whole numbers, targets (n_rows, n_outputs).

        None stands for random splits. ``direction`` says along which features outputs must not fall (1) or rise (-1);
        a tree need not keep to it, but one that does loses less.
        """
        ...


@dataclass(frozen=True)
class RandomTree:
    """A complete tree with random splits."""

    depth: int

    def grow(
        self, rows: Rows, rng: np.random.Generator, limit: ColumnLimit | None = None, direction: Ints | None = None
    ) -> None:
        """Leave the splits to the task."""


@dataclass(frozen=True)
class OneLeaf:
    """No split."""

    def grow(
        self, rows: Rows, rng: np.random.Generator, limit: ColumnLimit | None = None, direction: Ints | None = None
    ) -> Grown:
        return _leaf_only(rows)


@dataclass(frozen=True)
class CartTree:
    """Axis-aligned splits."""

    depth: int
    min_rows: int

    def grow(
        self, rows: Rows, rng: np.random.Generator, limit: ColumnLimit | None = None, direction: Ints | None = None
    ) -> Grown:
        kind = DecisionTreeClassifier if _has_classes(rows) else DecisionTreeRegressor
        is_single = rows.y.ndim == 1 or rows.y.shape[1] == 1  # scikit-learn keeps no order of several outputs
        fitted = kind(
            max_depth=self.depth, min_samples_leaf=self.min_rows, random_state=int(rng.integers(2**31)),
            monotonic_cst=direction if is_single else None,
        )  # fmt: skip
        tree = Tree.from_sklearn(fitted.fit(rows.X, rows.y, sample_weight=rows.weight))
        leaf_class = fitted.classes_[tree.leaf_class] if tree.is_classifier else None
        return Grown(tree.topology, np.column_stack([tree.weight, tree.bias]), leaf_class)


@dataclass(frozen=True)
class LogisticTree:
    """A logistic regression as a tree; ``strength`` is scikit-learn's ``C``."""

    strength: float

    def grow(
        self, rows: Rows, rng: np.random.Generator, limit: ColumnLimit | None = None, direction: Ints | None = None
    ) -> Grown:
        classes = np.unique(rows.y)
        if len(classes) < 2:
            return _leaf_only(rows)
        model = LogisticRegression(C=self.strength, max_iter=200, tol=1e-3)
        model.fit(rows.X, rows.y, sample_weight=rows.weight)
        score = np.column_stack([model.coef_, model.intercept_])
        if len(classes) == 2:  # scikit-learn keeps one row of scores, that of the second class
            score = np.concatenate([np.zeros_like(score), score])

        def play(winner: int, rival: int) -> _Node:
            if rival == len(classes):
                return int(classes[winner])
            return score[rival] - score[winner], play(winner, rival + 1), play(rival, rival + 1)

        grown = _assemble(play(0, 1), rows)
        if limit is None:
            return grown
        X, weight = rows.X.astype(np.float64), rows.weight.astype(np.float64)
        return grown._replace(splits=sparse_planes(grown.splits, X, weight, limit))


@dataclass(frozen=True)
class GreedyTree:
    """Oblique splits, chosen one after the other by the fall of the entropy."""

    depth: int
    min_rows: int = 3

    def grow(
        self, rows: Rows, rng: np.random.Generator, limit: ColumnLimit | None = None, direction: Ints | None = None
    ) -> Grown:
        n_classes = int(rows.y.max()) + 1

        def split(node: _Part, depth: int) -> _Node:
            count: Array = np.bincount(node.y, node.weight, n_classes)
            answer = int(count.argmax())
            if depth == self.depth or np.count_nonzero(count) < 2 or len(node.y) < 2 * self.min_rows:
                return answer
            best, best_gain = None, 0.0
            for plane in self._planes(node, count, rng, limit):
                right = node.X @ plane > 0
                if min(right.sum(), (~right).sum()) >= self.min_rows:
                    gain = _entropy(count) - _entropy_after(right, node, n_classes)
                    if gain > best_gain + 1e-9:
                        best, best_gain = (plane, right), gain
            if best is None:
                return answer
            plane, right = best
            return plane, split(node.take(~right), depth + 1), split(node.take(right), depth + 1)

        return _assemble(split(_Part.of(rows), 0), rows)

    def _planes(
        self, node: _Part, count: Floats, rng: np.random.Generator, limit: ColumnLimit | None
    ) -> Iterator[Floats]:
        part = node.at_most(MOST_ROWS, rng)
        yield from _stump(part, np.eye(len(count))[part.y][:, count > 0], _column_order(part))
        for group in _class_groups(part, count):
            target = np.isin(part.y, group)
            if target.any() and not target.all():
                yield _plane_between(part, target.astype(np.float64), limit)


@dataclass(frozen=True)
class HingeTree:
    """Splits where two linear models meet; ``min_gain`` is the least share of the squared error that one must save."""

    depth: int
    min_gain: float = 0.01

    def grow(
        self, rows: Rows, rng: np.random.Generator, limit: ColumnLimit | None = None, direction: Ints | None = None
    ) -> Grown:
        least = max(5, rows.X.shape[1] // 2)

        def split(node: _Part, depth: int) -> _Node:
            if depth == self.depth or len(node.y) < 2 * least:
                return 0
            part = node.at_most(MOST_ROWS, rng)
            plane = self._plane(part, max(3, least * len(part.y) // len(node.y)), limit)
            if plane is None:
                return 0
            right = node.X @ plane > 0
            if min(right.sum(), (~right).sum()) < least:
                return 0
            return plane, split(node.take(~right), depth + 1), split(node.take(right), depth + 1)

        return _assemble(split(_Part.of(rows), 0), rows)._replace(leaf_class=None)

    def _plane(self, node: _Part, least: int, limit: ColumnLimit | None) -> Floats | None:
        """The hyperplane of the best hinge, or None if no hinge is much better than one linear model."""
        residual = node.y - node.X @ _ridge(node)
        least_error = float((node.weight @ np.square(residual)).mean()) * (1 - self.min_gain)
        best = None
        # Searches from different sides often meet, and go on alike from there.
        models: dict[bytes, tuple[Floats, Floats]] = {}
        steps: dict[tuple[bytes, float], tuple[Floats, Bools, float]] = {}
        for first in self._first_sides(node, residual):
            for sign in (1.0, -1.0):
                right = first
                for _ in range(10):
                    if min(right.sum(), (~right).sum()) < least:
                        break
                    key = right.tobytes()
                    if (key, sign) not in steps:
                        if key not in models:
                            base = _ridge(node.take(~right))
                            models[key] = base, _ridge(node.take(right)) - base
                        steps[key, sign] = _hinge(node, *models[key], sign, limit)
                    plane, side, error = steps[key, sign]
                    if error < least_error and min(side.sum(), (~side).sum()) >= least:
                        best, least_error = plane, error
                    if (side == right).all():
                        break
                    right = side
        return best

    def _first_sides(self, node: _Part, residual: Floats) -> Iterator[Bools]:
        order = _column_order(node)
        for target in (residual, node.y):
            for plane in _stump(node, target, order):
                yield node.X @ plane > 0


class _Part(NamedTuple):
    """Rows of one node, in float64, with a column of ones."""

    X: Floats
    y: Floats
    weight: Floats

    @classmethod
    def of(cls, rows: Rows) -> _Part:
        X = np.column_stack([rows.X.astype(np.float64), np.ones(len(rows.X))])
        return cls(X, rows.y, rows.weight.astype(np.float64))

    def take(self, chosen: Bools | Ints) -> _Part:
        return _Part(self.X[chosen], self.y[chosen], self.weight[chosen])

    def at_most(self, n_rows: int, rng: np.random.Generator) -> _Part:
        return self if len(self.y) <= n_rows else self.take(rng.choice(len(self.y), n_rows, replace=False))


_Node = int | tuple[Floats, "_Node", "_Node"]
"""The class of a leaf, or a hyperplane with what lies left and right of it."""


def _assemble(root: _Node, rows: Rows) -> Grown:
    """Number the nodes of a nested tree."""
    children: list[list[int]] = []
    splits: list[Floats] = []
    leaf_class: list[int] = []

    def place(node: _Node) -> int:
        if isinstance(node, int):
            leaf_class.append(node)
            return -len(leaf_class)
        me = len(children)
        children.append([])
        splits.append(node[0])
        children[me] = [place(node[1]), place(node[2])]
        return me

    first = place(root)
    topology, split_order, leaf_order = number(np.array(children, dtype=np.int64).reshape(-1, 2), first)
    matrix = np.array(splits).reshape(-1, rows.X.shape[1] + 1)
    return Grown(topology, matrix[split_order], np.array(leaf_class, dtype=np.int64)[leaf_order])


def _leaf_only(rows: Rows) -> Grown:
    if not _has_classes(rows):
        return _assemble(0, rows)._replace(leaf_class=None)
    return _assemble(int(np.bincount(rows.y, rows.weight).argmax()), rows)


def _has_classes(rows: Rows) -> bool:
    return rows.y.ndim == 1


def _column_order(node: _Part) -> Ints:
    """The order of the rows in each column."""
    return np.argsort(node.X[:, :-1], axis=0, kind="stable")


def _stump(node: _Part, target: Floats, order: Ints) -> Iterator[Floats]:
    """The split on a single column with the least squared error of targets (n_rows, n_outputs), if there is one.

    For indicators of classes this is the split with the least Gini impurity.
    """
    value = np.take_along_axis(node.X[:, :-1], order, axis=0)
    left = np.cumsum(node.weight[order], axis=0)[:-1]
    right = node.weight.sum() - left
    explained = np.zeros_like(left)
    for output in (target * node.weight[:, None]).T:
        below = np.cumsum(output[order], axis=0)[:-1]
        explained += np.square(below) / left + np.square(output.sum() - below) / np.maximum(right, 1e-300)
    explained[value[:-1] == value[1:]] = -np.inf  # no threshold lies between equal values
    if explained.size and np.isfinite(explained).any():
        row, column = np.unravel_index(np.argmax(explained), explained.shape)
        plane = np.zeros(node.X.shape[1])
        plane[column], plane[-1] = 1.0, -(value[row, column] + value[row + 1, column]) / 2
        yield plane


def _class_groups(node: _Part, count: Floats) -> list[Ints]:
    """Groups of classes to tell from the rest: the largest class, and two halves by where the classes lie."""
    present = np.flatnonzero(np.bincount(node.y, minlength=len(count)))
    groups: list[Ints] = [present[[np.argmax(count[present])]]]
    if len(present) > 2:
        center = np.array([node.X[node.y == c, :-1].mean(axis=0) for c in present])
        center -= np.average(center, axis=0, weights=count[present])
        axes = np.linalg.svd(center * np.sqrt(count[present])[:, None], full_matrices=False)[2]
        groups += [present[center @ axis > 0] for axis in axes[:2]]
    return groups


def _entropy(count: Floats) -> float:
    share = count[count > 0] / count.sum()
    return float(-(share @ np.log(share)))


def _entropy_after(right: Bools, node: _Part, n_classes: int) -> float:
    counts: list[Array] = [np.bincount(node.y[side], node.weight[side], n_classes) for side in (right, ~right)]
    return sum(count.sum() * _entropy(count) for count in counts) / float(node.weight.sum())


def _ridge(node: _Part) -> Floats:
    """Linear model of the targets, (n_columns, n_outputs)."""
    weighted = node.X * node.weight[:, None]
    gram = weighted.T @ node.X
    gram.flat[:: len(gram) + 1] += _penalty(len(gram))
    return np.linalg.solve(gram, weighted.T @ node.y)


def _hinge(
    node: _Part, base: Floats, gap: Floats, sign: float, limit: ColumnLimit | None
) -> tuple[Floats, Bools, float]:
    """Where two linear models meet: the hyperplane, the rows right of it, and the squared error of the hinge."""
    plane = gap[:, 0]
    if limit is not None:
        plane = sparse_planes(gap.T[:1], node.X[:, :-1], node.weight, limit)[0]
    side = sign * (node.X @ plane) > 0
    fitted = node.X @ base + np.where(side[:, None], node.X @ gap, 0.0)
    return sign * plane, side, float((node.weight @ np.square(node.y - fitted)).mean())


def _plane_between(node: _Part, target: Floats, limit: ColumnLimit | None) -> Floats:
    """The hyperplane of a logistic regression, on the columns that explain most of the target if there is a limit."""
    if limit is None:
        return _logistic(node.X, target, node.weight)
    is_chosen = forward_selection(*moments(node.X[:, :-1], target[:, None], node.weight), limit)
    kept = np.append(np.flatnonzero(is_chosen), -1)
    plane = np.zeros(node.X.shape[1])
    plane[kept] = _logistic(node.X[:, kept], target, node.weight)
    return plane


def _penalty(n_columns: int) -> Floats:
    """Penalty of each column, nearly none on the intercept, which is the last."""
    penalty = np.full(n_columns, RIDGE)
    penalty[-1] = 1e-6
    return penalty


def _logistic(X: Floats, target: Floats, weight: Floats) -> Floats:
    """Ridge logistic regression by Newton's method, its steps limited so that no score moves by more than 4."""
    beta, penalty = np.zeros(X.shape[1]), _penalty(X.shape[1])
    for _ in range(6):  # a start that is trained on needs no more
        chance = 1 / (1 + np.exp(-np.clip(X @ beta, -30, 30)))
        gradient = X.T @ (weight * (chance - target)) + penalty * beta
        curvature = (X * np.maximum(weight * chance * (1 - chance), 1e-6)[:, None]).T @ X
        curvature.flat[:: len(beta) + 1] += penalty
        step = np.linalg.solve(curvature, gradient)
        beta -= step * min(1.0, 4 / max(float(np.abs(X @ step).max()), 1e-9))
        if np.abs(step).max() < 1e-2:
            break
    return beta
