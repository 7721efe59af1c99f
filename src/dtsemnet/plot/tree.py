"""A tree as a drawing, laid out by :mod:`dtsemnet.plot.layout`.

A row starts at the top and goes right if a split's score is positive, left if not. A split is drawn as
the bar chart of its weights: a bar to the right pushes rows to the right. A leaf shows its answer and
how many rows reach it, an edge how many rows pass it. A drawn leaf may represent all leaves below
a split that is not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from dtsemnet.arrays import Floats
from dtsemnet.plot import glyphs, style
from dtsemnet.plot.layout import NOTE, Contents, Cut, Layout, Room, cut, default_width, lay_out, make_room, note_lines
from dtsemnet.tree import LeafSurvey, ReadableView, class_colors, tint
from dtsemnet.tree.survey import leaf_answers
from dtsemnet.tree.wording import display_number, fit_condition, fit_sum

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
        raw units), edges are as wide as their share of the rows, and leaves show theirs.
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
        By default those of a new figure, as large as the tree needs. What has no room is drawn without words.

    Returns
    -------
    matplotlib Axes
        Measured in inches. The frame of each node has the id ``split-3`` or ``leaf-5`` (``leaves-4-7`` if it represents
        several), the edge above it ``to-split-3`` or ``to-leaf-5``.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> ax = plot_tree(tree, x=[3.0, 2.0])
    >>> [text.get_text() for text in ax.texts][2:5]
    ['x0 − x1 > 0', 'x0', 'x1']
    """
    view = ReadableView.of(tree)
    if X is None and y is not None:
        raise ValueError("y was given without X; pass the rows as X too.")
    survey = None if X is None else style.survey_rows(view.model, X, y)
    spread = None if X is None else view.spread(X)
    upper = cut(view.tree.topology, max_depth)
    layout, leaves = lay_out(upper.topology), _Leaves(view, survey, spread, upper)
    contents = _contents(leaves, max_terms, image_shape)
    if ax is None:
        width = default_width(layout, contents)
        room = make_room(layout, contents, width, None)
        ax = plt.figure(figsize=(width, room.height)).add_axes((0.0, 0.0, 1.0, 1.0))
    else:
        box, dpi = ax.get_window_extent(), ax.figure.dpi
        room = make_room(layout, contents, box.width / dpi, box.height / dpi)
    marked = set() if x is None else _nodes_on_path(view, upper, x)
    _Drawing(ax, view, leaves, upper, layout, room, marked, image_shape).draw()
    return ax


