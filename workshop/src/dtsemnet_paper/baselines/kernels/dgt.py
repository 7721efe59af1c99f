"""Dense gradient trees: hard forwards, relaxed backwards (Karthikeyan et al. 2022).

In the forward pass the network is the tree. Its scores ``z`` are quantised to
``sign(z) m`` with ``m`` the mean of ``|z|`` over the batch. The value of a leaf is the
sum of the quantised scores along its path, negated at splits that it lies left of. The
leaf of largest value, which is the one that the tree reaches, gives the output. In the
backward pass

- the one-hot vector of the leaf counts as the softmax over the leaves' values,
- the quantised score counts as ``2 z`` if ``|z| <= 1`` and as a constant otherwise (the
  authors' step ``[z > 0]`` counts as ``z``, and is mapped to plus and minus),
- ``m`` counts as a constant.

In a complete tree that softmax ``p`` is a product over the path: ``sigmoid(2 m)`` if the
path follows the sign of the score, ``sigmoid(-2 m)`` if not. With ``P_i`` the sum of ``p``
below a node and ``V_i`` the mean there of the gradients of the loss by the shares, the
gradient by the score of split ``i`` is

    P_right (V_right - V_root) - P_left (V_left - V_root)

which takes one pass down and one pass up, O(splits) per row.

Scores may be batch-normalised, ``z = gain (s - mean) / sd + shift``, which keeps
them in the range that has a gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import exp, kernel
from dtsemnet.kernels.logits import child_row, walk
from dtsemnet.kernels.optimizer import Moments, clip_scale
from dtsemnet.kernels.rows import Rows, new_batch
from dtsemnet_paper.baselines.kernels.descent import descend
from dtsemnet_paper.baselines.kernels.soft import gather_mean, reach_nodes

__all__ = ["EPSILON", "DGTArrays", "DGTRates", "dgt_epoch", "dgt_gradients"]


EPSILON = 1e-5
"""Added to the variance of a batch."""


class DGTArrays(NamedTuple):
    """The parameters of the network, or their gradients."""

    splits: Floats
    """(splits, features + 1)"""
    norm: Floats
    """(splits, 2): gain and shift of the batch normalisation; no rows if there is none."""
    leaves: Floats
    """(leaves * outputs, features + 1 or 1); for classes their logits."""


class DGTRates(NamedTuple):
    """Optimizer, learning rate and penalties of one epoch."""

    optimizer: int
    rate: float
    split_l1: float
    leaf_l1: float
    clip: float
    """Largest norm of the gradient over all parameters; 0 for no clipping."""


@kernel
def _normalise(scores: Floats, std: Floats) -> None:
    """Give each split's scores mean 0 and standard deviation 1 over the batch; write the deviations to ``std``."""
    real = scores.dtype.type
    n_samples = scores.shape[1]
    for i in range(len(scores)):
        row, mean, square = scores[i], 0.0, 0.0
        for b in range(n_samples):
            mean += row[b]
        centre = real(mean / n_samples)
        for b in range(n_samples):
            row[b] -= centre
            square += row[b] * row[b]
        std[i] = np.sqrt(square / n_samples + EPSILON)
        factor = real(1 / std[i])
        for b in range(n_samples):
            row[b] *= factor


@kernel
def _undo_norm(slope: Floats, standard: Floats, norm: Floats, std: Floats, gradient: Floats) -> None:
    """Turn gradients by ``z`` into gradients by the scores; write the gradient by gain and shift."""
    real = slope.dtype.type
    n_samples = slope.shape[1]
    for i in range(len(slope)):
        row, unit, total, moment = slope[i], standard[i], 0.0, 0.0
        for b in range(n_samples):
            total += row[b]
            moment += row[b] * unit[b]
        gradient[i, 0], gradient[i, 1] = moment, total
        factor, mean, mean_moment = real(norm[i, 0] / std[i]), real(total / n_samples), real(moment / n_samples)
        for b in range(n_samples):
            row[b] = factor * (row[b] - mean - unit[b] * mean_moment)


