"""Soft trees, hardened: trained with every split sending a share of a row each way, then read as a hard tree.

Irsoy, Yildiz and Alpaydin, "Soft decision trees", ICPR 2012; Frosst and Hinton, "Distilling
a neural network into a soft decision tree", 2017. A split sends the share
``sigmoid(score / temperature)`` to the right. Trained is the mean loss of a leaf drawn by
the splits, with Frosst and Hinton's penalty that keeps splits balanced
(:mod:`dtsemnet_paper.baselines.kernels.soft`). Hardening sends each row to the more probable side; the
leaves are then fitted anew to the rows that reach them.

Neither the temperature that loses least by hardening nor the rate is known beforehand:
starts are judged, on rows set aside, by the hard tree they end in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from dtsemnet.arrays import Array, Floats
from dtsemnet.fit.fitting import TrainingData
from dtsemnet.tree import Tree
from dtsemnet_paper.baselines.common import check
from dtsemnet_paper.baselines.faces import TreeClassifier, TreeRegressor
from dtsemnet_paper.baselines.gradient import fit_by_gradient
from dtsemnet_paper.baselines.soft_fitting import Setting, SoftFitting

__all__ = ["SoftTreeClassifier", "SoftTreeRegressor"]


SETTINGS = tuple(Setting(rate, last) for last in (1.0, 0.1) for rate in (0.01, 0.1))


class SoftTreeClassifier(TreeClassifier):
    """A soft tree for classes, hardened.

    Parameters
    ----------
    max_depth : int, default=4
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    learning_rate : float, optional
        Of Adam, falling to 0 along a cosine. By default 0.01 and 0.1 are tried.
    temperature : float, optional
        To which the temperature falls, from 1, in the course of the training; 1 keeps it there, as published. By
        default 1 and 0.1 are tried.
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
        Number of starts, each with its own seed and the next setting; "auto" is one for each setting left open. They
        are judged by the error of the hard tree on validation rows, or on training rows where there are fewer than 30.
    validation_fraction : float, default=0.2
        Share of the training rows set aside to judge starts when no ``X_val`` is given.
    refit : bool, default=True
        Train the chosen setting once more on all rows, those set aside included.
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

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        best = fit_by_gradient(self, data, SoftFitting, rng, _settings(self))
        self._soft = best.way
        return best.tree

    def predict_proba_soft(self, X: Any) -> Floats:
        """Class probabilities of the soft tree: all leaves, weighed by the probability of reaching them."""
        return _soft_outputs(self, X)

    def predict_soft(self, X: Any) -> Array:
        """Most probable class of the soft tree."""
        return self.classes_[self.predict_proba_soft(X).argmax(axis=1)]

    def soft_score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the soft tree; ``score`` is that of the hard one."""
        return float(accuracy_score(y, self.predict_soft(X), sample_weight=sample_weight))


class SoftTreeRegressor(TreeRegressor):
    """A soft tree for numbers, hardened.

    Parameters
    ----------
    max_depth : int, default=5
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    leaf : {"constant", "linear"}, default="constant"
    guard : bool, default=True
        Clip outputs of the hard tree to the range of the training targets of the leaf.
    learning_rate, temperature, balance, weight_decay, max_grad_norm, max_iter, batch_size, n_init, validation_fraction
        As in :class:`SoftTreeClassifier`; starts are judged by the squared error of the hard tree.
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

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        best = fit_by_gradient(self, data, SoftFitting, rng, _settings(self))
        self._soft = best.way
        return best.tree

    def predict_soft(self, X: Any) -> Floats:
        """Output of the soft tree: all leaves, weighed by the probability of reaching them."""
        output = _soft_outputs(self, X)
        return output[:, 0] if output.shape[1] == 1 else output

    def soft_score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2 of the soft tree; ``score`` is that of the hard one."""
        return float(r2_score(y, self.predict_soft(X), sample_weight=sample_weight))


def _settings(options: Any, grid: Sequence[Setting] = SETTINGS) -> list[Setting]:
    """The grid, less what the user has settled."""
    temperature = options.temperature
    check("temperature", temperature, temperature is None or temperature > 0, "a positive number, or None")
    check("balance", options.balance, options.balance >= 0, "a number of at least 0")
    given = {n: getattr(options, n) for n in ("learning_rate", "temperature") if getattr(options, n) is not None}
    return list(dict.fromkeys(replace(setting, **given) for setting in grid))


def _soft_outputs(estimator: Any, X: Any) -> Floats:
    """What the soft tree of an estimator says of rows; a constant is its own soft tree."""
    rows, tree = estimator._encoded(X), estimator.tree_
    if not hasattr(estimator, "_soft"):
        raise AttributeError(
            f"this {type(estimator).__name__} came from a model file, which holds the hard tree alone; fit it again."
        )
    if estimator._soft is None:
        return np.tile(tree.value, (len(rows), 1))
    found: Floats = estimator._soft.outputs(rows)
    return found
