"""Make a trained tree smaller: no leaf with too few rows, not too many leaves, no split that pays too little.

*Leaves with too few rows* are removed, the emptiest first; their rows go on to the sibling, so that only
what lay below that one split changes.

*Minimal cost-complexity pruning* collapses splits into leaves. The cost of a leaf is the impurity of its rows
(Gini for classes, squared error of the leaf's model for numbers) times their share of all rows. A split
``t`` with ``n`` leaves below it is worth ``(cost(t) - cost of those leaves) / (n - 1)`` per leaf; the split that is
worth least is collapsed, again and again, as long as it is worth no more than ``alpha`` or there are more
leaves than allowed. These are the meanings of ``min_samples_leaf``, ``max_leaf_nodes`` and ``ccp_alpha``
in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.fit.data import Sample, Scaling
from dtsemnet.fit.leaves import class_table, leaves_of
from dtsemnet.tree import Topology, Tree, drop_leaves, keep_splits, prune

__all__ = ["Limits", "PruningPath", "best_subtrees", "class_costs", "pruned", "pruning_path", "regression_costs"]

Costs = Callable[[Tree, Sample], tuple[Floats, Floats]]
"""Cost of each split if it were a leaf, and of each leaf."""


@dataclass(frozen=True)
class Limits:
    """How small a tree must be."""

    min_samples_leaf: int | float = 1
    """Fewest rows of a leaf; a number below 1 is a share of all rows."""
    max_leaf_nodes: int | None = None
    ccp_alpha: float = 0.0


class PruningPath(NamedTuple):
    """The trees that minimal cost-complexity pruning passes, from the whole tree to one leaf."""

    ccp_alphas: Floats
    """The largest ``ccp_alpha`` that keeps each tree."""
    impurities: Floats
    """Total cost of the leaves of each tree."""
    n_leaves: Ints


def pruned(tree: Tree, sample: Sample, limits: Limits, costs: Costs) -> Tree:
    """Prune a tree that was trained on the rows of a sample; what its leaves hold is fitted anew afterwards."""
    tree = _without_small_leaves(tree, sample, limits.min_samples_leaf)
    most = limits.max_leaf_nodes
    while tree.n_splits and (limits.ccp_alpha > 0 or (most is not None and tree.n_leaves > most)):
        split, worth, _ = _weakest(tree.topology, *costs(tree, sample))
        if worth > limits.ccp_alpha and (most is None or tree.n_leaves <= most):
            break
        tree = _collapse(tree, split)
    return tree


def best_subtrees(tree: Tree, sample: Sample, alphas: Sequence[float], costs: Costs) -> list[Tree]:
    """For each alpha the subtree with the least cost plus ``alpha`` times its leaves; among equals the smaller one.

    From the bottom up, a split is kept if the best subtrees of its children cost less than it would as a leaf.
    """
    split_cost, leaf_cost = costs(tree, sample)
    topology, found = tree.topology, []
    for alpha in alphas:
        best, keeps = np.empty(tree.n_splits), np.zeros(tree.n_splits, bool)
        for split in range(tree.n_splits - 1, -1, -1):
            below = sum(best[child] if child >= 0 else leaf_cost[~child] + alpha for child in topology.children[split])
            keeps[split] = below < split_cost[split] + alpha
            best[split] = min(below, split_cost[split] + alpha)
        found.append(keep_splits(tree, keeps))
    return found


def pruning_path(tree: Tree, sample: Sample, costs: Costs) -> PruningPath:
    """Collapse the split that is worth least until one leaf is left."""
    alphas, impurities, sizes, alpha = [], [], [], 0.0
    while tree.n_splits:
        split, worth, impurity = _weakest(tree.topology, *costs(tree, sample))
        alphas.append(alpha := max(alpha, worth))
        impurities.append(impurity)
        sizes.append(tree.n_leaves)
        tree = _collapse(tree, split)
    impurities.append(float(costs(tree, sample)[1].sum()))
    return PruningPath(np.array([0.0, *alphas]), np.array(impurities), np.array([*sizes, 1]))


def class_costs(n_classes: int) -> Costs:
    """Gini impurities."""

    def costs(tree: Tree, sample: Sample) -> tuple[Floats, Floats]:
        table = class_table(leaves_of(tree, sample), sample.y, sample.weight, tree.n_leaves, n_classes)
        tables = np.concatenate([tree.topology.sums_below(table), table]) / sample.weight.sum()
        total = tables.sum(axis=1)
        cost = total - np.square(tables).sum(axis=1) / np.maximum(total, np.finfo(float).tiny)
        return cost[: tree.n_splits], cost[tree.n_splits :]

    return costs


def regression_costs(scaling: Scaling, *, linear: bool) -> Costs:
    """Squared errors of a linear model, or of the mean, of the rows of each node."""

    def costs(tree: Tree, sample: Sample) -> tuple[Floats, Floats]:
        leaf = leaves_of(tree, sample)
        n_columns = sample.X.shape[1] + 1 if linear else 1
        n_outputs = sample.y.shape[1]
        # All that a least-squares fit needs are sums over rows, and those of a split are the sums of its leaves.
        moment = np.zeros((tree.n_leaves, n_columns + n_outputs, n_columns + n_outputs))
        for number in range(tree.n_leaves):
            rows = sample.take(np.flatnonzero(leaf == number))
            ones = np.ones((len(rows), 1))
            design = np.hstack([scaling.apply(rows, np.float64, far="center"), ones]) if linear else ones
            both = np.hstack([design, rows.y])
            moment[number] = (both * rows.weight[:, None]).T @ both / sample.weight.sum()
        nodes = np.concatenate([tree.topology.sums_below(moment), moment])
        cost = np.array([_squared_error(node, n_columns) for node in nodes])
        return cost[: tree.n_splits], cost[tree.n_splits :]

    return costs


def _squared_error(moment: Floats, n_columns: int) -> float:
    """What is left of the squared targets after a least-squares fit, from the sums of products of all columns."""
    gram, cross, target = moment[:n_columns, :n_columns], moment[:n_columns, n_columns:], moment[n_columns:, n_columns:]
    explained = cross.T @ np.linalg.lstsq(gram + 1e-9 * np.eye(n_columns) * np.trace(gram), cross, rcond=None)[0]
    return max(0.0, float(np.trace(target - explained)))


def _weakest(topology: Topology, split_cost: Floats, leaf_cost: Floats) -> tuple[int, float, float]:
    """The split that is worth least per leaf, what it is worth, and the total cost of all leaves."""
    below = topology.sums_below(np.column_stack([leaf_cost, np.ones(len(leaf_cost))]))
    worth = (split_cost - below[:, 0]) / (below[:, 1] - 1)
    # Of equals the one deepest down, so that the tree shrinks from below.
    split = len(worth) - 1 - int(np.argmin(worth[::-1]))
    return split, max(0.0, float(worth[split])), float(leaf_cost.sum())


def _collapse(tree: Tree, split: int) -> Tree:
    first = int(tree.topology.spans[0][split])
    coef = None if tree.coef is None else tree.coef[first]
    return prune(tree, split, tree.value[first], coef)


def _without_small_leaves(tree: Tree, sample: Sample, least: int | float) -> Tree:
    """Remove the leaf with the fewest rows until every leaf has enough; one without rows always goes."""
    copies = sample.copies
    fewest = max(1.0, least * copies.sum() if least < 1 else least)
    count = np.bincount(leaves_of(tree, sample), copies, tree.n_leaves)
    tree, count = drop_leaves(tree, np.flatnonzero(count == 0)), count[count > 0]
    while tree.n_leaves > 1 and count.min() < fewest:
        tree = drop_leaves(tree, [int(count.argmin())])
        count = np.bincount(leaves_of(tree, sample), copies, tree.n_leaves)
    return tree
