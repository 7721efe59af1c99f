"""The vectorised exponential and logarithm against extended precision."""

import numpy as np
import pytest

from dtsemnet.kernels import exp, kernel, log


@kernel
def exp_all(x, out):
    for i in range(len(x)):
        out[i] = exp(x[i])


@kernel
def log_all(x, out):
    for i in range(len(x)):
        out[i] = log(x[i])


def ulps(found, exact):
    return np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(exact).astype(found.dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_is_right_to_two_units_in_the_last_place(dtype):
    top = 80.0 if dtype == np.float32 else 300.0
    x = np.linspace(-top, top, 200_001).astype(dtype)
    found = np.empty_like(x)
    exp_all(x, found)
    assert ulps(found, np.exp(x.astype(np.longdouble))).max() <= 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_of_zero_is_one_and_of_minus_infinity_zero(dtype):
    x = np.array([0.0, -0.0, -np.inf, -1e30, -800.0], dtype)
    found = np.empty_like(x)
    exp_all(x, found)
    assert found.tolist() == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_is_right_to_three_units_in_the_last_place(dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.uniform(-60, 60, 100_000)), 1 + rng.uniform(-0.4, 0.4, 100_000)]).astype(dtype)
    found = np.empty_like(x)
    log_all(x, found)
    assert ulps(found, np.log(x.astype(np.longdouble))).max() <= 3
    one = np.ones(1, dtype)
    log_all(one, found[:1])
    assert found[0] == 0
