"""The rivals for PPO: DGT, ICCT and soft trees, written from their papers.

All three are complete trees whose leaves hold logits of the actions, weighed by a selector. They differ
in the gradient of their splits, see :mod:`~dtsemnet_paper.agents.rival_modules`. Without exploration each acts
as its hard tree, so that ``policy_tree`` is the policy. For a soft tree that is another function than
the one trained, which is what hardening costs. The network to compare with is stable-baselines3's own
``MlpPolicy``; for continuous actions hand the parts to ``TreeSACPolicy``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from dtsemnet.nn import ConstantLeaves, DTSemNet, LinearSplits, Selector, Splits, decode
from dtsemnet.rl.algorithms.lean_ppo import LeanPPO
from dtsemnet.rl.algorithms.lean_sac import LeanSAC
from dtsemnet.rl.policies.actors import DiscreteActor, check_depth
from dtsemnet.rl.policies.ppo import ActorPolicy
from dtsemnet.rl.policies.sac import TreeSACPolicy
from dtsemnet.rl.recipes import ActionKind, Recipe, Settings, critic_options, tree_sac_options
from dtsemnet.tree import Topology, Tree
from dtsemnet_paper.agents.rival_modules import (
    AxisSplits,
    CrispTurns,
    QuantisedPaths,
    SoftTurns,
    SparseLinearLeaves,
)

__all__ = ["DGTActor", "DGTPolicy", "ICCTActor", "ICCTPolicy", "LogitActor", "RECIPES", "SoftActor", "SoftTreePolicy"]


class LogitActor(DiscreteActor):
    """Base of the actors whose leaves hold logits; a subclass sets its selector and its splits.

    Parameters
    ----------
    n_features, n_actions : int
        Numbers of inputs and of actions.
    max_depth : int, default=4
        Depth of the complete tree.
    ortho_init : bool, default=True
        Start from orthogonal split weights.
    """

    selector_class: Callable[[], Selector]
    splits_class: Callable[[int, int], Splits] = LinearSplits

    def __init__(self, n_features: int, n_actions: int, *, max_depth: int = 4, ortho_init: bool = True) -> None:
        super().__init__()
        check_depth(max_depth, n_actions)
        topology = Topology.complete(max_depth)
        splits = type(self).splits_class(n_features, topology.n_splits)
        if ortho_init:
            nn.init.orthogonal_(splits.get_parameter("weight"))
        head = ConstantLeaves(torch.empty(topology.n_leaves, n_actions).uniform_(-1.0, 1.0))
        self.net = DTSemNet(topology, splits, type(self).selector_class(), head)

    def train(self, mode: bool = True) -> LogitActor:
        """Keep the network in training mode: rollouts and updates must have the same probabilities."""
        super().train(mode)
        self.net.train()
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Sum the logits of the leaves, weighted by the selector."""
        logits: Tensor = self.net(x)
        return logits

    def act(self, x: Tensor) -> Tensor:
        """Return the action with the largest logit in the leaf reached."""
        return self.net.predict(x).argmax(dim=1)

    def to_tree(self) -> Tree:
        """Decode the network; the leaves hold the probabilities of the actions."""
        tree = decode(self.net)
        value = torch.tensor(tree.value).softmax(dim=1).numpy()
        return tree.replace(value=value, class_names=range(value.shape[1]))


class DGTActor(LogitActor):
    """Dense gradient tree: the hard tree in the forward pass, straight-through estimators in the backward pass.

    Examples
    --------
    >>> actor = DGTActor(4, 2, max_depth=3)
    >>> x = torch.randn(5, 4)
    >>> bool((actor(x).argmax(dim=1) == actor.act(x)).all())
    True
    """

    selector_class = QuantisedPaths


class SoftActor(LogitActor):
    """Soft tree: explores and trains with a mixture of all leaves, acts as the hard tree."""

    selector_class = SoftTurns


class ICCTActor(LogitActor):
    """Crisp axis-aligned tree: one feature per split and a hard outcome, both straight-through.

    Examples
    --------
    >>> actor = ICCTActor(4, 2, max_depth=3)
    >>> (actor.to_tree().weight != 0).sum(axis=1).tolist()
    [1, 1, 1, 1, 1, 1, 1]
    """

    selector_class = CrispTurns
    splits_class = AxisSplits


class DGTPolicy(ActorPolicy):
    """PPO's policy with a DGT actor; options of the actor in ``actor_kwargs``, such as ``max_depth``.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> agent = PPO(DGTPolicy, "CartPole-v1", policy_kwargs=dict(actor_kwargs=dict(max_depth=3)), n_steps=64)
    >>> agent.policy.actor.to_tree()
    Tree(depth 3, 7 splits, 8 leaves, 4 features, class leaves: 0, 1)
    """

    actor_class = DGTActor


class ICCTPolicy(ActorPolicy):
    """PPO's policy with an ICCT actor; options of the actor in ``actor_kwargs``, such as ``max_depth``."""

    actor_class = ICCTActor


class SoftTreePolicy(ActorPolicy):
    """PPO's policy with a soft tree for its actor; options of the actor in ``actor_kwargs``, such as ``max_depth``."""

    actor_class = SoftActor


def _actor_options(settings: Settings) -> dict[str, Any]:
    return critic_options(settings) | {"actor_kwargs": {"max_depth": settings.depth}}


RECIPES: dict[ActionKind, dict[str, Recipe]] = {
    "discrete": {
        "dgt": Recipe(LeanPPO, DGTPolicy, _actor_options),
        "icct": Recipe(LeanPPO, ICCTPolicy, _actor_options),
        "soft": Recipe(LeanPPO, SoftTreePolicy, _actor_options),
    },
    "continuous": {
        "dgt": Recipe(LeanSAC, TreeSACPolicy, tree_sac_options(selector=QuantisedPaths())),
        "icct": Recipe(
            LeanSAC,
            TreeSACPolicy,
            tree_sac_options(selector=CrispTurns(), splits=AxisSplits, leaves=SparseLinearLeaves),
        ),
    },
}
"""The rivals by the kind of actions."""
