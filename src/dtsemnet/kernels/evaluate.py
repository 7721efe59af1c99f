"""What a network in training says of rows, without a gradient: leaves, choices, losses.

Rows go through in blocks, so that no array of (rows x leaves) is ever made.
These kernels read the training coordinates (float32, BLAS) and serve early
stopping and the reassignment of leaf classes; what users are told of a tree is
computed from the tree.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels.classification import class_loss
from dtsemnet.kernels.jit import kernel
from dtsemnet.kernels.logits import best_leaves, leaf_logits, walk
from dtsemnet.kernels.regression import leaf_loss

__all__ = ["reached", "choices", "class_evaluate", "leaf_evaluate"]


BLOCK = 256


@kernel
def with_ones(rows: Floats) -> Floats:
    """Put the column of ones behind some rows."""
    n_samples, n_features = rows.shape
    batch = np.ones((n_samples, n_features + 1), rows.dtype)
    for r in range(n_samples):  # as loops: the assignment of a slice takes numba seconds to compile
        for j in range(n_features):
            batch[r, j] = rows[r, j]
    return batch


@kernel
def reached(X: Floats, splits: Floats, children: Ints) -> Ints:
    """Leaf that each row reaches."""
    leaf = np.empty(len(X), np.int64)
    for start in range(0, len(X), BLOCK):
        batch = with_ones(X[start : start + BLOCK])
        walk(np.dot(splits, batch.T), children, leaf[start : start + BLOCK])
    return leaf


@kernel
def choices(scores: Floats, children: Ints, n_choices: int) -> Ints:
    """Leaves of largest logit for each row of ``scores`` (rows x splits), best first: shape (rows, n_choices)."""
    n_samples, n_splits = scores.shape
    found = np.empty((n_samples, n_choices), np.int64)
    for start in range(0, n_samples, BLOCK):
        size = min(BLOCK, n_samples - start)
        block = np.empty((n_splits, size), scores.dtype)
        for b in range(size):
            for i in range(n_splits):
                block[i, b] = scores[start + b, i]
        node = np.empty((2 * n_splits + 1, size), scores.dtype)
        leaf_logits(block, children, node)
        best, index = np.empty((n_choices, size), scores.dtype), np.empty((n_choices, size), np.int64)
        best_leaves(node[n_splits:], best, index)
        for b in range(size):
            for r in range(n_choices):
                found[start + b, r] = index[r, b]
    return found


@kernel
def class_evaluate(
    X: Floats,
    y: Ints,
    weight: Floats,
    children: Ints,
    leaf_class: Ints,
    n_classes: int,
    splits: Floats,
    temperature: float,
    q: float,
) -> float:
    """Sum of the classification losses of rows."""
    total, n_splits, dtype = 0.0, len(splits), splits.dtype
    for start in range(0, len(X), BLOCK):
        batch = with_ones(X[start : start + BLOCK])
        size = len(batch)
        scores, node = np.dot(splits, batch.T), np.empty((2 * n_splits + 1, size), dtype)
        leaf_logits(scores, children, node)
        pooled, spread = np.empty((n_classes, size), dtype), np.empty((n_classes, size), dtype)
        chosen = np.empty((n_classes, size), np.int32)
        total += class_loss(
            node[n_splits:], leaf_class, y[start : start + BLOCK], weight[start : start + BLOCK],
            temperature, q, pooled, spread, chosen,
        )  # fmt: skip
    return total


@kernel
def leaf_evaluate(
    X: Floats,
    y: Floats,
    weight: Floats,
    children: Ints,
    splits: Floats,
    leaves: Floats,
    selector: int,
    k: int,
    temperature: float,
    loss: int,
    parameter: float,
) -> float:
    """Sum of the regression losses of rows."""
    total, n_splits, dtype = 0.0, len(splits), splits.dtype
    for start in range(0, len(X), BLOCK):
        batch = with_ones(X[start : start + BLOCK])
        size = len(batch)
        design = batch if leaves.shape[1] == batch.shape[1] else np.ones((size, 1), dtype)
        scores, output = np.dot(splits, batch.T), np.dot(leaves, design.T)
        node, share = np.empty((2 * n_splits + 1, size), dtype), np.empty((n_splits + 1, size), dtype)
        leaf_logits(scores, children, node)
        total += leaf_loss(
            node[n_splits:], output, y[start : start + BLOCK], weight[start : start + BLOCK],
            selector, k, temperature, loss, parameter, share,
        )  # fmt: skip
    return total
