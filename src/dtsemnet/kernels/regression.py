"""Regression: the loss of selected leaves, and its gradients by splits and leaves.

A selector weighs the leaves of a sample by ``a``; its prediction is the sum of
``a_j R_j`` over leaves. With ``g`` the derivative of the loss by the prediction,

    dR_j = a_j g        dz_j = a_j (g R_j - g sum_l a_l R_l) / tau

for Top-k (softmax at temperature ``tau`` over the k largest logits; over all
leaves if k reaches their number). For k = 1 the weights are constant and ``dz``
is zero. The straight-through estimator predicts with the leaf reached and takes
``dz`` from the softmax over all leaves. Augmented samples train each sample's
first and second choice on the target, each by itself.

Three losses are deviances of counts, sizes and costs. Their prediction is the logarithm of a mean (the log link), which
is positive whatever the leaves hold; a softmax mixes logarithms.

``leaves`` holds one row per leaf and output, (leaves * outputs, features + 1)
for linear leaves or (leaves * outputs, 1) for constant ones.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels.kernel import exp, kernel
from dtsemnet.kernels.logits import best_leaves, leaf_logits, split_gradients
from dtsemnet.kernels.rows import BLOCK, Rows, gather, new_batch

__all__ = [
    "DEVIANCES",
    "LOSSES",
    "SELECTORS",
    "LossName",
    "RegressionLoss",
    "SelectorName",
    "losses_of",
    "regression_forward",
    "regression_gradients",
    "regression_loss",
    "selected_loss",
]

SelectorName = Literal["top_k", "straight_through", "augmented"]
"""How the leaves that predict and learn are chosen."""
SELECTORS = {name: number for number, name in enumerate(get_args(SelectorName))}
TOP_K, STRAIGHT_THROUGH, AUGMENTED = SELECTORS.values()

LossName = Literal["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
"""The losses, by scikit-learn's names. A new one needs a branch in ``_loss`` and a line in ``training/torch.py``."""
LOSSES = {name: number for number, name in enumerate(get_args(LossName))}
SQUARED_ERROR, ABSOLUTE_ERROR, HUBER, QUANTILE, POISSON, GAMMA, TWEEDIE = LOSSES.values()
DEVIANCES: tuple[LossName, ...] = ("poisson", "gamma", "tweedie")
"""Losses whose prediction is the logarithm of a mean."""


class RegressionLoss(NamedTuple):
    """The settings of the loss: numbers from ``SELECTORS`` and ``LOSSES``, a positive temperature of the softmax."""

    selector: int
    k: int
    temperature: float
    loss: int
    parameter: float


@kernel
def regression_loss(rows: Rows, children: Ints, splits: Floats, leaves: Floats, loss: RegressionLoss) -> float:
    """Compute the weighted sum of the losses of rows, without a gradient."""
    total, batch = 0.0, new_batch(rows, BLOCK)
    for start in range(0, len(rows.X), BLOCK):
        block = gather(rows, np.arange(start, min(start + BLOCK, len(rows.X))), batch)
        _, node, output, _ = regression_forward(block, children, splits, leaves)
        total += selected_loss(node[len(splits) :], output, block.y, block.weight, loss)
    return total


@kernel
def regression_gradients(
    batch: Rows,
    children: Ints,
    splits: Floats,
    leaves: Floats,
    loss: RegressionLoss,
    split_gradient: Floats,
    leaf_gradient: Floats,
) -> float:
    """Write the gradients of the mean loss of a batch by ``splits`` and ``leaves``; return the sum of the losses."""
    scores, node, output, design = regression_forward(batch, children, splits, leaves)
    total = selected_loss(node[len(splits) :], output, batch.y, batch.weight, loss)
    mean = splits.dtype.type(len(batch.X))
    output /= mean
    np.dot(output, design, leaf_gradient)
    if loss.selector == STRAIGHT_THROUGH or (loss.selector != AUGMENTED and loss.k > 1):
        split_gradients(scores, children, node)
        scores /= mean
        np.dot(scores, batch.X, split_gradient)
    else:
        split_gradient[:, :] = 0
    return total


