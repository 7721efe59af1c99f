"""interaction_cst: columns that must not meet in a split do not, in any way to fit."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.estimators.interactions import read_groups
from dtsemnet.fit.sparse import ColumnLimit, forward_selection, keep_groups, moments
from dtsemnet.tree import Encoder

IRIS, CANCER, DIABETES = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_diabetes))
PAIRS = [{0, 1}, {2, 3}]


def columns_of(estimator):
    column = np.array([feature.column_index for feature in estimator.model_.encoder.features])
    return [set(column[weight != 0].tolist()) for weight in estimator.tree_.weight]


WAYS = {
    "default": {},
    "one start": {"n_init": 1},
    "small": {"effort": 0},
    "paper": {"training": "paper"},
    "init": {"init": DTSemNetClassifier(2, effort=0, max_iter=3, random_state=1)},
    "narrow init": {"init": DecisionTreeClassifier(max_depth=3, random_state=0)},
    "one column": {"max_split_features": 1},
    "points": {"effort": 0, "integer_weights": True},
}


@pytest.mark.parametrize("way", WAYS)
def test_only_columns_of_one_set_meet_by_every_way_to_fit(way):
    options = dict(WAYS[way])
    if "init" in options:
        options["init"] = options["init"].fit(*IRIS)
    classifier = DTSemNetClassifier(max_iter=4, interaction_cst=PAIRS, random_state=0, **options).fit(*IRIS)
    assert classifier.tree_.n_splits
    assert all(any(read <= group for group in PAIRS) for read in columns_of(classifier))
    assert classifier.score(*IRIS) > 0.6


@pytest.mark.parametrize(("word", "most"), [("pairwise", 2), ("no_interactions", 1)])
def test_words_say_how_many_columns_may_meet(word, most):
    classifier = DTSemNetClassifier(2, effort=0, max_iter=2, interaction_cst=word, random_state=0).fit(*CANCER)
    assert max(map(len, columns_of(classifier))) <= most
    regressor = DTSemNetRegressor(2, effort=0, max_iter=2, interaction_cst=word, random_state=0).fit(*DIABETES)
    assert max(map(len, columns_of(regressor)), default=0) <= most


def test_sets_are_kept_when_a_tree_goes_on_and_through_torch():
    options = {"effort": 0, "max_iter": 3, "random_state": 0, "interaction_cst": PAIRS}
    classifier = DTSemNetClassifier(2, warm_start=True, **options).fit(*IRIS).fit(*IRIS).partial_fit(*IRIS)
    assert all(any(read <= group for group in PAIRS) for read in columns_of(classifier))
    pytest.importorskip("torch", reason="torch is an optional extra")
    classifier = DTSemNetClassifier(2, engine="torch", n_init=1, **options).fit(*IRIS)
    assert all(any(read <= group for group in PAIRS) for read in columns_of(classifier))


def test_columns_are_named_and_categories_count_as_one():
    pd = pytest.importorskip("pandas", reason="pandas is an optional extra")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((200, 3)), columns=["a", "b", "c"])
    X["colour"] = rng.choice(["red", "green", "blue"], 200)
    y = X["a"] + 2 * (X["colour"] == "red") - 2 * (X["colour"] == "blue") > 0
    options = {"effort": 0, "max_iter": 8, "random_state": 0}
    classifier = DTSemNetClassifier(2, interaction_cst=[["a", "colour"]], **options).fit(X, y)
    assert all(read <= {0, 3} or read <= {1, 2} for read in columns_of(classifier))
    assert (classifier.tree_.weight[:, 3:] != 0).sum(axis=1).max() > 1


def test_it_comes_back_from_a_file(tmp_path):
    classifier = DTSemNetClassifier(2, effort=0, max_iter=2, interaction_cst=PAIRS).fit(*IRIS)
    classifier.save(tmp_path / "model.json")
    loaded = DTSemNetClassifier.load(tmp_path / "model.json")
    assert [set(group) for group in loaded.interaction_cst] == PAIRS
    assert (loaded.fit(*IRIS).predict(IRIS[0]) == loaded.predict(IRIS[0])).all()


def test_the_best_columns_of_one_set_are_selected():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    target = (X @ [1.0, 0.2, 0.9, 0.9])[:, None]
    groups = read_groups(PAIRS, Encoder.identity("abcd"))
    chosen = forward_selection(*moments(X, target, np.ones(300)), ColumnLimit(2, np.arange(4), groups))
    assert np.flatnonzero(chosen).tolist() == [2, 3], "though the first column alone is the best"
    assert keep_groups(chosen[None].astype(float), np.arange(4), groups).all()


def test_sets_that_allow_everything_are_no_limit():
    assert read_groups([{0, 1, 2}], Encoder.identity("abc")) is None
    assert read_groups([], Encoder.identity("abc")) is None


@pytest.mark.parametrize("given", ["triples", 3, [0, 1], [{0, 9}], [["x", "y"]], [{True}]], ids=str)
def test_others_are_refused_by_name(given):
    with pytest.raises(ValueError, match=r"interaction_cst (must be|names)"):
        DTSemNetClassifier(1, effort=0, interaction_cst=given).fit(*IRIS)
