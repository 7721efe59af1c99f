"""Batches hold the rows they were asked for, with ones behind; equal rows have equal hashes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.kernels.rows import Rows, gather, gather_features, mix_rows, new_batch


def draw_rows(targets, n_rows=11, n_features=3, dtype=np.float32):
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((n_rows, n_features)).astype(dtype), rng.random(n_rows).astype(dtype)
    y = rng.integers(0, 4, n_rows) if targets == 0 else rng.standard_normal((n_rows, targets)).astype(dtype)
    return Rows(X, y, weight)


@pytest.mark.parametrize("targets", [0, 1, 3], ids=["classes", "one target", "three targets"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_batch_holds_the_rows_in_order_with_ones_behind(targets, dtype):
    rows, index = draw_rows(targets, dtype=dtype), np.array([7, 0, 7, 10])
    batch = gather(rows, index, new_batch(rows, 6))
    assert_array_equal(batch.X, np.column_stack([rows.X[index], np.ones(4)]))
    assert_array_equal(batch.y, rows.y[index])
    assert_array_equal(batch.weight, rows.weight[index])
    assert [array.dtype for array in batch] == [array.dtype for array in rows]
    assert batch.X.flags.c_contiguous


def test_a_smaller_batch_after_a_larger_one_has_no_rows_left_over():
    rows = draw_rows(0)
    buffer = new_batch(rows, 8)
    gather(rows, np.arange(8), buffer)
    last = gather(rows, np.arange(8, 11), buffer)
    assert_array_equal(last.X[:, :-1], rows.X[8:])
    assert len(last.y) == len(last.weight) == 3


def test_a_batch_has_no_more_room_than_there_are_rows():
    assert len(new_batch(draw_rows(2), 10**12).X) == 11


def test_features_are_gathered_into_the_first_rows():
    X, batch = np.arange(6.0).reshape(3, 2), np.full((4, 3), -1.0)
    gather_features(X, np.array([2, 0]), batch)
    assert batch.tolist() == [[4, 5, 1], [0, 1, 1], [-1, -1, -1], [-1, -1, -1]]


def test_hashes_follow_the_content_of_rows():
    rows = np.array([[1.0, 0.0], [1.0, -0.0], [0.0, 1.0], [1.0, 0.5]])
    numbers = np.zeros(4, np.uint64)
    mix_rows((rows + 0.0).view(np.uint64), numbers)
    assert numbers[0] == numbers[1]
    assert len(set(numbers.tolist())) == 3
