"""Splits of whole numbers: what they keep, in every way to fit, and that they stay near the trained split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit.data import Scaling, merge
from dtsemnet.fit.points import counts_points, in_steps, whole_split
from dtsemnet.tree import Column, Encoder

IRIS, CANCER, DIABETES = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes))


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(0, 60))
def test_a_whole_split_keeps_zeros_signs_and_the_largest_points(seed, most, n_rows):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n_rows, 5)) * rng.choice([1.0, 100.0], 5), rng.normal(size=5) * rng.integers(0, 2, 5)
    points, bias = whole_split(weight, float(rng.normal()), X, rng.random(n_rows) + 0.1, most)
    assert (points % 1 == 0).all()
    assert bias % 1 == 0
    assert np.abs(points).max(initial=0) <= most
    assert (points * weight >= 0).all(), "no weight changes its sign"
    assert (points[weight == 0] == 0).all()


@pytest.mark.parametrize(("most", "agreement"), [(10, 0.97), (3, 0.91), (1, 0.8)])
def test_rows_stay_on_their_side_of_a_whole_split(most, agreement):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)) @ (np.eye(8) + 0.3 * rng.normal(size=(8, 8)))  # columns that go together
    weight = rng.normal(size=8)
    points, bias = whole_split(weight, 0.3, X[:1000], np.ones(1000), most)
    assert ((X[1000:] @ points + bias > 0) == (X[1000:] @ weight + 0.3 > 0)).mean() > agreement


def test_a_split_on_one_column_is_placed_as_finely_as_points_allow():
    X = np.linspace(-1, 1, 400)[:, None]
    points, bias = whole_split(np.array([2.0]), -0.5, X, np.ones(400), 10)  # x > 1/4
    assert -bias / points[0] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    ("values", "step", "center"),
    [
        (np.arange(20.0, 60.0), 10.0, 0.0),
        (np.tile([0.0, 1.0], 20), 1.0, 0.0),
        (np.linspace(36.0, 38.0, 40), 0.5, 35.0),
        (np.arange(2000.0, 2040.0), 10.0, 2000.0),
        (np.linspace(0.0, 3e-5, 40), 1e-5, 0.0),
    ],
    ids=["years of age", "yes and no", "temperature", "years", "small"],
)
def test_steps_are_those_that_people_use(values, step, center):
    sample = merge(values[:, None], np.zeros(len(values)), np.ones(len(values)))
    (column,) = in_steps(Encoder([Column("x")]), sample, Scaling.of(sample)).columns
    assert (1 / column.scale, column.center) == (step, center)


WAYS = {
    "default": {},
    "one start": {"n_init": 1},
    "small": {"effort": 0},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 2},
    "paper": {"training": "paper"},
    "init": {"init": DecisionTreeClassifier(max_depth=3, random_state=0)},
    "few columns": {"max_split_features": 2},
    "three at most": {"integer_weights": 3},
}


@pytest.mark.parametrize("way", WAYS)
def test_splits_count_points_by_every_way_to_fit_classes(way):
    options = {"integer_weights": True, "max_iter": 8} | WAYS[way]
    if "init" in options:
        options["init"] = options["init"].fit(*IRIS)
    classifier = DTSemNetClassifier(random_state=0, **options).fit(*IRIS)
    assert classifier.tree_.n_splits
    assert counts_points(classifier.tree_, 3 if way == "three at most" else 10)
    assert classifier.score(*IRIS) > 0.8


@pytest.mark.parametrize("options", [{}, {"training": "straight_through"}, {"loss": "absolute_error"},
                                     {"leaf": "constant", "monotonic_cst": {"x2": 1}}], ids=str)  # fmt: skip
def test_splits_count_points_by_every_way_to_fit_numbers(options):
    regressor = DTSemNetRegressor(2, max_iter=5, integer_weights=True, random_state=0, **options).fit(*DIABETES)
    assert counts_points(regressor.tree_, 10)


def test_points_stay_when_a_tree_goes_on():
    options = {"effort": 0, "max_iter": 5, "random_state": 0, "integer_weights": 5}
    classifier = DTSemNetClassifier(2, warm_start=True, **options).fit(*CANCER).fit(*CANCER)
    assert counts_points(classifier.tree_, 5)
    assert counts_points(classifier.partial_fit(*CANCER).tree_, 5)
    assert classifier.score(*CANCER) > 0.9


def test_a_model_of_points_is_a_tree_to_start_from():
    options = {"effort": 0, "max_iter": 5, "random_state": 0, "integer_weights": 5}
    first = DTSemNetClassifier(2, **options).fit(*CANCER)
    again = DTSemNetClassifier(2, init=first.model_, **options).fit(*CANCER)
    assert again.score(*CANCER) >= first.score(*CANCER) - 0.02


def test_points_do_not_depend_on_how_weights_are_given():
    X, y = IRIS
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    options = {"effort": 0, "max_iter": 5, "random_state": 0, "integer_weights": True}
    weighted = DTSemNetClassifier(2, **options).fit(X, y, sample_weight=weight)
    repeated = DTSemNetClassifier(2, **options).fit(X[twice], y[twice])
    assert weighted.model_.encoder == repeated.model_.encoder
    assert np.array_equal(weighted.tree_.weight, repeated.tree_.weight)


@pytest.mark.parametrize("given", [0, -1, 2.5, "yes", None])
def test_other_largest_weights_are_refused(given):
    with pytest.raises(ValueError, match="integer_weights must be True, False or a whole number"):
        DTSemNetClassifier(integer_weights=given).fit(*IRIS)
