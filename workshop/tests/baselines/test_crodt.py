"""CRO-DT: evolution over complete axis-aligned trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet.fit.data import Sample
from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.baselines import CRODTClassifier
from dtsemnet_paper.baselines.crodt import Reef, _shares_below, _splits
from dtsemnet_paper.baselines.kernels.crodt_fitness import population_fitness


@parametrize_with_checks([CRODTClassifier(max_depth=3, reef_size=40, max_iter=100)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4))
def test_fitness_is_what_the_tree_with_majority_leaves_gets_right(seed, depth):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (30, 3)).astype(float), rng.integers(0, 3, 30)
    weight = rng.integers(1, 4, 30).astype(float)
    sample = Sample(X, np.arange(30), y, weight)
    columns, n_splits = _shares_below(sample), 2**depth - 1
    feature, share = rng.integers(0, 3, (1, n_splits)), rng.random((1, n_splits))
    found = population_fitness(columns, y, weight, 3, feature, share)[0]
    splits = _splits(sample, columns, feature[0], share[0])
    leaf = Tree(Topology.complete(depth), *splits, np.zeros((2**depth, 1))).apply(X)
    table = np.zeros((2**depth, 3))
    np.add.at(table, (leaf, y), weight)
    assert_allclose(found, table.max(axis=1).sum())


def test_the_fittest_tree_is_never_lost():
    X, y = load_wine(return_X_y=True)
    curve = CRODTClassifier(3, max_iter=200, random_state=0).fit(X, y).fitness_curve_
    assert (np.diff(curve) >= 0).all()
    assert curve[-1] > curve[0]


def test_training_accuracy_is_the_last_fitness():
    X, y = load_wine(return_X_y=True)
    found = CRODTClassifier(2, max_iter=100, random_state=3).fit(X, y)
    assert found.score(X, y) == pytest.approx(found.fitness_curve_[-1])


def test_evolution_fits_better_than_greed():
    """A target that no single greedy split helps with."""
    X = np.random.default_rng(0).random((400, 4))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    evolved = CRODTClassifier(2, max_iter=500, random_state=0).fit(X, y)
    greedy = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    assert evolved.score(X, y) > 0.97 > greedy.score(X, y)


def test_splits_read_one_feature():
    X, y = load_iris(return_X_y=True)
    tree = CRODTClassifier(3, max_iter=50, random_state=0).fit(X, y).tree_
    assert_array_equal(np.count_nonzero(tree.weight, axis=1), 1)


def test_reef_keeps_its_odds_positive_and_its_places():
    rng = np.random.default_rng(0)
    reef = Reef(lambda feature, threshold: -np.abs(threshold - 0.3).sum(axis=1), np.arange(3), 7, 20, rng)
    for _ in range(300):
        reef.generation()
    assert reef.feature.shape == (20, 7)
    assert (reef.success > 0).all()
    assert reef.best > -0.2


@pytest.mark.parametrize("parameters", [{"reef_size": 2}, {"max_depth": 11}, {"max_iter": None}])
def test_illegal_parameters_are_named(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        CRODTClassifier(**parameters).fit(*load_iris(return_X_y=True))
