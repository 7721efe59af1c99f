"""Classification loss over pooled leaf logits, with the gradient of each leaf's logit.

The logit of a class pools those of its leaves: by the max (temperature 0), or
by ``tau * logsumexp(z / tau)``, whose limit is the max. The loss of a sample is
cross-entropy, or its bounded form ``(1 - p^q) / q`` whose gradient is that of
cross-entropy times ``p^q``; q = 0 means cross-entropy.

A class that no leaf holds pools to -inf: its samples add the loss of the
probability ``UNSERVED`` and no gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels.elementary import exp, log
from dtsemnet.kernels.jit import kernel

__all__ = ["UNSERVED", "class_loss", "leaf_slopes"]

UNSERVED = 1e-7
"""Probability granted to a class without leaves, so that its samples add a constant to the loss."""


@kernel
def class_loss(
    logit: Floats,
    leaf_class: Ints,
    y: Ints,
    weight: Floats,
    temperature: float,
    q: float,
    pooled: Floats,
    spread: Floats,
    chosen: Ints,
) -> float:
    """Return the weighted sum of losses; leave its gradient by the pooled logits in ``pooled``.

    ``logit`` has shape (leaves x batch); ``pooled``, ``spread`` and ``chosen`` (classes x batch). ``chosen`` gets the
    leaf of largest logit of each class, -1 where there is none; the rest is for :func:`leaf_slopes`.
    """
    _pool_by_max(logit, leaf_class, pooled, chosen)
    if temperature > 0:
        _pool_smoothly(logit, leaf_class, temperature, pooled, spread)
    return _cross_entropy(pooled, chosen, y, weight, q)


@kernel
def leaf_slopes(
    logit: Floats, leaf_class: Ints, temperature: float, pooled: Floats, spread: Floats, chosen: Ints
) -> None:
    """Overwrite ``logit``, as :func:`class_loss` left it, with the gradient of the loss."""
    if temperature > 0:
        _spread_over_leaves(logit, leaf_class, pooled, spread)
    else:
        _give_to_chosen(logit, leaf_class, pooled, chosen)


@kernel
def _pool_by_max(logit: Floats, leaf_class: Ints, pooled: Floats, chosen: Ints) -> None:
    pooled[:, :] = -np.inf
    chosen[:, :] = -1
    for j in range(len(logit)):
        _keep_larger(logit[j], chosen.dtype.type(j), pooled[leaf_class[j]], chosen[leaf_class[j]])


@kernel
def _keep_larger(z: Floats, number: Any, top: Floats, place: Ints) -> None:
    for b in range(len(z)):
        better = z[b] > top[b]  # strictly: the first of equals keeps its place
        top[b] = z[b] if better else top[b]
        place[b] = number if better else place[b]


@kernel
def _pool_smoothly(logit: Floats, leaf_class: Ints, temperature: float, pooled: Floats, spread: Floats) -> None:
    """Turn maxima into ``tau * logsumexp``; leaves ``exp((z - max) / tau)`` in ``logit``, their sums in ``spread``."""
    n_leaves, n_samples = logit.shape
    tau, inverse, tiny = logit.dtype.type(temperature), logit.dtype.type(1 / temperature), logit.dtype.type(1e-30)
    spread[:, :] = 0
    for j in range(n_leaves):
        _add_exp(logit[j], pooled[leaf_class[j]], inverse, spread[leaf_class[j]])
    for c in range(len(pooled)):
        top, total = pooled[c], spread[c]
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
    # Of a row whose class no leaf holds, the probability is a constant and the gradient is nothing.
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
        # The leaf reached has logit 0, so the best class has at least that; a nan among the scores hides it.
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
    for j in range(len(logit)):
        _give(logit[j], gradient[leaf_class[j]], chosen[leaf_class[j]], chosen.dtype.type(j))


@kernel
def _give(z: Floats, gradient: Floats, place: Ints, number: Any) -> None:
    zero = z.dtype.type(0)
    for b in range(len(z)):
        z[b] = gradient[b] if place[b] == number else zero


@kernel
def _spread_over_leaves(logit: Floats, leaf_class: Ints, gradient: Floats, spread: Floats) -> None:
    n_classes, n_samples = gradient.shape
    tiny = logit.dtype.type(1e-30)
    for c in range(n_classes):
        for b in range(n_samples):
            gradient[c, b] /= max(spread[c, b], tiny)
    for j in range(len(logit)):
        z, g = logit[j], gradient[leaf_class[j]]
        for b in range(n_samples):
            z[b] *= g[b]
