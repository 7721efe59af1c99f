"""Calibration: the numbers are the best for the log loss, and known ones are found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dtsemnet.fit.calibration import Calibration, calibrate, margin_unit


def draw(rate, power, n_rows=4000, n_classes=3, seed=0):
    """Rows whose classes are drawn from the formula itself."""
    rng = np.random.default_rng(seed)
    predicted = rng.integers(n_classes, size=n_rows)
    margin = rng.exponential(size=(n_rows, n_classes))
    margin[np.arange(n_rows), predicted] = 0
    share = rng.dirichlet(np.ones(n_classes), size=n_rows)
    top = share.argmax(axis=1)
    share[np.arange(n_rows), top], share[np.arange(n_rows), predicted] = (
        share[np.arange(n_rows), predicted].copy(), share[np.arange(n_rows), top].copy(),
    )  # fmt: skip
    chance = Calibration(rate, power, 1e-4).probabilities(margin, share)
    y = (chance.cumsum(axis=1) > rng.random((n_rows, 1))).argmax(axis=1)
    return margin, share, y


def log_loss(calibration, margin, share, y):
    return -np.log(calibration.probabilities(margin, share)[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize(("rate", "power"), [(0.5, 1.0), (2.0, 0.5), (1.0, 2.0)])
def test_known_numbers_are_found_again(rate, power):
    found = calibrate(*draw(rate, power), np.ones(4000))
    assert_allclose([found.rate, found.power], [rate, power], rtol=0.25)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 100), rate=st.floats(0.1, 5), power=st.floats(0.2, 2))
def test_no_other_numbers_are_better(seed, rate, power):
    rows = draw(rate, power, n_rows=300, seed=seed)
    best = calibrate(*rows, np.ones(300))
    least = log_loss(best, *rows)
    for factor in (0.8, 1.25):
        assert least <= log_loss(Calibration(best.rate * factor, best.power, best.floor), *rows) + 1e-4
        assert least <= log_loss(Calibration(best.rate, best.power * factor, best.floor), *rows) + 1e-4


def test_a_weight_of_two_is_a_row_twice():
    margin, share, y = draw(1.0, 1.0, n_rows=100)
    weight = np.where(np.arange(100) < 30, 2.0, 1.0)
    twice = np.r_[np.arange(100), np.arange(30)]
    by_weight = calibrate(margin, share, y, weight)
    by_rows = calibrate(margin[twice], share[twice], y[twice], np.ones(130))
    assert_allclose([by_weight.rate, by_weight.power], [by_rows.rate, by_rows.power], rtol=1e-3)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_nothing_overflows(scale):
    margin, share, y = draw(1.0, 1.0, n_rows=50)
    found = calibrate(margin * scale, share, y, np.ones(50))
    assert np.isfinite([found.rate, found.power, found.floor]).all()
    assert np.isfinite(found.probabilities(np.minimum(margin * scale, 1e6), share)).all()


def test_the_unit_is_the_median_margin_of_the_runner_up():
    assert margin_unit(np.array([[0.0, 3.0, 1.0], [5.0, 0.0, 9.0], [0.0, 0.0, 7.0]])) == 3.0
    assert margin_unit(np.zeros((4, 2))) == 1.0
    assert margin_unit(np.zeros((4, 1))) == 1.0
