"""The thin estimator: ``fit`` validates and calls one hook, all else reads the tree.

``_fit_tree(data, rng) -> Tree`` is the hook. A method that ends in a tree
overrides it and inherits the rest: tables, weights, validation rows, saving,
prediction. Prediction reads ``model_`` (the encoder and the tree) alone.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.estimators import persistence
from dtsemnet.estimators.encode import as_table, encode, fit_encoder
from dtsemnet.estimators.parameters import check_parameters
from dtsemnet.fit.data import Sample, Scaling, merge
from dtsemnet.fit.fitting import Fitting, TrainingData
from dtsemnet.fit.leaves import count_rows, node_sums
from dtsemnet.fit.search import Plan, begin, parameters_of
from dtsemnet.kernels import one_thread
from dtsemnet.training import History, Phase
from dtsemnet.tree import Encoder, Identity, Model, Tree

__all__ = ["TreeEstimator"]


class TreeEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """What every estimator of this package shares; see the classes that users meet."""

    model_: Model
    history_: History
    _encoder: Encoder
    _leaf_weight: Floats
    feature_names_in_: Array
    n_features_in_: int

    @abstractmethod
    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        """Find the tree; the one hook that a method overrides."""

    @abstractmethod
    def _encode_y(self, y: Any, *, reset: bool) -> Array:
        """Check targets and turn them into what training wants: class codes, or a matrix of float64."""

    def _weigh(self, y: Array, weight: Floats) -> Floats:
        """Change the weights of rows by their targets."""
        return weight

    def _class_names(self) -> tuple[Any, ...] | None:
        return None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit a tree.

        Parameters
        ----------
        X : array_like or data frame of shape (n_samples, n_features)
            Numbers, or in a data frame also strings and categories; NaN where ``missing="indicator"``.
        y : array_like of shape (n_samples,), or (n_samples, n_outputs) for a regressor
        sample_weight : array_like of shape (n_samples,), optional
            Weight 2 means that a row is there twice, weight 0 that it is not there.
        X_val, y_val, sample_weight_val : optional
            Rows that judge the starts, and early stopping, in place of a part of X. They are never trained on.
        """
        check_parameters(self)
        return self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))

    def _fit(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any, Any], classes: Any = None) -> Self:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        previous = getattr(self, "model_", None) if getattr(self, "warm_start", False) else None
        rows = self._read_rows(X, fresh=previous is None)
        check_consistent_length(rows, y)
        codes = self._encode_y(y if classes is None else np.concatenate([np.asarray(classes), np.ravel(y)]), reset=True)
        codes = codes if classes is None else codes[len(classes) :]
        weight = self._weigh(codes, read_weight(sample_weight, len(rows), "sample_weight"))
        data = TrainingData(
            merge(rows, codes, weight),
            self._read_validation(*validation),
            self._encoder.feature_names,
            self._class_names(),
        )
        del rows, codes, weight  # what training needs of them is in the sample
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self._previous_tree = None if previous is None else previous.tree
        tree = self._fit_tree(data, np.random.default_rng(seed))
        self._scaling = Scaling.of(data.sample)
        self._keep(tree, data.sample)
        return self

    def _keep(self, tree: Tree, sample: Sample) -> None:
        """Set what is read after fitting."""
        self.model_ = Model(self._encoder, tree, Identity())
        self._leaf_weight = count_rows(tree, sample)
        self._importance = _importance(tree, self._leaf_weight, self._scaling, self._encoder)

    def _read_rows(self, X: Any, *, fresh: bool) -> Array:
        """Check X and encode it; ``fresh`` chooses the encoder anew."""
        X = as_table(X)
        validate_data(self, X, reset=fresh, skip_check_array=True)
        if not fresh:
            return encode(self._encoder, X, self)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        self._encoder, rows = fit_encoder(
            X, [str(name) for name in names], categorical_features=self.categorical_features, missing=self.missing,
            estimator=self,
        )  # fmt: skip
        if len(rows) < 2:
            raise ValueError(f"Found array with {len(rows)} sample(s) while a minimum of 2 is required to fit a tree.")
        return rows

    def _read_validation(self, X: Any, y: Any, sample_weight: Any) -> Sample | None:
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError("X_val and y_val go together: pass both, or neither.")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        rows = encode(self._encoder, X, self)
        check_consistent_length(rows, y)
        codes = self._encode_y(y, reset=False)
        weight = self._weigh(codes, read_weight(sample_weight, len(rows), "sample_weight_val"))
        return merge(rows, codes, weight)

    def _more_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Rows of a further call to ``partial_fit``, read by the encoder of the first."""
        rows = self._encoded(X)
        check_consistent_length(rows, y)
        codes = self._encode_y(y, reset=False)
        weight = self._weigh(codes, read_weight(sample_weight, len(rows), "sample_weight"))
        sample = merge(rows, codes, weight)
        if not hasattr(self, "_scaling"):  # an estimator from a file
            self._scaling = Scaling.of(sample)
        return TrainingData(sample, None, self._encoder.feature_names, self._class_names())

    def _one_epoch(self, fitting: Fitting, phase: Phase) -> Any:
        """Train the initial tree of a fitting for one epoch on all its rows."""
        rows = fitting.rows(fitting.data.sample)
        plan = Plan(fitting.problem, fitting.topology, rows, self.batch_size, 0.0, self.engine, self.device)
        with one_thread():
            run = begin(
                plan, fitting.first_parameters(), (phase,), np.random.default_rng(0), number=0, l1=self.l1 or 0.0
            )
            run.start().advance()
        self.history_.epochs.extend(run.finish().epochs)
        return parameters_of(run)

    def _initial_tree(self, n_features: int) -> Tree | None:
        """The tree to start from: what ``init`` or the fit before gives, read in encoded features."""
        given = self._previous_tree if self.init is None else self.init
        if given is None:
            return None
        given = getattr(given, "model_", given)  # an estimator of this package
        if isinstance(given, Model):
            given = given.tree
        tree = given if isinstance(given, Tree) else Tree.from_sklearn(given)
        if tree.n_features != n_features:
            raise ValueError(
                f"init reads {tree.n_features} features, but X has {n_features} (after encoding); "
                "fit the initial tree on the same columns."
            )
        return tree

    @property
    def tree_(self) -> Tree:
        """The tree, in encoded features: the columns themselves where all of them are numbers."""
        check_is_fitted(self, "model_")
        return self.model_.tree

    @property
    def loss_curve_(self) -> list[float]:
        """Training loss after each epoch."""
        check_is_fitted(self, "model_")
        return list(self.history_["loss"])

    @property
    def n_iter_(self) -> int:
        """Epochs run; at least 1, as scikit-learn has it, also where a constant needed none."""
        check_is_fitted(self, "model_")
        return max(1, len(self.history_))

    @property
    def validation_scores_(self) -> list[float] | None:
        """Value that early stopping watched after each epoch (higher is better), or None without early stopping."""
        check_is_fitted(self, "model_")
        watched = [value for value in self.history_["monitor"] if value is not None]
        return [self._watched_score(value) for value in watched] or None

    def _watched_score(self, value: float) -> float:
        return -value

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the decisions, summing to 1.

        A split counts by the share of training rows that pass it; within a split, a feature counts by the absolute
        value of its weight times the feature's standard deviation. Features made from one column are added up.
        """
        check_is_fitted(self, "model_")
        return self._importance.copy()

    def get_depth(self) -> int:
        """Number of splits on the longest path."""
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        return self.tree_.n_leaves

    def apply(self, X: Any) -> Ints:
        """Number of the leaf that each row reaches."""
        return self.tree_.apply(self._encoded(X))

    def decision_path(self, X: Any) -> Any:
        """Nodes on the way of each row, as a sparse 0/1 matrix: splits first, then leaves.

        Returns
        -------
        csr_matrix of shape (n_samples, n_splits + n_leaves)
        """
        rows = self._encoded(X)
        tree = self.tree_
        nodes = np.column_stack([tree.decision_path(rows), tree.n_splits + tree.apply(rows)])
        row, place = np.nonzero(nodes >= 0)
        shape = (len(nodes), tree.n_splits + tree.n_leaves)
        return scipy.sparse.csr_matrix((np.ones(len(row)), (row, nodes[row, place])), shape)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file: encoder, tree, parameters and a summary of training, as JSON."""
        check_is_fitted(self, "model_")
        self.model_.save(path, about=persistence.describe(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file that :meth:`save` wrote. Nothing in the file is run."""
        return persistence.restore(cls, path)

    def _encoded(self, X: Any) -> Array:
        check_is_fitted(self, "model_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return encode(self._encoder, X, self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "indicator"
        tags.input_tags.categorical = self.categorical_features is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def read_weight(weight: Any, n_rows: int, name: str) -> Floats:
    """Check the weights of rows; None means 1 each."""
    if weight is None:
        return np.ones(n_rows)
    found = np.asarray(weight, dtype=np.float64)
    if found.ndim == 0:
        found = np.full(n_rows, float(found))
    if found.shape != (n_rows,):
        raise ValueError(f"{name} must have shape ({n_rows},), one weight a row, got {found.shape}.")
    if not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(
            f"{name} must be finite and not negative; found {found[~(np.isfinite(found) & (found >= 0))][0]}."
        )
    if not (found > 0).any():
        raise ValueError(f"{name} is zero for every row: nothing is left to fit.")
    return found


def _importance(tree: Tree, leaf_weight: Floats, scaling: Scaling, encoder: Any) -> Floats:
    spread = np.where(scaling.factor > 0, 1 / np.where(scaling.factor > 0, scaling.factor, 1), 0.0)
    by_feature = np.zeros(tree.n_features)
    if tree.n_splits:
        size = np.abs(tree.weight) * spread
        share = size / np.maximum(size.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        by_feature = node_sums(tree.topology, leaf_weight[:, None])[:, 0] @ share
    widths = [len(column.feature_names) for column in encoder.columns]
    by_column = np.add.reduceat(by_feature, np.cumsum([0, *widths[:-1]]))
    total = by_column.sum()
    return by_column / total if total > 0 else by_column
