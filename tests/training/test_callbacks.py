"""The progress bar shows what happened to each run; monitors weigh rows; histories of runs are joined."""

import io

import numpy as np
import pytest
from rich.console import Console

from dtsemnet.training import (
    Classification,
    ClassParameters,
    Context,
    Epoch,
    History,
    ProgressBar,
    Rows,
    Step,
    cpu_engine,
    validation_error,
    validation_loss,
)
from dtsemnet.tree import Topology


def one_split():
    """Rows 0 to 3 on a line; the split sends 2 and 3 to the right."""
    X = np.arange(4.0)[:, None]
    rows = Rows(X, np.array([0, 1, 1, 1]), np.array([1.0, 2.0, 0.5, 0.5]))
    parameters = ClassParameters(np.array([[1.0, -1.5]]), np.array([0, 1]))
    return rows, cpu_engine(Classification(2), Topology.complete(1), rows, parameters)


def test_the_error_is_the_weight_of_rows_in_leaves_of_another_class():
    rows, engine = one_split()
    assert validation_error(rows)(engine) == 0.5


def test_the_loss_is_that_of_the_engine_under_fixed_settings():
    rows, engine = one_split()
    assert validation_loss(rows, Step(0.0))(engine) == engine.loss(rows, Step(0.0))


def shown(history, n_epochs):
    text = io.StringIO()
    with ProgressBar(Console(file=text, force_terminal=True, width=120)) as bar:
        line, context = bar.run("start 1"), Context(one_split()[1], n_epochs, history)
        line.on_start(context)
        if len(history):
            line.on_epoch(context)
        line.on_end(context)
    return text.getvalue()


def test_a_line_shows_title_epochs_loss_and_monitor():
    text = shown(History([Epoch(0, Step(0.1), loss=0.25, monitor=0.5)]), 1)
    for part in ("start 1", "epoch 1/1", "loss 0.25", "validation 0.5"):
        assert part in text
    assert "dropped" not in text


def test_a_run_that_ends_before_its_last_epoch_is_shown_as_dropped():
    assert "dropped" in shown(History([Epoch(0, Step(0.1), loss=0.25)]), 4)
    assert "dropped" not in shown(History([Epoch(0, Step(0.1), loss=0.25)], stopped="patience"), 4)


def test_a_line_that_does_not_stay_is_gone_when_its_run_ends():
    with ProgressBar(Console(file=io.StringIO(), force_terminal=True, width=120)) as bar:
        line, context = bar.run("fold 1 plan 1", stays=False), Context(one_split()[1], 1, History([]))
        line.on_start(context)
        assert len(bar.tasks) == 1
        line.on_end(context)
        assert not bar.tasks


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
