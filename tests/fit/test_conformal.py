"""Intervals and sets cover what they promise."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit.conformal import CrossFit
from dtsemnet.tree import MarginProbability, Topology, Tree


def constant(value):
    return Tree(Topology([]), np.empty((0, 1)), [], [[value]])


def test_an_interval_by_hand():
    cross_fit = CrossFit(
        (constant(0.0), constant(10.0)), (np.array([[1.0], [3.0]]), np.array([[2.0]])), (np.ones(2), np.ones(1))
    )
    # Upper values 1, 3, 12 and lower values -1, -3, 8: with 3 rows a half covers 0.5 * 4 = 2 of them.
    assert_array_equal(cross_fit.interval(np.zeros((1, 1)), 0.5)[0, 0], [-1.0, 3.0])
    # More than 3 / 4 needs a fourth row: nothing bounds it.
    assert_array_equal(cross_fit.interval(np.zeros((1, 1)), 0.9)[0, 0], [-np.inf, np.inf])


def test_a_weight_of_two_is_a_row_twice():
    errors = np.random.default_rng(0).exponential(size=(40, 1))
    weight = np.where(np.arange(40) < 10, 2.0, 1.0)
    twice = np.r_[np.arange(40), np.arange(10)]
    by_weight = CrossFit((constant(0.0),), (errors,), (weight,))
    by_rows = CrossFit((constant(0.0),), (errors[twice],), (np.ones(50),))
    for coverage in (0.5, 0.8, 0.9):
        assert_array_equal(by_weight.interval(np.zeros((1, 1)), coverage), by_rows.interval(np.zeros((1, 1)), coverage))


def test_a_set_by_hand():
    line = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.8, 0.2], [0.2, 0.8]], class_names=[0, 1])
    rule = MarginProbability(1.0)
    errors = np.linspace(0.05, 0.95, 19)
    cross_fit = CrossFit((line,), (errors,), (np.ones(19),), (rule,))
    chance = rule(line, np.array([[0.5]]))[0]
    inside = cross_fit.sets(np.array([[0.5]]), 0.9)[0]
    assert_array_equal(inside, [(errors < 1 - p).sum() < 0.9 * 20 for p in chance])


@functools.cache
def fitted_to_noise(seed):
    """A regressor, and rows that it was not trained on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(700, 3))
    y = np.maximum(X[:, 0], X[:, 1]) + rng.normal(size=700) * (0.2 + np.abs(X[:, 2]))
    return DTSemNetRegressor(max_iter=20, random_state=0).fit(X[:200], y[:200]), X, y


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_intervals_cover_numbers_with_noise_that_depends_on_the_row(coverage):
    covered = []
    for seed in range(6):
        fitted, X, y = fitted_to_noise(seed)
        ends = fitted.predict_interval(X[200:], coverage)
        covered.append(((ends[:, 0] <= y[200:]) & (y[200:] <= ends[:, 1])).mean())
        predicted = fitted.predict(X[200:])
        assert ((ends[:, 0] <= predicted) & (predicted <= ends[:, 1])).all()
    assert np.mean(covered) >= coverage - 0.03
    assert min(covered) >= 2 * coverage - 1 - 0.05


def test_sets_cover_classes_that_overlap():
    covered, sizes = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = rng.integers(3, size=800)
        X = rng.normal(size=(800, 2)) + np.array([[0, 0], [1.5, 0], [0, 1.5]])[y]
        fitted = DTSemNetClassifier(max_iter=20, random_state=0).fit(X[:250], y[:250])
        inside = fitted.predict_set(X[250:], 0.9)
        assert inside[np.arange(550), fitted.predict(X[250:])].all()
        covered.append(inside[np.arange(550), y[250:]].mean())
        sizes.append(inside.sum(axis=1).mean())
    assert np.mean(covered) >= 0.87
    assert 1 < np.mean(sizes) < 3


def test_several_outputs_have_intervals_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    Y = np.column_stack([X[:, 0], 10 * X[:, 1]]) + rng.normal(size=(120, 2)) * [0.1, 1.0]
    ends = DTSemNetRegressor(random_state=0).fit(X, Y).predict_interval(X, 0.8)
    assert ends.shape == (120, 2, 2)
    width = (ends[:, :, 1] - ends[:, :, 0]).mean(axis=0)
    assert width[1] > 5 * width[0]


def test_files_keep_what_intervals_need(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    for kind, y, name in (
        (DTSemNetRegressor, X[:, 0], "predict_interval"),
        (DTSemNetClassifier, (X[:, 0] > 0).astype(int), "predict_set"),
    ):
        fitted = kind(random_state=0).fit(X, y)
        fitted.save(tmp_path / "model.json")
        assert_array_equal(getattr(kind.load(tmp_path / "model.json"), name)(X), getattr(fitted, name)(X))


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1.0, 2.0])
def test_a_coverage_that_is_none_is_refused(coverage):
    X = np.arange(20.0)[:, None]
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        DTSemNetRegressor(random_state=0).fit(X, X[:, 0]).predict_interval(X, coverage)


def test_a_fit_that_compared_nothing_says_so():
    X = np.arange(20.0)[:, None]
    with pytest.raises(ValueError, match="effort=1"):
        DTSemNetRegressor(random_state=0, effort=0, max_depth=1).fit(X, X[:, 0]).predict_interval(X)
