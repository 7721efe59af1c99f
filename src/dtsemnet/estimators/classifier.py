"""DTSemNetClassifier: a hard oblique decision tree for classes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from dtsemnet.estimators.base import initial_tree
from dtsemnet.estimators.checks import RULES, check_sparsity, warn_user
from dtsemnet.estimators.multilabel import MultilabelClassifier, read_labels
from dtsemnet.estimators.persistence import Rule, check_parameters, one_of
from dtsemnet.estimators.pruning import PrunableEstimator
from dtsemnet.fit.class_task import ClassTask
from dtsemnet.fit.data import TrainingData
from dtsemnet.fit.regression_task import RegressionTask
from dtsemnet.fit.settings import CLASSIFICATION_RECIPES, LAST_Q, OVERRIDES, FitOptions, regression_recipe
from dtsemnet.fit.tasks import OurTask
from dtsemnet.training import ALL, Phase, Regression
from dtsemnet.tree import Tree

__all__ = ["DTSemNetClassifier"]

DEPTH = 4
"""Depth if ``max_depth`` is None and no shapes are compared, or more to give each class a leaf."""


class DTSemNetClassifier(MultilabelClassifier, PrunableEstimator):
    """A hard oblique decision tree, trained by gradient descent without approximation.

    Each split tests a linear combination of the features. The tree is trained as the network that computes the
    same function. The default needs no tuning: a dozen plans (random splits of several depths and strengths, CART, a
    logistic regression read as a tree, a tree grown greedily) are compared on rows that they were not trained on, and
    the best, or a nearly as good one with fewer leaves, is carried out with all rows.

    A matrix of 0 and 1 as ``y`` gives each row several labels; see :mod:`dtsemnet.estimators.multilabel`.

    Parameters
    ----------
    max_depth : int, optional
        Largest number of splits on a path; by default the fit finds the depth itself. If there are fewer leaves than
        classes, the rarest classes get none.
    min_samples_leaf : int or float, default=1
        Fewest training rows of a leaf, or their share of all rows if below 1. Smaller leaves are removed, and their
        rows go on to the sibling.
    max_leaf_nodes : int, optional
        Largest number of leaves. The splits that are worth least are collapsed.
    ccp_alpha : float, default=0.0
        Minimal cost-complexity pruning, as in scikit-learn: splits that lower the Gini impurity by no more than this
        per leaf are collapsed; see :meth:`cost_complexity_path`.
    max_split_features : int, optional
        Most columns that a split may read; by default all. A hard limit: the other weights are exactly zero. The
        features of one column (its categories, its missing mark) count as one. Splits lose columns during
        training, so that those that are left and the other splits adapt.
    sparsity : {"auto"}, optional
        "auto" also tries trees whose splits read at most 10, 5, 3, 2 and 1 columns, and takes the one whose splits
        read the fewest columns in all among those that are no more than three quarters of a standard error worse than
        the best on rows that they were not trained on. See :meth:`sparsity_path`.
    integer_weights : bool or int, default=False
        Splits of whole numbers, points that a person can add up: weights from -10 to 10 (True), or up to this number,
        and a whole threshold. Columns of numbers are then counted in steps of 1, 2 or 5 times a power of ten, near
        their standard deviation: ``3 (age / 10)`` is 3 points for every 10 years. See
        :func:`~dtsemnet.export.to_scorecard`.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of sets of columns, optional
        Which columns may meet in one split, as in scikit-learn: at most two, one alone, or those of one set, by their
        numbers or names. Columns in no set form one more. All categories of a column, and its missing mark, are that
        column. Held exactly.
    monotonic_cst : array_like of int of shape (n_columns,), or dict, optional
        For two classes: 1 if the probability of the second one must not fall as a column rises, -1 if it must not rise,
        0 for any, column by column or by the names of columns. Holds for every row, and for margin probabilities as
        for the shares of leaves; each fit ends with a proof (:mod:`dtsemnet.tree.order`). Columns of categories have
        no order. A row whose value is missing is not compared with others.
    effort : {0, 1}, default=1
        1 chooses the shape of the tree as told above. 0 costs a tenth of that: four starts of one depth (``max_depth``,
        or 4) and one of the smallest tree are compared on a part of the rows. It is also what a fit does if the
        course of its training is fixed by ``n_init``, ``init``, ``early_stopping``, ``refit=False`` or another
        ``training``.
    probability : {"margin", "leaf"}, default="margin"
        What ``predict_proba`` reads: the margins by which a row would have to move to reach each class together with
        the shares of its leaf (:class:`~dtsemnet.tree.MarginProbability`), calibrated on rows that the trees had not
        seen; or the shares of the leaf alone. ``predict`` does not depend on it.
    training : {"annealed", "paper"}, default="annealed"
        "annealed" pools the leaves of a class smoothly at a falling temperature, with a loss that becomes bounded;
        the last epochs train the tree itself. "paper" is max-pooled cross-entropy from the first step.
    max_iter : int, optional
        Epochs of each start. By default as many as make 4,500 steps, at most 200 (fewer if the tree is deeper than
        4), and at least 10 if the best tree is trained on afterwards, else 45.
    learning_rate, weight_decay, l1 : float, optional
        Step size of Adam, decoupled weight decay of the splits, and L1 penalty on them in standardised features. By
        default those of the settings that are tried.
    batch_size : int, default=128
    max_grad_norm : float, optional
        Larger gradients are scaled down to this norm.
    n_init : int or "auto", default="auto"
        Number of starts of one depth, each with its own seed and the next of four settings, in place of the plans.
        They are compared by their error on validation rows, or on training rows if there are fewer than 30. "auto"
        leaves it to ``effort``.
    early_stopping : bool, default=False
        Measure the error on validation rows after each epoch, keep the best state, and stop if the error has not
        improved by more than ``tol`` for ``n_iter_no_change`` epochs.
    validation_fraction : float, default=0.2
        Share of the training rows that are set aside to compare starts, or plans on tables of more than 4,000 rows, if
        ``X_val`` is not given. Nothing is set aside for a single start without early stopping.
    n_iter_no_change : int, default=20
    tol : float, default=0.0
    refit : bool, default=True
        Train the best tree on with all rows, including those set aside, for half as many epochs as a start; at least
        45 unless ``max_iter`` is given.
    class_weight : dict, "balanced", optional
        Weights of classes, multiplied with the sample weights.
    categorical_features : "from_dtype", None, or list, default="from_dtype"
        Columns that are read as categories: those of string or category type in a data frame, none, or those listed.
    missing : {"indicator", "error"}, default="indicator"
        "indicator": a column with missing values in training gets a feature that is 1 if the value is missing; others
        fill values that are missing later with the training mean or the most frequent category, and warn. "error":
        every missing value is an error.
    init : Tree, Model or fitted scikit-learn tree, optional
        Tree to start from, of any shape (``max_depth`` is not used then). The result is never worse on the
        validation rows. ``clone`` resets a scikit-learn tree but not a ``Tree``.
    warm_start : bool, default=False
        Start from the tree of the last ``fit``.
    engine : {"cpu", "torch"}, default="cpu"
    device : str, optional
        Device of the torch engine.
    n_jobs : int, optional
        Number of starts that run at the same time, and of threads that share the rows of a prediction; results do not
        depend on it.
    checkpoint : path, optional
        Folder that each start is written to, at most once a second and at its end. A fit that was killed resumes from
        there if it is called again with the same data and parameters.
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
    classes_ : ndarray, or list of ndarray
        For a matrix of labels the two values of each.
    history_ : History
        Training history of the tree that was kept.
    loss_curve_, validation_scores_, n_iter_ : list, list or None, int
    feature_importances_ : ndarray of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : ndarray
        If X had column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = DTSemNetClassifier(random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.95
    True
    """

    _legal: ClassVar[dict[str, Rule]] = RULES | {"training": one_of(*CLASSIFICATION_RECIPES)}
    _task_class: type[ClassTask] = ClassTask

    def __init__(
        self,
        max_depth: int | None = None,
        *,
        min_samples_leaf: float = 1,
        max_leaf_nodes: int | None = None,
        ccp_alpha: float = 0.0,
        max_split_features: int | None = None,
        sparsity: str | None = None,
        integer_weights: bool | int = False,
        interaction_cst: Any = None,
        monotonic_cst: Any = None,
        effort: int = 1,
        probability: str = "margin",
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
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.max_split_features = max_split_features
        self.sparsity = sparsity
        self.integer_weights = integer_weights
        self.interaction_cst = interaction_cst
        self.monotonic_cst = monotonic_cst
        self.effort = effort
        self.probability = probability
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

    def _task(self, data: TrainingData, init: Tree | None = None) -> OurTask[Any]:
        parameters = self.get_params(deep=False)
        check_sparsity(self)
        if init is None:
            init = initial_tree(self.init, data)
        if data.class_names is None:
            return self._labels_task(data, init)
        depth = max(DEPTH, (data.n_outputs - 1).bit_length()) if self.max_depth is None else self.max_depth
        _warn_of_few_leaves(2**depth if init is None else init.n_leaves, data.n_outputs)
        return self._task_class(
            data, FitOptions.of(parameters), CLASSIFICATION_RECIPES[self.training], depth=depth,
            max_depth=self.max_depth, init=init, overrides={name: parameters[name] for name in OVERRIDES},
        )  # fmt: skip

    def _labels_task(self, data: TrainingData, init: Tree | None) -> RegressionTask:
        """The task that finds a tree of shares, for a matrix of labels."""
        parameters = self.get_params(deep=False)
        return RegressionTask(
            data, FitOptions.of(parameters), regression_recipe(self.training, "squared_error"),
            problem=Regression(data.n_outputs, linear=False), guard=False,
            depth=DEPTH if self.max_depth is None else self.max_depth, max_depth=self.max_depth, init=init,
            overrides={name: parameters[name] for name in OVERRIDES},
        )  # fmt: skip

    def _is_trivial(self, data: TrainingData) -> bool:
        if data.class_names is None:
            return data.is_constant
        # Rows of one class are not trivial if more classes are known: partial_fit may bring rows of the others.
        return data.n_outputs == 1 or len(data.sample) == 1

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on with more rows: one epoch of small steps on the tree as it is, and their classes counted in.

        Margin probabilities keep the calibration of the first fit: it comes from rows that trees had not seen, and
        every row that comes here has been. The shares of the leaves, which they rest on too, are counted anew.

        Parameters
        ----------
        X, y, sample_weight
            The new rows, as in :meth:`fit`.
        classes : array_like, optional
            All classes; needed in the first call, but not for a matrix of labels.
        """
        check_parameters(self)
        if read_labels(y) is not None:
            if classes is not None:
                raise ValueError("classes must be None for a matrix of labels, whose columns say what there is.")
            if not hasattr(self, "model_"):
                return self._fit(X, y, sample_weight, (None, None, None))
            phase = Phase(1, self.learning_rate or 0.001, k=ALL, temperature=0.03)
            self._learn_more(X, y, sample_weight, phase, self.l1 or 0.0)
            return self
        if not hasattr(self, "model_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            return self._fit(X, y, sample_weight, (None, None, None), classes=np.unique(classes))
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes differ from those of the first call to partial_fit, {self.classes_.tolist()}.")
        self._learn_more(X, y, sample_weight, Phase(1, self.learning_rate or 0.003, q=LAST_Q), self.l1 or 0.0)
        return self


def _warn_of_few_leaves(n_leaves: int, n_classes: int) -> None:
    if n_leaves < n_classes:
        warn_user(
            f"{n_classes} classes but only {n_leaves} leaves: the rarest classes hold none and are never "
            f"predicted; max_depth={int(np.ceil(np.log2(n_classes)))} gives each a leaf.",
        )
