"""What is particular to classification."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, load_wine

from dtsemnet import DTSemNetClassifier
from dtsemnet.tree import Topology, Tree

X, Y = load_wine(return_X_y=True)
QUICK = {"max_depth": 2, "max_iter": 40, "n_init": 2, "random_state": 0}


@pytest.mark.parametrize("training", ["annealed", "paper"])
def test_both_trainings_learn(training):
    fitted = DTSemNetClassifier(max_depth=2, training=training, random_state=0).fit(X, Y)
    assert fitted.score(X, Y) > 0.95
    temperatures = fitted.history_["temperature"]
    assert (max(temperatures) > 0) == (training == "annealed")
    assert temperatures[-1] == 0  # the last epochs train the tree itself


def test_probabilities_agree_with_predictions_and_the_decision_function():
    fitted = DTSemNetClassifier(**QUICK).fit(X, Y)
    proba, decision = fitted.predict_proba(X), fitted.decision_function(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(fitted.classes_[proba.argmax(axis=1)], fitted.predict(X))
    assert_array_equal(fitted.classes_[decision.argmax(axis=1)], fitted.predict(X))
    assert np.isfinite(decision).all()
    binary = DTSemNetClassifier(**QUICK).fit(X, Y == 1)
    assert_array_equal(binary.decision_function(X) > 0, binary.predict(X))


def test_string_and_boolean_labels_come_back_as_they_were():
    names = np.array(["a", "b", "c"])[Y]
    assert set(DTSemNetClassifier(**QUICK).fit(X, names).predict(X)) <= {"a", "b", "c"}
    assert DTSemNetClassifier(**QUICK).fit(X, Y == 1).predict(X).dtype == bool


def test_one_class_is_a_constant_and_no_error():
    fitted = DTSemNetClassifier().fit(X, np.full(len(X), "only"))
    assert set(fitted.predict(X)) == {"only"}
    assert fitted.get_n_leaves() == 1
    assert_array_equal(fitted.predict_proba(X), 1)


def test_more_classes_than_leaves_leaves_out_the_rarest():
    X, y = load_digits(return_X_y=True)
    keep = np.concatenate([np.flatnonzero(y == c)[: 10 if c < 6 else 100] for c in range(10)])
    with pytest.warns(UserWarning, match="10 classes but only 4 leaves.*max_depth=4"):
        fitted = DTSemNetClassifier(max_depth=2, random_state=0).fit(X[keep], y[keep])
    assert set(fitted.predict(X)) <= {6, 7, 8, 9}


def test_class_weight_means_sample_weight():
    weight = np.array([1.0, 3.0, 1.0])
    by_class = DTSemNetClassifier(**QUICK, class_weight={1: 3.0}).fit(X, Y)
    by_row = DTSemNetClassifier(**QUICK).fit(X, Y, sample_weight=weight[Y])
    assert by_class.tree_ == by_row.tree_
    balanced = DTSemNetClassifier(**QUICK, class_weight="balanced").fit(X, Y)
    root = balanced._leaf_weight @ balanced.tree_.value
    assert_allclose(root / root.sum(), 1 / 3, atol=0.05)


def test_depth_zero_is_the_prior():
    fitted = DTSemNetClassifier(max_depth=0).fit(X, Y)
    assert_allclose(fitted.predict_proba(X[:1])[0], np.bincount(Y) / len(Y))


def test_a_class_may_lose_its_leaves():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = (X[:, 0] > 0).astype(int)
    y[rng.choice(400, 12, replace=False)] = 2  # noise that no region holds
    fitted = DTSemNetClassifier(max_depth=2, random_state=0).fit(X, y)
    assert 2 not in fitted.predict(X)
    assert fitted.score(X, y) > 0.9


def test_validation_rows_judge_and_are_not_trained_on():
    X, y = load_iris(return_X_y=True)
    train, held = np.arange(0, 150, 2), np.arange(1, 150, 2)
    fitted = DTSemNetClassifier(**QUICK).fit(X[train], y[train], X_val=X[held], y_val=y[held])
    assert fitted._leaf_weight.sum() == len(train)
    # Other validation rows can choose another start, never another training.
    other = DTSemNetClassifier(**{**QUICK, "n_init": 1}).fit(X[train], y[train], X_val=X[:5], y_val=y[:5])
    assert other.tree_ == DTSemNetClassifier(**{**QUICK, "n_init": 1}).fit(X[train], y[train]).tree_


def test_a_tree_of_more_classes_starts_a_fit_of_fewer():
    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(3), rng.normal(size=(7, 2)), np.full(7, -9.0), np.eye(8), class_names=range(8))
    X = rng.normal(size=(60, 2))
    fitted = DTSemNetClassifier(init=tree, effort=0, n_init=1, max_iter=3, random_state=0).fit(X, X[:, 0] > 0)
    assert fitted.classes_.tolist() == [False, True]