@dataclass(frozen=True)
class _Leaves:
    """What the leaves of a drawing show: parts of a bar with colours, and lines of text."""

    view: ReadableView
    survey: LeafSurvey | None
    spread: Floats | None
    upper: Cut

    @property
    def n_lines(self) -> int:
        """Most lines that a leaf has, the last of which says its number and its share of the rows."""
        tree = self.view.tree
        if tree.is_classifier:
            lines = 1
        elif tree.coef is None:
            lines = max(1 + (self.upper.topology.n_leaves < tree.n_leaves), min(3, tree.n_outputs))
        else:
            lines = 4 if tree.n_outputs == 1 else 2
        return lines + 1

    @property
    def class_share(self) -> Floats | None:
        """Class shares of each leaf: of its rows if classes are given, else those of the tree."""
        return self.view.tree.value if self.survey is None else self.survey.class_share

    @cached_property
    def answer(self) -> Floats | None:
        """Number that each leaf of a regressor answers with."""
        return leaf_answers(self.view.model, self.survey)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Smallest and largest answer."""
        answer = np.zeros(0) if self.answer is None else self.answer
        known = answer[np.isfinite(answer)]
        return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)

    @cached_property
    def sizes(self) -> Floats:
        """Size of each term of the linear leaves."""
        return self.view.sizes("coef", self.spread)

    @cached_property
    def largest_share(self) -> float:
        """Largest share of the rows that a drawn leaf has."""
        return max((self.share(~leaf) or 0.0 for leaf in range(self.upper.topology.n_leaves)), default=0.0)

    def name(self, leaf: int) -> str:
        """Id of a drawn leaf, by the numbers of the leaves that it represents."""
        below = self.below(leaf)
        return f"leaf-{below.start}" if below.stop - below.start == 1 else f"leaves-{below.start}-{below.stop - 1}"

    def share(self, node: int) -> float | None:
        """Share of the rows that reach a split, or the complement of a drawn leaf."""
        if self.survey is None:
            return None
        start, stop = ~node, ~node
        if node >= 0:
            first, last = self.upper.topology.spans
            start, stop = first[node], last[node] - 1
        return float(self.survey.share[self.upper.first[start] : self.upper.last[stop]].sum())

    def below(self, leaf: int) -> slice:
        """The leaves of the tree that a drawn leaf represents."""
        return slice(int(self.upper.first[leaf]), int(self.upper.last[leaf]))

    def average(self, table: Floats | None, leaf: int) -> Floats | None:
        """Average over the leaves that a drawn leaf represents, weighted by their rows; None if there are none."""
        below = self.below(leaf)
        if table is None or below.stop - below.start == 1:
            return None if table is None else table[below.start]
        if self.survey is None or not self.survey.count[below].sum():
            return None
        count = self.survey.count[below]
        used = np.flatnonzero(count)
        return np.asarray(np.average(table[below][used], axis=0, weights=count[used]))

    def parts(self, leaf: int) -> list[tuple[float, str]]:
        """Stacked parts of a leaf's bar, with colours; pale if no row reaches the leaf."""
        strength = 0.22 if self.share(~leaf) == 0 else 1.0
        if self.view.tree.is_classifier:
            mix = self.average(self.class_share, leaf)
            if mix is None:
                return [(1.0, style.GRID)]
            colors = class_colors(len(mix))
            order = np.argsort(-mix, kind="stable")
            return [(float(mix[k]), tint(colors[k], strength)) for k in order if mix[k] > 0]
        answer = self.average(self.answer, leaf)
        if answer is None or len(answer) > 1 or not np.isfinite(answer[0]):
            return [(1.0, style.GRID)]
        low, high = self.range
        level = 0.5 if high == low else float(answer[0] / 2 - low / 2) / (high / 2 - low / 2)
        return [(1.0, tint(to_hex(colormaps[style.AMOUNTS](level)), strength))]

    def lines(self, leaf: int, width: float) -> list[str]:
        """Lines of text of a leaf."""
        below, tree = self.below(leaf), self.view.tree
        several = f"{below.stop - below.start} leaves"
        if tree.class_names is not None:
            mix = self.average(self.class_share, leaf)
            if mix is None:
                return [several]
            name = str(tree.class_names[int(np.argmax(mix))])
            whole = f"{name} {style.percent(float(mix.max()))}"
            return [whole if style.text_width(whole, glyphs.LEAF_FONT) <= width else name]
        if below.stop - below.start > 1:
            answer = self.average(self.answer, leaf)
            return [several] + ([] if answer is None else [f"mean {_tuple(answer)}"])
        if tree.coef is None:
            assert self.answer is not None
            return [display_number(value) for value in self.answer[below.start][:3]]
        leaf = below.start
        head = []
        if self.answer is not None and not np.isnan(self.answer[leaf]).any():
            head = [f"mean {_tuple(self.answer[leaf])}"]
        if tree.n_outputs > 1:
            return [*head, f"{tree.n_outputs} linear models"]
        coef, intercept = tree.coef[leaf, 0], float(tree.value[leaf, 0])
        model = fit_sum(
            self.view, coef, intercept, self.sizes[leaf, 0],
            lambda text: style.text_width(text, glyphs.SHARE_FONT) <= width, n_lines=3,
        )  # fmt: skip
        return [*head, *model]


