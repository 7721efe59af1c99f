"""Splits of image-like inputs as pictures: a weight is a pixel, blue pushes right, red pushes left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from dtsemnet.arrays import Floats, Ints
from dtsemnet.plot.glyphs import draw_edge, draw_picture, write
from dtsemnet.plot.layout import cut, lay_out
from dtsemnet.plot.style import FAINT, bars_note
from dtsemnet.tree import ReadableView, Tree

__all__ = ["plot_weights_image"]


def plot_weights_image(
    tree: Any, shape: tuple[int, int], splits: Sequence[int] | None = None, *, X: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the weights of splits as pictures, each on a scale of its own that is symmetrical at 0.

    The scale ends at the largest weight, or sooner if single pixels are far above the others.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        Reads the pixels of a picture, row by row.
    shape : tuple of int
        Height and width of the picture, such as ``(28, 28)``.
    splits : sequence of int, optional
        Splits to draw in a grid. By default the upper five levels, arranged as the tree.
    X : array_like, optional
        Rows: weights are multiplied by the standard deviation of the pixel, so that pixels that are nearly always
        empty do not dominate.
    ax : matplotlib Axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib Axes
        With one image for each split, in the order of the splits.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0, 0.5, 0.0]], [0.0], [[0], [1]])
    >>> plot_weights_image(tree, (2, 2)).images[0].get_array().tolist()
    [[1.0, -1.0], [0.5, 0.0]]
    """
    view = ReadableView.of(tree)
    whole = view.tree
    spread = None if X is None else view.spread(X)
    if int(np.prod(shape)) != whole.n_features or len(shape) != 2:
        raise ValueError(f"shape must be two numbers with {whole.n_features} pixels, one per feature, got {shape}.")
    if not whole.n_splits:
        raise ValueError("tree has no splits: there are no weights to draw.")
    chosen, center, edges = _in_tree(whole) if splits is None else _in_grid(whole.n_splits, splits)
    half = 0.45 * shape[0] / max(shape)  # of the height of a picture
    low, high = center.min(axis=0), center.max(axis=0)
    if ax is None:
        span = high - low + 1
        side = min(1.0, 15 / span[0], 12 / span[1])
        size = (max(2.5, side * span[0]), max(1.6, side * span[1] + 0.2))
        ax = plt.figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))
    for a, b in edges:
        start, end = (center[a, 0], center[a, 1] - half), (center[b, 0], center[b, 1] + half)
        draw_edge(ax, start, end, 1.2, f"to-split-{chosen[b]}", marked=False)
    for picture, (x, y), split in zip(view.sizes("weight", spread)[chosen], center, chosen):
        draw_picture(ax, x, y + half, 0.9, picture.reshape(shape), f"split-{split}", marked=False)
    ax.set(xlim=(low[0] - 0.55, high[0] + 0.55), ylim=(low[1] - 0.8, high[1] + 0.55), aspect="equal")
    ax.set_axis_off()
    colors = "The root is on top; blue pushes to the right branch, red to the left."
    note = f"Pixels: {bars_note(spread)}. {colors if splits is None else 'Blue is positive, red negative.'}"
    if len(chosen) < whole.n_splits:
        note += f" {len(chosen)} of {whole.n_splits} splits."
    write(ax, low[0] - 0.45, low[1] - 0.66, note, 7, ha="left", color=FAINT)
    return ax


def _in_tree(tree: Tree) -> tuple[Ints, Floats, list[tuple[int, int]]]:
    """Place the splits of the upper five levels as the nodes of a tree, one unit apart."""
    upper = cut(tree.topology, 5).topology
    layout = lay_out(upper)
    gap = layout.gaps()[np.unique(layout.split_depth)].min(initial=2.0)
    center = np.column_stack([layout.split_x / gap, -1.4 * layout.split_depth])
    edges = [(split, int(child)) for split, pair in enumerate(upper.children) for child in pair if child >= 0]
    return np.arange(upper.n_splits), center, edges


def _in_grid(n_splits: int, splits: Sequence[int]) -> tuple[Ints, Floats, list[tuple[int, int]]]:
    chosen = np.asarray(splits, dtype=np.int64).reshape(-1)
    wrong = chosen[(chosen < 0) | (chosen >= n_splits)]
    if len(wrong) or not len(chosen):
        raise ValueError(f"splits must lie between 0 and {n_splits - 1}, got {wrong[0] if len(wrong) else 'none'}.")
    columns = int(np.ceil(np.sqrt(len(chosen) * 1.6)))
    index = np.arange(len(chosen))
    return chosen, np.column_stack([index % columns, -(index // columns)]).astype(np.float64), []
