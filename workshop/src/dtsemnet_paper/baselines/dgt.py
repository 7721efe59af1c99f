"""DGT: dense gradient trees, trained hard with quantised gradients.

Karthikeyan, Jain, Natarajan and Jain, "Learning accurate decision trees with bandit
feedback via quantized gradient descent", TMLR 2022. A complete tree as a network with
sign activations; the forward pass is the tree, the backward pass replaces the signs and
the choice of the leaf by straight-through estimators (:mod:`dtsemnet_paper.baselines.kernels.dgt`).
DGT-Linear is the same tree with linear models in its leaves, as the DTSemNet paper
compares with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.estimators.kinds import TreeClassifier, TreeRegressor
from dtsemnet.estimators.persistence import Rule, number, one_of, or_none
from dtsemnet.fit.data import BLOCK, Sample, TrainingData
from dtsemnet.fit.leaves import class_tree
from dtsemnet.fit.settings import Setting
from dtsemnet.training import Cosine, Decay, Phase, RegressionParameters, Rows, Step
from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.baselines.gradient import GradientEngine, GradientTask, settings_left
from dtsemnet_paper.baselines.kernels import dgt as kernels
from dtsemnet_paper.baselines.kernels.descent import ADAM, RMSPROP, SGD

__all__ = ["DGTClassifier", "DGTEngine", "DGTRegressor", "DGTSetting"]

OPTIMIZERS = {"adam": ADAM, "rmsprop": RMSPROP, "sgd": SGD}


@dataclass(frozen=True)
class DGTSetting(Setting):
    """The hyper-parameters of one start; ``batch_norm`` normalises the scores of each split over the batch."""

    batch_norm: bool = False


CLASSIFICATION = tuple(
    DGTSetting(rate, l1=l1, batch_norm=norm)
    for norm in (False, True)
    for rate, l1 in ((0.01, 0.0), (0.03, 0.0), (0.1, 0.0), (0.03, 1e-3))
)
REGRESSION = tuple(
    DGTSetting(rate, l1=l1, batch_norm=norm)
    for norm in (False, True)
    for rate, l1 in ((0.01, 0.0), (0.03, 0.0), (0.003, 3e-4), (0.01, 3e-4))
)
LEGAL = {
    "optimizer": one_of(*OPTIMIZERS),
    "batch_norm": one_of(True, False, None),
    "l1_penalty": or_none(number(0)),
    "decay": or_none(number(0, 1, above=True)),
}


class DGTClassifier(TreeClassifier):
    """DGT for classes: a hard oblique tree trained with quantised gradients.

    Leaves hold one logit per class, trained together with the splits on the cross-entropy of the leaf reached.

    Parameters
    ----------
    max_depth : int, default=4
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    learning_rate : float, optional
        By default 0.01, 0.03 and 0.1 are tried.
    batch_norm : bool, optional
        Normalise the scores of each split over the batch, folded into the tree at the end. By default both are tried.
    decay : float, optional
        Factor of the learning rate after each epoch, as published. By default the rate falls to 0 along a cosine.
    l1_penalty : float, optional
        Penalty on the absolute values of the splits, in standardised features. By default 0 and 0.001 are tried.
    optimizer : {"adam", "rmsprop", "sgd"}, default="adam"
    max_grad_norm : float, optional
        Larger gradients are scaled down to this norm; published settings for large sets have 0.01.
    max_iter : int, optional
        Epochs of each start. By default as many as make 4,500 steps, between 20 and 200.
    batch_size : int, default=128
    n_init : int or "auto", default="auto"
        Number of starts, each with its own seed and the next setting; "auto" is one for each setting. They
        are compared by their error on validation rows, or on training rows if there are fewer than 30.
    validation_fraction : float, default=0.2
        Share of the training rows that are set aside to compare starts if ``X_val`` is not given.
    refit : bool, default=True
        Train the best setting once more on all rows, including those set aside.
    class_weight, categorical_features, missing, n_jobs, random_state, verbose
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Attributes
    ----------
    tree_ : Tree
        The model. ``predict`` reads it alone.
    model_, classes_, history_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Notes
    -----
    Unlike the published runs, the rate falls to 0 and validation rows choose the setting; over-parametrised splits are
    left out. ``paper/REPORT.md`` has its figures beside the published ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> DGTClassifier(max_depth=2, random_state=0).fit(X, y).score(X, y) > 0.9
    True

    The published setting for one data set, with nothing left to choose:

    >>> published = DGTClassifier(4, learning_rate=0.05, decay=0.99, l1_penalty=0.001, batch_norm=False, max_iter=40)
    """

    _legal: ClassVar[dict[str, Rule]] = LEGAL

    def __init__(
        self,
        max_depth: int = 4,
        *,
        learning_rate: float | None = None,
        batch_norm: bool | None = None,
        decay: float | None = None,
        l1_penalty: float | None = None,
        optimizer: str = "adam",
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
        self.batch_norm = batch_norm
        self.decay = decay
        self.l1_penalty = l1_penalty
        self.optimizer = optimizer
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

    def _task(self, data: TrainingData, init: Tree | None = None) -> DGTTask:
        return DGTTask(data, self.get_params(deep=False), CLASSIFICATION)


class DGTRegressor(TreeRegressor):
    """DGT for numbers: a hard oblique tree with constant leaves, or linear ones (DGT-Linear).

    Parameters
    ----------
    max_depth : int, default=5
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    leaf : {"constant", "linear"}, default="constant"
        "constant" is DGT as published, "linear" is DGT-Linear.
    guard : bool, default=True
        Clip outputs to the range of the training targets of the leaf. The published runs do not.
    learning_rate : float, optional
        By default 0.003 to 0.03 are tried.
    l1_penalty : float, optional
        Penalty on the absolute values of splits and leaves, in standardised features and targets. By default 0 and
        0.0003 are tried.
    batch_norm, decay, optimizer, max_grad_norm, max_iter, batch_size, n_init, validation_fraction, refit
        As in :class:`DGTClassifier`; starts are compared by their squared error.
    categorical_features, missing, n_jobs, random_state, verbose
        As in :class:`~dtsemnet.DTSemNetRegressor`.

    Attributes
    ----------
    tree_ : Tree
        The model. ``predict`` reads it alone.
    model_, history_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~dtsemnet.DTSemNetRegressor`.

    Notes
    -----
    Unlike the published runs, the rate falls to 0, validation rows choose the setting and outputs are guarded;
    over-parametrised splits are left out. ``paper/REPORT.md`` has its figures beside the published ones.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> DGTRegressor(max_depth=2, leaf="linear", random_state=0).fit(X, y).score(X, y) > 0.45
    True
    """

    _legal: ClassVar[dict[str, Rule]] = LEGAL

    def __init__(
        self,
        max_depth: int = 5,
        *,
        leaf: str = "constant",
        guard: bool = True,
        learning_rate: float | None = None,
        batch_norm: bool | None = None,
        decay: float | None = None,
        l1_penalty: float | None = None,
        optimizer: str = "adam",
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
        self.batch_norm = batch_norm
        self.decay = decay
        self.l1_penalty = l1_penalty
        self.optimizer = optimizer
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

    def _task(self, data: TrainingData, init: Tree | None = None) -> DGTTask:
        return DGTTask(data, self.get_params(deep=False), REGRESSION)


class DGTEngine(GradientEngine):
    """Splits, their normalisation and leaves, trained with quantised gradients.

    Parameters
    ----------
    rows, topology, batch_size
        As in :class:`GradientEngine`.
    parameters : RegressionParameters
        Where training begins.
    setting : DGTSetting
    optimizer : {"adam", "rmsprop", "sgd"}
    classes : bool
        Leaves hold class logits, else numbers.
    """

    def __init__(
        self, rows: Rows, topology: Topology, batch_size: int, *,
        parameters: RegressionParameters, setting: DGTSetting, optimizer: str, classes: bool,
    ) -> None:  # fmt: skip
        norm = np.tile([1.0, 0.0], (topology.n_splits if setting.batch_norm else 0, 1))
        super().__init__(rows, topology, batch_size, splits=parameters.splits, norm=norm, leaves=parameters.leaves)
        self.classes, clip, l1 = classes, float(setting.max_grad_norm), float(setting.l1)
        self.rates = kernels.DGTRates(OPTIMIZERS[optimizer], 0.0, l1, 0.0 if classes else l1, clip)

    def train_batches(self, order: Ints, step: Step) -> tuple[float, int]:
        trained, rates = self.trained, self.rates._replace(rate=float(step.learning_rate))
        return kernels.dgt_epoch(
            self.rows, order, self.batch_size, self.topology.children, trained["splits"], trained["norm"],
            trained["leaves"], self.classes, self.n_steps, rates,
        )  # fmt: skip

    def parameters(self) -> RegressionParameters:
        """Leaves, and splits with the normalisation folded in."""
        return RegressionParameters(self.folded_splits(), self.values("leaves"))

    def folded_splits(self) -> Floats:
        """Splits with the normalisation folded in, by the mean and deviation of their scores over all rows."""
        splits, norm = self.values("splits"), self.values("norm")
        if not len(norm):
            return splits
        total, square, n_rows = 0.0, 0.0, len(self.rows.X)
        for start in range(0, n_rows, BLOCK):
            scores = self.rows.X[start : start + BLOCK].astype(np.float64) @ splits[:, :-1].T
            total, square = total + scores.sum(axis=0), square + np.square(scores).sum(axis=0)
        mean = total / n_rows
        deviation = np.sqrt(np.maximum(square / n_rows - mean**2, 0) + kernels.EPSILON)
        factor = norm[:, 0] / deviation
        return np.column_stack([splits[:, :-1] * factor[:, None], norm[:, 1] - mean * factor])


class DGTTask(GradientTask[DGTSetting]):
    """Fit a dense gradient tree. Its leaves are used as they were trained."""

    def __init__(self, data: TrainingData, parameters: dict[str, Any], grid: Sequence[DGTSetting]) -> None:
        names = {"learning_rate": "learning_rate", "l1_penalty": "l1", "batch_norm": "batch_norm"}
        given = {name: parameters[parameter] for parameter, name in names.items()}
        settings = settings_left(grid, {**given, "max_grad_norm": parameters["max_grad_norm"]})
        super().__init__(data, parameters, settings)
        self.optimizer, self.decay = parameters["optimizer"], parameters["decay"]

    def initial(
        self, setting: DGTSetting, train: Sample, rng: np.random.Generator, init: Tree | None
    ) -> RegressionParameters:
        n_splits, n_leaves, n_features = self.topology.n_splits, self.topology.n_leaves, self.data.n_features
        splits = rng.uniform(-1, 1, (n_splits, n_features + 1)) / np.sqrt(n_features)
        splits[:, -1] = 0.0
        leaves = rng.uniform(-1, 1, (n_leaves * self.n_outputs, n_features + 1 if self.linear else 1))
        return RegressionParameters(splits, leaves / np.sqrt(n_features if self.linear else n_leaves))

    def phases(self, setting: DGTSetting, n_epochs: int) -> tuple[Phase, ...]:
        rate = setting.learning_rate
        return (Phase(n_epochs, Cosine(rate) if self.decay is None else Decay(rate, self.decay)),)

    def engine(self, setting: DGTSetting, parameters: RegressionParameters, rows: Rows) -> DGTEngine:
        return DGTEngine(
            rows, self.topology, self.options.batch_size, parameters=parameters, setting=setting,
            optimizer=self.optimizer, classes=self.classes,
        )  # fmt: skip

    def class_leaves(self, tree: Tree, leaves: Floats, train: Sample) -> Tree:
        logits = leaves.reshape(tree.n_leaves, self.n_outputs)
        value = np.exp(logits - logits.max(axis=1, keepdims=True))
        return class_tree(tree, value / value.sum(axis=1, keepdims=True), self.data)

    def number_leaves(self, tree: Tree, leaves: Floats, train: Sample) -> Tree:
        return self.guarded(tree, leaves, train)
