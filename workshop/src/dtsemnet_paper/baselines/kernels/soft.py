"""Soft routing: every split sends a share of a row to the right and the rest to the left.

With ``r_i`` the share that split ``i`` sends right, a row reaches a node with the
product ``P`` of the shares on its way, and loses in expectation

    V_i = (1 - r_i) V_left + r_i V_right        (a leaf: its own loss)

below it. With ``r = sigmoid(u)`` the slope of the loss by ``u_i`` is
``P_i r_i (1 - r_i) (V_right - V_left)``: one pass down for ``P``, one up for ``V``.

A soft tree has ``u = score / temperature`` and is trained on ``V`` of the root,
the mean loss of a leaf drawn by its splits, so that each leaf answers for itself
when the tree is hardened. A penalty keeps the splits balanced: with ``a_i`` the
mean share of the rows at split ``i`` that goes right, ``-log(a_i (1 - a_i)) / 2``
times a weight that halves with each level.

Arrays are laid out as (nodes x batch), as in :mod:`dtsemnet.kernels.logits`.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels.adam import adam, squared_norm
from dtsemnet.kernels.elementary import exp
from dtsemnet.kernels.jit import kernel

__all__ = ["gate_slopes", "reach_nodes", "soft_epoch", "soft_gradients", "soft_outputs"]


BLOCK = 256


@kernel
def reach_nodes(right: Floats, children: Ints, reach: Floats) -> None:
    """Write the probability with which a row reaches each split, and behind them each leaf."""
    n_splits = len(right)
    reach[0, :] = 1
    for i in range(n_splits):
        left_row, right_row = children[i, 0], children[i, 1]
        left_row = left_row if left_row >= 0 else n_splits + ~left_row
        right_row = right_row if right_row >= 0 else n_splits + ~right_row
        _share_out(reach[i], right[i], reach[left_row], reach[right_row])


@kernel
def _share_out(above: Floats, gate: Floats, left: Floats, right: Floats) -> None:
    for b in range(len(gate)):
        right[b] = above[b] * gate[b]
        left[b] = above[b] - right[b]


@kernel
def gate_slopes(right: Floats, children: Ints, reach: Floats, value: Floats) -> None:
    """Overwrite ``right`` with the slopes by ``u``; the leaf rows of ``value`` hold losses, split rows are added to."""
    n_splits = len(right)
    for i in range(n_splits - 1, -1, -1):
        left_row, right_row = children[i, 0], children[i, 1]
        left_row = left_row if left_row >= 0 else n_splits + ~left_row
        right_row = right_row if right_row >= 0 else n_splits + ~right_row
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
    """Logarithm of the class probabilities of each leaf, (leaves x classes)."""
    found = np.empty_like(logit)
    for j in range(len(logit)):
        top, total = logit[j].max(), 0.0
        for c in range(logit.shape[1]):
            total += np.exp(logit[j, c] - top)
        for c in range(logit.shape[1]):
            found[j, c] = logit[j, c] - top - np.log(total)
    return found


@kernel
def _class_losses(y: Floats, weight: Floats, leaves: Floats, reach: Floats, loss: Floats, gradient: Floats) -> None:
    """Cross-entropy of every leaf, and the gradient by its logits (leaves x classes)."""
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
    """Squared error of every leaf, mean over outputs, and the gradient by its models."""
    n_outputs = y.shape[1]
    output = np.empty((len(leaves), len(weight)), leaves.dtype)
    np.dot(leaves, design.T, output)
    part = leaves.dtype.type(1 / n_outputs)
    loss[:, :] = 0
    for j in range(len(loss)):
        for o in range(n_outputs):
            row = output[j * n_outputs + o]
            for b in range(len(weight)):
                miss = row[b] - y[b, o]
                loss[j, b] += part * weight[b] * miss * miss
                row[b] = 2 * part * weight[b] * reach[j, b] * miss
    np.dot(output, design, gradient)


@kernel
def _balance(right: Floats, reach: Floats, weight: Floats, penalty: Floats, value: Floats, pull: Floats) -> float:
    """Return the penalty on unbalanced splits; write its slopes by the shares (``pull``) and by ``P`` (``value``)."""
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
            pull[i, b] = slope * weight[b] * reach[i, b] * (r - r * r)
            value[i, b] = slope * weight[b] * (r - share)
    return total


@kernel
def soft_gradients(
    batch: Floats,
    y: Floats,
    weight: Floats,
    children: Ints,
    splits: Floats,
    leaves: Floats,
    classes: bool,
    temperature: float,
    penalty: Floats,
    split_gradient: Floats,
    leaf_gradient: Floats,
) -> float:
    """Write the gradients of the loss of a batch, penalty included, by ``splits`` and ``leaves``; return that loss.

    Parameters
    ----------
    batch : (rows, features + 1), a column of ones last
    y : (rows, outputs), for classes their indicators
    weight : (rows,), summing to 1
    leaves : (leaves, classes), or (leaves * outputs, features + 1 or 1) where leaves hold numbers
    penalty : (splits,), weight of the balance of each split
    """
    n_samples, n_splits, dtype = len(batch), len(splits), splits.dtype
    right, pull = np.empty((n_splits, n_samples), dtype), np.empty((n_splits, n_samples), dtype)
    np.dot(splits, batch.T, right)
    _open_gates(right, temperature)
    reach, value = np.empty((2 * n_splits + 1, n_samples), dtype), np.empty((2 * n_splits + 1, n_samples), dtype)
    reach_nodes(right, children, reach)
    total = _balance(right, reach, weight, penalty, value, pull)
    if classes:
        shares = reach[n_splits:].copy()
        _class_losses(y, weight, leaves, shares, value[n_splits:], leaf_gradient)
    else:
        design = batch if leaves.shape[1] == batch.shape[1] else np.ones((n_samples, 1), dtype)
        _number_losses(y, weight, leaves, design, reach[n_splits:], value[n_splits:], leaf_gradient)
    for j in range(n_splits, 2 * n_splits + 1):
        for b in range(n_samples):
            total += reach[j, b] * value[j, b]
    gate_slopes(right, children, reach, value)
    inverse = dtype.type(1 / temperature)
    for i in range(n_splits):
        for b in range(n_samples):
            right[i, b] = (right[i, b] + pull[i, b]) * inverse
    np.dot(right, batch, split_gradient)
    return total


@kernel
def soft_epoch(
    X: Floats,
    y: Floats,
    weight: Floats,
    order: Ints,
    batch_size: int,
    children: Ints,
    splits: Floats,
    leaves: Floats,
    classes: bool,
    temperature: float,
    penalty: Floats,
    n_steps: int,
    rate: float,
    decay: float,
    clip: float,
) -> tuple[float, int]:
    """Train for one epoch by Adam, in place; parameters are (3, ...) arrays: values and two moments.

    Returns the sum of the losses over rows and the number of steps taken; the sum is not finite if a batch went wrong.
    """
    dtype = splits.dtype
    batch_buffer, y_buffer = np.ones((batch_size, X.shape[1] + 1), dtype), np.empty((batch_size, y.shape[1]), dtype)
    weight_buffer = np.empty(batch_size, dtype)
    split_gradient, leaf_gradient = np.empty_like(splits[0]), np.empty_like(leaves[0])
    total, taken = 0.0, 0
    for start in range(0, len(order), batch_size):
        size = min(batch_size, len(order) - start)
        for r in range(size):
            row = order[start + r]
            for j in range(X.shape[1]):
                batch_buffer[r, j] = X[row, j]
            for o in range(y.shape[1]):
                y_buffer[r, o] = y[row, o]
            weight_buffer[r] = weight[row] / size
        loss = soft_gradients(
            batch_buffer[:size], y_buffer[:size], weight_buffer[:size], children, splits[0], leaves[0], classes,
            temperature, penalty, split_gradient, leaf_gradient,
        )  # fmt: skip
        total += loss * size
        if not np.isfinite(loss):
            break
        taken += 1
        scale = 1.0
        if clip > 0:
            scale = min(1.0, clip / (np.sqrt(squared_norm(split_gradient) + squared_norm(leaf_gradient)) + 1e-6))
        for parameter, gradient, shrink in ((splits, split_gradient, decay), (leaves, leaf_gradient, 0.0)):
            adam(
                parameter[0], gradient, parameter[1], parameter[2], n_steps + taken, rate, shrink, 0.0, 0.0,
                gradient.shape[1], scale,
            )  # fmt: skip
    return total, taken


@kernel
def soft_outputs(
    X: Floats, children: Ints, splits: Floats, leaves: Floats, n_outputs: int, temperature: float
) -> Floats:
    """Mean output of the leaves, weighed by the probability of reaching them: shape (rows, outputs)."""
    n_splits, found = len(splits), np.empty((len(X), n_outputs), splits.dtype)
    linear = leaves.shape[1] == X.shape[1] + 1
    for start in range(0, len(X), BLOCK):
        size = min(BLOCK, len(X) - start)
        batch = np.ones((size, X.shape[1] + 1), splits.dtype)
        for r in range(size):
            for j in range(X.shape[1]):
                batch[r, j] = X[start + r, j]
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
                found[start + b, o] = total
    return found
