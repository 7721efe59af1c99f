"""Gradient steps on the critics and the entropy weight of SAC, compiled.

The networks are so small that a loop in Python spends most of its time outside of arithmetic. A critic is a chain of
linear layers with one activation between them. Parameters and their moments are arrays that change in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import kernel
from dtsemnet.kernels.optimizer import Moments, adam

__all__ = [
    "RELU", "TANH", "Critic", "Critics", "Entropy", "Layers", "Parameters", "Transitions", "action_gradients",
    "adam_step", "critic_step", "entropy_step", "input_gradients", "mlp_forward", "move_targets",
    "weight_gradients",
]  # fmt: skip

RELU, TANH = 0, 1


class Parameters(NamedTuple):
    """Parameters in one row, (1, n), with their gradient and moments; the number of steps taken, (1,)."""

    value: Floats
    gradient: Floats
    first: Floats
    second: Floats
    n_steps: Ints


class Layers(NamedTuple):
    """Weights, (out, in), and biases, (out,), of each layer, or their gradients."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]


class Critic(NamedTuple):
    """A network, its gradient and its target."""

    layers: Layers
    gradient: Layers
    target: Layers
    outputs: tuple[Floats, ...]
    """Receive the output of each layer, (batch, out), the last without an activation."""
    activation: int


class Critics(NamedTuple):
    """All critics: views of one row of parameters, and of the row of their targets."""

    networks: tuple[Critic, ...]
    parameters: Parameters
    targets: Floats
    rate: float
    tau: float
    """Share of the way that the targets move towards the critics, every ``target_interval`` steps."""
    target_interval: int


class Entropy(NamedTuple):
    """The logarithm of the entropy weight, the target of the entropy, and the learning rate; 0 keeps the weight."""

    parameters: Parameters
    target: float
    rate: float


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
    rows: Transitions, drawn: Floats, next_drawn: Floats, bonus: Floats, critics: Critics
) -> tuple[float, float, Floats]:
    """Take a step on the critics; return their loss before it, and the ``action_gradients`` of ``drawn`` after it.

    The actor has drawn ``drawn`` and ``next_drawn``, (batch, actions), for the observations and for the next ones;
    ``bonus``, (batch,), is added to the value of the next actions, for their entropy.
    """
    n, n_actions = drawn.shape
    target, _ = _least_values(np.concatenate((rows.next_observations, next_drawn), axis=1), critics.networks, True)
    for b in range(n):
        target[b] = rows.rewards[b] + rows.discounts[b] * (target[b] + bonus[b])
    x = np.concatenate((rows.observations, rows.actions), axis=1)
    loss, by_value = 0.0, np.empty((n, 1), x.dtype)
    for critic in critics.networks:
        mlp_forward(x, critic.layers, critic.activation, critic.outputs)
        for b in range(n):
            error = critic.outputs[len(critic.outputs) - 1][b, 0] - target[b]
            loss += error * error / (2 * n)  # half the mean squared error
            by_value[b, 0] = error / n
        weight_gradients(x, by_value, critic)
    adam_step(critics.parameters, critics.rate)
    x = np.concatenate((rows.observations, drawn), axis=1)
    value, gradient = action_gradients(x, n_actions, critics.networks)
    return loss, value, gradient


@kernel
def action_gradients(x: Floats, n_actions: int, networks: tuple[Critic, ...]) -> tuple[float, Floats]:
    """Compute the mean of the least values of the rows, and the derivatives of minus it by the actions."""
    least, chosen = _least_values(x, networks, False)
    gradient = np.empty((len(x), n_actions), x.dtype)
    for c in range(len(networks)):
        rows = np.nonzero(chosen == c)[0]
        input_gradients(rows, np.full((len(rows), 1), -1 / len(x), x.dtype), networks[c], gradient)
    return least.mean(), gradient


@kernel
def entropy_step(entropy: Entropy, log_prob: Floats) -> None:
    """Move the logarithm of the entropy weight so that the entropy approaches its target."""
    if entropy.rate > 0:
        entropy.parameters.gradient[0, 0] = -(log_prob.mean() + entropy.target)
        adam_step(entropy.parameters, entropy.rate)


