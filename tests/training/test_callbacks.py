"""The progress bar shows what happened to each run; monitors weigh rows."""

import io

import numpy as np
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
