"""Few columns a split: forward selection, the limit is kept by every way to fit, and the sparsest good tree wins."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit.initial_trees import CartTree, OneLeaf, RandomTree
from dtsemnet.fit.judging import Verdict, sparsest_of_best
from dtsemnet.fit.plans import Plan, sparse_plans
from dtsemnet.fit.settings import CLASSIFICATION, with_fewer_columns
from dtsemnet.fit.sparse import ColumnLimit, forward_selection, moments, n_columns_read, sparse_planes
from dtsemnet.training import Phase

COLUMN = np.array([0, 0, 1, 2, 3])


def drawn_rows(seed, n_rows=40, n_features=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, n_features)), rng.random(n_rows) + 0.1, rng.standard_normal((n_rows, 2))


def error_with(X, weight, target, kept):
    """The weighted squared error of a linear model with intercept on some features."""
    root = np.sqrt(weight)[:, None]
    design = np.column_stack([X[:, kept], np.ones(len(X))]) * root
    rest = target * root - design @ np.linalg.lstsq(design, target * root, rcond=None)[0]
    return float(np.square(rest).sum())


@given(st.integers(0, 2**32))
def test_the_first_column_chosen_explains_most(seed):
    X, weight, target = drawn_rows(seed)
    chosen = forward_selection(*moments(X, target, weight), ColumnLimit(1, COLUMN))
    by_column = [error_with(X, weight, target, c == COLUMN) for c in range(4)]
    assert_array_equal(chosen, int(np.argmin(by_column)) == COLUMN)


@given(st.integers(0, 2**32), st.integers(1, 3))
def test_each_column_chosen_is_the_best_beside_those_before(seed, most):
    X, weight, target = drawn_rows(seed)
    before = forward_selection(*moments(X, target, weight), ColumnLimit(most, COLUMN))
    after = forward_selection(*moments(X, target, weight), ColumnLimit(most + 1, COLUMN))
    assert (before <= after).all(), "columns that were chosen stay"
    left = [c for c in range(4) if not before[c == COLUMN].any()]
    best = min(error_with(X, weight, target, before | (c == COLUMN)) for c in left)
    assert_allclose(error_with(X, weight, target, after), best, rtol=1e-6)


def test_equal_and_constant_columns_are_no_obstacle():
    X = np.column_stack([np.ones(20), np.arange(20.0), np.arange(20.0), np.zeros(20), np.ones(20)])
    chosen = forward_selection(*moments(X, X[:, [1]], np.ones(20)), ColumnLimit(3, np.arange(5)))
    assert chosen[1] != chosen[2], "the second of two equal columns explains nothing more"


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_sparse_planes_keep_the_limit_and_are_the_nearest_on_their_columns(seed, most):
    X, weight, _ = drawn_rows(seed)
    splits, limit = np.random.default_rng(seed).standard_normal((3, 6)), ColumnLimit(most, COLUMN)
    found = sparse_planes(splits, X, weight, limit)
    assert limit.keeps(found)
    for plane, given_plane in zip(found, splits):
        kept, score = plane[:-1] != 0, X @ given_plane[:-1] + given_plane[-1]
        error = float(weight @ np.square(X @ plane[:-1] + plane[-1] - score))
        assert_allclose(error, error_with(X, weight, score[:, None], kept), rtol=1e-3, atol=1e-6)
    assert sparse_planes(found, X, weight, limit) is found


def columns_of(estimator):
    column = np.array([feature.column_index for feature in estimator.model_.encoder.features])
    return n_columns_read(estimator.tree_.weight, column)


IRIS, CANCER, DIABETES = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes))
CLASSES = {
    "default": {},
    "one start": {"n_init": 1},
    "small": {"effort": 0},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 2},
    "no refit": {"effort": 0, "refit": False},
    "paper": {"training": "paper"},
    "wide init": {"init": DTSemNetClassifier(2, effort=0, max_iter=3, random_state=1)},
    "narrow init": {"init": DecisionTreeClassifier(max_depth=3, random_state=0)},
}


@pytest.mark.parametrize("way", CLASSES)
def test_the_limit_is_kept_by_every_way_to_fit_classes(way):
    options = dict(CLASSES[way])
    if "init" in options:
        options["init"] = options["init"].fit(*IRIS)
    classifier = DTSemNetClassifier(max_iter=8, max_split_features=2, random_state=0, **options).fit(*IRIS)
    assert classifier.tree_.n_splits
    assert columns_of(classifier).max() <= 2
    assert classifier.score(*IRIS) > 0.6


@pytest.mark.parametrize("options", [{}, {"training": "paper"}, {"training": "straight_through"},
                                     {"loss": "absolute_error"}, {"leaf": "constant"}], ids=str)  # fmt: skip
def test_the_limit_is_kept_by_every_way_to_fit_numbers(options):
    regressor = DTSemNetRegressor(3, max_iter=5, max_split_features=2, random_state=0, **options).fit(*DIABETES)
    assert columns_of(regressor).max(initial=0) <= 2


def columns_of_leaves(estimator):
    column = np.array([feature.column_index for feature in estimator.model_.encoder.features])
    return n_columns_read(np.vstack(estimator.tree_.coef), column)


@pytest.mark.parametrize("options", [{}, {"effort": 0}, {"training": "paper"}, {"training": "straight_through"},
                                     {"loss": "absolute_error"}, {"effort": 0, "early_stopping": True},
                                     {"max_split_features": 1}, {"loss": "huber", "n_init": 1}], ids=str)  # fmt: skip
def test_leaves_keep_their_limit_in_every_way_to_fit(options):
    regressor = DTSemNetRegressor(2, max_iter=5, max_leaf_features=2, random_state=0, **options).fit(*DIABETES)
    if regressor.tree_.coef is not None:
        assert columns_of_leaves(regressor).max() <= 2
    assert regressor.score(*DIABETES) > 0.1


def test_leaves_keep_their_limit_for_each_output_through_torch_and_with_more_rows():
    X, y = DIABETES
    y = np.column_stack([y, X[:, 0] - 3 * X[:, 5] + X[:, 7]])
    options = {"effort": 0, "max_iter": 4, "random_state": 0, "max_leaf_features": 3}
    regressor = DTSemNetRegressor(1, warm_start=True, **options).fit(X, y)
    assert columns_of_leaves(regressor).max() == 3
    before = regressor.tree_.coef != 0
    regressor.partial_fit(X, y)
    assert_array_equal(regressor.tree_.coef != 0, before)
    pytest.importorskip("torch", reason="torch is an optional extra")
    assert columns_of_leaves(regressor.set_params(engine="torch", loss="absolute_error").fit(X, y)).max() <= 3


def test_a_short_leaf_reads_what_its_rows_depend_on():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 8))
    y = np.where(X[:, 0] > 0, 3 * X[:, 2] - X[:, 5] + 4, X[:, 7])
    regressor = DTSemNetRegressor(1, max_leaf_features=2, max_split_features=1, random_state=0).fit(X, y)
    assert regressor.score(X, y) > 0.99
    assert {tuple(np.flatnonzero(np.abs(coef[0]) > 0.1)) for coef in regressor.tree_.coef} == {(2, 5), (7,)}
    auto = DTSemNetRegressor(sparsity="auto", max_iter=10, random_state=0).fit(X, y)
    assert columns_of(auto).max() == 1, "leaves stay as they are"
    assert auto.score(X, y) > 0.95


def test_the_limit_is_kept_through_torch():
    pytest.importorskip("torch", reason="torch is an optional extra")
    options = {"engine": "torch", "n_init": 1, "max_iter": 4}
    classifier = DTSemNetClassifier(2, max_split_features=2, random_state=0, **options).fit(*CANCER)
    assert columns_of(classifier).max() == 2


def test_the_limit_is_kept_when_a_tree_goes_on(tmp_path):
    options = {"effort": 0, "max_iter": 5, "random_state": 0, "max_split_features": 2}
    classifier = DTSemNetClassifier(2, warm_start=True, **options).fit(*CANCER).fit(*CANCER)
    assert columns_of(classifier).max() == 2
    before = classifier.tree_.weight != 0
    classifier.partial_fit(*CANCER)
    assert_array_equal(classifier.tree_.weight != 0, before)


def test_categories_and_missing_marks_count_as_one_column():
    pd = pytest.importorskip("pandas", reason="pandas is an optional extra")
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue", "grey"], 200), rng.standard_normal(200)
    size[rng.random(200) < 0.2] = np.nan
    X = pd.DataFrame({"colour": colour, "size": size, "noise": rng.standard_normal(200)})
    y = (np.isin(colour, ["red", "blue"]) * 2.0 + np.nan_to_num(size, nan=2.0)) > 1
    classifier = DTSemNetClassifier(1, effort=0, max_split_features=2, random_state=0).fit(X, y)
    features = classifier.model_.encoder.features
    read = {features[j].column.name for j in np.flatnonzero(classifier.tree_.weight[0])}
    assert read == {"colour", "size"}
    assert (classifier.tree_.weight[0] != 0).sum() > 2
    assert classifier.score(X, y) > 0.9


def test_a_column_that_never_varies_takes_no_place():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(200, 7.0), rng.standard_normal(200), np.full(200, 3.0), rng.standard_normal(200)])
    classifier = DTSemNetClassifier(1, n_init=1, max_split_features=2, random_state=0).fit(X, X[:, 1] > X[:, 3])
    assert_array_equal(np.flatnonzero(classifier.tree_.weight[0]), [1, 3])


def test_auto_finds_the_few_columns_that_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12))
    classifier = DTSemNetClassifier(sparsity="auto", max_iter=15, random_state=0).fit(X, X[:, 3] > 2 * X[:, 8])
    assert columns_of(classifier).max() <= 3
    read = np.flatnonzero(classifier.tree_.weight.any(axis=0))
    assert {3, 8} <= set(read)
    assert len(read) < 6


@pytest.mark.parametrize("fixed", [{"effort": 0}, {"n_init": 2}, {"training": "paper"}, {"warm_start": True}], ids=str)
def test_auto_is_refused_if_nothing_is_compared(fixed):
    with pytest.raises(ValueError, match=f"sparsity='auto'.*{next(iter(fixed))}=.*max_split_features"):
        DTSemNetClassifier(sparsity="auto", **fixed).fit(*IRIS)


def test_plans_are_repeated_with_each_limit_unless_they_read_one_column_anyway():
    fast, lasso = CLASSIFICATION[0], replace(CLASSIFICATION[0], l1=0.01)
    grown = [Plan(OneLeaf()), Plan(CartTree(3, 1)), Plan(CartTree(3, 1), fast)]
    random = [Plan(RandomTree(2), fast), Plan(RandomTree(3), lasso)]
    assert sparse_plans(grown + random, (None,)) == (*grown, *random)
    narrow = sparse_plans(grown + random, (None, 2))[5:]
    assert narrow == (replace(grown[2], n_columns=2), replace(random[1], n_columns=2))
    assert len(sparse_plans(random, (3, 2, 1))) == 6, "random splits alone are all tried"


def test_columns_go_during_the_first_phase_and_stay_away():
    setting = replace(CLASSIFICATION[0], columns=(9, 2), leaf_columns=(9, 3))
    first, second = with_fewer_columns((Phase(20, 0.1), Phase(5, 0.0)), setting)
    counts = [first.step(epoch).n_columns for epoch in range(20)]
    assert counts[0] == 9
    assert counts[6:] == [2] * 14
    assert all(later <= earlier for earlier, later in itertools.pairwise(counts))
    assert {second.step(epoch).n_columns for epoch in range(5)} == {2}
    assert {second.step(epoch).n_leaf_columns for epoch in range(5)} == {3}
    assert first.step(0).n_leaf_columns == 9


def test_the_sparsest_of_those_near_the_best_wins():
    rng = np.random.default_rng(0)
    base = rng.random(400)

    def verdict(extra, n_columns, n_leaves=3.0):
        loss = base + extra + 0.1 * rng.standard_normal(400)
        return Verdict(loss, np.ones(400), n_leaves, loss[:, None], n_columns=n_columns)

    dense, near, far = verdict(0.0, 20.0), verdict(0.003, 4.0), verdict(0.2, 1.0)
    assert sparsest_of_best([dense, near, far], 1.0) == 1
    assert sparsest_of_best([dense, far], 1.0) == 0
    assert sparsest_of_best([verdict(0, 4.0, 9.0), near], 100.0) == 1, "of as many columns the one with fewer leaves"


def test_weights_that_an_l1_penalty_pushed_to_zero_are_exactly_zero():
    X, _ = CANCER
    classifier = DTSemNetClassifier(2, l1=0.01, effort=0, random_state=0).fit(*CANCER)
    size = np.abs(classifier.tree_.weight) * X.std(axis=0)
    assert (size[size > 0] >= 0.002 * size.max(axis=1, keepdims=True).repeat(30, 1)[size > 0]).all()
    assert (columns_of(classifier) < 20).all()
    assert classifier.score(*CANCER) > 0.95
