"""Soft trees, hardened: in training each split sends a share of a row to each side; the result is a hard tree.

Irsoy, Yildiz and Alpaydin, "Soft decision trees", ICPR 2012; Frosst and Hinton, "Distilling
a neural network into a soft decision tree", 2017. A split sends the share
``sigmoid(score / temperature)`` to the right. The loss is the expected loss of a leaf that
the splits draw at random, with Frosst and Hinton's penalty that keeps splits balanced
(:mod:`dtsemnet_paper.baselines.kernels.soft`). Hardening sends each row to the more probable side; the
leaves are then refitted to the rows that reach them.

The best learning rate, and the temperature at which hardening costs least, are not known
beforehand, so starts are compared on validation rows by the hard tree that they end in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.estimators.base import TreeEstimator
from dtsemnet.estimators.kinds import TreeClassifier, TreeRegressor
from dtsemnet.estimators.persistence import Rule, number, or_none
from dtsemnet.fit.data import Sample, Scaling, TrainingData
from dtsemnet.fit.leaves import PENALTIES, LeafFit, RidgeRows, class_tree, count_classes, frequencies, ridge_paths
from dtsemnet.fit.settings import Setting
from dtsemnet.fit.tasks import Candidate
from dtsemnet.training import Cosine, Geometric, Phase, RegressionParameters, Rows, Step
from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.baselines.gradient import GradientEngine, GradientTask, settings_left
from dtsemnet_paper.baselines.kernels.soft import SoftLoss, SoftRates, soft_epoch, soft_outputs

__all__ = ["SoftTreeClassifier", "SoftTreeRegressor"]


SETTINGS = tuple(Setting(rate, (1.0, last)) for last in (1.0, 0.1) for rate in (0.01, 0.1))


class _SoftTree(TreeEstimator):
    """What both soft trees share: the task, and the soft tree that is kept beside the hard one."""

    _legal: ClassVar[dict[str, Rule]] = {"temperature": or_none(number(0, above=True)), "balance": number(0)}
    _soft: SoftNetwork | None

    def _task(self, data: TrainingData, init: Tree | None = None) -> SoftTask:
        return SoftTask(data, self.get_params(deep=False))

    def _keep_candidate(self, best: Candidate) -> None:
        super()._keep_candidate(best)
        self._soft = best.network if isinstance(best, SoftCandidate) else None

    def _soft_outputs(self, X: Any) -> Floats:
        """Mean output of the leaves; a constant is its own soft tree."""
        rows = self._encoded(X)
        if not hasattr(self, "_soft"):
            raise AttributeError(
                f"this {type(self).__name__} came from a model file, which holds the hard tree alone; fit it again."
            )
        return np.tile(self.tree_.value, (len(rows), 1)) if self._soft is None else self._soft.outputs(rows)


class SoftTreeClassifier(_SoftTree, TreeClassifier):
    """A soft tree for classes, hardened.

    Parameters
    ----------
    max_depth : int, default=4
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    learning_rate : float, optional
        Step size of Adam, which falls to 0 along a cosine. By default 0.01 and 0.1 are tried.
    temperature : float, optional
        Last temperature; the first is 1. If the last is 1 too, the temperature stays constant, as published. By default
        1 and 0.1 are tried.
    balance : float, default=0.1
        Weight of the penalty on unbalanced splits, halved with each level.
    weight_decay : float, default=0.001
        Decoupled decay of the splits.
    max_grad_norm : float, optional
        Larger gradients are scaled down to this norm.
    max_iter : int, optional
        Epochs of each start. By default as many as make 4,500 steps, between 20 and 200.
    batch_size : int, default=128
    n_init : int or "auto", default="auto"
        Number of starts, each with its own seed and the next setting; "auto" is one for each setting. They
        are compared by the error of the hard tree on validation rows, or on training rows if there are fewer than 30.
    validation_fraction : float, default=0.2
        Share of the training rows that are set aside to compare starts if ``X_val`` is not given.
    refit : bool, default=True
        Train the best setting once more on all rows, including those set aside.
    class_weight, categorical_features, missing, n_jobs, random_state, verbose
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Attributes
    ----------
    tree_ : Tree
        The hard tree. ``predict`` reads it alone.
    model_, classes_, history_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Notes
    -----
    The DTSemNet paper has no figures for soft trees. See ``docs/baselines.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = SoftTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> classifier.score(X, y) > 0.9, classifier.soft_score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        max_depth: int = 4,
        *,
        learning_rate: float | None = None,
        temperature: float | None = None,
        balance: float = 0.1,
        weight_decay: float = 0.001,
        max_grad_norm: float | None = None,
        max_iter: int | None = None,
        batch_size: int = 128,
        n_init: int | str = "auto",
        validation_fraction: float = 0.2,
        refit: bool = True,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.temperature = temperature
        self.balance = balance
        self.weight_decay = weight_decay
        self.max_grad_norm = max_grad_norm
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.n_init = n_init
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict_proba_soft(self, X: Any) -> Floats:
        """Class probabilities of the soft tree: all leaves, weighted by the probability of reaching them."""
        return self._soft_outputs(X)

    def predict_soft(self, X: Any) -> Array:
        """Most probable class of the soft tree."""
        return self.classes_[self.predict_proba_soft(X).argmax(axis=1)]

    def soft_score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the soft tree; ``score`` is that of the hard one."""
        return float(accuracy_score(y, self.predict_soft(X), sample_weight=sample_weight))


class SoftTreeRegressor(_SoftTree, TreeRegressor):
    """A soft tree for numbers, hardened.

    Parameters
    ----------
    max_depth : int, default=5
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    leaf : {"constant", "linear"}, default="constant"
    guard : bool, default=True
        Clip outputs of the hard tree to the range of the training targets of the leaf.
    learning_rate, temperature, balance, weight_decay, max_grad_norm, max_iter, batch_size, n_init, validation_fraction
        As in :class:`SoftTreeClassifier`; starts are compared by the squared error of the hard tree.
    refit, categorical_features, missing, n_jobs, random_state, verbose
        As in :class:`SoftTreeClassifier`.

    Attributes
    ----------
    tree_ : Tree
        The hard tree. ``predict`` reads it alone.
    model_, history_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~dtsemnet.DTSemNetRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> regressor = SoftTreeRegressor(max_depth=2, leaf="linear", random_state=0).fit(X, y)
    >>> regressor.score(X, y) > 0.45, regressor.soft_score(X, y) > 0.45
    (True, True)
    """

    def __init__(
        self,
        max_depth: int = 5,
        *,
        leaf: str = "constant",
        guard: bool = True,
        learning_rate: float | None = None,
        temperature: float | None = None,
        balance: float = 0.1,
        weight_decay: float = 0.001,
        max_grad_norm: float | None = None,
        max_iter: int | None = None,
        batch_size: int = 128,
        n_init: int | str = "auto",
        validation_fraction: float = 0.2,
        refit: bool = True,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.leaf = leaf
        self.guard = guard
        self.learning_rate = learning_rate
        self.temperature = temperature
        self.balance = balance
        self.weight_decay = weight_decay
        self.max_grad_norm = max_grad_norm
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.n_init = n_init
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.categorical_features = categorical_features
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict_soft(self, X: Any) -> Floats:
        """Output of the soft tree: all leaves, weighted by the probability of reaching them."""
        output = self._soft_outputs(X)
        return output[:, 0] if output.shape[1] == 1 else output

    def soft_score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2 of the soft tree; ``score`` is that of the hard one."""
        return float(r2_score(y, self.predict_soft(X), sample_weight=sample_weight))


