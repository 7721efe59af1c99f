"""CART, converted: the same answer on, and one step beside, every threshold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from dtsemnet.tree import Tree
from dtsemnet.tree.from_sklearn import _last_left


def near_thresholds(fitted, n_rows, rng):
    """Rows whose entries lie on a threshold, one step of float32 or float64 beside it, or anywhere."""
    X = rng.normal(size=(n_rows, fitted.n_features_in_))
    inner = fitted.tree_.children_left >= 0
    pick = rng.integers(inner.sum(), size=n_rows)
    threshold, feature = fitted.tree_.threshold[inner][pick], fitted.tree_.feature[inner][pick]
    single = threshold.astype(np.float32)
    up, down = np.float32(np.inf), np.float32(-np.inf)
    beside = np.stack(
        [
            threshold,
            np.nextafter(threshold, np.inf),
            np.nextafter(threshold, -np.inf),
            single,
            np.nextafter(single, up),
            np.nextafter(single, down),
            (single.astype(float) + np.nextafter(single, up).astype(float)) / 2,
            (single.astype(float) + np.nextafter(single, down).astype(float)) / 2,
        ]
    )
    X[np.arange(n_rows), feature] = beside[rng.integers(len(beside), size=n_rows), np.arange(n_rows)]
    return X


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier])
@pytest.mark.parametrize("digits", [1, 17])
def test_predictions_are_equal_on_and_beside_thresholds(kind, digits):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(500, 5)), digits)
    y = rng.integers(0, 4, 500) if "Classifier" in kind.__name__ else rng.normal(size=500)
    fitted = kind(max_depth=8, random_state=0).fit(X, y)
    tree = Tree.from_sklearn(fitted)
    assert (tree.n_leaves, tree.depth) == (fitted.get_n_leaves(), fitted.get_depth())
    double = near_thresholds(fitted, 10_000, rng)
    for rows in (double, double.astype(np.float32)):
        assert_array_equal(tree.predict(rows), fitted.predict(rows))
        if tree.is_classifier:
            assert_array_equal(tree.predict_proba(rows), fitted.predict_proba(rows))


def test_the_last_double_to_the_left_is_the_last():
    rng = np.random.default_rng(0)
    threshold = np.concatenate(
        [
            rng.normal(size=1000) * 10.0 ** rng.uniform(-44, 37, 1000),
            rng.normal(size=1000).astype(np.float32),
            [0.0, -0.0, 1e-45, -1e-45, 7e-46, -7e-46, 1e-60, -1e-60, 3.4028234e38, np.finfo(np.float32).max],
        ]
    )
    last = _last_left(threshold)
    with np.errstate(over="ignore"):  # behind the largest float32 the next double rounds to infinity
        assert (last.astype(np.float32) <= threshold).all()
        assert (np.nextafter(last, np.inf).astype(np.float32) > threshold).all()


def test_names_several_outputs_and_single_leaves_come_along():
    iris = load_iris(as_frame=True)
    tree = Tree.from_sklearn(DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target_names[iris.target]))
    assert tree.feature_names == tuple(iris.data.columns)
    assert tree.class_names == ("setosa", "versicolor", "virginica")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=(100, 2))
    fitted = DecisionTreeRegressor(max_depth=4).fit(X, y)
    assert_array_equal(Tree.from_sklearn(fitted).predict(X), fitted.predict(X))
    constant = Tree.from_sklearn(DecisionTreeRegressor().fit(X, np.ones(100)))
    assert constant.n_leaves == 1


def test_what_cannot_be_converted_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    with pytest.raises(ValueError, match="unfitted"):
        Tree.from_sklearn(DecisionTreeClassifier())
    with pytest.raises(TypeError, match="LinearRegression"):
        Tree.from_sklearn(LinearRegression().fit(X, y))
    with pytest.raises(ValueError, match="2 outputs"):
        Tree.from_sklearn(DecisionTreeClassifier().fit(X, np.stack([y, 1 - y], axis=1)))
    n_refused = 0
    for column in range(3):
        holes = X.copy()
        holes[rng.random(200) < 0.3, column] = np.nan
        fitted = DecisionTreeClassifier(random_state=0).fit(holes, y)
        try:
            tree = Tree.from_sklearn(fitted)
        except ValueError as error:
            assert "missing values" in str(error)  # noqa: PT017 - a tree that looks like others must be exact
            n_refused += 1
        else:
            assert_array_equal(tree.predict(X), fitted.predict(X))
    assert n_refused >= 1
    Tree.from_sklearn(DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=rng.uniform(0, 1, 200) > 0.2))
