"""Networks of compiled code: values and gradients are those of torch, in all rows or in some."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from dtsemnet.rl.algorithms.sac_kernels import RELU, TANH, input_gradients, mlp_forward, weight_gradients

pytestmark = pytest.mark.parametrize("activation", [RELU, TANH])
N_ROWS, WIDTHS = 7, (5, 6, 4, 1)


@pytest.fixture
def case(activation):
    """A network of torch, its layers as arrays, rows, and the outputs of its layers for them."""
    torch.manual_seed(3)
    layers = [nn.Linear(a, b) for a, b in itertools.pairwise(WIDTHS)]
    between = nn.ReLU() if activation == RELU else nn.Tanh()
    network = nn.Sequential(layers[0], between, layers[1], between, layers[2])
    weights, biases = (tuple(getattr(layer, name).detach().numpy() for layer in layers) for name in ("weight", "bias"))
    x = torch.randn(N_ROWS, WIDTHS[0])
    outputs = tuple(np.empty((N_ROWS, width), np.float32) for width in WIDTHS[1:])
    mlp_forward(x.numpy(), weights, biases, activation, outputs)
    return network, weights, biases, x, outputs


def test_values(case):
    network, _, _, x, outputs = case
    np.testing.assert_allclose(outputs[-1], network(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_gradients_of_the_weights(case, activation):
    network, weights, biases, x, outputs = case
    slope = torch.randn(N_ROWS, 1)
    network(x).backward(slope)
    by_weight, by_bias = (tuple(np.full_like(array, np.nan) for array in arrays) for arrays in (weights, biases))
    weight_gradients(x.numpy(), slope.numpy(), weights, activation, outputs, by_weight, by_bias)
    for number, layer in enumerate(module for module in network if isinstance(module, nn.Linear)):
        np.testing.assert_allclose(by_weight[number], layer.weight.grad.numpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(by_bias[number], layer.bias.grad.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rows", [[], [4], [0, 2, 6]])
def test_gradients_of_the_last_features_in_some_rows(case, activation, rows):
    network, weights, _, x, outputs = case
    x.requires_grad_()
    network(x).sum().backward()
    gradient = np.full((N_ROWS, 2), 9.0, np.float32)
    rows = np.array(rows, np.int64)
    input_gradients(rows, np.ones((len(rows), 1), np.float32), weights, activation, outputs, gradient)
    expected = np.full((N_ROWS, 2), 9.0, np.float32)
    expected[rows] = x.grad.numpy()[rows, -2:]
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)
