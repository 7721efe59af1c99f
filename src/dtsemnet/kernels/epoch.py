"""One compiled call runs an epoch: gather, scores, leaf logits, loss and gradient, update.

Parameters are matrices whose last column is the bias: ``splits`` of shape
(n_splits, n_features + 1), ``leaves`` of shape (n_leaves * n_outputs,
n_features + 1) for linear leaves or (n_leaves * n_outputs, 1) for constant
ones. A batch of rows is gathered with a column of ones behind it, so that one
matrix product gives all scores, one all leaf outputs, and one more of each
gives all gradients. Batch and parameters have one dtype, float32 or float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels.adam import adam, squared_norm
from dtsemnet.kernels.classification import class_loss, leaf_slopes
from dtsemnet.kernels.jit import kernel
from dtsemnet.kernels.logits import leaf_logits, parents, path_gradients, split_gradients
from dtsemnet.kernels.regression import AUGMENTED, STRAIGHT_THROUGH, leaf_loss

__all__ = ["Rates", "class_gradients", "leaf_gradients", "class_epoch", "leaf_epoch"]


PATH_COST = 250
"""Multiplications of a dense product in the time of one step up a path, as measured: tells which is cheaper."""


class Rates(NamedTuple):
    """Step size and penalties of one epoch; all of them floats, as kernels want them."""

    split_rate: float
    leaf_rate: float
    split_decay: float
    leaf_decay: float
    split_l1: float
    split_l2: float
    leaf_l1: float
    leaf_l2: float
    clip: float
    """Largest norm of the gradient over all parameters; 0 for no clipping."""


@kernel
def _gather(X: Floats, order: Ints, start: int, batch: Floats) -> None:
    n_samples, n_columns = batch.shape
    for r in range(n_samples):
        row, into = X[order[start + r]], batch[r]
        for j in range(n_columns - 1):
            into[j] = row[j]
        into[n_columns - 1] = 1


@kernel
def class_gradients(
    batch: Floats,
    y: Ints,
    weight: Floats,
    children: Ints,
    leaf_class: Ints,
    n_classes: int,
    splits: Floats,
    temperature: float,
    q: float,
    gradient: Floats,
) -> float:
    """Write the gradient of the mean loss over a batch by ``splits``; return the sum of the losses."""
    n_samples, n_splits, dtype = len(batch), len(splits), splits.dtype
    scores = np.empty((n_splits, n_samples), dtype)
    np.dot(splits, batch.T, scores)
    node = np.empty((2 * n_splits + 1, n_samples), dtype)
    leaf_logits(scores, children, node)
    pooled, spread = np.empty((n_classes, n_samples), dtype), np.empty((n_classes, n_samples), dtype)
    chosen = np.empty((n_classes, n_samples), np.int32)
    loss = class_loss(node[n_splits:], leaf_class, y, weight, temperature, q, pooled, spread, chosen)
    above, depth = parents(children)
    if temperature == 0 and PATH_COST * n_classes * depth < n_splits * splits.shape[1]:
        pooled /= dtype.type(n_samples)
        path_gradients(scores, above, depth, pooled, chosen, batch, gradient)
    else:
        leaf_slopes(node[n_splits:], leaf_class, temperature, pooled, spread, chosen)
        split_gradients(scores, children, node)
        scores /= dtype.type(n_samples)
        np.dot(scores, batch, gradient)
    return loss


@kernel
def leaf_gradients(
    batch: Floats,
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
    split_gradient: Floats,
    leaf_gradient: Floats,
) -> float:
    """Write the gradients of the mean loss over a batch by ``splits`` and ``leaves``; return the sum of the losses."""
    n_samples, n_splits, dtype = len(batch), len(splits), splits.dtype
    scores, output = np.empty((n_splits, n_samples), dtype), np.empty((len(leaves), n_samples), dtype)
    np.dot(splits, batch.T, scores)
    design = batch if leaves.shape[1] == batch.shape[1] else np.ones((n_samples, 1), dtype)
    np.dot(leaves, design.T, output)
    node = np.empty((2 * n_splits + 1, n_samples), dtype)
    leaf_logits(scores, children, node)
    share = np.empty((n_splits + 1, n_samples), dtype)
    total = leaf_loss(node[n_splits:], output, y, weight, selector, k, temperature, loss, parameter, share)
    output /= dtype.type(n_samples)
    np.dot(output, design, leaf_gradient)
    if selector == STRAIGHT_THROUGH or (selector != AUGMENTED and k > 1):
        split_gradients(scores, children, node)
        scores /= dtype.type(n_samples)
        np.dot(scores, batch, split_gradient)
    else:
        split_gradient[:, :] = 0
    return total


@kernel
def class_epoch(
    X: Floats,
    y: Ints,
    weight: Floats,
    order: Ints,
    batch_size: int,
    children: Ints,
    leaf_class: Ints,
    n_classes: int,
    splits: Floats,
    first: Floats,
    second: Floats,
    n_steps: int,
    temperature: float,
    q: float,
    rates: Rates,
) -> tuple[float, int]:
    """Train the splits of a classifier for one epoch, in place.

    Returns the sum of the losses and the number of steps taken; the sum is not
    finite if a batch went wrong, and the steps end there.
    """
    n_samples, dtype = len(order), splits.dtype
    buffer, gradient = np.empty((batch_size, splits.shape[1]), dtype), np.empty_like(splits)
    y_batch, weight_batch = np.empty(batch_size, y.dtype), np.empty(batch_size, dtype)
    total, taken = 0.0, 0
    for start in range(0, n_samples, batch_size):
        size = min(batch_size, n_samples - start)
        batch = buffer[:size]
        _gather(X, order, start, batch)
        for r in range(size):
            y_batch[r], weight_batch[r] = y[order[start + r]], weight[order[start + r]]
        loss = class_gradients(
            batch, y_batch[:size], weight_batch[:size], children, leaf_class, n_classes, splits, temperature, q,
            gradient,
        )  # fmt: skip
        total += loss
        if not np.isfinite(loss):
            break
        taken += 1
        scale = 1.0
        if rates.clip > 0:
            scale = min(1.0, rates.clip / (np.sqrt(squared_norm(gradient)) + 1e-6))
        adam(
            splits, gradient, first, second, n_steps + taken, rates.split_rate, rates.split_decay,
            rates.split_l1, rates.split_l2, splits.shape[1], scale,
        )  # fmt: skip
    return total, taken


@kernel
def leaf_epoch(
    X: Floats,
    y: Floats,
    weight: Floats,
    order: Ints,
    batch_size: int,
    children: Ints,
    splits: Floats,
    split_first: Floats,
    split_second: Floats,
    leaves: Floats,
    leaf_first: Floats,
    leaf_second: Floats,
    n_steps: int,
    selector: int,
    k: int,
    temperature: float,
    loss: int,
    parameter: float,
    rates: Rates,
) -> tuple[float, int]:
    """Train the splits and leaves of a regressor for one epoch, in place; splits rest where their rate is 0."""
    n_samples, dtype = len(order), splits.dtype
    buffer = np.empty((batch_size, X.shape[1] + 1), dtype)
    split_gradient, leaf_gradient = np.empty_like(splits), np.empty_like(leaves)
    y_buffer, weight_batch = np.empty((batch_size, y.shape[1]), dtype), np.empty(batch_size, dtype)
    n_penalised = leaves.shape[1] - 1
    total, taken = 0.0, 0
    for start in range(0, n_samples, batch_size):
        size = min(batch_size, n_samples - start)
        batch, y_batch = buffer[:size], y_buffer[:size]
        _gather(X, order, start, batch)
        for r in range(size):
            weight_batch[r] = weight[order[start + r]]
            for o in range(y.shape[1]):
                y_batch[r, o] = y[order[start + r], o]
        value = leaf_gradients(
            batch, y_batch, weight_batch[:size], children, splits, leaves, selector, k, temperature, loss, parameter,
            split_gradient, leaf_gradient,
        )  # fmt: skip
        total += value
        if not np.isfinite(value):
            break
        taken += 1
        scale = 1.0
        if rates.clip > 0:
            norm = np.sqrt(squared_norm(split_gradient) + squared_norm(leaf_gradient))
            scale = min(1.0, rates.clip / (norm + 1e-6))
        if rates.split_rate > 0:
            adam(
                splits, split_gradient, split_first, split_second, n_steps + taken, rates.split_rate,
                rates.split_decay, rates.split_l1, rates.split_l2, splits.shape[1], scale,
            )  # fmt: skip
        if rates.leaf_rate > 0:
            adam(
                leaves, leaf_gradient, leaf_first, leaf_second, n_steps + taken, rates.leaf_rate,
                rates.leaf_decay, rates.leaf_l1, rates.leaf_l2, n_penalised, scale,
            )  # fmt: skip
    return total, taken
