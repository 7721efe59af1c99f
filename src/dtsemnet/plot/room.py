"""How much room each node of a drawing has, and so what is drawn there.

A drawing is measured in inches, as its texts are. Each level of the tree is looked at on
its own: the distance to the nearest neighbour says whether a split is drawn with its
terms, as bare sticks, as a picture or as a dot, and whether a leaf has room for words. If the
whole is too high for the axes, splits lose terms first, then words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.plot.layout import Layout

__all__ = ["Level", "Plan", "Wanted", "default_width", "make_plan", "note_lines"]


TITLE, ROW, LINE, NOTE = 0.20, 0.135, 0.125, 0.12
"""Heights of a split's title, of one term below it, of one line of text in a leaf, and of one in the note."""
_WORDS, _TERMS, _STICKS, _PICTURE, _TURNED = 0.55, 0.85, 0.26, 0.17, 0.13
"""Least widths for a leaf with words, a split with terms, sticks, a picture, and a word set upright."""
_HEAD = 0.10


@dataclass(frozen=True)
class Wanted:
    """What would be drawn, had it room: terms of a split, or pictures, and lines of text in a leaf."""

    n_terms: int
    n_lines: int
    pictures: bool


@dataclass(frozen=True)
class Level:
    """One level: upper end, and the form, width and height of its splits and leaves."""

    top: float
    split: str
    """"terms", "sticks", "picture" or "dot"."""
    split_width: float
    split_height: float
    leaf: str
    """"words", "upright" or "sliver"."""
    leaf_width: float
    leaf_height: float


@dataclass(frozen=True)
class Plan:
    """Size of the drawing in inches, places of the nodes, levels, and how many terms a split shows."""

    width: float
    height: float
    split_x: Floats
    leaf_x: Floats
    levels: tuple[Level, ...]
    n_terms: int


def default_width(layout: Layout, wanted: Wanted) -> float:
    """Width at which splits and leaves are read well, between 6.4 and 15 inches."""
    with_splits = _room(layout)[np.unique(layout.split_depth)]
    unit = max([0.88 if wanted.n_lines <= 2 else 1.3, *(1.55 / with_splits)])
    return float(np.clip(unit * (layout.span + 1), 6.4, 15.0))


def make_plan(layout: Layout, wanted: Wanted, width: float, height: float | None) -> Plan:
    """Fit a drawing into a width and, where given, a height."""
    unit = min(2.3, (width - 0.1) / (layout.span + 1))
    room = _room(layout) * unit
    foot = 0.16 + NOTE * note_lines(width)
    for limit in range(wanted.n_terms if not wanted.pictures else 4, -3, -1):
        levels = [_forms(float(space), unit, wanted, limit) for space in room]
        heights = [_height(layout, depth, level) for depth, level in enumerate(levels)]
        least = _HEAD + sum(heights) + foot
        n_gaps = max(1, len(levels) - 1)
        gap = 0.40 if height is None else min(0.8, (height - least) / n_gaps)
        if gap >= 0.16:
            break
    gap = max(gap, 0.05)
    total = least + gap * (len(levels) - 1) if height is None else height
    tops = total - _HEAD - np.concatenate([[0.0], np.cumsum(np.array(heights[:-1]) + gap)])
    placed = tuple(Level(float(top), *level) for top, level in zip(tops, levels))
    start = (width - unit * layout.span) / 2
    return Plan(
        width,
        total,
        start + unit * layout.split_x,
        start + unit * layout.leaf_x,
        placed,
        max(1, min(limit, wanted.n_terms)),
    )


def note_lines(width: float) -> int:
    """Lines at the foot that are kept for the note."""
    return 1 if width >= 11 else 2


def _room(layout: Layout) -> Floats:
    """Width that nodes of each level may take, in units: up to their neighbours, and half a unit past the ends."""
    room = layout.gaps()
    for x, depth in ((layout.split_x, layout.split_depth), (layout.leaf_x, layout.leaf_depth)):
        np.minimum.at(room, depth, 1 + 2 * np.minimum(x, layout.span - x))
    return room


def _forms(room: float, unit: float, wanted: Wanted, limit: int) -> tuple[str, float, float, str, float, float]:
    """Choose the forms of one level; the limit falls from the terms wanted to 0 (sticks), -1 (dots), -2 (slivers)."""
    split, width, height = "dot", min(0.09, 0.7 * room), min(0.09, 0.7 * room)
    if wanted.pictures and room >= _PICTURE and limit >= 0:
        side = min(0.92 * room, 0.95 * (0.25 + 0.75 * limit / 4))
        split, width, height = "picture", side, side
    elif not wanted.pictures and room >= _TERMS and limit >= 1:
        split, width, height = "terms", min(0.93 * room, 2.1), TITLE + ROW * limit + 0.06
    elif not wanted.pictures and room >= _STICKS and limit >= 0:
        split, width, height = "sticks", min(0.85 * room, 0.8), 0.32
    room = min(room, unit)
    if room >= _WORDS and limit >= -1:
        return split, width, height, "words", min(0.92 * room, 1.9), 0.16 + LINE * wanted.n_lines
    if room >= _TURNED and limit >= -1:
        return split, width, height, "upright", min(0.7 * room, 0.16), 0.95
    return split, width, height, "sliver", min(0.8 * room, 0.16), 0.55


def _height(layout: Layout, depth: int, level: tuple[str, float, float, str, float, float]) -> float:
    """Height of the highest node at a level."""
    split = level[2] if (layout.split_depth == depth).any() else 0.0
    leaf = level[5] if (layout.leaf_depth == depth).any() else 0.0
    return max(split, leaf)
