"""Legal values of parameters, in words and as tests."""

import math

import pytest

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.estimators.persistence import check_parameters, number, one_of, or_none, whole


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
        ({"n_init": "many"}, "n_init must be a whole number of at least 1, or 'auto', got 'many'."),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0, or None, got 0."),
        ({"training": "straight_through"}, "training must be 'annealed' or 'paper', got 'straight_through'."),
    ],
)
def test_an_illegal_value_is_named_with_what_is_legal(parameter, message):
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(") + "$"):
        check_parameters(DTSemNetClassifier(**parameter))


def test_what_is_legal_depends_on_the_estimator():
    check_parameters(DTSemNetRegressor(training="straight_through"))
