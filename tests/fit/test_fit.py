"""The course of a fit: how deep its calls are, how starts are compared, and what Ctrl-C leaves."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit.class_task import ClassTask
from dtsemnet.fit.data import Scaling, TrainingData, merge, set_aside
from dtsemnet.fit.fit import Stage, Start, train_starts
from dtsemnet.fit.settings import CLASSIFICATION_RECIPES, FitOptions
from watching import Watch, watched

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
BOTH = pytest.mark.parametrize(
    ("kind", "data"), [(DTSemNetClassifier, IRIS), (DTSemNetRegressor, DIABETES)], ids=["classes", "numbers"]
)
QUICK = {"max_depth": 2, "max_iter": 10, "random_state": 0}
WRAPPERS = {"callback_managed_method", "call"}
"""Around fit: scikit-learn's decorator, and what stands in for it with older versions."""


@BOTH
def test_nine_frames_in_four_files_lead_from_fit_to_the_compiled_epoch(kind, data):
    stacks = []

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_name == "run_epoch":
            stacks.append(stack_of(frame))

    def stack_of(frame):
        stack = []
        while frame.f_code.co_filename != __file__:
            if frame.f_code.co_name not in WRAPPERS:
                stack.append((Path(frame.f_code.co_filename).stem, frame.f_code.co_name))
            frame = frame.f_back
        return stack[::-1]

    estimator = kind(**QUICK)
    sys.setprofile(look)
    try:
        estimator.fit(*data)
    finally:
        sys.setprofile(None)
    # run_epoch itself calls the compiled epoch, which is the last frame.
    assert max(map(len, stacks)) + 1 <= 9
    assert len({file for file, _ in stacks[0]}) <= 4
    assert stacks[0] == [
        ("base", "fit"),
        ("base", "_fit"),
        ("base", "_fit_tree"),
        ("fit", "fit"),
        ("fit", "_run"),
        ("fit", "train"),
        ("loop", "advance"),
        ("cpu", "run_epoch"),
    ]
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for file, function in stacks[0]:
        (row,) = [line for line in page.splitlines() if line.startswith("| `") and f"/{file}.py` | " in line]
        assert re.search(rf"\b{function}`", row), f"docs/architecture.md does not name {function} of {file}.py"


@BOTH
def test_the_scaling_is_computed_once(kind, data, monkeypatch):
    calls, of = [], Scaling.of
    monkeypatch.setattr(Scaling, "of", lambda sample: calls.append(len(sample)) or of(sample))
    kind(**QUICK).fit(*data)
    assert len(calls) == 1


def iris_task(**options):
    X, y = IRIS
    sample = merge(X, y, np.ones(len(X)))
    data = TrainingData(sample, None, ("a", "b", "c", "d"), (0, 1, 2), Scaling.of(sample))
    return ClassTask(data, FitOptions(max_iter=10, **options), CLASSIFICATION_RECIPES["annealed"], depth=2)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_starts", [3, 4, 5])
def test_the_worse_half_of_the_starts_is_dropped_at_the_pause(n_starts, n_jobs):
    task = iris_task(n_jobs=n_jobs)
    train, held = set_aside(task.data, 0.2, np.random.default_rng(0))
    scores = []
    for number, rng in enumerate(np.random.default_rng(1).spawn(n_starts)):
        start = Start(Stage(task, "start", train, held, None), number, task.settings[number % 4], rng, None, 10)
        start.train(task.pause)
        scores.append((start.run.score, number))
    better = sorted(number for _, number in sorted(scores)[: (n_starts + 1) // 2])
    stage = Stage(task, "start", train, held, None)
    candidates = train_starts(stage, np.random.default_rng(1).spawn(n_starts), 10)
    assert [candidate.number for candidate in candidates] == better
    assert all(len(candidate.history) == 10 for candidate in candidates)


@pytest.mark.parametrize(
    ("kind", "data", "n_init", "n_epochs"),
    [
        (DTSemNetClassifier, IRIS, 4, 4 * 7 + 2 * 3),
        (DTSemNetClassifier, IRIS, 2, 2 * 10),
        (DTSemNetRegressor, DIABETES, 4, 4 * 10),
    ],
    ids=["classes", "two starts", "numbers"],
)
def test_starts_take_no_more_epochs_than_they_need(kind, data, n_init, n_epochs):
    watch = Watch()
    watched(kind(**QUICK, n_init=n_init, refit=False), watch).fit(*data)
    assert len(watch.n_rows_by_epoch) == n_epochs


@BOTH
def test_ctrl_c_in_the_first_start_skips_the_others(kind, data, caplog):
    watch = Watch(4, KeyboardInterrupt)
    fitted = watched(kind(**QUICK, n_init=4), watch).fit(*data)
    assert len(watch.n_rows) == 1
    assert fitted.history_.stopped == "interrupt"
    assert "interrupted after 5 of 10 epochs" in caplog.text


@BOTH
def test_ctrl_c_in_the_last_training_keeps_the_tree_that_was_chosen(kind, data):
    n_starts_epochs = 2 * QUICK["max_iter"]
    judged = kind(**QUICK, n_init=2, refit=False).fit(*data)
    fitted = watched(kind(**QUICK, n_init=2), Watch(n_starts_epochs + 1, KeyboardInterrupt)).fit(*data)
    assert fitted.tree_ == judged.tree_
    assert fitted.history_.stopped == "interrupt"
    assert fitted.n_iter_ == QUICK["max_iter"] + 2


@BOTH
def test_a_fit_ended_by_ctrl_c_resumes_from_its_checkpoint(kind, data, tmp_path):
    whole = kind(**QUICK, n_init=4).fit(*data)
    interrupted = watched(kind(**QUICK, n_init=4, checkpoint=tmp_path), Watch(4, KeyboardInterrupt)).fit(*data)
    assert interrupted.tree_ != whole.tree_
    assert kind(**QUICK, n_init=4, checkpoint=tmp_path).fit(*data).tree_ == whole.tree_


@BOTH
def test_a_share_of_less_than_one_row_sets_nothing_aside(kind, data):
    tiny, nothing = (kind(**QUICK, validation_fraction=share).fit(*data) for share in (1e-4, 0.0))
    assert tiny.tree_ == nothing.tree_
