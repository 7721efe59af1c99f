"""What the rivals that need no gradient share: cutting off splits that decide nothing."""

from __future__ import annotations

import numpy as np

from dtsemnet.fit.data import Sample
from dtsemnet.fit.leaves import count_rows
from dtsemnet.tree import Tree
from dtsemnet.tree.edits import drop_leaves, merge_equal

__all__ = ["cut_idle_splits"]


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
    return merge_equal(tree.replace(value=value))
