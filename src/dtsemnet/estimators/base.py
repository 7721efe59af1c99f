"""What every estimator of a tree shares: ``fit`` validates and finds the tree, everything else reads it.

A method that trains by gradient descent answers ``_task(data)`` with the task
to be fitted; any other method overrides ``_fit_tree(data, rng)``, which returns a
tree. Both inherit the rest: tables, weights, validation rows, saving, prediction.
Prediction reads ``model_`` (the encoder and the tree) alone.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import joblib
import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.estimators import persistence
from dtsemnet.estimators.callbacks import CallbackSupportMixin, FitReport, with_callbacks
from dtsemnet.estimators.checks import (
    TRAINING,
    VALIDATION,
    Names,
    check_coverage,
    check_length,
    naming,
    read_seed,
    read_weight,
)
from dtsemnet.estimators.encode import (
    add_fills,
    as_table,
    check_plain_rows,
    check_rows,
    fit_encoder,
    in_blocks,
    is_plain,
)
from dtsemnet.estimators.interactions import prove_groups, read_groups
from dtsemnet.estimators.order import prove_order, read_direction
from dtsemnet.estimators.persistence import Rule, check_parameters
from dtsemnet.fit.conformal import CrossFit
from dtsemnet.fit.data import Sample, Scaling, TrainingData, merge
from dtsemnet.fit.fit import fit, train_one_epoch
from dtsemnet.fit.judging import Verdict
from dtsemnet.fit.leaves import constant_tree, count_rows
from dtsemnet.fit.points import counts_points, in_steps
from dtsemnet.fit.tasks import Candidate, Task
from dtsemnet.kernels.regression import DEVIANCES
from dtsemnet.training import History, Phase
from dtsemnet.tree import Encoder, Identity, MarginProbability, Model, Tree
from dtsemnet.tree.columns_summary import ColumnsSummary
from dtsemnet.tree.edits import fold_affine
from dtsemnet.tree.tree import ROWS_OF_A_THREAD
from dtsemnet.tree.view import raw_view

__all__ = ["TreeEstimator", "initial_tree"]


class TreeEstimator(CallbackSupportMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator that ends in a tree; see :class:`TreeClassifier` and :class:`TreeRegressor`."""

    _legal: ClassVar[Mapping[str, Rule]] = {}
    """Legal values of parameters, beside or in place of those in ``persistence.LEGAL``."""

    _doc_link_module: ClassVar[str] = "dtsemnet"
    _doc_link_template: ClassVar[str] = (
        "https://dtsemnet.github.io/dtsemnet/api/generated/dtsemnet.{estimator_name}.html"
    )
    """Where the question mark of scikit-learn's diagrams leads to."""

    model_: Model
    history_: History
    feature_names_in_: Array
    n_features_in_: int
    _leaf_weight: Floats
    """Weight of the training rows in each leaf, in units of one row."""
    _weight_unit: float | None = None
    """The weight of one row in the first fit, for the weights of ``partial_fit``; None if a file was loaded."""
    _importance: Floats
    _scaling: Scaling | None
    _probability: MarginProbability | None = None
    """How the last fit computes probabilities; None: by the shares of the leaf."""
    _cross_fit: CrossFit | None = None
    """Trees of the last fit that were trained without some rows, for intervals and sets."""
    _verdict: Verdict | None = None
    """How the plan of the last fit did on such rows."""
    _report: FitReport | None = None
    """While ``fit`` runs: tells scikit-learn's callbacks how it goes on."""

    def _task(self, data: TrainingData, init: Tree | None = None) -> Task[Any, Any]:
        """The task that finds a tree by gradient descent; it goes on from ``init`` if given (``partial_fit``)."""
        raise NotImplementedError(f"{type(self).__name__} must define _task or _fit_tree.")

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        """Find the tree. The default fits the task of this estimator; a method without gradients overrides it."""
        self._check_course(data)  # here too: a tree of one leaf takes no task
        watch = None if self._report is None else self._report.watch
        best = Candidate(constant_tree(data), ()) if self._is_trivial(data) else fit(self._task(data), rng, watch)
        self._keep_candidate(best)
        return best.tree

    def _check_course(self, data: TrainingData) -> None:
        """Refuse parameters that do not go together, or not with these targets."""

    def _keep_candidate(self, best: Candidate) -> None:
        """Set what is kept of a fit beside the tree."""
        self.history_, self._probability, self._cross_fit = best.history, best.probability, best.cross_fit
        self._verdict = best.verdict

    def _is_trivial(self, data: TrainingData) -> bool:
        """Whether a tree without splits is the answer."""
        return data.is_constant

    @abstractmethod
    def _encode_y(self, y: Any, *, reset: bool, name: str = "y") -> Array:
        """Check targets and turn them into class codes, or into a matrix of float64.

        A new fit (``reset``) sets the classes or the number of outputs; else y must agree with them. ``name`` is what
        the user calls the targets.
        """

    def _weigh(self, y: Array, weight: Floats) -> Floats:
        """Multiply the weights of rows by those of their classes."""
        return weight

    def _class_names(self) -> tuple[Any, ...] | None:
        return None

    def _watched_score(self, value: float) -> float:
        """Score, higher is better, from the value that early stopping watches."""
        return -value

    @with_callbacks  # type: ignore[untyped-decorator]
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
        X : array_like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, and in a data frame also strings and categories; NaN if ``missing="indicator"``. Data frames are
            those of pandas, polars, pyarrow and all that narwhals knows. Sparse ones are made dense; predictions do it
            block by block.
        y : array_like of shape (n_samples,), or (n_samples, n_outputs) for a regressor
        sample_weight : array_like of shape (n_samples,), optional
            Weight 2 means that a row is there twice, weight 0 that it is not there.
        X_val, y_val, sample_weight_val : optional
            Validation rows, which judge the starts and early stopping in place of a part of X. They are never
            trained on.
        """
        check_parameters(self)
        report = FitReport(self, X, y, sample_weight)
        before = dict(vars(self))
        try:
            self._report = report
            self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
            del self._report
            report.end()
            return self
        except BaseException:  # one that was fitted before stays as it was, another one unfitted
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any, Any], classes: Any = ()) -> Self:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        seed = read_seed(self.random_state)
        if getattr(self, "engine", None) == "torch":
            from dtsemnet.training.torch import check_device

            check_device(self.device)
        previous = getattr(self, "model_", None) if getattr(self, "warm_start", False) else None
        encoder, rows = self._new_encoder(X) if previous is None else (previous.encoder, self._encoded(X))
        sample = self._sample(rows, y, sample_weight, reset=True, classes=classes)
        scaling = Scaling.of(sample)
        if previous is None and self.missing == "indicator":
            encoder = add_fills(encoder, scaling.center)
        if previous is None and getattr(self, "integer_weights", False) is not False:
            encoder = in_steps(encoder, sample, scaling)
            rows = encoder.transform(self._checked(X, encoder))
            sample = self._sample(rows, y, sample_weight, reset=True, classes=classes)
            scaling = Scaling.of(sample)
        if self._report is not None:
            self._report.encoder = encoder
        held = self._validation(encoder, *validation)
        previous_tree = None if previous is None else previous.tree
        data = self._training_data(sample, held, encoder, scaling, previous_tree)
        tree = self._fit_tree(data, np.random.default_rng(seed))
        self._set_fitted(encoder, tree, data)
        return self

    def _training_data(
        self, sample: Sample, held: Sample | None, encoder: Encoder, scaling: Scaling, previous: Tree | None = None
    ) -> TrainingData:
        column = np.array([feature.column_index for feature in encoder.features], dtype=np.int64)
        names = self._class_names()
        n_classes = None if names is None else len(names)
        direction = read_direction(getattr(self, "monotonic_cst", None), encoder, n_classes)
        is_positive = getattr(self, "loss", None) in DEVIANCES
        steps = None
        if getattr(self, "integer_weights", False) is not False:
            features = encoder.features
            steps = np.array([f.scale for f in features]), np.array([f.shift for f in features])
        return TrainingData(
            sample,
            held,
            encoder.feature_names,
            names,
            scaling,
            previous,
            column,
            direction,
            read_groups(getattr(self, "interaction_cst", None), encoder),
            steps,
            is_positive,
        )

    def _set_fitted(self, encoder: Encoder, tree: Tree, data: TrainingData) -> None:
        """Set what is read after fitting."""
        prove_order(tree, data.direction)
        prove_points(tree, data.steps is not None)
        prove_groups(tree, data)
        probability = self._probability if getattr(self, "probability", "leaf") == "margin" else None
        self.model_ = Model(encoder, tree, Identity(), probability)
        self._scaling = data.scaling
        self._weight_unit = data.sample.unit
        self._leaf_weight = count_rows(tree, data.sample)
        self._importance = _importance(tree, self._leaf_weight, data.scaling, encoder)

    def _new_encoder(self, X: Any) -> tuple[Encoder, Array]:
        """Choose the encoder for the columns of X, and encode X."""
        X = as_table(X)
        validate_data(self, X, reset=True, skip_check_array=True)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        encoder, rows = fit_encoder(
            X, [str(name) for name in names], categorical_features=self.categorical_features, missing=self.missing,
            estimator=self,
        )  # fmt: skip
        if len(rows) < 2:
            raise ValueError(f"Found array with {len(rows)} sample(s) while a minimum of 2 is required to fit a tree.")
        return encoder, rows

    def _checked(self, X: Any, encoder: Encoder | None = None, name: str = "X") -> Array:
        """Check rows against the columns of the fit; the result is what the encoder reads."""
        if encoder is None:
            check_is_fitted(self, "model_")
            encoder = self.model_.encoder
        if is_plain(X, self.n_features_in_) and encoder.is_numeric and not hasattr(self, "feature_names_in_"):
            return check_plain_rows(encoder, X, self, name)
        X = as_table(X, name)
        with naming(name, "must have the columns of the fit"):
            validate_data(self, X, reset=False, skip_check_array=True)
        return check_rows(encoder, X, self, name)

    def _conformal(self, coverage: float, caller: str) -> CrossFit:
        """Trees for intervals and sets; raise if the fit has none."""
        check_is_fitted(self, "model_")
        check_coverage(coverage)
        if self._cross_fit is None:
            raise ValueError(
                f"{caller} needs trees that were judged by rows they had not seen, but this fit has none; fit at least "
                "10 rows with effort=1 and n_init='auto', without init, early_stopping or partial_fit."
            )
        return self._cross_fit

    def _encoded(self, X: Any) -> Array:
        """Check rows and encode them."""
        rows = self._checked(X)
        return self.model_.transform(rows)

    def _validation(self, encoder: Encoder, X: Any, y: Any, sample_weight: Any) -> Sample | None:
        if X is None and y is None and sample_weight is None:
            return None
        if X is None or y is None:
            raise ValueError("X_val and y_val go together: pass both, or neither; sample_weight_val needs both.")
        return self._sample(encoder.transform(self._checked(X, encoder, VALIDATION.X)), y, sample_weight, VALIDATION)

    def _sample(
        self, rows: Array, y: Any, sample_weight: Any, names: Names = TRAINING, *, reset: bool = False,
        classes: Any = (), unit: float | None = None,
    ) -> Sample:  # fmt: skip
        """Merge encoded rows with their targets and weights.

        ``names`` is what the user calls them; ``classes`` are all classes of a new fit, if they were given; ``unit``
        is the weight of one row, if it is known.
        """
        check_length(y, len(rows), names)
        if len(classes):
            self._encode_y(classes, reset=reset)
        codes = self._encode_y(y, reset=reset and not len(classes), name=names.y)
        weight = self._weigh(codes, read_weight(sample_weight, len(rows), names.weight))
        sample = merge(rows, codes, weight, unit)
        if not np.isfinite(sample.weight).all():
            raise ValueError(f"{names.weight} must be of the size of the weights of the first fit, got {weight.max()}.")
        return sample

    def _learn_more(self, X: Any, y: Any, sample_weight: Any, phase: Phase, l1: float) -> None:
        """Train the tree for one epoch on more rows, and update its leaves (``partial_fit``)."""
        model = self.model_
        sample = self._sample(self._encoded(X), y, sample_weight, unit=self._weight_unit)
        if model.tree.n_splits == 0:
            return
        scaling = Scaling.of(sample) if self._scaling is None else self._scaling
        data = self._training_data(sample, None, model.encoder, scaling)
        task = self._task(data, model.tree)
        trained, history = train_one_epoch(task, phase, l1)
        tree, leaf_weight = task.update(trained, self._leaf_weight)
        self.history_.epochs.extend(history.epochs)
        self._cross_fit = None  # what other rows said of the tree of before
        self._set_fitted(model.encoder, tree, data)
        self._leaf_weight = leaf_weight

    @property
    def tree_(self) -> Tree:
        """The tree. It reads encoded features, which are the columns themselves if all of them are numbers."""
        check_is_fitted(self, "model_")
        return self.model_.tree

    @property
    def loss_curve_(self) -> list[float]:
        """Training loss after each epoch."""
        check_is_fitted(self, "model_")
        return list(self.history_["loss"])

    @property
    def n_iter_(self) -> int:
        """Number of epochs; at least 1, as scikit-learn expects, even if a constant needed none."""
        check_is_fitted(self, "model_")
        return max(1, len(self.history_))

    @property
    def validation_scores_(self) -> list[float] | None:
        """Validation score after each epoch (higher is better), or None without early stopping."""
        check_is_fitted(self, "model_")
        watched = [value for value in self.history_["monitor"] if value is not None]
        return [self._watched_score(value) for value in watched] or None

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the decisions, summing to 1.

        A split counts by the share of training rows that reach it. Within a split, a feature counts by the absolute
        value of its weight times its standard deviation. Features made from one column are added up.
        """
        check_is_fitted(self, "model_")
        return self._importance.copy()

    def columns_summary(self) -> ColumnsSummary:
        """Say what became of each column of X; ``print`` shows it as a table.

        Returns
        -------
        ColumnsSummary
            A tuple with one line per column: ``name``, ``read_as``, ``missing``, ``features``.

        Examples
        --------
        >>> from dtsemnet import DTSemNetClassifier
        >>> fitted = DTSemNetClassifier(effort=0, max_iter=5).fit([[1.0, 0.0], [2.0, 1.0]] * 9, [0, 1] * 9)
        >>> fitted.columns_summary()
        column  read as  missing values
        x0      number   read as 1.5
        x1      number   read as 0.5
        """
        check_is_fitted(self, "model_")
        return self.model_.columns_summary()

    def get_depth(self) -> int:
        """Number of splits on the longest path."""
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        return self.tree_.n_leaves

    @in_blocks
    def apply(self, X: Any) -> Ints:
        """Number of the leaf that each row reaches."""
        rows = self._checked(X)
        return self.model_.apply(rows, n_threads=self._n_threads(rows))

    def _n_threads(self, rows: Array) -> int:
        """Threads that share the rows of a prediction, as ``n_jobs`` says."""
        return 1 if len(rows) < ROWS_OF_A_THREAD else int(joblib.effective_n_jobs(getattr(self, "n_jobs", None)))

    def decision_path(self, X: Any) -> Any:
        """Nodes on the path of each row, as a sparse 0/1 matrix: splits first, then leaves.

        Returns
        -------
        csr_matrix of shape (n_samples, n_splits + n_leaves)
        """
        rows = self._encoded(X)
        tree = self.tree_
        nodes = np.column_stack([tree.decision_path(rows), tree.n_splits + tree.apply(rows)])
        row, position = np.nonzero(nodes >= 0)
        shape = (len(nodes), tree.n_splits + tree.n_leaves)
        return scipy.sparse.csr_matrix((np.ones(len(row)), (row, nodes[row, position])), shape)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file: encoder, tree, parameters and a summary of training, as JSON."""
        check_is_fitted(self, "model_")
        self.model_.save(path, about=persistence.describe(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file that :meth:`save` wrote. Nothing in the file is run."""
        return persistence.restore(cls, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "indicator"
        tags.input_tags.sparse = True  # made dense
        tags.input_tags.categorical = self.categorical_features is not None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def initial_tree(given: Any, data: TrainingData) -> Tree | None:
    """The tree to start from: the value of ``init``, else the tree of the last fit, if there is one.

    ``init`` is a tree, a model, or a fitted estimator of this package or of scikit-learn.
    """
    if given is None:
        return data.previous
    given = getattr(given, "model_", given)
    if isinstance(given, Model):
        given = given.tree if data.steps is None else raw_view(given).tree.replace(feature_names=None)
    with naming("init", "must be a Tree, a Model or a fitted decision tree"):
        tree = given if isinstance(given, Tree) else Tree.from_sklearn(given)
    if tree.n_features != data.n_features:
        raise ValueError(
            f"init reads {tree.n_features} features, but X has {data.n_features} (after encoding); "
            "fit the initial tree on the same columns."
        )
    if data.class_names is None and not tree.is_classifier and tree.n_outputs != data.n_outputs:
        raise ValueError(f"init has {tree.n_outputs} outputs, but y has {data.n_outputs}; fit it on the same targets.")
    if data.steps is None:
        return tree
    scale, shift = data.steps
    return fold_affine(tree, 1 / scale, -shift / scale)


def prove_points(tree: Tree, counts: bool) -> None:
    """Check that the splits of a fitted tree count points, if they are to; an error would be one of this library."""
    if counts and not counts_points(tree, np.inf):
        raise RuntimeError("the fitted tree breaks integer_weights; please report this with the data.")


def _importance(tree: Tree, leaf_weight: Floats, scaling: Scaling, encoder: Encoder) -> Floats:
    by_feature = np.zeros(tree.n_features)
    if tree.n_splits:
        size = np.abs(tree.weight) * scaling.std
        share = size / np.maximum(size.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        by_feature = tree.topology.sums_below(leaf_weight) @ share
    widths = [len(column.feature_names) for column in encoder.columns]
    by_column = np.add.reduceat(by_feature, np.cumsum([0, *widths[:-1]]))
    total = by_column.sum()
    return by_column / total if total > 0 else by_column
