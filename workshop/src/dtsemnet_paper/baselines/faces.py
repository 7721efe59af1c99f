"""What a baseline shows its user: the faces of this package's estimators, around another way to fit the tree.

Labels, class weights, probabilities and outputs are those of
:class:`~dtsemnet.DTSemNetClassifier` and :class:`~dtsemnet.DTSemNetRegressor`, so that
methods differ in ``_fit_tree`` alone.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from dtsemnet.arrays import Array
from dtsemnet.estimators import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.estimators.base import TreeEstimator

__all__ = ["TreeClassifier", "TreeRegressor"]


class TreeClassifier(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """A classifier that ends in a tree; a method gives it ``__init__`` and ``_fit_tree``."""

    classes_: Array
    class_weight: Any = None

    _encode_y = DTSemNetClassifier._encode_y
    _weigh = DTSemNetClassifier._weigh
    _class_names = DTSemNetClassifier._class_names
    _watched_score = DTSemNetClassifier._watched_score
    predict = DTSemNetClassifier.predict
    predict_proba = DTSemNetClassifier.predict_proba
    predict_log_proba = DTSemNetClassifier.predict_log_proba
    decision_function = DTSemNetClassifier.decision_function


class TreeRegressor(RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """A regressor that ends in a tree; a method gives it ``__init__`` and ``_fit_tree``."""

    _n_outputs: int

    _encode_y = DTSemNetRegressor._encode_y
    predict = DTSemNetRegressor.predict

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
