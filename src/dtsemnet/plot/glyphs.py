"""The marks of a drawn tree: a split as bars, sticks, a picture or a dot; a leaf as bars and words.

A mark is drawn into axes measured in inches. Its frame carries the node's name
(``split-3``, ``leaf-5``) as its id, which an SVG file keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Ellipse, FancyBboxPatch, Patch, PathPatch, Rectangle
from matplotlib.path import Path

from dtsemnet.arrays import Floats
from dtsemnet.plot.layout import LINE, ROW, TITLE
from dtsemnet.plot.style import ACCENT, BARS, EDGE, FAINT, GRID, INK, SIGNS, fit_text

__all__ = [
    "draw_dot", "draw_edge", "draw_picture", "draw_sticks", "draw_terms", "draw_upright", "draw_words", "write",
]  # fmt: skip

TITLE_FONT, TERM_FONT, LEAF_FONT, SHARE_FONT = 7.2, 6.6, 7.1, 6.4


def write(ax: Axes, x: float, y: float, text: str, size: float, **options: Any) -> None:
    """Write a text as it is."""
    ax.text(x, y, text, fontsize=size, parse_math=False, **{"ha": "center", "va": "center", "color": INK, **options})


def draw_terms(
    ax: Axes, x: float, top: float, width: float, height: float, title: str,
    size: Floats, labels: Sequence[str], n_terms: int, name: str, marked: bool,
) -> None:  # fmt: skip
    """Draw a split as its equation over a bar chart of its largest terms; each name is opposite its bar."""
    _box(ax, x - width / 2, top - height, width, height, name, marked)
    write(ax, x, top - TITLE / 2 - 0.01, title, TITLE_FONT)
    order = np.argsort(-np.abs(size), kind="stable")[:n_terms]
    order = order[size[order] != 0]
    half = width / 2 - 0.06
    axis_top, axis_end = top - TITLE, top - TITLE - ROW * len(order)
    ax.plot([x, x], [axis_end, axis_top], color=FAINT, linewidth=0.5, zorder=4, solid_capstyle="butt")
    for row, j in enumerate(order):
        y = axis_top - (row + 0.5) * ROW
        length = float(size[j]) * half
        ax.add_artist(
            Rectangle((min(x, x + length), y - 0.3 * ROW), abs(length), 0.6 * ROW, color=BARS, lw=0, zorder=4)
        )
        side = -1 if length > 0 else 1
        text = fit_text(labels[j], half - 0.03, TERM_FONT)
        write(ax, x + side * 0.04, y, text, TERM_FONT, ha="right" if side < 0 else "left", zorder=5)


def draw_sticks(
    ax: Axes, x: float, top: float, width: float, height: float, size: Floats, name: str, marked: bool
) -> None:
    """Draw a split as its twelve largest terms in the order of the features, upwards if positive, without words."""
    _box(ax, x - width / 2, top - height, width, height, name, marked)
    shown = np.sort(np.argsort(-np.abs(size), kind="stable")[:12])
    step, middle, half = 0.86 * width / max(4, len(shown)), top - height / 2, 0.42 * height
    for k, j in enumerate(shown):
        left = x + (k - len(shown) / 2) * step
        low = middle + min(0.0, float(size[j])) * half
        ax.add_artist(
            Rectangle((left + 0.1 * step, low), 0.8 * step, abs(float(size[j])) * half, color=BARS, lw=0, zorder=4)
        )
    ax.plot([x - 0.43 * width, x + 0.43 * width], [middle, middle], color=FAINT, linewidth=0.4, zorder=4)


def draw_picture(ax: Axes, x: float, top: float, side: float, picture: Floats, name: str, marked: bool) -> None:
    """Draw a split as a picture of its weights, blue if positive, red if negative, white at 0."""
    high, wide = picture.shape[:2]
    width, height = side * min(1.0, wide / high), side * min(1.0, high / wide)
    # A few large pixels must not bleach the others: colours saturate at the size that one pixel in a hundred exceeds.
    limit = max(float(np.quantile(np.abs(picture), 0.99)), float(np.abs(picture).max()) / 4) or 1.0
    extent = (x - width / 2, x + width / 2, top - height, top)
    ax.imshow(picture, cmap=SIGNS, vmin=-limit, vmax=limit, extent=extent, aspect="auto", zorder=4)
    frame = Rectangle((extent[0], extent[2]), width, height, facecolor="none", zorder=5)
    _stroke(ax, frame, name, marked)


def draw_dot(ax: Axes, x: float, top: float, size: float, name: str, marked: bool) -> None:
    """Draw a split as a dot."""
    dot = Ellipse((x, top - size / 2), size, size, color=ACCENT if marked else BARS, linewidth=0, zorder=4)
    dot.set_gid(name)
    ax.add_artist(dot)


def draw_edge(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], width: float, name: str, marked: bool
) -> None:
    """Draw an edge that leaves and arrives upright, of a given width; a marked one has a coloured line within."""
    middle = (start[1] + end[1]) / 2
    path = Path([start, (start[0], middle), (end[0], middle), end], [Path.MOVETO, *[Path.CURVE4] * 3])
    edge = PathPatch(path, facecolor="none", edgecolor=EDGE, linewidth=width, capstyle="butt", zorder=1)
    edge.set_gid(name)
    ax.add_artist(edge)
    if marked:
        line = PathPatch(path, facecolor="none", edgecolor=ACCENT, linewidth=1.8, capstyle="butt", zorder=2)
        line.set_gid(f"path-{name}")
        ax.add_artist(line)


def draw_words(
    ax: Axes, x: float, top: float, width: float, parts: Sequence[tuple[float, Any]],
    lines: Sequence[str], share: str, name: str, marked: bool,
) -> None:  # fmt: skip
    """Draw a leaf as a stacked bar over lines of text, the last of them its share of the rows."""
    bar = 0.11
    ends = np.cumsum([0.0, *(part for part, _ in parts)]) * width + x - width / 2
    _stack(ax, [(a, top - bar, b, top) for a, b in pairwise(ends)], [color for _, color in parts])
    _stroke(ax, Rectangle((x - width / 2, top - bar), width, bar, facecolor="none", zorder=5), name, marked)
    for row, text in enumerate([*lines, share]):
        last = row == len(lines)
        font = SHARE_FONT if last or row > 0 else LEAF_FONT
        y = top - bar - 0.03 - (row + 0.5) * LINE
        write(ax, x, y, fit_text(text, width + 0.04, font), font, color=FAINT if last else INK)


def draw_upright(
    ax: Axes, x: float, top: float, width: float, parts: Sequence[tuple[float, Any]],
    word: str, share: float | None, name: str, marked: bool,
) -> None:  # fmt: skip
    """Draw a leaf as a narrow stacked bar, its word set upright below, or its share as a grey bar hanging down."""
    high = 0.34
    ends = np.cumsum([0.0, *(part for part, _ in parts)]) * high + top - high
    left, right = x - width / 2, x + width / 2
    _stack(ax, [(left, a, right, b) for a, b in pairwise(ends)], [color for _, color in parts])
    frame = Rectangle((left, top - high), width, high, facecolor="none", zorder=5)
    _stroke(ax, frame, name, marked, thin=True)
    if share is not None:
        hang = 0.18 * min(1.0, share)
        ax.add_artist(Rectangle((left, top - high - 0.03 - hang), width, hang, color=FAINT, lw=0, zorder=4))
    if word:
        y = top - high - (0.04 if share is None else 0.24)
        text = fit_text(word, 0.58 if share is None else 0.38, SHARE_FONT)
        write(ax, x, y, text, SHARE_FONT, rotation=90, va="top")


def _stack(ax: Axes, boxes: Sequence[tuple[float, float, float, float]], colors: Sequence[Any]) -> None:
    corners = [[(a, b), (c, b), (c, d), (a, d)] for a, b, c, d in boxes]
    ax.add_collection(PolyCollection(corners, facecolors=colors, linewidths=0, zorder=4), autolim=False)


def _box(ax: Axes, left: float, low: float, width: float, height: float, name: str, marked: bool) -> None:
    style = f"round,pad=0,rounding_size={min(0.06, 0.2 * height)}"
    _stroke(ax, FancyBboxPatch((left, low), width, height, boxstyle=style, facecolor="white", zorder=3), name, marked)


def _stroke(ax: Axes, frame: Patch, name: str, marked: bool, thin: bool = False) -> None:
    frame.set_edgecolor(ACCENT if marked else GRID)
    frame.set_linewidth(1.6 if marked else 0.3 if thin else 0.8)
    frame.set_gid(name)
    ax.add_artist(frame)
