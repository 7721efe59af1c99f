"""Certificates are exact, and true whatever the multipliers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.verify.proof.certificates import Farkas, distance_bound, exact_dot


@given(seed=st.integers(0, 1000))
def test_certificates_say_nothing_wrong_whatever_the_multipliers(seed):
    rng = np.random.default_rng(seed)
    rows, y, x, z0 = rng.normal(size=(4, 3)), rng.exponential(size=4), rng.uniform(-1, 1, 3), rng.normal(size=3)
    bound = rows @ x + 1e-9  # x satisfies all rows
    assert not Farkas(rows, bound, y, -np.ones(3), np.ones(3)).check()
    weight = rng.exponential(size=3) + 0.1
    for norm, order in (("inf", np.inf), ("1", 1), ("2", 2)):
        assert distance_bound(rows, bound, y, z0, weight, norm) <= np.linalg.norm(weight * (x - z0), order) * (
            1 + 1e-12
        )


@given(seed=st.integers(0, 1000))
def test_sums_in_integers_are_sums_of_fractions(seed):
    rng = np.random.default_rng(seed)
    left, right = (rng.normal(size=7) * 10.0 ** rng.integers(-200, 100, 7) for _ in range(2))
    left[0] = 0.0
    exact = sum((Fraction(a) * Fraction(b) for a, b in zip(left, right)), Fraction(0))
    assert exact_dot(left, right) == exact
