"""Formulas compute what Python computes, in doubles."""

from __future__ import annotations

import numpy as np
import pytest

from dtsemnet.verify.closed_loop import absolute, clip, cos, maximum, minimum, sin, square, tanh, where
from dtsemnet.verify.closed_loop.expressions import evaluate, float32, symbol

X = np.linspace(-3, 3, 25)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: 2.0 - x * 3.0 + 1.0 / (x * x + 2.0),
        lambda x: -x / 4.0 + +x,
        lambda x: sin(x) + cos(x) * tanh(x),
        lambda x: square(x) + x**3 - x**4,
        lambda x: absolute(x) + abs(x),
        lambda x: clip(x, -1.0, 0.5) + minimum(x, 1.0) - maximum(2.0, x),
    ],
)
def test_formulas_compute_what_python_computes(write) -> None:
    x = symbol("x")
    assert np.allclose(evaluate([write(x)], {x: X})[0], write(X), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("at", [-1.0, 0.25])
def test_choices_at_their_edge(at: float) -> None:
    x = symbol("x")
    values = np.array([np.nextafter(at, -9), at, np.nextafter(at, 9)])
    found = evaluate(
        [where(x > at, 1, 0), where(x >= at, 1, 0), where(x < at, 1, 0), where(x <= at, 1, 0)], {x: values}
    )
    assert np.array(found).tolist() == [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]]


def test_rounding_to_32_bits() -> None:
    x = symbol("x")
    assert evaluate([float32(x)], {x: np.array([0.1])})[0] == np.float32(0.1)


def test_terms_that_are_not_chosen_are_still_defined() -> None:
    x = symbol("x")
    assert evaluate([where(x > 0, x, -x)], {x: X})[0].tolist() == np.abs(X).tolist()


def test_mistakes_are_refused() -> None:
    x = symbol("x")
    with pytest.raises(TypeError, match="no truth value"):
        _ = 1 if x > 0 else 0
    with pytest.raises(TypeError, match="whole number"):
        _ = x**0.5
    with pytest.raises(TypeError, match="condition must compare"):
        where(x, 1, 2)
    with pytest.raises(ValueError, match="finite"):
        _ = x + np.inf
