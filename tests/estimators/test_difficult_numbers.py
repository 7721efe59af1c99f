"""Numbers that are hard on float64 or on training are fitted as well as easy ones, in any unit."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

N = 400
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2 * N, 3))
CLASS = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
TARGET = np.where(X[:, 0] + X[:, 1] > 0, 2 * X[:, 2], -X[:, 2]) + 0.1 * RNG.normal(size=2 * N)
QUICK = {"max_iter": 100, "max_depth": 2, "effort": 0, "random_state": 0}


SEEDS = range(3)
"""Single fits differ by a few per cent, as their rows are dealt out differently."""


def accuracy(rows):
    fits = [DTSemNetClassifier(**QUICK | {"random_state": seed}).fit(rows[:N], CLASS[:N]) for seed in SEEDS]
    return np.mean([fitted.predict(rows[N:]) == CLASS[N:] for fitted in fits])


def r2(rows=X, scale=1.0):
    fits = [DTSemNetRegressor(**QUICK | {"random_state": seed}).fit(rows[:N], TARGET[:N] * scale) for seed in SEEDS]
    errors = [fitted.predict(rows[N:]) / scale - TARGET[N:] for fitted in fits]
    return 1 - np.square(errors).mean() / TARGET[N:].var()


ACCURACY, R2 = accuracy(X), r2()


def outlier(value):
    rows = X.copy()
    rows[5, 0] = value  # a training row
    return rows


def whole(offset):
    return np.round(X * 1000).astype(np.int64) + offset


@pytest.mark.parametrize("value", [1e3, -1e12, 1e300, 1.7e308])
def test_one_value_far_away_does_not_spoil_a_column(value):
    assert accuracy(outlier(value)) > ACCURACY - 0.03
    assert r2(outlier(value)) > R2 - 0.04


@pytest.mark.parametrize("n_rows", [60, 150, N])
@pytest.mark.parametrize("value", [-1e4, 1e12, 1.7e308])
def test_one_value_far_away_does_not_tilt_a_linear_leaf(n_rows, value):
    target = 2 * X[:, 0] - X[:, 1]  # no noise: a line through the other rows has no error
    fitted = DTSemNetRegressor(effort=0, max_depth=0, guard=False).fit(outlier(value)[:n_rows], target[:n_rows])
    assert np.square(fitted.predict(X[N:]) - target[N:]).mean() < 0.005 * target.var()


@pytest.mark.parametrize(
    "rows",
    [X + 1e9, X * 1000 + 1e15, X * 1e-310, X * 1e300, np.clip(X, -1.7, 1.7) * 1e308, X * [1e-300, 1.0, 1e290]],
    ids=["offset 1e9", "offset 1e15", "subnormal", "1e300", "1.7e308", "magnitudes"],
)
def test_units_and_offsets_do_not_matter(rows):
    # Numbers below 1e-308 have few digits left, and X * 1000 + 1e15 is rounded to eighths.
    assert accuracy(rows) > ACCURACY - 0.03
    assert r2(rows) > R2 - 0.04


def test_whole_numbers_beyond_2_to_53_warn_and_keep_what_float64_can_hold():
    with pytest.warns(UserWarning, match=r"column 'x0' holds whole numbers beyond 2\*\*53.*subtract an offset"):
        rounded = accuracy(whole(2**60))
    assert rounded > accuracy(np.round(whole(0) / 256.0)) - 0.03  # float64 counts by 256 there
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert accuracy(whole(2**52)) > ACCURACY - 0.03


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_units_of_targets_do_not_matter(scale):
    assert r2(scale=scale) > R2 - 0.04


@pytest.mark.parametrize("options", [{}, {"leaf": "constant", "loss": "poisson"}], ids=["squares", "poisson"])
def test_a_fit_that_chooses_prunes_targets_of_any_unit_alike(options):
    # Squares of such targets are 0 or infinite: all splits were worth nothing, or none could be compared.
    y, errors, sizes = np.maximum(TARGET + 3, 0), [], []
    for scale in (1.0, 1e-300, 1e300):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = DTSemNetRegressor(max_iter=10, random_state=0, **options).fit(X[:N], y[:N] * scale)
            sizes.append(fitted.get_n_leaves())
            errors.append(np.square(fitted.predict(X[N:]) / scale - y[N:]).mean() / y[N:].var())
            assert fitted.prune(X[:N], y[:N] * scale, max_leaf_nodes=2).get_n_leaves() <= 2
    assert max(errors) < errors[0] + 0.1
    assert max(sizes) <= 2 * sizes[0] + 2


def test_a_later_missing_value_is_filled_in_the_units_of_the_column():
    rows = X[:N] + 1e15
    fitted = DTSemNetClassifier(**QUICK).fit(rows, CLASS[:N])
    fill = fitted.model_.encoder.columns[0].fill
    assert abs(fill - rows[:, 0].mean()) < 1
    with pytest.warns(UserWarning, match="x0 \\(1 row\\)"):
        assert_array_equal(
            fitted.predict(np.array([[np.nan, *rows[0, 1:]]])), fitted.predict(np.array([[fill, *rows[0, 1:]]]))
        )


def test_missing_values_are_not_filled_with_a_mean_that_one_value_rules():
    rows = outlier(1e12)
    rows[::7, 0] = np.nan
    fitted = DTSemNetRegressor(**QUICK).fit(rows[:N], TARGET[:N])
    assert abs(fitted.model_.encoder.columns[0].fill) < 1
    huge = np.where(np.arange(2 * N)[:, None] % 7 == 0, np.nan, 1.7e308)
    assert DTSemNetClassifier(**QUICK).fit(huge, CLASS).model_.encoder.columns[0].fill == pytest.approx(1.7e308)


@pytest.mark.parametrize("make", [DTSemNetClassifier, DTSemNetRegressor])
@pytest.mark.parametrize("size", [0.1, 1e5, 1e-12, 1e30, 1e-300, 1.7e308, 5e-324])
def test_equal_weights_of_any_size_are_no_weights(make, size):
    y = CLASS if make is DTSemNetClassifier else TARGET
    few = {**QUICK, "max_iter": 5}
    rows, y = np.vstack([X[:50], X[:9]]), np.concatenate([y[:50], y[:9]])  # some rows are there twice
    plain = make(**few).fit(rows, y, X_val=X[50:90], y_val=y[:40])
    weighted = make(**few).fit(
        rows, y, np.full(59, size), X_val=X[50:90], y_val=y[:40], sample_weight_val=np.full(40, size)
    )
    assert weighted.tree_ == plain.tree_


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**900, 3.0, 1e-5])
@pytest.mark.parametrize("draw", ["whole", "any"])
def test_a_common_factor_of_all_weights_changes_nothing(factor, draw):
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, N) if draw == "whole" else rng.random(N) + 0.1
    few = {**QUICK, "max_iter": 5}
    plain = DTSemNetRegressor(**few).fit(X[:N], TARGET[:N], weight)
    scaled = DTSemNetRegressor(**few).fit(X[:N], TARGET[:N], weight * factor)
    if draw == "whole" or np.log2(factor) % 1 == 0:
        assert scaled.tree_ == plain.tree_
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=1e-3, atol=1e-3)


def test_more_rows_weigh_as_much_as_their_weights_say():
    few = {**QUICK, "max_iter": 5}
    by_one, by_many = DTSemNetRegressor(**few), DTSemNetRegressor(**few)
    by_one.partial_fit(X[:N], TARGET[:N]).partial_fit(X[N:], TARGET[N:], np.full(N, 2.0))
    by_many.partial_fit(X[:N], TARGET[:N], np.full(N, 8.0)).partial_fit(X[N:], TARGET[N:], np.full(N, 16.0))
    assert by_one.tree_ == by_many.tree_
    assert by_one._leaf_weight.sum() == 3 * N
