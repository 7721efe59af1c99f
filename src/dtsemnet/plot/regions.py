"""The regions of a tree in a plane: a slice along two columns, or a projection.

Colours are what the model predicts at the middle of each pixel. Lines are the boundaries
of the splits, cut exactly to the regions that they divide.

Points of the plane are ``at + u * direction[0] + v * direction[1]``. There every feature is an
affine function of (u, v), but for clipped columns, whose bounds cut the plane into pieces where
each is. In a piece a split is a line. Starting from the whole piece at the root, each split cuts
the convex polygon of points that reach it in two; the cut is the split's boundary, and the polygons
left at the end are the regions of the leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize

from dtsemnet.arrays import Array, Floats
from dtsemnet.plot.style import AMOUNTS, FAINT, INK, class_legend, fresh_axes, plain
from dtsemnet.tree import Model, class_colors, tint
from dtsemnet.tree.encoder import is_missing

__all__ = ["Plane", "boundaries", "plot_regions"]


def plot_regions(
    tree: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: Sequence[int | str] = (0, 1),
    at: Any = None,
    projection: Any = None,
    limits: Any = None,
    output: int = 0,
    resolution: int = 300,
    max_rows: int = 2000,
    ax: Axes | None = None,
) -> Axes:
    """Draw the regions of a tree in a plane.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows, drawn as points. A slice shows all of them, whatever their values in the other columns.
    y : array_like, optional
        Their classes or targets, as the colours of the points.
    features : two of int or str, default=(0, 1)
        Numeric columns that the slice runs along.
    at : array_like of shape (n_columns,), optional
        Values at which the other columns are held, or the point that the plane of a projection goes through. By default
        the median of X (most frequent category), for a projection the mean; without X, 0.
    projection : array_like of shape (2, n_columns), or "pca", optional
        Directions of the plane, in place of a slice; rows are projected by least squares. "pca" takes the first two
        principal components of the standardised columns.
    limits : ((float, float), (float, float)), optional
        Ends of both axes. By default those of the rows.
    output : int, default=0
        Output of a regressor that is shown.
    resolution : int, default=300
        Pixels along each side.
    max_rows : int, default=2000
        Most rows drawn, evenly taken from X.
    ax : matplotlib Axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib Axes
        Its first image holds the predictions: numbers of classes, or values.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> ax = plot_regions(tree, limits=((0, 2), (0, 2)), resolution=2)
    >>> ax.images[0].get_array().tolist()
    [[0, 1], [0, 0]]
    """
    model = Model.of(tree)
    section = _section(model, X, features, at, projection)
    low, high = _limits(section, limits)
    ax = fresh_axes(ax, 5.6, 4.4)
    centers = [low[k] + (np.arange(resolution) + 0.5) / resolution * (high[k] - low[k]) for k in (0, 1)]
    grid = np.stack(np.meshgrid(*centers), axis=-1).reshape(-1, 2)
    values = _predict(model, section.plane.rows(grid), output).reshape(resolution, resolution)
    points, target = section.points, None if y is None else _read_target(model, section.points, y, output)
    if points is not None:
        thinned = slice(None, None, max(1, -(-len(points) // max_rows)))
        points, target = points[thinned], None if target is None else target[thinned]
    extent = (low[0], high[0], low[1], high[1])
    image = ax.imshow(values, origin="lower", extent=extent, aspect="auto", interpolation="nearest")
    if model.class_names is not None:
        _paint_classes(ax, image, points, target, model.class_names)
    else:
        _paint_values(ax, image, points, target)
    _draw_boundaries(ax, section.plane, low, high)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    _label(ax, section)
    return ax


@dataclass(frozen=True)
class Plane:
    """A point with a value for each column, and two directions; a direction is 0 in columns that do not change."""

    model: Model
    at: Array
    """Shape (n_columns,); of type object if a column is categorical or missing."""
    direction: Floats
    """Shape (2, n_columns)."""

    def rows(self, points: Floats) -> Array:
        """Columns at points (n, 2) of the plane."""
        rows = np.tile(self.at, (len(points), 1))
        moved = self.direction.any(axis=0)
        rows[:, moved] = self.at[moved].astype(np.float64) + points @ self.direction[:, moved]
        return rows


@dataclass(frozen=True)
class _Section:
    """A plane, the names of its axes, and the rows in its coordinates."""

    plane: Plane
    names: tuple[str, str]
    points: Floats | None
    remark: str


def _section(model: Model, X: Any, features: Sequence[int | str], at: Any, projection: Any) -> _Section:
    columns = None if X is None else model.encoder.read_columns(X)
    if projection is not None:
        return _projected(model, columns, at, projection)
    chosen = _chosen(model, features)
    base = _base(model, columns, at, np.median)
    base[chosen] = 0.0
    direction = np.zeros((2, len(base)))
    direction[range(len(chosen)), chosen] = 1.0
    names = [model.encoder.columns[j].name for j in chosen] + [""] * (2 - len(chosen))
    points = None
    if columns is not None:
        # With one column the other axis means nothing: rows are spread over it.
        spread = (np.arange(len(columns[0])) * 0.618034) % 1.0
        points = np.column_stack([*(columns[j].astype(np.float64) for j in chosen), *[spread] * (2 - len(chosen))])
    others = len(base) - len(chosen)
    held = "given" if at is not None else "0" if X is None else "their median"
    word = "one other column" if others == 1 else f"{others} other columns"
    remark = f"{word} held at {held}" if others else ""
    return _Section(Plane(model, base, direction), (names[0], names[1]), points, remark)


def _projected(model: Model, columns: list[Array] | None, at: Any, projection: Any) -> _Section:
    if not model.encoder.is_numeric:
        raise ValueError("projection needs numeric columns alone; this model has categorical ones: draw a slice.")
    base = _base(model, columns, at, np.mean).astype(np.float64)
    rows = None if columns is None else np.column_stack([column.astype(np.float64) for column in columns])
    if isinstance(projection, str):
        if projection != "pca" or rows is None:
            raise ValueError(f"projection must be a 2 x n_columns matrix, or 'pca' with X given, got {projection!r}.")
        spread = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
        axes = np.linalg.svd((rows - rows.mean(axis=0)) / spread, full_matrices=False)[2]
        axes = np.vstack([axes, np.zeros((2, len(base)))])[:2]
        direction, onto = axes * spread, (axes / spread).T
        names = ("first principal component", "second principal component")
    else:
        direction = np.asarray(projection, dtype=np.float64)
        if direction.shape != (2, len(base)):
            raise ValueError(f"projection must have shape (2, {len(base)}), got {direction.shape}.")
        onto, names = np.linalg.pinv(direction), ("first direction", "second direction")
    points = None if rows is None else (rows - base) @ onto
    held = "given" if at is not None else "0" if columns is None else "the mean"
    return _Section(Plane(model, base, direction), names, points, f"plane through {held}")


def _chosen(model: Model, features: Sequence[int | str]) -> list[int]:
    names = [column.name for column in model.encoder.columns]
    if len(names) == 1:
        features = [0]
    elif len(features) != 2:
        raise ValueError(f"features must name two columns, got {len(features)}.")
    chosen = []
    for feature in features:
        index = names.index(feature) if isinstance(feature, str) and feature in names else feature
        if isinstance(index, str) or not 0 <= index < len(names):
            raise ValueError(f"features must be columns of the tree, got {feature!r}; it reads {names[:5]}...")
        if model.encoder.columns[index].categories is not None:
            raise ValueError(f"features must be numeric columns, but {names[index]!r} is categorical; hold it by at.")
        chosen.append(int(index))
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"features must be two different columns, got {names[chosen[0]]!r} twice.")
    return chosen


def _base(model: Model, columns: list[Array] | None, at: Any, middle: Callable[[Floats], Any]) -> Array:
    """Find the point that the plane goes through."""
    dtype, n_columns = np.float64 if model.encoder.is_numeric else object, model.encoder.n_columns
    if at is not None:
        base = np.array(list(at), dtype=dtype)
        if base.shape != (n_columns,):
            raise ValueError(f"at must hold {n_columns} values, one per column, got shape {base.shape}.")
        return base
    base = np.zeros(n_columns, dtype=dtype)
    for j, column in enumerate(model.encoder.columns):
        if column.categories is not None:
            base[j] = column.categories[0] if column.categories else None
        if columns is not None:
            known = columns[j][~is_missing(columns[j])]
            if column.categories is None:
                base[j] = float(middle(known.astype(np.float64))) if len(known) else column.fill
            elif len(known):
                values = known.tolist()
                base[j] = max(dict.fromkeys(values), key=values.count)
    return base


def _limits(section: _Section, limits: Any) -> tuple[Floats, Floats]:
    if limits is not None:
        ends = np.asarray(limits, dtype=np.float64)
        if ends.shape != (2, 2) or not (ends[:, 0] < ends[:, 1]).all():
            raise ValueError(f"limits must be ((low, high), (low, high)) with low < high, got {limits!r}.")
        return ends[:, 0], ends[:, 1]
    points = section.points
    known = np.zeros((1, 2)) if points is None else points[np.isfinite(points).all(axis=1)]
    known = known if len(known) else np.zeros((1, 2))
    low, high = known.min(axis=0), known.max(axis=0)
    pad = np.where(high > low, 0.05 * (high - low), np.maximum(1.0, 0.05 * np.abs(high)))
    return low - pad, high + pad


def _predict(model: Model, rows: Array, output: int) -> Array:
    if model.is_classifier:
        return model.tree.leaf_class[model.apply(rows)]
    predicted = np.asarray(model.predict(rows), dtype=np.float64)
    if not 0 <= output < model.tree.n_outputs:
        raise ValueError(f"output must lie between 0 and {model.tree.n_outputs - 1}, got {output}.")
    return predicted if predicted.ndim == 1 else predicted[:, output]


def _read_target(model: Model, points: Floats | None, y: Any, output: int) -> Array:
    """Read the colours of the points: class codes, or numbers."""
    if model.is_classifier:
        target: Array = model.class_codes(y)
    else:
        target = np.asarray(y, dtype=np.float64).reshape(len(y), -1)[:, output]
    n_rows = 0 if points is None else len(points)
    if len(target) != n_rows:
        raise ValueError(f"y must have shape ({n_rows},), one entry per row of X, got {np.shape(y)}.")
    return target


def _paint_classes(ax: Axes, image: Any, points: Floats | None, codes: Array | None, names: Sequence[Any]) -> None:
    colors = class_colors(len(names))
    image.set(cmap=ListedColormap([tint(color, 0.38) for color in colors]), norm=Normalize(-0.5, len(colors) - 0.5))
    if points is not None:
        full: Any = FAINT if codes is None else [colors[code] for code in codes]
        _scatter(ax, points, c=full, edgecolors="white")
    class_legend(ax, names, colors, loc="upper left", bbox_to_anchor=(1.01, 1.0), handlelength=1.0, handleheight=1.0)


def _paint_values(ax: Axes, image: Any, points: Floats | None, target: Array | None) -> None:
    values = image.get_array()
    both = values.ravel() if target is None else np.concatenate([values.ravel(), target])
    norm = Normalize(float(both.min()), float(both.max()))
    image.set(cmap=AMOUNTS, norm=norm)
    if points is not None and target is not None:
        _scatter(ax, points, c=target, cmap=AMOUNTS, norm=norm, edgecolors="white")
    elif points is not None:
        _scatter(ax, points, c="white", edgecolors=FAINT)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
    bar.set_label("prediction" if target is None else "prediction (regions) and target (points)", color=INK)
    bar.outline.set_visible(False)


def _scatter(ax: Axes, points: Floats, **colors: Any) -> None:
    ax.scatter(points[:, 0], points[:, 1], s=16, linewidths=0.5, zorder=3, **colors)


def _draw_boundaries(ax: Axes, plane: Plane, low: Floats, high: Floats) -> None:
    """Draw the boundaries of the splits, thinner the deeper the split."""
    lines = boundaries(plane, low, high)
    depth = {int(split): level for level, each in enumerate(plane.model.tree.topology.levels) for split in each.splits}
    widths = [max(0.5, 1.8 - 0.35 * depth[split]) for split, _ in lines]
    ax.add_collection(LineCollection([segment for _, segment in lines], colors=INK, linewidths=widths, zorder=2))


def _label(ax: Axes, section: _Section) -> None:
    ax.set_xlabel(plain(section.names[0]), color=INK)
    ax.set_ylabel(plain(section.names[1]), color=INK)
    ax.tick_params(color=FAINT, labelcolor=INK, labelsize=8.5)
    if not section.names[1]:
        ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_color(FAINT)
    ax.set_title(section.remark, fontsize=9, loc="left", color=FAINT)


def boundaries(plane: Plane, low: Floats, high: Floats) -> list[tuple[int, Floats]]:
    """List the boundaries within a rectangle: the number of a split, and the two ends of a segment."""
    corners = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])
    tree, segments = plane.model.tree, []
    for piece in _affine_pieces(plane, corners):
        line = tree.weight @ _features(plane, piece.mean(axis=0))
        line[:, 0] += tree.bias
        todo = [(0, piece)] if tree.n_splits else []
        while todo:
            split, polygon = todo.pop()
            left, right, segment = _divide(polygon, line[split])
            if segment is not None:
                segments.append((split, segment))
            for child, part in zip(tree.topology.children[split].tolist(), (left, right)):
                if child >= 0 and part is not None:
                    todo.append((child, part))
    return segments


def _affine_pieces(plane: Plane, polygon: Floats) -> list[Floats]:
    """Cut a polygon along the lines on which a clipped column reaches one of its bounds."""
    pieces = [polygon]
    for index, column in enumerate(plane.model.encoder.columns):
        if not plane.direction[:, index].any():
            continue
        mapped = (float(plane.at[index]) - column.center) * column.scale
        for bound in (column.lower, column.upper):
            if bound is not None:
                line = np.array([mapped - bound, *(plane.direction[:, index] * column.scale)])
                parts = [part for piece in pieces for part in _divide(piece, line)[:2]]
                pieces = [part for part in parts if part is not None]
    return pieces


def _features(plane: Plane, middle: Floats) -> Floats:
    """Features as affine functions of (u, v): constant, and the coefficients of u and v, valid around a point."""
    here = np.asarray(plane.model.transform(plane.rows(middle[None, :])), dtype=np.float64)[0]
    slope = np.zeros((len(here), 2))
    for feature in plane.model.encoder.features:
        if feature.kind != "number":
            continue
        column, direction = feature.column, plane.direction[:, feature.column_index]
        low, high = column.bounds
        if direction.any() and low < here[feature.index] < high:
            slope[feature.index] = direction * column.scale
    return np.column_stack([here - slope @ middle, slope])


def _divide(polygon: Floats, line: Floats) -> tuple[Floats | None, Floats | None, Floats | None]:
    """Cut a convex polygon by a line: the part where it is not positive, the part where it is, and the cut."""
    score = line[0] + polygon @ line[1:]
    if (score <= 0).all():
        return polygon, None, None
    if (score >= 0).all():
        return None, polygon, None
    left, right, ends = [], [], []
    for k, (point, here) in enumerate(zip(polygon, score)):
        after, there = polygon[(k + 1) % len(polygon)], score[(k + 1) % len(polygon)]
        if here <= 0:
            left.append(point)
        if here >= 0:
            right.append(point)
        if here == 0:
            ends.append(point)
        if min(here, there) < 0 < max(here, there):
            crossing = point + (after - point) * (here / (here - there))
            for part in (left, right, ends):
                part.append(crossing)
    return np.array(left), np.array(right), np.array(ends[:2])
