"""The default finds the shape of the tree, and what it hands back keeps its promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
CANCER, DIABETES = load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True)
BOTH = pytest.mark.parametrize(
    ("kind", "data"), [(DTSemNetClassifier, IRIS), (DTSemNetRegressor, DIABETES)], ids=["classes", "numbers"]
)


@pytest.mark.parametrize("data", [IRIS, WINE, CANCER], ids=["iris", "wine", "cancer"])
def test_every_leaf_has_training_rows(data):
    fitted = DTSemNetClassifier(random_state=0, max_iter=30).fit(*data)
    assert np.bincount(fitted.apply(data[0]), minlength=fitted.get_n_leaves()).min() > 0


@BOTH
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.filterwarnings("ignore:3 classes but only")
def test_max_depth_is_a_maximum(kind, data, depth):
    fitted = kind(max_depth=depth, random_state=0, max_iter=10).fit(*data)
    assert fitted.get_depth() <= depth


@BOTH
def test_jobs_and_the_order_of_rows_do_not_change_the_tree(kind, data):
    X, y = data
    one = kind(random_state=0, max_iter=5).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    assert kind(random_state=0, max_iter=5, n_jobs=2).fit(X[order], y[order]).tree_ == one.tree_


@BOTH
def test_a_weight_of_two_is_a_row_twice(kind, data):
    X, y = data
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.concatenate([np.arange(len(X)), np.flatnonzero(weight == 2)])
    by_weight = kind(random_state=0, max_iter=5).fit(X, y, weight)
    assert kind(random_state=0, max_iter=5).fit(X[twice], y[twice]).tree_ == by_weight.tree_


@BOTH
def test_a_fit_that_is_stopped_resumes_to_the_same_tree(kind, data, tmp_path):
    once = kind(random_state=0, max_iter=5).fit(*data)
    kind(random_state=0, max_iter=5, checkpoint=tmp_path).fit(*data)
    files = sorted(tmp_path.iterdir())
    assert files
    for file in files[len(files) // 2 :]:  # as if it had been killed halfway
        file.unlink()
    assert kind(random_state=0, max_iter=5, checkpoint=tmp_path).fit(*data).tree_ == once.tree_


def test_a_straight_line_gets_one_split():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = (X[:, :4].sum(axis=1) + rng.normal(size=300) > 0).astype(int)
    assert DTSemNetClassifier(random_state=0).fit(X, y).get_depth() == 1


def test_a_rule_of_single_columns_is_found():
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(300, 5)).astype(float)
    y = np.where(X[:, 0] == 2, 0, np.where(X[:, 1] > 1, 1, np.where(X[:, 2] == 3, 2, 0)))
    fitted = DTSemNetClassifier(random_state=0).fit(X[:200], y[:200])
    assert fitted.score(X[200:], y[200:]) > 0.95


def test_it_is_about_as_good_as_a_logistic_regression_where_that_is_right():
    rng = np.random.default_rng(1)
    center = rng.normal(size=(3, 10))
    y = rng.integers(3, size=1000)
    X = center[y] * 0.8 + rng.normal(size=(1000, 10))
    line = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:200], y[:200]).score(X[200:], y[200:])
    assert DTSemNetClassifier(random_state=0).fit(X[:200], y[:200]).score(X[200:], y[200:]) > line - 0.03


def test_a_hinge_of_two_planes_is_found_by_a_regressor():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.maximum(X[:, 0] + X[:, 1], 2 * X[:, 2]) + 0.05 * rng.normal(size=400)
    assert DTSemNetRegressor(random_state=0).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.97


def test_probabilities_do_not_touch_predictions():
    X, y = CANCER
    margin = DTSemNetClassifier(random_state=0, max_iter=30).fit(X, y)
    leaf = DTSemNetClassifier(random_state=0, max_iter=30, probability="leaf").fit(X, y)
    assert margin.tree_ == leaf.tree_
    assert leaf.model_.probability is None
    assert_array_equal(leaf.predict_proba(X), leaf.tree_.predict_proba(X))
    assert_array_equal(margin.classes_[margin.predict_proba(X).argmax(axis=1)], margin.predict(X))
    assert len(np.unique(margin.predict_proba(X)[:, 0])) > 10 * leaf.get_n_leaves()


def test_limits_hold_for_every_course_of_a_fit():
    X, y = CANCER
    for options in ({}, {"effort": 0}, {"n_init": 2}):
        fitted = DTSemNetClassifier(max_depth=4, min_samples_leaf=25, max_leaf_nodes=4, random_state=0, **options).fit(
            X, y
        )
        assert fitted.get_n_leaves() <= 4
        assert np.bincount(fitted.apply(X)).min() >= 25


def test_rows_of_the_user_judge_and_are_not_trained_on():
    X, y = WINE
    fitted = DTSemNetClassifier(random_state=0).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert fitted._leaf_weight.sum() == len(X[::2])
    assert fitted.predict_set(X).shape == (len(X), 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": 2}, "effort must be"),
        ({"probability": "best"}, "probability must be"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be"),
        ({"min_samples_leaf": 1.5}, "min_samples_leaf must be"),
        ({"max_leaf_nodes": 0}, "max_leaf_nodes must be"),
        ({"ccp_alpha": -1.0}, "ccp_alpha must be"),
    ],
)
def test_an_illegal_value_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        DTSemNetClassifier(**options).fit(*IRIS)


def test_many_classes_on_two_columns_are_told_apart_as_well_as_by_cart():
    rng = np.random.default_rng(0)
    centers, X = rng.uniform(size=(55, 2)), rng.uniform(size=(1500, 2))
    y = np.abs(X[:, None] - centers).max(axis=2).argmin(axis=1)  # regions with many corners, as states on a map
    ours = DTSemNetClassifier(random_state=0).fit(X[:1000], y[:1000])
    cart = DecisionTreeClassifier(random_state=0).fit(X[:1000], y[:1000])
    assert ours.score(X[1000:], y[1000:]) >= cart.score(X[1000:], y[1000:]) - 0.01


def test_a_category_of_many_values_decides_where_numbers_only_hint():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kind = rng.integers(38, size=300)
    y = rng.choice([4, 6, 8], 38)[kind]
    table = pd.DataFrame({"model": pd.Categorical([f"m{k}" for k in kind]), "size": y + rng.normal(0, 2, 300)})
    assert DTSemNetClassifier(random_state=0).fit(table[:200], y[:200]).score(table[200:], y[200:]) > 0.95
