"""A plane through the space of the columns, and the exact boundaries of a tree in it.

Points of the plane are ``at + u * direction[0] + v * direction[1]``. There every feature is an
affine function of (u, v), but for clipped columns, whose bounds cut the plane into pieces where
each is. In a piece a split is a line. Starting from the whole piece at the root, each split cuts
the convex polygon of points that reach it in two; the cut is the split's boundary, and the polygons
left at the end are the regions of the leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.tree import Model

__all__ = ["Plane", "boundaries"]


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
