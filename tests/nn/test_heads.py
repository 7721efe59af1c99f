"""Classes pool by the maximum and its smooth form; regression leaves sum by weight and are guarded in eval()."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from dtsemnet.nn import ClassMaxPool, ConstantLeaves, LinearLeaves

N_CLASSES = 4


@st.composite
def pools(draw):
    """Draw the classes of some leaves, not all classes among them, and logits with ties."""
    leaf_class = draw(st.lists(st.integers(0, N_CLASSES - 1), min_size=1, max_size=9))
    row = st.lists(st.integers(-3, 0), min_size=len(leaf_class), max_size=len(leaf_class))
    return np.array(leaf_class), torch.tensor(draw(st.lists(row, min_size=1, max_size=4)), dtype=torch.float64) / 2


@given(drawn=pools())
def test_class_logit_is_the_maximum_and_its_gradient_goes_to_the_lowest_leaf(drawn):
    leaf_class, logits = drawn
    logits.requires_grad_()
    pooled = ClassMaxPool(leaf_class, N_CLASSES)(logits)
    direction = torch.arange(1.0, N_CLASSES + 1, dtype=torch.float64)
    held = np.unique(leaf_class)
    (pooled * direction)[:, held].sum().backward()

    slope = torch.zeros_like(logits)
    for c in range(N_CLASSES):
        leaves = np.flatnonzero(leaf_class == c)
        for row in range(len(logits)):
            if len(leaves):
                best = leaves[np.argmax(logits.detach().numpy()[row, leaves])]
                assert pooled[row, c] == logits[row, best]
                slope[row, best] += direction[c]
            else:
                assert pooled[row, c] == -math.inf
    assert torch.equal(logits.grad, slope)


@given(drawn=pools(), temperature=st.sampled_from([0.05, 0.5, 3.0]))
def test_smooth_pool_is_the_log_sum_exp_of_the_leaves_of_a_class(drawn, temperature):
    leaf_class, logits = drawn
    head = ClassMaxPool(leaf_class, N_CLASSES, temperature=temperature)
    gradients, outputs = [], []
    for form in (head, lambda z: log_sum_exp(z, leaf_class, temperature)):
        z = logits.clone().requires_grad_()
        outputs.append(form(z))
        F.cross_entropy(outputs[-1], torch.from_numpy(leaf_class[:1]).expand(len(z))).backward()
        gradients.append(z.grad)
    torch.testing.assert_close(*outputs, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-12)
    assert torch.equal(head.eval()(logits), ClassMaxPool(leaf_class, N_CLASSES)(logits))


def log_sum_exp(logits, leaf_class, temperature):
    """Pool class by class, in the plain way."""
    empty = logits.new_full((len(logits),), -math.inf)
    columns = [logits[:, leaf_class == c] for c in range(N_CLASSES)]
    return torch.stack([temperature * (z / temperature).logsumexp(1) if z.shape[1] else empty for z in columns], dim=1)


@given(drawn=pools())
def test_limit_of_the_smooth_pool_is_the_maximum(drawn):
    leaf_class, logits = drawn
    smooth = ClassMaxPool(leaf_class, N_CLASSES, temperature=1e-6)(logits)
    torch.testing.assert_close(smooth, ClassMaxPool(leaf_class, N_CLASSES)(logits), rtol=0, atol=1e-5)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_pool_keeps_its_gradient_finite_where_logits_overflowed(temperature):
    logits = torch.tensor([[0.0, -math.inf, -math.inf, -2.0]], requires_grad=True)
    pooled = ClassMaxPool([0, 1, 1, 0], 3, temperature=temperature)(logits)
    F.cross_entropy(pooled, torch.tensor([0])).backward()
    assert pooled[0, 1:].tolist() == [-math.inf] * 2
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_pool_does_not_swallow_nan(temperature):
    pooled = ClassMaxPool([0, 1, 1], 3, temperature=temperature)(torch.tensor([[0.0, -1.0, math.nan]]))
    assert pooled[0, 0] == 0
    assert pooled[0, 1].isnan()
    assert pooled[0, 2] == -math.inf


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_pool_gradient_agrees_with_finite_differences(temperature):
    logits = torch.from_numpy(np.random.default_rng(2).permutation(24).reshape(4, 6) / -8.0).requires_grad_()
    assert torch.autograd.gradcheck(ClassMaxPool([0, 2, 1, 0, 0, 2], 3, temperature=temperature), logits)


def test_pool_folds_to_its_probabilities_or_to_one_hot_rows():
    assert ClassMaxPool([1, 0], 3).fold().value.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert ClassMaxPool([1, 0], 3).fold().class_names == (0, 1, 2)
    value = np.array([[0.3, 0.7], [0.5, 0.5]])
    leaves = ClassMaxPool([1, 0], 2, value, ["no", "yes"]).fold()
    assert leaves.value.tobytes() == value.tobytes()
    assert leaves.class_names == ("no", "yes")


def regression_heads(rng, guard):
    """Give a constant and a linear head of 5 leaves, 2 outputs, 3 features."""
    coef, value = rng.normal(size=(5, 2, 3)), rng.normal(size=(5, 2))
    bounds = (value - 0.5, value + 0.25) if guard else (None, None)
    return [
        (np.zeros_like(coef), value, ConstantLeaves(value, *bounds)),
        (coef, value, LinearLeaves(coef, value, *bounds)),
    ]


@pytest.mark.parametrize("guard", [False, True])
def test_training_sums_all_leaves_and_leaves_the_guard_out(guard):
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(7, 3)), rng.dirichlet(np.ones(5), size=7)
    for coef, value, head in regression_heads(rng, guard):
        expected = np.einsum("nl,nlo->no", weights, np.einsum("lod,nd->nlo", coef, x) + value)
        output = head(torch.from_numpy(weights), torch.from_numpy(x))
        np.testing.assert_allclose(output.detach(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("guard", [False, True])
def test_eval_reads_one_leaf_and_clips_it(guard):
    rng = np.random.default_rng(0)
    x, leaf = rng.normal(size=(7, 3)) * 5, rng.integers(5, size=7)
    for coef, value, head in regression_heads(rng, guard):
        expected = np.einsum("nod,nd->no", coef[leaf], x) + value[leaf]
        if guard:
            expected = np.clip(expected, value[leaf] - 0.5, value[leaf] + 0.25)
        output = head.eval()(torch.from_numpy(np.eye(5)[leaf]), torch.from_numpy(x))
        np.testing.assert_allclose(output.detach(), expected, rtol=1e-12, atol=1e-14)


def test_guard_may_be_one_sided():
    head = ConstantLeaves([[1.0], [5.0]], upper=[[3.0], [3.0]]).eval()
    assert head.at(torch.tensor([0, 1]), torch.zeros(2, 1)).tolist() == [[1.0], [3.0]]
    assert head.fold().lower is None


def test_eval_is_not_disturbed_by_leaves_far_away():
    head = LinearLeaves(torch.tensor([[[1.0]], [[3e38]]]), torch.zeros(2, 1)).eval()
    assert head(torch.tensor([[1.0, 0.0]]), torch.tensor([[10.0]])).tolist() == [[10.0]]


def test_head_gradients_agree_with_finite_differences():
    rng = np.random.default_rng(4)
    weights = torch.from_numpy(rng.dirichlet(np.ones(5), size=3)).requires_grad_()
    x = torch.from_numpy(rng.normal(size=(3, 3))).requires_grad_()
    for _, _, head in regression_heads(rng, guard=True):
        parameters = tuple(head.parameters())
        assert torch.autograd.gradcheck(lambda w, x, *_, head=head: head(w, x), (weights, x, *parameters))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (lambda: ClassMaxPool([0, 3], 3), "leaf_class"),
        (lambda: ClassMaxPool([], 3), "leaf_class"),
        (lambda: ClassMaxPool([0, 1], 2, value=[[0.4, 0.6], [0.4, 0.6]]), "value"),
        (lambda: ClassMaxPool([0, 1], 2, class_names=["a"]), "class_names"),
        (lambda: ClassMaxPool([0, 1], 2, temperature=-1), "temperature"),
        (lambda: ConstantLeaves([1.0, 2.0]), "value"),
        (lambda: ConstantLeaves([[1.0], [2.0]], lower=[[1.0]]), "lower"),
        (lambda: LinearLeaves([[1.0], [2.0]], [[1.0], [2.0]]), "coef"),
    ],
)
def test_wrong_arguments_are_named(wrong, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        wrong()
