"""What an estimator of another method needs: ``__init__`` and one hook."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet.estimators.base import initial_tree
from dtsemnet.estimators.checks import read_weight
from dtsemnet.estimators.kinds import TreeClassifier, TreeRegressor
from dtsemnet.fit.data import Scaling, TrainingData, merge
from dtsemnet.fit.leaves import constant_tree, count_classes, frequencies
from dtsemnet.training import History
from dtsemnet.tree import Model, Topology, Tree


class Stump(TreeClassifier):
    """Splits the first feature at its mean."""

    def __init__(self, categorical_features="from_dtype", missing="indicator", random_state=None):
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state

    def _fit_tree(self, data, rng):
        self.history_ = History()
        weight = np.eye(1, data.n_features)
        tree = Tree(Topology.complete(1), weight, -data.scaling.center[:1], np.zeros((2, 1)))
        value = frequencies(tree.topology, count_classes(tree, data.sample, data.n_outputs))
        return tree.replace(value=value, feature_names=data.feature_names, class_names=data.class_names)


class Mean(TreeRegressor):
    """Predicts the mean."""

    def __init__(self, categorical_features="from_dtype", missing="indicator", random_state=None):
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state

    def _fit_tree(self, data, rng):
        self.history_ = History()
        return constant_tree(data)


@parametrize_with_checks(
    [Stump(), Mean()], expected_failed_checks=lambda estimator: {
        "check_classifiers_train": "a stump is no good classifier",
        "check_regressors_train": "nor is the mean",
    },
)  # fmt: skip
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_a_method_inherits_tables_saving_and_probabilities(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    stump = Stump().fit(X, names)
    stump.save(tmp_path / "stump.json")
    again = Stump.load(tmp_path / "stump.json")
    assert_array_equal(again.predict(X), stump.predict(X))
    assert_allclose(stump.predict_proba(X).sum(axis=1), 1)
    assert stump.feature_importances_.tolist() == [1, 0, 0, 0]
    assert_array_equal(stump.predict(X), stump.model_.predict(X))


def test_a_method_needs_one_of_two_hooks():
    class Nothing(Mean):
        _fit_tree = TreeRegressor._fit_tree

    with pytest.raises(NotImplementedError, match="Nothing must define _task or _fit_tree"):
        Nothing().fit(*load_diabetes(return_X_y=True))


def test_the_tree_to_start_from_is_given_or_the_last_one():
    X, y = load_iris(return_X_y=True)
    sample, last = merge(X, y, np.ones(len(X))), Stump().fit(X, y)
    data = TrainingData(sample, None, tuple("abcd"), (0, 1, 2), Scaling.of(sample), previous=last.tree_)
    other = Tree(Topology([]), np.empty((0, 4)), [], [[1.0, 0.0, 0.0]], class_names=[0, 1, 2])
    assert initial_tree(None, data) is last.tree_
    for given in (other, Model.of(other)):
        assert initial_tree(given, data) == other
    assert initial_tree(last, data) == last.tree_
    with pytest.raises(ValueError, match="init reads 2 features, but X has 4"):
        initial_tree(Tree(Topology([]), np.empty((0, 2)), [], [[1.0]]), data)


def test_weights_are_one_number_or_one_per_row():
    assert read_weight(None, 3, "sample_weight").tolist() == [1, 1, 1]
    assert read_weight(2, 3, "sample_weight").tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match=r"sample_weight_val must have shape \(3,\), one weight for each row"):
        read_weight([1, 2], 3, "sample_weight_val")
