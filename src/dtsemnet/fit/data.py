"""The rows that a tree is fitted to: merged, split into training and validation rows, standardised.

Weights mean repetition: a row of weight 2 is that row twice. With mini-batches
and random splits this holds only if training cannot tell the two apart. So rows
without weight are dropped, equal rows (same x, same y) are merged and their
weights added, and the result is sorted in an order that depends on the content
alone. Splits, batches and starts then work on the merged rows.

Only ratios of weights count. Merged weights are whole numbers of copies if there is a
unit that makes them so, else they have mean 1 (:func:`in_rows`). Ridge penalties, which
are counted in rows, then mean the same in any unit of the weights.

X is not copied: a sample points into the caller's array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats, Ints
from dtsemnet.kernels.rows import mix_rows
from dtsemnet.tree import Tree

__all__ = [
    "BLOCK",
    "MIN_ROWS",
    "Fold",
    "Sample",
    "Scaling",
    "TrainingData",
    "cross_folds",
    "far_limits",
    "in_rows",
    "merge",
    "set_aside",
    "split",
    "without_overflow",
]

BLOCK = 65536
"""Number of rows that are copied at a time."""
MIN_ROWS = 30
"""If there are fewer training rows, none are set aside: a handful of rows cannot compare two trees."""
N_FOLDS = 5
"""Parts of a small table, each of which judges trees that were trained on the others."""
MOST_CROSS_ROWS = 4000
"""In a larger table one part is enough to judge trees by."""
TAIL = 0.01
"""Share of the rows at either end of a column that may be far away from the others."""
NORMAL_RANGE = 4.652695748081682
"""Standard deviations between the 1st and the 99th percentile of a normal column."""
FAR_TAILS = 8.0
"""A column is clipped if its standard deviation is this many times that of a normal column with the same 98 % range.

