"""Rows of data inside kernels: gathered into batches, and hashed so that equal rows can be found.

A batch is gathered with a column of ones behind the features. Parameters are
matrices whose last column is the bias, so one matrix product gives all scores of
a batch, one gives all outputs of the leaves, and one more of each gives all
gradients.

Rows are hashed to 64 bits. Rows with equal content get equal numbers; rows with
different content get different numbers, but for one chance in 2^64. The bits of
each value are mixed in by a multiplication and a shift (the finaliser of a 64-bit
hash); -0.0 counts as 0.0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels.kernel import kernel

__all__ = ["BLOCK", "Rows", "gather", "gather_features", "mix_rows", "new_batch"]

BLOCK = 256
"""Rows that are evaluated at a time, so that no array of (rows x leaves) is ever made."""


class Rows(NamedTuple):
    """Rows in the form that kernels read: C-ordered, one float dtype, weights with mean 1."""

    X: Floats
    """Features (n_rows, n_features); in a batch (n_rows, n_features + 1), the last column ones."""
    y: Array
    """Class codes (n_rows,), or targets (n_rows, n_outputs)."""
    weight: Floats


@kernel
def new_batch(rows: Rows, size: int) -> Rows:
    """Allocate a batch for :func:`gather` to fill with up to ``size`` of the rows."""
    size = min(size, len(rows.X))
    return Rows(
        np.empty((size, rows.X.shape[1] + 1), rows.X.dtype),
        np.empty((size,) + rows.y.shape[1:], rows.y.dtype),  # noqa: RUF005
        np.empty(size, rows.weight.dtype),
    )


@kernel
def gather(rows: Rows, index: Ints, batch: Rows) -> Rows:
    """Copy the rows ``index`` into ``batch`` and return the part of it that they fill."""
    size = len(index)
    filled = Rows(batch.X[:size], batch.y[:size], batch.weight[:size])
    gather_features(rows.X, index, filled.X)
    _gather(rows.y, index, filled.y)
    _gather(rows.weight, index, filled.weight)
    return filled


@kernel
def gather_features(X: Floats, index: Ints, batch: Floats) -> None:
    """Copy the rows ``index`` of ``X`` into the first rows of ``batch``, each with a 1 behind it."""
    n_features = X.shape[1]
    for r in range(len(index)):  # loops: the assignment of a slice takes numba seconds to compile
        row, into = X[index[r]], batch[r]
        for j in range(n_features):
            into[j] = row[j]
        into[n_features] = 1


@kernel
def _gather(source: Array, index: Ints, into: Array) -> None:
    """Copy the rows ``index`` of an array with one or two dimensions."""
    if source.ndim == 1:  # numba compiles the branch that applies
        for r in range(len(index)):
            into[r] = source[index[r]]
    else:
        for r in range(len(index)):
            for o in range(source.shape[1]):
                into[r, o] = source[index[r], o]


@kernel
def mix_rows(bits: NDArray[np.uint64], numbers: NDArray[np.uint64]) -> None:
    """Mix the bits of the float64 values of each row into its number, in place; no value may be -0.0."""
    for i in range(len(bits)):
        h = numbers[i]
        for j in range(bits.shape[1]):
            h = (h ^ bits[i, j]) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(32)
        numbers[i] = h
