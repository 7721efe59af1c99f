"""The tree that acts in continuous spaces: draws of squashed normal actions, and their gradients.

A row takes some leaves, each with a share. Its mean and its spread before squashing are the shares' sums of the leaves'
linear models and log standard deviations; with ``e`` standard normal,

    log_std = squash(spread)        action = tanh(mean + exp(log_std) e)

and the logarithm of the density is ``-sum(e^2 / 2 + log_std + log(1 - action^2)) - n log(2 pi) / 2``. Backwards the
derivatives by mean and spread go to the leaves by their shares, and through the softmax of the shares to the splits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import kernel
from dtsemnet.kernels.logits import best_leaves, leaf_logits, split_gradients

__all__ = [
    "LOG_STD_MAX",
    "LOG_STD_MIN",
    "SAFETY",
    "Draw",
    "Leaves",
    "Splits",
    "choose",
    "draw",
    "leaf_slopes",
    "split_slopes",
]


LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
"""Bounds of the log standard deviation, approached through a tanh, as the paper's agents have them."""
SAFETY = 1e-6
"""Added to the Jacobian of ``tanh``, as in stable-baselines3."""
HALF_RANGE, LOG_ROOT = (LOG_STD_MAX - LOG_STD_MIN) / 2, math.log(2 * math.pi) / 2


class Splits(NamedTuple):
    """Hyperplanes, or their gradients: (splits, features) and (splits,)."""

    weight: Floats
    bias: Floats


class Leaves(NamedTuple):
    """What leaves hold, or its gradients: (leaves, actions, features), and twice (leaves, actions)."""

    coef: Floats
    value: Floats
    log_std: Floats


class Draw(NamedTuple):
    """Actions drawn for a batch, and what their gradient needs of the way there."""

    leaf: Ints
    """Leaves taken, (ranks, batch)."""
    share: Floats
    """Their shares, (ranks, batch)."""
    noise: Floats
    """Standard normal, (batch, actions)."""
    output: Floats
    """Linear models of the leaves taken, (ranks, batch, actions)."""
    squashed: Floats
    """The tanh of the spread, (batch, actions)."""
    action: Floats
    """(batch, actions), between -1 and 1."""
    log_prob: Floats
    """(batch,)."""


@kernel
def choose(
    x: Floats, splits: Splits, children: Ints, k: int, temperature: float
) -> tuple[Floats, Floats, Ints, Floats]:
    """Find the k best leaves of each row and their shares by a softmax.

    Returns
    -------
    scores, node : (splits, batch), (nodes, batch)
        Of the splits, and of all nodes of the tree.
    index, share : (k, batch)
    """
    n_splits, n_samples, dtype = len(splits.weight), len(x), x.dtype
    scores, node = np.empty((n_splits, n_samples), dtype), np.empty((2 * n_splits + 1, n_samples), dtype)
    np.dot(splits.weight, x.T, scores)
    for i in range(n_splits):
        for b in range(n_samples):
            scores[i, b] += splits.bias[i]
    leaf_logits(scores, children, node)
    share, index = np.empty((k, n_samples), dtype), np.empty((k, n_samples), np.int32)
    best_leaves(node[n_splits:], share, index)
    inverse = 1 / temperature
    for b in range(n_samples):
        total = 0.0
        for r in range(k):
            share[r, b] = np.exp(share[r, b] * inverse)  # no shift is needed: the largest logit is exactly 0
            total += share[r, b]
        for r in range(k):
            share[r, b] /= total
    return scores, node, index, share


@kernel
def draw(x: Floats, leaves: Leaves, index: Ints, share: Floats, noise: Floats) -> Draw:
    """Draw an action for each row."""
    n_ranks, n_samples = index.shape
    n_actions, n_features, dtype = leaves.value.shape[1], x.shape[1], x.dtype
    output = np.empty((n_ranks, n_samples, n_actions), dtype)
    squashed, action = np.empty((n_samples, n_actions), dtype), np.empty((n_samples, n_actions), dtype)
    log_prob = np.empty(n_samples, dtype)
    for b in range(n_samples):
        density = LOG_ROOT * n_actions
        for o in range(n_actions):
            mean = spread = 0.0
            for r in range(n_ranks):
                leaf, a = index[r, b], share[r, b]
                slopes, total = leaves.coef[leaf, o], leaves.value[leaf, o]
                for j in range(n_features):
                    total += slopes[j] * x[b, j]
                output[r, b, o] = total
                mean += a * total
                spread += a * leaves.log_std[leaf, o]
            e, flat = noise[b, o], np.tanh(spread)
            log_std = LOG_STD_MIN + (flat + 1) * HALF_RANGE
            drawn = np.tanh(mean + np.exp(log_std) * e)
            squashed[b, o], action[b, o] = flat, drawn
            density += e * e / 2 + log_std + np.log(1 - drawn * drawn + SAFETY)
        log_prob[b] = -density
    return Draw(index, share, noise, output, squashed, action, log_prob)


@kernel
def leaf_slopes(
    x: Floats, leaves: Leaves, drawn: Draw, action_slope: Floats, density_slope: float, gradient: Leaves
) -> Floats:
    """Write the gradients of the leaves; return those of the shares, (ranks, batch).

    Parameters
    ----------
    action_slope : (batch, actions)
        Derivatives of the loss by the actions.
    density_slope : float
        Derivative by the log probability of every row.
    """
    n_ranks, n_samples = drawn.leaf.shape
    n_actions, n_features = leaves.value.shape[1], x.shape[1]
    pull = np.zeros((n_ranks, n_samples), x.dtype)
    gradient.coef[:], gradient.value[:], gradient.log_std[:] = 0, 0, 0
    for b in range(n_samples):
        for o in range(n_actions):
            action, flat = drawn.action[b, o], drawn.squashed[b, o]
            slack = 1 - action * action
            by_mean = (action_slope[b, o] + density_slope * 2 * action / (slack + SAFETY)) * slack
            std = np.exp(LOG_STD_MIN + (flat + 1) * HALF_RANGE)
            by_spread = (by_mean * std * drawn.noise[b, o] - density_slope) * HALF_RANGE * (1 - flat * flat)
            for r in range(n_ranks):
                leaf, a = drawn.leaf[r, b], drawn.share[r, b]
                pull[r, b] += by_mean * drawn.output[r, b, o] + by_spread * leaves.log_std[leaf, o]
                gradient.value[leaf, o] += a * by_mean
                gradient.log_std[leaf, o] += a * by_spread
                into, step = gradient.coef[leaf, o], x.dtype.type(a * by_mean)
                for j in range(n_features):
                    into[j] += step * x[b, j]
    return pull


@kernel
def split_slopes(
    x: Floats,
    children: Ints,
    drawn: Draw,
    pull: Floats,
    temperature: float,
    scores: Floats,
    node: Floats,
    gradient: Splits,
) -> None:
    """Write the gradients of the splits from those of the shares; ``scores`` and ``node`` are overwritten."""
    n_ranks, n_samples = pull.shape
    n_splits = len(scores)
    node[n_splits:] = 0
    for b in range(n_samples):
        mean = 0.0
        for r in range(n_ranks):
            mean += drawn.share[r, b] * pull[r, b]
        for r in range(n_ranks):
            node[n_splits + drawn.leaf[r, b], b] = drawn.share[r, b] * (pull[r, b] - mean) / temperature
    split_gradients(scores, children, node)
    np.dot(scores, x, gradient.weight)
    for i in range(n_splits):
        total = 0.0
        for b in range(n_samples):
            total += scores[i, b]
        gradient.bias[i] = total
