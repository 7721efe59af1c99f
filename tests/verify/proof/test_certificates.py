"""Certificates are exact, and true whatever the multipliers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.verify.proof.certificates import (
    Farkas,
    Polytope,
    distance_bound,
    exact_dot,
    exact_steps,
    exact_value,
    linear_bound,
    round_down,
    round_up,
)


@given(seed=st.integers(0, 1000))
def test_certificates_say_nothing_wrong_whatever_the_multipliers(seed):
    rng = np.random.default_rng(seed)
    rows, y, x, z0 = rng.normal(size=(4, 3)), rng.exponential(size=4), rng.uniform(-1, 1, 3), rng.normal(size=3)
    bound = rows @ x + 1e-9  # x satisfies all rows
    assert not Farkas(Polytope(rows, bound, -np.ones(3), np.ones(3)), y).check()
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


def test_statements_of_small_systems():
    one = np.ones(1)
    proof = Farkas(Polytope(np.array([[1.0], [-1.0]]), np.array([0.0, -1.0]), 0 * one, one), np.ones(2))
    assert proof.check()
    assert proof.gap == 1  # z <= 0 and z >= 1
    touching = Farkas(Polytope(np.array([[1.0], [-1.0]]), np.array([0.0, 0.0]), 0 * one, one), np.ones(2))
    assert touching.gap == 0  # z <= 0 and z >= 0, which 0 satisfies
    assert not touching.check()
    assert linear_bound(one, 0.0, Polytope(np.array([[-1.0]]), np.array([-2.0]), 0 * one, 5 * one), one) == 2  # z >= 2
    rows, ones = np.array([[-1.0, -1.0]]), np.ones(2)
    distances = [distance_bound(rows, np.array([-2.0]), one, 0 * ones, ones, norm) for norm in ("inf", "1")]
    assert distances == [1, 2]


def test_values_and_roundings_of_fractions():
    assert exact_dot(np.array([1e16, 1.0]), np.array([1.0, 0.5])) == Fraction(20000000000000001, 2)
    assert exact_value(np.array([3.0]), 1.0, [Fraction(1, 3)]) == 2
    assert round_down(Fraction(1, 10)) < Fraction(1, 10) < round_up(Fraction(1, 10))
    assert round_down(Fraction(1, 4)) == round_up(Fraction(1, 4)) == 0.25


@given(seed=st.integers(0, 1000))
def test_integers_over_a_common_power_of_two_give_what_fractions_give(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 5, 2).tolist()

    def draw(*shape):
        return rng.normal(size=shape) * 10.0 ** rng.integers(-60, 60, shape) * (rng.random(shape) < 0.8)

    rows, bound, y, cost, center = draw(n, d), draw(n), np.abs(draw(n)), draw(d), draw(d)
    lower, upper = np.sort(draw(2, d), axis=0)
    weight = rng.choice([0.5, 0.3, np.inf], d)
    exact = [sum((Fraction(a) * Fraction(b) for a, b in zip(y, column)), Fraction(0)) for column in rows.T]
    right = sum((Fraction(a) * Fraction(b) for a, b in zip(y, bound)), Fraction(0))

    def least(row):
        return (
            sum((r * Fraction(low if r > 0 else high) for r, low, high in zip(row, lower, upper)), Fraction(0)) - right
        )

    polytope = Polytope(rows, bound, lower, upper)
    assert Farkas(polytope, y).gap == least(exact)
    assert linear_bound(cost, 1.5, polytope, y) == least([r + Fraction(c) for r, c in zip(exact, cost)]) + Fraction(1.5)
    height = sum((r * Fraction(c) for r, c in zip(exact, center)), Fraction(0)) - right
    free = [(abs(r) / Fraction(w)) for r, w in zip(exact, weight) if np.isfinite(w)]
    for norm, size in (("inf", sum(free, Fraction(0))), ("1", max(free, default=Fraction(0)))):
        wanted = Fraction(0) if height <= 0 else height / size if size else None
        assert distance_bound(rows, bound, y, center, weight, norm) == wanted
    euclidean = distance_bound(rows, bound, y, center, weight, "2")
    if height > 0 and any(free):
        assert euclidean**2 <= height**2 / sum(f * f for f in free) <= euclidean**2 * (1 + Fraction(1, 10**12))


@given(st.lists(st.tuples(*[st.floats(-1e9, 1e9) | st.sampled_from([5e-324, -1e300, 0.1])] * 3), max_size=6))
def test_steps_are_those_of_fractions(triples):
    weight, z, center = (np.array([triple[k] for triple in triples], dtype=np.float64) for k in range(3))
    size, unit = exact_steps(np.abs(weight), z, center)
    exact = [abs(Fraction(w)) * abs(Fraction(x) - Fraction(c)) for w, x, c in triples]
    assert [int(entry) * unit for entry in size] == exact
