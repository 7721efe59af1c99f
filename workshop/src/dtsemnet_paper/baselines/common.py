"""What the baselines that need no gradient share: rows to judge by, trees without splits, checks of parameters."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from dtsemnet.fit.data import Sample, split
from dtsemnet.fit.fitting import MIN_ROWS, TrainingData
from dtsemnet.fit.leaves import count_rows
from dtsemnet.tree import Topology, Tree
from dtsemnet.tree.edits import drop_leaves, merge_equal

__all__ = ["check", "cut_idle_splits", "is_constant", "is_positive", "is_whole", "one_leaf", "set_aside"]


def set_aside(data: TrainingData, fraction: float, rng: np.random.Generator) -> tuple[Sample, Sample | None]:
    """Rows to fit and rows to judge by: those that the user gave, a share of the sample, or none of too few."""
    if data.validation is not None:
        return data.sample, data.validation
    if fraction == 0 or len(data.sample) < MIN_ROWS:
        return data.sample, None
    return split(data.sample, fraction, rng, by_class=data.class_names is not None)


def is_constant(data: TrainingData) -> bool:
    """Whether all targets are equal, so that there is nothing to split."""
    return bool((data.sample.y == data.sample.y[0]).all())


def one_leaf(data: TrainingData) -> Tree:
    """The tree without splits: class frequencies, or the mean."""
    y = data.sample.y if data.class_names is None else np.eye(len(data.class_names))[data.sample.y]
    if is_constant(data):
        mean = y[:1]  # not rounded
    else:
        mean = np.average(y, axis=0, weights=data.sample.weight)[None]
    names = {"feature_names": data.feature_names, "class_names": data.class_names}
    return Tree(Topology([]), np.empty((0, data.n_features)), np.empty(0), mean, **names)


def cut_idle_splits(tree: Tree, sample: Sample) -> Tree:
    """Remove leaves that no row reaches, and splits of a classifier below which all leaves have one class."""
    weight = count_rows(tree, sample)
    tree, weight = drop_leaves(tree, np.flatnonzero(weight == 0).tolist()), weight[weight > 0]
    if not tree.is_classifier or not tree.n_splits:
        return tree
    value, done = tree.value.copy(), 0
    for first, last in sorted(zip(*tree.topology.spans), key=lambda span: (span[0], -span[1])):
        if first >= done and (tree.leaf_class[first:last] == tree.leaf_class[first]).all():
            value[first:last] = np.average(tree.value[first:last], axis=0, weights=weight[first:last])
            done = last
    pooled = Tree(
        tree.topology, tree.weight, tree.bias, value, feature_names=tree.feature_names, class_names=tree.class_names
    )
    return merge_equal(pooled)


def check(name: str, value: Any, legal: bool, words: str) -> None:
    """Raise unless a parameter is legal, naming it, what came and what may come."""
    if not legal:
        raise ValueError(f"{name} must be {words}, got {value!r}.")


def is_whole(value: Any, low: int) -> bool:
    """Whether a value is a whole number of at least ``low``."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= low


def is_positive(value: Any) -> bool:
    """Whether a value is a finite number above 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf
