"""Schedules and phases: values at the ends, and what Algorithm 1 lays out."""

import pytest

from dtsemnet.training import Constant, Cosine, Decay, Geometric, Linear, Phase, Step, algorithm_1


@pytest.mark.parametrize(
    ("schedule", "first", "last"),
    [
        (Constant(0.3), 0.3, 0.3),
        (Decay(1.0, 0.5), 1.0, 0.5**9),
        (Linear(0.0, 1.0), 0.0, 1.0),
        (Geometric(1.0, 0.01), 1.0, 0.01),
        (Geometric(1.0, 0.01, until=0.7, after=0.0), 1.0, 0.0),
    ],
    ids=repr,
)
def test_schedules_go_from_their_start_to_their_end(schedule, first, last):
    assert schedule(0, 10) == pytest.approx(first)
    assert schedule(9, 10) == pytest.approx(last)


def test_the_cosine_idles_in_neither_the_first_nor_the_last_epoch():
    values = [Cosine(1.0, 0.1)(epoch, 20) for epoch in range(20)]
    assert values == sorted(values, reverse=True)
    assert 0.1 < values[-1] < values[0] < 1.0


@pytest.mark.parametrize("schedule", [Cosine(1.0), Geometric(1.0, 0.1), Linear(1.0, 0.0)], ids=repr)
def test_a_phase_may_have_one_epoch(schedule):
    assert 0 <= schedule(0, 1) <= 1


def test_a_phase_reads_numbers_and_schedules():
    phase = Phase(3, Linear(1.0, 0.0), leaf_learning_rate=0.2, k=Linear(4, 2), selector="straight_through")
    assert phase.step(1) == Step(0.5, 0.2, k=3, selector="straight_through")
    assert phase.step(1).rate_of_leaves == 0.2
    assert Phase(1, 0.1).step(0).rate_of_leaves == 0.1


def test_algorithm_1_has_three_phases():
    joint, augmented, actual = algorithm_1(6, 3, 2, k=Linear(4, 2))
    assert [phase.n_epochs for phase in (joint, augmented, actual)] == [6, 3, 2]
    assert augmented.step(0) == Step(0.0, 1e-4, selector="augmented")
    assert actual.step(0) == Step(0.0, 1e-4)


def test_algorithm_1_needs_two_leaves_in_its_joint_phase():
    with pytest.raises(ValueError, match="k must be at least 2"):
        algorithm_1(4, 1, 1, k=Linear(2, 1))
