"""A tree as a drawing, laid out by :mod:`dtsemnet.plot.layout`.

A row starts at the top and goes right where a split's score is positive, left where it is not.
A split is drawn as the bar chart of its weights: a bar to the right pushes rows to the right.
A leaf shows what it answers and how many rows it gets, an edge how many rows pass it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from dtsemnet.plot import glyphs
from dtsemnet.plot.content import Content, nodes_on_path
from dtsemnet.plot.layout import Cut, Layout, cut, lay_out
from dtsemnet.plot.reading import Reading, read_tree
from dtsemnet.plot.room import NOTE, Plan, Wanted, default_width, make_plan, note_lines
from dtsemnet.plot.style import AMOUNTS, FAINT, class_colors, class_legend, fit_text, number, text_width
from dtsemnet.plot.wording import percent, split_title

__all__ = ["plot_tree"]


def plot_tree(
    tree: Any,
    X: Any = None,
    y: Any = None,
    *,
    x: Any = None,
    max_depth: int | None = None,
    max_terms: int = 4,
    image_shape: tuple[int, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows. With them bars show weight times standard deviation, so that features compare (without them, weights in
        raw units), edges are as wide as their share of the rows, and leaves tell theirs.
    y : array_like, optional
        Classes of the rows: leaves show the mix of their rows. Without it they show the tree's probabilities.
    x : array_like of shape (n_columns,), or a data frame of one row, optional
        A sample whose path is highlighted.
    max_depth : int, optional
        Draw the splits above this depth; what lies below a node is drawn as one leaf.
    max_terms : int, default=4
        Largest terms shown of a split.
    image_shape : tuple of int, optional
        Shape of the picture that the columns are the pixels of, row by row. Splits are drawn as pictures.
    ax : matplotlib Axes, optional
        By default those of a new figure, as large as the tree asks for. What has no room is drawn without words.

    Returns
    -------
    matplotlib Axes
        Measured in inches. The frame of each node has the id ``split-3`` or ``leaf-5`` (``leaves-4-7`` where it stands
        for several), the edge above it ``to-split-3`` or ``to-leaf-5``.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> ax = plot_tree(tree, x=[3.0, 2.0])
    >>> [text.get_text() for text in ax.texts][2:5]
    ['x0 − x1 > 0', 'x0', 'x1']
    """
    reading = read_tree(tree, X, y)
    upper = cut(reading.view.tree.topology, max_depth)
    layout = lay_out(upper.topology)
    content = Content(reading, upper)
    wanted = _wanted(content, max_terms, image_shape)
    if ax is None:
        width = default_width(layout, wanted)
        plan = make_plan(layout, wanted, width, None)
        ax = plt.figure(figsize=(width, plan.height)).add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        box, dpi = ax.get_window_extent(), ax.figure.dpi
        plan = make_plan(layout, wanted, box.width / dpi, box.height / dpi)
    drawing = _Drawing(ax, reading, content, upper, layout, plan, nodes_on_path(reading, upper, x), image_shape)
    drawing.draw()
    return ax


