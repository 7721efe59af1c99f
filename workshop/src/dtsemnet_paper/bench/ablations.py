"""The default without one of its ingredients, where no parameter of the estimator leaves it out."""

from __future__ import annotations

from dataclasses import replace

from dtsemnet.estimators import DTSemNetClassifier
from dtsemnet.fit.classification import ClassFitting
from dtsemnet.fit.settings import Setting

__all__ = ["CrossEntropyClassifier", "HardClassifier", "WarmClassifier"]

COLD = 1e-4
"""A temperature at which pooling is the maximum to within a thousandth, and which still counts as one."""


class _CrossEntropyFitting(ClassFitting):
    """All settings with cross-entropy to the end."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple(replace(setting, q=0.0) for setting in super().settings)


class _HardFitting(ClassFitting):
    """All settings cold from the first step."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple(replace(setting, temperature=(COLD, COLD)) for setting in super().settings)


class _WarmFitting(ClassFitting):
    """The last training from a little warmth, at the full rate."""

    def last(self, setting: Setting) -> Setting:
        return replace(setting.warm(), learning_rate=setting.learning_rate)


class CrossEntropyClassifier(DTSemNetClassifier):
    """The default classifier without the bounded loss; it takes the same parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(max(CrossEntropyClassifier(2, random_state=0).fit(X, y).history_["q"]) == 0)
    True
    """

    _fitting: type[ClassFitting] = _CrossEntropyFitting


class HardClassifier(DTSemNetClassifier):
    """The default classifier without annealing: leaves pooled by the maximum from the first step."""

    _fitting: type[ClassFitting] = _HardFitting


class WarmClassifier(DTSemNetClassifier):
    """The default classifier whose chosen tree is warmed up a little for its last training, not annealed again."""

    _fitting: type[ClassFitting] = _WarmFitting
