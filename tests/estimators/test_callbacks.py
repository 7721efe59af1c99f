"""scikit-learn's callbacks see a fit as tasks, and do not change it unless they end trainings."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

X, y = load_iris(return_X_y=True)

OLDER = """
import warnings
import sklearn.callback, sklearn.ensemble, sklearn.model_selection, sklearn.pipeline
del sklearn.callback.CallbackSupportMixin  # as if scikit-learn were older
import numpy as np
from dtsemnet import DTSemNetClassifier
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    tree = DTSemNetClassifier(max_depth=1, n_init=1, max_iter=2).fit(rows, np.arange(60) % 3)
print(hasattr(tree, "set_callbacks"), {c.filename for c in caught if "classes" in str(c.message)})
"""


class Recorder:
    """A callback that keeps what it is told, and may ask for the tree or for the end of trainings."""

    def __init__(self, ask: bool = False, stop_after: int | None = None) -> None:
        self.begun: list[tuple[str, ...]] = []
        self.ended: list[tuple[str, ...]] = []
        self.scores: list[float] = []
        self.calls: Counter[str] = Counter()
        self.ask, self.stop_after = ask, stop_after
        self.inside = threading.Lock()

    def setup(self, estimator, context):
        self.calls["setup"] += 1

    def teardown(self, estimator, context):
        self.calls["teardown"] += 1

    def on_fit_task_begin(self, estimator, context):
        assert self.inside.acquire(blocking=False), "two hooks at a time"
        self.begun.append(path_of(context))
        self.inside.release()

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        assert self.inside.acquire(blocking=False), "two hooks at a time"
        self.ended.append(path_of(context))
        if self.ask and fitted_estimator is not None and context.task_name == "epoch":
            assert fitted_estimator is not estimator
            self.scores.append(fitted_estimator.score(X, y))
        self.inside.release()
        return self.stop_after is not None and context.task_name == "epoch" and context.task_id + 1 >= self.stop_after


def path_of(context) -> tuple[str, ...]:
    parts = []
    while context is not None:
        parts.append(f"{context.task_name} {context.task_id}")
        context = context.parent
    return tuple(reversed(parts))


@pytest.fixture(autouse=True)
def _has_callbacks():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9", exc_type=ImportError)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_task_that_begins_ends_and_the_tree_is_that_of_a_fit_without_callbacks(n_jobs: int) -> None:
    recorder = Recorder(ask=n_jobs == 1)
    classifier = DTSemNetClassifier(max_depth=2, n_init=3, max_iter=8, n_jobs=n_jobs, random_state=0)
    plain = clone(classifier).fit(X, y)
    told = classifier.set_callbacks(recorder).fit(X, y)
    assert told.tree_ == plain.tree_
    assert Counter(recorder.begun) == Counter(recorder.ended)
    assert max(Counter(recorder.begun).values()) == 1
    assert recorder.calls == {"setup": 1, "teardown": 1}
    assert {len(path) for path in recorder.begun} == {1, 2, 3}
    assert recorder.begun[0] == recorder.ended[-1] == ("fit 0",)
    assert not [name for name in vars(told) if "report" in name or "fit_ctx" in name]


def test_the_fitted_estimator_of_an_epoch_predicts_and_gets_better() -> None:
    recorder = Recorder(ask=True)
    DTSemNetClassifier(n_init=1, max_iter=30, random_state=0).set_callbacks(recorder).fit(X, y)
    assert len(recorder.scores) >= 30
    assert max(recorder.scores) > 0.9


def test_a_default_fit_reports_its_plans_too() -> None:
    rows, targets = load_diabetes(return_X_y=True)
    rows, targets = rows[:120, :3], targets[:120]
    recorder = Recorder(ask=True)
    fitted = DTSemNetRegressor(max_depth=1, max_iter=2, random_state=0).set_callbacks(recorder).fit(rows, targets)
    assert fitted.tree_ == DTSemNetRegressor(max_depth=1, max_iter=2, random_state=0).fit(rows, targets).tree_
    assert {path[1].rpartition(" ")[0] for path in recorder.begun if len(path) > 1} >= {"fold 1 plan", "all rows plan"}
    assert np.isfinite(recorder.scores).all()


def test_a_callback_that_returns_true_ends_the_training() -> None:
    recorder = Recorder(stop_after=2)
    told = DTSemNetClassifier(max_depth=2, n_init=1, max_iter=50, random_state=0).set_callbacks(recorder).fit(X, y)
    assert told.history_.stopped == "callback"
    assert len(told.history_) == 2
    assert told.predict(X).shape == y.shape


def test_an_error_in_the_fit_still_tears_down_and_leaves_the_estimator_as_it_was() -> None:
    recorder = Recorder()
    classifier = DTSemNetClassifier(n_init=1, max_iter=2).set_callbacks(recorder)
    with pytest.raises(ValueError, match=r"NaN|missing"):
        classifier.set_params(missing="error").fit(np.full((20, 2), np.nan), np.arange(20) % 2)
    assert recorder.calls == {"setup": 1, "teardown": 1}
    assert not hasattr(classifier, "model_")
    assert not [name for name in vars(classifier) if "report" in name or "fit_ctx" in name]


def test_callbacks_of_scikit_learn_work_alone_and_in_a_search() -> None:
    from sklearn.callback import ProgressBar, ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    classifier = DTSemNetClassifier(max_depth=2, n_init=1, max_iter=5, random_state=0)
    classifier.set_callbacks(monitor, ProgressBar()).fit(X, y)
    epochs = [row for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    assert len(epochs) == 5
    assert all(0 <= row["accuracy"] <= 1 for row in epochs)
    search = GridSearchCV(clone(classifier).set_callbacks(), {"max_depth": [2, 3]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(X, y)
    assert search.best_estimator_.predict(X).shape == y.shape


def test_without_scikit_learn_s_callbacks_fits_work_and_warnings_name_the_line_of_the_user() -> None:
    done = subprocess.run([sys.executable, "-c", OLDER], capture_output=True, text=True, timeout=900)
    assert done.stdout.split() == ["False", "{'<string>'}"], done.stderr
