"""Rows of a fit: merged by content, split by class and seed, standardised once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.fit.data import (
    MIN_ROWS,
    Sample,
    Scaling,
    TrainingData,
    far_limits,
    in_rows,
    merge,
    set_aside,
    split,
)


def sample_of(X, y=None, weight=None):
    X = np.asarray(X, dtype=float)
    y = np.zeros(len(X), np.int64) if y is None else np.asarray(y)
    return Sample(X, np.arange(len(X)), y, np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float))


def contents(sample):
    """Rows, targets and weights, in the order of the sample."""
    return np.column_stack([sample.to_array(), sample.y, sample.weight]).tolist()


def test_merging_adds_the_weights_of_equal_rows_and_drops_rows_without_weight():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [5.0, 6.0], [7.0, 8.0]])
    merged = merge(X, np.array([0, 0, 1, 0, 1]), np.array([1.0, 2.0, 1.0, 0.0, 4.0]))
    assert sorted(contents(merged)) == [[1, 2, 0, 3], [1, 2, 1, 1], [7, 8, 1, 4]]
    assert merged.X is X, "nothing is copied"


def test_the_order_after_merging_depends_on_the_content_alone():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (200, 3)).astype(float), rng.integers(0, 2, 200)
    weight, order = rng.integers(1, 4, 200).astype(float), rng.permutation(200)
    assert contents(merge(X, y, weight)) == contents(merge(X[order], y[order], weight[order]))
    repeated = np.repeat(np.arange(200), weight.astype(int))
    assert contents(merge(X[repeated], y[repeated], np.ones(len(repeated)))) == contents(merge(X, y, weight))


def test_merging_takes_matrices_of_targets_and_no_rows_at_all():
    X, y = np.zeros((4, 1)), np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 3.0], [0.0, 0.0]])
    assert len(merge(X, y, np.ones(4))) == 3
    assert len(merge(X, y, np.zeros(4))) == 0


@pytest.mark.parametrize("by_class", [True, False])
def test_splitting_takes_a_share_and_loses_no_row(by_class):
    sample = sample_of(np.arange(100.0)[:, None], np.repeat([0, 1, 2], [50, 40, 10]))
    train, held = split(sample, 0.2, np.random.default_rng(0), by_class=by_class)
    assert len(held) == 20
    assert_array_equal(np.sort(np.concatenate([train.index, held.index])), np.arange(100))
    if by_class:
        assert_array_equal(np.bincount(held.y), [10, 8, 2])
    again = split(sample, 0.2, np.random.default_rng(0), by_class=by_class)[1]
    assert_array_equal(held.index, again.index)


def test_splitting_leaves_a_row_of_each_class_for_training():
    train, _ = split(sample_of(np.zeros((4, 1)), [0, 1, 1, 2]), 0.9, np.random.default_rng(0), by_class=True)
    assert set(train.y) == {0, 1, 2}


def test_rows_are_set_aside_unless_they_are_given_few_or_not_wanted():
    sample = sample_of(np.arange(MIN_ROWS)[:, None], np.arange(MIN_ROWS) % 2)

    def data(rows, validation=None):
        return TrainingData(rows, validation, ("x",), (0, 1), Scaling.of(rows))

    rng, few = np.random.default_rng(0), sample.take(np.arange(MIN_ROWS - 1))
    train, held = set_aside(data(sample), 0.2, rng)
    assert (len(train), len(held)) == (MIN_ROWS - 6, 6)
    assert set_aside(data(sample), 0.0, rng) == (sample, None)
    assert set_aside(data(few), 0.2, rng) == (few, None)
    assert set_aside(data(sample), 0.01, rng)[1] is None, "less than one row"
    assert set_aside(data(sample, few), 0.2, rng) == (sample, few)


def test_scaled_rows_have_mean_0_and_deviation_1_by_weight():
    rng = np.random.default_rng(0)
    sample = sample_of(rng.normal(3, 5, (300, 4)), weight=rng.integers(1, 5, 300))
    scaled = Scaling.of(sample).apply(sample, np.float64)
    assert_allclose(np.average(scaled, axis=0, weights=sample.weight), 0, atol=1e-12)
    assert_allclose(np.average(scaled**2, axis=0, weights=sample.weight), 1)


def test_columns_that_never_vary_become_0_and_huge_ones_do_not_overflow():
    X = np.column_stack([np.full(50, 7.0), np.linspace(-1, 1, 50) * 1e300, np.linspace(0, 1, 50) * 1e-300])
    sample = sample_of(X)
    scaling = Scaling.of(sample)
    scaled = scaling.apply(sample, np.float64)
    assert_array_equal(scaled[:, 0], 0)
    assert_allclose(scaled[:, 1:].std(axis=0), 1)
    assert scaling.std[0] == 0


def test_folding_splits_keeps_their_scores_and_unfolding_undoes_it():
    rng = np.random.default_rng(0)
    sample = sample_of(rng.normal(size=(40, 3)) * [1, 1e3, 1e-3] + 5)
    scaling, splits = Scaling.of(sample), rng.normal(size=(6, 4))
    weight, bias = scaling.fold(splits)
    expected = scaling.apply(sample, np.float64) @ splits[:, :-1].T + splits[:, -1]
    assert_allclose(sample.to_array() @ weight.T + bias, expected)
    assert_allclose(scaling.unfold(weight, bias), splits)


def test_targets_are_scaled_by_weight_and_constant_ones_by_1():
    y = np.column_stack([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]])
    sample = sample_of(np.zeros((3, 1)), y, [1, 1, 2])
    data = TrainingData(sample, None, ("x",), None, Scaling.of(sample))
    center, scale = data.target_scale
    assert_allclose(center, [3.75, 4])
    assert_allclose(scale, [np.sqrt(np.average((y[:, 0] - 3.75) ** 2, weights=[1, 1, 2])), 4])
    assert_allclose(np.average(data.standardise(y)[:, 0], weights=sample.weight), 0, atol=1e-15)


def test_weights_are_counted_in_rows():
    for weight in ([1, 2, 4], [2, 3, 7], [3, 3, 9]):
        for unit in (1.0, 0.1, 1 / 3, 2.0**-1000, 1e300):
            rows, one = in_rows(np.array(weight) * unit)
            assert_array_equal(rows, np.array(weight) / np.gcd.reduce(weight))
            assert_allclose(one, np.gcd.reduce(weight) * unit)
    rows, one = in_rows(np.array([1e-300, 1.0, np.pi]))
    assert_allclose(rows.mean(), 1)
    assert_allclose(rows * one, [1e-300, 1.0, np.pi])


def test_far_values_are_clipped_in_training_alone():
    rng = np.random.default_rng(0)
    sample = sample_of(rng.normal(5, 2, (500, 3)))
    sample.X[3, 1] = -1e300
    scaling = Scaling.of(sample)
    scaled = scaling.apply(sample, np.float64)
    assert np.abs(scaled).max() < 25
    assert 0.5 < np.delete(scaled[:, 1], 3).std() < 1
    assert scaling.apply(sample, np.float64, far="keep")[3, 1] < -1e299
    scaled_for_leaves = scaling.apply(sample, np.float64, far="center")
    assert scaled_for_leaves[3, 1] == 0
    assert_array_equal(np.delete(scaled_for_leaves, 3, axis=0), np.delete(scaled, 3, axis=0))
    others = Scaling.of(sample_of(np.delete(sample.X, 1, axis=1)))
    assert_array_equal(scaling.center[[0, 2]], others.center)
    assert_array_equal(scaling.factor[[0, 2]], others.factor)
    weight, bias = scaling.fold(np.array([[0.0, 1.0, 0.0, 0.0]]))
    assert_allclose((sample.X @ weight.T + bias)[:3, 0], scaled[:3, 1])


@pytest.mark.parametrize(
    "column",
    [
        (np.arange(10_000) == 7).astype(float),
        np.where(np.arange(10_000) % 300 == 0, 40.0, 0.0),
        np.random.default_rng(0).poisson(0.02, 10_000).astype(float),
        np.random.default_rng(0).lognormal(0, 2, 10_000),
        np.random.default_rng(0).standard_t(3, 10_000),
        np.array([0.0, 1.0, 1e9]),
        np.append(np.zeros(9_899), np.linspace(1.0, 255.0, 101)),
    ],
    ids=["rare event", "sparse", "counts", "heavy tail", "Student", "few rows", "pixel at the border"],
)
def test_honest_columns_are_not_clipped(column):
    assert Scaling.of(sample_of(column[:, None])).limits is None


def test_a_wrong_number_in_a_column_of_rare_events_is_clipped():
    column = np.append(np.arange(10_000) % 50 == 0, 1e12)
    assert far_limits(column, np.ones(10_001))[1] < 10


def test_far_limits_know_copies_by_their_weights():
    rng = np.random.default_rng(0)
    values, weight = np.append(rng.normal(size=60), 1e6), rng.integers(1, 4, 61).astype(float)
    weight[-1] = 1
    assert far_limits(values, weight) == far_limits(np.repeat(values, weight.astype(int)), np.ones(int(weight.sum())))
    assert far_limits(values, weight)[1] < 100