@kernel
def _quantise(score: Floats, right: Floats) -> float:
    """Write the shares of the relaxed routing, one number for positive scores and one for others; return ``m``."""
    n_splits, n_samples = score.shape
    total = 0.0
    for i in range(n_splits):
        row = score[i]
        for b in range(n_samples):
            total += abs(row[b])
    mean = total / max(1, n_splits * n_samples)
    high = score.dtype.type(1 / (1 + np.exp(-2 * mean)))
    low, zero = score.dtype.type(1 / (1 + np.exp(min(2 * mean, 80.0)))), score.dtype.type(0)
    for i in range(n_splits):
        row, gate = score[i], right[i]
        for b in range(n_samples):
            gate[b] = high if row[b] > zero else low
    return mean


@kernel
def _score_slopes(right: Floats, children: Ints, reach: Floats, value: Floats) -> None:
    """Overwrite ``right`` with the gradients by the quantised scores; leaf rows of ``value`` hold those by shares."""
    n_splits = len(right)
    for i in range(n_splits - 1, -1, -1):
        left_row, right_row = child_row(children[i, 0], n_splits), child_row(children[i, 1], n_splits)
        _mean(value[i], right[i], value[left_row], value[right_row])
    for i in range(n_splits):
        left_row, right_row = child_row(children[i, 0], n_splits), child_row(children[i, 1], n_splits)
        _score_slope(value[0], right[i], reach[left_row], reach[right_row], value[left_row], value[right_row])


@kernel
def _mean(above: Floats, gate: Floats, left: Floats, right: Floats) -> None:
    for b in range(len(gate)):
        above[b] = left[b] + gate[b] * (right[b] - left[b])


@kernel
def _score_slope(root: Floats, slope: Floats, at_left: Floats, at_right: Floats, left: Floats, right: Floats) -> None:
    for b in range(len(slope)):
        slope[b] = at_right[b] * (right[b] - root[b]) - at_left[b] * (left[b] - root[b])


@kernel
def _predict(leaf: Ints, leaves: Floats, design: Floats, prediction: Floats) -> None:
    """Write the outputs of the leaves reached, (outputs x batch), to ``prediction``."""
    n_outputs, n_samples = prediction.shape
    for b in range(n_samples):
        for o in range(n_outputs):
            model, x, total = leaves[leaf[b] * n_outputs + o], design[b], prediction.dtype.type(0)
            for j in range(len(x)):
                total += model[j] * x[j]
            prediction[o, b] = total


@kernel
def _class_slopes(prediction: Floats, y: Floats, weight: Floats) -> float:
    """Return the cross-entropy of a batch; overwrite the logits with its gradients."""
    n_classes, n_samples = prediction.shape
    loss = 0.0
    for b in range(n_samples):
        top, total, own = prediction[0, b], 0.0, 0.0
        for c in range(1, n_classes):
            top = max(top, prediction[c, b])
        for c in range(n_classes):
            own += y[b, c] * (prediction[c, b] - top)
            prediction[c, b] = exp(prediction[c, b] - top)
            total += prediction[c, b]
        loss += weight[b] * (np.log(total) - own)
        for c in range(n_classes):
            prediction[c, b] = weight[b] * (prediction[c, b] / total - y[b, c])
    return loss


@kernel
def _number_slopes(prediction: Floats, y: Floats, weight: Floats) -> float:
    """Return the squared error of a batch, mean over outputs; overwrite the predictions with its gradients."""
    n_outputs, n_samples = prediction.shape
    loss, part = 0.0, prediction.dtype.type(1 / n_outputs)
    for o in range(n_outputs):
        for b in range(n_samples):
            residual = prediction[o, b] - y[b, o]
            loss += weight[b] * residual * residual * part
            prediction[o, b] = 2 * part * weight[b] * residual
    return loss


@kernel
def _leaf_slopes(leaves: Floats, design: Floats, slope: Floats, value: Floats) -> None:
    """Write the gradient by each leaf's share, (leaves x batch): its output times the gradient by the output."""
    n_outputs, n_samples = slope.shape
    n_leaves = len(value)
    if leaves.shape[1] == 1:
        np.dot(leaves.reshape(n_leaves, n_outputs), slope, value)
        return
    output = np.dot(leaves, design.T)
    value[:, :] = 0
    for j in range(n_leaves):
        for o in range(n_outputs):
            row, g, into = output[j * n_outputs + o], slope[o], value[j]
            for b in range(n_samples):
                into[b] += row[b] * g[b]