@kernel
def move_targets(critics: Critics, step: int) -> None:
    """Move the targets towards the critics, if it is their turn in this step."""
    if step % critics.target_interval == 0:
        targets, values = critics.targets, critics.parameters.value
        share = targets.dtype.type(critics.tau)
        for j in range(targets.shape[1]):
            targets[0, j] += share * (values[0, j] - targets[0, j])


@kernel
def adam_step(parameters: Parameters, rate: float) -> None:
    """Take one step of Adam."""
    parameters.n_steps[0] += 1
    moments = Moments(parameters.value, parameters.first, parameters.second)
    adam(moments, parameters.gradient, parameters.n_steps[0], rate)


@kernel
def mlp_forward(x: Floats, layers: Layers, activation: int, outputs: tuple[Floats, ...]) -> None:
    """Write the output of each layer."""
    n_layers = len(layers.weights)
    for level in range(n_layers):
        before, output = x if level == 0 else outputs[level - 1], outputs[level]
        np.dot(before, layers.weights[level].T, output)
        if level < n_layers - 1:
            _activate(output, layers.biases[level], activation)
        else:
            output += layers.biases[level]


@kernel
def weight_gradients(x: Floats, gradient: Floats, critic: Critic) -> None:
    """Write the gradients of weights and biases, given ``gradient``, that of the last output."""
    for level in range(len(critic.outputs) - 1, -1, -1):
        before = x if level == 0 else critic.outputs[level - 1]
        np.dot(gradient.T, before, critic.gradient.weights[level])
        critic.gradient.biases[level][:] = gradient.sum(axis=0)
        if level > 0:
            gradient = np.dot(gradient, critic.layers.weights[level])
            _activation_gradient(gradient, critic.outputs[level - 1], critic.activation)


@kernel
def input_gradients(rows: Ints, gradient: Floats, critic: Critic, by_input: Floats) -> None:
    """Write into some rows of ``by_input``, (batch, m), the gradient by the last m features.

    ``gradient``, (len(rows), out), is that of the last output, for those rows alone.
    """
    weights = critic.layers.weights
    for level in range(len(weights) - 1, 0, -1):
        gradient = np.dot(gradient, weights[level])
        _activation_gradient(gradient, critic.outputs[level - 1][rows], critic.activation)
    n_features, n_wanted = weights[0].shape[1], by_input.shape[1]
    wanted = np.ascontiguousarray(weights[0][:, n_features - n_wanted :])
    by_input[rows] = np.dot(gradient, wanted)


@kernel
def _least_values(x: Floats, networks: tuple[Critic, ...], of_targets: bool) -> tuple[Floats, Ints]:
    """Compute the least value of each row, and the number of the critic, or target, that gives it."""
    least, chosen = np.full(len(x), np.inf, x.dtype), np.zeros(len(x), np.int64)
    for c in range(len(networks)):
        critic = networks[c]
        mlp_forward(x, critic.target if of_targets else critic.layers, critic.activation, critic.outputs)
        value = critic.outputs[len(critic.outputs) - 1]
        for b in range(len(x)):
            if not value[b, 0] >= least[b]:  # the first of equals, as in a minimum
                least[b], chosen[b] = value[b, 0], c
    return least, chosen


@kernel
def _activate(output: Floats, bias: Floats, activation: int) -> None:
    zero = output.dtype.type(0)
    for i in range(output.shape[0]):
        row = output[i]
        for j in range(output.shape[1]):
            value = row[j] + bias[j]
            if activation == RELU:
                row[j] = zero if value < zero else value  # compared so that nan stays nan
            else:
                row[j] = np.tanh(value)


@kernel
def _activation_gradient(gradient: Floats, output: Floats, activation: int) -> None:
    """Turn the gradient of an activation's output into that of its input, in place."""
    zero, one = gradient.dtype.type(0), gradient.dtype.type(1)
    for i in range(output.shape[0]):
        row, value = gradient[i], output[i]
        for j in range(output.shape[1]):
            if activation == RELU:
                row[j] = row[j] if value[j] > zero else zero
            else:
                row[j] *= one - value[j] * value[j]
