"""Legal values of parameters, in words and as tests; and what comes back from a file, and what must not."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.estimators.persistence import check_parameters, number, one_of, or_none, whole

X = np.random.default_rng(0).normal(size=(30, 2))
QUICK = {"max_iter": 2, "effort": 0, "n_init": 1}


def classifier(y=None, **parameters):
    y = np.where(X[:, 0] > 0, "right", "left") if y is None else y
    return DTSemNetClassifier(**{**QUICK, "max_depth": 1, **parameters}).fit(X, y)


def again(fitted, path):
    fitted.save(path)
    return type(fitted).load(path)


@pytest.mark.parametrize(
    ("rule", "words", "legal", "illegal"),
    [
        (whole(1), "a whole number of at least 1", [1, 10**9], [0, 1.0, True, "1", None]),
        (whole(0, 20), "a whole number from 0 to 20", [0, 20], [-1, 21]),
        (number(0), "a number of at least 0", [0, 0.5], [-1e-9, math.inf, math.nan, True, "0"]),
        (number(0, 0.9), "a number from 0 to 0.9", [0, 0.9], [1]),
        (number(0, above=True), "a positive number", [1e-300], [0, math.inf]),
        (number(0, 1, above=True), "a number above 0, at most 1", [1], [0, 1.5]),
        (one_of("a", "b", "c"), "'a', 'b' or 'c'", ["a", "c"], ["d", None, 1]),
        (one_of(True, False, None), "True, False or None", [True, None], [1, 0, "True"]),
        (or_none(whole(1)), "a whole number of at least 1, or None", [None, 2], [0]),
    ],
)
def test_a_rule_says_what_it_allows(rule, words, legal, illegal):
    assert rule.words == words
    assert [value for value in legal if not rule.is_legal(value)] == []
    assert [value for value in illegal if rule.is_legal(value)] == []


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"max_depth": -1}, "max_depth must be a whole number from 0 to 20, or None, got -1."),
        ({"n_init": "many"}, "n_init must be a whole number from 1 to 1000000, or 'auto', got 'many'."),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0, or None, got 0."),
        ({"training": "straight_through"}, "training must be 'annealed' or 'paper', got 'straight_through'."),
    ],
)
def test_an_illegal_value_is_named_with_what_is_legal(parameter, message):
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(") + "$"):
        check_parameters(DTSemNetClassifier(**parameter))


def test_what_is_legal_depends_on_the_estimator():
    check_parameters(DTSemNetRegressor(training="straight_through"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", np.int64(2)),
        ("random_state", np.uint32(7)),
        ("random_state", np.int32(7)),
        ("ccp_alpha", np.float32(0.25)),
    ],
)
def test_a_scalar_of_numpy_does_not_come_back_as_the_default(name, value, tmp_path):
    loaded = again(classifier(**{name: value}), tmp_path / "model.json")
    assert loaded.get_params()[name] == value
    assert type(loaded.get_params()[name]) in (int, float)


@pytest.mark.parametrize(
    ("y", "class_weight"),
    [
        ((X[:, 0] > 0).astype(int), {0: 1.0, 1: 2.0}),
        ((X[:, 0] > 0).astype(int), {np.int64(0): np.float32(1.0), np.int64(1): 2}),
        (X[:, 0] > 0, {False: 1.0, True: 2.0}),
        (np.where(X[:, 0] > 0, 5.0, 1.0), {5.0: 3, 1.0: 1}),
        (None, {"left": 1.0, "right": 2.0}),
        (None, {np.str_("left"): 1.0, np.str_("right"): 2.0}),
        (None, "balanced"),
    ],
)
def test_class_weights_can_be_saved(y, class_weight, tmp_path):
    loaded = again(classifier(y, class_weight=class_weight), tmp_path / "model.json")
    assert loaded.class_weight == class_weight
    assert loaded.fit(X, np.where(X[:, 0] > 0, "right", "left") if y is None else y)


def test_lists_of_columns_come_back(tmp_path):
    for given in ([0], np.array([0]), np.array([True, False]), (0,)):
        fitted = DTSemNetClassifier(**QUICK, max_depth=1, categorical_features=given)
        fitted.fit(np.round(X), X[:, 0] > 0)
        assert list(again(fitted, tmp_path / "model.json").categorical_features) == list(given)


def test_a_path_in_a_received_file_is_not_used(tmp_path):
    fitted = classifier(checkpoint=tmp_path / "kept here")
    fitted.save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    assert "checkpoint" not in document["about"]["parameters"]
    document["about"]["parameters"]["checkpoint"] = "/somewhere/else"
    (tmp_path / "model.json").write_text(json.dumps(document))
    assert DTSemNetClassifier.load(tmp_path / "model.json").checkpoint is None


@pytest.mark.parametrize(
    "y",
    [
        (X[:, 0] > 0).astype(np.int8),
        (X[:, 0] > 0).astype(np.uint64) + 2**63,
        np.where(X[:, 0] > 0, 5.0, 1.0).astype(np.float32),
        X[:, 0] > 0,
        np.where(X[:, 0] > 0, "a", "bc").astype("<U10"),
        np.where(X[:, 0] > 0, "a", "bc").astype(object),
        np.where(X[:, 0] > 0, np.datetime64("2020-01-01"), np.datetime64("2021-01-01")).astype("datetime64[s]"),
    ],
    ids=lambda y: str(y.dtype),
)
def test_classes_come_back_with_their_type(y, tmp_path):
    fitted = classifier(y)
    loaded = again(fitted, tmp_path / "model.json")
    assert loaded.classes_.dtype.kind == fitted.classes_.dtype.kind
    assert_array_equal(loaded.classes_, fitted.classes_)
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    text = (tmp_path / "model.json").read_text()
    loaded.save(tmp_path / "model.json")
    again_text = (tmp_path / "model.json").read_text()
    assert json.loads(text)["about"] | {"training": None} == json.loads(again_text)["about"] | {"training": None}


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("class_dtype", "<U1", None),  # made two classes equal; the width is now that of the names
        ("class_dtype", "<U1000000000", None),
        ("class_dtype", "int64", "class_dtype: must be a type that holds the class names, got 'int64'"),
        ("class_dtype", "|S5", "class_dtype"),
        ("class_dtype", "V1000000000", "class_dtype"),
        ("class_dtype", "i4," * 1000, "class_dtype"),
        ("class_dtype", None, "class_dtype"),
        ("class_dtype", 5, "class_dtype"),
        ("feature_importances", ["nan", "inf"], r"feature_importances\[0\]"),
        ("feature_importances", [1.0], "feature_importances: must have length 2"),
        ("feature_importances", [-1.0, 2.0], "feature_importances: must not be negative"),
        ("leaf_weight", [True, False], r"leaf_weight\[0\]"),
        ("leaf_weight", "ab", "leaf_weight: must be a list"),
        ("feature_names_in", ["x1", "x0"], "feature_names_in: must be the names of the columns"),
        ("feature_names_in", "ab", "feature_names_in: must be a list"),
        ("parameters", [], "parameters: must be an object"),
        ("parameters", {"max_depth": "deep"}, "parameters: max_depth must be a whole number"),
        ("parameters", {"max_depth": 10**9}, "parameters: max_depth must be a whole number"),
        ("parameters", {"random_state": -1}, r"parameters\.random_state: must be a whole number from 0"),
        ("parameters", {"random_state": 2**70}, r"parameters\.random_state"),
        ("parameters", {"class_weight": [[[], 1.0]]}, r"parameters\.class_weight\[0\]"),
        ("parameters", {"class_weight": [["left"]]}, r"parameters\.class_weight\[0\]: must have length 2"),
        ("parameters", {"class_weight": {"left": "much"}}, r"parameters\.class_weight"),
        ("parameters", {"categorical_features": [[0]]}, r"parameters\.categorical_features"),
        ("parameters", {"verbose": "yes"}, r"parameters\.verbose"),
        ("parameters", {"a parameter of later": 1}, None),
        ("cross_fit", [], "cross_fit: must be an object"),
        ("cross_fit", {}, r"cross_fit\.trees: is missing"),
    ],
)
def test_a_damaged_about_is_one_error_that_names_the_field(key, value, problem, tmp_path):
    path = tmp_path / "model.json"
    fitted = classifier()
    fitted.save(path)
    document = json.loads(path.read_text())
    document["about"][key] = value
    path.write_text(json.dumps(document))
    if problem is None:
        loaded = DTSemNetClassifier.load(path)
        assert_array_equal(loaded.classes_, ["left", "right"])
        assert_array_equal(loaded.predict(X), fitted.predict(X))
        loaded.save(path)
        return
    with pytest.raises(ValueError, match=rf"^about in .* is incomplete or damaged \(about\.{problem}") as caught:
        DTSemNetClassifier.load(path)
    assert type(caught.value) is ValueError


def test_classes_in_another_order_are_refused(tmp_path):
    path = tmp_path / "model.json"
    classifier().save(path)
    document = json.loads(path.read_text())
    for names in (["right", "left"], ["left", 1], [2, 1]):
        document["tree"]["class_names"], document["about"]["class_dtype"] = names, "object"
        path.write_text(json.dumps(document))
        with pytest.raises(ValueError, match=r"tree\.class_names: must be in ascending order"):
            DTSemNetClassifier.load(path)


def test_intervals_of_a_damaged_file_are_refused(tmp_path):
    path = tmp_path / "model.json"
    DTSemNetRegressor(max_iter=2, max_depth=1).fit(X, X[:, 0]).save(path)
    document = json.loads(path.read_text())

    def problem(change):
        damaged = json.loads(json.dumps(document))
        change(damaged["about"]["cross_fit"])
        path.write_text(json.dumps(damaged))
        with pytest.raises(ValueError, match="about in") as caught:
            DTSemNetRegressor.load(path)
        return str(caught.value).partition("(about.cross_fit.")[2]

    assert problem(lambda part: part["trees"].clear()).startswith("trees: must hold at least one tree")
    assert problem(lambda part: part["errors"].pop()).startswith("errors: must have length")
    assert problem(lambda part: part["errors"][0].__setitem__(0, ["1"])).startswith("errors[0][0][0]: must be a finite")
    assert problem(lambda part: part["weights"][1].__setitem__(0, 0)).startswith("weights[1]: must be positive")
    assert problem(lambda part: part["errors"][1].__setitem__(0, [-1])).startswith("errors[1]: must not be negative")
    assert problem(lambda part: part["trees"][0]["tree"].update(n_features=3)).startswith("trees[0]: tree.")
    assert problem(lambda part: part["probabilities"].append({})).startswith("probabilities: must have length 0")


def test_a_parameter_that_became_illegal_is_not_saved(tmp_path):
    fitted = classifier().set_params(max_depth="deep")
    with pytest.raises(ValueError, match="max_depth must be a whole number"):
        fitted.save(tmp_path / "model.json")
