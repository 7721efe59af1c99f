"""The panel beside the picture of an environment: the tree with its active path, the action, and the scores.

The tree is drawn once, and once more for each leaf that is reached, with the path to it highlighted; all drawings are
kept. A frame then costs a copy and a few lines of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from gymnasium import spaces
from matplotlib.colors import to_rgb
from PIL import Image, ImageDraw, ImageFont

from dtsemnet.arrays import Floats
from dtsemnet.plot.layout import Layout, lay_out
from dtsemnet.plot.style import ACCENT, BARS, EDGE, FAINT, GRID, INK
from dtsemnet.rl.film.writer import Color
from dtsemnet.tree import Model, ReadableView, TanhScale, class_colors, tint
from dtsemnet.tree.wording import MINUS, display_number, fit_condition

__all__ = ["Panel", "TreePanel", "rgb"]

Names = Sequence[str] | None

MARGIN, ROW, GAP, HEAD = 18, 17, 4, 46
"""Empty border, height of a line of text, gap between action and path, height of the lines on top; all in pixels."""
SHARP = 3
"""The tree is drawn this many times larger, then shrunk, so that lines have smooth edges."""
MOST_ROWS = 9
"""Number of splits that are listed; of a longer path the first ones."""


def rgb(color: Any) -> Color:
    """Convert a colour of matplotlib to three bytes."""
    red, green, blue = (round(255 * part) for part in to_rgb(color))
    return red, green, blue


class Panel:
    """A white sheet with the step and the reward at the top, and the action below: all there is without a tree."""

    def __init__(self, width: int, height: int, actions: spaces.Space[Any] | None = None, names: Names = None) -> None:
        self.width, self.height, self.names = width, height, names
        self.bounds = (np.ravel(actions.low), np.ravel(actions.high)) if isinstance(actions, spaces.Box) else None

    @property
    def colors(self) -> list[Color]:
        """Colours that have a meaning."""
        return [rgb(color) for color in ("white", INK, FAINT, GRID, EDGE, BARS, ACCENT)]

    def draw(self, step: int, total: float, x: Floats, action: Any) -> Image.Image:
        """Draw the panel of one step: its number, the sum of rewards, the observation, and the action taken on it."""
        sheet = self._sheet(x)
        pen = ImageDraw.Draw(sheet)
        _write(pen, MARGIN, 10, f"step {step}", 15)
        _write(pen, self.width - MARGIN, 10, f"reward {_reward(total)}", 15, right=True)
        self._write_policy(pen, x, action)
        return sheet

    def _sheet(self, x: Floats) -> Image.Image:
        return Image.new("RGB", (self.width, self.height), "white")

    def _write_policy(self, pen: ImageDraw.ImageDraw, x: Floats, action: Any) -> None:
        if self.bounds is None:
            _write(pen, MARGIN, HEAD, f"action {action}", 13)
        else:
            self._write_bars(pen, HEAD, np.ravel(action), *self.bounds)

    def _write_bars(self, pen: ImageDraw.ImageDraw, y: int, action: Floats, low: Floats, high: Floats) -> int:
        """Draw each number of an action as a bar between its bounds; return the height below them."""
        labels = [f"action {i}" for i in range(len(action))] if self.names is None else self.names
        start = MARGIN + 72 + int(max(_font(12).getlength(label) for label in labels))
        length = min(180, self.width - MARGIN - start - 70)
        for i, value in enumerate(action):
            shares = np.clip((np.array([0.0, value]) - low[i]) / max(high[i] - low[i], 1e-12), 0.0, 1.0)
            first, last = sorted(start + shares * length)
            pen.rectangle((start, y + 3, start + length, y + 12), fill=rgb(GRID))
            pen.rectangle((first, y + 3, last, y + 12), fill=rgb(BARS))
            _write(pen, MARGIN, y, labels[i], 12)
            _write(pen, start - 10, y, _signed(float(value)), 12, right=True)
            y += ROW
        return y


class TreePanel(Panel):
    """The panel of a tree on raw observations."""

    def __init__(self, model: Model, height: int, names: Names = None) -> None:
        tree = model.tree
        super().__init__(int(np.clip(5 * tree.n_leaves + 2 * MARGIN, 500, 720)), height, names=names)
        self.model, self.view = model, ReadableView.of(model)
        self.actions = class_colors(len(model.class_names)) if model.class_names is not None else []
        n_lines = min(tree.depth, MOST_ROWS) + (1 if model.is_classifier else tree.n_outputs)
        self.floor = height - 14 - GAP - ROW * n_lines
        """Height at which the tree ends and the text begins."""
        self.positions = _Positions(lay_out(tree.topology), self.width, HEAD, self.floor - 14)
        self.plain = self._draw_tree()

    @property
    def colors(self) -> list[Color]:
        """Colours that have a meaning, including those of the actions."""
        return [*super().colors, *(rgb(color) for color in self.actions), *(rgb(tint(c, 0.4)) for c in self.actions)]

    def _sheet(self, x: Floats) -> Image.Image:
        return self._highlight(int(self.model.apply(x[None])[0])).copy()

    def _write_policy(self, pen: ImageDraw.ImageDraw, x: Floats, action: Any) -> None:
        y, leaf = self.floor, int(self.model.apply(x[None])[0])
        if self.model.class_names is not None:
            self._write_actions(pen, y, int(self.model.tree.leaf_class[leaf]))
            y += ROW
        elif isinstance(self.model.output, TanhScale):
            low, high = np.array(self.model.output.low), np.array(self.model.output.high)
            y = self._write_bars(pen, y, np.ravel(action), low, high)
        _write(pen, self.width - MARGIN, self.floor, f"leaf {leaf}", 12, right=True, color=FAINT)
        self._write_path(pen, x, y + GAP)

    def _write_actions(self, pen: ImageDraw.ImageDraw, y: int, taken: int) -> None:
        """Name the actions if there is room for all, the one taken in dark; otherwise that one alone."""
        words = {code: f"action {name}" for code, name in enumerate(self.model.class_names or ())}
        if sum(_font(12).getlength(word) + 34 for word in words.values()) > self.width - 2 * MARGIN - 50:
            words = {taken: words[taken]}
        x = float(MARGIN)
        for code, word in words.items():
            pen.rectangle((x, y + 2, x + 10, y + 12), fill=rgb(tint(self.actions[code], 1.0 if code == taken else 0.4)))
            _write(pen, x + 18, y, word, 12, color=INK if code == taken else FAINT)
            x += _font(12).getlength(word) + 34

    def _write_path(self, pen: ImageDraw.ImageDraw, x: Floats, y: int) -> None:
        path = self.model.decision_path(x[None])[0]
        path, score = path[path >= 0], self.model.scores(x[None])[0]
        for split in path[:MOST_ROWS]:
            right = score[split] > 0
            _write(pen, MARGIN, y, "▸" if right else "◂", 12, color=ACCENT)
            _write(pen, MARGIN + 18, y, self._title(int(split)), 11, color=INK if right else FAINT)
            _write(pen, self.width - MARGIN, y, _signed(float(score[split])), 11, right=True, color=ACCENT)
            y += ROW

    @lru_cache(maxsize=1024)  # noqa: B019 - a panel lives as long as its episode
    def _title(self, split: int) -> str:
        """Write the condition of a split: its largest terms, as many as fit."""
        tree, room = self.view.tree, self.width - 2 * MARGIN - 90
        weight, bias, size = tree.weight[split], float(tree.bias[split]), self.model.tree.weight[split]
        return fit_condition(self.view, weight, bias, size, lambda text: _font(11).getlength(text) <= room)

    def _draw_tree(self) -> Image.Image:
        """Draw all edges, splits and leaves, ``SHARP`` times too large, without highlights."""
        sheet = Image.new("RGB", (self.width * SHARP, self.height * SHARP), "white")
        pen, positions = ImageDraw.Draw(sheet), self.positions
        for split, pair in enumerate(self.model.tree.topology.children.tolist()):
            for child in pair:
                pen.line([positions.at(split), positions.at(child)], fill=rgb(EDGE), width=SHARP)
        for split in range(self.model.tree.n_splits):
            _dot(pen, positions.at(split), positions.dot, rgb(BARS))
        for leaf in range(self.model.tree.n_leaves):
            pen.rectangle(positions.box(leaf), fill=rgb(tint(self._color(leaf), 0.4)))
        return sheet

    @lru_cache(maxsize=None)  # noqa: B019, UP033 - a panel lives as long as its episode
    def _highlight(self, leaf: int) -> Image.Image:
        """Draw the tree with the path to a leaf highlighted."""
        sheet, positions = self.plain.copy(), self.positions
        pen = ImageDraw.Draw(sheet)
        nodes = [*(int(split) for split in self.model.tree.topology.paths.split[leaf] if split >= 0), ~leaf]
        for upper, lower in pairwise(nodes):
            pen.line([positions.at(upper), positions.at(lower)], fill=rgb(ACCENT), width=3 * SHARP)
        for split in nodes[:-1]:
            _dot(pen, positions.at(split), positions.dot + SHARP, rgb(ACCENT))
        pen.rectangle(positions.box(leaf, 4 * SHARP), fill=rgb(ACCENT))
        pen.rectangle(positions.box(leaf, 2 * SHARP), fill=rgb(self._color(leaf)))
        return sheet.resize((self.width, self.height), Image.Resampling.BOX)

    def _color(self, leaf: int) -> Any:
        return self.actions[int(self.model.tree.leaf_class[leaf])] if self.actions else BARS


class _Positions:
    """Positions of the nodes, in the pixels of the large drawing."""

    def __init__(self, layout: Layout, width: int, top: int, bottom: int) -> None:
        unit = (width - 2 * MARGIN - 12) / max(1.0, layout.span) * SHARP
        start = (MARGIN + 6) * SHARP if layout.span else width * SHARP / 2
        step = (bottom - top - 18) / max(1, int(layout.leaf_depth.max())) * SHARP
        # The leaf j is the node ~j: all leaves, counted from the end.
        self.x = start + unit * np.append(layout.split_x, layout.leaf_x[::-1])
        self.y = (top + 6) * SHARP + step * np.append(layout.split_depth, layout.leaf_depth[::-1])
        self.dot = float(np.clip(unit / 5, SHARP, 4 * SHARP))
        self.half = float(np.clip(0.4 * unit, SHARP / 2, 9 * SHARP))

    def at(self, node: int) -> tuple[float, float]:
        """Give the position of a split, or of a leaf by its complement."""
        return float(self.x[node]), float(self.y[node])

    def box(self, leaf: int, more: float = 0.0) -> tuple[float, float, float, float]:
        """Give the corners of a leaf, extended on all sides by ``more``."""
        x, y = self.at(~leaf)
        return x - self.half - more, y - more, x + self.half + more, y + 10 * SHARP + more


def _dot(pen: ImageDraw.ImageDraw, at: tuple[float, float], radius: float, color: Color) -> None:
    pen.ellipse((at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius), fill=color)


def _write(
    pen: ImageDraw.ImageDraw, x: float, y: float, text: str, size: int, *, right: bool = False, color: str = INK
) -> None:
    """Write a line that starts at x, or ends there."""
    pen.text((x, y), text, fill=rgb(color), font=_font(size), anchor="ra" if right else "la")


@lru_cache(maxsize=8)
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), size)


def _signed(value: float) -> str:
    """Write a number with its sign and a fixed number of places, so that it does not move from frame to frame."""
    return f"{value:+.2f}".replace("-", MINUS) if abs(value) < 1000 else display_number(value)


def _reward(total: float) -> str:
    return f"{total:,.0f}".replace("-", MINUS) if abs(total) >= 100 or total == round(total) else display_number(total)
