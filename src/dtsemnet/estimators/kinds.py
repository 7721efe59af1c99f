"""The two kinds of estimators: trees that answer with classes, and trees that answer with numbers.

A method that trains trees takes one of them as its base, and adds ``__init__`` and either ``_task`` or ``_fit_tree``
(:mod:`dtsemnet.estimators.base`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.estimators.base import TreeEstimator
from dtsemnet.estimators.checks import class_factors, naming
from dtsemnet.estimators.encode import in_blocks
from dtsemnet.tree.encoder import is_missing

__all__ = ["TreeClassifier", "TreeRegressor"]


class TreeClassifier(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """A classifier that ends in a tree; a method adds ``__init__`` and either ``_task`` or ``_fit_tree``."""

    classes_: Array
    class_weight: Any = None

    def _encode_y(self, y: Any, *, reset: bool, name: str = "y") -> Array:
        with naming(name, "must hold one class for each row"):
            y = column_or_1d(y, warn=True)
            missing = np.flatnonzero(is_missing(y))
            if len(missing) and y.dtype.kind == "O":
                raise ValueError(f"{name} is missing in row {missing[0]}; leave such rows out.")
            assert_all_finite(y, input_name=name)
            check_classification_targets(y)
        if reset:
            self.classes_, codes = np.unique(y, return_inverse=True)
            return codes.astype(np.int64)
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = self.classes_[codes] != y
        if unknown.any():
            stranger = np.asarray(y)[unknown][:1].tolist()[0]
            raise ValueError(f"{name} holds {stranger!r}, which is none of the classes {self.classes_.tolist()}.")
        return codes.astype(np.int64)

    def _weigh(self, y: Array, weight: Floats) -> Floats:
        if self.class_weight is None:
            return weight
        factor = class_factors(self.class_weight, self.classes_, y, weight)
        with np.errstate(over="ignore", under="ignore"):
            weighed = weight * factor[y]
        if not np.isfinite(weighed).all() or not weighed.any():
            raise ValueError(
                "class_weight times sample_weight is out of the range of float64; divide either by a constant, which "
                "changes nothing else."
            )
        return weighed

    def _class_names(self) -> tuple[Any, ...]:
        return tuple(
            value if isinstance(value, (str, int, float, bool)) else str(value) for value in self.classes_.tolist()
        )

    def _watched_score(self, value: float) -> float:
        return 1 - value

    def predict(self, X: Any) -> Array:
        """Class of the leaf that each row reaches."""
        leaf = self.apply(X)
        return self.classes_[self.model_.tree.leaf_class[leaf]]

    @in_blocks
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, in the order of ``classes_``; the largest is that of the predicted class."""
        rows = self._checked(X)
        return self.model_.predict_proba(rows)

    def predict_set(self, X: Any, coverage: float = 0.9) -> Bools:
        """Classes that cannot be excluded, which hold the true class with a probability of about ``coverage``.

        Parameters
        ----------
        X : array_like or data frame
        coverage : float, default=0.9
            For a plan that was not chosen by the same rows ``2 * coverage - 1`` would be guaranteed, see
            :mod:`dtsemnet.fit.conformal`.

        Returns
        -------
        ndarray of bool, shape (n_samples, n_classes)
            In the order of ``classes_``; the predicted class is always in the set.
        """
        cross_fit, rows = self._conformal(coverage, "predict_set"), self._encoded(X)
        inside = cross_fit.sets(rows, coverage)
        inside[np.arange(len(rows)), self.tree_.leaf_class[self.tree_.apply(rows)]] = True
        return inside

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of :meth:`predict_proba`; -inf if a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> Floats:
        """Logarithm of the probabilities, at least -100; for two classes the log-odds of the second.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        logs = np.log(np.maximum(self.predict_proba(X), np.exp(-100.0)))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs


class TreeRegressor(RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """A regressor that ends in a tree; a method adds ``__init__`` and either ``_task`` or ``_fit_tree``."""

    _n_outputs: int

    def _encode_y(self, y: Any, *, reset: bool, name: str = "y") -> Array:
        with naming(name):
            if getattr(getattr(y, "dtype", None), "kind", "") in ("m", "M"):
                raise ValueError(f"{name} holds dates or times ({y.dtype}); turn them into numbers.")
            targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name=name, estimator=self)
        matrix: Array = targets.reshape(-1, 1) if targets.ndim == 1 else targets
        if not reset and matrix.shape[1] != self._n_outputs:
            raise ValueError(
                f"{name} has {matrix.shape[1]} outputs, but this estimator was fitted on {self._n_outputs}."
            )
        self._n_outputs = matrix.shape[1]
        return matrix

    @in_blocks
    def predict(self, X: Any) -> Array:
        """Output of the leaf that each row reaches: (n_samples,), or (n_samples, n_outputs) for several."""
        rows = self._checked(X)
        return self.model_.predict(rows, n_threads=self._n_threads(rows))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Intervals around the predictions, which hold the truth with a probability of about ``coverage``.

        Parameters
        ----------
        X : array_like or data frame
        coverage : float, default=0.9
            For a plan that was not chosen by the same rows ``2 * coverage - 1`` would be guaranteed, see
            :mod:`dtsemnet.fit.conformal`. With too few rows for it the ends are infinite.

        Returns
        -------
        ndarray of shape (n_samples, 2), or (n_samples, n_outputs, 2) for several outputs
            Lower and upper ends; the prediction lies between them.
        """
        cross_fit, rows = self._conformal(coverage, "predict_interval"), self._encoded(X)
        ends = cross_fit.interval(rows, coverage)
        predicted = self.tree_.predict(rows).reshape(len(rows), -1)
        ends[:, :, 0] = np.minimum(ends[:, :, 0], predicted)
        ends[:, :, 1] = np.maximum(ends[:, :, 1], predicted)
        return ends[:, 0] if self._n_outputs == 1 else ends

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
