"""Soft trees: exact gradients, and hardening."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris, make_regression
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet.training import Rows
from dtsemnet.tree import Topology
from dtsemnet_paper.baselines.kernels.soft import SoftLoss, soft_gradients
from dtsemnet_paper.baselines.soft import SoftTreeClassifier, SoftTreeRegressor

N_SAMPLES, N_FEATURES = 10, 3


@parametrize_with_checks([SoftTreeClassifier(max_iter=20, n_init=2), SoftTreeRegressor(max_iter=20, n_init=2)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


def soft_loss(topology, batch, y, weight, splits, leaves, classes, temperature, penalty):
    """The function as defined, leaf by leaf."""
    right = torch.sigmoid(batch @ splits.T / temperature)
    total, reach = 0.0, {0: torch.ones(len(batch), dtype=batch.dtype)}
    for i, children in enumerate(topology.children):
        mass = (weight * reach[i]).sum()
        share = (weight * reach[i] * right[:, i]).sum() / mass
        total = total - penalty[i] * (share.log() + (1 - share).log()) / 2
        reach[int(children[0])], reach[int(children[1])] = reach[i] * (1 - right[:, i]), reach[i] * right[:, i]
    design = batch if leaves.shape[1] == batch.shape[1] else batch[:, -1:]
    for leaf in range(topology.n_leaves):
        probability = reach[~leaf] if topology.n_splits else reach[0]
        if classes:
            loss = -(y * torch.log_softmax(leaves[leaf], dim=0)).sum(dim=1)
        else:
            models = leaves[leaf * y.shape[1] : (leaf + 1) * y.shape[1]]
            loss = (design @ models.T - y).square().mean(dim=1)
        total = total + (weight * probability * loss).sum()
    return total


@pytest.mark.parametrize(
    "topology", [Topology([]), Topology.complete(3), Topology([[-1, 1], [2, -4], [-2, -3]])], ids=repr
)
@pytest.mark.parametrize("kind", ["classes", "constant", "linear"])
def test_gradients_are_those_of_the_expected_loss(topology, kind):
    rng, classes = np.random.default_rng(0), kind == "classes"
    batch = np.column_stack([rng.standard_normal((N_SAMPLES, N_FEATURES)), np.ones(N_SAMPLES)])
    y = np.eye(4)[rng.integers(0, 4, N_SAMPLES)] if classes else rng.standard_normal((N_SAMPLES, 2))
    weight = rng.random(N_SAMPLES) / N_SAMPLES
    splits, penalty = rng.standard_normal((topology.n_splits, N_FEATURES + 1)), rng.random(topology.n_splits)
    shape = (topology.n_leaves, 4)
    if not classes:
        shape = (topology.n_leaves * 2, N_FEATURES + 1 if kind == "linear" else 1)
    leaves = rng.standard_normal(shape)
    gradients = np.empty_like(splits), np.empty_like(leaves)
    settings = SoftLoss(classes, 0.7, penalty)
    loss = soft_gradients(Rows(batch, y, weight), topology.children, splits, leaves, settings, *gradients)

    given = [torch.from_numpy(array).requires_grad_() for array in (splits, leaves)]
    rest = [torch.from_numpy(array) for array in (batch, y, weight)]
    expected = soft_loss(topology, *rest, *given, classes, 0.7, torch.from_numpy(penalty))
    expected.backward()
    assert_allclose(loss, expected.item(), rtol=1e-10)
    assert_allclose(gradients[1], given[1].grad.numpy(), atol=1e-12)
    if topology.n_splits:
        assert_allclose(gradients[0], given[0].grad.numpy(), atol=1e-12)


def test_soft_and_hard_meet_as_the_temperature_falls():
    X, y = load_digits(return_X_y=True)
    gaps = []
    for temperature in (1.0, 0.02):
        classifier = SoftTreeClassifier(4, temperature=temperature, learning_rate=0.03, max_iter=20, random_state=0)
        classifier.fit(X, y)
        gaps.append(np.mean(classifier.predict(X) != classifier.predict_soft(X)))
    assert gaps[1] < gaps[0]
    assert gaps[1] < 0.02


def test_probabilities_of_the_soft_tree_sum_to_one():
    X, y = load_iris(return_X_y=True)
    classifier = SoftTreeClassifier(2, random_state=0).fit(X, y)
    assert_allclose(classifier.predict_proba_soft(X).sum(axis=1), 1.0)
    assert classifier.soft_score(X, y) > 0.9


def test_classifier_learns_digits():
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(X)) % 2 == 0
    assert SoftTreeClassifier(4, random_state=0).fit(X[train], y[train]).score(X[~train], y[~train]) > 0.85


def test_regressor_learns_a_line_and_answers_in_its_units():
    X, y = make_regression(300, 4, noise=1.0, random_state=0)
    regressor = SoftTreeRegressor(2, leaf="linear", random_state=0).fit(X, 1000 * y + 5e6)
    assert regressor.score(X, 1000 * y + 5e6) > 0.99
    assert regressor.soft_score(X, 1000 * y + 5e6) > 0.99


def test_leaves_hold_the_means_of_the_rows_that_reach_them():
    X, y = make_regression(300, 4, random_state=0)
    regressor = SoftTreeRegressor(2, max_iter=20, n_init=1, random_state=0).fit(X, y)
    leaf = regressor.apply(X)
    for number in np.unique(leaf):
        assert_allclose(regressor.tree_.value[number, 0], y[leaf == number].mean(), rtol=1e-3, atol=0.1)


def test_same_targets_make_a_constant_whose_soft_tree_is_itself():
    X = np.arange(40.0).reshape(20, 2)
    regressor = SoftTreeRegressor(2).fit(X, np.full(20, 3.0))
    assert (regressor.predict_soft(X) == 3.0).all()


def test_a_loaded_tree_has_no_soft_side(tmp_path):
    X, y = load_iris(return_X_y=True)
    SoftTreeClassifier(2, max_iter=5, random_state=0).fit(X, y).save(tmp_path / "soft.json")
    with pytest.raises(AttributeError, match="hard tree alone"):
        SoftTreeClassifier.load(tmp_path / "soft.json").predict_soft(X)


@pytest.mark.parametrize(("name", "value"), [("temperature", 0.0), ("balance", -1.0)])
def test_illegal_parameter_is_named(name, value):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"^{name} must be"):
        SoftTreeClassifier(**{name: value}).fit(X, y)
