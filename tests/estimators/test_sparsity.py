"""The path from dense trees to single columns, and scikit-learn's checks with few columns a split."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.export import to_python
from dtsemnet.tree import ReadingCost
from dtsemnet.verify import Domain, reachable_leaves, simplify


@parametrize_with_checks(
    [
        DTSemNetClassifier(max_split_features=2, effort=0, max_iter=5),
        DTSemNetRegressor(max_split_features=1, max_leaf_features=1, effort=0, max_iter=5),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [DTSemNetClassifier(sparsity="auto", max_iter=3), DTSemNetRegressor(sparsity="auto", max_iter=3)]
)
def test_scikit_learn_check_of_a_choice(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [DTSemNetClassifier, DTSemNetRegressor])
def test_exports_and_proofs_hold_for_trees_of_few_columns(kind):
    (X, y), limits = load_wine(return_X_y=True), {"max_split_features": 2}
    if kind is DTSemNetRegressor:
        limits["max_leaf_features"] = 2
    fitted = kind(2, effort=0, max_iter=8, random_state=0, **limits).fit(X[:, :5], y)
    model, cost = fitted.model_, ReadingCost.of(fitted)
    assert max(cost.columns_of_splits) == 2
    assert max(cost.columns_of_leaves, default=0) <= 2
    report = to_python(model, X[:, :5]).report
    assert report.n_rows > 100
    assert report.n_near == report.n_beyond == 0
    domain = Domain.from_data(X[:, :5])
    assert set(reachable_leaves(model, domain).reachable) >= set(model.apply(X[:, :5]))
    assert simplify(model, 0.0, domain).n_dropped == 0, "what is left out is exactly zero"


@functools.cache
def path_of(kind):
    data = load_breast_cancer(return_X_y=True) if kind is DTSemNetClassifier else load_diabetes(return_X_y=True)
    return kind(max_iter=6, random_state=0).sparsity_path(*data, limits=[None, 3, 1]), data


@pytest.mark.parametrize("kind", [DTSemNetClassifier, DTSemNetRegressor])
def test_a_path_keeps_its_limits_and_measures_the_same_rows(kind):
    path, (X, y) = path_of(kind)
    assert path.limit == (None, 3, 1)
    assert (path.n_columns[1:] <= [3, 1]).all()
    assert path.behind.min() == 0
    assert path.error[path.behind.argmin()] == 0
    assert path.behind[path.chosen] <= kind._task_class.sparse_tolerance * path.error[path.chosen]
    for estimator, n_leaves, score in zip(path.estimators, path.n_leaves, path.score):
        assert estimator.get_n_leaves() == n_leaves
        assert score <= estimator.score(X, y) + 0.05, "rows that were not trained on are not predicted better"
        assert score > 0.25


def test_the_score_of_the_path_is_that_of_the_trees_of_the_folds():
    path, _ = path_of(DTSemNetClassifier)
    for estimator, score in zip(path.estimators, path.score):
        wrong = np.concatenate(estimator._cross_fit.errors) > 0.5  # less than half for the true class, of two
        weight = np.concatenate(estimator._cross_fit.weights)
        assert_allclose(1 - np.average(wrong, weights=weight), score, atol=1e-12)


def test_a_path_is_a_frame():
    pytest.importorskip("pandas", reason="pandas is an optional extra")
    path, _ = path_of(DTSemNetClassifier)
    frame = path.to_frame()
    assert list(frame.columns) == ["limit", "n_columns", "n_leaves", "score", "behind", "error", "chosen"]
    assert frame["limit"].isna().tolist() == [True, False, False]
    assert frame["chosen"].sum() == 1


def test_a_path_is_refused_if_nothing_is_compared():
    with pytest.raises(ValueError, match="effort=0 fixes the course"):
        DTSemNetClassifier(effort=0).sparsity_path(*load_breast_cancer(return_X_y=True))
