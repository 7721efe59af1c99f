"""The shape of a binary tree, as one table of children.

Row ``i`` of ``children`` holds the left and the right child of split ``i``: a
number ``k >= 0`` is split ``k``, a number ``k < 0`` is leaf ``~k``. Splits are
numbered breadth-first from the root, leaves from left to right, so a shape has
exactly one table and two topologies are equal when their tables are. A tree
without splits is one leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Ints
from dtsemnet.names import shown

__all__ = ["Level", "Paths", "Topology", "MAX_DEPTH", "leaves_from_left"]


MAX_DEPTH = 20
"""Deepest complete tree that is built: it has a million leaves, so a larger number is a mistake."""


class Level(NamedTuple):
    """One level of the tree, by positions in its frontier (the level's nodes from left to right)."""

    leaves: Ints
    """Positions in the frontier that are leaves."""
    inner: Ints
    """Positions in the frontier that are splits."""
    splits: Ints
    """Numbers of the splits at those positions."""


class Paths(NamedTuple):
    """The path to every leaf, one row per leaf, padded with -1 behind the last split."""

    split: Ints
    """Splits from the root down, shape (n_leaves, depth)."""
    side: Ints
    """1 if the leaf lies right of that split, 0 if it lies left, -1 in the padding."""


@dataclass(frozen=True, eq=False)
class Topology:
    """Shape of a binary tree.

    Parameters
    ----------
    children : array_like of int, shape (n_splits, 2)
        Left and right child of each split; ``k >= 0`` is split ``k``, ``k < 0`` is leaf ``~k``.

    Examples
    --------
    >>> Topology.complete(2).children.tolist()
    [[1, 2], [-1, -2], [-3, -4]]
    >>> Topology([[-1, 1], [-2, -3]])
    Topology(depth 2, 2 splits, 3 leaves)
    >>> Topology([]).n_leaves
    1
    """

    children: Ints

    def __init__(self, children: ArrayLike | Sequence[Sequence[int]]) -> None:
        table = np.asarray(children)
        if table.size == 0:
            table = np.empty((0, 2), dtype=np.int64)
        if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
            raise ValueError(
                f"children must be integers of shape (n_splits, 2), got {table.dtype} of shape {table.shape}."
            )
        table = table.astype(np.int64)
        _check_children(table)
        table.setflags(write=False)
        object.__setattr__(self, "children", table)

    @classmethod
    def complete(cls, depth: int) -> Topology:
        """Build the complete tree with ``2 ** depth`` leaves."""
        if not isinstance(depth, Integral) or not 0 <= depth <= MAX_DEPTH:
            raise ValueError(f"depth must be a whole number from 0 to {MAX_DEPTH}, got {shown(depth)}.")
        n_splits = 2**depth - 1
        first, last = 2 * np.arange(n_splits) + 1, 2 * np.arange(n_splits) + 2
        table = np.stack([first, last], axis=1)
        return cls(np.where(table < n_splits, table, ~(table - n_splits)))

    @property
    def n_splits(self) -> int:
        """Number of splits (inner nodes)."""
        return len(self.children)

    @property
    def n_leaves(self) -> int:
        """Number of leaves, always one more than the splits."""
        return len(self.children) + 1

    @cached_property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        return len(self.levels)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels that hold splits, from the root down."""
        levels = []
        frontier: Ints = np.zeros(1 if self.n_splits else 0, dtype=np.int64)
        while len(frontier) and (frontier >= 0).any():
            inner = np.flatnonzero(frontier >= 0)
            splits = frontier[inner]
            levels.append(Level(np.flatnonzero(frontier < 0), inner, splits))
            frontier = self.children[splits].ravel()
        return tuple(levels)

    @cached_property
    def leaf_order(self) -> Ints:
        """For each leaf from left to right, its position in the order in which the levels list the leaves."""
        met: list[Ints] = [np.empty(0, dtype=np.int64)]
        for level in self.levels:
            below = self.children[level.splits].ravel()
            met.append(~below[below < 0])
        order = np.concatenate(met) if self.n_splits else np.zeros(1, dtype=np.int64)
        return np.argsort(order, kind="stable")

    @cached_property
    def paths(self) -> Paths:
        """The splits and sides on the path to each leaf."""
        split = np.full((self.n_leaves, self.depth), -1, dtype=np.int64)
        side = np.full((self.n_leaves, self.depth), -1, dtype=np.int64)
        first, last = self.spans
        for depth, level in enumerate(self.levels):
            for i in level.splits:
                left = self.children[i, 0]
                middle = last[left] if left >= 0 else ~left + 1
                split[first[i] : last[i], depth] = i
                side[first[i] : middle, depth] = 0
                side[middle : last[i], depth] = 1
        return Paths(split, side)

    @cached_property
    def spans(self) -> tuple[Ints, Ints]:
        """First leaf and one past the last leaf below each split."""
        first, last = np.empty(self.n_splits, np.int64), np.empty(self.n_splits, np.int64)
        for i in range(self.n_splits - 1, -1, -1):
            left, right = self.children[i]
            first[i] = first[left] if left >= 0 else ~left
            last[i] = last[right] if right >= 0 else ~right + 1
        return first, last

    def sums_below(self, per_leaf: Array) -> Array:
        """Add the numbers of the leaves below each split, shape (n_splits, ...).

        Examples
        --------
        >>> Topology.complete(2).sums_below(np.array([1, 2, 3, 4]))
        array([10,  3,  7])
        """
        first, last = self.spans
        running = np.concatenate([np.zeros_like(per_leaf[:1]), np.cumsum(per_leaf, axis=0)])
        return running[last] - running[first]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Topology):
            return NotImplemented
        return self.children.tobytes() == other.children.tobytes()

    def __hash__(self) -> int:
        return hash(self.children.tobytes())

    def __repr__(self) -> str:
        return f"Topology(depth {self.depth}, {self.n_splits} splits, {self.n_leaves} leaves)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Topology, (np.array(self.children),)

    def __copy__(self) -> Topology:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Topology:
        return self


def _check_children(children: Ints) -> None:
    """Raise unless the table is one binary tree, splits breadth-first, leaves from left to right."""
    n_splits = len(children)
    below = children.ravel()
    splits = below[below >= 0]
    # Breadth-first numbering means that reading the table row by row meets 1, 2, 3, ... in that order;
    # with each number above its parent's, that also rules out cycles and split nodes met twice.
    if not np.array_equal(splits, np.arange(1, n_splits)) or (
        len(splits) and (splits <= np.flatnonzero(below >= 0) // 2).any()
    ):
        raise ValueError("children must number the splits breadth-first, each below one parent, the root as 0.")
    if n_splits and leaves_from_left(children.tolist(), 0) != list(range(n_splits + 1)):
        raise ValueError("children must number the leaves from left to right, each once.")


def leaves_from_left(children: list[list[int]], root: int) -> list[int]:
    """List the leaves below a node from left to right."""
    leaves, stack = [], [root]
    while stack:
        node = stack.pop()
        if node < 0:
            leaves.append(~node)
        else:
            stack += reversed(children[node])
    return leaves