@kernel
def dgt_gradients(batch: Rows, children: Ints, parameters: DGTArrays, classes: bool, gradients: DGTArrays) -> float:
    """Write the relaxed gradients of the loss of a batch by all parameters; return the loss of the hard tree.

    Parameters
    ----------
    batch : Rows
        Features with a column of ones last; targets (rows, outputs), indicators for classes; weights that sum to 1.
    children : (splits, 2)
        Those of a complete tree.
    parameters, gradients : DGTArrays
    classes : bool
        Cross-entropy if True, squared error if False.
    """
    X, y, weight = batch.X, batch.y, batch.weight
    splits, norm, leaves = parameters.splits, parameters.norm, parameters.leaves
    n_samples, n_splits, n_outputs, dtype = len(X), len(splits), y.shape[1], splits.dtype
    standard = np.dot(splits, X.T)
    score, std = standard, np.empty(len(norm), dtype)
    if len(norm) > 0:
        _normalise(standard, std)
        score = np.empty_like(standard)
        for i in range(n_splits):
            for b in range(n_samples):
                score[i, b] = norm[i, 0] * standard[i, b] + norm[i, 1]
    leaf = np.empty(n_samples, np.int64)
    walk(score, children, leaf)
    design = X if leaves.shape[1] == X.shape[1] else np.ones((n_samples, 1), dtype)
    slope = np.empty((n_outputs, n_samples), dtype)
    _predict(leaf, leaves, design, slope)
    loss = _class_slopes(slope, y, weight) if classes else _number_slopes(slope, y, weight)
    gradients.leaves[:, :] = 0
    for b in range(n_samples):
        for o in range(n_outputs):
            into, x, g = gradients.leaves[leaf[b] * n_outputs + o], design[b], slope[o, b]
            for j in range(len(x)):
                into[j] += g * x[j]
    right, reach = np.empty_like(score), np.empty((2 * n_splits + 1, n_samples), dtype)
    value = np.zeros((2 * n_splits + 1, n_samples), dtype)
    loss += 0 * _quantise(score, right)  # a nan among the scores shows in the loss
    reach_nodes(right, children, reach)
    _leaf_slopes(leaves, design, slope, value[n_splits:])
    _score_slopes(right, children, reach, value)
    two, zero, one = dtype.type(2), dtype.type(0), dtype.type(1)
    for i in range(n_splits):
        for b in range(n_samples):
            right[i, b] = two * right[i, b] if abs(score[i, b]) <= one else zero
    if len(norm) > 0:
        _undo_norm(right, standard, norm, std, gradients.norm)
    np.dot(right, X, gradients.splits)
    return loss


@kernel
def dgt_epoch(
    rows: Rows,
    order: Ints,
    batch_size: int,
    children: Ints,
    splits: Moments,
    norm: Moments,
    leaves: Moments,
    classes: bool,
    n_steps: int,
    rates: DGTRates,
) -> tuple[float, int]:
    """Train for one epoch, in place.

    Returns the sum of the losses over rows and the number of steps taken; the sum is not finite if a batch went wrong.
    """
    buffer, parameters = new_batch(rows, batch_size), DGTArrays(splits.value, norm.value, leaves.value)
    gradients = DGTArrays(np.empty_like(splits.value), np.zeros_like(norm.value), np.empty_like(leaves.value))
    total, taken = 0.0, 0
    for start in range(0, len(order), batch_size):
        batch = gather_mean(rows, order[start : start + batch_size], buffer)
        value = dgt_gradients(batch, children, parameters, classes, gradients)
        total += value * len(batch.weight)
        if not np.isfinite(value):
            break
        taken += 1
        scale = clip_scale((gradients.splits, gradients.norm, gradients.leaves), rates.clip)
        descend(splits, gradients.splits, rates.optimizer, n_steps + taken, rates.rate, rates.split_l1, scale)
        descend(norm, gradients.norm, rates.optimizer, n_steps + taken, rates.rate, 0.0, scale)
        descend(leaves, gradients.leaves, rates.optimizer, n_steps + taken, rates.rate, rates.leaf_l1, scale)
    return total, taken
