"""The default without one of its ingredients, where no parameter of the estimator leaves it out."""

from __future__ import annotations

from dataclasses import replace

from dtsemnet.estimators import DTSemNetClassifier
from dtsemnet.fit.class_task import ClassTask
from dtsemnet.fit.settings import Setting
from dtsemnet.fit.tasks import Candidate
from dtsemnet.tree import Tree

__all__ = ["CrossEntropyClassifier", "HardClassifier", "WarmClassifier"]

COLD = 1e-4
"""A temperature at which pooling is the maximum to within a thousandth, and which still counts as one."""


class _CrossEntropyTask(ClassTask):
    """All settings with cross-entropy to the end."""

    def starts(self) -> tuple[Setting, ...]:
        return tuple(replace(setting, q=0.0) for setting in super().starts())


class _HardTask(ClassTask):
    """All settings cold from the first step."""

    def starts(self) -> tuple[Setting, ...]:
        return tuple(replace(setting, temperature=(COLD, COLD)) for setting in super().starts())


class _WarmTask(ClassTask):
    """The last training from a little warmth, at the full rate."""

    def again(self, best: Candidate) -> tuple[Setting, Tree | None]:
        return replace(best.setting.warm(), learning_rate=best.setting.learning_rate), best.tree


class CrossEntropyClassifier(DTSemNetClassifier):
    """The default classifier without the bounded loss; it takes the same parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(max(CrossEntropyClassifier(2, effort=0, random_state=0).fit(X, y).history_["q"]) == 0)
    True
    """

    _task_class: type[ClassTask] = _CrossEntropyTask


class HardClassifier(DTSemNetClassifier):
    """The default classifier without annealing: leaves pooled by the maximum from the first step."""

    _task_class: type[ClassTask] = _HardTask


class WarmClassifier(DTSemNetClassifier):
    """The default classifier whose chosen tree is warmed up a little for its last training, not annealed again."""

    _task_class: type[ClassTask] = _WarmTask
