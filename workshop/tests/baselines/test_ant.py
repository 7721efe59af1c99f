"""Adaptive neural trees: routing, growth, and the two ways to predict."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons, make_regression

from dtsemnet_paper.baselines.ant import ANTClassifier, ANTRegressor
from dtsemnet_paper.baselines.ant.network import AdaptiveTree, Part, _leaf_loss

SMALL = {"growth_epochs": 6, "refinement_epochs": 12, "width": 8, "learning_rate": 0.03, "random_state": 0}


@pytest.fixture
def tree():
    torch.manual_seed(0)
    grown = AdaptiveTree(2, 3, classes=True)
    grown.root.split()
    left, right = grown.root.below
    left.deepen(4)
    left.split()
    for child in (right, *left.below):
        torch.nn.init.normal_(child.solver.weight)
    return grown


def test_shares_of_the_leaves_sum_to_one(tree):
    X = torch.randn(20, 2)
    reach = sum(tree.seen_by(leaf, X)[1] for leaf in tree.leaves())
    assert_allclose(reach, torch.ones(20, 1), rtol=1e-6)


def test_a_leaf_and_the_others_make_up_the_prediction(tree):
    X = torch.randn(20, 2)
    for leaf in tree.leaves():
        inputs, reach, others = tree.seen_by(leaf, X)
        assert_allclose((others + reach * tree.mix(leaf, inputs)).detach().numpy(), tree(X).detach().numpy(), rtol=1e-5)


def test_loss_seen_from_a_leaf_is_the_loss_of_the_tree(tree):
    part = Part(torch.randn(20, 2), torch.randint(0, 3, (20,)))
    expected = tree.loss(tree(part.X), part.y).item()
    for leaf in tree.leaves():
        assert _leaf_loss(tree, leaf, part)().item() == pytest.approx(expected, rel=1e-5)


def test_one_path_is_the_limit_of_all_paths(tree):
    X = torch.randn(50, 2)
    hard = tree.walk(X).detach()
    for module in tree.modules():
        if getattr(module, "router", None) is not None:
            with torch.no_grad():
                module.router.weight *= 1e6
                module.router.bias *= 1e6
    assert_allclose(tree(X).detach().numpy(), hard.numpy(), atol=1e-4)


def test_a_split_starts_as_the_leaf_it_replaces():
    torch.manual_seed(0)
    tree, X = AdaptiveTree(2, 3, classes=True), torch.randn(10, 2)
    before = tree(X).detach().numpy()
    tree.root.split()
    assert_allclose(tree(X).detach().numpy(), before, rtol=1e-5)


def test_growth_bends_where_one_solver_cannot():
    X, y = make_moons(300, noise=0.1, random_state=0)
    classifier = ANTClassifier(max_depth=2, **SMALL).fit(X, y)
    assert classifier.score(X, y) > 0.95
    assert classifier.n_leaves_ > 1 or len(classifier.network_.root.transformers) > 0


def test_hard_is_a_way_to_predict_not_to_train():
    X, y = load_iris(return_X_y=True)
    hard, soft = (ANTClassifier(hard=hard, max_depth=1, **SMALL).fit(X, y) for hard in (True, False))
    assert_array_equal(hard.predict_proba(X, hard=False), soft.predict_proba(X))
    assert_array_equal(soft.predict(X, hard=True), hard.predict(X))
    assert_allclose(soft.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)


def test_regressor_answers_in_the_units_of_y_and_repeats_itself():
    X, y = make_regression(200, 3, noise=1.0, random_state=0)
    first, second = (ANTRegressor(max_depth=1, **SMALL).fit(X, 1e4 * y + 1e6) for _ in range(2))
    assert first.score(X, 1e4 * y + 1e6) > 0.95
    assert_array_equal(first.predict(X), second.predict(X))


def test_given_validation_rows_judge_and_are_not_trained_on():
    X, y = load_iris(return_X_y=True)
    classifier = ANTClassifier(max_depth=1, **SMALL).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert classifier.score(X[1::2], y[1::2]) > 0.9


def test_training_leaves_the_global_random_state_of_torch_alone():
    X, y = load_iris(return_X_y=True)
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    ANTClassifier(max_depth=1, **SMALL).fit(X, y)
    assert torch.rand(1) == expected


def test_without_torch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match=r"dtsemnet\[torch\]"):
        ANTClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])


def test_a_strange_class_among_validation_rows_is_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="y_val holds"):
        ANTClassifier().fit(X[:100], y[:100], X_val=X, y_val=y)
