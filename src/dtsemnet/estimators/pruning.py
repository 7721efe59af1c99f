"""Smaller trees, for estimators with ``ccp_alpha``: the path that pruning passes, and pruning after the fit."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dtsemnet.estimators.base import TreeEstimator
from dtsemnet.estimators.persistence import check_parameters
from dtsemnet.fit.calibration import sample_margins
from dtsemnet.fit.data import Sample, Scaling
from dtsemnet.fit.pruning import PruningPath
from dtsemnet.fit.tasks import OurTask
from dtsemnet.tree import MarginProbability, Tree

__all__ = ["PrunableEstimator"]


class PrunableEstimator(TreeEstimator):
    """An estimator whose tree can be pruned."""

    def cost_complexity_path(self, X: Any, y: Any, sample_weight: Any = None) -> PruningPath:
        """Fit a tree without pruning, and list the trees that growing values of ``ccp_alpha`` would leave of it.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`. This estimator itself is not fitted.

        Returns
        -------
        PruningPath
            ``ccp_alphas``, the total ``impurities`` of the leaves, and ``n_leaves``, from the whole tree to one leaf.

        Examples
        --------
        >>> from dtsemnet import DTSemNetClassifier
        >>> from sklearn.datasets import load_iris
        >>> quick = DTSemNetClassifier(max_depth=3, effort=0, random_state=0)
        >>> path = quick.cost_complexity_path(*load_iris(return_X_y=True))
        >>> int(path.n_leaves[-1]), bool((path.ccp_alphas[1:] >= path.ccp_alphas[:-1]).all())
        (1, True)
        """
        whole = clone(self).set_params(ccp_alpha=0.0, max_leaf_nodes=None).fit(X, y, sample_weight)
        task, sample = whole._pruning_task(X, y, sample_weight)
        return task.pruning_path(whole.tree_, sample)

    def prune(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        min_samples_leaf: float = 1,
        max_leaf_nodes: int | None = None,
        ccp_alpha: float = 0.0,
    ) -> Self:
        """Make the fitted tree smaller; the splits that stay do not change, the leaves are fitted to the rows anew.

        Parameters
        ----------
        X, y, sample_weight
            Rows that say what a split is worth, best those of the fit. Leaves that none of them reaches go.
        min_samples_leaf, max_leaf_nodes, ccp_alpha
            As in ``fit``; also set as parameters of the estimator.

        Returns
        -------
        self

        Examples
        --------
        >>> from dtsemnet import DTSemNetClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> fitted = DTSemNetClassifier(max_depth=3, effort=0, n_init=1, random_state=0).fit(X, y)
        >>> fitted.prune(X, y, max_leaf_nodes=2).get_n_leaves()
        2
        """
        check_is_fitted(self, "model_")
        self.set_params(min_samples_leaf=min_samples_leaf, max_leaf_nodes=max_leaf_nodes, ccp_alpha=ccp_alpha)
        check_parameters(self)
        task, sample = self._pruning_task(X, y, sample_weight)
        tree = task.fill(task.pruned(self.tree_, sample), None, sample, None).tree
        if self._probability is not None and not _margins_still_help(self._probability, tree, sample):
            self._probability = None
        self._cross_fit = None  # what other rows said of the larger tree
        self._set_fitted(self.model_.encoder, tree, task.data)
        return self

    def _pruning_task(self, X: Any, y: Any, sample_weight: Any) -> tuple[OurTask[Any], Sample]:
        """The task of the fitted tree, and the rows that judge its splits."""
        sample = self._sample(self._encoded(X), y, sample_weight)
        data = self._training_data(sample, None, self.model_.encoder, Scaling.of(sample))
        task = self._task(data, self.tree_)
        assert isinstance(task, OurTask)
        return task, sample


def _margins_still_help(probability: MarginProbability, tree: Tree, sample: Sample) -> bool:
    """Whether margins tell more about the rows than the shares of the leaves: by the log loss.

    They were calibrated on the tree before it was pruned. If a leaf now mixes classes that splits told apart, margins
    know nothing of them, and would call the classes of some rows impossible. One leaf has no margins at all.
    """
    if not tree.n_splits:
        return False
    leaf = np.concatenate([tree.apply(rows) for _, rows in sample.blocks()])
    chance = probability.of(sample_margins(tree, sample), probability.leaf_logs(tree)[leaf])
    own = np.arange(len(sample)), sample.y
    margins, shares = (float(sample.weight @ np.log(np.maximum(p[own], 1e-300))) for p in (chance, tree.value[leaf]))
    return margins >= shares
