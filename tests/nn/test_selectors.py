"""Selectors take the lowest of equals, forward and backward, and are the hardmax in eval()."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.nn import Hardmax, StraightThrough, TopK, leaf_logits
from dtsemnet.tree import Topology
from strategies import topologies

SELECTORS = [Hardmax(), TopK(1), TopK(3), TopK(100), StraightThrough()]
ties = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(-2, 0), min_size=n, max_size=n), min_size=1, max_size=5)
)


def one_hot(logits):
    """Mark the first maximum of each row."""
    expected = torch.zeros_like(logits)
    for row, leaf in enumerate(np.argmax(logits.numpy(), axis=1)):
        expected[row, leaf] = 1
    return expected


@given(rows=ties)
def test_every_selector_is_the_hardmax_in_eval(rows):
    logits = torch.tensor(rows, dtype=torch.float64)
    for selector in SELECTORS:
        assert torch.equal(selector.eval()(logits), one_hot(logits))


@given(rows=ties, k=st.integers(1, 10), temperature=st.sampled_from([0.1, 0.5, 2.0]))
def test_top_k_is_the_softmax_of_the_k_largest_with_ties_to_the_lowest_index(rows, k, temperature):
    logits = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    direction = torch.arange(1.0, logits.shape[1] + 1, dtype=torch.float64)
    weights = TopK(k, temperature)(logits)
    kept = np.argsort(-logits.detach().numpy(), axis=1, kind="stable")[:, :k]

    expected = torch.zeros_like(logits)
    slope = torch.zeros_like(logits)
    for row, leaves in enumerate(torch.from_numpy(kept)):
        p = (logits.detach()[row, leaves] / temperature).softmax(0)
        expected[row, leaves] = p
        slope[row, leaves] = p * (direction[leaves] - (p * direction[leaves]).sum()) / temperature
    torch.testing.assert_close(weights, expected)
    if k == 1:
        assert not weights.requires_grad
        return
    (weights * direction).sum().backward()
    torch.testing.assert_close(logits.grad, slope)
    outside = torch.ones_like(logits, dtype=torch.bool).scatter(1, torch.from_numpy(kept), False)
    assert (weights[outside] == 0).all()
    assert (logits.grad[outside] == 0).all()


@given(rows=ties)
def test_top_1_is_the_one_hot_vector(rows):
    logits = torch.tensor(rows, dtype=torch.float32)
    assert torch.equal(TopK(1)(logits), one_hot(logits))


def test_top_k_with_all_leaves_is_the_softmax():
    logits = -torch.rand(5, 4)
    for k in (4, 5, 1000):
        assert torch.equal(TopK(k, 0.25)(logits), (logits / 0.25).softmax(1))


def test_top_k_takes_logits_that_overflowed():
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, -torch.inf]], requires_grad=True)
    weights = TopK(3)(logits)
    weights[0, 1].backward()
    assert weights.tolist() == [[0.0, 1.0, 0.0, 0.0]]
    assert logits.grad.tolist() == [[0.0] * 4]


@given(topology=topologies(), k=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_top_k_gives_no_gradient_to_splits_off_the_k_paths(topology, k, seed):
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.integers(-8, 9, size=(3, topology.n_splits)) / 8).requires_grad_()
    selector = TopK(k, 1.0)
    weights = selector(leaf_logits(scores, topology))
    if k == 1:
        assert not weights.requires_grad
        return
    (weights @ torch.from_numpy(rng.normal(size=topology.n_leaves))).sum().backward()
    for row in range(3):
        on_path = np.unique(topology.paths.split[weights[row].detach().numpy() > 0])
        off_path = np.setdiff1d(np.arange(topology.n_splits), on_path)
        assert (scores.grad[row, off_path] == 0).all()


@pytest.mark.parametrize("k", [2, 3, 6])
def test_top_k_gradient_agrees_with_finite_differences(k):
    logits = torch.from_numpy(np.random.default_rng(k).permutation(24).reshape(4, 6) / -8.0).requires_grad_()
    assert torch.autograd.gradcheck(TopK(k, 0.7), logits)


@given(rows=ties, temperature=st.sampled_from([0.1, 1.0, 3.0]))
def test_straight_through_is_one_hot_forward_and_softmax_backward(rows, temperature):
    logits = torch.tensor(rows, dtype=torch.float32, requires_grad=True)
    direction = torch.linspace(-1, 1, logits.numel()).view_as(logits)
    weights = StraightThrough(temperature)(logits)
    assert torch.equal(weights.detach(), one_hot(logits.detach()))
    (gradient,) = torch.autograd.grad(weights, logits, direction)
    (expected,) = torch.autograd.grad((logits / temperature).softmax(1), logits, direction)
    assert torch.equal(gradient, expected)


def test_schedule_may_set_k_and_temperature():
    selector, logits = TopK(4, temperature=1.0), leaf_logits(torch.randn(3, 7), Topology.complete(3))
    assert ((selector(logits) > 0).sum(1) <= 4).all()
    selector.k, selector.temperature = 2, 1e-3
    assert ((selector(logits) > 0).sum(1) <= 2).all()


@pytest.mark.parametrize("wrong", [lambda: TopK(0), lambda: TopK(2, 0.0), lambda: StraightThrough(-1.0)])
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(ValueError, match="must be"):
        wrong()