@dataclass(frozen=True)
class _Drawing:
    """One drawing: what it shows, where it goes, and which nodes are marked."""

    ax: Axes
    view: ReadableView
    leaves: _Leaves
    upper: Cut
    layout: Layout
    room: Room
    marked: set[int]
    image_shape: tuple[int, int] | None

    def draw(self) -> None:
        self.edges()
        for split in range(self.upper.topology.n_splits):
            self.split(split)
        for leaf in range(self.upper.topology.n_leaves):
            self.leaf(leaf)
        self.ax.set(xlim=(0, self.room.width), ylim=(0, self.room.height), aspect="auto")
        self.ax.set_axis_off()
        self.legend()
        self.note()

    def edges(self) -> None:
        for split, pair in enumerate(self.upper.topology.children.tolist()):
            start = self.x(split), self.foot(split)
            for child in pair:
                depth = self.layout.split_depth[child] if child >= 0 else self.layout.leaf_depth[~child]
                share = self.leaves.share(child)
                width = 0.9 if share is None else 0.5 + 9.0 * share
                name = f"to-split-{child}" if child >= 0 else f"to-{self.leaves.name(~child)}"
                end = self.x(child), self.room.levels[depth].top
                glyphs.draw_edge(self.ax, start, end, width, name, child in self.marked)
        if self.upper.topology.n_splits:
            self.branch_names()

    def branch_names(self) -> None:
        """Say once, at the root, which branch is which."""
        y = (self.foot(0) + self.room.levels[1].top) / 2
        for child, word, side in zip(self.upper.topology.children[0].tolist(), ("no", "yes"), (-1, 1)):
            x = (self.x(0) + self.x(child)) / 2 + side * 0.12
            glyphs.write(self.ax, x, y + 0.09, word, 7, color=style.FAINT, ha="right" if side < 0 else "left")

    @cached_property
    def sizes(self) -> Floats:
        """Size of each term of the splits."""
        return self.view.sizes("weight", self.leaves.spread)

    def x(self, node: int) -> float:
        return float(self.room.split_x[node] if node >= 0 else self.room.leaf_x[~node])

    def foot(self, split: int) -> float:
        level = self.room.levels[self.layout.split_depth[split]]
        return level.top - level.split_height

    def split(self, split: int) -> None:
        level, x = self.room.levels[self.layout.split_depth[split]], self.x(split)
        tree, name, marked = self.view.tree, f"split-{split}", split in self.marked
        size, width, height = self.sizes[split], level.split_width, level.split_height
        if level.split == "picture":
            assert self.image_shape is not None
            glyphs.draw_picture(self.ax, x, level.top, width, size.reshape(self.image_shape), name, marked)
        elif level.split == "terms":
            title = fit_condition(
                self.view, tree.weight[split], float(tree.bias[split]), size,
                lambda text: style.text_width(text, glyphs.TITLE_FONT) <= width - 0.08,
            )  # fmt: skip
            labels, n_terms = self.view.labels, self.room.n_terms
            glyphs.draw_terms(self.ax, x, level.top, width, height, title, size, labels, n_terms, name, marked)
        elif level.split == "sticks":
            glyphs.draw_sticks(self.ax, x, level.top, width, height, size, name, marked)
        else:
            glyphs.draw_dot(self.ax, x, level.top, width, name, marked)

    def leaf(self, leaf: int) -> None:
        level, x = self.room.levels[self.layout.leaf_depth[leaf]], self.x(~leaf)
        share, name, marked = self.leaves.share(~leaf), self.leaves.name(leaf), ~leaf in self.marked
        parts, lines = self.leaves.parts(leaf), self.leaves.lines(leaf, level.leaf_width + 0.04)
        if level.leaf == "words":
            rows = "" if share is None else ", no rows" if share == 0 else f", {style.percent(share)} of rows"
            last = name.replace("-", " ", 1).replace("-", " to ") + rows
            glyphs.draw_words(self.ax, x, level.top, level.leaf_width, parts, lines, last, name, marked)
            return
        word = lines[0].removeprefix("mean ") if level.leaf == "upright" else ""
        relative = None if share is None else share / max(self.leaves.largest_share, 1e-300)
        glyphs.draw_upright(self.ax, x, level.top, level.leaf_width, parts, word, relative, name, marked)

    def legend(self) -> None:
        """Name the colours, in the upper corner that the tree leaves free."""
        has_splits = self.upper.topology.n_splits > 0
        root = self.x(0 if has_splits else ~0)
        left = root >= self.room.width / 2 - 0.01
        if self.view.tree.class_names is not None:
            names = [style.fit_text(str(name), 1.4, 8) or str(name) for name in self.view.tree.class_names]
            level = self.room.levels[0]
            taken = (level.split_width if has_splits else level.leaf_width) / 2
            free = (root if left else self.room.width - root) - taken - 0.1
            columns = max(1, int(free / (0.32 + max(style.text_width(name, 8) for name in names[:21]))))
            below = self.room.levels[1].top if has_splits else 0.0
            rows = max(4, int((self.room.height - below) / 0.165))
            columns = min(columns, -(-min(len(names), 21) // 4))
            style.class_legend(
                self.ax, names, class_colors(len(names)), limit=min(21, rows * columns), ncols=columns,
                loc="upper left" if left else "upper right", handlelength=0.9, handleheight=0.9, columnspacing=1.2,
                borderaxespad=0.6, labelspacing=0.35,
            )  # fmt: skip
        elif self.leaves.answer is not None and self.leaves.answer.shape[1] == 1:
            self.scale(left)

    def scale(self, left: bool) -> None:
        """Draw the colours of the answers as a small scale."""
        low, high = self.leaves.range
        if high == low:
            return
        x, y, width = 0.15 if left else self.room.width - 1.35, self.room.height - 0.34, 1.2
        extent = (x, x + width, y, y + 0.1)
        self.ax.imshow(np.linspace(0, 1, 128)[None, :], cmap=style.AMOUNTS, extent=extent, aspect="auto", zorder=4)
        title = "mean prediction" if self.view.tree.coef is not None else "prediction"
        glyphs.write(self.ax, x, y + 0.18, title, 7, ha="left")
        glyphs.write(self.ax, x, y - 0.08, display_number(low), 6.5, ha="left", color=style.FAINT)
        glyphs.write(self.ax, x + width, y - 0.08, display_number(high), 6.5, ha="right", color=style.FAINT)

    def note(self) -> None:
        """Explain bars and widths at the foot, as many sentences to a line as fit."""
        sentences, bars, with_rows = [], style.bars_note(self.leaves.spread), self.leaves.survey is not None
        forms = {level.split for level in self.room.levels} if self.upper.topology.n_splits else set()
        if forms & {"terms", "sticks"}:
            sentences.append(f"Bars: {bars}, to the right if it pushes to the right branch.")
        if "picture" in forms:
            sentences.append(f"Pictures: {bars}, blue pushes to the right branch, red to the left.")
        if with_rows and self.upper.topology.n_splits:
            sentences.append("Edges are as wide as their share of the rows.")
        if with_rows and any(level.leaf != "words" for level in self.room.levels):
            sentences.append("Grey bars under leaves: share of the rows; pale leaves have none.")
        if self.view.remark:
            sentences.append(self.view.remark[0].upper() + self.view.remark[1:] + ".")
        width, lines = self.room.width - 0.24, [""]
        for sentence in sentences:
            longer = f"{lines[-1]}  {sentence}".strip()
            if style.text_width(longer, 6.6) > width and len(lines) < note_lines(self.room.width):
                lines.append(sentence)
            else:
                lines[-1] = longer
        for row, line in enumerate(reversed(lines)):
            text = style.fit_text(line, width, 6.6)
            glyphs.write(self.ax, 0.12, 0.11 + NOTE * row, text, 6.6, ha="left", color=style.FAINT)


def _contents(leaves: _Leaves, max_terms: int, image_shape: tuple[int, int] | None) -> Contents:
    tree = leaves.view.tree
    if max_terms < 1:
        raise ValueError(f"max_terms must be at least 1, got {max_terms}.")
    if image_shape is not None and (len(image_shape) != 2 or int(np.prod(image_shape)) != tree.n_features):
        raise ValueError(f"image_shape must be two numbers with {tree.n_features} pixels in all, got {image_shape}.")
    used = int((tree.weight != 0).sum(axis=1).max(initial=1))
    return Contents(max(1, min(max_terms, used)), leaves.n_lines, image_shape is not None)


def _nodes_on_path(view: ReadableView, upper: Cut, x: Any) -> set[int]:
    """Find the splits, and the complement of the leaf, that a sample reaches in the drawn part of the tree."""
    row = view.model.encoder.read_row(x)
    path, leaf = view.model.decision_path(row)[0], int(view.model.apply(row)[0])
    drawn = {int(split) for split in path if 0 <= split < upper.topology.n_splits}
    return drawn | {~int(np.searchsorted(upper.last, leaf, side="right"))}


def _tuple(numbers: Floats) -> str:
    text = ", ".join(display_number(float(value)) for value in numbers[:3])
    return text if len(numbers) == 1 else f"({text}{', …' if len(numbers) > 3 else ''})"
