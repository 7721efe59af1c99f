"""Routing in numpy, with the same bits: what predicts until there is machine code.

Where the package came without compiled kernels, numba takes seconds to import and compile them. A program that
predicts a few rows has its answers here before that, see :class:`dtsemnet.kernels.kernel.Kernel`. The functions take
the arguments of the kernels of the same name, and refuse the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats, Ints

__all__ = ["apply", "class_margins", "decision_path", "first_non_finite", "linear", "scores"]

_LANES = 16
_BLOCK = 4096  # rows at a time


def apply(X: Array, weight: Floats, bias: Floats, children: Ints, leaf: Ints) -> int:
    """Write the leaf of each row into ``leaf``."""
    for start, rows in _blocks(X, weight, bias):
        node, refused = np.zeros(len(rows), np.int64), len(rows)
        for walking, split, score, bad in _levels(rows, weight, bias, children, node):
            refused = min([refused, *walking[bad].tolist()])
            node[walking] = np.where(bad, -1, children[2 * split + (score > 0.0)])
        if refused < len(rows):
            return int(start + refused)
        leaf[start : start + len(rows)] = ~node
    return -1


def decision_path(X: Array, weight: Floats, bias: Floats, children: Ints, path: Ints) -> int:
    """Write the splits that each row meets into ``path``, which holds -1 everywhere."""
    for start, rows in _blocks(X, weight, bias):
        node, refused = np.zeros(len(rows), np.int64), len(rows)
        for depth, (walking, split, score, bad) in enumerate(_levels(rows, weight, bias, children, node)):
            path[start + walking, depth] = split
            refused = min([refused, *walking[bad].tolist()])
            node[walking] = np.where(bad, -1, children[2 * split + (score > 0.0)])
        if refused < len(rows):
            return int(start + refused)
    return -1


def scores(X: Array, weight: Floats, bias: Floats, score: Floats) -> int:
    """Write the scores of all splits into ``score``."""
    matrix = weight.reshape(len(bias), -1)
    for start, rows in _blocks(X, weight, bias):
        values = score[start : start + len(rows)]
        for split in range(len(bias)):
            values[:, split] = _dot(matrix[split], rows) + bias[split]
        bad = np.flatnonzero(_refused(values, rows).any(axis=1))
        if len(bad):
            return int(start + bad[0])
    return -1


def linear(
    X: Array, leaf: Ints, coef: Floats, value: Floats, lower: Floats, upper: Floats, output: Floats
) -> int:  # fmt: skip
    """Write ``clip(coef . x + value, lower, upper)`` of each row's leaf into ``output``."""
    n_leaves, n_outputs = value.shape
    matrix = coef.reshape(n_leaves, n_outputs, -1)
    for start, rows in _blocks(X, coef, value.ravel()):
        at, values = leaf[start : start + len(rows)], output[start : start + len(rows)]
        for o in range(n_outputs):
            values[:, o] = _dot(matrix[at, o], rows) + value[at, o]
        bad = np.flatnonzero(_refused(values, rows).any(axis=1))
        if len(bad):
            return int(start + bad[0])
        values[...] = np.where(values < lower[at], lower[at], np.where(values > upper[at], upper[at], values))
    return -1


def first_non_finite(X: Array) -> int:
    """Find the first row that holds a NaN or an infinity."""
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    return int(bad[0]) if len(bad) else -1


def class_margins(scores: Floats, children: Ints, leaf_class: Ints, n_classes: int) -> Floats:
    """Compute minus the largest logit among the leaves of each class: (rows, n_classes), infinite without a leaf."""
    margin = np.full((len(scores), n_classes), np.inf)
    logit = {0: np.zeros(len(scores))}
    for split, score in enumerate(scores.T):
        above = logit.pop(split)
        logit[int(children[split, 0])] = above - np.where(score <= 0, 0.0, score)
        logit[int(children[split, 1])] = above + np.where(score >= 0, 0.0, score)
    if not len(children):
        logit = {-1: logit[0]}
    for node, value in logit.items():
        column = margin[:, leaf_class[~node]]
        np.copyto(column, -value, where=-value < column)
    return margin


def _blocks(X: Array, weight: Floats, bias: Floats) -> Iterator[tuple[int, Floats]]:
    """Rows in float64, padded to the width of the weights, with the number of the first."""
    width = len(weight) // len(bias)
    for start in range(0, len(X), _BLOCK):
        part = X[start : start + _BLOCK]
        rows = np.zeros((len(part), width))
        rows[:, : X.shape[1]] = part
        yield start, rows


def _levels(
    rows: Floats, weight: Floats, bias: Floats, children: Ints, node: Ints
) -> Iterator[tuple[Ints, Ints, Floats, Bools]]:
    """The rows that are at a split, their splits and scores, and which are refused; the caller moves them on."""
    matrix = weight.reshape(len(bias), -1)
    while len(walking := np.flatnonzero(node >= 0)):
        split = node[walking]
        score = _dot(matrix[split], rows[walking]) + bias[split]
        yield walking, split, score, _refused(score, rows[walking])


def _dot(weight: Floats, rows: Floats) -> Floats:
    """The sum of products in the order of :mod:`dtsemnet.kernels.routing`."""
    total = np.zeros((len(rows), _LANES))
    with np.errstate(all="ignore"):
        for j in range(0, rows.shape[1], _LANES):
            total += weight[..., j : j + _LANES] * rows[:, j : j + _LANES]
        while total.shape[1] > 1:
            half = total.shape[1] // 2
            total = total[:, :half] + total[:, half:]
    return total[:, 0]


def _refused(score: Floats, rows: Floats) -> Bools:
    """Rows whose score is NaN, or not finite since the row is not."""
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    return np.isnan(score) | ~(np.isfinite(score) | (finite if score.ndim == 1 else finite[:, None]))
