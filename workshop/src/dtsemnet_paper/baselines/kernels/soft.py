"""Soft routing: every split sends a share of a row to the right and the rest to the left.

With ``r_i`` the share that split ``i`` sends right, a row reaches a node with the
product ``P`` of the shares on its path, and its expected loss below the node is

    V_i = (1 - r_i) V_left + r_i V_right        (for a leaf: its own loss)

With ``r = sigmoid(u)`` the gradient of the loss by ``u_i`` is
``P_i r_i (1 - r_i) (V_right - V_left)``: one pass down for ``P``, one up for ``V``.

A soft tree has ``u = score / temperature`` and is trained on ``V`` of the root,
the mean loss of a leaf drawn by its splits, so that each leaf fits by itself
when the tree is hardened. A penalty keeps the splits balanced: with ``a_i`` the
mean share of the rows at split ``i`` that goes right, ``-log(a_i (1 - a_i)) / 2``
times a weight that halves with each level.

Arrays are laid out as (nodes x batch), as in :mod:`dtsemnet.kernels.logits`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import exp, kernel
from dtsemnet.kernels.logits import child_row
from dtsemnet.kernels.optimizer import Moments, adam, clip_scale
from dtsemnet.kernels.rows import BLOCK, Rows, gather, gather_features, new_batch

__all__ = [
    "SoftLoss",
    "SoftRates",
    "gate_slopes",
    "gather_mean",
    "reach_nodes",
    "soft_epoch",
    "soft_gradients",
    "soft_outputs",
]


class SoftLoss(NamedTuple):
    """The settings of the loss."""

    classes: bool
    """Leaves hold the logits of classes if True, models of numbers if False."""
    temperature: float
    penalty: Floats
    """Weight of the balance of each split, (splits,)."""


class SoftRates(NamedTuple):
    """Learning rate, weight decay of the splits and largest norm of the gradient (0 for no limit) of one epoch."""

    rate: float
    decay: float
    clip: float


@kernel
def gather_mean(rows: Rows, index: Ints, buffer: Rows) -> Rows:
    """Gather a batch, with weights divided by its size: the weighted sum of its losses is then their mean."""
    batch = gather(rows, index, buffer)
    for r in range(len(index)):
        batch.weight[r] = batch.weight[r] / len(index)
    return batch


@kernel
def reach_nodes(right: Floats, children: Ints, reach: Floats) -> None:
    """Write the probability with which a row reaches each split, and behind them each leaf."""
    n_splits = len(right)
    reach[0, :] = 1
    for i in range(n_splits):
        left_row, right_row = child_row(children[i, 0], n_splits), child_row(children[i, 1], n_splits)
        _share_out(reach[i], right[i], reach[left_row], reach[right_row])


@kernel
def _share_out(above: Floats, gate: Floats, left: Floats, right: Floats) -> None:
    for b in range(len(gate)):
        right[b] = above[b] * gate[b]
        left[b] = above[b] - right[b]


@kernel
def gate_slopes(right: Floats, children: Ints, reach: Floats, value: Floats) -> None:
    """Overwrite ``right`` with the gradients by ``u``; leaf rows of ``value`` hold losses, split rows are added to."""
    n_splits = len(right)
    for i in range(n_splits - 1, -1, -1):
        left_row, right_row = child_row(children[i, 0], n_splits), child_row(children[i, 1], n_splits)
        _gather_up(value[i], reach[i], right[i], value[left_row], value[right_row])


@kernel
def _gather_up(above: Floats, reach: Floats, gate: Floats, left: Floats, right: Floats) -> None:
    for b in range(len(gate)):
        r, gap = gate[b], right[b] - left[b]
        above[b] += left[b] + r * gap
        gate[b] = reach[b] * (r - r * r) * gap


@kernel
def _open_gates(scores: Floats, temperature: float) -> None:
    """Turn scores into the shares that go right."""
    real = scores.dtype.type
    inverse, one, most = real(1 / temperature), real(1), real(60)
    for i in range(len(scores)):
        row = scores[i]
        for b in range(len(row)):
            row[b] = one / (one + exp(min(most, -row[b] * inverse)))


@kernel
def _log_softmax(logit: Floats) -> Floats:
    """Compute the logarithm of the class probabilities of each leaf, (leaves x classes)."""
    log_p = np.empty_like(logit)
    for j in range(len(logit)):
        top, total = logit[j].max(), 0.0
        for c in range(logit.shape[1]):
            total += np.exp(logit[j, c] - top)
        for c in range(logit.shape[1]):
            log_p[j, c] = logit[j, c] - top - np.log(total)
    return log_p


@kernel
def _class_losses(y: Floats, weight: Floats, leaves: Floats, reach: Floats, loss: Floats, gradient: Floats) -> None:
    """Write the cross-entropy of every leaf, and the gradient by its logits (leaves x classes)."""
    log_p = _log_softmax(leaves)
    np.dot(-log_p, y.T, loss)
    for j in range(len(loss)):
        for b in range(len(weight)):
            loss[j, b] *= weight[b]
            reach[j, b] *= weight[b]
    np.dot(reach, y, gradient)
    for j in range(len(loss)):
        total = gradient[j].sum()
        for c in range(leaves.shape[1]):
            gradient[j, c] = total * np.exp(log_p[j, c]) - gradient[j, c]


@kernel
def _number_losses(
    y: Floats, weight: Floats, leaves: Floats, design: Floats, reach: Floats, loss: Floats, gradient: Floats
) -> None:
    """Write the squared error of every leaf, mean over outputs, and the gradient by its models."""
    n_outputs = y.shape[1]
    output = np.empty((len(leaves), len(weight)), leaves.dtype)
    np.dot(leaves, design.T, output)
    part = leaves.dtype.type(1 / n_outputs)
    loss[:, :] = 0
    for j in range(len(loss)):
        for o in range(n_outputs):
            row = output[j * n_outputs + o]
            for b in range(len(weight)):
                residual = row[b] - y[b, o]
                loss[j, b] += part * weight[b] * residual * residual
                row[b] = 2 * part * weight[b] * reach[j, b] * residual
    np.dot(output, design, gradient)


@kernel
def _balance(
    right: Floats, reach: Floats, weight: Floats, penalty: Floats, value: Floats, balance_gradient: Floats
) -> float:
    """Return the penalty on unbalanced splits; write its gradients by ``u``, and those by ``P`` to ``value``."""
    total = 0.0
    for i in range(len(right)):
        mass, gone = 1e-12, 0.0
        for b in range(len(weight)):
            mass += weight[b] * reach[i, b]
            gone += weight[b] * reach[i, b] * right[i, b]
        share = min(max(gone / mass, 1e-3), 1 - 1e-3)
        total -= penalty[i] * 0.5 * (np.log(share) + np.log(1 - share))
        slope = penalty[i] * 0.5 * (1 / (1 - share) - 1 / share) / mass if share == gone / mass else 0.0
        for b in range(len(weight)):
            r = right[i, b]
            balance_gradient[i, b] = slope * weight[b] * reach[i, b] * (r - r * r)
            value[i, b] = slope * weight[b] * (r - share)
    return total


@kernel
def soft_gradients(
    batch: Rows,
    children: Ints,
    splits: Floats,
    leaves: Floats,
    loss: SoftLoss,
    split_gradient: Floats,
    leaf_gradient: Floats,
) -> float:
    """Write the gradients of the loss of a batch, penalty included, by ``splits`` and ``leaves``; return that loss.

    Parameters
    ----------
    batch : Rows
        Features with a column of ones last; targets (rows, outputs), indicators for classes; weights that sum to 1.
    children : (splits, 2)
    splits, split_gradient : (splits, features + 1)
    leaves, leaf_gradient : (leaves, classes), or (leaves * outputs, features + 1 or 1) if leaves hold numbers
    loss : SoftLoss
    """
    X, y, weight = batch.X, batch.y, batch.weight
    n_samples, n_splits, dtype = len(X), len(splits), splits.dtype
    right, balance_gradient = np.empty((n_splits, n_samples), dtype), np.empty((n_splits, n_samples), dtype)
    np.dot(splits, X.T, right)
    _open_gates(right, loss.temperature)
    reach, value = np.empty((2 * n_splits + 1, n_samples), dtype), np.empty((2 * n_splits + 1, n_samples), dtype)
    reach_nodes(right, children, reach)
    total = _balance(right, reach, weight, loss.penalty, value, balance_gradient)
    if loss.classes:
        shares = reach[n_splits:].copy()
        _class_losses(y, weight, leaves, shares, value[n_splits:], leaf_gradient)
    else:
        design = X if leaves.shape[1] == X.shape[1] else np.ones((n_samples, 1), dtype)
        _number_losses(y, weight, leaves, design, reach[n_splits:], value[n_splits:], leaf_gradient)
    for j in range(n_splits, 2 * n_splits + 1):
        for b in range(n_samples):
            total += reach[j, b] * value[j, b]
    gate_slopes(right, children, reach, value)
    inverse = dtype.type(1 / loss.temperature)
    for i in range(n_splits):
        for b in range(n_samples):
            right[i, b] = (right[i, b] + balance_gradient[i, b]) * inverse
    np.dot(right, X, split_gradient)
    return total


@kernel
def soft_epoch(
    rows: Rows,
    order: Ints,
    batch_size: int,
    children: Ints,
    splits: Moments,
    leaves: Moments,
    n_steps: int,
    loss: SoftLoss,
    rates: SoftRates,
) -> tuple[float, int]:
    """Train for one epoch by Adam, in place.

    Returns the sum of the losses over rows and the number of steps taken; the sum is not finite if a batch went wrong.
    """
    buffer = new_batch(rows, batch_size)
    split_gradient, leaf_gradient = np.empty_like(splits.value), np.empty_like(leaves.value)
    total, taken = 0.0, 0
    for start in range(0, len(order), batch_size):
        batch = gather_mean(rows, order[start : start + batch_size], buffer)
        value = soft_gradients(batch, children, splits.value, leaves.value, loss, split_gradient, leaf_gradient)
        total += value * len(batch.weight)
        if not np.isfinite(value):
            break
        taken += 1
        scale = clip_scale((split_gradient, leaf_gradient), rates.clip)
        adam(splits, split_gradient, n_steps + taken, rates.rate, rates.decay, 0.0, scale)
        adam(leaves, leaf_gradient, n_steps + taken, rates.rate, 0.0, 0.0, scale)
    return total, taken


@kernel
def soft_outputs(
    X: Floats, children: Ints, splits: Floats, leaves: Floats, n_outputs: int, temperature: float
) -> Floats:
    """Compute the mean output of the leaves, weighted by the probability of reaching them: (rows, outputs)."""
    n_splits, mean = len(splits), np.empty((len(X), n_outputs), splits.dtype)
    linear = leaves.shape[1] == X.shape[1] + 1
    for start in range(0, len(X), BLOCK):
        size = min(BLOCK, len(X) - start)
        batch = np.empty((size, X.shape[1] + 1), splits.dtype)
        gather_features(X, np.arange(start, start + size), batch)
        right, reach = np.dot(splits, batch.T), np.empty((2 * n_splits + 1, size), splits.dtype)
        _open_gates(right, temperature)
        reach_nodes(right, children, reach)
        design = batch if linear else np.ones((size, 1), splits.dtype)
        output = np.dot(leaves, design.T)
        for b in range(size):
            for o in range(n_outputs):
                total = 0.0
                for j in range(n_splits + 1):
                    total += reach[n_splits + j, b] * output[j * n_outputs + o, b]
                mean[start + b, o] = total
    return mean
