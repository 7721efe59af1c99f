"""Actors for discrete actions: from observations to the logits of the actions.

An actor has three methods. ``forward`` computes the logits that exploration draws from and that training
differentiates. ``act`` gives the action of the tree, which the agent takes when it does not explore. ``to_tree`` gives
that tree. The largest logit and the action of the tree can differ: on a hyperplane several actions tie for the largest
logit, but only one leaf is reached.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from dtsemnet.nn import ClassMaxPool, DTSemNet, decode
from dtsemnet.rl.policies.warm_start import discrete_network
from dtsemnet.tree import Model, Tree

__all__ = ["DealtPool", "DiscreteActor", "TreeActor"]


class DiscreteActor(nn.Module, ABC):
    """Base of the actors for discrete actions.

    A subclass takes the number of features and of actions, then its own options as keywords.
    """

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Compute the logits of the actions, (n_samples, n_actions); the same function in rollouts and in updates."""

    @abstractmethod
    def act(self, x: Tensor) -> Tensor:
        """Find the action of the tree, (n_samples,)."""

    @abstractmethod
    def to_tree(self) -> Tree:
        """Return the tree; its classes are the actions."""


class DealtPool(ClassMaxPool):
    """A class pool for leaves whose classes alternate: leaf ``j`` holds class ``j % n_classes``.

    The leaves of a class are a column of a table, and pooling is one operation along it. The pool for leaves in any
    order needs ten operations, which in the small batches of PPO cost more than all the rest of the tree.

    Parameters
    ----------
    n_leaves, n_classes : int
        Every class has a leaf: ``n_leaves >= n_classes``.

    Examples
    --------
    >>> import torch
    >>> DealtPool(4, 3)(torch.tensor([[-1.0, -3.0, -3.0, 0.0]])).tolist()
    [[0.0, -3.0, -3.0]]
    """

    def __init__(self, n_leaves: int, n_classes: int) -> None:
        super().__init__(torch.arange(n_leaves) % n_classes, n_classes)

    def forward(self, logits: Tensor, x: Tensor | None = None) -> Tensor:
        """Pool the logits of the leaves, (n_samples, n_leaves), into those of the classes; ``x`` is not read."""
        if missing := -self.n_leaves % self.n_classes:
            logits = nn.functional.pad(logits, (0, missing), value=-torch.inf)
        table = logits.reshape(len(logits), -1, self.n_classes)
        if self.training and self.temperature > 0:
            return self.temperature * (table / self.temperature).logsumexp(dim=1)
        return table.max(dim=1).values  # the gradient goes to the first of several maxima, as in ClassMaxPool


class TreeActor(DiscreteActor):
    """A DTSemNet classifier over actions: the logit of an action is the largest among its leaves.

    Parameters
    ----------
    n_features, n_actions : int
        Numbers of inputs and of actions; leaf ``j`` holds action ``j % n_actions``.
    max_depth : int, default=4
        Depth of the complete tree, the paper's height.
    ortho_init : bool, default=True
        Start from orthogonal split weights, as the paper's agents do. Biases always start uniform within
        ``1 / sqrt(n_features)`` of 0: zeros would send all splits through one point.
    pooling : float, default=0.0
        With a temperature ``t > 0`` the logit of an action is ``t * logsumexp(z / t)`` over its
        leaves, which tends to the maximum as ``t`` falls to 0. :class:`AnnealPooling` lowers it.
    init : Tree or Model, optional
        Tree to start from, in place of a complete one; see :mod:`~dtsemnet.rl.policies.warm_start`.

    Examples
    --------
    >>> import torch
    >>> actor = TreeActor(4, 2, max_depth=3)
    >>> actor(torch.zeros(5, 4)).shape
    torch.Size([5, 2])
    >>> actor.to_tree()
    Tree(depth 3, 7 splits, 8 leaves, 4 features, class leaves: 0, 1)
    """

    def __init__(
        self,
        n_features: int,
        n_actions: int,
        *,
        max_depth: int = 4,
        ortho_init: bool = True,
        pooling: float = 0.0,
        init: Tree | Model | None = None,
    ) -> None:
        super().__init__()
        if init is None:
            check_depth(max_depth, n_actions)
            self.net = DTSemNet.classifier(n_features, n_actions, max_depth)
            self.net.head = DealtPool(self.net.topology.n_leaves, n_actions)
            if ortho_init:
                nn.init.orthogonal_(self.net.splits.get_parameter("weight"))
        else:
            self.net = discrete_network(init, n_features, n_actions)
        self.pooling = pooling

    @property
    def head(self) -> ClassMaxPool:
        """The pool of the leaves."""
        assert isinstance(self.net.head, ClassMaxPool)
        return self.net.head

    @property
    def pooling(self) -> float:
        """Temperature of the pool, 0 for the maximum."""
        return self.head.temperature

    @pooling.setter
    def pooling(self, temperature: float) -> None:
        if not temperature >= 0:
            raise ValueError(f"pooling must be at least 0, got {temperature}; 0 pools by the maximum.")
        self.head.temperature = float(temperature)

    def train(self, mode: bool = True) -> TreeActor:
        """Set the mode of all modules except the pool, which is the same function in rollouts and in updates."""
        # PPO compares the probability of an action now with that in the rollout: both must be pooled in the same way.
        super().train(mode)
        self.head.train()
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Pool the leaf logits into those of the actions."""
        return self.net(x)

    def act(self, x: Tensor) -> Tensor:
        """Return the action of the leaf reached."""
        return self.net.predict(x)

    def to_tree(self) -> Tree:
        """Decode the network."""
        return decode(self.net)

    def get_extra_state(self) -> dict[str, Any]:
        """Save the pooling temperature with the weights."""
        return {"pooling": self.pooling}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Restore the pooling temperature."""
        self.pooling = state["pooling"]


def check_depth(max_depth: int, n_actions: int) -> None:
    """Refuse a tree with fewer leaves than actions: some could never be taken."""
    if max_depth < 1 or 2**max_depth < n_actions:
        needed = max(1, (n_actions - 1).bit_length())
        raise ValueError(
            f"max_depth must give each of the {n_actions} actions a leaf, got {max_depth}; take at least {needed}."
        )
