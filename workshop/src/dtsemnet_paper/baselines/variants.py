"""The paper's own variants of DTSemNet for regression, for its comparisons and ablations.

- *STE*: the leaf reached predicts; its choice gets the gradient of a softmax over leaves
  (straight-through estimator). As a configuration: ``DTSemNetRegressor(training="straight_through")``.
- *Top-k*: the paper's Algorithm 1, ``DTSemNetRegressor(training="paper")``.
- *Top-k/Reg-1*: as Top-k, but the outputs of the second to the k-th choice are held
  constant: all k choices train the splits, and only the first choice learns from a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.estimators import DTSemNetRegressor
from dtsemnet.estimators.kinds import TreeRegressor
from dtsemnet.fit.data import TrainingData
from dtsemnet.fit.regression_task import RegressionTask
from dtsemnet.fit.settings import OVERRIDES, REGRESSION_RECIPES, FitOptions, Setting
from dtsemnet.kernels.logits import split_gradients, walk
from dtsemnet.kernels.optimizer import adam, clip_scale
from dtsemnet.kernels.regression import regression_forward, selected_loss
from dtsemnet.kernels.rows import gather, new_batch
from dtsemnet.training import Penalties, Regression, RegressionParameters, Rows, Step
from dtsemnet.training.cpu import CpuRegression
from dtsemnet.tree import Tree

__all__ = ["TopKReg1Regressor", "straight_through_regressor", "top_k_regressor"]


def straight_through_regressor(max_depth: int = 5, **options: Any) -> DTSemNetRegressor:
    """Configure DTSemNet with the straight-through estimator, as the paper's comparison runs it.

    Outputs are clipped as in the default training; the published training clips nothing (``guard=False``).

    Examples
    --------
    >>> straight_through_regressor(4)
    DTSemNetRegressor(max_depth=4, training='straight_through')
    """
    return DTSemNetRegressor(max_depth, **{"training": "straight_through", **options})


def top_k_regressor(max_depth: int = 5, **options: Any) -> DTSemNetRegressor:
    """Configure DTSemNet with the paper's Algorithm 1.

    Examples
    --------
    >>> top_k_regressor(4, max_iter=30)
    DTSemNetRegressor(max_depth=4, max_iter=30, training='paper')
    """
    return DTSemNetRegressor(max_depth, **{"training": "paper", **options})


class TopKReg1Regressor(TreeRegressor):
    """DTSemNet Top-k/Reg-1, the paper's ablation: the paper's training, each row training one leaf.

    Parameters
    ----------
    max_depth : int, default=5
        Number of splits on each path; the tree has ``2 ** max_depth`` leaves.
    leaf : {"linear", "constant"}, default="linear"
    guard : bool, default=True
        Clip outputs to the range of the training targets of the leaf. The published training does not.
    max_iter : int, optional
        Number of epochs; half of them joint, the others on the leaves alone. By default as many as make 4,500 steps.
    learning_rate : float, optional
        Step size of Adam in the joint phase; 0.01 by default.
    l1 : float, default=0.0
        Penalty on the absolute values of the splits, in standardised features.
    batch_size : int, default=128
    max_grad_norm : float, optional
        Larger gradients are scaled down to this norm.
    categorical_features, missing, random_state, verbose
        As in :class:`~dtsemnet.DTSemNetRegressor`.

    Attributes
    ----------
    tree_ : Tree
        The model. ``predict`` reads it alone.
    model_, history_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~dtsemnet.DTSemNetRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> TopKReg1Regressor(max_depth=2, random_state=0).fit(X, y).score(X, y) > 0.4
    True
    """

    def __init__(
        self,
        max_depth: int = 5,
        *,
        leaf: str = "linear",
        guard: bool = True,
        max_iter: int | None = None,
        learning_rate: float | None = None,
        l1: float = 0.0,
        batch_size: int = 128,
        max_grad_norm: float | None = None,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.leaf = leaf
        self.guard = guard
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.l1 = l1
        self.batch_size = batch_size
        self.max_grad_norm = max_grad_norm
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state
        self.verbose = verbose

    def _task(self, data: TrainingData, init: Tree | None = None) -> Reg1Task:
        parameters = self.get_params(deep=False)
        problem = Regression(data.n_outputs, self.leaf == "linear")
        return Reg1Task(
            data, FitOptions.of(parameters), REGRESSION_RECIPES["paper"], problem=problem, guard=self.guard,
            depth=self.max_depth, overrides={name: parameters[name] for name in OVERRIDES if name in parameters},
        )  # fmt: skip


class Reg1Engine(CpuRegression):
    """The CPU engine, except that in the joint phase a row trains only the leaf that it reaches."""

    def run_epoch(self, order: Ints, step: Step) -> float:
        if step.selector != "top_k" or step.k == 1:
            return super().run_epoch(order, step)
        total, taken = 0.0, 0
        for start in range(0, len(order), self.batch_size):
            loss, splits, leaves = self.batch_gradients(order[start : start + self.batch_size], step)
            total += loss
            if not np.isfinite(loss):
                break
            taken += 1
            self._descend(splits, leaves, self.n_steps + taken, step)
        self._count(total, taken, order)
        return total / float(self.rows.weight[order].sum(dtype=np.float64))

    def batch_gradients(self, index: Ints, step: Step) -> tuple[float, Floats, Floats]:
        """Sum of the losses of the rows ``index``, and the gradients of their mean by splits and leaves."""
        splits, leaves, children = self.trained["splits"].value, self.trained["leaves"].value, self.topology.children
        batch = gather(self.rows, index, new_batch(self.rows, len(index)))
        scores, node, output, design = regression_forward(batch, children, splits, leaves)
        leaf = np.empty(len(index), np.int64)
        walk(scores, children, leaf)
        total = selected_loss(node[len(splits) :], output, batch.y, batch.weight, self.settings(step))
        split_gradients(scores, children, node)
        n_leaves, n_outputs = len(splits) + 1, batch.y.shape[1]
        others = np.arange(n_leaves)[:, None] != leaf
        shape = (n_leaves, n_outputs, len(index))
        output.reshape(shape)[np.broadcast_to(others[:, None], shape)] = 0
        return total, scores @ batch.X / len(index), output @ design / len(index)

    def _descend(self, splits: Floats, leaves: Floats, n_steps: int, step: Step) -> None:
        rates = self.rates(step)
        scale = clip_scale((splits, leaves), rates.clip)
        adam(self.trained["splits"], splits, n_steps, rates.splits, 0.0, rates.l1, scale)
        adam(self.trained["leaves"], leaves, n_steps, rates.leaves, 0.0, 0.0, scale)


class Reg1Task(RegressionTask):
    """Fit a regressor with the engine above."""

    def engine(self, setting: Setting, parameters: RegressionParameters, rows: Rows) -> Reg1Engine:
        penalties = Penalties(l1=setting.l1, clip=setting.max_grad_norm)
        batch_size = self.options.batch_size
        return Reg1Engine(self.problem, self.topology, rows, parameters, batch_size=batch_size, penalties=penalties)
