"""Certificates are not only true but sharp: what they prove is the exact distance, up to the rounding of a root."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dtsemnet.verify.proof.certificates import distance_bound

ONE = np.ones(1)


@given(st.lists(st.floats(1e-30, 1e30), min_size=1, max_size=3))
@example([1.0])
@example([2.0])
@example([3.0, 4.0])
def test_a_root_is_rounded_by_less_than_a_double_could_show(entries):
    """The plane ``row . z <= -1`` lies ``1 / |row|`` from the origin."""
    row, n = np.array([entries]), len(entries)
    found = distance_bound(row, np.array([-1.0]), ONE, np.zeros(n), np.ones(n), "2")
    share = found**2 * sum(Fraction(entry) ** 2 for entry in entries)
    assert (1 - Fraction(1, 2**60)) < share <= 1


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
