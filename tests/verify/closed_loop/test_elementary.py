"""Lines around curves hold at every point, and are tight."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.verify.closed_loop.elementary import CURVES, lines_around

FUNCTIONS = {
    "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "square": lambda x: x * x, "reciprocal": lambda x: 1 / x,
}  # fmt: skip


@pytest.mark.parametrize("name", CURVES)
@given(low=st.floats(0.01, 6.0), width=st.floats(0.0, 3.0) | st.just(0.0), mirrored=st.booleans())
def test_curves_lie_between_their_lines(name: str, low: float, width: float, mirrored: bool) -> None:
    ends = (-low - width, -low) if mirrored else (low, low + width)
    for v in np.linspace(*ends, 41).clip(*ends):
        value = FUNCTIONS[name](float(v))
        for line in lines_around(name, *ends):
            away = value - line.slope * float(v)
            rounding = 1e-14 * (1 + abs(value) + abs(line.slope * v))
            assert line.least - rounding <= away <= line.most + rounding


@pytest.mark.parametrize("name", ["square", "reciprocal"])
@given(low=st.floats(0.01, 6.0), width=st.floats(0.0, 3.0), share=st.floats(0, 1))
def test_lines_hold_exactly(name: str, low: float, width: float, share: float) -> None:
    high = low + width
    v = Fraction(min(max(low + share * (high - low), low), high))
    value = v * v if name == "square" else 1 / v
    for line in lines_around(name, low, high):
        assert Fraction(line.least) <= value - Fraction(line.slope) * v <= Fraction(line.most)


@pytest.mark.parametrize("name", CURVES)
def test_at_a_point_the_function_is_known_to_a_rounding(name: str) -> None:
    for x in (0.3, 1.0, 2.5, 5.9):
        level = lines_around(name, x, x)[0]
        assert level.most - level.least <= 1e-15 * (1 + abs(level.most))
        assert abs(level.least - FUNCTIONS[name](x)) <= 1e-15 * (1 + abs(level.least))


@pytest.mark.parametrize("name", CURVES)
def test_lines_close_in_with_the_square_of_the_width(name: str) -> None:
    gaps = [min(line.most - line.least for line in lines_around(name, 0.7, 0.7 + width)) for width in (0.4, 0.2, 0.1)]
    assert gaps[0] > 2.5 * gaps[1] > 6.25 * gaps[2]


def test_far_angles_and_saturated_outputs_are_enclosed() -> None:
    assert lines_around("sin", 100.0, 101.0)[0][1:] == (-1.0, 1.0)
    level = lines_around("tanh", 25.0, 1000.0)[0]
    assert level.least <= math.tanh(25.0) <= 1.0 <= level.most
    assert level.most - level.least < 1e-15
