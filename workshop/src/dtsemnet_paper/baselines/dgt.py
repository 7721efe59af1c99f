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
from dataclasses import replace
from typing import Any

import numpy as np

from dtsemnet.fit.fitting import TrainingData
from dtsemnet.tree import Tree
from dtsemnet_paper.baselines.common import check
from dtsemnet_paper.baselines.dgt_fitting import OPTIMIZERS, DGTFitting, Setting
from dtsemnet_paper.baselines.faces import TreeClassifier, TreeRegressor
from dtsemnet_paper.baselines.gradient import fit_by_gradient

__all__ = ["DGTClassifier", "DGTRegressor"]

CLASSIFICATION = tuple(
    Setting(rate, l1, norm)
    for norm in (False, True)
    for rate, l1 in ((0.01, 0.0), (0.03, 0.0), (0.1, 0.0), (0.03, 1e-3))
)
REGRESSION = tuple(
    Setting(rate, l1, norm)
    for norm in (False, True)
    for rate, l1 in ((0.01, 0.0), (0.03, 0.0), (0.003, 3e-4), (0.01, 3e-4))
)


class DGTClassifier(TreeClassifier):
    """DGT for classes: a hard oblique tree trained with quantised gradients.

    Leaves hold one logit a class, trained together with the splits on the cross-entropy of the leaf reached.

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
        Number of starts, each with its own seed and the next setting; "auto" is one for each setting left open. They
        are judged by their error on validation rows, or on training rows where there are fewer than 30 of them.
    validation_fraction : float, default=0.2
        Share of the training rows set aside to judge starts when no ``X_val`` is given.
    refit : bool, default=True
        Train the chosen setting once more on all rows, those set aside included.
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

    The published setting for one data set, no choice left to validation rows:

    >>> published = DGTClassifier(4, learning_rate=0.05, decay=0.99, l1_penalty=0.001, batch_norm=False, max_iter=40)
    """

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

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        _check(self)
        return fit_by_gradient(self, data, DGTFitting, rng, _settings(self, CLASSIFICATION)).tree


class DGTRegressor(TreeRegressor):
    """DGT for numbers: a hard oblique tree with constant leaves, or linear ones (DGT-Linear).

    Parameters
    ----------
    max_depth : int, default=5
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    leaf : {"constant", "linear"}, default="constant"
        "constant" is DGT as published, "linear" is DGT-Linear.
    guard : bool, default=True
        Clip outputs to the range of the training targets of the leaf. The published figures are without.
    learning_rate : float, optional
        By default 0.003 to 0.03 are tried.
    l1_penalty : float, optional
        Penalty on the absolute values of splits and leaves, in standardised features and targets. By default 0 and
        0.0003 are tried.
    batch_norm, decay, optimizer, max_grad_norm, max_iter, batch_size, n_init, validation_fraction, refit
        As in :class:`DGTClassifier`; starts are judged by their squared error.
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

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        _check(self)
        return fit_by_gradient(self, data, DGTFitting, rng, _settings(self, REGRESSION)).tree


def _settings(options: Any, grid: Sequence[Setting]) -> list[Setting]:
    """The grid, less what the user has settled."""
    names = ("learning_rate", "l1_penalty", "batch_norm")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return list(dict.fromkeys(replace(setting, **given) for setting in grid))


def _check(options: Any) -> None:
    decay, l1, norm = options.decay, options.l1_penalty, options.batch_norm
    words = ", ".join(map(repr, OPTIMIZERS))
    check("optimizer", options.optimizer, options.optimizer in OPTIMIZERS, f"one of {words}")
    check("batch_norm", norm, norm in (None, True, False), "True, False or None")
    check("l1_penalty", l1, l1 is None or l1 >= 0, "a number of at least 0, or None")
    check("decay", decay, decay is None or 0 < decay <= 1, "a number above 0, at most 1, or None")
