"""What classes and numbers do differently in a fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dtsemnet.fit.class_task import ClassTask, deal_classes
from dtsemnet.fit.data import Scaling, TrainingData, merge
from dtsemnet.fit.regression_task import RegressionTask
from dtsemnet.fit.settings import CLASSIFICATION_RECIPES, FitOptions, regression_recipe
from dtsemnet.training import Regression
from dtsemnet.tree import Topology, Tree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))


def data_of(y, class_names=None):
    sample = merge(X, y, np.ones(len(X)))
    return TrainingData(sample, None, ("a", "b", "c"), class_names, Scaling.of(sample))


def class_task(n_classes=3, depth=3, **more):
    data = data_of(np.arange(60) % n_classes, tuple(range(n_classes)))
    return ClassTask(data, FitOptions(), CLASSIFICATION_RECIPES["annealed"], depth=depth, **more)


def regression_task(loss="squared_error", **more):
    y = np.column_stack([X[:, 0] * 3 + 100, np.abs(X[:, 1])])
    recipe, problem = regression_recipe("annealed", loss), Regression(2, True, loss)
    return RegressionTask(data_of(y), FitOptions(), recipe, problem=problem, guard=True, depth=2, **more)


@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize(("n_classes", "n_leaves"), [(2, 8), (3, 4), (5, 4), (4, 4), (1, 2)])
def test_every_class_is_dealt_a_leaf_while_there_are_enough(n_classes, n_leaves, proportional):
    weight = np.arange(n_classes, 0, -1.0) ** 3
    dealt = deal_classes(weight, n_leaves, proportional=proportional)
    assert len(dealt) == n_leaves
    assert set(dealt) == set(range(min(n_classes, n_leaves)))  # the rarest go without


@pytest.mark.parametrize(
    ("n_classes", "depth", "smaller"), [(2, 3, 1), (3, 3, 2), (5, 3, None), (2, 1, None), (1, 3, None)]
)
def test_the_smaller_tree_has_just_enough_leaves_for_the_classes(n_classes, depth, smaller):
    found = class_task(n_classes, depth).smaller()
    assert (None if found is None else found.topology.depth) == smaller
    if found is not None:
        assert found.most_epochs == class_task(n_classes, depth).most_epochs, "it must not cost more"


def test_a_given_tree_begins_where_it_is_and_is_trained_gently():
    task = class_task()
    tree = task.fill(task.splits_only(RNG.normal(size=(7, 4))), None, task.data.sample, None).tree
    warm = class_task(init=tree)
    initial = warm.initial(warm.settings[0], warm.data.sample, RNG, tree)
    assert warm.splits_only(initial.splits).replace(value=tree.value).bias == pytest.approx(tree.bias)
    assert (initial.leaf_class == tree.leaf_class).all()
    assert warm.settings[0].learning_rate < task.settings[0].learning_rate


def test_a_leaf_without_rows_keeps_the_class_that_it_was_trained_for():
    task = class_task(2, 1)
    trained = task.initial(task.settings[0], task.data.sample, RNG, None)
    nobody = Tree(Topology.complete(1), [[0.0, 0.0, 0.0]], [-1.0], np.zeros((2, 1)))  # all rows go left
    for leaf_class in (0, 1):
        trained.leaf_class[1] = leaf_class
        assert task.fill(nobody, trained, task.data.sample, None).tree.leaf_class[1] == leaf_class


def test_leaves_in_closed_form_fit_linear_targets_in_their_units():
    task = regression_task()
    candidate = task.fill(task.splits_only(np.zeros((3, 4))), None, task.data.sample, None)
    assert candidate.leaf_fit is not None
    predicted = candidate.tree.predict(task.data.sample.to_array())
    assert_allclose(predicted[:, 0], task.data.sample.y[:, 0], atol=0.1)


def test_only_leaves_in_closed_form_are_refitted_to_all_rows():
    assert regression_task().options.refit
    assert not regression_task("huber").options.refit


def test_trees_that_do_not_fit_into_memory_are_refused():
    with pytest.raises(ValueError, match="max_depth asks for 268435455 splits over 3 features, 17 GB"):
        class_task(depth=28)
