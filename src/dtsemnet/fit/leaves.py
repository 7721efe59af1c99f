"""What the leaves of a finished tree hold, computed from the rows that reach them.

Classes: frequencies, each node shrunk towards its parent as by one row of it,
so that no frequency is overconfident because a leaf is small. One row more or
less is what a majority differs by at least, so the most frequent class of a
leaf stays its class.

Linear models: ridge regression in each leaf towards the linear model of all
rows, in closed form. The penalty, and whether rows for which a leaf is only the
second choice count too (the paper's augmented samples), are judged by
validation rows, or by leaving one out where there are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.data import Sample, Scaling
from dtsemnet.kernels.logits import choices
from dtsemnet.tree import Topology, Tree

__all__ = [
    "RidgePaths",
    "class_table",
    "count_classes",
    "count_rows",
    "frequencies",
    "guard_of",
    "leaves_of",
    "node_sums",
    "ridge_paths",
    "update_leaves",
]


PENALTIES = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
"""Ridge penalties tried, in rows: a penalty of 10 weighs like ten rows of standardised inputs."""


def leaves_of(tree: Tree, sample: Sample) -> Ints:
    """Leaf that each row of a sample reaches."""
    found = np.empty(len(sample), np.int64)
    for part, rows in sample.blocks():
        found[part] = tree.apply(rows)
    return found


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


def count_rows(tree: Tree, sample: Sample) -> Floats:
    """Weight of the rows of a sample in each leaf."""
    total = np.zeros(tree.n_leaves)
    for part, rows in sample.blocks():
        total += np.bincount(tree.apply(rows), sample.weight[part], tree.n_leaves)
    return total


def node_sums(topology: Topology, table: Floats) -> Floats:
    """Sum a table over the leaves below each split."""
    first, last = topology.spans
    running = np.concatenate([np.zeros((1, table.shape[1])), np.cumsum(table, axis=0)])
    return running[last] - running[first]


def frequencies(topology: Topology, table: Floats) -> Floats:
    """Turn the weights of classes in leaves into probabilities."""
    total = table.sum(axis=0)
    above = np.empty((topology.n_splits, table.shape[1]))
    found = np.tile(total / total.sum(), (topology.n_leaves, 1))
    if topology.n_splits == 0:
        return found
    below = np.maximum(node_sums(topology, table), 0.0)
    above[0] = total / total.sum()
    for i, pair in enumerate(topology.children):
        for child in pair:
            counts = below[child] if child >= 0 else table[~child]
            shrunk = (counts + above[i]) / (counts.sum() + 1)
            if child >= 0:
                above[child] = shrunk
            else:
                found[~child] = shrunk
    return found / found.sum(axis=1, keepdims=True)


def guard_of(leaf: Ints, y: Floats, n_leaves: int) -> tuple[Floats, Floats]:
    """Smallest and largest target of each leaf; those of all rows where a leaf has none."""
    lower, upper = np.full((n_leaves, y.shape[1]), np.inf), np.full((n_leaves, y.shape[1]), -np.inf)
    np.minimum.at(lower, leaf, y)
    np.maximum.at(upper, leaf, y)
    empty = lower > upper
    return np.where(empty, y.min(axis=0), lower), np.where(empty, y.max(axis=0), upper)


@dataclass(frozen=True)
class RidgePaths:
    """Leaf models for each penalty, in training coordinates, and their errors when each row is left out."""

    leaves: Floats
    """Shape (n_penalties, n_leaves, n_outputs, n_columns), the bias last."""
    left_out: Floats
    """Weighted mean square of the errors on rows left out, shape (n_penalties,)."""


def ridge_paths(
    tree: Tree, sample: Sample, scaling: Scaling, *, linear: bool, augmented: bool, penalties: tuple[float, ...]
) -> RidgePaths:
    """Fit every leaf by ridge towards the model of all rows, for several penalties at once.

    Parameters
    ----------
    tree : Tree
        Its splits say which rows a leaf sees; its leaves are not read.
    sample : Sample
        Targets of shape (n_rows, n_outputs).
    linear : bool
        Linear models, else constants.
    augmented : bool
        Rows count for their second choice as well.
    """
    n_leaves, n_outputs = tree.n_leaves, sample.y.shape[1]
    common = _common_model(sample, scaling, linear)
    models = np.tile(common.T, (len(penalties), n_leaves, 1, 1))
    error = np.zeros(len(penalties))
    first, second = _first_and_second(tree, sample, augmented)
    for leaf, own, guest in _members(first, second, n_leaves):
        places = np.concatenate([own, guest])
        design, weight = _design(sample, places, scaling, linear), sample.weight[places]
        residual = sample.y[places] - design @ common
        free = np.ones(design.shape[1])
        free[-1] = 1e-6  # the intercept is free, but for a leaf with one row
        scale = 1 / np.sqrt(free)
        # One decomposition serves all penalties: in coordinates where the penalty is a multiple of 1.
        scaled = design * scale * np.sqrt(weight)[:, None]
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        rotated = scaled @ vectors
        projected = rotated.T @ (residual * np.sqrt(weight)[:, None])
        for p, penalty in enumerate(penalties):
            inverse = 1 / (np.maximum(values, 0) + penalty)
            models[p, leaf] += (scale[:, None] * (vectors @ (inverse[:, None] * projected))).T
            leverage = np.minimum((np.square(rotated) @ inverse), 1 - 1e-6)[: len(own)]
            fitted = (rotated @ (inverse[:, None] * projected))[: len(own)]
            misses = (residual[: len(own)] * np.sqrt(weight[: len(own), None]) - fitted) / (1 - leverage[:, None])
            error[p] += np.square(misses).sum() / n_outputs
    return RidgePaths(models, error / sample.weight.sum())


def update_leaves(tree: Tree, model: Floats, seen: Floats, sample: Sample, scaling: Scaling) -> Floats:
    """Move leaf models by new rows, each held where it is as by the rows that it has seen.

    Parameters
    ----------
    model : array of shape (n_leaves, n_outputs, n_columns)
        In training coordinates.
    seen : array of shape (n_leaves,)
        Weight of the rows that each leaf was fitted to.
    """
    moved, linear = model.copy(), model.shape[2] > 1
    for leaf, own, _ in _members(leaves_of(tree, sample), None, tree.n_leaves):
        design = _design(sample, own, scaling, linear)
        weighted = design * sample.weight[own, None]
        gram = weighted.T @ design + max(seen[leaf], 1e-3) * np.eye(design.shape[1])
        moved[leaf] += np.linalg.solve(gram, weighted.T @ (sample.y[own] - design @ model[leaf].T)).T
    return moved


def _design(sample: Sample, places: Ints, scaling: Scaling, linear: bool) -> Floats:
    """Rows in training coordinates with the column of ones, or the ones alone."""
    ones = np.ones((len(places), 1))
    return np.hstack([scaling.apply(sample.take(places), np.float64), ones]) if linear else ones


def _common_model(sample: Sample, scaling: Scaling, linear: bool) -> Floats:
    """Ridge model of all rows, shape (n_columns, n_outputs)."""
    n_columns = sample.X.shape[1] + 1 if linear else 1
    gram, moment = np.eye(n_columns) * 1e-3, np.zeros((n_columns, sample.y.shape[1]))
    for start in range(0, len(sample), 65536):
        places = np.arange(start, min(start + 65536, len(sample)))
        design = _design(sample, places, scaling, linear)
        weighted = design * sample.weight[places, None]
        gram += weighted.T @ design
        moment += weighted.T @ sample.y[places]
    return np.linalg.solve(gram, moment)


def _first_and_second(tree: Tree, sample: Sample, augmented: bool) -> tuple[Ints, Ints | None]:
    if not augmented or tree.n_leaves == 1:
        return leaves_of(tree, sample), None
    found = np.empty((len(sample), 2), np.int64)
    for part, rows in sample.blocks():
        found[part] = choices(tree.scores(rows), tree.topology.children, 2)
    return found[:, 0], found[:, 1]


def _members(first: Ints, second: Ints | None, n_leaves: int) -> Iterator[tuple[int, Ints, Ints]]:
    """Rows that reach each leaf, and rows for which it is the second choice; leaves that have neither are left out."""
    own = np.split(np.argsort(first, kind="stable"), np.cumsum(np.bincount(first, minlength=n_leaves))[:-1])
    guests: Any = [np.empty(0, np.int64)] * n_leaves
    if second is not None:
        guests = np.split(np.argsort(second, kind="stable"), np.cumsum(np.bincount(second, minlength=n_leaves))[:-1])
    for leaf in range(n_leaves):
        if len(own[leaf]) + len(guests[leaf]):
            yield leaf, own[leaf], guests[leaf]
