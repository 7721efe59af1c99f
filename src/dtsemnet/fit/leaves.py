"""What the leaves of a finished tree hold, computed from the rows that reach them.

Classes: class frequencies. Each node is shrunk towards its parent by a weight of
one row, so that small leaves are not overconfident. A majority is ahead by at
least one row, so the most frequent class of a leaf stays its class.

Linear models: ridge regression in each leaf towards the linear model of all
rows, in closed form. Two choices, the penalty and whether rows also count for
the leaf that is their second choice (the paper's augmented samples), are made on
validation rows, or by leave-one-out errors if there are none. A model of a few columns
chooses them by forward selection, and so does the model of all rows that it is shrunk towards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.data import BLOCK, Sample, Scaling, TrainingData
from dtsemnet.fit.order import signed_ridge
from dtsemnet.fit.sparse import ColumnLimit, forward_selection
from dtsemnet.kernels.logits import choices
from dtsemnet.tree import Topology, Tree

__all__ = [
    "CONSTANT_FITS",
    "LEAF_FITS",
    "PENALTIES",
    "WAYS",
    "LeafFit",
    "RidgeRows",
    "class_error",
    "class_table",
    "class_tree",
    "constant_tree",
    "count_classes",
    "count_rows",
    "frequencies",
    "guard_of",
    "leaves_of",
    "ridge_paths",
    "update_leaves",
]


PENALTIES = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
"""Ridge penalties that are tried, in rows: a penalty of 10 weighs as much as ten rows of standardised inputs."""


class LeafFit(NamedTuple):
    """How leaves are fitted: whether rows count for their second choice too, the ridge penalty, the kind of model."""

    augmented: bool
    penalty: float
    linear: bool = True
    """Linear models, else constants; a regressor with constant leaves has constants anyway."""
    common: float = 1e-3
    """Ridge penalty of the model of all rows, which the leaves are shrunk towards."""
    n_columns: int | None = None
    """Most columns that a linear model reads; None: all."""


LEAF_FITS = tuple(LeafFit(augmented, penalty) for augmented in (False, True) for penalty in PENALTIES)
CONSTANT_FITS = (LeafFit(False, 0.3, linear=False), LeafFit(False, 3.0, linear=False))
WAYS = (
    CONSTANT_FITS[0],
    LeafFit(False, 0.01),
    *(LeafFit(augmented, penalty) for augmented in (False, True) for penalty in (1.0, 100.0, 1e4)),
    *(LeafFit(False, 1e4, common=common) for common in (30.0, 300.0)),
)
"""The ways that plans are compared with: fewer of them than for a single tree, so that none wins by luck."""


def constant_tree(data: TrainingData) -> Tree:
    """The tree without splits: class frequencies, or the mean of the targets."""
    y = data.sample.y if data.class_names is None else np.eye(len(data.class_names))[data.sample.y]
    # The mean of equal targets may round; the target itself does not.
    value = y[:1] if data.is_constant else np.average(y, axis=0, weights=data.sample.weight)[None]
    names = {"feature_names": data.feature_names, "class_names": data.class_names}
    return Tree(Topology([]), np.empty((0, data.n_features)), np.empty(0), value, **names)


def leaves_of(tree: Tree, sample: Sample) -> Ints:
    """Leaf that each row of a sample reaches."""
    leaf = np.empty(len(sample), np.int64)
    for part, rows in sample.blocks():
        leaf[part] = tree.apply(rows)
    return leaf


def class_table(leaf: Ints, y: Ints, weight: Floats, n_leaves: int, n_classes: int) -> Floats:
    """Weight of each class in each leaf."""
    table: Array = np.bincount(leaf * n_classes + y, weight, n_leaves * n_classes)
    return table.reshape(n_leaves, n_classes)


def count_classes(tree: Tree, sample: Sample, n_classes: int) -> Floats:
    """Weight of each class in each leaf that the rows of a sample reach, block by block."""
    table = np.zeros((tree.n_leaves, n_classes))
    for part, rows in sample.blocks():
        table += class_table(tree.apply(rows), sample.y[part], sample.weight[part], tree.n_leaves, n_classes)
    return table


def class_error(tree: Tree, sample: Sample) -> float:
    """Share of the rows of a sample, by weight, that reach a leaf of another class."""
    table = count_classes(tree, sample, tree.n_outputs)
    return float(1 - table[np.arange(tree.n_leaves), tree.leaf_class].sum() / table.sum())


def count_rows(tree: Tree, sample: Sample) -> Floats:
    """Weight of the rows of a sample in each leaf."""
    total = np.zeros(tree.n_leaves)
    for part, rows in sample.blocks():
        total += np.bincount(tree.apply(rows), sample.weight[part], tree.n_leaves)
    return total


def class_tree(tree: Tree, probability: Floats, data: TrainingData) -> Tree:
    """The splits of a tree with class probabilities in the leaves, shape (n_leaves, n_classes)."""
    names = {"feature_names": data.feature_names, "class_names": data.class_names}
    return Tree(tree.topology, tree.weight, tree.bias, probability, **names)


def frequencies(topology: Topology, table: Floats, leaf_class: Ints | None = None) -> Floats:
    """Turn the weights of classes in leaves, shape (n_leaves, n_classes), into probabilities.

    A leaf without rows keeps its ``leaf_class``: the class it was trained for, which later rows will probably have.
    """
    if leaf_class is not None:
        empty = np.flatnonzero(table.sum(axis=1) == 0)
        table = table.copy()
        table[empty, leaf_class[empty]] = 2
    total = table.sum(axis=0)
    above = np.empty((topology.n_splits, table.shape[1]))
    frequency = np.tile(total / total.sum(), (topology.n_leaves, 1))
    if topology.n_splits == 0:
        return frequency
    below = np.maximum(topology.sums_below(table), 0.0)
    above[0] = total / total.sum()
    for i, pair in enumerate(topology.children):
        for child in pair:
            counts = below[child] if child >= 0 else table[~child]
            shrunk = (counts + above[i]) / (counts.sum() + 1)
            if child >= 0:
                above[child] = shrunk
            else:
                frequency[~child] = shrunk
    return frequency / frequency.sum(axis=1, keepdims=True)


def guard_of(leaf: Ints, y: Floats, n_leaves: int) -> tuple[Floats, Floats]:
    """Smallest and largest target of the rows of each leaf; of all rows if a leaf has none."""
    lower, upper = np.full((n_leaves, y.shape[1]), np.inf), np.full((n_leaves, y.shape[1]), -np.inf)
    np.minimum.at(lower, leaf, y)
    np.maximum.at(upper, leaf, y)
    empty = lower > upper
    return np.where(empty, y.min(axis=0), lower), np.where(empty, y.max(axis=0), upper)


class RidgeRows:
    """Rows that leaves are fitted to by ridge regression; what all trees on these rows share is made once.

    Parameters
    ----------
    sample : Sample
        Targets of shape (n_rows, n_outputs).
    scaling : Scaling
        Map of the features to training coordinates.
    direction : array of int, shape (n_features,), optional
        1 for features whose weights must not be negative, -1 for not positive, 0 for any.
    column : array of int, shape (n_features,), optional
        The column that each feature comes from; by default each is one of its own.
    """

    def __init__(
        self, sample: Sample, scaling: Scaling, direction: Ints | None = None, column: Ints | None = None
    ) -> None:
        self.sample, self.scaling, self.direction = sample, scaling, direction
        self.column = np.arange(sample.X.shape[1]) if column is None else column
        self._designs: dict[bool, Floats] = {}
        self._sums: dict[tuple[bool, float], tuple[Floats, Floats]] = {}
        self._common: dict[tuple[bool, float, int | None], Floats] = {}

    def design(self, rows: Ints, linear: bool) -> Floats:
        """Some of the rows in training coordinates with a column of ones, or the ones alone."""
        if len(self.sample) > BLOCK:
            return _design(self.sample.take(rows), self.scaling, linear)
        if linear not in self._designs:
            self._designs[linear] = _design(self.sample, self.scaling, linear)
        return self._designs[linear][rows]

    def common(self, linear: bool, penalty: float, most: int | None = None) -> Floats:
        """Ridge model of all rows, shape (n_features + 1, n_outputs); the intercept has the smallest penalty."""
        key = linear, penalty, most
        if key not in self._common:
            self._common[key] = self.solved(*self._penalised(linear, penalty), most)
        return self._common[key]

    def _penalised(self, linear: bool, penalty: float) -> tuple[Floats, Floats]:
        """Sums of products over all rows: of the design, with a ridge, and of the design with the targets."""
        if (linear, penalty) not in self._sums:
            n_columns = self.sample.X.shape[1] + 1 if linear else 1
            gram, moment = np.eye(n_columns) * penalty, np.zeros((n_columns, self.sample.y.shape[1]))
            gram[-1, -1] = 1e-3
            for part in self.sample.slices():
                design = self.design(np.arange(part.start, part.stop), linear)
                weighted = design * self.sample.weight[part, None]
                gram += weighted.T @ design
                moment += weighted.T @ self.sample.y[part]
            self._sums[linear, penalty] = gram, moment
        return self._sums[linear, penalty]

    def solved(self, gram: Floats, moment: Floats, most: int | None) -> Floats:
        """The model (n_features + 1, n_outputs) with ``gram @ model = moment`` that keeps signs, on a few columns."""
        if most is None or len(gram) == 1:
            model = np.linalg.solve(gram, moment)
            return model if self.has_right_signs(model) else signed_ridge(gram, moment, self._signs)
        model = np.zeros_like(moment)
        limit = ColumnLimit(most, self.column)
        # The intercept is solved for first: what is left of the others is what they explain beside it.
        along = gram[:-1, -1] / gram[-1, -1]
        rest = gram[:-1, :-1] - np.outer(gram[:-1, -1], along)
        for o, target in enumerate(moment.T):
            kept = np.append(forward_selection(rest, (target[:-1] - along * target[-1])[:, None], limit), True)
            part = gram[np.ix_(kept, kept)], target[kept, None]
            model[kept, o] = np.linalg.solve(*part)[:, 0]
            if not self.has_right_signs(model[:, o : o + 1]):
                model[kept, o] = signed_ridge(*part, self._signs[kept[:-1]])[:, 0]
        return model

    @property
    def _signs(self) -> Ints:
        assert self.direction is not None
        return self.direction

    def has_right_signs(self, model: Floats) -> bool:
        """Whether no weight of a model (n_columns, n_outputs) has the wrong sign."""
        if self.direction is None or len(model) == 1:
            return True
        return bool((self.direction[:, None] * model[:-1] >= 0).all())


def ridge_paths(
    tree: Tree, rows: RidgeRows, fits: Sequence[LeafFit], *, linear: bool, judges: bool = True
) -> list[tuple[float, Floats]]:
    """Fit every leaf by ridge regression towards the model of all rows, in several ways at once.

    Parameters
    ----------
    tree : Tree
        Its splits decide which rows reach a leaf; its leaves are not read.
    rows : RidgeRows
    fits : sequence of LeafFit
        The ways; those that differ by their penalties alone share the decomposition of each leaf.
    linear : bool
        Whether leaves may be linear at all.
    judges : bool, default=True
        Whether leave-one-out errors are wanted; they take as long as the models.

    Returns
    -------
    For each way the weighted mean of the squared leave-one-out errors, or NaN, and the leaf models in training
    coordinates, (n_leaves, n_outputs, n_columns), the bias last
    """
    found: dict[LeafFit, tuple[float, Floats]] = {}

    def kind_of(fit: LeafFit) -> tuple[bool, bool, bool]:
        is_linear = fit.linear and linear
        return is_linear, fit.augmented, is_linear and fit.n_columns is not None

    for kind in dict.fromkeys(map(kind_of, fits)):
        alike = [fit for fit in fits if kind_of(fit) == kind]
        is_linear, augmented, has_few_columns = kind
        if has_few_columns:
            found |= zip(alike, _few_columns_of_kind(tree, rows, alike, augmented, judges))
        else:
            found |= zip(alike, _ridge_of_kind(tree, rows, alike, is_linear, augmented, judges))
    return [found[fit] for fit in fits]


def _ridge_of_kind(
    tree: Tree, rows: RidgeRows, fits: Sequence[LeafFit], linear: bool, augmented: bool, judges: bool
) -> list[tuple[float, Floats]]:
    """Fit every leaf in ways that differ by their penalties alone."""
    sample, n_leaves, n_outputs = rows.sample, tree.n_leaves, rows.sample.y.shape[1]
    common = {fit.common: rows.common(linear, fit.common) for fit in fits}
    models = [np.tile(common[fit.common].T, (n_leaves, 1, 1)) for fit in fits]
    error = np.full(len(fits), 0.0 if judges else np.nan)
    first, second = _first_and_second(tree, sample, augmented)
    for leaf, own, guest in _members(first, second, n_leaves):
        index = np.concatenate([own, guest])
        design, y, root = rows.design(index, linear), sample.y[index], np.sqrt(sample.weight[index])
        free = np.ones(design.shape[1])
        free[-1] = 1e-6  # nearly no penalty on the intercept; a leaf with a single row still needs some
        scale = 1 / np.sqrt(free)
        # In coordinates in which the penalty is a multiple of the identity, one decomposition serves all penalties.
        scaled = design * scale * root[:, None]
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        rotated = scaled @ vectors
        squared = np.square(rotated[: len(own)]) if judges else None
        residual = {name: (y - design @ model) * root[:, None] for name, model in common.items()}
        projected = {name: rotated.T @ rest for name, rest in residual.items()}
        for p, fit in enumerate(fits):
            inverse = 1 / (np.maximum(values, 0) + fit.penalty)
            shrunk = inverse[:, None] * projected[fit.common]
            models[p][leaf] += (scale[:, None] * (vectors @ shrunk)).T
            if rows.direction is not None and not rows.has_right_signs(models[p][leaf].T):
                weighted, penalty = design * root[:, None], fit.penalty * free
                moment = weighted.T @ (y * root[:, None]) + penalty[:, None] * common[fit.common]
                gram = weighted.T @ weighted + np.diag(penalty)
                models[p][leaf] = signed_ridge(gram, moment, rows.direction).T
            if squared is None:
                continue
            leverage = np.minimum(squared @ inverse, 1 - 1e-6)
            misses = (residual[fit.common] - rotated @ shrunk)[: len(own)] / (1 - leverage[:, None])
            error[p] += np.square(misses).sum() / n_outputs
    return list(zip((error / sample.weight.sum()).tolist(), models))


def _few_columns_of_kind(
    tree: Tree, rows: RidgeRows, fits: Sequence[LeafFit], augmented: bool, judges: bool
) -> list[tuple[float, Floats]]:
    """Fit every leaf on a few columns, in ways that differ by their penalties and their numbers of columns."""
    sample, n_leaves, n_outputs = rows.sample, tree.n_leaves, rows.sample.y.shape[1]
    common = [rows.common(True, fit.common, fit.n_columns) for fit in fits]
    models = [np.tile(each.T, (n_leaves, 1, 1)) for each in common]
    error = np.full(len(fits), 0.0 if judges else np.nan)
    first, second = _first_and_second(tree, sample, augmented)
    for leaf, own, guest in _members(first, second, n_leaves):
        index = np.concatenate([own, guest])
        root = np.sqrt(sample.weight[index])[:, None]
        design, y = rows.design(index, True) * root, sample.y[index] * root
        gram, moment = design.T @ design, design.T @ y
        free = np.ones(len(gram))
        free[-1] = 1e-6
        for p, fit in enumerate(fits):
            ridge = fit.penalty * free
            penalised = gram + np.diag(ridge)
            models[p][leaf] = rows.solved(penalised, moment + ridge[:, None] * common[p], fit.n_columns).T
            for o in range(n_outputs if judges else 0):
                kept = models[p][leaf, o] != 0
                kept[-1] = True
                part = design[: len(own), kept]
                leverage = (part * np.linalg.solve(penalised[np.ix_(kept, kept)], part.T).T).sum(axis=1)
                misses = (y[: len(own), o] - part @ models[p][leaf, o, kept]) / (1 - np.minimum(leverage, 1 - 1e-6))
                error[p] += np.square(misses).sum() / n_outputs
    return list(zip((error / sample.weight.sum()).tolist(), models))


def update_leaves(
    tree: Tree, model: Floats, seen: Floats, sample: Sample, scaling: Scaling, *, keeps_zeros: bool = False
) -> Floats:
    """Update leaf models (n_leaves, n_outputs, n_columns) by new rows; all of it in training coordinates.

    The rows seen so far hold the model of a leaf in place by their weight, ``seen`` (n_leaves,). Weights of zero may
    stay so.
    """
    moved, linear = model.copy(), model.shape[2] > 1
    for leaf, own, _ in _members(leaves_of(tree, sample), None, tree.n_leaves):
        design = _design(sample.take(own), scaling, linear)
        weighted = design * sample.weight[own, None]
        gram = weighted.T @ design + max(seen[leaf], 1e-3) * np.eye(design.shape[1])
        moment = weighted.T @ (sample.y[own] - design @ model[leaf].T)
        if not keeps_zeros:
            moved[leaf] += np.linalg.solve(gram, moment).T
            continue
        for o, before in enumerate(model[leaf]):
            kept = np.append(before[:-1] != 0, True)
            moved[leaf, o, kept] += np.linalg.solve(gram[np.ix_(kept, kept)], moment[kept, o])
    return moved


def _design(sample: Sample, scaling: Scaling, linear: bool) -> Floats:
    """Rows in training coordinates with a column of ones, or the ones alone."""
    ones = np.ones((len(sample), 1))
    return np.hstack([scaling.apply(sample, np.float64, far="center"), ones]) if linear else ones


def _first_and_second(tree: Tree, sample: Sample, augmented: bool) -> tuple[Ints, Ints | None]:
    """The leaf that each row reaches and, if asked for, its second choice."""
    if not augmented or tree.n_leaves <= 2:  # with two leaves every row would count for both, and none would differ
        return leaves_of(tree, sample), None
    leaf = np.empty((len(sample), 2), np.int64)
    for part, rows in sample.blocks():
        leaf[part] = choices(tree.scores(rows), tree.topology.children, 2)
    return leaf[:, 0], leaf[:, 1]


def _members(first: Ints, second: Ints | None, n_leaves: int) -> Iterator[tuple[int, Ints, Ints]]:
    """Rows that reach each leaf, and rows for which it is the second choice; leaves without any are left out."""
    own = _rows_by_leaf(first, n_leaves)
    guests = [np.empty(0, np.int64)] * n_leaves if second is None else _rows_by_leaf(second, n_leaves)
    for leaf in range(n_leaves):
        if len(own[leaf]) + len(guests[leaf]):
            yield leaf, own[leaf], guests[leaf]


def _rows_by_leaf(leaf: Ints, n_leaves: int) -> list[Ints]:
    return np.split(np.argsort(leaf, kind="stable"), np.cumsum(np.bincount(leaf, minlength=n_leaves))[:-1])
