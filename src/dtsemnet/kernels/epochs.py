"""Epochs of training.

An epoch cuts the rows into batches. For each batch it gathers the rows, computes
the loss and its gradient, scales a gradient that is too long, and takes a step
of Adam. Rows and parameters have one dtype, float32 or float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Ints
from dtsemnet.kernels.classification import ClassLoss, classification_gradients
from dtsemnet.kernels.kernel import kernel
from dtsemnet.kernels.optimizer import Moments, adam, clip_scale, hold
from dtsemnet.kernels.regression import RegressionLoss, regression_gradients
from dtsemnet.kernels.rows import Rows, gather, new_batch

__all__ = ["Rates", "classification_epoch", "regression_epoch"]


class Rates(NamedTuple):
    """Learning rates and penalties of one epoch; all of them floats, as kernels expect them."""

    splits: float
    leaves: float
    weight_decay: float
    l1: float
    clip: float


@kernel
def classification_epoch(
    rows: Rows,
    order: Ints,
    batch_size: int,
    children: Ints,
    leaf_class: Ints,
    splits: Moments,
    allowed: Ints,
    n_steps: int,
    loss: ClassLoss,
    rates: Rates,
) -> tuple[float, int]:
    """Train the splits of a classifier for one epoch, in place.

    Returns the sum of the losses and the number of steps taken. If the loss of a batch is not finite, neither is the
    sum, and no more steps are taken.
    """
    buffer, gradient = new_batch(rows, batch_size), np.empty_like(splits.value)
    total, taken = 0.0, 0
    for start in range(0, len(order), batch_size):
        batch = gather(rows, order[start : start + batch_size], buffer)
        value = classification_gradients(batch, children, leaf_class, splits.value, loss, gradient)
        total += value
        if not np.isfinite(value):
            break
        taken += 1
        scale = clip_scale((gradient,), rates.clip)
        adam(splits, gradient, n_steps + taken, rates.splits, rates.weight_decay, rates.l1, scale)
        hold(splits.value, allowed)
    return total, taken


@kernel
def regression_epoch(
    rows: Rows,
    order: Ints,
    batch_size: int,
    children: Ints,
    splits: Moments,
    leaves: Moments,
    allowed: Ints,
    allowed_in_leaves: Ints,
    n_steps: int,
    loss: RegressionLoss,
    rates: Rates,
) -> tuple[float, int]:
    """Train the splits and leaves of a regressor for one epoch, in place; a rate of 0 leaves them unchanged.

    Returns the sum of the losses and the number of steps taken, as :func:`classification_epoch` does.
    """
    buffer = new_batch(rows, batch_size)
    split_gradient, leaf_gradient = np.empty_like(splits.value), np.empty_like(leaves.value)
    total, taken = 0.0, 0
    for start in range(0, len(order), batch_size):
        batch = gather(rows, order[start : start + batch_size], buffer)
        value = regression_gradients(batch, children, splits.value, leaves.value, loss, split_gradient, leaf_gradient)
        total += value
        if not np.isfinite(value):
            break
        taken += 1
        scale = clip_scale((split_gradient, leaf_gradient), rates.clip)
        if rates.splits > 0:
            adam(splits, split_gradient, n_steps + taken, rates.splits, rates.weight_decay, rates.l1, scale)
            hold(splits.value, allowed)
        if rates.leaves > 0:
            adam(leaves, leaf_gradient, n_steps + taken, rates.leaves, 0.0, 0.0, scale)
            hold(leaves.value, allowed_in_leaves)
    return total, taken
