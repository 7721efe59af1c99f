"""Linear programs: two ways to the nearest point in the largest change agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.verify import program, rational


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 6), n_columns=st.integers(1, 12))
def test_nearest_by_steps_is_the_nearest_of_one_program(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    matrix, room = rng.normal(size=(n_rows, n_columns)), rng.normal(size=n_rows)
    low, high = -rng.exponential(size=n_columns), rng.exponential(size=n_columns)
    one, steps = (find(matrix, room, low, high) for find in (program._nearest_max, program._nearest_max_by_steps))
    assert (one is None) == (steps is None)
    if one is None:
        return
    size = [np.abs(found[0]).max() for found in (one, steps)]
    assert size[1] == pytest.approx(size[0], abs=1e-8)
    step, marginals, below, above = steps
    assert (matrix @ step <= room + 1e-8).all()
    assert ((low - 1e-9 <= step) & (step <= high + 1e-9)).all()
    # The multipliers prove the distance.
    rows = np.vstack([matrix, -np.eye(n_columns), np.eye(n_columns)])
    proved = rational.distance_bound(
        rows, np.concatenate([room, -low, high]), np.concatenate([-marginals, below, above]), np.zeros(n_columns),
        np.ones(n_columns), "inf",
    )  # fmt: skip
    assert float(proved) == pytest.approx(size[0], abs=1e-7)


@given(seed=st.integers(0, 1000))
def test_sums_in_integers_are_sums_of_fractions(seed):
    rng = np.random.default_rng(seed)
    left, right = (rng.normal(size=7) * 10.0 ** rng.integers(-200, 100, 7) for _ in range(2))
    left[0] = 0.0
    exact = sum((rational.Fraction(a) * rational.Fraction(b) for a, b in zip(left, right)), rational.Fraction(0))
    assert rational.exact_dot(left, right) == exact
