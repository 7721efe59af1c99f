"""The default without one of its ingredients, where no parameter of the estimator leaves it out."""

from __future__ import annotations

from dataclasses import replace

from dtsemnet.estimators import DTSemNetClassifier
from dtsemnet.estimators.classification import ClassFitting
from dtsemnet.estimators.recipe import Setting

__all__ = ["CrossEntropyClassifier"]


class _CrossEntropyFitting(ClassFitting):
    """All settings with cross-entropy to the end."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple(replace(setting, q=0.0) for setting in super().settings)


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
