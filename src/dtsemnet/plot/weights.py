"""Splits of image-like inputs as pictures: a weight is a pixel, blue pushes right, red pushes left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dtsemnet.arrays import Floats, Ints
from dtsemnet.plot.glyphs import draw_edge, sign_limit, write
from dtsemnet.plot.layout import cut, lay_out
from dtsemnet.plot.style import FAINT, GRID, SIGNS, bars_note, survey_rows
from dtsemnet.tree import ReadableView, Tree

__all__ = ["plot_weights_image"]


_LEVELS = 5
"""Levels drawn as a tree by default: 31 splits."""


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
    if X is not None:
        survey_rows(view.model, X)
    spread = None if X is None else view.spread(X)
    if int(np.prod(shape)) != whole.n_features or len(shape) != 2:
        raise ValueError(f"shape must be two numbers with {whole.n_features} pixels, one per feature, got {shape}.")
    if not whole.n_splits:
        raise ValueError("tree has no splits: there are no weights to draw.")
    chosen, place, edges = _in_tree(whole) if splits is None else _in_grid(whole.n_splits, splits)
    high, wide = shape[0] / max(shape), shape[1] / max(shape)
    span = place.max(axis=0) - place.min(axis=0) + 1
    if ax is None:
        side = min(1.0, 15 / span[0], 12 / span[1])
        ax = plt.figure(figsize=(max(2.5, side * span[0]), max(1.6, side * span[1] + 0.2))).add_axes(
            (0.0, 0.0, 1.0, 1.0)
        )
    for a, b in edges:
        start, end = (place[a, 0], place[a, 1] - 0.45 * high), (place[b, 0], place[b, 1] + 0.45 * high)
        draw_edge(ax, start, end, 1.2, f"to-split-{chosen[b]}", marked=False)
    size = view.sizes("weight", spread)[chosen]
    for picture, (x, y), split in zip(size, place, chosen):
        _picture(ax, picture.reshape(shape), x, y, 0.9 * wide, 0.9 * high, f"split-{split}")
    ax.set(xlim=(place[:, 0].min() - 0.55, place[:, 0].max() + 0.55), aspect="equal")
    ax.set_ylim(place[:, 1].min() - 0.8, place[:, 1].max() + 0.55)
    ax.set_axis_off()
    _note(ax, bars_note(spread), whole.n_splits, len(chosen), splits is None, place)
    return ax


def _in_tree(tree: Tree) -> tuple[Ints, Floats, list[tuple[int, int]]]:
    """Place the splits of the upper levels as the nodes of a tree, one unit apart."""
    upper = cut(tree.topology, _LEVELS).topology
    layout = lay_out(upper)
    gap = layout.gaps()[np.unique(layout.split_depth)].min(initial=2.0)
    place = np.column_stack([layout.split_x / gap, -1.4 * layout.split_depth])
    edges = [(split, int(child)) for split, pair in enumerate(upper.children) for child in pair if child >= 0]
    return np.arange(upper.n_splits), place, edges


def _in_grid(n_splits: int, splits: Sequence[int]) -> tuple[Ints, Floats, list[tuple[int, int]]]:
    chosen = np.asarray(splits, dtype=np.int64).reshape(-1)
    wrong = chosen[(chosen < 0) | (chosen >= n_splits)]
    if len(wrong) or not len(chosen):
        raise ValueError(f"splits must lie between 0 and {n_splits - 1}, got {wrong[0] if len(wrong) else 'none'}.")
    columns = int(np.ceil(np.sqrt(len(chosen) * 1.6)))
    number = np.arange(len(chosen))
    return chosen, np.column_stack([number % columns, -(number // columns)]).astype(np.float64), []


def _picture(ax: Axes, picture: Floats, x: float, y: float, width: float, height: float, name: str) -> None:
    extent = (x - width / 2, x + width / 2, y - height / 2, y + height / 2)
    limit = sign_limit(picture)
    image = ax.imshow(picture, cmap=SIGNS, vmin=-limit, vmax=limit, extent=extent, zorder=2)
    image.set_gid(name)
    ax.add_patch(
        Rectangle((extent[0], extent[2]), width, height, facecolor="none", edgecolor=GRID, linewidth=0.8, zorder=3)
    )


def _note(ax: Axes, bars: str, n_splits: int, n_shown: int, as_tree: bool, place: Floats) -> None:
    part = f" {n_shown} of {n_splits} splits." if n_shown < n_splits else ""
    how = (
        " The root is on top; blue pushes to the right branch, red to the left."
        if as_tree
        else " Blue is positive, red negative."
    )
    write(
        ax, place[:, 0].min() - 0.45, place[:, 1].min() - 0.66, f"Pixels: {bars}.{how}{part}", 7, ha="left", color=FAINT
    )
