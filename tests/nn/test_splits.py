"""Splits are affine, and fold into the hyperplanes they compute."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.nn import LinearSplits


@given(d=st.integers(1, 5), m=st.integers(0, 7), seed=st.integers(0, 2**32 - 1))
def test_fold_is_the_function_of_the_layer(d, m, seed):
    generator = torch.Generator().manual_seed(seed)
    layer = LinearSplits(d, m, generator=generator).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.empty_like(parameter).normal_(generator=generator))
    x = torch.empty(16, d, dtype=torch.float64).normal_(generator=generator)
    weight, bias = layer.fold()
    assert weight.dtype == bias.dtype == torch.float64
    assert weight.shape == (m, d)
    assert bias.shape == (m,)
    torch.testing.assert_close(layer.eval()(x), x @ weight.T + bias, rtol=1e-10, atol=1e-9)


def test_fold_of_float32_computes_in_float64():
    layer = LinearSplits(4, 7, generator=torch.Generator().manual_seed(0))
    expected = layer.double().fold()
    for folded, exact in zip(layer.float().fold(), expected):
        assert folded.dtype == torch.float64
        torch.testing.assert_close(folded, exact, rtol=1e-12, atol=1e-12)


def test_fold_is_a_copy():
    layer = LinearSplits(2, 3).double()
    layer.fold()[0].zero_()
    assert layer.weight.abs().sum() > 0


def test_same_generator_same_start():
    layers = [LinearSplits(4, 7, generator=torch.Generator().manual_seed(5)) for _ in range(2)]
    for first, second in zip(*(layer.state_dict().values() for layer in layers)):
        assert torch.equal(first, second)


def test_plain_splits_start_as_a_linear_layer():
    layer = LinearSplits(16, 1000)
    assert layer.weight.abs().max() <= 0.25
    assert layer.bias.abs().max() <= 0.25
    assert layer.weight.std().item() == pytest.approx(0.5 / 12**0.5, rel=0.05)


def test_gradients_agree_with_finite_differences():
    layer = LinearSplits(3, 2, generator=torch.Generator().manual_seed(1)).double()
    x = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="n_splits"):
        LinearSplits(3, -1)
