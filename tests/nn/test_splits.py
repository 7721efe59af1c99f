"""Every split layer is affine, and folds into the hyperplanes it computes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.nn import ChainSplits, LinearSplits, NormalisedSplits

KINDS = {
    "plain": lambda d, m, g: LinearSplits(d, m, generator=g),
    "chain": lambda d, m, g: ChainSplits(d, m, generator=g),
    "orthogonal chain": lambda d, m, g: ChainSplits(d, m, (3,), orthogonal=True, generator=g),
    "chain of one": lambda d, m, g: ChainSplits(d, m, (), generator=g),
    "normalised": lambda d, m, g: NormalisedSplits(LinearSplits(d, m, generator=g)),
    "normalised chain": lambda d, m, g: NormalisedSplits(ChainSplits(d, m, (2, 4), generator=g)),
}


@pytest.mark.parametrize("kind", KINDS)
@given(d=st.integers(1, 5), m=st.integers(0, 7), seed=st.integers(0, 2**32 - 1))
def test_fold_is_the_function_of_the_layer(kind, d, m, seed):
    generator = torch.Generator().manual_seed(seed)
    layer = KINDS[kind](d, m, generator).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.empty_like(parameter).normal_(generator=generator))
    x = torch.empty(16, d, dtype=torch.float64).normal_(generator=generator)
    layer(x)  # in training mode: moves the running statistics of a norm
    weight, bias = layer.fold()
    assert weight.dtype == bias.dtype == torch.float64
    assert weight.shape == (m, d)
    assert bias.shape == (m,)
    torch.testing.assert_close(layer.eval()(x), x @ weight.T + bias, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_fold_of_float32_computes_in_float64(kind):
    layer = KINDS[kind](4, 7, torch.Generator().manual_seed(0))
    expected = layer.double().fold()
    for folded, exact in zip(layer.float().fold(), expected):
        assert folded.dtype == torch.float64
        torch.testing.assert_close(folded, exact, rtol=1e-12, atol=1e-12)


def test_fold_is_a_copy():
    layer = LinearSplits(2, 3).double()
    layer.fold()[0].zero_()
    assert layer.weight.abs().sum() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_same_generator_same_start(kind):
    layers = [KINDS[kind](4, 7, torch.Generator().manual_seed(5)) for _ in range(2)]
    for first, second in zip(*(layer.state_dict().values() for layer in layers)):
        assert torch.equal(first, second)


def test_plain_splits_start_as_a_linear_layer():
    layer = LinearSplits(16, 1000)
    assert layer.weight.abs().max() <= 0.25
    assert layer.bias.abs().max() <= 0.25
    assert layer.weight.std().item() == pytest.approx(0.5 / 12**0.5, rel=0.05)


def test_chain_has_the_widths_of_its_factors_and_no_bias_at_the_start():
    layer = ChainSplits(5, 3, factors=(6, 4, 2))
    assert [tuple(weight.shape) for weight in layer.weights] == [(18, 5), (12, 18), (6, 12), (3, 6)]
    assert not layer.fold()[1].any()


@pytest.mark.parametrize("sizes", [(5, 3), (3, 3), (2, 7)])
def test_orthogonal_chain_starts_orthogonal(sizes):
    for weight in ChainSplits(*sizes, factors=(2,), orthogonal=True).double().weights:
        gram = weight @ weight.T if weight.shape[0] <= weight.shape[1] else weight.T @ weight
        torch.testing.assert_close(gram, torch.eye(len(gram), dtype=gram.dtype), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_agree_with_finite_differences(kind):
    layer = KINDS[kind](3, 2, torch.Generator().manual_seed(1)).double()
    x = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="n_splits"):
        LinearSplits(3, -1)
    with pytest.raises(ValueError, match="factors"):
        ChainSplits(3, 2, factors=(0,))
