"""Rows on their way into a kernel: read, cut into blocks, refused with a reason.

Kernels read C-ordered float32 and float64. Such arrays pass without a copy; all
else (integers, booleans, Fortran order, strides) is converted block by block, so
that a large array needs no second copy of itself. Every conversion to float64 is
the one numpy makes, value by value: layout and blocks change no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array

__all__ = ["blocks", "read_rows", "refuse"]

_BLOCK = 1 << 20  # numbers converted at a time: 8 MB


def read_rows(X: ArrayLike, n_features: int, labels: tuple[str, ...]) -> Array:
    """Check what can be told of ``X`` without looking at its numbers."""
    rows = X if type(X) is np.ndarray else np.asarray(X)
    if rows.ndim != 2:
        _refuse_dimensions(X, rows, n_features)
    if rows.shape[1] != n_features:
        raise ValueError(
            f"X has {rows.shape[1]} columns, but this tree reads {n_features}; "
            f"pass the columns {', '.join(labels[:3])}{', ...' if n_features > 3 else ''} in that order."
        )
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers, got dtype {rows.dtype}; convert it, or use a Model with an encoder.")
    return rows


def blocks(rows: Array) -> Iterator[tuple[int, int, Array]]:
    """Cut rows into blocks that the kernels read, each with its first row and one past its last."""
    if (rows.dtype == np.float64 or rows.dtype == np.float32) and rows.flags.c_contiguous and rows.flags.aligned:
        view = rows.view()
        # Read-only always: numba would compile every kernel a second time for read-only arrays.
        view.flags.writeable = False
        yield 0, len(rows), view
        return
    n_rows = max(1, _BLOCK // rows.shape[1])
    for start in range(0, len(rows), n_rows):
        block = np.array(rows[start : start + n_rows], dtype=np.float64, order="C")
        block.flags.writeable = False
        yield start, start + len(block), block


def refuse(row: Array, number: int, labels: tuple[str, ...]) -> NoReturn:
    """Say what is wrong with a row that a kernel refused."""
    bad = np.flatnonzero(~np.isfinite(row))
    if len(bad):
        column = int(bad[0])
        raise ValueError(
            f"X must be finite, got {row[column]} in row {number}, column {column} ({labels[column]}); "
            f"fill or drop such values, or use a Model whose encoder handles missing ones."
        )
    raise ValueError(
        f"X row {number} is too large for this tree: a sum overflows to inf - inf; rescale the columns or the tree."
    )


def _refuse_dimensions(X: Any, rows: Array, n_features: int) -> NoReturn:
    if hasattr(X, "toarray"):
        raise ValueError("X must be a dense array, got a sparse matrix; pass X.toarray().")
    way_out = "reshape one row by X.reshape(1, -1), one column by X.reshape(-1, 1)"
    raise ValueError(
        f"X must have shape (n_samples, {n_features}), got {rows.ndim} dimension(s) {rows.shape}; {way_out}."
    )
