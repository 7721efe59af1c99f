"""DTSemNetRegressor: a hard oblique decision tree with linear models in its leaves."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array

from dtsemnet.arrays import Array
from dtsemnet.estimators.base import TreeEstimator
from dtsemnet.estimators.parameters import check_parameters
from dtsemnet.fit.fitting import TrainingData
from dtsemnet.fit.leaves import leaves_of
from dtsemnet.fit.regression import LeafFitting
from dtsemnet.training import ALL, History, Phase
from dtsemnet.tree import Topology, Tree

__all__ = ["DTSemNetRegressor"]


class DTSemNetRegressor(RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """A hard oblique decision tree with linear leaves, trained by gradient descent without approximation.

    Splits and leaves are trained together while every leaf takes part in a prediction, weighed by a softmax whose
    temperature falls towards the tree itself. Then the leaves are refitted in closed form, and outputs are clipped
    to the range of targets that a leaf has seen.

    Parameters
    ----------
    max_depth : int, default=5
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    leaf : {"linear", "constant"}, default="linear"
    loss : {"squared_error", "absolute_error", "huber", "quantile"}, default="squared_error"
    quantile : float, default=0.5
        Of the quantile loss.
    huber_delta : float, default=1.0
        Where Huber's loss turns linear, in standard deviations of y.
    guard : bool, default=True
        Clip outputs to the range of the training targets of the leaf, so that no linear model runs away.
    training : {"annealed", "paper", "straight_through"}, default="annealed"
        "paper" is its Algorithm 1 with k = 4 and temperature 0.5: joint epochs, epochs on augmented samples, epochs
        on actual samples, leaves as trained. "straight_through" is the estimator the paper compares with.
    max_iter : int, optional
        Epochs of each start. By default as many as make 4,500 steps, at most 500, and at least 10 where the chosen
        tree is trained on afterwards, else 45.
    learning_rate, weight_decay, l1 : float, optional
        Step size of Adam, decoupled decay of the splits, and penalty on their absolute values in standardised
        features. By default those of the settings tried.
    batch_size : int, default=128
    max_grad_norm : float, optional
        Larger gradients are scaled down to this norm.
    n_init : int or "auto", default="auto"
        Number of starts, each with its own seed and the next of five settings; "auto" is one for each setting
        (one in all with ``init`` or another training). They are judged by their loss on validation rows, or by
        leaving one out of the training rows where there are fewer than 30 of them.
    early_stopping : bool, default=False
        Watch the loss of the tree on validation rows after each epoch and keep the best state.
    validation_fraction : float, default=0.2
        Share of the training rows, merged where equal, set aside to judge starts when no ``X_val`` is given.
    n_iter_no_change : int, default=20
    tol : float, default=0.0
    refit : bool, default=True
        Train the chosen tree on with all rows, those set aside included, for half as many epochs as a start (at
        least 45 unless ``max_iter`` is given), and fit its leaves to them.
    categorical_features, missing, init, warm_start, engine, device, n_jobs, checkpoint, random_state, verbose
        As in :class:`DTSemNetClassifier`.

    Attributes
    ----------
    tree_ : Tree
        The model. ``predict`` reads it alone.
    model_ : Model
        The encoder of the columns and the tree.
    history_ : History
        Course of the training of the tree that was kept.
    loss_curve_, validation_scores_, n_iter_ : list, list or None, int
    feature_importances_ : ndarray of shape (n_features_in_,)
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X had column names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> regressor = DTSemNetRegressor(max_depth=2, random_state=0).fit(X, y)
    >>> regressor.score(X, y) > 0.5
    True
    """

    _TRAININGS = ("annealed", "paper", "straight_through")
    _n_outputs: int

    def __init__(
        self,
        max_depth: int = 5,
        *,
        leaf: str = "linear",
        loss: str = "squared_error",
        quantile: float = 0.5,
        huber_delta: float = 1.0,
        guard: bool = True,
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
        self.leaf = leaf
        self.loss = loss
        self.quantile = quantile
        self.huber_delta = huber_delta
        self.guard = guard
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
        y = data.sample.y
        if (y == y[0]).all():  # nothing to explain
            return Tree(
                Topology([]), np.empty((0, data.n_features)), np.empty(0), y[:1], feature_names=data.feature_names
            )
        outcome = LeafFitting(self, data, rng, self._initial_tree(data.n_features)).run()
        self.history_ = outcome.history
        return outcome.tree

    def _encode_y(self, y: Any, *, reset: bool) -> Array:
        found = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y", estimator=self)
        matrix: Array = found.reshape(-1, 1) if found.ndim == 1 else found
        if not reset and matrix.shape[1] != self._n_outputs:
            raise ValueError(f"y has {matrix.shape[1]} outputs, but this estimator was fitted on {self._n_outputs}.")
        self._n_outputs = matrix.shape[1]
        return matrix

    def predict(self, X: Any) -> Array:
        """Output of the leaf that each row reaches: (n_samples,), or (n_samples, n_outputs) for several."""
        return self.tree_.predict(self._encoded(X))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on with more rows: small steps on the splits, leaves updated as if fitted to all rows so far."""
        check_parameters(self)
        if not hasattr(self, "model_"):
            return self._fit(X, y, sample_weight, (None, None, None))
        data = self._more_data(X, y, sample_weight)
        old = self.tree_
        if old.n_splits == 0:
            return self
        fitting = LeafFitting(self, data, np.random.default_rng(0), old)
        fitting.scaling = self._scaling
        parameters = self._one_epoch(fitting, Phase(1, self.learning_rate or 0.001, k=ALL, temperature=0.03))
        assert parameters.leaves is not None
        seen = self._leaf_weight
        tree = fitting.update(parameters.splits, parameters.leaves, seen, lambda moved: self._wider_guard(moved, data))
        self._keep(tree, data.sample)
        self._leaf_weight = seen + self._leaf_weight
        return self

    def _wider_guard(self, moved: Tree, data: TrainingData) -> Any:
        """The guard so far, widened by the targets of the new rows."""
        old = self.tree_
        if old.lower is None or old.upper is None:
            return None, None
        lower, upper, leaf = old.lower.copy(), old.upper.copy(), leaves_of(moved, data.sample)
        np.minimum.at(lower, leaf, data.sample.y)
        np.maximum.at(upper, leaf, data.sample.y)
        return lower, upper

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
