"""Updates of SAC for a tree that acts and networks that judge, many gradient steps in one call.

The networks are so small that a step by step loop in Python spends most of its time outside of arithmetic. Rows and
noise for all steps come in one piece; parameters and their moments are arrays, changed in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import kernel
from dtsemnet.kernels.optimizer import Moments, adam
from dtsemnet.rl.algorithms.chain_kernels import chain_forward, chain_gradients, chain_pull_back
from dtsemnet.rl.algorithms.topk_kernels import Leaves, Splits, choose, draw, leaf_slopes, split_slopes

__all__ = ["Critic", "Experience", "Rules", "Trained", "actor_steps", "follow", "judge", "sac_steps", "step_entropy"]

Layers = tuple[Floats, ...]


class Trained(NamedTuple):
    """Parameters in one row, (1, n), with their gradient and moments; the number of steps taken, (1,)."""

    flat: Floats
    gradient: Floats
    first: Floats
    second: Floats
    n_steps: Ints


class Critic(NamedTuple):
    """A network and its target, as layers, and room for what their layers give."""

    weights: Layers
    biases: Layers
    weight_gradients: Layers
    bias_gradients: Layers
    target_weights: Layers
    target_biases: Layers
    outputs: Layers


class Experience(NamedTuple):
    """Rows of the replay buffer, those of one step after those of another."""

    observations: Floats
    actions: Floats
    next_observations: Floats
    rewards: Floats
    going_on: Floats
    """The discount, 0 where the episode ended."""


class Rules(NamedTuple):
    """Settings of an update."""

    batch_size: int
    activation: int
    k: int
    temperature: float
    critic_rate: float
    actor_rate: float
    entropy_rate: float
    target_entropy: float
    tau: float
    target_every: int


@kernel
def sac_steps(
    rows: Experience,
    noise: Floats,
    children: Ints,
    splits: Splits,
    split_gradient: Splits,
    all_splits: Trained,
    leaves: Leaves,
    leaf_gradient: Leaves,
    all_leaves: Trained,
    critics: tuple[Critic, ...],
    all_critics: Trained,
    all_targets: Floats,
    entropy: Trained,
    rules: Rules,
) -> tuple[float, float]:
    """Take SAC steps on critics, entropy weight and actor; return the mean losses of critics and actor.

    ``noise`` holds the draws for the observations and for the next ones, (2, rows, actions); ``entropy`` the logarithm
    of the entropy weight.
    """
    n, n_rows = rules.batch_size, len(rows.rewards)
    critic_loss = actor_loss = 0.0
    for number in range(n_rows // n):
        part = slice(number * n, number * n + n)
        now, later = rows.observations[part], rows.next_observations[part]
        weight = np.exp(entropy.flat[0, 0])
        scores, node, index, share = choose(now, splits, children, rules.k, rules.temperature)
        drawn = draw(now, leaves, index, share, noise[0, part])
        _, _, later_index, later_share = choose(later, splits, children, rules.k, rules.temperature)
        future = draw(later, leaves, later_index, later_share, noise[1, part])
        step_entropy(entropy, drawn.log_prob, rules.target_entropy, rules.entropy_rate)
        batch = Experience(now, rows.actions[part], later, rows.rewards[part], rows.going_on[part])
        worth = -weight * future.log_prob
        loss, value, slope = judge(
            batch, drawn.action, future.action, worth, critics, all_critics, rules.activation, rules.critic_rate
        )
        critic_loss += loss
        actor_loss += weight * drawn.log_prob.mean() - value
        pull = leaf_slopes(now, leaves, drawn, slope, weight / n, leaf_gradient)
        split_slopes(now, children, drawn, pull, rules.temperature, scores, node, split_gradient)
        _step(all_leaves, rules.actor_rate)
        if rules.k > 1:  # the choice of one leaf has no gradient, and momentum must not move the splits either
            _step(all_splits, rules.actor_rate)
        if number % rules.target_every == 0:
            follow(all_targets, all_critics.flat, rules.tau)
    n_steps = max(1, n_rows // n)
    return critic_loss / n_steps, actor_loss / n_steps


@kernel
def judge(
    rows: Experience,
    drawn: Floats,
    future: Floats,
    worth: Floats,
    critics: tuple[Critic, ...],
    all_critics: Trained,
    activation: int,
    rate: float,
) -> tuple[float, float, Floats]:
    """Take a step on the critics, then ask them about other actions.

    Parameters
    ----------
    rows : Experience
        One batch.
    drawn, future : (batch, actions)
        Actions of the actor, for the observations and for the next ones.
    worth : (batch,)
        What the next actions are worth beyond their value: their entropy.

    Returns
    -------
    loss, value : float
        Of the critics before the step, and the mean of their least value of ``drawn`` after it.
    slope : (batch, actions)
        Derivatives of minus that mean.
    """
    n, n_actions = drawn.shape
    x = np.empty((n, rows.observations.shape[1] + n_actions), rows.observations.dtype)
    _join(rows.next_observations, future, x)
    goal = _least_target(x, critics, activation)
    for b in range(n):
        goal[b] = rows.rewards[b] + rows.going_on[b] * (goal[b] + worth[b])
    _join(rows.observations, rows.actions, x)
    loss = _regress(x, goal, critics, activation)
    _step(all_critics, rate)
    _join(rows.observations, drawn, x)
    value, slope = _climb(x, n_actions, critics, activation)
    return loss, value, slope


@kernel
def actor_steps(
    observations: Floats,
    noise: Floats,
    n_choices: int,
    weight: float,
    children: Ints,
    splits: Splits,
    leaves: Leaves,
    leaf_gradient: Leaves,
    all_leaves: Trained,
    critics: tuple[Critic, ...],
    rules: Rules,
) -> float:
    """Take steps on the leaves alone, on an action of each of the best leaves; return the mean loss.

    ``noise`` has ``n_choices`` times the rows: for each step those of the best leaf, then those of the next.
    """
    n, (n_rows, n_features), n_actions = rules.batch_size, observations.shape, noise.shape[1]
    m = n * n_choices
    seen, x = np.empty((m, n_features), noise.dtype), np.empty((m, n_features + n_actions), noise.dtype)
    taken, whole = np.empty((1, m), np.int32), np.ones((1, m), noise.dtype)
    loss = 0.0
    for number in range(n_rows // n):
        now = observations[number * n : number * n + n]
        _, _, index, _ = choose(now, splits, children, n_choices, rules.temperature)
        for r in range(n_choices):
            seen[r * n : r * n + n] = now
            taken[0, r * n : r * n + n] = index[r]
        drawn = draw(seen, leaves, taken, whole, noise[number * m : number * m + m])
        _join(seen, drawn.action, x)
        value, slope = _climb(x, n_actions, critics, rules.activation)
        loss += weight * drawn.log_prob.mean() - value
        leaf_slopes(seen, leaves, drawn, slope, weight / m, leaf_gradient)
        _step(all_leaves, rules.actor_rate)
    return loss / max(1, n_rows // n)


@kernel
def _least_target(x: Floats, critics: tuple[Critic, ...], activation: int) -> Floats:
    least = np.full(len(x), np.inf, x.dtype)
    for critic in critics:
        chain_forward(x, critic.target_weights, critic.target_biases, activation, critic.outputs)
        value = critic.outputs[len(critic.outputs) - 1]
        for b in range(len(x)):
            least[b] = least[b] if value[b, 0] >= least[b] else value[b, 0]
    return least


@kernel
def _regress(x: Floats, goal: Floats, critics: tuple[Critic, ...], activation: int) -> float:
    """Write the gradients of half the sum of mean squared errors, and return that sum."""
    n, loss = len(x), 0.0
    slope = np.empty((n, 1), x.dtype)
    for critic in critics:
        chain_forward(x, critic.weights, critic.biases, activation, critic.outputs)
        value = critic.outputs[len(critic.outputs) - 1]
        for b in range(n):
            error = value[b, 0] - goal[b]
            loss += error * error / (2 * n)
            slope[b, 0] = error / n
        chain_gradients(
            x, slope, critic.weights, activation, critic.outputs, critic.weight_gradients, critic.bias_gradients
        )
    return loss


@kernel
def _climb(x: Floats, n_actions: int, critics: tuple[Critic, ...], activation: int) -> tuple[float, Floats]:
    """Compute the mean of the least values of the rows, and the derivatives of minus it by the actions."""
    n = len(x)
    least, chosen = np.full(n, np.inf, x.dtype), np.zeros(n, np.int64)
    for number in range(len(critics)):
        critic = critics[number]
        chain_forward(x, critic.weights, critic.biases, activation, critic.outputs)
        value = critic.outputs[len(critic.outputs) - 1]
        for b in range(n):
            if not value[b, 0] >= least[b]:  # the first of equals, as in a minimum
                least[b], chosen[b] = value[b, 0], number
    slope = np.empty((n, n_actions), x.dtype)
    for number in range(len(critics)):
        critic, rows = critics[number], np.nonzero(chosen == number)[0]
        down = np.full((len(rows), 1), -1 / n, x.dtype)
        chain_pull_back(rows, down, critic.weights, activation, critic.outputs, slope)
    return least.mean(), slope


@kernel
def _step(trained: Trained, rate: float) -> None:
    trained.n_steps[0] += 1
    moments = Moments(trained.flat, trained.first, trained.second)
    adam(moments, trained.gradient, trained.n_steps[0], rate)


@kernel
def step_entropy(entropy: Trained, log_prob: Floats, target: float, rate: float) -> None:
    """Move the logarithm of the entropy weight so that the entropy comes to its target; at a rate of 0 it rests."""
    if rate > 0:
        entropy.gradient[0, 0] = -(log_prob.mean() + target)
        _step(entropy, rate)


@kernel
def follow(targets: Floats, flat: Floats, tau: float) -> None:
    """Move the targets by a share ``tau`` towards the critics."""
    share = targets.dtype.type(tau)
    for j in range(targets.shape[1]):
        targets[0, j] += share * (flat[0, j] - targets[0, j])


@kernel
def _join(left: Floats, right: Floats, x: Floats) -> None:
    n_left = left.shape[1]
    x[:, :n_left] = left
    x[:, n_left:] = right
