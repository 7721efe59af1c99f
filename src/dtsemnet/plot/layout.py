"""Where the nodes of a drawn tree are, and how much room each has.

**Positions.** Every subtree is laid out once, with its root at 0, and remembered by its two outlines:
the leftmost and the rightmost position at each depth. To join two subtrees, push them apart
until their facing outlines are one unit from each other at every depth they share, and
put the parent in the middle. So nodes at one depth keep their order and a distance of
at least 1, parents are centred over their children, equal subtrees look equal, and a
shallow subtree tucks in beside a deep one.

**Room.** A drawing is measured in inches, as its texts are. The distance to the nearest neighbour at a
level decides whether its splits are drawn with their terms, as bare sticks, as pictures or as
dots, and whether its leaves have room for words. If the whole is too high for the axes, splits
lose terms first, then words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.tree import Topology

__all__ = [
    "LINE", "NOTE", "ROW", "TITLE", "Contents", "Cut", "Layout", "LevelForm", "Room", "cut", "default_width", "lay_out",
    "make_room", "note_lines",
]  # fmt: skip

TITLE, ROW, LINE, NOTE = 0.20, 0.135, 0.125, 0.12
"""Heights of a split's title, of one term below it, of one line of text in a leaf, and of one in the note."""
_WORDS, _TERMS, _STICKS, _PICTURE, _TURNED = 0.55, 0.85, 0.26, 0.17, 0.13
"""Least widths for a leaf with words, a split with terms, sticks, a picture, and a word set upright."""
_HEAD = 0.10
SplitForm = Literal["terms", "sticks", "picture", "dot"]
LeafForm = Literal["words", "upright", "sliver"]
_Forms = tuple[SplitForm, float, float, LeafForm, float, float]


@dataclass(frozen=True)
class Layout:
    """Positions and depths of splits and leaves; the leftmost node is at 0."""

    split_x: Floats
    leaf_x: Floats
    split_depth: Ints
    leaf_depth: Ints

    @property
    def span(self) -> float:
        """Distance from the leftmost to the rightmost node."""
        return float(np.concatenate([self.split_x, self.leaf_x]).max())

    def gaps(self) -> Floats:
        """Smallest distance between neighbours at each depth, inf if a node is alone."""
        x = np.concatenate([self.split_x, self.leaf_x])
        depth = np.concatenate([self.split_depth, self.leaf_depth])
        levels = (np.sort(x[depth == level]) for level in range(int(depth.max()) + 1))
        return np.array([np.diff(level).min() if len(level) > 1 else np.inf for level in levels])


@dataclass(frozen=True)
class Cut:
    """The upper part of a shape. Its leaf ``j`` represents the leaves ``first[j]`` to ``last[j] - 1`` below it."""

    topology: Topology
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Contents:
    """What is drawn if there is room: terms of a split, or pictures, and lines of text in a leaf."""

    n_terms: int
    n_lines: int
    pictures: bool


@dataclass(frozen=True)
class LevelForm:
    """One level: upper end, and the form, width and height of its splits and leaves."""

    top: float
    split: SplitForm
    split_width: float
    split_height: float
    leaf: LeafForm
    leaf_width: float
    leaf_height: float


@dataclass(frozen=True)
class Room:
    """Size of the drawing in inches, positions of the nodes, levels, and how many terms a split shows."""

    width: float
    height: float
    split_x: Floats
    leaf_x: Floats
    levels: tuple[LevelForm, ...]
    n_terms: int


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
    spans = [(first[end], last[end]) if end >= 0 else (~end, ~end + 1) for end in ends]
    order = np.argsort([start for start, _ in spans], kind="stable")
    new_leaf = {int(ends[k]): ~leaf for leaf, k in enumerate(order)}
    table = [[new_leaf.get(int(child), int(child)) for child in pair] for pair in children]
    return Cut(Topology(table), *np.array(spans)[order].T)


