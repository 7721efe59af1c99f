"""The judge: losses by hand, and fewer leaves among equals."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.fit.judging import (
    ClassOutcome,
    RegressionOutcome,
    Verdict,
    is_behind,
    judge_classes,
    judge_numbers,
    simplest_of_best,
)
from dtsemnet.fit.leaves import LeafFit

RNG = np.random.default_rng(0)


def verdict(loss, n_leaves=2.0):
    loss = np.asarray(loss, dtype=float)
    return Verdict(loss, np.ones(len(loss)), n_leaves, loss[:, None])


def test_the_difference_is_taken_row_by_row():
    noise = RNG.normal(size=400) * 10
    better, worse = verdict(noise), verdict(noise + 0.1 + 0.01 * RNG.normal(size=400))
    mean, error = worse.behind(better)
    assert_allclose(mean, 0.1, atol=0.01)
    assert error < 0.001, "the noise that both share says nothing about their difference"
    assert is_behind(worse, better)
    assert not is_behind(better, worse)


def test_a_plan_that_rows_cannot_tell_apart_is_not_behind():
    assert not is_behind(verdict(RNG.normal(size=100)), verdict(RNG.normal(size=100)))


def test_weights_count_as_rows():
    loss = RNG.normal(size=50)
    weight = np.where(np.arange(50) < 20, 2.0, 1.0)
    twice = np.r_[np.arange(50), np.arange(20)]
    by_weight = Verdict(loss, weight, 1, loss[:, None]).mean
    assert_allclose(by_weight, verdict(loss[twice]).mean)


def test_among_nearly_equal_plans_the_smallest_wins():
    best = RNG.normal(size=200)
    near, far = best + 0.001 + RNG.normal(size=200), best + 1
    verdicts = [verdict(best, 30), verdict(near, 4), verdict(far, 1)]
    assert simplest_of_best(verdicts, tolerance=0.0) == 0 or near.mean() < best.mean()
    assert simplest_of_best(verdicts, tolerance=5.0) == 1
    assert simplest_of_best([verdict(best, 4), verdict(best, 4)], tolerance=0.25) == 0, "the first among equals"


def test_the_loss_of_a_class_is_half_its_error_and_the_brier_score():
    share = np.array([[0.9, 0.1], [0.2, 0.8]])
    margin = np.array([[0.0, 1.0], [1.0, 0.0]])
    outcome = ClassOutcome(margin, share, np.array([0, 0]), np.ones(2), 2)
    judged = judge_classes([outcome])
    chance = judged.calibration.probabilities(margin, share)
    brier = np.square(chance - [[1, 0], [1, 0]]).sum(axis=1)
    assert_allclose(judged.loss, brier + np.array([0, 0.5]))
    assert_array_equal(judged.answer, chance)


def test_the_way_to_fit_leaves_that_does_best_over_all_folds_is_chosen():
    ways = (LeafFit(False, 1.0, linear=False), LeafFit(False, 1.0))
    y = np.array([[0.0], [1.0]])
    good, bad = y + 0.1, y + 1.0
    folds = [
        RegressionOutcome(np.stack([bad, good]), y, np.ones(2), ways, 3, 4),
        RegressionOutcome(np.stack([good, good]), y, np.ones(2), ways, 5, 4),
    ]
    judged = judge_numbers(folds, "squared_error", 0.0)
    assert judged.leaf_fit == ways[1]
    assert judged.n_leaves == 8, "four leaves on average, and a linear leaf counts twice"
    assert_allclose(judged.answer, np.concatenate([good, good]))