@dataclass(frozen=True)
class _Drawing:
    """One drawing: what is known, where it goes, and which nodes are marked."""

    ax: Axes
    reading: Reading
    content: Content
    upper: Cut
    layout: Layout
    plan: Plan
    marked: set[int]
    image_shape: tuple[int, int] | None

    def draw(self) -> None:
        plan = self.plan
        self.edges()
        for split in range(self.upper.topology.n_splits):
            self.split(split)
        for leaf in range(self.upper.topology.n_leaves):
            self.leaf(leaf)
        self.ax.set(xlim=(0, plan.width), ylim=(0, plan.height), aspect="auto")
        self.ax.set_axis_off()
        self.legend()
        self.note()

    def edges(self) -> None:
        for split, pair in enumerate(self.upper.topology.children.tolist()):
            x, top, level = self.plan.split_x[split], *self.split_place(split)
            start = top - level
            for child in pair:
                end_x = self.plan.split_x[child] if child >= 0 else self.plan.leaf_x[~child]
                depth = self.layout.split_depth[child] if child >= 0 else self.layout.leaf_depth[~child]
                share = self.content.share(child)
                width = 0.9 if share is None else 0.5 + 9.0 * share
                name = f"to-split-{child}" if child >= 0 else f"to-{self.content.name(~child)}"
                ends = (float(x), start), (float(end_x), self.plan.levels[depth].top)
                glyphs.draw_edge(self.ax, *ends, width, name, child in self.marked)
        if self.upper.topology.n_splits:
            self.branch_names()

    def branch_names(self) -> None:
        """Say once, at the root, which branch is which."""
        x, (top, height) = self.plan.split_x[0], self.split_place(0)
        y = (top - height + self.plan.levels[1].top) / 2
        for child, word, side in zip(self.upper.topology.children[0].tolist(), ("no", "yes"), (-1, 1)):
            end = self.plan.split_x[child] if child >= 0 else self.plan.leaf_x[~child]
            glyphs.write(
                self.ax, (x + end) / 2 + side * 0.12, y + 0.09, word, 7, color=FAINT, ha="right" if side < 0 else "left"
            )

    def split_place(self, split: int) -> tuple[float, float]:
        level = self.plan.levels[self.layout.split_depth[split]]
        return level.top, level.split_height

    def split(self, split: int) -> None:
        level, x = self.plan.levels[self.layout.split_depth[split]], float(self.plan.split_x[split])
        tree, name, marked = self.reading.view.tree, f"split-{split}", split in self.marked
        size, width, height = self.reading.sizes(tree.weight[split]), level.split_width, level.split_height
        if level.split == "picture":
            assert self.image_shape is not None
            glyphs.draw_picture(self.ax, x, level.top, width, size.reshape(self.image_shape), name, marked)
        elif level.split == "terms":
            labels = self.reading.view.labels
            bias, font = float(tree.bias[split]), glyphs.TITLE_FONT
            title = split_title(tree.weight[split], bias, size, labels, width - 0.08, font)
            glyphs.draw_terms(
                self.ax, x, level.top, width, height, title, size, labels, self.plan.n_terms, name, marked
            )
        elif level.split == "sticks":
            glyphs.draw_sticks(self.ax, x, level.top, width, height, size, name, marked)
        else:
            glyphs.draw_dot(self.ax, x, level.top, width, name, marked)

    def leaf(self, leaf: int) -> None:
        level, x = self.plan.levels[self.layout.leaf_depth[leaf]], float(self.plan.leaf_x[leaf])
        share, name, marked = self.content.share(~leaf), self.content.name(leaf), ~leaf in self.marked
        parts, lines = self.content.parts(leaf), self.content.lines(leaf, level.leaf_width + 0.04)
        if level.leaf == "words":
            rows = "" if share is None else "no rows" if share == 0 else f"{percent(share)} of rows"
            glyphs.draw_words(self.ax, x, level.top, level.leaf_width, parts, lines, rows, name, marked)
            return
        word = lines[0].removeprefix("mean ") if level.leaf == "upright" else ""
        relative = None if share is None else share / max(self.content.largest_share, 1e-300)
        glyphs.draw_upright(self.ax, x, level.top, level.leaf_width, parts, word, relative, name, marked)

    def legend(self) -> None:
        """Name the colours, in the upper corner that the tree leaves free."""
        has_splits = self.upper.topology.n_splits > 0
        root = float(self.plan.split_x[0] if has_splits else self.plan.leaf_x[0])
        left = root >= self.plan.width / 2 - 0.01
        if self.reading.model.class_names is not None:
            names = [fit_text(str(name), 1.4, 8) or str(name) for name in self.reading.model.class_names]
            level = self.plan.levels[0]
            taken = (level.split_width if has_splits else level.leaf_width) / 2
            free = (root if left else self.plan.width - root) - taken - 0.1
            columns = max(1, int(free / (0.32 + max(text_width(name, 8) for name in names[:21]))))
            below = self.plan.levels[1].top if has_splits else 0.0
            rows = max(4, int((self.plan.height - below) / 0.165))
            columns = min(columns, -(-min(len(names), 21) // 4))
            class_legend(
                self.ax, names, class_colors(len(names)), limit=min(21, rows * columns), ncols=columns,
                loc="upper left" if left else "upper right", handlelength=0.9, handleheight=0.9, columnspacing=1.2,
                borderaxespad=0.6, labelspacing=0.35,
            )  # fmt: skip
        elif self.reading.answer is not None and self.reading.answer.shape[1] == 1:
            self.scale(left)

    def scale(self, left: bool) -> None:
        """Draw the colours of the answers as a small scale."""
        low, high = self.content.range
        if high == low:
            return
        x, y, width = 0.15 if left else self.plan.width - 1.35, self.plan.height - 0.34, 1.2
        extent = (x, x + width, y, y + 0.1)
        self.ax.imshow(np.linspace(0, 1, 128)[None, :], cmap=AMOUNTS, extent=extent, aspect="auto", zorder=4)
        what = "mean prediction" if self.reading.view.tree.coef is not None else "prediction"
        glyphs.write(self.ax, x, y + 0.18, what, 7, ha="left")
        glyphs.write(self.ax, x, y - 0.08, number(low), 6.5, ha="left", color=FAINT)
        glyphs.write(self.ax, x + width, y - 0.08, number(high), 6.5, ha="right", color=FAINT)

    def note(self) -> None:
        """Say what bars and widths mean."""
        said = []
        forms = {level.split for level in self.plan.levels} if self.upper.topology.n_splits else set()
        if forms & {"terms", "sticks"}:
            said.append(f"Bars: {self.reading.bars}, to the right where it pushes to the right branch.")
        if "picture" in forms:
            said.append(f"Pictures: {self.reading.bars}, blue pushes to the right branch, red to the left.")
        if self.reading.count is not None and self.upper.topology.n_splits:
            said.append("Edges are as wide as their share of the rows.")
        if self.reading.count is not None and any(level.leaf != "words" for level in self.plan.levels):
            said.append("Grey bars under leaves: share of the rows; pale leaves have none.")
        if self.reading.view.remark:
            said.append(self.reading.view.remark[0].upper() + self.reading.view.remark[1:] + ".")
        self.write_note(said)

    def write_note(self, said: list[str]) -> None:
        """Write sentences at the foot, as many to a line as fit."""
        width, lines = self.plan.width - 0.24, [""]
        for sentence in said:
            longer = f"{lines[-1]}  {sentence}".strip()
            if text_width(longer, 6.6) > width and len(lines) < note_lines(self.plan.width):
                lines.append(sentence)
            else:
                lines[-1] = longer
        for row, line in enumerate(reversed(lines)):
            glyphs.write(self.ax, 0.12, 0.11 + NOTE * row, fit_text(line, width, 6.6), 6.6, ha="left", color=FAINT)


def _wanted(content: Content, max_terms: int, image_shape: tuple[int, int] | None) -> Wanted:
    tree = content.reading.view.tree
    if max_terms < 1:
        raise ValueError(f"max_terms must be at least 1, got {max_terms}.")
    if image_shape is not None and (len(image_shape) != 2 or int(np.prod(image_shape)) != tree.n_features):
        raise ValueError(f"image_shape must be two numbers with {tree.n_features} pixels in all, got {image_shape}.")
    used = int((tree.weight != 0).sum(axis=1).max(initial=1))
    return Wanted(max(1, min(max_terms, used)), content.n_lines, image_shape is not None)
