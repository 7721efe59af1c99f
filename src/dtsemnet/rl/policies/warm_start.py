"""Starting from a tree: the network of an actor that acts as a given tree does before it is trained.

A tree that was trained before, distilled by :func:`~dtsemnet.rl.imitate` or written by hand becomes the actor, of
whatever shape it is. A tree acts the same if all its weights are multiplied by one number, but the actor explores less:
the logits of actions are margins.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dtsemnet.nn import ClassMaxPool, DTSemNet, LinearLeaves, Selector, encode
from dtsemnet.tree import Identity, Model, Tree

__all__ = ["FinitePool", "discrete_network", "linear_network"]


class FinitePool(ClassMaxPool):
    """A class pool that gives classes without a leaf the least logit of all leaves.

    A logit of minus infinity would make the entropy of a policy NaN; with this one such an action is never likelier
    than the others, and no gradient moves it alone.

    Examples
    --------
    >>> FinitePool([0, 1], n_classes=3)(torch.tensor([[0.0, -2.0]])).tolist()
    [[0.0, -2.0, -2.0]]
    """

    def forward(self, logits: Tensor, x: Tensor | None = None) -> Tensor:
        """Pool the logits of the leaves, (n_samples, n_leaves), into those of the classes; ``x`` is not read."""
        pooled = super().forward(logits, x)
        return torch.where(torch.isinf(pooled), logits.min(dim=1, keepdim=True).values.detach(), pooled)


def discrete_network(init: Tree | Model, n_features: int, n_actions: int) -> DTSemNet:
    """Build the network of a tree whose classes are the numbers of actions, or names of the actions in order.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, 0.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 2])
    >>> discrete_network(tree, n_features=2, n_actions=3).predict(torch.tensor([[1.0, 0.0]])).item()
    2
    """
    tree = _checked(init, n_features)
    if tree.class_names is None:
        raise ValueError("init must be a tree of classes for discrete actions, got one of numbers.")
    names = list(tree.class_names)
    numbered = all(isinstance(name, int) and not isinstance(name, bool) for name in names)
    if not numbered and len(names) != n_actions:
        raise ValueError(
            f"init must name all {n_actions} actions in order, or number its own, got the classes {names[:5]}."
        )
    action = np.array(names if numbered else range(n_actions))
    if action.min() < 0 or action.max() >= n_actions:
        raise ValueError(f"init must have classes from 0 to {n_actions - 1}, the actions, got {names[:5]}.")
    network = encode(tree).float().train()
    network.head = FinitePool(action[tree.leaf_class], n_actions)
    return network


def linear_network(init: Tree | Model, n_features: int, n_actions: int, selector: Selector) -> DTSemNet:
    """Build the network of a tree of numbers, whose outputs are the actions before they are squashed.

    Examples
    --------
    >>> from dtsemnet.nn import TopK
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, 0.0]], [0.0], [[1.0], [-1.0]])
    >>> linear_network(tree, 2, 1, TopK(2)).head.coef.shape
    torch.Size([2, 1, 2])
    """
    if isinstance(init, Model) and isinstance(init.output, Identity):
        raise ValueError(
            "init must have outputs that are squashed to actions, as policy_tree gives them, got a model whose outputs "
            "are the actions; pass a tree whose outputs are arctanh of the scaled actions."
        )
    tree = _checked(init, n_features)
    if tree.class_names is not None or tree.n_outputs != n_actions:
        raise ValueError(f"init must be a tree of {n_actions} numbers, one for each part of an action, got {tree}.")
    network = encode(tree).float().train()
    coef = np.zeros((tree.n_leaves, n_actions, n_features)) if tree.coef is None else tree.coef
    network.head = LinearLeaves(torch.tensor(coef, dtype=torch.float32), torch.tensor(tree.value, dtype=torch.float32))
    network.selector = selector
    return network


def _checked(init: Tree | Model, n_features: int) -> Tree:
    """Return the tree to start from, which reads what the agent observes."""
    if not isinstance(init, Tree | Model):
        raise TypeError(f"init must be a Tree or a Model, got {type(init).__name__}; of an estimator pass model_.")
    tree = init.tree if isinstance(init, Model) else init
    if tree.n_features != n_features:
        raise ValueError(f"init must read the {n_features} numbers of an observation, got {tree.n_features}.")
    if not tree.n_splits:
        raise ValueError("init must have at least one split, got a single leaf; train a tree from scratch instead.")
    return tree
