"""Gradient steps on the critics and the entropy weight of SAC, compiled.

The networks are so small that a loop in Python spends most of its time outside of arithmetic. A critic is a chain of
linear layers with one activation between them: ``weights`` and ``biases`` are tuples with one array per layer,
(out, in) and (out,); ``outputs`` holds the output of each layer, (batch, out), the last without an activation.
Parameters and their moments are arrays that change in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import kernel
from dtsemnet.kernels.optimizer import Moments, adam

__all__ = [
    "RELU",
    "TANH",
    "Critic",
    "Parameters",
    "Transitions",
    "action_gradients",
    "adam_step",
    "concatenate",
    "critic_step",
    "entropy_step",
    "input_gradients",
    "mlp_forward",
    "move_targets",
    "weight_gradients",
]

RELU, TANH = 0, 1

Layers = tuple[Floats, ...]


class Parameters(NamedTuple):
    """Parameters in one row, (1, n), with their gradient and moments; the number of steps taken, (1,)."""

    value: Floats
    gradient: Floats
    first: Floats
    second: Floats
    n_steps: Ints


class Critic(NamedTuple):
    """The layers of a network, of its gradient and of its target, and arrays for the outputs of the layers."""

    weights: Layers
    biases: Layers
    weight_gradients: Layers
    bias_gradients: Layers
    target_weights: Layers
    target_biases: Layers
    outputs: Layers


class Transitions(NamedTuple):
    """Rows of the replay buffer."""

    observations: Floats
    actions: Floats
    next_observations: Floats
    rewards: Floats
    discounts: Floats
    """0 if the episode ended."""


@kernel
def critic_step(
    rows: Transitions,
    drawn: Floats,
    next_drawn: Floats,
    bonus: Floats,
    critics: tuple[Critic, ...],
    parameters: Parameters,
    activation: int,
    rate: float,
) -> tuple[float, float, Floats]:
    """Take a step on the critics; return their loss before it, and the ``action_gradients`` of ``drawn`` after it.

    The actor has drawn ``drawn`` and ``next_drawn``, (batch, actions), for the observations and for the next ones;
    ``bonus``, (batch,), is added to the value of the next actions, for their entropy.
    """
    n, n_actions = drawn.shape
    x = np.empty((n, rows.observations.shape[1] + n_actions), rows.observations.dtype)
    concatenate(rows.next_observations, next_drawn, x)
    target = _least_target_value(x, critics, activation)
    for b in range(n):
        target[b] = rows.rewards[b] + rows.discounts[b] * (target[b] + bonus[b])
    concatenate(rows.observations, rows.actions, x)
    loss = _critic_gradients(x, target, critics, activation)
    adam_step(parameters, rate)
    concatenate(rows.observations, drawn, x)
    value, gradient = action_gradients(x, n_actions, critics, activation)
    return loss, value, gradient


@kernel
def action_gradients(x: Floats, n_actions: int, critics: tuple[Critic, ...], activation: int) -> tuple[float, Floats]:
    """Compute the mean of the least values of the rows, and the derivatives of minus it by the actions."""
    n = len(x)
    least, chosen = np.full(n, np.inf, x.dtype), np.zeros(n, np.int64)
    for c in range(len(critics)):
        critic = critics[c]
        mlp_forward(x, critic.weights, critic.biases, activation, critic.outputs)
        value = critic.outputs[len(critic.outputs) - 1]
        for b in range(n):
            if not value[b, 0] >= least[b]:  # the first of equals, as in a minimum
                least[b], chosen[b] = value[b, 0], c
    gradient = np.empty((n, n_actions), x.dtype)
    for c in range(len(critics)):
        critic, rows = critics[c], np.nonzero(chosen == c)[0]
        by_value = np.full((len(rows), 1), -1 / n, x.dtype)
        input_gradients(rows, by_value, critic.weights, activation, critic.outputs, gradient)
    return least.mean(), gradient


@kernel
def entropy_step(entropy: Parameters, log_prob: Floats, target: float, rate: float) -> None:
    """Move the logarithm of the entropy weight so that the entropy approaches its target; a rate of 0 keeps it."""
    if rate > 0:
        entropy.gradient[0, 0] = -(log_prob.mean() + target)
        adam_step(entropy, rate)


@kernel
def move_targets(targets: Floats, critics: Floats, tau: float) -> None:
    """Move the parameters of the targets by a share ``tau`` towards those of the critics."""
    share = targets.dtype.type(tau)
    for j in range(targets.shape[1]):
        targets[0, j] += share * (critics[0, j] - targets[0, j])


@kernel
def adam_step(parameters: Parameters, rate: float) -> None:
    """Take one step of Adam."""
    parameters.n_steps[0] += 1
    moments = Moments(parameters.value, parameters.first, parameters.second)
    adam(moments, parameters.gradient, parameters.n_steps[0], rate)


@kernel
def concatenate(left: Floats, right: Floats, x: Floats) -> None:
    """Write the columns of two arrays next to each other into ``x``."""
    n_left = left.shape[1]
    x[:, :n_left] = left
    x[:, n_left:] = right


@kernel
def mlp_forward(x: Floats, weights: Layers, biases: Layers, activation: int, outputs: Layers) -> None:
    """Write the output of each layer."""
    n_layers = len(weights)
    for level in range(n_layers):
        before, output = x if level == 0 else outputs[level - 1], outputs[level]
        np.dot(before, weights[level].T, output)
        if level < n_layers - 1:
            _activate(output, biases[level], activation)
        else:
            output += biases[level]


@kernel
def weight_gradients(
    x: Floats,
    gradient: Floats,
    weights: Layers,
    activation: int,
    outputs: Layers,
    by_weight: Layers,
    by_bias: Layers,
) -> None:
    """Write the gradients of weights and biases, given ``gradient``, that of the last output."""
    for level in range(len(weights) - 1, -1, -1):
        before = x if level == 0 else outputs[level - 1]
        np.dot(gradient.T, before, by_weight[level])
        _sum_rows(gradient, by_bias[level])
        if level > 0:
            gradient = np.dot(gradient, weights[level])
            _activation_gradient(gradient, outputs[level - 1], activation)


@kernel
def input_gradients(
    rows: Ints, gradient: Floats, weights: Layers, activation: int, outputs: Layers, by_input: Floats
) -> None:
    """Write into some rows of ``by_input``, (batch, m), the gradient by the last m features.

    ``gradient``, (len(rows), out), is that of the last output, for those rows alone.
    """
    for level in range(len(weights) - 1, 0, -1):
        gradient = np.dot(gradient, weights[level])
        _activation_gradient(gradient, outputs[level - 1][rows], activation)
    n_features, n_wanted = weights[0].shape[1], by_input.shape[1]
    wanted = np.ascontiguousarray(weights[0][:, n_features - n_wanted :])
    by_input[rows] = np.dot(gradient, wanted)


@kernel
def _least_target_value(x: Floats, critics: tuple[Critic, ...], activation: int) -> Floats:
    least = np.full(len(x), np.inf, x.dtype)
    for critic in critics:
        mlp_forward(x, critic.target_weights, critic.target_biases, activation, critic.outputs)
        value = critic.outputs[len(critic.outputs) - 1]
        for b in range(len(x)):
            least[b] = least[b] if value[b, 0] >= least[b] else value[b, 0]
    return least


@kernel
def _critic_gradients(x: Floats, target: Floats, critics: tuple[Critic, ...], activation: int) -> float:
    """Write the gradients of half the sum of mean squared errors, and return that sum."""
    n, loss = len(x), 0.0
    gradient = np.empty((n, 1), x.dtype)
    for critic in critics:
        mlp_forward(x, critic.weights, critic.biases, activation, critic.outputs)
        value = critic.outputs[len(critic.outputs) - 1]
        for b in range(n):
            error = value[b, 0] - target[b]
            loss += error * error / (2 * n)
            gradient[b, 0] = error / n
        weight_gradients(
            x, gradient, critic.weights, activation, critic.outputs, critic.weight_gradients, critic.bias_gradients
        )
    return loss


@kernel
def _activate(output: Floats, bias: Floats, activation: int) -> None:
    zero = output.dtype.type(0)
    n_rows, n_columns = output.shape
    if activation == RELU:
        for i in range(n_rows):
            row = output[i]
            for j in range(n_columns):
                value = row[j] + bias[j]
                row[j] = zero if value < zero else value  # compared so that nan stays nan
    else:
        for i in range(n_rows):
            for j in range(n_columns):
                output[i, j] = np.tanh(output[i, j] + bias[j])


@kernel
def _activation_gradient(gradient: Floats, output: Floats, activation: int) -> None:
    """Turn the gradient of an activation's output into that of its input, in place."""
    zero, one = gradient.dtype.type(0), gradient.dtype.type(1)
    n_rows, n_columns = output.shape
    if activation == RELU:
        for i in range(n_rows):
            row, value = gradient[i], output[i]
            for j in range(n_columns):
                row[j] = row[j] if value[j] > zero else zero
    else:
        for i in range(n_rows):
            row, value = gradient[i], output[i]
            for j in range(n_columns):
                row[j] *= one - value[j] * value[j]


@kernel
def _sum_rows(gradient: Floats, total: Floats) -> None:
    total[:] = 0
    for i in range(len(gradient)):
        row = gradient[i]
        for j in range(len(total)):
            total[j] += row[j]
