"""The updates of ``TopKSAC``, compiled: actions drawn by a tree with linear leaves, their gradients, and the steps.

A row selects some leaves, each with a share. Its mean and its spread before squashing are the sums, weighted by the
shares, of the leaves' linear models and log standard deviations; with ``e`` standard normal,

    log_std = squash(spread)        action = tanh(mean + exp(log_std) e)

and the logarithm of the density is ``-sum(e^2 / 2 + log_std + log(1 - action^2)) - n log(2 pi) / 2``. The derivatives
by mean and spread are distributed to the leaves by their shares, and reach the splits through the softmax of the
shares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import kernel
from dtsemnet.kernels.logits import best_leaves, leaf_logits, split_gradients
from dtsemnet.rl.algorithms.sac_kernels import (
    Critic,
    Critics,
    Entropy,
    Parameters,
    Transitions,
    action_gradients,
    adam_step,
    critic_step,
    entropy_step,
    move_targets,
)
from dtsemnet.rl.policies.sac import LOG_STD_MAX, LOG_STD_MIN, SAFETY

__all__ = ["Leaves", "Splits", "TreeArrays", "leaf_steps", "sac_steps"]

HALF_RANGE, HALF_LOG_2PI = (LOG_STD_MAX - LOG_STD_MIN) / 2, math.log(2 * math.pi) / 2


class Splits(NamedTuple):
    """Hyperplanes, or their gradients: (splits, features) and (splits,)."""

    weight: Floats
    bias: Floats


class Leaves(NamedTuple):
    """Models of the leaves, or their gradients: (leaves, actions, features), and twice (leaves, actions)."""

    coef: Floats
    value: Floats
    log_std: Floats


class TreeArrays(NamedTuple):
    """A tree that is trained: its parts as views of rows of parameters, these rows, and its settings."""

    children: Ints
    splits: Splits
    split_gradient: Splits
    split_parameters: Parameters
    leaves: Leaves
    leaf_gradient: Leaves
    leaf_parameters: Parameters
    k: int
    temperature: float
    rate: float


class DrawnActions(NamedTuple):
    """Actions drawn for a batch, and what their gradient needs.

    ``leaf`` and ``share`` of the leaves selected are (ranks, batch), the ``output`` of their models (ranks, batch,
    actions); ``noise``, ``squashed`` (the tanh of the spread) and ``action`` are (batch, actions).
    """

    leaf: Ints
    share: Floats
    noise: Floats
    output: Floats
    squashed: Floats
    action: Floats
    log_prob: Floats


@kernel
def sac_steps(
    rows: Transitions, noise: Floats, tree: TreeArrays, critics: Critics, entropy: Entropy
) -> tuple[float, float]:
    """Take SAC steps on critics, entropy weight and actor; return the mean losses of critics and actor.

    ``noise`` is for the actions of the observations and of the next ones, (2, steps, batch, actions).
    """
    _, n_steps, n, _ = noise.shape
    critic_loss = actor_loss = 0.0
    for step in range(n_steps):
        part = slice(step * n, step * n + n)
        now, later = rows.observations[part], rows.next_observations[part]
        weight = np.exp(entropy.parameters.value[0, 0])
        scores, node, index, share = _select_leaves(now, tree, tree.k)
        drawn = _draw_actions(now, tree.leaves, index, share, noise[0, step])
        _, _, later_index, later_share = _select_leaves(later, tree, tree.k)
        later_drawn = _draw_actions(later, tree.leaves, later_index, later_share, noise[1, step])
        entropy_step(entropy, drawn.log_prob)
        batch = Transitions(now, rows.actions[part], later, rows.rewards[part], rows.discounts[part])
        bonus = -weight * later_drawn.log_prob
        loss, value, gradient = critic_step(batch, drawn.action, later_drawn.action, bonus, critics)
        critic_loss += loss
        actor_loss += weight * drawn.log_prob.mean() - value
        by_share = _leaf_gradients(now, tree, drawn, gradient, weight / n)
        _split_gradients(now, tree, drawn, by_share, scores, node)
        adam_step(tree.leaf_parameters, tree.rate)
        if tree.k > 1:  # the choice of one leaf has no gradient, and momentum must not move the splits either
            adam_step(tree.split_parameters, tree.rate)
        move_targets(critics, step)
    return critic_loss / max(1, n_steps), actor_loss / max(1, n_steps)


@kernel
def leaf_steps(
    observations: Floats, noise: Floats, n_choices: int, weight: float, tree: TreeArrays, networks: tuple[Critic, ...]
) -> float:
    """Take steps on the leaves alone, on an action of each of the best leaves; return the mean loss.

    ``noise``, (steps, n_choices * batch, actions), is for the actions of the best leaf, then for those of the next.
    """
    n_steps, m, n_actions = noise.shape
    n, loss = m // n_choices, 0.0
    seen, whole = np.empty((m, observations.shape[1]), noise.dtype), np.ones((1, m), noise.dtype)
    for step in range(n_steps):
        now = observations[step * n : step * n + n]
        _, _, index, _ = _select_leaves(now, tree, n_choices)
        for r in range(n_choices):
            seen[r * n : r * n + n] = now
        drawn = _draw_actions(seen, tree.leaves, index.reshape(1, m), whole, noise[step])
        value, gradient = action_gradients(np.concatenate((seen, drawn.action), axis=1), n_actions, networks)
        loss += weight * drawn.log_prob.mean() - value
        _leaf_gradients(seen, tree, drawn, gradient, weight / m)
        adam_step(tree.leaf_parameters, tree.rate)
    return loss / max(1, n_steps)


@kernel
def _select_leaves(x: Floats, tree: TreeArrays, k: int) -> tuple[Floats, Floats, Ints, Floats]:
    """Compute the scores of splits, the logits of nodes, and the k best leaves with their shares; a column per row."""
    n_splits, n_samples, dtype = len(tree.children), len(x), x.dtype
    scores, node = np.empty((n_splits, n_samples), dtype), np.empty((2 * n_splits + 1, n_samples), dtype)
    np.dot(tree.splits.weight, x.T, scores)
    scores += tree.splits.bias.reshape(-1, 1)
    leaf_logits(scores, tree.children, node)
    share, index = np.empty((k, n_samples), dtype), np.empty((k, n_samples), np.int32)
    best_leaves(node[n_splits:], share, index)
    inverse = 1 / tree.temperature
    for b in range(n_samples):
        total = 0.0
        for r in range(k):
            share[r, b] = np.exp(share[r, b] * inverse)  # no shift is needed: the largest logit is exactly 0
            total += share[r, b]
        for r in range(k):
            share[r, b] /= total
    return scores, node, index, share


@kernel
def _draw_actions(x: Floats, leaves: Leaves, index: Ints, share: Floats, noise: Floats) -> DrawnActions:
    """Draw an action for each row."""
    n_ranks, n_samples = index.shape
    n_actions, n_features, dtype = leaves.value.shape[1], x.shape[1], x.dtype
    output = np.empty((n_ranks, n_samples, n_actions), dtype)
    squashed, action = np.empty((n_samples, n_actions), dtype), np.empty((n_samples, n_actions), dtype)
    log_prob = np.empty(n_samples, dtype)
    for b in range(n_samples):
        density = HALF_LOG_2PI * n_actions
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
    return DrawnActions(index, share, noise, output, squashed, action, log_prob)


@kernel
def _leaf_gradients(x: Floats, tree: TreeArrays, drawn: DrawnActions, by_action: Floats, by_density: float) -> Floats:
    """Write the gradients of the leaves, given those of actions and log probability; return those of the shares."""
    leaves, gradient = tree.leaves, tree.leaf_gradient
    n_ranks, n_samples = drawn.leaf.shape
    n_actions, n_features = leaves.value.shape[1], x.shape[1]
    by_share = np.zeros((n_ranks, n_samples), x.dtype)
    gradient.coef[:], gradient.value[:], gradient.log_std[:] = 0, 0, 0
    for b in range(n_samples):
        for o in range(n_actions):
            action, flat = drawn.action[b, o], drawn.squashed[b, o]
            slack = 1 - action * action
            by_mean = (by_action[b, o] + by_density * 2 * action / (slack + SAFETY)) * slack
            std = np.exp(LOG_STD_MIN + (flat + 1) * HALF_RANGE)
            by_spread = (by_mean * std * drawn.noise[b, o] - by_density) * HALF_RANGE * (1 - flat * flat)
            for r in range(n_ranks):
                leaf, a = drawn.leaf[r, b], drawn.share[r, b]
                by_share[r, b] += by_mean * drawn.output[r, b, o] + by_spread * leaves.log_std[leaf, o]
                gradient.value[leaf, o] += a * by_mean
                gradient.log_std[leaf, o] += a * by_spread
                by_coef, scale = gradient.coef[leaf, o], x.dtype.type(a * by_mean)
                for j in range(n_features):
                    by_coef[j] += scale * x[b, j]
    return by_share


@kernel
def _split_gradients(
    x: Floats, tree: TreeArrays, drawn: DrawnActions, by_share: Floats, scores: Floats, node: Floats
) -> None:
    """Write the gradients of the splits, given those of the shares; ``scores`` and ``node`` are overwritten."""
    n_ranks, n_samples = by_share.shape
    n_splits = len(scores)
    node[n_splits:] = 0
    for b in range(n_samples):
        mean = 0.0
        for r in range(n_ranks):
            mean += drawn.share[r, b] * by_share[r, b]
        for r in range(n_ranks):
            node[n_splits + drawn.leaf[r, b], b] = drawn.share[r, b] * (by_share[r, b] - mean) / tree.temperature
    split_gradients(scores, tree.children, node)
    np.dot(scores, x, tree.split_gradient.weight)
    for i in range(n_splits):
        total = 0.0
        for b in range(n_samples):
            total += scores[i, b]
        tree.split_gradient.bias[i] = total
