"""Routing: how a row finds its leaf, in one documented order of summation.

A split's score and a linear leaf's output are both ``w . x + b``. Every sum is
taken in float64, in this order and no other:

1. sixteen partial sums, ``acc[0] ... acc[15]``, each start at ``+0.0``;
2. for ``j`` ascending, ``acc[j % 16] += w[j] * x[j]``: one rounded product, one
   rounded sum, never fused into one operation;
3. the partial sums are joined by halves, ``acc[k] += acc[k + h]`` for ``k < h``
   with ``h = 8, 4, 2, 1``, which leaves the sum in ``acc[0]``;
4. the bias is added last, ``score = acc[0] + b``.

A row goes right if ``score > 0``, left if not. No BLAS, no fast-math, no thread
count and no memory layout enters, so a row's score depends on the row and the
tree alone, and any language with IEEE doubles can repeat it bit for bit.

Because the partial sums start at ``+0.0`` none of them is ever ``-0.0``, and
adding a zero of either sign to anything else changes no bit: **terms with a zero
weight may be left out**, and so may empty partial sums. With up to 16 non-zero
columns inside the first 16 the order is a plain pairwise sum. Here it serves to
pad rows with zeros to whole blocks of 16.

Sixteen sums and not eight: on 784 columns that is a quarter faster (two chains
of additions per core are not enough to hide their latency), on 16 columns equal.

Inputs must be finite. The kernels look at scores only, since a NaN or an
infinity among the inputs makes every score of the row non-finite (``0 * inf`` is
NaN): a check that costs nothing. They return the first row that is to be refused
(non-finite input, or a score that is NaN because finite numbers overflowed to
``inf - inf``), or -1. A score of ``+-inf`` with finite inputs routes by its sign.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels import plain
from dtsemnet.kernels.kernel import LANES, dot, kernel, kernel_until

__all__ = ["LANES", "apply", "decision_path", "first_non_finite", "linear", "pad_rows", "scores"]

_ALIGN = 64  # bytes: a cache line, so that no vector load straddles two
_GROUP = 8  # rows that walk side by side: one row alone waits for each score before it can fetch the next split
_GROUP_WIDTH = 64  # wider rows have work enough in one score, and share the nearest cache with the weights


def pad_rows(matrix: Floats) -> Floats:
    """Lay rows out for the kernels: flat, each padded with zeros to whole blocks of 16, the first on a cache line.

    Examples
    --------
    >>> pad_rows(np.ones((2, 3))).reshape(2, 16).sum(axis=1)
    array([3., 3.])
    """
    n_rows, width = matrix.shape
    padded = -(-width // LANES) * LANES
    room = np.zeros(n_rows * padded + _ALIGN // 8)
    start = -room.ctypes.data % _ALIGN // 8
    flat = room[start : start + n_rows * padded]
    flat.reshape(n_rows, padded)[:, :width] = matrix
    flat.setflags(write=False)
    return flat


@kernel_until(plain.apply)
def apply(X: Array, weight: Floats, bias: Floats, children: Ints, leaf: Ints) -> int:
    """Write the leaf of each row of ``X`` (C order) into ``leaf``; ``weight`` comes from :func:`pad_rows`."""
    n_samples = X.shape[0]
    width = weight.shape[0] // bias.shape[0]
    group = _GROUP if width <= _GROUP_WIDTH else 1
    row = _aligned(group * width)
    node = np.zeros(group, dtype=np.int64)
    for begin in range(0, n_samples, group):
        n_rows = min(group, n_samples - begin)
        for r in range(n_rows):
            # On slices, since an offset in the index keeps the loop from vectors; in place, since a call would count
            # references to them: either would cost half as much as the walk.
            x = X[begin + r]
            into = row[r * width : (r + 1) * width]
            for j in range(x.shape[0]):
                into[j] = x[j]
            node[r] = 0
        refused = -1
        walking = True
        while walking:
            walking = False
            for r in range(n_rows):
                split = node[r]
                if split >= 0:
                    score = dot(weight, split * width, row, r * width, width) + bias[split]
                    if not np.isfinite(score) and _is_refused(score, row, r * width, width):
                        node[r] = -1
                        refused = r if refused < 0 else min(refused, r)
                    else:
                        # An index, not a branch: the side is a coin flip that no branch predictor guesses.
                        child = children[2 * split + (score > 0.0)]
                        node[r] = child
                        walking |= child >= 0
        if refused >= 0:
            return begin + refused
        for r in range(n_rows):
            leaf[begin + r] = ~node[r]
    return -1


@kernel_until(plain.decision_path)
def decision_path(X: Array, weight: Floats, bias: Floats, children: Ints, path: Ints) -> int:
    """Write the splits that each row meets into ``path``, which holds -1 everywhere."""
    n_samples = X.shape[0]
    width = weight.shape[0] // bias.shape[0]
    row = _aligned(width)
    for i in range(n_samples):
        x = X[i]
        for j in range(x.shape[0]):
            row[j] = x[j]
        split = 0
        depth = 0
        while split >= 0:
            path[i, depth] = split
            score = dot(weight, split * width, row, 0, width) + bias[split]
            if not np.isfinite(score) and _is_refused(score, row, 0, width):
                return i
            split = children[2 * split + (score > 0.0)]
            depth += 1
    return -1


@kernel_until(plain.scores)
def scores(X: Array, weight: Floats, bias: Floats, score: Floats) -> int:
    """Write the scores of all splits into ``score``, shape (n_samples, n_splits)."""
    n_samples = X.shape[0]
    n_splits = bias.shape[0]
    width = weight.shape[0] // n_splits
    row = _aligned(_GROUP * width)
    for begin in range(0, n_samples, _GROUP):
        n_rows = min(_GROUP, n_samples - begin)
        for r in range(n_rows):
            x = X[begin + r]
            into = row[r * width : (r + 1) * width]
            for j in range(x.shape[0]):
                into[j] = x[j]
        refused = n_rows
        for split in range(n_splits):  # outside the rows: the weights, the larger array, are fetched once a group
            for r in range(n_rows):
                value = dot(weight, split * width, row, r * width, width) + bias[split]
                if not np.isfinite(value) and _is_refused(value, row, r * width, width):
                    refused = min(refused, r)
                score[begin + r, split] = value
        if refused < n_rows:
            return int(begin + refused)
    return -1


@kernel_until(plain.linear)
def linear(
    X: Array,
    leaf: Ints,
    coef: Floats,
    value: Floats,
    lower: Floats,
    upper: Floats,
    output: Floats,
) -> int:
    """Write ``clip(coef . x + value, lower, upper)`` of each row's leaf into ``output``.

    ``coef`` comes from :func:`pad_rows`, one row for each leaf and output in that order.
    """
    n_samples = X.shape[0]
    n_leaves, n_outputs = value.shape
    width = coef.shape[0] // (n_leaves * n_outputs)
    row = _aligned(width)
    for i in range(n_samples):
        x = X[i]
        for j in range(x.shape[0]):
            row[j] = x[j]
        k = leaf[i]
        for o in range(n_outputs):
            result = dot(coef, (k * n_outputs + o) * width, row, 0, width) + value[k, o]
            if not np.isfinite(result) and _is_refused(result, row, 0, width):
                return i
            if result < lower[k, o]:
                result = lower[k, o]
            elif result > upper[k, o]:
                result = upper[k, o]
            output[i, o] = result
    return -1


@kernel_until(plain.first_non_finite)
def first_non_finite(X: Array) -> int:
    """Find the first row that holds a NaN or an infinity (for trees without a split, which have no score)."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if not np.isfinite(X[i, j]):
                return i
    return -1


@kernel
def _aligned(length: int) -> Floats:
    """Make a buffer of zeros that starts on a cache line."""
    room = np.zeros(length + _ALIGN // 8)
    start = -room.ctypes.data % _ALIGN // 8
    return room[start : start + length]


@kernel
def _is_refused(score: float, row: Floats, start: int, width: int) -> bool:
    """Tell a row that is refused from one whose finite numbers overflowed to an infinity with a sign."""
    if np.isnan(score):
        return True
    finite = True
    for j in range(start, start + width):
        finite &= np.isfinite(row[j])
    return not finite
