"""Where the nodes of a tree stand: a tidy layout.

Every subtree is laid out once, with its root at 0, and remembered by its two outlines:
the leftmost and the rightmost place at each depth. To join two subtrees, push them apart
until their facing outlines are one unit from each other at every depth they share, and
put the parent in the middle. So nodes at one depth keep their order and a distance of
at least 1, parents stand centred over their children, equal subtrees look equal, and a
shallow subtree tucks in beside a deep one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.tree import Topology

__all__ = ["Cut", "Layout", "cut", "lay_out"]


@dataclass(frozen=True)
class Layout:
    """Places and depths of splits and leaves; the leftmost node stands at 0."""

    split_x: Floats
    leaf_x: Floats
    split_depth: Ints
    leaf_depth: Ints

    @property
    def span(self) -> float:
        """Distance from the leftmost to the rightmost node."""
        return float(np.concatenate([self.split_x, self.leaf_x]).max())

    def gaps(self) -> Floats:
        """Smallest distance between neighbours at each depth, inf where a node stands alone."""
        place = np.concatenate([self.split_x, self.leaf_x])
        depth = np.concatenate([self.split_depth, self.leaf_depth])
        levels = (np.sort(place[depth == level]) for level in range(int(depth.max()) + 1))
        return np.array([np.diff(level).min() if len(level) > 1 else np.inf for level in levels])


@dataclass(frozen=True)
class Cut:
    """The upper part of a shape. Its leaf ``j`` stands for the leaves ``first[j]`` to ``last[j] - 1`` below it."""

    topology: Topology
    first: Ints
    last: Ints


def lay_out(topology: Topology) -> Layout:
    """Place the nodes of a tree.

    Examples
    --------
    >>> layout = lay_out(Topology([[1, -3], [-1, -2]]))
    >>> layout.split_x, layout.leaf_x
    (array([1. , 0.5]), array([0. , 1. , 1.5]))
    """
    children = topology.children.tolist()
    half = np.zeros(topology.n_splits)
    outline: dict[int, tuple[Floats, Floats]] = {}
    point = (np.zeros(1), np.zeros(1))
    for split in range(topology.n_splits - 1, -1, -1):  # children have higher numbers: bottom-up
        left, right = (outline.pop(child) if child >= 0 else point for child in children[split])
        shared = min(len(left[0]), len(right[0]))
        half[split] = (1 + (left[1][:shared] - right[0][:shared]).max()) / 2
        outline[split] = _join(left, right, half[split])
    split_x, leaf_x = np.zeros(topology.n_splits), np.zeros(topology.n_leaves)
    split_depth, leaf_depth = np.zeros(topology.n_splits, np.int64), np.zeros(topology.n_leaves, np.int64)
    for split, pair in enumerate(children):
        for child, side in zip(pair, (-1, 1)):
            x, depth = (split_x, split_depth) if child >= 0 else (leaf_x, leaf_depth)
            node = child if child >= 0 else ~child
            x[node], depth[node] = split_x[split] + side * half[split], split_depth[split] + 1
    start = min(leaf_x.min(), split_x.min(initial=0.0))
    return Layout(split_x - start, leaf_x - start, split_depth, leaf_depth)


def cut(topology: Topology, max_depth: int | None) -> Cut:
    """Keep the splits above a depth.

    Examples
    --------
    >>> upper = cut(Topology.complete(3), 1)
    >>> upper.topology, upper.first, upper.last
    (Topology(depth 1, 1 splits, 2 leaves), array([0, 4]), array([4, 8]))
    """
    whole = np.arange(topology.n_leaves)
    if max_depth is None or max_depth >= topology.depth:
        return Cut(topology, whole, whole + 1)
    if max_depth < 0:
        raise ValueError(f"max_depth must be at least 0, got {max_depth}.")
    if max_depth == 0:
        return Cut(Topology([]), np.zeros(1, np.int64), np.array([topology.n_leaves]))
    kept = 1 + int(topology.levels[max_depth - 1].splits.max())  # breadth-first: the upper splits come first
    children = topology.children[:kept].copy()
    first, last = topology.spans
    ends = children[(children < 0) | (children >= kept)]
    ends = ends[np.argsort([first[end] if end >= 0 else ~end for end in ends], kind="stable")]
    number = {int(end): ~place for place, end in enumerate(ends)}
    table = [[number.get(int(child), int(child)) for child in pair] for pair in children]
    return Cut(
        Topology(table),
        np.array([first[end] if end >= 0 else ~end for end in ends]),
        np.array([last[end] if end >= 0 else ~end + 1 for end in ends]),
    )


def _join(left: tuple[Floats, Floats], right: tuple[Floats, Floats], half: float) -> tuple[Floats, Floats]:
    """Outlines of a parent over two subtrees, each ``half`` away from it."""
    shared = len(left[0])
    leftmost = np.concatenate([[0.0], left[0] - half, right[0][shared:] + half])
    shared = len(right[1])
    rightmost = np.concatenate([[0.0], right[1] + half, left[1][shared:] - half])
    return leftmost, rightmost
