"""The rows that training sees: merged, ordered by content, split by content and seed.

Weights mean repetition: a row of weight 2 is that row twice. Under mini-batches
and random splits this holds only if training cannot tell the two apart, so rows
without weight are dropped, equal rows (same x, same y) are merged and their
weights added, and the rest is put in an order that depends on content alone.
Split, batches and restarts then work on what is left.

No copy of X is made: a sample points into the caller's array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels.rows import mix_rows

__all__ = ["BLOCK", "Sample", "Scaling", "merge", "split", "target_scale"]


BLOCK = 65536
"""Rows that are copied at a time."""


@dataclass(frozen=True)
class Sample:
    """Rows ``index`` of ``X`` with their targets and weights.

    Parameters
    ----------
    X : array of shape (n, n_features), float32 or float64
        The caller's array, or what the encoder made of it.
    index : array of int, shape (n_rows,)
    y : array of class codes (n_rows,) or targets (n_rows, n_outputs)
        In the order of ``index``.
    weight : array of shape (n_rows,)
        In the order of ``index``.
    """

    X: Array
    index: Ints
    y: Array
    weight: Floats

    def __len__(self) -> int:
        return len(self.index)

    def take(self, places: Ints) -> Sample:
        """Select some of the rows."""
        return Sample(self.X, self.index[places], self.y[places], self.weight[places])

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Copy the rows block by block, in float64."""
        for start in range(0, len(self), BLOCK):
            part = slice(start, start + BLOCK)
            yield part, np.ascontiguousarray(self.X[self.index[part]], dtype=np.float64)

    def rows(self) -> Floats:
        """Copy all rows, in float64."""
        return np.ascontiguousarray(self.X[self.index], dtype=np.float64)


def merge(X: Array, y: Array, weight: Floats) -> Sample:
    """Drop rows without weight, merge equal rows, order the rest by content."""
    targets = y.reshape(len(y), -1 if len(y) else 1)
    index = np.flatnonzero(weight > 0)
    number = np.zeros(len(index), np.uint64)
    for part, rows in Sample(X, index, y[index], weight[index]).blocks():
        mix_rows(np.column_stack([rows, targets[index[part]].astype(np.float64)]), number[part])
    order = np.argsort(number, kind="stable")
    index, number = index[order], number[order]
    first = np.ones(len(index), bool)
    same = np.flatnonzero(number[1:] == number[:-1])
    # Equal numbers are as good as proof, but comparing the few rows in question costs nothing.
    equal = (X[index[same]] == X[index[same + 1]]).all(axis=1)
    equal &= (targets[index[same]] == targets[index[same + 1]]).all(axis=1)
    first[same[equal] + 1] = False
    starts = np.flatnonzero(first)
    merged = np.add.reduceat(weight[index], starts) if len(starts) else weight[:0]
    return Sample(X, index[starts], y[index[starts]], merged)


def split(sample: Sample, fraction: float, rng: np.random.Generator, *, by_class: bool) -> tuple[Sample, Sample]:
    """Set a share of the rows aside for validation, of each class its part."""
    aside = np.zeros(len(sample), bool)
    groups = [sample.y == code for code in np.unique(sample.y)] if by_class else [np.ones(len(sample), bool)]
    for group in groups:
        places = rng.permutation(np.flatnonzero(group))
        # At least one row of each group stays in training; a lone row does.
        aside[places[: min(round(fraction * len(places)), len(places) - 1)]] = True
    return sample.take(np.flatnonzero(~aside)), sample.take(np.flatnonzero(aside))


@dataclass(frozen=True)
class Scaling:
    """The affine map to training coordinates: ``(x - center) * factor``; columns that never vary become 0."""

    center: Floats
    factor: Floats

    @classmethod
    def of(cls, sample: Sample) -> Scaling:
        """Mean 0 and standard deviation 1 over the weighted rows."""
        n_features = sample.X.shape[1]
        largest = np.zeros(n_features)
        for _, rows in sample.blocks():
            np.maximum(largest, np.abs(rows).max(axis=0), out=largest)
        # Divided by the largest, nothing overflows, whatever the unit.
        unit = np.where(largest > 0, largest, 1.0)
        mean, square, total = np.zeros(n_features), np.zeros(n_features), sample.weight.sum()
        for part, rows in sample.blocks():
            mean += sample.weight[part] @ (rows / unit) / total
        for part, rows in sample.blocks():
            square += sample.weight[part] @ np.square(rows / unit - mean) / total
        deviation = np.sqrt(square)
        varies = deviation > 10 * np.finfo(float).eps
        with np.errstate(over="ignore"):
            factor = np.where(varies, 1 / np.where(varies, deviation, 1) / unit, 0.0)
        return cls(mean * unit, np.where(np.isfinite(factor), factor, 0.0))

    def apply(self, sample: Sample, dtype: type = np.float32) -> Array:
        """Copy the rows in training coordinates."""
        scaled: Array = np.empty((len(sample), sample.X.shape[1]), dtype)
        for part, rows in sample.blocks():
            scaled[part] = (rows - self.center) * self.factor
        return scaled

    def fold(self, matrix: Array) -> tuple[Floats, Floats]:
        """Turn rows (w, b) that read scaled inputs into weights and biases that read raw ones."""
        matrix = matrix.astype(np.float64)
        weight = matrix[:, :-1] * self.factor
        return weight, matrix[:, -1] - weight @ self.center

    def unfold(self, weight: Floats, bias: Floats) -> Floats:
        """Undo :meth:`fold`: rows (w, b) that read scaled inputs."""
        spread = np.where(self.factor > 0, 1 / np.where(self.factor > 0, self.factor, 1), 0.0)
        return np.column_stack([weight * spread, bias + weight @ self.center])


def target_scale(sample: Sample) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each target over the weighted rows; 1 where it never varies."""
    # Divided by the largest, nothing overflows, whatever the unit.
    unit = np.maximum(np.abs(sample.y).max(axis=0), np.finfo(float).tiny)
    mean = np.average(sample.y / unit, axis=0, weights=sample.weight)
    spread = np.sqrt(np.average(np.square(sample.y / unit - mean), axis=0, weights=sample.weight))
    return mean * unit, np.where(spread > 10 * np.finfo(float).eps, spread, 1.0) * unit
