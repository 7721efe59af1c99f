"""scikit-learn's callbacks (1.9 and later): a fit reports its trainings, and each training its epochs.

``estimator.set_callbacks(...)`` takes any callback of :mod:`sklearn.callback`, such as its ``ProgressBar`` or
``ScoringMonitor``, and meta-estimators pass theirs on. What a callback is told is a tree of tasks::

    fit
    ├─ fold 1 plan #0        a training: its name, and its number among all trainings of the fit
    │  ├─ epoch #0
    │  └─ epoch #1 ...
    └─ all rows plan #60 ...

At the end of an epoch a callback may ask for ``fitted_estimator``: the tree as it would be if this training
ended here, its leaves fitted, which predicts as any other. That tree is made only if a callback asks. A callback that
returns True at the end of an epoch ends that training, as if its patience had run out; the fit goes on.

Trainings may run in several threads (``n_jobs``); callbacks are called one at a time. They see the fit and do
not change it: the tree is the same with and without them, unless they end trainings.

Earlier versions of scikit-learn have no callbacks; there the estimators have no ``set_callbacks``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from dtsemnet.training import Callback, Context
from dtsemnet.tree import Encoder, Model, Tree

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin, and adds nothing."""

    F = TypeVar("F", bound=Callable[..., Any])

    def with_callbacks(method: F) -> F:
        """Stand in for scikit-learn's decorator, and change nothing."""
        return method


__all__ = ["CallbackSupportMixin", "FitReport", "with_callbacks"]


class FitReport:
    """Tells the callbacks of an estimator how its fit goes on; without callbacks or with none set, it tells nobody.

    scikit-learn's tasks cost more than the training of an epoch on a small table, so without callbacks there are none
    below that of the fit itself.

    Parameters
    ----------
    estimator : TreeEstimator
        The estimator that is fitted.
    X, y, sample_weight
        What ``fit`` was called with, for callbacks that ask for it.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.given = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.lock, self.n_trainings = threading.Lock(), 0
        self.encoder: Encoder | None = None
        """Set as soon as it is known; trees of trainings read its features."""
        self.root: Any = None
        self.is_heard = bool(getattr(estimator, "_skl_callbacks", None))
        """Whether the user, or a meta-estimator, has set callbacks."""
        if hasattr(estimator, "_init_callback_context"):
            # The plans that are left after a fold are not known before, and several may be trained at a time.
            self.root = estimator._init_callback_context(max_subtasks=None, sequential_subtasks=False)
            self.root.call_on_fit_task_begin(**self.given)

    def watch(self, name: str, tree_so_far: Callable[[], Tree]) -> Callback:
        """Make the callback that reports one training."""
        return _ReportedTraining(self, name, tree_so_far) if self.is_heard else Callback()

    def end(self) -> None:
        """Report the end of the fit; the estimator itself is fitted now."""
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.given, reconstruction_attributes={})


class _ReportedTraining(Callback):
    """A training as a task, and its epochs as subtasks of it."""

    def __init__(self, report: FitReport, name: str, tree_so_far: Callable[[], Tree]) -> None:
        self.report, self.name, self.tree_so_far = report, name, tree_so_far
        self.epoch: Any = None
        """The task of the epoch that is running."""

    def on_start(self, context: Context) -> None:
        """Begin the task of the training, and that of its first epoch."""
        with self.report.lock:
            left = context.n_epochs - len(context.history)
            self.task = self.report.root.subcontext(self.name, self.report.n_trainings, max_subtasks=left)
            self.report.n_trainings += 1
            self.task.call_on_fit_task_begin(**self.report.given)
            self._begin_epoch(context)

    def on_epoch(self, context: Context) -> None:
        """End the task of this epoch, and begin that of the next one."""
        with self.report.lock:
            stops = self.epoch.call_on_fit_task_end(**self.report.given, reconstruction_attributes=self._as_if_ended)
            self.epoch = None
            if stops:
                context.history.stopped = "callback"
            else:
                self._begin_epoch(context)

    def on_end(self, context: Context) -> None:
        """End the task of the training, and before it that of an epoch that was announced but did not run."""
        with self.report.lock:
            if self.epoch is not None:
                self.epoch.call_on_fit_task_end(estimator=self.report.given["estimator"])
            self.task.call_on_fit_task_end(**self.report.given, reconstruction_attributes=self._as_if_ended)

    def _begin_epoch(self, context: Context) -> None:
        if len(context.history) < context.n_epochs:
            self.epoch = self.task.subcontext("epoch")
            self.epoch.call_on_fit_task_begin(**self.report.given)

    def _as_if_ended(self) -> dict[str, Any]:
        """What an estimator needs to predict as if this training had ended now and been the best."""
        assert self.report.encoder is not None
        return {"model_": Model(self.report.encoder, self.tree_so_far())}
