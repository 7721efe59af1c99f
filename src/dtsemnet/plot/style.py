"""What the plots share: colours, text that fits, fresh axes.

Classes have the colours of :func:`dtsemnet.tree.class_colors`, the same in every view. Signs show by
direction (bars) or by blue and red (pictures), amounts by a colour map that grows evenly in
lightness. Names are shown as they are: a ``$`` in them is no formula.
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

from dtsemnet.tree import LeafSurvey, Model
from dtsemnet.tree.wording import shorten

__all__ = [
    "ACCENT", "AMOUNTS", "BARS", "EDGE", "FAINT", "GRID", "INK", "SIGNS", "bars_note", "class_legend", "fit_text",
    "fresh_axes", "percent", "plain", "survey_rows", "text_width", "tidy_axes",
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


def survey_rows(model: Model, X: Any, y: Any = None) -> LeafSurvey:
    """Count the rows of a plot at the leaves; at least one row is needed."""
    survey = LeafSurvey.of(model, X, y)
    if not survey.n_rows:
        raise ValueError("X has no rows; pass at least one, or leave X out.")
    return survey


def bars_note(spread: Any) -> str:
    """Say what :meth:`dtsemnet.tree.ReadableView.sizes` measures."""
    return "weight in raw units" if spread is None else "weight times standard deviation of the feature"


def percent(share: float) -> str:
    """Write a share, small ones not as 0.

    Examples
    --------
    >>> percent(0.5), percent(0.004), percent(0.0), percent(0.9996)
    ('50 %', '<1 %', '0 %', '>99 %')
    """
    if 0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def plain(text: Any) -> str:
    """Escape what matplotlib would read as a formula, for labels whose text objects it makes itself."""
    return str(text).replace("$", r"\$")


def fit_text(text: str, width: float, size: float) -> str:
    """Shorten a text to a width in inches at a font size in points; empty if not even two letters fit."""
    return shorten(text, lambda shown: text_width(shown, size) <= width)


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Width of a text in inches, in the default font."""
    if not text.strip():
        return 0.0
    path = TextPath((0, 0), text.replace("$", "S"), size=size, prop=FontProperties())
    # 5 % more than the outline: renderers round letters to pixels.
    return 1.05 * float(np.ptp(path.get_extents().get_points()[:, 0])) / 72
