"""Questions about two trees at once, as questions about one.

Below every leaf of the first tree stands a copy of the second: the leaves of this product are the
pairs of leaves, numbered ``a * n_b + b``, and a pair that no input reaches is an unreachable leaf.
So pairs are walked from the root, whole families are ruled out by one proof, and splits that both
trees share are seen to be parallel and need no program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.tree import Topology, Tree

__all__ = ["product"]

MAX_NUMBERS = 50_000_000


def product(a: Tree, b: Tree) -> Tree:
    """Put a copy of ``b`` below every leaf of ``a``; leaves hold zeros.

    Examples
    --------
    >>> one = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [1.0]])
    >>> product(one, one)
    Tree(depth 2, 3 splits, 4 leaves, 1 feature, constant leaves)
    """
    n_leaves = a.n_leaves * b.n_leaves
    if n_leaves * a.n_features > MAX_NUMBERS:
        raise ValueError(f"the trees have {n_leaves} pairs of leaves, which is too many; prune_unreachable them first.")
    # A node is a split of `a` (i, -1) or a split of `b` below leaf k of `a` (i, k).
    root = (0, -1) if a.n_splits else _below(b, 0)
    order: list[tuple[int, int]] = [root] if isinstance(root, tuple) else []
    children: list[list[int]] = []
    for i, leaf in order:
        row = []
        for child in (a if leaf < 0 else b).topology.children[i].tolist():
            node: Any = child
            if leaf < 0:
                node = (child, -1) if child >= 0 else _below(b, ~child)
            else:
                node = (child, leaf) if child >= 0 else leaf * b.n_leaves + ~child
            if isinstance(node, tuple):
                order.append(node)
                row.append(len(order) - 1)
            else:
                row.append(~node)
        children.append(row)
    weight = np.array([(a if leaf < 0 else b).weight[i] for i, leaf in order]).reshape(-1, a.n_features)
    bias = np.array([(a if leaf < 0 else b).bias[i] for i, leaf in order])
    return Tree(Topology(children), weight, bias, np.zeros((n_leaves, 1)))


def _below(b: Tree, leaf: int) -> tuple[int, int] | int:
    """What stands in place of a leaf of ``a``: the root of ``b``, or its only leaf."""
    return (0, leaf) if b.n_splits else leaf
