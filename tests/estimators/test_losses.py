"""Deviances: leaves hold means, trees predict counts and costs better than by squares, odd targets are refused."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import mean_poisson_deviance, mean_tweedie_deviance
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet import DTSemNetRegressor
from dtsemnet.tree import Model
from dtsemnet.tree.order import keeps_order

POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}


@functools.cache
def table(loss, n_rows=400):
    """Rows, targets of the distribution of a loss, and their true means, which depend on a sum of two columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 3))
    mean = np.where(X[:, 0] + X[:, 1] > 0.5, 4.0, 0.5)
    if loss == "poisson":
        return X, rng.poisson(mean).astype(float), mean
    size = rng.gamma(2.0, mean / 2)
    return X, size if loss == "gamma" else size * rng.poisson(1.0, n_rows), mean


@functools.cache
def fitted(loss, **options):
    X, y, _ = table(loss)
    options = {"leaf": "constant", "max_iter": 15, "random_state": 0, "loss": loss} | options
    return DTSemNetRegressor(2, **options).fit(X[:200], y[:200])


@pytest.mark.parametrize("loss", POWERS)
def test_leaves_hold_means_that_are_near_the_true_ones(loss):
    regressor, (X, y, mean) = fitted(loss), table(loss)
    assert (regressor.tree_.value > 0).all()
    assert Model.of(regressor).tree.coef is None
    constant, error, least = (
        mean_tweedie_deviance(y[200:], answer, power=POWERS[loss])
        for answer in (np.full(200, y[:200].mean()), regressor.predict(X[200:]), mean[200:])
    )
    assert error < constant - 0.5 * (constant - least)
    assert np.median(np.abs(np.log(regressor.predict(X[200:]) / mean[200:]))) < 0.4


@pytest.mark.parametrize(
    "options",
    [
        {"training": "paper", "max_iter": 150},
        {"effort": 0},
        {"n_init": 1, "max_iter": 60},
        {"monotonic_cst": (1, 0, 0)},
    ],
    ids=str,
)
def test_every_way_to_fit_finds_the_means(options):
    regressor, (X, _, mean) = fitted("poisson", **options), table("poisson")
    assert np.corrcoef(regressor.predict(X[200:]), mean[200:])[0, 1] > 0.7
    assert "monotonic_cst" not in options or keeps_order(regressor.tree_, 0)


def test_the_torch_engine_trains_on_deviances_too():
    pytest.importorskip("torch", reason="torch is an optional extra")
    regressor, (X, _, mean) = fitted("poisson", engine="torch", n_init=1, max_iter=10), table("poisson")
    assert np.corrcoef(regressor.predict(X[200:]), mean[200:])[0, 1] > 0.4


def test_rates_with_exposures_as_weights_are_means_of_counts():
    X, _, mean = table("poisson")
    rng = np.random.default_rng(1)
    exposure = rng.integers(1, 6, len(X)).astype(float)
    rate = rng.poisson(mean * exposure) / exposure
    regressor = DTSemNetRegressor(2, leaf="constant", loss="poisson", max_iter=10, random_state=0)
    regressor.fit(X, rate, sample_weight=exposure)
    answer = regressor.predict(X)
    assert_allclose(np.average(answer, weights=exposure), np.average(rate, weights=exposure), rtol=0.02)
    constant, error, least = (
        mean_poisson_deviance(rate, each, sample_weight=exposure)
        for each in (np.full(len(X), answer.mean()), answer, mean)
    )
    assert error < constant - 0.5 * (constant - least)


def test_a_leaf_of_zeros_predicts_more_than_0():
    X = np.arange(60.0)[:, None]
    y = np.where(X[:, 0] < 30, 0.0, 5.0)
    regressor = DTSemNetRegressor(1, leaf="constant", loss="poisson", max_iter=5, random_state=0).fit(X, y)
    assert regressor.get_n_leaves() == 2
    assert (regressor.predict(X) > 0).all()


@pytest.mark.parametrize(("loss", "y", "message"), [
    ("poisson", [1.0, -1.0, 2.0, 3.0], "of at least 0.*got -1"),
    ("gamma", [1.0, 0.0, 2.0, 3.0], "above 0.*got 0"),
])  # fmt: skip
def test_targets_outside_of_the_range_of_a_loss_are_refused(loss, y, message):
    with pytest.raises(ValueError, match=f"y must hold numbers {message}"):
        DTSemNetRegressor(leaf="constant", loss=loss).fit(np.arange(4.0)[:, None], y)


@pytest.mark.parametrize(("options", "y", "message"), [
    ({"loss": "gamma"}, 0.0, "y must hold numbers above 0 for loss='gamma', got 0"),
    ({"loss": "poisson"}, -5.0, "y must hold numbers of at least 0 for loss='poisson', got -5"),
    ({"loss": "poisson"}, 0.0, "y is 0 in every row"),
    ({"loss": "poisson", "leaf": "linear"}, 5.0, "needs leaf='constant'"),
    ({"loss": "squared_error", "sparsity": "auto", "effort": 0}, 5.0, "effort=0 fixes the course of the fit"),
])  # fmt: skip
def test_targets_that_never_vary_are_checked_as_others_are(options, y, message):
    with pytest.raises(ValueError, match=message):
        DTSemNetRegressor(**{"leaf": "constant"} | options).fit(np.arange(4.0)[:, None], np.full(4, y))


def test_targets_of_validation_rows_are_checked_by_their_name():
    X, y = np.arange(4.0)[:, None], np.array([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="y_val must hold numbers of at least 0 for loss='poisson', got -1"):
        DTSemNetRegressor(leaf="constant", loss="poisson").fit(X, y, X_val=X, y_val=-y)


def test_linear_leaves_and_odd_powers_are_refused():
    with pytest.raises(ValueError, match="loss='gamma' needs leaf='constant'"):
        DTSemNetRegressor(loss="gamma").fit(np.arange(4.0)[:, None], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match="tweedie_power must be a number between 1 and 2, got 2"):
        DTSemNetRegressor(tweedie_power=2).fit(np.arange(4.0)[:, None], [1.0, 2.0, 3.0, 4.0])


class PositiveRegressor(DTSemNetRegressor):
    """Reads whatever targets scikit-learn's checks have as positive ones."""

    def _encode_y(self, y, **options):
        y = super(DTSemNetRegressor, self)._encode_y(y, **options)
        return np.abs(y) + 0.1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # it is scored by targets that it does not see
        return tags


@pytest.mark.slow
@parametrize_with_checks([PositiveRegressor(leaf="constant", loss=loss, effort=0, max_iter=3) for loss in POWERS])
def test_scikit_learn_check(estimator, check):
    check(estimator)
