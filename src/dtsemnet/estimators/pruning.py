"""The path of trees that cost-complexity pruning passes, for estimators with ``ccp_alpha``."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from dtsemnet.estimators.base import TreeEstimator
from dtsemnet.fit.data import Scaling
from dtsemnet.fit.pruning import PruningPath, pruning_path
from dtsemnet.fit.tasks import OurTask

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
        sample = whole._sample(whole._encoded(X), y, sample_weight)
        encoder, tree = whole.model_.encoder, whole.tree_
        data = whole._training_data(sample, None, encoder, Scaling.of(sample))
        task = whole._task(data, tree)
        assert isinstance(task, OurTask)
        return pruning_path(tree, sample, task.costs())
