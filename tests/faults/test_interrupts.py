"""Ctrl-C at any moment of a fit: the first hands back the best tree so far, the second ends at once."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit import fit as fit_module
from dtsemnet.fit.class_task import ClassTask
from dtsemnet.fit.regression_task import RegressionTask
from watching import Watch, watched

IRIS, DIABETES = load_iris(return_X_y=True), tuple(part[:150] for part in load_diabetes(return_X_y=True))
BOTH = pytest.mark.parametrize(
    ("kind", "data"), [(DTSemNetClassifier, IRIS), (DTSemNetRegressor, DIABETES)], ids=["classes", "numbers"]
)
COURSES = pytest.mark.parametrize(
    "course",
    [{"effort": 0, "n_init": 4}, {"effort": 0, "n_init": 4, "n_jobs": 2}, {}, {"n_jobs": 2}, {"early_stopping": True}],
    ids=["starts", "starts in threads", "chooses", "chooses in threads", "stops early"],
)
QUICK = {"max_depth": 2, "max_iter": 10, "random_state": 0}


EVENTS = []
"""The event of the fit that runs."""


@pytest.fixture(autouse=True)
def _ordinary_handler(monkeypatch):
    """Python's own handler, whatever runs the tests; and a look at the event that it sets."""
    inner = fit_module.heed_interrupts

    @contextmanager
    def heed():
        with inner() as event:
            EVENTS.append(event)
            yield event

    monkeypatch.setattr(fit_module, "heed_interrupts", heed)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "a fit must leave the handler as it was"
    signal.signal(signal.SIGINT, before)


def press_ctrl_c():
    """As the terminal does; the handler runs in the main thread, whatever thread calls this and waits for it."""
    os.kill(os.getpid(), signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        assert EVENTS[-1].wait(60)


class Press(Watch):
    """Presses Ctrl-C in the given epochs, counted over all trainings of a fit, in any thread."""

    def __init__(self, *epochs):
        super().__init__()
        self.epochs, self.lock = epochs, threading.Lock()

    def on_epoch(self, context):
        with self.lock:
            super().on_epoch(context)
            if len(self.n_rows_by_epoch) - 1 in self.epochs:
                press_ctrl_c()


def n_epochs_of(kind, data, course):
    watch = Watch()
    watched(kind(**QUICK | course), watch).fit(*data)
    return len(watch.n_rows_by_epoch)


@BOTH
@COURSES
@pytest.mark.parametrize("share", [0.0, 0.7])
def test_ctrl_c_hands_back_the_best_tree_so_far(kind, data, course, share):
    n_epochs = n_epochs_of(kind, data, course)
    watch = Press(int(share * (n_epochs - 1)))
    fitted = watched(kind(**QUICK | course), watch).fit(*data)
    assert fitted.history_.stopped == "interrupt"
    assert fitted.score(*data) > (0.3 if share == 0 else 0.4)
    # Each thread ends the epoch that it is in.
    assert len(watch.n_rows_by_epoch) <= watch.epochs[0] + 2 * course.get("n_jobs", 1)


@BOTH
@COURSES
def test_a_second_ctrl_c_ends_at_once(kind, data, course):
    with pytest.raises(KeyboardInterrupt):
        watched(kind(**QUICK | course), PressTwice(5)).fit(*data)


class PressTwice(Press):
    def on_epoch(self, context):
        super().on_epoch(context)
        if len(self.n_rows_by_epoch) > self.epochs[0]:
            press_ctrl_c()


@BOTH
@pytest.mark.parametrize("course", [{"effort": 0, "n_init": 3}, {}], ids=["starts", "chooses"])
@pytest.mark.parametrize("call", [0, -1])
def test_ctrl_c_in_a_leaf_fit_keeps_the_tree(kind, data, course, call, monkeypatch):
    task = ClassTask if kind is DTSemNetClassifier else RegressionTask
    inner, calls = task.fill, []

    def fill(self, *args, **options):
        calls.append(1)
        if len(calls) - 1 == wanted:
            press_ctrl_c()
        return inner(self, *args, **options)

    monkeypatch.setattr(task, "fill", fill)
    wanted = None
    whole = kind(**QUICK | course).fit(*data)
    wanted = call % len(calls)
    calls.clear()
    fitted = kind(**QUICK | course).fit(*data)
    assert fitted.history_.stopped == "interrupt"
    assert fitted.score(*data) > 0.4
    if call == -1:  # the last leaves were being fitted: nothing was left to do
        assert fitted.tree_ == whole.tree_


@BOTH
@pytest.mark.parametrize("course", [{"effort": 0, "n_init": 3}, {}], ids=["starts", "chooses"])
def test_ctrl_c_before_there_is_a_tree_is_a_keyboard_interrupt(kind, data, course, monkeypatch):
    inner = fit_module.Stage.__post_init__

    def begin(self):
        press_ctrl_c()
        inner(self)

    monkeypatch.setattr(fit_module.Stage, "__post_init__", begin)
    estimator = kind(**QUICK | course)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(*data)
    assert not hasattr(estimator, "tree_")


@BOTH
@pytest.mark.parametrize("course", [{"effort": 0, "n_init": 4}, {}], ids=["starts", "chooses"])
@pytest.mark.parametrize("share", [0.5])
def test_a_fit_that_was_interrupted_resumes_to_the_same_bytes(kind, data, course, share, tmp_path):
    whole = kind(**QUICK | course).fit(*data)
    watch = Press(int(share * n_epochs_of(kind, data, course)))
    watched(kind(**QUICK | course, checkpoint=tmp_path), watch).fit(*data)
    assert kind(**QUICK | course, checkpoint=tmp_path).fit(*data).tree_ == whole.tree_


def test_a_fit_in_another_thread_leaves_the_handler_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(DTSemNetClassifier(**QUICK).fit(*IRIS)))
    thread.start()
    thread.join()
    assert found[0].history_.stopped is None


def test_a_program_with_a_handler_of_its_own_keeps_it():
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    fitted = watched(DTSemNetClassifier(**QUICK), Press(3)).fit(*IRIS)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == [1]
    assert fitted.history_.stopped is None


def test_imitation_is_ended_by_ctrl_c_and_not_one_of_its_fits(monkeypatch):
    imitation = pytest.importorskip("dtsemnet.rl.imitation", reason="the extra rl is not installed")
    rng = np.random.default_rng(0)
    steps = [(rng.normal(size=3), int(n % 2), 1.0) for n in range(50)]
    with pytest.raises(KeyboardInterrupt):
        imitation._fit(watched(DTSemNetClassifier(**QUICK), Press(3)), steps)