@kernel
def regression_forward(
    batch: Rows, children: Ints, splits: Floats, leaves: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute what the loss needs.

    Returns the scores (splits x batch); ``node``, which ends with the logits of the leaves; the outputs of all leaves,
    (leaves * outputs x batch); and the columns that the leaves read: the batch, or its column of ones.
    """
    n_samples, n_splits, dtype = len(batch.X), len(splits), splits.dtype
    scores, output = np.empty((n_splits, n_samples), dtype), np.empty((len(leaves), n_samples), dtype)
    np.dot(splits, batch.X.T, scores)
    design = batch.X if leaves.shape[1] == batch.X.shape[1] else np.ones((n_samples, 1), dtype)
    np.dot(leaves, design.T, output)
    node = np.empty((2 * n_splits + 1, n_samples), dtype)
    leaf_logits(scores, children, node)
    return scores, node, output, design


@kernel
def selected_loss(logit: Floats, output: Floats, y: Floats, weight: Floats, loss: RegressionLoss) -> float:
    """Return the weighted sum of losses; overwrite ``logit`` and ``output`` with their gradients.

    Shapes: ``logit`` (leaves x batch), ``output`` (leaves * outputs x batch), ``y`` (batch x outputs).
    """
    n_leaves, temperature = len(logit), loss.temperature
    if loss.selector == AUGMENTED:
        return _augmented_loss(logit, output, y, weight, loss.loss, loss.parameter)
    k, share = min(loss.k, n_leaves), np.empty(logit.shape, logit.dtype)
    if loss.selector == STRAIGHT_THROUGH or k == 1:
        _share_top(logit, 1, temperature, share)
    elif k == n_leaves:
        _share_all(logit, temperature, share)
    else:
        _share_top(logit, k, temperature, share)
    slope = _combine(share, output, y.shape[1])  # the predictions
    total = _derive(slope, y, weight, loss.loss, loss.parameter)  # now the derivatives of the loss by them
    if loss.selector == STRAIGHT_THROUGH:
        soft = np.empty_like(share)
        _share_all(logit, temperature, soft)
        _logit_gradients(logit, output, slope, soft, temperature)
    elif k == 1:
        logit[:, :] = 0
    else:
        _logit_gradients(logit, output, slope, share, temperature)
    _output_gradients(output, slope, share)
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
        # The leaf reached has logit 0, unless a score is nan.
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
    """Return the sum of losses (mean over outputs), and overwrite the predictions with their derivatives."""
    n_outputs, n_samples = prediction.shape
    total, per_output = 0.0, prediction.dtype.type(1 / n_outputs)
    for o in range(n_outputs):
        for b in range(n_samples):
            value, slope = _loss(prediction[o, b], y[b, o], loss, prediction.dtype.type(parameter))
            total += weight[b] * value * per_output
            prediction[o, b] = weight[b] * slope * per_output
    return total


@kernel
def losses_of(prediction: Floats, y: Floats, loss: int, parameter: float) -> Floats:
    """Compute the loss of each prediction of a matrix, given the targets."""
    value = np.empty_like(prediction)
    for i in range(prediction.shape[0]):
        for o in range(prediction.shape[1]):
            value[i, o] = _loss(prediction[i, o], y[i, o], loss, prediction.dtype.type(parameter))[0]
    return value


@kernel
def _loss(prediction: Any, y: Any, loss: int, parameter: Any) -> Any:
    """Loss of one prediction and its derivative.

    Deviances are halved, and a part is left out that depends on the target alone.
    """
    residual = prediction - y
    zero, one, two = residual * 0, parameter * 0 + 1, parameter * 0 + 2
    if loss == POISSON:
        mean = exp(prediction)
        return mean - y * prediction, mean - y
    if loss == GAMMA:
        ratio = y * exp(-prediction)
        return ratio + prediction, one - ratio
    if loss == TWEEDIE:
        first, second = y * exp((one - parameter) * prediction), exp((two - parameter) * prediction)
        return first / (parameter - one) + second / (two - parameter), second - first
    size = abs(residual)
    sign = one if residual > 0 else (-one if residual < 0 else zero)
    if loss == SQUARED_ERROR:
        return residual * residual, two * residual
    if loss == ABSOLUTE_ERROR:
        return size, sign
    if loss == HUBER:
        if size <= parameter:
            return residual * residual / two, residual
        return parameter * (size - parameter / two), parameter * sign
    # Pinball loss: a quantile above one half penalises predictions that are too low.
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
                value, derivative = _loss(output[row, b], y[b, o], loss, output.dtype.type(parameter))
                total += weight[b] * value * part
                slope[row, b] = weight[b] * derivative * part
    for row in range(len(output)):
        for b in range(n_samples):
            output[row, b] = slope[row, b]
    logit[:, :] = 0
    return total
