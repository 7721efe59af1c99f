"""Classification: the loss over pooled leaf logits, and its gradient by the splits.

The logit of a class pools those of its leaves: by the maximum (temperature 0),
or by ``tau * logsumexp(z / tau)``, whose limit is the maximum. The loss of a
sample is cross-entropy, or its bounded form ``(1 - p^q) / q`` whose gradient is
that of cross-entropy times ``p^q``; q = 0 means cross-entropy.

A class that no leaf holds pools to -inf: its samples add the loss of the
probability ``UNSERVED`` and no gradient.

To save memory traffic, arrays are overwritten: ``logit`` holds logits, then
exponentials, then gradients; ``pooled`` holds logits of classes, then their
gradients. Loops run over one array at a time, since only such short loops are
vectorised.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels.kernel import exp, kernel, log
from dtsemnet.kernels.logits import leaf_logits, parents, path_gradients, split_gradients
from dtsemnet.kernels.rows import BLOCK, Rows, gather, new_batch

__all__ = ["UNSERVED", "ClassLoss", "classification_gradients", "classification_loss"]

UNSERVED = 1e-7
"""Probability granted to a class without leaves, so that its samples add a constant to the loss."""
PATH_COST = 250
"""Multiplications of a dense product in the time of one step up a path, as measured; decides which is cheaper."""


class ClassLoss(NamedTuple):
    """The settings of the loss."""

    n_classes: int
    temperature: float
    """Temperature of the pooling; 0 is the maximum."""
    q: float
    """Exponent of the bounded loss; 0 is cross-entropy."""


@kernel
def classification_loss(rows: Rows, children: Ints, leaf_class: Ints, splits: Floats, loss: ClassLoss) -> float:
    """Compute the weighted sum of the losses of rows, without a gradient."""
    total, batch = 0.0, new_batch(rows, BLOCK)
    for start in range(0, len(rows.X), BLOCK):
        block = gather(rows, np.arange(start, min(start + BLOCK, len(rows.X))), batch)
        total += _forward(block, children, leaf_class, splits, loss)[0]
    return total


@kernel
def classification_gradients(
    batch: Rows, children: Ints, leaf_class: Ints, splits: Floats, loss: ClassLoss, gradient: Floats
) -> float:
    """Write the gradient of the mean loss of a batch by ``splits``, both of shape (splits, features + 1).

    Returns the weighted sum of the losses.
    """
    total, scores, node, pooled, exp_sum, chosen = _forward(batch, children, leaf_class, splits, loss)
    n_splits, mean = len(splits), splits.dtype.type(len(batch.X))
    if loss.temperature == 0:
        step_cost, product_cost = PATH_COST * loss.n_classes, n_splits * splits.shape[1]
        if step_cost < product_cost:  # before the parents are looked up, which in small trees takes time
            above, depth = parents(children)
            if step_cost * depth < product_cost:
                pooled /= mean
                path_gradients(scores, above, depth, pooled, chosen, batch.X, gradient)
                return total
        _give_to_chosen(node[n_splits:], leaf_class, pooled, chosen)
    else:
        _spread_over_leaves(node[n_splits:], leaf_class, pooled, exp_sum)
    split_gradients(scores, children, node)
    scores /= mean
    np.dot(scores, batch.X, gradient)
    return total


@kernel
def _forward(
    batch: Rows, children: Ints, leaf_class: Ints, splits: Floats, loss: ClassLoss
) -> tuple[float, Floats, Floats, Floats, Floats, Ints]:
    """Compute scores, leaf logits, pooled classes and the loss.

    Returns the weighted sum of the losses; the scores; ``node`` with the logits of the leaves; the gradient of the
    sum by the pooled logits, (classes x batch); the sums of exponentials of each class; the leaf of largest logit of
    each class, -1 if it has none.
    """
    n_samples, n_splits, dtype = len(batch.X), len(splits), splits.dtype
    scores, node = np.empty((n_splits, n_samples), dtype), np.empty((2 * n_splits + 1, n_samples), dtype)
    np.dot(splits, batch.X.T, scores)
    leaf_logits(scores, children, node)
    pooled, exp_sum = np.empty((loss.n_classes, n_samples), dtype), np.empty((loss.n_classes, n_samples), dtype)
    chosen = np.empty((loss.n_classes, n_samples), np.int32)
    _pool_by_max(node[n_splits:], leaf_class, pooled, chosen)
    if loss.temperature > 0:
        _pool_smoothly(node[n_splits:], leaf_class, loss.temperature, pooled, exp_sum)
    total = _cross_entropy(pooled, chosen, batch.y, batch.weight, loss.q)
    return total, scores, node, pooled, exp_sum, chosen


@kernel
def _pool_by_max(logit: Floats, leaf_class: Ints, pooled: Floats, chosen: Ints) -> None:
    pooled[:, :] = -np.inf
    chosen[:, :] = -1
    for j in range(len(logit)):
        _keep_larger(logit[j], chosen.dtype.type(j), pooled[leaf_class[j]], chosen[leaf_class[j]])


@kernel
def _keep_larger(z: Floats, leaf: Any, top: Floats, best: Ints) -> None:
    for b in range(len(z)):
        better = z[b] > top[b]  # strictly: the first of equals stays
        top[b] = z[b] if better else top[b]
        best[b] = leaf if better else best[b]


@kernel
def _pool_smoothly(logit: Floats, leaf_class: Ints, temperature: float, pooled: Floats, exp_sum: Floats) -> None:
    """Turn maxima into ``tau * logsumexp``; write ``exp((z - max) / tau)`` to ``logit``, the sums to ``exp_sum``."""
    n_leaves, n_samples = logit.shape
    tau, inverse, tiny = logit.dtype.type(temperature), logit.dtype.type(1 / temperature), logit.dtype.type(1e-30)
    exp_sum[:, :] = 0
    for j in range(n_leaves):
        _add_exp(logit[j], pooled[leaf_class[j]], inverse, exp_sum[leaf_class[j]])
    for c in range(len(pooled)):
        top, total = pooled[c], exp_sum[c]
        for b in range(n_samples):
            top[b] += tau * log(max(total[b], tiny))


@kernel
def _add_exp(z: Floats, top: Floats, inverse: Any, total: Floats) -> None:
    for b in range(len(z)):
        z[b] = exp((z[b] - top[b]) * inverse)
        total[b] += z[b]


@kernel
def _cross_entropy(pooled: Floats, chosen: Ints, y: Ints, weight: Floats, q: float) -> float:
    """Return the weighted sum of losses and overwrite ``pooled`` (classes x batch) with its gradient."""
    n_classes, n_samples = pooled.shape
    real = pooled.dtype.type
    top, total = pooled[0].copy(), np.zeros(n_samples, pooled.dtype)
    factor = np.empty(n_samples, pooled.dtype)
    for c in range(1, n_classes):
        for b in range(n_samples):
            top[b] = max(top[b], pooled[c, b])
    # If no leaf holds the class of a row, its probability is a constant and its gradient is zero.
    own, pull = np.empty(n_samples, pooled.dtype), np.empty(n_samples, pooled.dtype)
    for b in range(n_samples):
        served = chosen[y[b], b] >= 0
        own[b] = pooled[y[b], b] - top[b] if served else real(0)
        pull[b] = weight[b] if served else real(0)
    for c in range(n_classes):
        row = pooled[c]
        for b in range(n_samples):
            row[b] = exp(row[b] - top[b])
            total[b] += row[b]
    for b in range(n_samples):
        log_p = own[b] - log(total[b])
        own[b] = log_p if pull[b] > 0 or weight[b] == 0 else real(math.log(UNSERVED))
    loss = 0.0
    for b in range(n_samples):
        # The leaf reached has logit 0, so the best class has at least 0, unless a score is nan.
        loss += 0.0 if top[b] >= 0 else np.nan
    if q > 0:
        exponent, inverse = real(q), 1.0 / q
        for b in range(n_samples):
            own[b] = exp(exponent * own[b])
            factor[b] = pull[b] * own[b]
        for b in range(n_samples):
            loss += weight[b] * (1.0 - own[b]) * inverse
    else:
        for b in range(n_samples):
            factor[b] = pull[b]
            loss -= weight[b] * own[b]
    for b in range(n_samples):
        total[b] = factor[b] / total[b]
    for c in range(n_classes):
        row = pooled[c]
        for b in range(n_samples):
            row[b] *= total[b]
    for b in range(n_samples):
        pooled[y[b], b] -= factor[b]
    return loss


@kernel
def _give_to_chosen(logit: Floats, leaf_class: Ints, gradient: Floats, chosen: Ints) -> None:
    """Overwrite logits with their gradients: those of the classes, each at the leaf of largest logit."""
    for j in range(len(logit)):
        _give(logit[j], gradient[leaf_class[j]], chosen[leaf_class[j]], chosen.dtype.type(j))


@kernel
def _give(z: Floats, gradient: Floats, best: Ints, leaf: Any) -> None:
    zero = z.dtype.type(0)
    for b in range(len(z)):
        z[b] = gradient[b] if best[b] == leaf else zero


@kernel
def _spread_over_leaves(logit: Floats, leaf_class: Ints, gradient: Floats, exp_sum: Floats) -> None:
    """Overwrite exponentials with the gradients of the logits: those of the classes, shared out by the softmax."""
    n_classes, n_samples = gradient.shape
    tiny = logit.dtype.type(1e-30)
    for c in range(n_classes):
        for b in range(n_samples):
            gradient[c, b] /= max(exp_sum[c, b], tiny)
    for j in range(len(logit)):
        z, g = logit[j], gradient[leaf_class[j]]
        for b in range(n_samples):
            z[b] *= g[b]
