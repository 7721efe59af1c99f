"""Networks of compiled code: values and gradients are those of torch, in all rows or in some."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from dtsemnet.rl.algorithms.sac_kernels import (
    RELU,
    TANH,
    Critic,
    Layers,
    input_gradients,
    mlp_forward,
    weight_gradients,
)

pytestmark = pytest.mark.parametrize("activation", [RELU, TANH])
N_ROWS, WIDTHS = 7, (5, 6, 4, 1)


@pytest.fixture
def case(activation):
    """A network of torch, the same as arrays, and rows; the arrays hold the outputs of the layers for them."""
    torch.manual_seed(3)
    layers = [nn.Linear(a, b) for a, b in itertools.pairwise(WIDTHS)]
    between = nn.ReLU() if activation == RELU else nn.Tanh()
    network = nn.Sequential(layers[0], between, layers[1], between, layers[2])
    parts = ([getattr(layer, name).detach().numpy() for layer in layers] for name in ("weight", "bias"))
    values = Layers(*map(tuple, parts))
    gradient = Layers(*(tuple(np.full_like(array, np.nan) for array in part) for part in values))
    x = torch.randn(N_ROWS, WIDTHS[0])
    outputs = tuple(np.empty((N_ROWS, width), np.float32) for width in WIDTHS[1:])
    mlp_forward(x.numpy(), values, activation, outputs)
    return network, Critic(values, gradient, values, outputs, activation), x


def test_values(case):
    network, critic, x = case
    np.testing.assert_allclose(critic.outputs[-1], network(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_gradients_of_the_weights(case):
    network, critic, x = case
    slope = torch.randn(N_ROWS, 1)
    network(x).backward(slope)
    weight_gradients(x.numpy(), slope.numpy(), critic)
    for number, layer in enumerate(module for module in network if isinstance(module, nn.Linear)):
        np.testing.assert_allclose(critic.gradient.weights[number], layer.weight.grad.numpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(critic.gradient.biases[number], layer.bias.grad.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rows", [[], [4], [0, 2, 6]])
def test_gradients_of_the_last_features_in_some_rows(case, rows):
    network, critic, x = case
    x.requires_grad_()
    network(x).sum().backward()
    gradient = np.full((N_ROWS, 2), 9.0, np.float32)
    rows = np.array(rows, np.int64)
    input_gradients(rows, np.ones((len(rows), 1), np.float32), critic, gradient)
    expected = np.full((N_ROWS, 2), 9.0, np.float32)
    expected[rows] = x.grad.numpy()[rows, -2:]
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)
