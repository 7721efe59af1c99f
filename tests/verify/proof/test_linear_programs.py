"""Linear programs: two ways to the nearest point in the largest change agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.verify.proof.certificates import Polytope, distance_bound
from dtsemnet.verify.proof.linear_programs import (
    _nearest_max,
    _nearest_max_by_steps,
    contradiction,
    interior,
    minimise,
    nearest,
)


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 6), n_columns=st.integers(1, 12))
def test_nearest_by_steps_is_the_nearest_of_one_program(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    matrix, room = rng.normal(size=(n_rows, n_columns)), rng.normal(size=n_rows)
    low, high = -rng.exponential(size=n_columns), rng.exponential(size=n_columns)
    one, steps = (find(matrix, room, low, high) for find in (_nearest_max, _nearest_max_by_steps))
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
    proved = distance_bound(
        rows, np.concatenate([room, -low, high]), np.concatenate([-marginals, below, above]), np.zeros(n_columns),
        np.ones(n_columns), "inf",
    )  # fmt: skip
    assert float(proved) == pytest.approx(size[0], abs=1e-7)


def test_programs_of_small_polytopes():
    one = np.ones(1)
    half = Polytope(np.array([[1.0]]), np.array([0.5]), 0 * one, one)
    inside = interior(half)
    assert inside.point.item() < 0.5 < inside.margin + 0.25
    assert contradiction(half) is None
    assert contradiction(half._replace(bound=-one)).margin < 0
    lowest = minimise(one, Polytope(np.array([[-1.0]]), np.array([-0.25]), 0 * one, one))
    assert (lowest.point.item(), lowest.multiplier.item()) == (0.25, 1.0)
    two = np.ones(2)
    apart = Polytope(np.array([[-1.0, -1.0]]), -one, -9 * two, 9 * two)
    assert nearest(0 * two, two, "inf", apart).point.tolist() == [0.5, 0.5]


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), norm=st.sampled_from(["inf", "1", "2"]))
def test_multipliers_prove_the_distance_where_the_box_ends_at_the_center(seed, norm):
    rng = np.random.default_rng(seed)
    rows, width = rng.normal(size=(3, 5)), rng.exponential(size=(2, 5)) * rng.integers(0, 2, (2, 5))
    center, weight = rng.normal(size=5), rng.exponential(size=5) + 0.1
    inside = center - width[0] + rng.random(5) * width.sum(axis=0)  # some box ends at the center, on one side or both
    polytope = Polytope(rows, rows @ inside, center - width[0], center + width[1])
    found = nearest(center, weight, norm, polytope)
    assert found is not None
    step = np.abs(weight * (found.point - center))
    size = {"inf": step.max(), "1": step.sum(), "2": np.sqrt((step * step).sum())}[norm]
    ends = np.vstack([rows, -np.eye(5), np.eye(5)]), np.concatenate([polytope.bound, -polytope.lower, polytope.upper])
    multiplier = np.concatenate([found.multiplier, found.at_lower, found.at_upper])
    proved = distance_bound(*ends, multiplier, center, weight, norm)
    assert float(proved) == pytest.approx(size, rel=1e-6, abs=1e-6)
