"""From an edited table of nodes back to a tree with its one numbering.

An edit names nodes by the numbers of the tree it came from: ``k >= 0`` is split
``k``, ``k < 0`` is leaf ``~k``. What is left after the edit hangs below a root, and is
numbered anew, splits breadth-first and leaves from left to right. Loops, not
recursion: a chain may be deeper than Python's stack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtsemnet.arrays import Ints
from dtsemnet.tree.topology import Topology
from dtsemnet.tree.tree import Tree

__all__ = ["Numbering", "number", "rebuild"]


class Numbering(NamedTuple):
    """A shape, and which old split and leaf stands at each new number."""

    topology: Topology
    splits: Ints
    leaves: Ints


def number(children: NDArray[np.integer], root: int) -> Numbering:
    """Number the nodes below ``root`` anew.

    Examples
    --------
    >>> shape, splits, leaves = number(np.array([[1, -3], [-1, -2]]), root=0)
    >>> shape.children.tolist(), splits.tolist(), leaves.tolist()
    ([[1, -3], [-1, -2]], [0, 1], [0, 1, 2])
    """
    table: list[list[int]] = np.asarray(children).reshape(-1, 2).tolist()
    splits = [root] if root >= 0 else []
    for split in splits:  # grows while it is read: breadth-first
        splits += [child for child in table[split] if child >= 0]
    new_split = {split: i for i, split in enumerate(splits)}
    leaves, stack = [], [root]
    while stack:
        node = stack.pop()
        if node < 0:
            leaves.append(~node)
        else:
            stack += [table[node][1], table[node][0]]
    new_leaf = {leaf: i for i, leaf in enumerate(leaves)}
    shape = [[new_split[k] if k >= 0 else ~new_leaf[~k] for k in table[split]] for split in splits]
    return Numbering(Topology(shape), np.array(splits, dtype=np.int64), np.array(leaves, dtype=np.int64))


def rebuild(tree: Tree, children: NDArray[np.integer], root: int) -> Tree:
    """Make the tree whose nodes are those of ``tree`` that hang below ``root``."""
    topology, splits, leaves = number(children, root)
    return Tree(
        topology,
        tree.weight[splits],
        tree.bias[splits],
        tree.value[leaves],
        *(None if array is None else array[leaves] for array in (tree.coef, tree.lower, tree.upper)),
        feature_names=tree.feature_names,
        class_names=tree.class_names,
    )