Honest columns stay below: 5 is the most in 39 public tables."""
FEWEST_TO_CLIP = 10
"""Fewer rows do not tell what is far away."""
REACH = 10.0
"""How many of the latter standard deviations from the median a clipped column reaches."""


@dataclass(frozen=True)
class Sample:
    """Rows ``index`` of ``X`` with their targets and weights, in the order of ``index``."""

    X: Array
    """Shape (n, n_features), float32 or float64: the caller's array, or the encoded one."""
    index: Ints
    y: Array
    """Class codes (n_rows,), or targets (n_rows, n_outputs)."""
    weight: Floats
    unit: float = 1.0
    """What the user's weights were divided by."""

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def copies(self) -> Ints:
        """How often each row is there, if all weights are multiples of the smallest and few enough; else once."""
        copies = _copies(self.weight)
        return np.ones(len(self), np.int64) if copies is None else copies

    def take(self, positions: Ints) -> Sample:
        """Select some of the rows, by their position in the sample."""
        return Sample(self.X, self.index[positions], self.y[positions], self.weight[positions], self.unit)

    def with_targets(self, y: Array) -> Sample:
        """The same rows with other targets."""
        return Sample(self.X, self.index, y, self.weight, self.unit)

    def slices(self) -> Iterator[slice]:
        """Slices of at most ``BLOCK`` rows that cover the sample."""
        for start in range(0, len(self), BLOCK):
            yield slice(start, min(start + BLOCK, len(self)))

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Copy the rows block by block, in float64."""
        for part in self.slices():
            yield part, np.ascontiguousarray(self.X[self.index[part]], dtype=np.float64)

    def to_array(self) -> Floats:
        """Copy all rows, in float64."""
        return np.ascontiguousarray(self.X[self.index], dtype=np.float64)


def merge(X: Array, y: Array, weight: Floats, unit: float | None = None) -> Sample:
    """Drop rows without weight, merge equal rows, and sort the result by content.

    Weights are divided by ``unit``; by default by a unit of their own, see :func:`in_rows`.
    """
    weight, size = without_overflow(weight)
    targets = y.reshape(len(y), -1 if len(y) else 1)
    index = np.flatnonzero(weight > 0)
    hashes = np.zeros(len(index), np.uint64)
    for part, rows in Sample(X, index, y[index], weight[index]).blocks():
        content = np.column_stack([rows, targets[index[part]].astype(np.float64)])
        content += 0.0  # turns -0.0 into 0.0
        mix_rows(content.view(np.uint64), hashes[part])
    order = np.argsort(hashes, kind="stable")
    index, hashes = index[order], hashes[order]
    is_first = np.ones(len(index), bool)
    same = np.flatnonzero(hashes[1:] == hashes[:-1])
    # Equal hashes are nearly always equal rows, and comparing these few rows costs nothing.
    equal = (X[index[same]] == X[index[same + 1]]).all(axis=1)
    equal &= (targets[index[same]] == targets[index[same + 1]]).all(axis=1)
    is_first[same[equal] + 1] = False
    starts = np.flatnonzero(is_first)
    total = np.add.reduceat(weight[index], starts) if len(starts) else weight[:0]
    if unit is None:
        total, own = in_rows(total)
        return Sample(X, index[starts], y[index[starts]], total, own * size)
    return Sample(X, index[starts], y[index[starts]], total * (size / unit), unit)


def in_rows(weight: Floats) -> tuple[Floats, float]:
    """Express positive weights in rows, and return the weight of one row.

    If all weights are multiples of a common unit, they become these whole numbers: weights of 2 and 3 stay two and
    three copies, in any unit. Else they get mean 1.

    Examples
    --------
    >>> in_rows(np.array([0.5, 1.0, 2.0]))
    (array([1., 2., 4.]), 0.5)
    >>> in_rows(np.array([0.75, np.pi, np.e]))[0].mean().round(9)
    np.float64(1.0)
    """
    if not len(weight):
        return weight, 1.0
    unit = _common_unit(weight, _most_copies(len(weight)))
    if unit is not None:
        return np.round(weight / unit), unit
    mean = float(weight.mean())
    return weight / mean, mean


def _common_unit(weight: Floats, most: int) -> float | None:
    """The largest unit that all weights are multiples of, if they are not more than ``most`` units in all."""
    total, unit = float(weight.sum()), float(weight.min())
    for value in np.unique(weight).tolist():
        # Euclid's algorithm; remainders of this size are rounding.
        larger, smaller = value, unit
        while smaller > 1e-9 * value:
            larger, smaller = smaller, abs(larger - round(larger / smaller) * smaller)
        unit = larger
        if not total <= most * unit:
            return None
    return unit


def _copies(weight: Floats) -> Ints | None:
    """How often each row is there, if all weights are multiples of the smallest and few enough."""
    with np.errstate(over="ignore", invalid="ignore"):
        multiple = weight / weight.min()
        whole = np.round(multiple)
        if not whole.sum() <= _most_copies(len(weight)) or np.abs(multiple - whole).max() > 1e-9:
            return None
    return whole.astype(np.int64)


def _most_copies(n_rows: int) -> int:
    return 10 * n_rows + 10 * MOST_CROSS_ROWS


def without_overflow(weight: Floats) -> tuple[Floats, float]:
    """Divide weights by a number of their size, so that sums neither overflow nor round; return both.

    Equal weights become 1 exactly, others are divided by a power of 2, which changes no digit.
    """
    positive = weight[weight > 0]
    if not len(positive):
        return weight, 1.0
    largest = float(positive.max())
    if largest == positive.min():
        return (weight > 0).astype(np.float64), largest
    exponent = int(np.frexp(largest)[1]) - 1
    scaled: Floats = np.ldexp(weight, -exponent)
    return scaled, float(np.ldexp(1.0, exponent))


def split(sample: Sample, fraction: float, rng: np.random.Generator, *, by_class: bool) -> tuple[Sample, Sample]:
    """Divide a sample into training rows, at least one, and a share of validation rows, of each class or of all."""
    is_held = np.zeros(len(sample), bool)
    groups = [sample.y == code for code in np.unique(sample.y)] if by_class else [np.ones(len(sample), bool)]
    for group in groups:
        shuffled = rng.permutation(np.flatnonzero(group))
        is_held[shuffled[: min(round(fraction * len(shuffled)), len(shuffled) - 1)]] = True
    return sample.take(np.flatnonzero(~is_held)), sample.take(np.flatnonzero(is_held))


@dataclass(frozen=True)
class Scaling:
    """The affine map to training coordinates, ``(x - center) * factor``; columns that never vary become 0.

    A few values far away from all others (a slip of the pen, an error code) would leave nothing of a column's
    standard deviation to the others. So training reads such a column clipped, see :func:`far_limits`. The tree that
    comes of it reads the column as it is.
    """

    center: Floats
    factor: Floats
    limits: tuple[Floats, Floats] | None = None
    """Lower and upper limit of each column in training, infinite for most; None if no column is clipped."""

    @classmethod
    def of(cls, sample: Sample) -> Scaling:
        """The map that gives the weighted rows mean 0 and standard deviation 1."""
        scaling = cls._of(sample, None)
        limits = scaling._limits(sample)
        return scaling if limits is None else cls._of(sample, limits)

    @classmethod
    def _of(cls, sample: Sample, limits: tuple[Floats, Floats] | None) -> Scaling:
        """The map of rows that are clipped to these limits."""
        n_features = sample.X.shape[1]
        largest = np.zeros(n_features)
        for _, rows in sample.blocks():
            np.maximum(largest, np.abs(_clipped(rows, limits)).max(axis=0), out=largest)
        # Values are divided by the largest one, so that nothing overflows in any unit.
        unit = np.where(largest > 0, largest, 1.0)
        mean, square, total = np.zeros(n_features), np.zeros(n_features), sample.weight.sum()
        for part, rows in sample.blocks():
            mean += sample.weight[part] @ (_clipped(rows, limits) / unit) / total
        for part, rows in sample.blocks():
            square += sample.weight[part] @ np.square(_clipped(rows, limits) / unit - mean) / total
        deviation = np.sqrt(square)
        varies = deviation > 10 * np.finfo(float).eps
        with np.errstate(over="ignore"):
            factor = np.where(varies, 1 / np.where(varies, deviation, 1) / unit, 0.0)
        return cls(mean * unit, np.where(np.isfinite(factor), factor, 0.0), limits)

    def _limits(self, sample: Sample) -> tuple[Floats, Floats] | None:
        """Limits of the columns, or None if none needs them."""
        reach = np.zeros(len(self.center))
        for _, rows in sample.blocks():
            np.maximum(reach, np.abs((rows - self.center) * self.factor).max(axis=0), out=reach)
        # Tails of this share can make such a deviation only if they reach so far, and few columns do.
        total = sample.weight.sum()
        far = np.flatnonzero(np.square(reach) * 2 * max(TAIL, 1 / total) > 0.5)
        limits = np.full(len(reach), -np.inf), np.full(len(reach), np.inf)
        for j in far:
            column = sample.X[sample.index, j].astype(np.float64)
            limits[0][j], limits[1][j] = far_limits(column, sample.weight)
        return limits if np.isfinite(limits).any() else None

    @property
    def std(self) -> Floats:
        """Standard deviation of each column; 0 if it never varies."""
        varies = self.factor > 0
        return np.where(varies, 1 / np.where(varies, self.factor, 1), 0.0)

    def apply(
        self, sample: Sample, dtype: type = np.float32, *, far: Literal["clip", "center", "keep"] = "clip"
    ) -> Array:
        """Copy the rows in training coordinates.

        Values beyond the limits are clipped, put to the center (0), or kept as the tree will read them. A split can
        make use of a value that is clipped. A linear model cannot: one row at the limit would tilt it.
        """
        scaled: Array = np.empty((len(sample), sample.X.shape[1]), dtype)
        for part, rows in sample.blocks():
            near = rows if far == "keep" else _clipped(rows, self.limits)
            scaled[part] = (near - self.center) * self.factor
            if far == "center" and self.limits is not None:
                scaled[part][near != rows] = 0
        return scaled

    def fold(self, matrix: Array) -> tuple[Floats, Floats]:
        """Turn rows (w, b) that read scaled inputs into weights and biases that read raw ones."""
        matrix = matrix.astype(np.float64)
        weight = matrix[:, :-1] * self.factor
        return weight, matrix[:, -1] - weight @ self.center

    def unfold(self, weight: Floats, bias: Floats) -> Floats:
        """Undo :meth:`fold`: rows (w, b) that read scaled inputs."""
        return np.column_stack([weight * self.std, bias + weight @ self.center])


def far_limits(values: Floats, weight: Floats) -> tuple[float, float]:
    """Limits that keep the far tails of a column in reach of the others; infinite if it has no such tails.

    The column is compared with a normal one that has as much between its 1st and its 99th percentile (at least one row
    is left out at either end). If its standard deviation is ``FAR_TAILS`` times as large, its tails are far away,
    and the limits are ``REACH`` of these standard deviations away from the median. Rare events are not far values: a
    column with fewer than 1 % of values that differ from the others has no such range, and one in which most of the
    values that differ from the median are far away (a pixel that few images touch) lives there. Both stay as they are.

    Examples
    --------
    >>> rows = np.append(np.arange(200.0), 1e12)
    >>> far_limits(rows, np.ones(201))[1] < 1000, far_limits(rows[:200], np.ones(200))
    (True, (-inf, inf))
    >>> pixel = np.append(np.zeros(988), [1.0, 2.0, *range(100, 110)])
    >>> far_limits(pixel, np.ones(1000))
    (-inf, inf)
    """
    if weight.sum() < FEWEST_TO_CLIP:
        return -np.inf, np.inf
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    total = reached[-1]
    tail = max(TAIL * total, 1.0)
    low, middle = values[order[np.searchsorted(reached, [tail, total / 2], side="right")]]
    high = values[order[np.searchsorted(reached, total - tail)]]
    normal = (high - low) / NORMAL_RANGE
    if not 0 < normal < np.inf:
        return -np.inf, np.inf
    unit = float(np.abs(values).max())
    deviation = np.sqrt(np.average(np.square((values - middle) / unit), weights=weight)) * unit
    if deviation <= FAR_TAILS * normal:
        return -np.inf, np.inf
    limits = float(middle - REACH * normal), float(middle + REACH * normal)
    n_far = weight[(values < limits[0]) | (values > limits[1])].sum()
    return (-np.inf, np.inf) if 2 * n_far > weight[values != middle].sum() else limits


def _clipped(rows: Floats, limits: tuple[Floats, Floats] | None) -> Floats:
    return rows if limits is None else np.clip(rows, *limits)


@dataclass(frozen=True)
class TrainingData:
    """What a tree is fitted to."""

    sample: Sample
    """The merged training rows."""
    validation: Sample | None
    """Validation rows that the user gave."""
    feature_names: tuple[str, ...]
    """Names of the encoded features."""
    class_names: tuple[Any, ...] | None
    """Labels of the classes; None for regression."""
    scaling: Scaling
    """Map of the features to training coordinates."""
    previous: Tree | None = None
    """The tree of the last fit, to start from (``warm_start``)."""
    column_of_feature: Ints | None = None
    """Number of the column that each feature comes from; None: each is a column of its own."""
    direction: Ints | None = None
    """1 if outputs must not fall as a feature rises, -1 if they must not rise, else 0; None: 0 for all."""
    groups: Bools | None = None
    """Columns that may meet in a split, one group in each row, (n_groups, n_columns); None: all may."""
    steps: tuple[Floats, Floats] | None = None
    """Factor and constant by which each feature is counted in steps of its column; None: as it comes."""
    is_positive: bool = False
    """Whether targets are counts, sizes or costs, which training divides by their mean (regression)."""
    has_common_scale: bool = False
    """Whether all targets are divided by one number, so that their errors count alike: labels (regression)."""

    @cached_property
    def column(self) -> Ints:
        """Number of the column that each feature comes from."""
        return np.arange(self.n_features) if self.column_of_feature is None else self.column_of_feature

    @property
    def n_features(self) -> int:
        """Number of features that the tree reads."""
        return int(self.sample.X.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of classes, or of targets."""
        return len(self.class_names) if self.class_names is not None else int(self.sample.y.shape[1])

    @property
    def is_constant(self) -> bool:
        """Whether all targets are equal, so that there is nothing to split."""
        return bool((self.sample.y == self.sample.y[0]).all())

    @cached_property
    def target_scale(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each target over the weighted rows; 1 if it never varies (regression).

        For targets that are positive it is 0 and their mean; for labels one deviation for all, so that the error of a
        rare one counts no more than that of another.
        """
        y, weight = self.sample.y, self.sample.weight
        unit = np.maximum(np.abs(y).max(axis=0), np.finfo(float).tiny)  # nothing overflows in any unit
        mean = np.average(y / unit, axis=0, weights=weight)
        std = np.sqrt(np.average(np.square(y / unit - mean), axis=0, weights=weight))
        if self.is_positive:
            return np.zeros_like(mean), mean * unit
        if self.has_common_scale:
            std = np.full_like(std, np.sqrt(np.mean(np.square(std * unit))))
            unit = np.ones_like(unit)
            mean = np.average(y, axis=0, weights=weight)
        return mean * unit, np.where(std > 10 * np.finfo(float).eps, std, 1.0) * unit

    def standardise(self, y: Floats) -> Floats:
        """Map targets to mean 0 and standard deviation 1 over the training rows, or positive ones to mean 1."""
        center, scale = self.target_scale
        standard: Floats = (y - center) / scale
        return standard


def set_aside(data: TrainingData, fraction: float, rng: np.random.Generator) -> tuple[Sample, Sample | None]:
    """Return rows to train on and rows to judge by.

    The rows to judge by are those that the user gave; else a share of the training rows, of each class if there
    are classes; else None if the share is less than one row or there are fewer than ``MIN_ROWS`` rows.
    """
    if data.validation is not None:
        return data.sample, data.validation
    if fraction == 0 or len(data.sample) < MIN_ROWS:
        return data.sample, None
    train, held = split(data.sample, fraction, rng, by_class=data.class_names is not None)
    return train, held if len(held) else None


class Fold(NamedTuple):
    """Rows to train on and rows to judge by; ``positions`` are those of the latter among the training data."""

    train: Sample
    held: Sample
    positions: Ints | None
    """None for validation rows that the user gave."""


def cross_folds(data: TrainingData, fraction: float, rng: np.random.Generator) -> list[Fold]:
    """Divide the rows so that trees can be judged by rows that they were not trained on.

    A small table is cut into ``N_FOLDS`` parts, of each class alike, and each part judges trees trained on the others.
    Of a larger one a fraction is set aside. Validation rows that the user gave take its place.
    """
    sample, n_rows = data.sample, len(data.sample)
    if data.validation is not None:
        return [Fold(sample, data.validation, None)]
    group = sample.y if data.class_names is not None else np.zeros(n_rows, np.int64)
    # Ordered by class, in random order within; every fifth copy of a row in that order is one part.
    order = np.lexsort([rng.random(n_rows), group])
    copies = np.repeat(order, sample.copies[order])
    every = N_FOLDS if n_rows <= MOST_CROSS_ROWS or fraction == 0 else max(2, round(1 / fraction))
    parts = [copies[k::every] for k in range(every if n_rows <= MOST_CROSS_ROWS else 1)]
    share = np.array([np.bincount(part, minlength=n_rows) for part in parts]) / np.bincount(copies, minlength=n_rows)
    return [Fold(_weighted(sample, 1 - held), _weighted(sample, held), np.flatnonzero(held)) for held in share]


def _weighted(sample: Sample, share: Floats) -> Sample:
    """The rows of a sample with a share of their weights; rows without any are left out."""
    kept = np.flatnonzero(share > 0)
    part = sample.take(kept)
    return Sample(part.X, part.index, part.y, part.weight * share[kept], part.unit)
