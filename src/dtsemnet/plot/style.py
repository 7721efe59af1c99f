"""What the plots share: colours, text that fits, fresh axes.

Classes have one colour each, in every plot, told apart by people who see no red or no
green. Signs are told by direction (bars) or by blue and red (pictures), amounts by a map
that grows evenly in lightness. Names are shown as they are: a ``$`` in them is no formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.textpath import TextPath

from dtsemnet.tree.view import class_colors, tint
from dtsemnet.tree.wording import MINUS, shorten
from dtsemnet.tree.wording import display_number as number

__all__ = [
    "ACCENT", "AMOUNTS", "BARS", "EDGE", "FAINT", "GRID", "INK", "MINUS", "SIGNS",
    "class_colors", "class_legend", "fit_text", "fresh_axes", "number", "plain", "text_width", "tidy_axes", "tint",
]  # fmt: skip

INK, FAINT, GRID, EDGE = "#222222", "#767676", "#d9d9d9", "#c3cad1"
BARS = "#4a5a6a"
"""Weights: a neutral slate, so that hues are left to classes."""
ACCENT = "#c2185b"
"""The path of a sample."""
SIGNS, AMOUNTS = "RdBu", "viridis"
"""Colour maps of signed weights (blue is positive) and of values."""


def fresh_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def tidy_axes(ax: Axes, *, grid: str | None = None) -> None:
    """Take away the frame's upper and right side, and put a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT, labelcolor=INK, labelsize=8.5)
    if grid:
        ax.grid(axis=grid, color=GRID, linewidth=0.6)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def class_legend(ax: Axes, names: Sequence[Any], colors: Sequence[Any], limit: int = 21, **options: Any) -> Legend:
    """Add a legend of classes, of at most so many entries; the last of them counts those left out."""
    listed = len(names) if len(names) <= limit else limit - 1
    shown = [str(name) for name in names[:listed]] + [f"and {len(names) - listed} more"] * (len(names) > listed)
    patches = [Patch(facecolor=color) for color in [*colors[:listed], "none"][: len(shown)]]
    # Texts are put in afterwards: matplotlib would drop a label that begins with an underscore.
    legend = ax.legend(patches, [str(k) for k in range(len(shown))], **{"frameon": False, "fontsize": 8, **options})
    for text, name in zip(legend.get_texts(), shown):
        text.set_text(name)
        text.set_parse_math(False)
        text.set_color(INK)
    return legend


def plain(text: Any) -> str:
    """Escape what matplotlib would read as a formula, for labels whose text objects it makes itself."""
    return str(text).replace("$", r"\$")


def fit_text(text: str, width: float, size: float) -> str:
    """Shorten a text to a width in inches at a font size in points; nothing where not even two letters fit."""
    return shorten(text, lambda shown: text_width(shown, size) <= width)


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Width of a text in inches, in the default font."""
    if not text.strip():
        return 0.0
    path = TextPath((0, 0), text.replace("$", "S"), size=size, prop=FontProperties())
    # 5 % more than the outline: renderers round letters to pixels.
    return 1.05 * float(np.ptp(path.get_extents().get_points()[:, 0])) / 72
