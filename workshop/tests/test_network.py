"""The paper's layer differs from the leaf logits by a constant per row; its splits fold into hyperplanes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from dtsemnet.nn import ClassMaxPool, DTSemNet, Hardmax, LinearLeaves, LinearSplits, TopK, decode, leaf_logits
from dtsemnet.nn.logits import violation_matrix
from dtsemnet.tree import Topology
from dtsemnet_paper.network import ChainSplits, IdentityStraightThrough, NormalisedSplits, dense_logits
from nn.drawing import ragged, walk
from strategies import topologies

KINDS = {
    "chain": lambda d, m, g: ChainSplits(d, m, generator=g),
    "orthogonal chain": lambda d, m, g: ChainSplits(d, m, (3,), orthogonal=True, generator=g),
    "chain of one": lambda d, m, g: ChainSplits(d, m, (), generator=g),
    "normalised": lambda d, m, g: NormalisedSplits(LinearSplits(d, m, generator=g)),
    "normalised chain": lambda d, m, g: NormalisedSplits(ChainSplits(d, m, (2, 4), generator=g)),
}


@given(topology=topologies(), seed=st.integers(0, 2**32 - 1))
def test_dense_layer_has_the_coefficients_of_the_paper(topology, seed):
    scores = np.random.default_rng(seed).normal(size=(3, topology.n_splits))
    first, last = topology.spans
    expected = np.zeros((3, topology.n_leaves))
    for i, (left, _) in enumerate(topology.children):
        middle = last[left] if left >= 0 else ~left + 1
        top, bottom = np.ones(topology.n_leaves), np.ones(topology.n_leaves)
        top[first[i] : middle] = 0
        bottom[middle : last[i]] = 0
        expected += np.outer(np.maximum(scores[:, i], 0), top) + np.outer(np.maximum(-scores[:, i], 0), bottom)
    np.testing.assert_allclose(dense_logits(torch.from_numpy(scores), topology), expected, rtol=1e-13)


@given(topology=topologies(), seed=st.integers(0, 2**32 - 1))
def test_dense_layer_differs_by_the_sum_of_all_margins(topology, seed):
    scores = torch.from_numpy(np.random.default_rng(seed).normal(size=(4, topology.n_splits)))
    exact, dense = leaf_logits(scores, topology), dense_logits(scores, topology)
    torch.testing.assert_close(
        dense - exact, scores.abs().sum(1, keepdim=True).expand_as(exact), rtol=1e-12, atol=1e-12
    )
    torch.testing.assert_close(dense.softmax(1), exact.softmax(1), rtol=1e-11, atol=1e-12)


@settings(max_examples=40)
@given(topology=topologies(), seed=st.integers(0, 2**32 - 1))
def test_dense_layer_has_the_same_gradient_through_shift_invariant_losses(topology, seed):
    rng = np.random.default_rng(seed)
    start = torch.from_numpy(rng.normal(size=(4, topology.n_splits)))
    output = torch.from_numpy(rng.normal(size=(topology.n_leaves, 2)))
    n_classes = min(3, topology.n_leaves)
    target = torch.from_numpy(rng.integers(n_classes, size=4))
    pools = [ClassMaxPool(np.arange(topology.n_leaves) % n_classes, n_classes, temperature=t) for t in (0.0, 0.3)]
    losses = [lambda z, pool=pool: F.cross_entropy(pool(z), target) for pool in pools]
    losses += [lambda z, k=k: (TopK(k, 0.5)(z) @ output).square().sum() for k in (2, 3, topology.n_leaves + 1)]
    for loss in losses:
        gradients = []
        for form in (leaf_logits, dense_logits):
            scores = start.clone().requires_grad_()
            loss(form(scores, topology)).backward()
            gradients.append(scores.grad)
        torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-11)


@given(topology=topologies(), seed=st.integers(0, 2**32 - 1))
def test_identity_straight_through_sends_the_gradient_to_the_dense_logits(topology, seed):
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(
        rng.normal(size=(4, topology.n_splits)) * 10.0 ** rng.integers(-20, 20, topology.n_splits)
    )
    scores.requires_grad_()
    direction = torch.from_numpy(rng.normal(size=(4, topology.n_leaves)))
    weights = IdentityStraightThrough().weigh(scores, topology)
    assert torch.equal(weights.detach(), Hardmax()(leaf_logits(scores.detach(), topology)))
    (gradient,) = torch.autograd.grad(weights, scores, direction)
    (expected,) = torch.autograd.grad(dense_logits(scores, topology), scores, direction)
    assert torch.equal(gradient, expected)
    assert not IdentityStraightThrough().eval().weigh(scores, topology).requires_grad


@given(rows=st.lists(st.lists(st.integers(-2, 0), min_size=5, max_size=5), min_size=1, max_size=5))
def test_identity_straight_through_is_the_hardmax_in_eval(rows):
    logits = torch.tensor(rows, dtype=torch.float64)
    assert torch.equal(IdentityStraightThrough().eval()(logits), Hardmax()(logits))


def test_identity_straight_through_trains_the_splits_and_leaves_the_prediction():
    net = DTSemNet.regressor(3, 2, max_depth=3, selector=IdentityStraightThrough())
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    training = net.train().predict(x)
    assert torch.equal(training, net.eval().predict(x))
    assert torch.equal(training, net.eval()(x))
    net.train()(x).square().mean().backward()
    assert net.splits.weight.grad.abs().sum() > 0


@pytest.mark.parametrize(
    "topology", [Topology.complete(1), Topology.complete(3), Topology([[-1, 1], [2, -4], [-2, -3]])]
)
def test_gradients_of_the_dense_layer_agree_with_finite_differences(topology):
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], (3, topology.n_splits))
    scores = torch.from_numpy(sign * rng.uniform(0.1, 2, (3, topology.n_splits))).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: dense_logits(s, topology), scores)


def test_dense_layer_trains_after_a_first_call_in_inference_mode():
    topology = ragged(23, np.random.default_rng(99))
    violation_matrix.cache_clear()
    with torch.inference_mode():
        dense_logits(torch.zeros(2, topology.n_splits), topology)
    scores = torch.randn(2, topology.n_splits, requires_grad=True)
    dense_logits(scores, topology).sum().backward()
    assert scores.grad is not None


@given(seed=st.integers(0, 2**32 - 1), n_splits=st.integers(0, 9))
def test_what_was_trained_in_other_coordinates_decodes_to_the_same_function(seed, n_splits):
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    topology = ragged(n_splits, rng)
    splits = NormalisedSplits(ChainSplits(3, n_splits, (2, 3), generator=generator))
    head = LinearLeaves(rng.normal(size=(n_splits + 1, 2, 3)), rng.normal(size=(n_splits + 1, 2)))
    net = DTSemNet(topology, splits, TopK(2), head).double()
    x = torch.from_numpy(rng.normal(size=(40, 3)))
    net(x)  # in training mode: moves the running statistics
    tree, scores = decode(net), net.eval().scores(x)
    np.testing.assert_allclose(tree.scores(x.numpy()), scores.detach(), rtol=1e-10, atol=1e-11)
    clear = (scores.abs() > 1e-9).all(dim=1).numpy()
    np.testing.assert_array_equal(tree.apply(x.numpy())[clear], walk(topology, scores.detach().numpy())[clear])
    np.testing.assert_allclose(tree.predict(x.numpy())[clear], net.predict(x).detach()[clear], rtol=1e-9, atol=1e-10)


def test_gradients_through_a_batch_norm_agree_with_finite_differences():
    generator = torch.Generator().manual_seed(3)
    net = DTSemNet.regressor(3, 2, max_depth=2, selector=TopK(4), generator=generator)
    net.splits = NormalisedSplits(LinearSplits(3, 3, generator=generator))
    net.double()
    x = torch.randn(4, 3, dtype=torch.float64, generator=generator)
    assert torch.autograd.gradcheck(lambda *_: net(x), tuple(net.parameters()))


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


@pytest.mark.parametrize("kind", KINDS)
def test_same_generator_same_start(kind):
    layers = [KINDS[kind](4, 7, torch.Generator().manual_seed(5)) for _ in range(2)]
    for first, second in zip(*(layer.state_dict().values() for layer in layers)):
        assert torch.equal(first, second)


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


def test_wrong_factors_are_named():
    with pytest.raises(ValueError, match="factors"):
        ChainSplits(3, 2, factors=(0,))
