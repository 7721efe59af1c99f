"""Histories: one run that follows another."""

import pytest

from dtsemnet.training import History
from dtsemnet.training.engine import Step
from dtsemnet.training.history import Epoch


def history_of(*losses, **more):
    epochs = [Epoch(i, Step(0.1 / (1 + i)), loss, seconds=0.5) for i, loss in enumerate(losses)]
    return History(epochs, **more)


@pytest.mark.parametrize(("n_first", "n_later"), [(0, 0), (0, 3), (4, 0), (4, 3)])
def test_epochs_of_a_run_that_follows_are_counted_through(n_first, n_later):
    first, later = history_of(*range(n_first)), history_of(*range(10, 10 + n_later))
    both = first.followed_by(later)
    assert both["epoch"] == list(range(n_first + n_later))
    for column in ("loss", "learning_rate", "monitor", "seconds"):  # of epochs and of their steps
        assert both[column] == first[column] + later[column]


def test_following_changes_neither_run():
    first, later = history_of(3.0, 2.0), history_of(1.0)
    first.followed_by(later)
    assert (first, later) == (history_of(3.0, 2.0), history_of(1.0))


def test_what_ended_the_last_run_ended_both():
    first, later = history_of(2.0), history_of(1.0, stopped="interrupt")
    both = first.followed_by(later)
    assert both.stopped == "interrupt"
    # What they were watched by is not the same, so no epoch of the two is the best.
    assert history_of(2.0, best_epoch=0).followed_by(history_of(1.0)).best_epoch is None
    assert History.from_dict(both.to_dict()) == both
