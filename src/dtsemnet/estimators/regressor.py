"""DTSemNetRegressor: a hard oblique decision tree with linear models in its leaves."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from dtsemnet.arrays import Array
from dtsemnet.estimators.base import initial_tree
from dtsemnet.estimators.checks import RULES, check_means, check_sparsity, check_targets
from dtsemnet.estimators.kinds import TreeRegressor
from dtsemnet.estimators.persistence import Rule, check_parameters, one_of
from dtsemnet.estimators.pruning import PrunableEstimator
from dtsemnet.estimators.sparsity import SparseEstimator
from dtsemnet.fit.data import TrainingData
from dtsemnet.fit.regression_task import RegressionTask
from dtsemnet.fit.settings import OVERRIDES, REGRESSION_RECIPES, FitOptions, regression_recipe
from dtsemnet.training import ALL, Phase, Regression
from dtsemnet.tree import Tree

__all__ = ["DTSemNetRegressor"]

DEPTH = 5
"""Depth if ``max_depth`` is None and no shapes are compared."""


class DTSemNetRegressor(TreeRegressor, PrunableEstimator, SparseEstimator):
    """A hard oblique decision tree with linear leaves, trained by gradient descent without approximation.

    Splits and leaves are trained together. Every leaf takes part in a prediction, weighted by a softmax whose
    temperature falls until one leaf is left. Then the leaves are refitted in closed form, and outputs are clipped to
    the range of the training targets of the leaf.

    Parameters
    ----------
    max_depth : int, optional
        Largest number of splits on a path; by default the fit finds the depth itself.
    min_samples_leaf, max_leaf_nodes, ccp_alpha, max_split_features, sparsity
        As in :class:`DTSemNetClassifier`; ``ccp_alpha`` weighs squared errors of the models of the leaves, and
        ``sparsity="auto"`` allows half a standard error; linear leaves keep all columns that ``max_leaf_features``
        allows.
    max_leaf_features : int, optional
        Most columns that a linear model in a leaf may read, one model for each output; the other weights are exactly
        zero. By default all.
    integer_weights : bool or int, default=False
        Splits of whole numbers, points that a person can add up: weights from -10 to 10 (True), or up to this number,
        and a whole threshold. Columns of numbers are then counted in steps of 1, 2 or 5 times a power of ten, near
        their standard deviation: ``3 (age / 10)`` is 3 points for every 10 years. See
        :func:`~dtsemnet.export.to_scorecard`.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of sets of columns, optional
        Which columns may meet in one split, as in scikit-learn: at most two, one alone, or those of one set, by their
        numbers or names. Columns in no set form one more. All categories of a column, and its missing mark, are that
        column. Held exactly in splits; linear leaves may read all columns.
    monotonic_cst : array_like of int of shape (n_columns,), or dict, optional
        1 if no output may fall as a column rises, -1 if none may rise, 0 for any, column by column or by the names of
        columns. Holds for every row, and each fit ends with a proof (:mod:`dtsemnet.tree.order`). Linear leaves then
        need their guard.
    effort : {0, 1}, default=1
        1 compares about fifteen plans on rows that they were not trained on (random splits of several depths, CART,
        splits where two linear models meet, a single leaf; each with linear leaves shrunk by several strengths, and
        with constants) and carries out the best, or a nearly as good one with fewer leaves, with all rows. 0 costs a
        tenth of that: five starts of one depth (``max_depth``, or 5) are compared on a part of the rows. It is also
        what a fit does if the course of its training is fixed by ``n_init``, ``init``, ``early_stopping``,
        ``refit=False``, another ``training``, or a ``loss`` whose leaves are no means.
    leaf : {"linear", "constant"}, default="linear"
    loss : str, default="squared_error"
        "squared_error", "absolute_error", "huber" or "quantile"; or, with ``leaf="constant"`` and a log link in
        training, the deviances "poisson" (counts and rates, with the exposure as ``sample_weight``), "gamma" (positive
        sizes) or "tweedie" (costs, many of them 0), whose leaves hold means.
    quantile : float, default=0.5
        Quantile that the quantile loss estimates.
    huber_delta : float, default=1.0
        Residual from which Huber's loss is linear, in standard deviations of y.
    tweedie_power : float, default=1.5
        Power of the mean that the variance of Tweedie's distribution is proportional to, between 1 and 2.
    guard : bool, default=True
        Clip outputs to the range of the training targets of the leaf, which bounds linear models on unusual rows.
    training : {"annealed", "paper", "straight_through"}, default="annealed"
        "paper" is its Algorithm 1 with k = 4 and temperature 0.5: joint epochs, epochs on augmented samples, epochs
        on actual samples; leaves stay as trained. "straight_through" is the estimator that the paper compares with.
    max_iter : int, optional
        Epochs of each start. By default as many as make 4,500 steps, at most 500, and at least 10 if the best tree is
        trained on afterwards, else 45.
    n_init : int or "auto", default="auto"
        Number of starts of one depth, each with its own seed and the next of five settings, in place of the plans.
        They are compared by their loss on validation rows, or by leave-one-out errors on the training rows if there
        are fewer than 30. "auto" leaves it to ``effort``.
    early_stopping : bool, default=False
        Measure the loss of the tree on validation rows after each epoch and keep the best state.
    refit : bool, default=True
        Train the best tree on with all rows, as a classifier does, and fit its leaves to them.
    learning_rate, weight_decay, l1, batch_size, max_grad_norm, validation_fraction, n_iter_no_change, tol
        As in :class:`DTSemNetClassifier`.
    categorical_features, missing, init, warm_start, engine, device, n_jobs, checkpoint, random_state, verbose
        As in :class:`DTSemNetClassifier`.

    Attributes
    ----------
    tree_ : Tree
        The model. ``predict`` reads it alone.
    model_, history_, loss_curve_, validation_scores_, n_iter_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`DTSemNetClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> regressor = DTSemNetRegressor(random_state=0).fit(X, y)
    >>> regressor.score(X, y) > 0.5
    True
    """

    _legal: ClassVar[dict[str, Rule]] = RULES | {"training": one_of(*REGRESSION_RECIPES)}
    _task_class: type[RegressionTask] = RegressionTask

    def __init__(
        self,
        max_depth: int | None = None,
        *,
        min_samples_leaf: float = 1,
        max_leaf_nodes: int | None = None,
        ccp_alpha: float = 0.0,
        max_split_features: int | None = None,
        max_leaf_features: int | None = None,
        sparsity: str | None = None,
        integer_weights: bool | int = False,
        interaction_cst: Any = None,
        monotonic_cst: Any = None,
        effort: int = 1,
        leaf: str = "linear",
        loss: str = "squared_error",
        quantile: float = 0.5,
        huber_delta: float = 1.0,
        tweedie_power: float = 1.5,
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
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.max_split_features = max_split_features
        self.max_leaf_features = max_leaf_features
        self.sparsity = sparsity
        self.integer_weights = integer_weights
        self.interaction_cst = interaction_cst
        self.monotonic_cst = monotonic_cst
        self.effort = effort
        self.leaf = leaf
        self.loss = loss
        self.quantile = quantile
        self.huber_delta = huber_delta
        self.tweedie_power = tweedie_power
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

    def _task(self, data: TrainingData, init: Tree | None = None) -> RegressionTask:
        self._check_course(data)
        parameters = self.get_params(deep=False)
        loss_parameter = {"quantile": self.quantile, "tweedie": self.tweedie_power}.get(self.loss, self.huber_delta)
        problem = Regression(data.n_outputs, self.leaf == "linear", self.loss, loss_parameter)  # type: ignore[arg-type]
        return self._task_class(
            data, FitOptions.of(parameters), regression_recipe(self.training, self.loss), problem=problem,
            guard=self.guard, depth=DEPTH if self.max_depth is None else self.max_depth, max_depth=self.max_depth,
            init=initial_tree(self.init, data) if init is None else init,
            overrides={name: parameters[name] for name in OVERRIDES},
        )  # fmt: skip

    def _check_course(self, data: TrainingData) -> None:
        """Refuse parameters that do not go together, or not with these targets."""
        check_sparsity(self)
        check_means(self, data.sample.y)
        if data.direction is not None and self.leaf == "linear" and not self.guard:
            raise ValueError(
                "monotonic_cst keeps linear leaves in order by their guard, but guard=False; leave that out, or pass "
                "leaf='constant'."
            )

    def _encode_y(self, y: Any, *, reset: bool, name: str = "y") -> Array:
        targets = super()._encode_y(y, reset=reset, name=name)
        check_targets(self, targets, name)
        return targets

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on with more rows: small steps on the splits, leaves updated as if fitted to all rows so far.

        Parameters
        ----------
        X, y, sample_weight
            The new rows, as in :meth:`fit`.
        """
        check_parameters(self)
        if not hasattr(self, "model_"):
            return self._fit(X, y, sample_weight, (None, None, None))
        phase = Phase(1, self.learning_rate or 0.001, k=ALL, temperature=0.03)
        self._learn_more(X, y, sample_weight, phase, self.l1 or 0.0)
        return self
