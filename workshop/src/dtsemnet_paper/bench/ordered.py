"""Methods that are told in which columns their answers must not fall or rise.

The order is a dictionary by the names of columns (``monotonic_cst``), which a table gives for each set. Rivals read a
data frame as numbers (:class:`~dtsemnet_paper.bench.one_hot.OneHot`). Our trees are proved once more by
:func:`dtsemnet.verify.monotone`, which explores pairs of leaves and knows nothing of how they were fitted; what it says
is kept in the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.arrays import Array, Ints
from dtsemnet.verify import Domain, monotone
from dtsemnet_paper.bench.one_hot import OneHot
from dtsemnet_paper.bench.searches import cart_classifier, cart_regressor

__all__ = [
    "OrderedBoostingClassifier", "OrderedBoostingRegressor", "OrderedCARTClassifier", "OrderedCARTRegressor",
    "ProvedClassifier", "ProvedRegressor",
]  # fmt: skip

SECONDS = 60.0
"""Longest time that one column is explored."""


class _Proved:
    """Counts the orders that are proved."""

    remarks_: dict[str, Any]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **validation: Any) -> Self:
        """Fit, and explore each column that has an order."""
        super().fit(X, y, sample_weight, **validation)  # type: ignore[misc]
        order: Mapping[str, int] = self.monotonic_cst or {}  # type: ignore[attr-defined]
        output = self.classes_[1] if hasattr(self, "classes_") else 0
        domain, status = Domain.from_data(X), {}
        for column, sign in order.items():
            answer = monotone(self, column, domain, output=output, increasing=sign > 0, time_limit=SECONDS)
            status[column] = answer.status
        self.remarks_ = {"proofs": status}
        return self


class ProvedClassifier(_Proved, DTSemNetClassifier):
    """Our classifier."""


class ProvedRegressor(_Proved, DTSemNetRegressor):
    """Our regressor."""


class _Ordered(BaseEstimator):  # type: ignore[misc]
    """A rival that reads numbers, with an order by the names of columns."""

    def __init__(self, monotonic_cst: Mapping[str, int] | None = None, random_state: int | None = None) -> None:
        self.monotonic_cst, self.random_state = monotonic_cst, random_state

    def _make(self, direction: Ints) -> Any:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Convert a data frame and fit the numbers."""
        self.one_hot_ = OneHot(X)
        order = self.monotonic_cst or {}
        direction = np.array([order.get(X.columns[j], 0) for j in self.one_hot_.columns], dtype=np.int64)
        self.estimator_ = self._make(direction).fit(self.one_hot_(X), y)
        self.classes_ = getattr(self.estimator_, "classes_", None)
        return self

    def predict(self, X: Any) -> Array:
        """Predict by the rival."""
        predicted: Array = self.estimator_.predict(self.one_hot_(X))
        return predicted


class OrderedCARTClassifier(ClassifierMixin, _Ordered):  # type: ignore[misc]
    """CART with its settings by five folds."""

    def _make(self, direction: Ints) -> Any:
        search = cart_classifier(self.random_state)
        return search.set_params(estimator__monotonic_cst=direction)


class OrderedCARTRegressor(RegressorMixin, _Ordered):  # type: ignore[misc]
    """CART for numbers with its settings by five folds."""

    def _make(self, direction: Ints) -> Any:
        search = cart_regressor(self.random_state)
        return search.set_params(estimator__monotonic_cst=direction)


class OrderedBoostingClassifier(ClassifierMixin, _Ordered):  # type: ignore[misc]
    """Gradient boosting at its defaults."""

    def _make(self, direction: Ints) -> Any:
        return HistGradientBoostingClassifier(monotonic_cst=direction, random_state=self.random_state)


class OrderedBoostingRegressor(RegressorMixin, _Ordered):  # type: ignore[misc]
    """Gradient boosting for numbers at its defaults."""

    def _make(self, direction: Ints) -> Any:
        return HistGradientBoostingRegressor(monotonic_cst=direction, random_state=self.random_state)
