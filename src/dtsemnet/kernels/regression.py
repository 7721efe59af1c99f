"""Regression loss of selected leaves, with the gradients of leaf logits and leaf outputs.

A selector weighs the leaves of a sample by ``a``; its prediction is the sum of
``a_j R_j`` over leaves. With ``g`` the derivative of the loss by the prediction,

    dR_j = a_j g        dz_j = a_j (g R_j - g sum_l a_l R_l) / tau

for Top-k (softmax at temperature ``tau`` over the k largest logits; all leaves
when k reaches their number). For k = 1 the weights are constant and ``dz`` is
zero. The straight-through estimator predicts with the reached leaf and takes
``dz`` from the softmax over all leaves. Augmented samples train each sample's
first and second choice on the target, each by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.kernels.elementary import exp
from dtsemnet.kernels.jit import kernel
from dtsemnet.kernels.logits import best_leaves

__all__ = ["TOP_K", "STRAIGHT_THROUGH", "AUGMENTED", "SQUARED", "ABSOLUTE", "HUBER", "PINBALL", "leaf_loss"]

TOP_K, STRAIGHT_THROUGH, AUGMENTED = 0, 1, 2
SQUARED, ABSOLUTE, HUBER, PINBALL = 0, 1, 2, 3


@kernel
def leaf_loss(
    logit: Floats,
    output: Floats,
    y: Floats,
    weight: Floats,
    selector: int,
    k: int,
    temperature: float,
    loss: int,
    parameter: float,
    share: Floats,
) -> float:
    """Return the weighted sum of losses; overwrite ``logit`` and ``output`` with their gradients.

    Parameters
    ----------
    logit : (leaves, batch)
    output : (leaves * outputs, batch), the outputs of a leaf side by side
    y : (batch, outputs)
    share : (leaves, batch), work space
    """
    n_leaves = len(logit)
    if selector == AUGMENTED:
        return _augmented_loss(logit, output, y, weight, loss, parameter)
    k = min(k, n_leaves)
    if selector == STRAIGHT_THROUGH or k == 1:
        _share_top(logit, 1, temperature, share)
    elif k == n_leaves:
        _share_all(logit, temperature, share)
    else:
        _share_top(logit, k, temperature, share)
    prediction = _combine(share, output, y.shape[1])
    total = _derive(prediction, y, weight, loss, parameter)  # prediction now holds g
    if selector == STRAIGHT_THROUGH:
        soft = np.empty_like(share)
        _share_all(logit, temperature, soft)
        _logit_gradients(logit, output, prediction, soft, temperature)
    elif k == 1:
        logit[:, :] = 0
    else:
        _logit_gradients(logit, output, prediction, share, temperature)
    _output_gradients(output, prediction, share)
    return total


@kernel
def _share_all(logit: Floats, temperature: float, share: Floats) -> None:
    """Softmax over all leaves. No shift is needed: the largest logit is exactly 0."""
    n_leaves, n_samples = logit.shape
    inverse = logit.dtype.type(1 / temperature)
    total = np.zeros(n_samples, logit.dtype)
    for j in range(n_leaves):
        for b in range(n_samples):
            share[j, b] = exp(logit[j, b] * inverse)
            total[b] += share[j, b]
    for j in range(n_leaves):
        for b in range(n_samples):
            share[j, b] /= total[b]


@kernel
def _share_top(logit: Floats, k: int, temperature: float, share: Floats) -> None:
    """Softmax over the k largest logits, zero elsewhere."""
    n_samples = logit.shape[1]
    inverse = logit.dtype.type(1 / temperature)
    best, index = np.empty((k, n_samples), logit.dtype), np.empty((k, n_samples), np.int32)
    best_leaves(logit, best, index)
    total = np.zeros(n_samples, logit.dtype)
    for b in range(n_samples):
        # The leaf reached has logit 0; a nan among the scores hides it.
        total[b] = 0 if best[0, b] >= 0 else np.nan
    for r in range(k):
        for b in range(n_samples):
            best[r, b] = exp(best[r, b] * inverse)
            total[b] += best[r, b]
    share[:, :] = 0
    for r in range(k):
        for b in range(n_samples):
            share[index[r, b], b] = best[r, b] / total[b]


@kernel
def _combine(share: Floats, output: Floats, n_outputs: int) -> Floats:
    n_leaves, n_samples = share.shape
    prediction = np.zeros((n_outputs, n_samples), output.dtype)
    for j in range(n_leaves):
        for o in range(n_outputs):
            row, a, into = output[j * n_outputs + o], share[j], prediction[o]
            for b in range(n_samples):
                into[b] += a[b] * row[b]
    return prediction


@kernel
def _derive(prediction: Floats, y: Floats, weight: Floats, loss: int, parameter: float) -> float:
    """Return the sum of losses (mean over outputs), and put their derivatives in place of the predictions."""
    n_outputs, n_samples = prediction.shape
    total, per_output = 0.0, prediction.dtype.type(1 / n_outputs)
    for o in range(n_outputs):
        for b in range(n_samples):
            value, slope = _loss(prediction[o, b] - y[b, o], loss, prediction.dtype.type(parameter))
            total += weight[b] * value * per_output
            prediction[o, b] = weight[b] * slope * per_output
    return total


@kernel
def _loss(residual: Any, loss: int, parameter: Any) -> Any:
    """Loss of one residual (prediction less target) and its derivative."""
    zero, one, two = residual * 0, parameter * 0 + 1, parameter * 0 + 2
    size = abs(residual)
    sign = one if residual > 0 else (-one if residual < 0 else zero)
    if loss == SQUARED:
        return residual * residual, two * residual
    if loss == ABSOLUTE:
        return size, sign
    if loss == HUBER:
        if size <= parameter:
            return residual * residual / two, residual
        return parameter * (size - parameter / two), parameter * sign
    # Pinball: a quantile above one half punishes predictions that are too low.
    slope = (one - parameter) if residual > 0 else (-parameter if residual < 0 else zero)
    return slope * residual, slope


@kernel
def _logit_gradients(logit: Floats, output: Floats, slope: Floats, share: Floats, temperature: float) -> None:
    n_leaves, n_samples = logit.shape
    n_outputs = len(slope)
    inverse, mean = logit.dtype.type(1 / temperature), np.zeros(n_samples, logit.dtype)
    for j in range(n_leaves):
        z = logit[j]
        for b in range(n_samples):
            z[b] = 0
        for o in range(n_outputs):
            row, g = output[j * n_outputs + o], slope[o]
            for b in range(n_samples):
                z[b] += g[b] * row[b]
        for b in range(n_samples):
            mean[b] += share[j, b] * z[b]
    for j in range(n_leaves):
        for b in range(n_samples):
            logit[j, b] = share[j, b] * (logit[j, b] - mean[b]) * inverse


@kernel
def _output_gradients(output: Floats, slope: Floats, share: Floats) -> None:
    n_leaves, n_samples = share.shape
    n_outputs = len(slope)
    for j in range(n_leaves):
        for o in range(n_outputs):
            row, a, g = output[j * n_outputs + o], share[j], slope[o]
            for b in range(n_samples):
                row[b] = a[b] * g[b]


@kernel
def _augmented_loss(logit: Floats, output: Floats, y: Floats, weight: Floats, loss: int, parameter: float) -> float:
    """Loss of the first and of the second choice, each by itself, each counting half."""
    n_leaves, n_samples = logit.shape
    n_choices, n_outputs = min(2, n_leaves), y.shape[1]
    best, index = np.empty((n_choices, n_samples), logit.dtype), np.empty((n_choices, n_samples), np.int32)
    best_leaves(logit, best, index)
    slope = np.zeros(output.shape, output.dtype)
    total, part = 0.0, output.dtype.type(1 / (n_choices * n_outputs))
    for r in range(n_choices):
        for b in range(n_samples):
            for o in range(n_outputs):
                row = index[r, b] * n_outputs + o
                value, derivative = _loss(output[row, b] - y[b, o], loss, output.dtype.type(parameter))
                total += weight[b] * value * part
                slope[row, b] = weight[b] * derivative * part
    for row in range(len(output)):
        for b in range(n_samples):
            output[row, b] = slope[row, b]
    logit[:, :] = 0
    return total
