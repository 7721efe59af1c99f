"""The leaf with the largest logit is the tree's, exactly."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dtsemnet.nn import leaf_logits
from dtsemnet.nn import logits as logits_module
from dtsemnet.nn.logits import _logits_by_level, _logits_by_product, _product_pays
from dtsemnet.tree import Topology
from nn.drawing import chain, ragged, scores_of_every_kind, shapes, walk
from strategies import topologies

FORMS = [leaf_logits, _logits_by_level, _logits_by_product]


def disagreements(form, topology, scores):
    """Count rows whose largest logit is not at the leaf of the walk, and check the sign of all logits."""
    logits = form(torch.from_numpy(scores), topology).numpy()
    leaf = walk(topology, scores)
    assert logits.dtype == scores.dtype
    assert (logits <= 0).all()
    assert (logits[np.arange(len(leaf)), leaf] == 0).all()
    return int((logits.argmax(axis=1) != leaf).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_network_reaches_the_leaf_of_the_tree_in_a_million_draws(dtype):
    rng, drawn = np.random.default_rng(7), 0
    for _ in range(5):
        for topology in shapes(rng):
            scores = scores_of_every_kind(10_000, topology.n_splits, dtype, rng)
            assert disagreements(leaf_logits, topology, scores) == 0
            drawn += len(scores)
    assert drawn >= 1_000_000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_forms_are_exact(form, dtype):
    rng = np.random.default_rng(3)
    for topology in [*shapes(rng), Topology.complete(9), chain(100, rng), ragged(300, rng)]:
        assert disagreements(form, topology, scores_of_every_kind(1_000, topology.n_splits, dtype, rng)) == 0


@given(topology=topologies(), data=st.data())
def test_network_reaches_the_leaf_of_the_tree_on_any_scores(topology, data):
    width = data.draw(st.sampled_from([32, 64]))
    number = st.floats(width=width, allow_nan=False) | st.sampled_from([-1.0, -0.0, 0.0, 1.0])
    scores = data.draw(arrays(f"float{width}", (4, topology.n_splits), elements=number))
    for form in FORMS:
        assert disagreements(form, topology, scores) == 0


@given(topology=topologies(), seed=st.integers(0, 2**32 - 1))
def test_logit_is_minus_the_violated_margins(topology, seed):
    scores = np.random.default_rng(seed).normal(size=(3, topology.n_splits))
    expected = np.zeros((3, topology.n_leaves))
    for leaf, (splits, sides) in enumerate(zip(*topology.paths)):
        for split, side in zip(splits, sides):
            if split >= 0:
                expected[:, leaf] -= np.maximum(-scores[:, split] if side else scores[:, split], 0)
    for form in FORMS:
        np.testing.assert_allclose(form(torch.from_numpy(scores), topology), expected, rtol=1e-14)


@given(topology=topologies(), seed=st.integers(0, 2**32 - 1))
def test_both_forms_have_the_same_gradient_and_none_at_a_tie(topology, seed):
    rng = np.random.default_rng(seed)
    start = torch.from_numpy(rng.integers(-2, 3, size=(5, topology.n_splits)) / 8)
    direction = torch.from_numpy(rng.normal(size=(5, topology.n_leaves)))
    gradients = []
    for form in (_logits_by_level, _logits_by_product):
        scores = start.clone().requires_grad_()
        form(scores, topology).backward(direction)
        gradients.append(scores.grad)
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-14)
    assert (gradients[0][start == 0] == 0).all()
    assert (gradients[1][start == 0] == 0).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "topology", [Topology.complete(1), Topology.complete(3), Topology([[-1, 1], [2, -4], [-2, -3]])]
)
def test_gradients_agree_with_finite_differences(form, topology):
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], (3, topology.n_splits))
    scores = torch.from_numpy(sign * rng.uniform(0.1, 2, (3, topology.n_splits))).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: form(s, topology), scores)


@pytest.mark.parametrize("form", FORMS)
def test_one_leaf_has_logit_zero_and_a_way_back(form):
    scores = torch.empty(3, 0, requires_grad=True)
    logits = form(scores, Topology([]))
    assert logits.tolist() == [[0.0]] * 3
    logits.sum().backward()
    assert scores.grad.shape == (3, 0)


@pytest.mark.parametrize("form", FORMS)
def test_no_rows_give_no_rows(form):
    assert form(torch.empty(0, 7), Topology.complete(3)).shape == (0, 8)


@pytest.mark.parametrize("form", FORMS)
def test_training_works_after_a_first_call_in_inference_mode(form):
    topology = ragged(23, np.random.default_rng(99))
    logits_module.violation_matrix.cache_clear()
    logits_module._level_plan.cache_clear()
    with torch.inference_mode():
        form(torch.zeros(2, topology.n_splits), topology)
    scores = torch.randn(2, topology.n_splits, requires_grad=True)
    form(scores, topology).sum().backward()
    assert scores.grad is not None


def test_lower_precision_of_products_does_not_reach_the_logits():
    topology, rng = Topology.complete(4), np.random.default_rng(1)
    scores = scores_of_every_kind(2_000, topology.n_splits, np.float32, rng)
    precision = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        assert disagreements(leaf_logits, topology, scores) == 0
    finally:
        torch.set_float32_matmul_precision(precision)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert disagreements(leaf_logits, topology, scores) == 0


def test_form_depends_on_the_shape():
    assert _product_pays(Topology.complete(4))
    assert _product_pays(chain(200, np.random.default_rng(0)))
    assert not _product_pays(Topology.complete(10))
