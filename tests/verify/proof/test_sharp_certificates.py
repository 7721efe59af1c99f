"""Certificates are not only true but sharp: what they prove is the exact distance, up to the rounding of a root."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.verify.proof.certificates import _root_above, distance_bound

ONE = np.ones(1)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_a_root_is_rounded_up_by_less_than_a_double_could_show(square):
    root = _root_above(square)
    assert root**2 >= square
    assert (root * (1 - Fraction(1, 2**60))) ** 2 < square


def test_roots_of_zero_and_one():
    assert _root_above(Fraction(0)) == 0
    assert 1 <= _root_above(Fraction(1)) < 1 + Fraction(1, 2**60)


@given(seed=st.integers(0, 1000))
def test_the_distance_to_one_row_is_that_of_geometry(seed):
    rng = np.random.default_rng(seed)
    row, center, weight = rng.normal(size=3), rng.normal(size=3), rng.exponential(size=3) + 0.1
    bound = float(row @ center) - 1.0  # the centre violates the row by 1
    for norm, dual in (("2", 2), ("inf", 1), ("1", np.inf)):
        found = distance_bound(row[None], np.array([bound]), ONE, center, weight, norm)
        assert float(found) == pytest.approx(1.0 / np.linalg.norm(row / weight, dual), rel=1e-12)


@pytest.mark.parametrize("norm", ["inf", "1", "2"])
def test_a_row_that_held_columns_violate_has_no_nearest_point(norm):
    row, held, zero = np.array([[1.0, 1.0]]), np.full(2, np.inf), np.zeros(2)
    assert distance_bound(row, np.array([-1.0]), ONE, zero, held, norm) is None
    assert distance_bound(row, np.array([0.0]), ONE, zero, held, norm) == 0  # on the boundary, so it holds
    assert distance_bound(row, np.array([1.0]), ONE, zero, held, norm) == 0
