"""The path from dense trees to trees of one column a split, for estimators with ``max_split_features``.

``sparsity="auto"`` hands back one tree. The path shows what it was chosen from: for each number of columns the best
tree, how it does on rows that it was not trained on, and how far it is behind the best of the path.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from dtsemnet.arrays import Floats, Ints
from dtsemnet.estimators.base import TreeEstimator
from dtsemnet.estimators.checks import check_sparsity, read_seed
from dtsemnet.fit.judging import Verdict, sparsest_of_best
from dtsemnet.fit.plans import COLUMN_LIMITS
from dtsemnet.fit.sparse import n_columns_read
from dtsemnet.fit.tasks import OurTask

__all__ = ["SparseEstimator", "SparsityPath"]


@dataclass(frozen=True)
class SparsityPath:
    """Trees whose splits read fewer and fewer columns, from the widest on."""

    limit: tuple[int | None, ...]
    """Most columns of a split, and of a linear leaf, of each tree; None: no limit."""
    n_columns: Floats
    """Columns that a split of each tree reads, on average; 0 if there is no split."""
    n_leaves: Ints
    score: Floats
    """Accuracy, or R2, on rows that the trees were not trained on."""
    behind: Floats
    """Mean loss on these rows, less that of the best tree of the path."""
    error: Floats
    """Standard error of this difference."""
    chosen: int
    """Number of the tree that ``sparsity="auto"`` would choose of these."""
    estimators: tuple[Any, ...]
    """The fitted estimators."""

    def to_frame(self) -> Any:
        """The path as a data frame of pandas, one row for each tree."""
        try:
            pandas = importlib.import_module("pandas")  # optional, and without type stubs
        except ImportError as error:
            raise ImportError("to_frame needs pandas; install it by pip install 'dtsemnet[data]'.") from error
        names = ("limit", "n_columns", "n_leaves", "score", "behind", "error")
        frame = pandas.DataFrame({name: list(getattr(self, name)) for name in names})
        frame["limit"] = frame["limit"].astype("Int64")
        frame["chosen"] = np.arange(len(frame)) == self.chosen
        return frame


class SparseEstimator(TreeEstimator):
    """An estimator whose splits can be kept to a few columns."""

    _task_class: type[OurTask[Any]]

    def sparsity_path(
        self, X: Any, y: Any, sample_weight: Any = None, *, limits: Sequence[int | None] | None = None
    ) -> SparsityPath:
        """Fit a tree for each number of columns that a split, and a linear leaf, may read.

        All trees are judged by the same rows. ``sparsity="auto"`` chooses by the same rule, among all plans instead of
        the best for each limit.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. This estimator itself is not fitted.
        limits : sequence of int or None, optional
            Most columns of a split, and of a linear leaf, from the widest to the narrowest. By default no limit, and
            10, 5, 3, 2 and 1 columns as far as X has more.

        Returns
        -------
        SparsityPath

        Examples
        --------
        >>> from dtsemnet import DTSemNetClassifier
        >>> from sklearn.datasets import load_iris
        >>> quick = DTSemNetClassifier(max_iter=10, random_state=0)
        >>> path = quick.sparsity_path(*load_iris(return_X_y=True), limits=[None, 1])
        >>> path.n_columns[-1] == 1, len(path.estimators)
        (np.True_, 2)
        """
        check_sparsity(clone(self).set_params(sparsity="auto"))
        seed = read_seed(self.random_state)  # one for all, so that the same rows judge
        first = self._at(None if limits is None else limits[0], seed).fit(X, y, sample_weight)
        if limits is None:
            limits = [None, *(limit for limit in COLUMN_LIMITS if limit < first.n_features_in_)]
        rest = [self._at(limit, seed).fit(X, y, sample_weight) for limit in limits[1:]]
        estimators = (first, *rest)
        verdicts = [_verdict(estimator) for estimator in estimators]
        best = min(verdicts, key=lambda verdict: verdict.mean)
        behind = np.array([verdict.behind(best) for verdict in verdicts])
        return SparsityPath(
            limit=tuple(limits),
            n_columns=np.array([_columns_a_split(estimator) for estimator in estimators]),
            n_leaves=np.array([estimator.get_n_leaves() for estimator in estimators]),
            score=np.array([verdict.score for verdict in verdicts]),
            behind=behind[:, 0],
            error=behind[:, 1],
            chosen=sparsest_of_best(verdicts, first._sparse_tolerance),
            estimators=estimators,
        )

    @property
    def _sparse_tolerance(self) -> float:
        """How far behind a sparse tree may be, in standard errors."""
        return self._task_class.sparse_tolerance

    def _at(self, limit: int | None, seed: int) -> Any:
        limits = {name: limit for name in ("max_split_features", "max_leaf_features") if name in self.get_params()}
        return clone(self).set_params(**limits, sparsity=None, random_state=seed)


def _verdict(estimator: TreeEstimator) -> Verdict:
    if estimator._verdict is None:
        limit = estimator.get_params()["max_split_features"]
        raise ValueError(
            "sparsity_path compares trees on rows that they were not trained on, but a fit with "
            f"max_split_features={limit} has none; pass at least 10 rows of more than one value of y."
        )
    return estimator._verdict


def _columns_a_split(estimator: Any) -> float:
    column = np.array([feature.column_index for feature in estimator.model_.encoder.features])
    read = n_columns_read(estimator.tree_.weight, column)
    return float(read.mean()) if len(read) else 0.0
