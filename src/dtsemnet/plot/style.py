"""What the plots share: colours, text that fits, fresh axes.

Classes have one colour each, in every plot, told apart by people who see no red or no
green. Signs are told by direction (bars) or by blue and red (pictures), amounts by a map
that grows evenly in lightness. Names are shown as they are: a ``$`` in them is no formula.
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.textpath import TextPath

__all__ = [
    "ACCENT", "AMOUNTS", "BARS", "EDGE", "FAINT", "GRID", "INK", "MINUS", "SIGNS",
    "class_colors", "class_legend", "fit_text", "fresh_axes", "number", "plain", "text_width", "tidy_axes", "tint",
]  # fmt: skip

INK, FAINT, GRID, EDGE = "#222222", "#767676", "#d9d9d9", "#c3cad1"
BARS = "#4a5a6a"
"""Weights: a neutral slate, so that hues are left to classes."""
ACCENT = "#c2185b"
"""The path of a sample."""
MINUS = "\N{MINUS SIGN}"
SIGNS, AMOUNTS = "RdBu", "viridis"
"""Colour maps of signed weights (blue is positive) and of values."""

_EIGHT = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6f4e9c", "#b8b000")
_TWELVE = (
    "#332288", "#ddcc77", "#44aa99", "#cc6677", "#88ccee", "#882255",
    "#117733", "#e8a05c", "#aa4499", "#8a8d2e", "#4477cc", "#8c8c8c",
)  # fmt: skip


def class_colors(n_classes: int) -> list[str] | list[tuple[float, float, float]]:
    """Choose a colour for each class: one of eight, of twelve, or evenly spaced hues in three lightnesses."""
    if n_classes <= len(_EIGHT):
        return list(_EIGHT[:n_classes])
    if n_classes <= len(_TWELVE):
        return list(_TWELVE[:n_classes])
    return [colorsys.hls_to_rgb(k / n_classes, (0.35, 0.5, 0.68)[k % 3], 0.6) for k in range(n_classes)]


def tint(color: Any, strength: float) -> tuple[float, float, float]:
    """Mix a colour with white."""
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(color))
    return red, green, blue


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


def number(value: float, digits: int = 3) -> str:
    """Write a number for reading: 3 significant digits, a true minus sign, large ones by thousands.

    Examples
    --------
    >>> number(-0.12345), number(287654.0), number(1.5e-7)
    ('−0.123', '288,000', '1.5e−7')
    """
    shown = f"{value + 0.0:.{digits}g}"
    if "e" in shown and 10 <= abs(value) < 1e7:
        shown = f"{float(shown):,.0f}"
    shown = shown.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return shown.replace("-", MINUS)


def fit_text(text: str, width: float, size: float) -> str:
    """Shorten a text to a width in inches at a font size in points; nothing where not even two letters fit."""
    if text_width(text, size) <= width:
        return text
    for length in range(min(len(text) - 1, int(width * 72 / size * 4)), 1, -1):
        short = text[:length].rstrip() + "…"
        if text_width(short, size) <= width:
            return short
    return ""


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Width of a text in inches, in the default font."""
    if not text.strip():
        return 0.0
    path = TextPath((0, 0), text.replace("$", "S"), size=size, prop=FontProperties())
    # 5 % more than the outline: renderers round letters to pixels.
    return 1.05 * float(np.ptp(path.get_extents().get_points()[:, 0])) / 72
