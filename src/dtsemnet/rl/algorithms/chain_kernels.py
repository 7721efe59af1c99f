"""Small networks forwards and backwards: a chain of linear layers, with one activation between them.

A layer is a product and one loop over its output, and so is its gradient. ``weights`` and ``biases`` are tuples with an
array a layer, (out, in) and (out,); ``outputs`` holds what each layer gives, (batch, out), the last one before any
activation, which is how the gradient finds it again.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels import kernel

__all__ = ["RELU", "TANH", "chain_forward", "chain_gradients", "chain_pull_back"]

RELU, TANH = 0, 1

Layers = tuple[Floats, ...]


@kernel
def chain_forward(x: Floats, weights: Layers, biases: Layers, activation: int, outputs: Layers) -> None:
    """Write what each layer gives."""
    n_layers = len(weights)
    for number in range(n_layers):
        before = x if number == 0 else outputs[number - 1]
        np.dot(before, weights[number].T, outputs[number])
        if number < n_layers - 1:
            _activate(outputs[number], biases[number], activation)
        else:
            _shift(outputs[number], biases[number])


@kernel
def chain_gradients(
    x: Floats,
    slope: Floats,
    weights: Layers,
    activation: int,
    outputs: Layers,
    weight_gradients: Layers,
    bias_gradients: Layers,
) -> None:
    """Write the gradients of weights and biases from ``slope``, that of the last output."""
    for number in range(len(weights) - 1, -1, -1):
        before = x if number == 0 else outputs[number - 1]
        np.dot(slope.T, before, weight_gradients[number])
        _sum_rows(slope, bias_gradients[number])
        if number > 0:
            slope = np.dot(slope, weights[number])
            _through(slope, outputs[number - 1], activation)


@kernel
def chain_pull_back(
    rows: Ints, slope: Floats, weights: Layers, activation: int, outputs: Layers, gradient: Floats
) -> None:
    """Write into some rows of ``gradient``, (batch, m), the slope of the last output by the last m features.

    ``slope``, (len(rows), out), is that of the last output, in those rows alone.
    """
    for number in range(len(weights) - 1, 0, -1):
        slope = np.dot(slope, weights[number])
        _through(slope, outputs[number - 1][rows], activation)
    n_features, n_wanted = weights[0].shape[1], gradient.shape[1]
    wanted = np.ascontiguousarray(weights[0][:, n_features - n_wanted :])
    gradient[rows] = np.dot(slope, wanted)


@kernel
def _activate(output: Floats, bias: Floats, activation: int) -> None:
    zero = output.dtype.type(0)
    n_rows, n_columns = output.shape
    if activation == RELU:
        for i in range(n_rows):
            row = output[i]
            for j in range(n_columns):
                value = row[j] + bias[j]
                row[j] = zero if value < zero else value  # compared so that a nan comes through
    else:
        for i in range(n_rows):
            for j in range(n_columns):
                output[i, j] = np.tanh(output[i, j] + bias[j])


@kernel
def _shift(output: Floats, bias: Floats) -> None:
    for i in range(len(output)):
        for j in range(output.shape[1]):
            output[i, j] += bias[j]


@kernel
def _through(slope: Floats, output: Floats, activation: int) -> None:
    """Carry a slope of an activation's output to its input, in place."""
    zero, one = slope.dtype.type(0), slope.dtype.type(1)
    n_rows, n_columns = output.shape
    if activation == RELU:
        for i in range(n_rows):
            row, value = slope[i], output[i]
            for j in range(n_columns):
                row[j] = row[j] if value[j] > zero else zero
    else:
        for i in range(n_rows):
            row, value = slope[i], output[i]
            for j in range(n_columns):
                row[j] *= one - value[j] * value[j]


@kernel
def _sum_rows(slope: Floats, total: Floats) -> None:
    total[:] = 0
    for i in range(len(slope)):
        row = slope[i]
        for j in range(len(total)):
            total[j] += row[j]
