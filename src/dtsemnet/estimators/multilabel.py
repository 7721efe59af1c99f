"""Several labels for each row: ``y`` as a matrix of 0 and 1, one column for each label.

One tree answers for all labels. Its leaves hold numbers, the share of rows with each label, so it is a tree of
constants with as many outputs as there are labels, and every export, view and proof takes it as such. Splits are
trained, and trees compared, by the squared error of these shares (the Brier score). scikit-learn's trees of several
labels lower it too: it is half the Gini impurity. A label is predicted if its share is more than a half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import assert_all_finite

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.estimators.encode import in_blocks
from dtsemnet.estimators.kinds import TreeClassifier
from dtsemnet.estimators.sparsity import SparseEstimator
from dtsemnet.fit.data import TrainingData
from dtsemnet.fit.regression_task import RegressionTask
from dtsemnet.tree import Tree

__all__ = ["MultilabelClassifier", "read_labels"]

LEAST_CHANCE = np.exp(-100.0)
"""Probabilities are no smaller in :meth:`MultilabelClassifier.decision_function`."""


class MultilabelClassifier(TreeClassifier, SparseEstimator):
    """A classifier that also takes a matrix of labels, as scikit-learn's trees do.

    With a matrix ``classes_`` is a list with the two values of each label, ``predict`` answers a matrix, ``score`` is
    the share of rows all of whose labels are right, and ``predict_proba`` and ``predict_log_proba`` list one array
    (n_samples, 2) for each label.
    """

    classes_: Any
    _n_labels: int | None = None
    """Columns of a matrix of labels; None: there is one class for each row."""

    def _encode_y(self, y: Any, *, reset: bool, name: str = "y") -> Array:
        labels = read_labels(y, name)
        if reset:
            self._n_labels = None if labels is None else labels.shape[1]
            if labels is not None:
                self._set_labels(labels.dtype)
        n_given = None if labels is None else labels.shape[1]
        if n_given != self._n_labels:
            held, given = (
                "one class for each row" if n is None else f"a matrix of {n} labels" for n in (self._n_labels, n_given)
            )
            raise ValueError(f"{name} is {given}, but this estimator was fitted on {held}; pass targets of that kind.")
        if labels is None:
            return super()._encode_y(y, reset=reset, name=name)
        return labels.astype(np.float64)

    def _set_labels(self, dtype: Any) -> None:
        assert self._n_labels is not None
        self.classes_ = [np.array([0, 1], dtype=dtype) for _ in range(self._n_labels)]

    def _restore_labels(self, tree: Tree, dtype: str) -> None:
        """Set what a file of a fit on labels says beside its parameters."""
        if tree.coef is not None or np.abs(tree.value - 0.5).max() > 0.5 + 1e-9:  # a mean of 1 may round
            raise ValueError("a classifier without classes holds a share between 0 and 1 of each label in its leaves")
        self._n_labels = tree.n_outputs
        self._set_labels(dtype)

    def _weigh(self, y: Array, weight: Floats) -> Floats:
        if self._n_labels is not None and self.class_weight is not None:
            raise ValueError(
                "class_weight weighs the classes of one target, but y is a matrix of labels; leave it out, or weigh "
                "rows by sample_weight."
            )
        return super()._weigh(y, weight)

    def _class_names(self) -> tuple[Any, ...] | None:  # type: ignore[override]
        return super()._class_names() if self._n_labels is None else None

    def _training_data(self, *args: Any, **options: Any) -> TrainingData:
        data = super()._training_data(*args, **options)
        return data if self._n_labels is None else replace(data, has_common_scale=True)

    @property
    def _sparse_tolerance(self) -> float:
        return self._task_class.sparse_tolerance if self._n_labels is None else RegressionTask.sparse_tolerance

    def _watched_score(self, value: float) -> float:
        return super()._watched_score(value) if self._n_labels is None else -value

    def predict(self, X: Any) -> Array:
        """Class of the leaf that each row reaches; for labels a matrix, 1 if more than half of the leaf have it."""
        if self._n_labels is None:
            return super().predict(X)
        has_label: Array = (self._shares(X) > 0.5).astype(self.classes_[0].dtype)
        return has_label

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, in the order of ``classes_``; the largest is that of the predicted class.

        For labels a list of arrays (n_samples, 2), the shares of the leaf without and with each label.
        """
        if self._n_labels is None:
            return super().predict_proba(X)
        return [np.column_stack([1 - share, share]) for share in self._shares(X).T]

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of :meth:`predict_proba`; -inf if a probability is 0."""
        if self._n_labels is None:
            return super().predict_log_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(chance) for chance in self.predict_proba(X)]

    def decision_function(self, X: Any) -> Floats:
        """Logarithm of the probabilities, at least -100; for two classes the log-odds of the second.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
            For labels (n_samples, n_labels), the log-odds of each.
        """
        if self._n_labels is None:
            return super().decision_function(X)
        share = self._shares(X)
        odds: Floats = np.log(np.maximum(share, LEAST_CHANCE)) - np.log(np.maximum(1 - share, LEAST_CHANCE))
        return odds

    def predict_set(self, X: Any, coverage: float = 0.9) -> Bools:
        if self._n_labels is not None:
            raise ValueError(
                "predict_set answers for one class a row, but this classifier was fitted on labels; compare the shares "
                "of predict_proba with a threshold of your own."
            )
        return super().predict_set(X, coverage)

    predict_set.__doc__ = TreeClassifier.predict_set.__doc__

    @in_blocks
    def _shares(self, X: Any) -> Floats:
        """Share of each label in the leaf that each row reaches."""
        rows = self._checked(X)
        return np.clip(self.model_.predict(rows, n_threads=self._n_threads(rows)), 0.0, 1.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def read_labels(y: Any, name: str = "y") -> Array | None:
    """Read a matrix of 0 and 1 with a column for each label; None if ``y`` has no two columns.

    Examples
    --------
    >>> read_labels([[0, 1, 1], [1, 0, 1]])
    array([[0, 1, 1],
           [1, 0, 1]])
    >>> read_labels([0, 1, 1]) is None
    True
    """
    array: Array = y.toarray() if scipy.sparse.issparse(y) else np.asarray(y)
    if array.ndim != 2 or array.shape[1] < 2:
        return None
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            array = array.astype(str)
    if array.dtype.kind == "f":
        assert_all_finite(array, input_name=name)
    is_label = np.isin(array, (0, 1)) if array.dtype.kind in "biuf" else np.zeros(array.shape, bool)
    if not is_label.all():
        row, column = np.argwhere(~is_label)[0]
        raise ValueError(
            f"{name} has {array.shape[1]} columns, which must hold 0 or 1, whether a row has each label, but row {row} "
            f"holds {array[row, column].item()!r}; pass one class for each row, or fit one classifier for each column."
        )
    return array