@dataclass(frozen=True)
class SoftNetwork:
    """The soft tree as it was trained.

    Parameters
    ----------
    topology : Topology
    splits : array of shape (n_splits, n_features + 1)
        In training coordinates.
    leaves : array of shape (n_leaves * n_outputs, n_columns)
        Class probabilities, or models of the standardised targets.
    temperature : float
    scaling : Scaling
        Map of the features to training coordinates.
    center, scale : arrays of shape (n_outputs,)
        Mean and standard deviation of the targets; 0 and 1 for classes.
    """

    topology: Topology
    splits: Floats
    leaves: Floats
    temperature: float
    scaling: Scaling
    center: Floats
    scale: Floats

    def outputs(self, X: Array) -> Floats:
        """Mean output of the leaves for encoded rows."""
        sample = Sample(X, np.arange(len(X)), np.empty(len(X)), np.ones(len(X)))
        rows = self.scaling.apply(sample, np.float64)
        mixed: Floats = soft_outputs(
            rows, self.topology.children, self.splits, self.leaves, len(self.center), self.temperature
        )
        return mixed * self.scale + self.center


@dataclass(frozen=True)
class SoftCandidate(Candidate):
    """A hard tree with the soft tree that it was made of."""

    network: SoftNetwork | None = None


@dataclass(frozen=True)
class SoftParameters(RegressionParameters):
    """Splits and leaves, and the temperature of the last epoch."""

    temperature: float = 1.0


