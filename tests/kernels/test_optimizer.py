"""Adam takes the steps of its formula, and the norm of gradients is limited."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.kernels.optimizer import Moments, adam, clip_scale, hold


def drawn(seed=0, shape=(4, 3), dtype=np.float64):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_moments_start_from_a_copy_and_zeros():
    value = drawn()
    moments = Moments.start(np.asfortranarray(value), np.dtype(np.float32))
    assert_array_equal(moments.value, value.astype(np.float32))
    assert all(array.flags.c_contiguous and array.dtype == np.float32 for array in moments)
    assert not moments.first.any()
    assert not moments.second.any()
    moments.value[0, 0] = 7
    assert value[0, 0] != 7


@pytest.mark.parametrize(("decay", "l1", "scale"), [(0.0, 0.0, 1.0), (0.1, 0.0, 0.5), (0.0, 0.02, 1.0)])
def test_adam_follows_its_formula(decay, l1, scale):
    start, rate = drawn(), 0.05
    parameter = Moments.start(start, start.dtype)
    p, m, v = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for n in range(1, 4):
        gradient = drawn(n)
        adam(parameter, gradient, n, rate, decay, l1, scale)
        g = gradient * scale + l1 * np.sign(p)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        p = p * (1 - rate * decay) - rate * (m / (1 - 0.9**n)) / (np.sqrt(v / (1 - 0.999**n)) + 1e-8)
    assert_allclose(parameter.value, p, rtol=1e-12)
    assert_allclose(parameter.first, m, rtol=1e-12)
    assert_allclose(parameter.second, v, rtol=1e-12)


def test_penalties_are_off_by_default():
    plain, spelled = (Moments.start(drawn(), np.dtype(np.float32)) for _ in range(2))
    adam(plain, drawn(1, dtype=np.float32), 1, 0.1)
    adam(spelled, drawn(1, dtype=np.float32), 1, 0.1, 0.0, 0.0, 1.0)
    assert_array_equal(plain.value, spelled.value)


def test_a_zero_is_not_moved_by_the_l1_penalty():
    parameter = Moments.start(np.zeros((1, 2)), np.dtype(np.float64))
    adam(parameter, np.zeros((1, 2)), 1, 0.1, 0.0, 1.0)
    assert not parameter.value.any()


def test_long_gradients_are_scaled_to_the_limit_and_short_ones_left():
    gradients = drawn(0), drawn(1, (2, 5))
    norm = np.sqrt(sum(np.square(gradient).sum() for gradient in gradients))
    assert_allclose(clip_scale(gradients, norm / 4), 1 / 4, rtol=1e-5)
    assert clip_scale(gradients, 2 * norm) == 1
    assert clip_scale(gradients, 0.0) == 1
    assert clip_scale((np.zeros((2, 2)),), 0.1) == 1


def test_entries_that_are_not_allowed_become_zero_and_others_stay():
    value, allowed = drawn(), np.random.default_rng(1).integers(0, 4, (4, 3), dtype=np.int8)
    held = value.copy()
    hold(held, allowed)
    is_allowed = np.where(value > 0, allowed & 1, allowed & 2) > 0
    assert_array_equal(held, np.where(is_allowed, value, 0.0))
    hold(held, np.ones((0, 3), np.int8))
    assert_array_equal(held, np.where(is_allowed, value, 0.0))
