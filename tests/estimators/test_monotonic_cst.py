"""Scikit-learn's checks with an order of the first column, and how an order is read and proved."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor, Topology, Tree
from dtsemnet.estimators.order import prove_order, read_direction
from dtsemnet.tree import Column, Encoder


class FirstOrdered:
    """Asks for the order that the first column and y have on average, if there are no more than two classes."""

    def _training_data(self, *args, **options):
        data = super()._training_data(*args, **options)
        if data.class_names is not None and data.n_outputs > 2:
            return data
        together = data.sample.X[data.sample.index, 0] @ (
            data.sample.y.reshape(len(data.sample), -1)[:, 0] - data.sample.y.mean()
        )
        return replace(data, direction=np.where(np.arange(data.n_features) == 0, 1 if together >= 0 else -1, 0))


class OrderedClassifier(FirstOrdered, DTSemNetClassifier):
    pass


class OrderedRegressor(FirstOrdered, DTSemNetRegressor):
    pass


@parametrize_with_checks([OrderedClassifier(effort=0, max_iter=5), OrderedRegressor(effort=0, max_iter=5)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([OrderedClassifier(max_iter=5), OrderedRegressor(max_iter=5)])
def test_scikit_learn_check_of_a_choice(estimator, check):
    check(estimator)


def test_an_order_is_that_of_the_feature_that_holds_the_number():
    encoder = Encoder(
        [Column("colour", categories=["red", "blue"]), Column("size", missing="indicator"), Column("age")]
    )
    size, age = (encoder.features_of_column[j].start for j in (1, 2))
    direction = read_direction([0, -1, 1], encoder, 2)
    assert np.flatnonzero(direction).tolist() == [size, age]
    assert direction[[size, age]].tolist() == [-1, 1]
    assert np.array_equal(direction, read_direction({"size": -1, "age": 1}, encoder, None))
    assert read_direction([0, 0, 0], encoder, 3) is None
    assert read_direction(None, encoder, 3) is None


def test_a_tree_that_breaks_its_order_never_leaves_a_fit():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1.0], [0.0]])
    prove_order(tree, np.array([-1]))
    with pytest.raises(RuntimeError, match="breaks monotonic_cst of feature 0"):
        prove_order(tree, np.array([1]))