class SoftEngine(GradientEngine):
    """Splits and leaves, trained softly.

    Parameters
    ----------
    rows, topology, batch_size
        As in :class:`GradientEngine`.
    parameters : RegressionParameters
        Where training begins.
    setting : Setting
    penalty : array of shape (n_splits,)
        Weight of the penalty on unbalanced splits.
    classes : bool
        Leaves hold class logits, else numbers.
    """

    def __init__(
        self, rows: Rows, topology: Topology, batch_size: int, *,
        parameters: RegressionParameters, setting: Setting, penalty: Floats, classes: bool,
    ) -> None:  # fmt: skip
        super().__init__(rows, topology, batch_size, splits=parameters.splits, leaves=parameters.leaves)
        self.setting, self.penalty, self.classes, self.temperature = setting, penalty, classes, 1.0

    def parameters(self) -> SoftParameters:
        return SoftParameters(self.values("splits"), self.values("leaves"), temperature=self.temperature)

    def train_batches(self, order: Ints, step: Step) -> tuple[float, int]:
        self.temperature = float(step.temperature)
        decay, clip = float(self.setting.weight_decay), float(self.setting.max_grad_norm)
        return soft_epoch(
            self.rows, order, self.batch_size, self.topology.children, self.trained["splits"], self.trained["leaves"],
            self.n_steps, SoftLoss(self.classes, self.temperature, self.penalty),
            SoftRates(float(step.learning_rate), decay, clip),
        )  # fmt: skip


class SoftTask(GradientTask[Setting]):
    """Fit a soft tree, and harden it."""

    def __init__(self, data: TrainingData, parameters: dict[str, Any]) -> None:
        last = parameters["temperature"]
        given = {name: parameters[name] for name in ("learning_rate", "weight_decay", "max_grad_norm")}
        given["temperature"] = None if last is None else (1.0, last)
        super().__init__(data, parameters, settings_left(SETTINGS, given))
        self.balance = parameters["balance"]

    def initial(
        self, setting: Setting, train: Sample, rng: np.random.Generator, init: Tree | None
    ) -> RegressionParameters:
        n_splits, n_leaves, n_features = self.topology.n_splits, self.topology.n_leaves, self.data.n_features
        splits = rng.standard_normal((n_splits, n_features + 1)) / np.sqrt(n_features + 1)
        shape = (n_leaves, self.n_outputs)
        if not self.classes:
            shape = (n_leaves * self.n_outputs, n_features + 1 if self.linear else 1)
        return RegressionParameters(splits, rng.standard_normal(shape) * 0.1)

    def phases(self, setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
        return (Phase(n_epochs, Cosine(setting.learning_rate), temperature=Geometric(*setting.temperature)),)

    def engine(self, setting: Setting, parameters: RegressionParameters, rows: Rows) -> SoftEngine:
        level = np.floor(np.log2(np.arange(self.topology.n_splits) + 1))
        return SoftEngine(
            rows, self.topology, self.options.batch_size, parameters=parameters, setting=setting,
            penalty=(self.balance * 0.5**level).astype(rows.X.dtype), classes=self.classes,
        )  # fmt: skip

    def class_leaves(self, tree: Tree, leaves: Floats, train: Sample) -> Tree:
        """Count the classes of the rows that reach a leaf."""
        table = count_classes(tree, train, self.n_outputs) / train.weight.mean()
        return class_tree(tree, frequencies(tree.topology, table, leaves.argmax(axis=1)), self.data)

    def number_leaves(self, tree: Tree, leaves: Floats, train: Sample) -> Tree:
        """Fit the leaves to the rows that reach them."""
        standard = train.with_targets(self.data.standardise(train.y))
        fits = [LeafFit(False, penalty) for penalty in (PENALTIES if self.linear else PENALTIES[:1])]
        fitted = ridge_paths(tree, RidgeRows(standard, self.data.scaling), fits, linear=self.linear)
        model = min(fitted, key=lambda pair: pair[0])[1]
        return self.guarded(tree, model.reshape(len(leaves), -1), train)

    def fill(
        self,
        tree: Tree,
        trained: RegressionParameters | None,
        train: Sample,
        held: Sample | None,
        chosen: LeafFit | None = None,
    ) -> Candidate:
        assert isinstance(trained, SoftParameters)
        filled, leaves = super().fill(tree, trained, train, held, chosen), trained.leaves
        center: Floats = np.zeros(self.n_outputs)
        scale: Floats = np.ones(self.n_outputs)
        if self.classes:
            leaves = np.exp(leaves - leaves.max(axis=1, keepdims=True))
            leaves = (leaves / leaves.sum(axis=1, keepdims=True)).reshape(-1, 1)
        else:
            center, scale = self.data.target_scale
        network = SoftNetwork(
            self.topology, trained.splits, leaves, trained.temperature, self.data.scaling, center, scale
        )
        return SoftCandidate(filled.tree, filled.score, network=network)