def default_width(layout: Layout, contents: Contents) -> float:
    """Choose a width at which splits and leaves are easy to read, between 6.4 and 15 inches."""
    with_splits = _room(layout)[np.unique(layout.split_depth)]
    unit = max([0.88 if contents.n_lines <= 2 else 1.3, *(1.55 / with_splits)])
    return float(np.clip(unit * (layout.span + 1), 6.4, 15.0))


def make_room(layout: Layout, contents: Contents, width: float, height: float | None) -> Room:
    """Fit a drawing into a width and, if it is given, a height."""
    unit = min(2.3, (width - 0.1) / (layout.span + 1))
    room = _room(layout) * unit
    foot = 0.16 + NOTE * note_lines(width)
    for limit in range(contents.n_terms if not contents.pictures else 4, -3, -1):
        levels = [_forms(float(space), unit, contents, limit) for space in room]
        heights = [
            max(level[2] * (depth in layout.split_depth), level[5] * (depth in layout.leaf_depth))
            for depth, level in enumerate(levels)
        ]
        least = _HEAD + sum(heights) + foot
        n_gaps = max(1, len(levels) - 1)
        gap = 0.40 if height is None else min(0.8, (height - least) / n_gaps)
        if gap >= 0.16:
            break
    gap = max(gap, 0.05)
    total = least + gap * (len(levels) - 1) if height is None else height
    tops = total - _HEAD - np.concatenate([[0.0], np.cumsum(np.array(heights[:-1]) + gap)])
    placed = tuple(LevelForm(float(top), *level) for top, level in zip(tops, levels))
    start = (width - unit * layout.span) / 2
    split_x, leaf_x = start + unit * layout.split_x, start + unit * layout.leaf_x
    return Room(width, total, split_x, leaf_x, placed, max(1, min(limit, contents.n_terms)))


def note_lines(width: float) -> int:
    """Lines at the foot that are kept for the note."""
    return 1 if width >= 11 else 2


def _join(left: tuple[Floats, Floats], right: tuple[Floats, Floats], half: float) -> tuple[Floats, Floats]:
    """Outlines of a parent over two subtrees, each ``half`` away from it."""
    leftmost = np.concatenate([[0.0], left[0] - half, right[0][len(left[0]) :] + half])
    rightmost = np.concatenate([[0.0], right[1] + half, left[1][len(right[1]) :] - half])
    return leftmost, rightmost


def _room(layout: Layout) -> Floats:
    """Width that nodes of each level may take, in units: up to their neighbours, and half a unit past the ends."""
    room = layout.gaps()
    for x, depth in ((layout.split_x, layout.split_depth), (layout.leaf_x, layout.leaf_depth)):
        np.minimum.at(room, depth, 1 + 2 * np.minimum(x, layout.span - x))
    return room


def _forms(room: float, unit: float, contents: Contents, limit: int) -> _Forms:
    """Choose the forms of one level; the limit falls from the terms wanted to 0 (sticks), -1 (dots), -2 (slivers)."""
    split: SplitForm = "dot"
    width = height = min(0.09, 0.7 * room)
    if contents.pictures and room >= _PICTURE and limit >= 0:
        side = min(0.92 * room, 0.95 * (0.25 + 0.75 * limit / 4))
        split, width, height = "picture", side, side
    elif not contents.pictures and room >= _TERMS and limit >= 1:
        split, width, height = "terms", min(0.93 * room, 2.1), TITLE + ROW * limit + 0.06
    elif not contents.pictures and room >= _STICKS and limit >= 0:
        split, width, height = "sticks", min(0.85 * room, 0.8), 0.32
    room = min(room, unit)
    if room >= _WORDS and limit >= -1:
        return split, width, height, "words", min(0.92 * room, 1.9), 0.16 + LINE * contents.n_lines
    if room >= _TURNED and limit >= -1:
        return split, width, height, "upright", min(0.7 * room, 0.16), 0.95
    return split, width, height, "sliver", min(0.8 * room, 0.16), 0.55
