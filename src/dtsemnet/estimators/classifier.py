"""DTSemNetClassifier: a hard oblique decision tree for classes."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from dtsemnet.arrays import Array, Floats
from dtsemnet.estimators.base import TreeEstimator
from dtsemnet.estimators.parameters import check_parameters
from dtsemnet.fit.classification import ClassFitting
from dtsemnet.fit.fitting import TrainingData
from dtsemnet.fit.leaves import count_classes, frequencies
from dtsemnet.training import History, Phase
from dtsemnet.tree import Topology, Tree

__all__ = ["DTSemNetClassifier"]


class DTSemNetClassifier(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """A hard oblique decision tree, trained by gradient descent without approximation.

    Each split tests a linear combination of the features. The tree is trained as the network that computes the
    same function. The default needs no tuning: a few starts with different settings, judged on rows set aside, the
    best trained on with all rows.

    Parameters
    ----------
    max_depth : int, default=4
        Most splits on a path. The tree has ``2 ** max_depth`` leaves, or, where that does better on rows set aside, no
        more than give each class one. With fewer leaves than classes, the rarest classes hold none.
    training : {"annealed", "paper"}, default="annealed"
        "annealed" pools the leaves of a class smoothly at a falling temperature and bounds the loss as it goes;
        the last epochs train the tree itself. "paper" is max-pooled cross-entropy from the first step.
    max_iter : int, optional
        Epochs of each start. By default as many as make 4,500 steps, at most 200 (fewer where the tree is deeper
        than 4), and at least 10 where the chosen tree is trained on afterwards, else 45.
    learning_rate, weight_decay, l1 : float, optional
        Step size of Adam, decoupled decay of the splits, and penalty on their absolute values in standardised
        features. By default those of the settings tried.
    batch_size : int, default=128
    max_grad_norm : float, optional
        Larger gradients are scaled down to this norm.
    n_init : int or "auto", default="auto"
        Number of starts, each with its own seed and the next of four settings; "auto" is one for each setting and
        one of the smallest tree (one in all with ``init`` or the paper's training). They are judged by their error
        on validation rows, or on training rows where there are fewer than 30 of them.
    early_stopping : bool, default=False
        Watch the error on validation rows after each epoch, keep the best state, and stop when it has not improved
        by more than ``tol`` for ``n_iter_no_change`` epochs.
    validation_fraction : float, default=0.2
        Share of the training rows, merged where equal, set aside to judge starts when no ``X_val`` is given. Nothing
        is set aside for a single start without early stopping.
    n_iter_no_change : int, default=20
    tol : float, default=0.0
    refit : bool, default=True
        Train the chosen tree on with all rows, those set aside included, for half as many epochs as a start; at
        least 45 unless ``max_iter`` is given.
    class_weight : dict, "balanced", optional
        Weights of classes, multiplied with the sample weights.
    categorical_features : "from_dtype", None, or list, default="from_dtype"
        Columns read as categories: those of string or category type in a data frame, none, or those named.
    missing : {"indicator", "error"}, default="indicator"
        Numbers missing in training get a feature of their own, or are an error.
    init : Tree, Model or fitted scikit-learn tree, optional
        Tree to start from, whatever its shape (``max_depth`` is not used then). The result is never worse on the
        validation rows. ``clone`` empties a scikit-learn tree; a ``Tree`` survives it.
    warm_start : bool, default=False
        Start from the tree of the last ``fit``.
    engine : {"cpu", "torch"}, default="cpu"
    device : str, optional
        Device of the torch engine.
    n_jobs : int, optional
        Starts run side by side; the result does not depend on it.
    checkpoint : path, optional
        Folder in which each start is kept after every epoch; a fit that was killed goes on from there when called
        again with the same data and parameters.
    random_state : int, RandomState instance, optional
        Same seed, same tree, to the bit.
    verbose : int, default=0
        Show a progress bar.

    Attributes
    ----------
    tree_ : Tree
        The model. ``predict`` reads it alone.
    model_ : Model
        The encoder of the columns and the tree.
    classes_ : ndarray
    history_ : History
        Course of the training of the tree that was kept.
    loss_curve_, validation_scores_, n_iter_ : list, list or None, int
    feature_importances_ : ndarray of shape (n_features_in_,)
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X had column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DTSemNetClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.95
    True
    """

    _TRAININGS = ("annealed", "paper")
    _fitting: type[ClassFitting] = ClassFitting

    classes_: Array

    def __init__(
        self,
        max_depth: int = 4,
        *,
        training: str = "annealed",
        max_iter: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        l1: float | None = None,
        batch_size: int = 128,
        max_grad_norm: float | None = None,
        n_init: int | str = "auto",
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 20,
        tol: float = 0.0,
        refit: bool = True,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        init: Any = None,
        warm_start: bool = False,
        engine: str = "cpu",
        device: str | None = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.training = training
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.l1 = l1
        self.batch_size = batch_size
        self.max_grad_norm = max_grad_norm
        self.n_init = n_init
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.refit = refit
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.missing = missing
        self.init = init
        self.warm_start = warm_start
        self.engine = engine
        self.device = device
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        self.history_ = History()
        n_classes = len(self.classes_)
        if n_classes == 1 or len(data.sample) == 1:
            held = np.bincount(data.sample.y, minlength=n_classes) / len(data.sample)
            return _constant(held, data)
        init = self._initial_tree(data.n_features)
        n_leaves = 2**self.max_depth if init is None else init.n_leaves
        if n_leaves < n_classes:
            warnings.warn(
                f"{n_classes} classes but only {n_leaves} leaves: the rarest classes hold none and are never "
                f"predicted; max_depth={int(np.ceil(np.log2(n_classes)))} gives each a leaf.",
                UserWarning,
                stacklevel=4,
            )
        outcome = self._fitting(self, data, rng, init).run()
        self.history_ = outcome.history
        return outcome.tree

    def _encode_y(self, y: Any, *, reset: bool) -> Array:
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if reset:
            self.classes_, codes = np.unique(y, return_inverse=True)
            return codes.astype(np.int64)
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        strange = self.classes_[place] != y
        if strange.any():
            raise ValueError(
                f"y holds {np.asarray(y)[strange][0]!r}, which is none of the classes {self.classes_.tolist()}."
            )
        return place.astype(np.int64)

    def _weigh(self, y: Array, weight: Floats) -> Floats:
        if self.class_weight is None:
            return weight
        factor = np.ones(len(self.classes_))
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {self.class_weight!r}.")
            held = np.bincount(y, weight, len(self.classes_))
            factor = np.where(held > 0, weight.sum() / (np.count_nonzero(held) * np.maximum(held, 1e-300)), 0.0)
        else:
            for label, number in dict(self.class_weight).items():
                place = np.flatnonzero(self.classes_ == label)
                if not len(place):
                    raise ValueError(
                        f"class_weight names {label!r}, which is none of the classes {self.classes_.tolist()}."
                    )
                factor[place] = number
        return weight * factor[y]

    def _class_names(self) -> tuple[Any, ...]:
        return tuple(
            value if isinstance(value, (str, int, float, bool)) else str(value) for value in self.classes_.tolist()
        )

    def _watched_score(self, value: float) -> float:
        return 1 - value

    def predict(self, X: Any) -> Array:
        """Class of the leaf that each row reaches."""
        rows = self._encoded(X)
        return self.classes_[self.tree_.leaf_class[self.tree_.apply(rows)]]

    def predict_proba(self, X: Any) -> Floats:
        """Class frequencies of the leaf that each row reaches; the largest is the predicted class."""
        return self.tree_.predict_proba(self._encoded(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of :meth:`predict_proba`; -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> Floats:
        """Logarithm of the class frequencies, at least -100; for two classes the log-odds of the second.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        logs = np.log(np.maximum(self.predict_proba(X), np.exp(-100.0)))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on with more rows: one epoch of small steps on the tree as it is, and their classes counted in.

        Parameters
        ----------
        classes : array_like, optional
            All classes, needed in the first call.
        """
        check_parameters(self)
        if not hasattr(self, "model_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._fit(X, y, sample_weight, (None, None, None), classes=np.unique(classes))
            return self
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes differ from those of the first call to partial_fit, {self.classes_.tolist()}.")
        data = self._more_data(X, y, sample_weight)
        if self.tree_.n_splits == 0 or len(self.classes_) == 1:
            return self
        fitting = ClassFitting(self, data, np.random.default_rng(0), self.tree_)
        fitting.scaling = self._scaling
        splits = self._one_epoch(fitting, Phase(1, self.learning_rate or 0.003, q=0.7)).splits
        old, table = self.tree_, self.tree_.value * self._leaf_weight[:, None]
        moved = fitting.skeleton(splits)
        table = table + count_classes(moved, data.sample, len(self.classes_))
        tree = Tree(
            old.topology, moved.weight, moved.bias, frequencies(old.topology, table),
            feature_names=old.feature_names, class_names=old.class_names,
        )  # fmt: skip
        self._keep(tree, data.sample)
        self._leaf_weight = table.sum(axis=1)
        return self


def _constant(frequency: Floats, data: TrainingData) -> Tree:
    return Tree(
        Topology([]), np.empty((0, data.n_features)), np.empty(0), frequency[None, :],
        feature_names=data.feature_names, class_names=data.class_names,
    )  # fmt: skip
