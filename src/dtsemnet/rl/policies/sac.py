"""The policy for SAC with continuous actions: the actor is a tree with linear models at its leaves.

Each leaf holds, for every action dimension, a linear model of the observation (the mean before squashing) and a log
standard deviation. In training a selector weighs the leaves; acting always takes the one leaf reached, and without
exploration the action is ``tanh`` of its linear models, scaled to the bounds of the action space.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from stable_baselines3.sac.policies import Actor, SACPolicy
from torch import Tensor, nn

from dtsemnet.nn import DTSemNet, LinearLeaves, LinearSplits, Selector, Splits, TopK, decode
from dtsemnet.nn.logits import leaf_logits
from dtsemnet.rl.policies.ppo import critic_layers
from dtsemnet.rl.policies.warm_start import linear_network
from dtsemnet.rl.spaces import check_observations
from dtsemnet.tree import Model, Tree

__all__ = ["LOG_STD_MAX", "LOG_STD_MIN", "SAFETY", "RegressionActor", "TreeSACPolicy", "draw_squashed"]

LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
"""Bounds of the log standard deviation, approached through a tanh, as in the paper's agents."""
SAFETY = 1e-6
"""Added to the Jacobian of ``tanh``, as in stable-baselines3."""


class RegressionActor(Actor):
    """A DTSemNet regressor over observations, one linear model per leaf and action dimension.

    Built by :class:`TreeSACPolicy`; its parameters are documented there.

    Attributes
    ----------
    tree : DTSemNet
        In ``eval()`` the tree itself; in ``train()`` its selector weighs the leaves.
    leaf_log_std : Parameter of shape (n_leaves, n_actions)
        Log standard deviations, before squashing into their bounds.
    """

    def __init__(
        self,
        *args: Any,
        max_depth: int = 4,
        selector: Selector | None = None,
        splits: Callable[[int, int], Splits] = LinearSplits,
        leaves: Callable[[Tensor, Tensor], LinearLeaves] = LinearLeaves,
        init: Tree | Model | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if self.use_sde:
            raise ValueError("use_sde must be False: the leaves hold their own standard deviations.")
        del self.latent_pi, self.mu, self.log_std  # the network that the tree replaces
        n_actions = get_action_dim(self.action_space)
        parts = {"max_depth": max_depth, "selector": selector, "splits": splits, "leaves": leaves, "init": init}
        self.tree_kwargs = parts
        # A copy: the keywords of the policy are saved, and must not share a state with this network.
        selector = TopK(4, temperature=0.5) if selector is None else copy.deepcopy(selector)
        if init is None:
            start = DTSemNet.regressor(self.features_dim, n_actions, max_depth)
            head = leaves(start.head.get_parameter("coef"), start.head.get_parameter("value"))
            self.tree = DTSemNet(start.topology, splits(self.features_dim, start.topology.n_splits), selector, head)
        else:
            self.tree = linear_network(init, self.features_dim, n_actions, selector)
        self.leaf_log_std = nn.Parameter(torch.zeros(self.tree.topology.n_leaves, n_actions))

    def get_action_dist_params(self, obs: PyTorchObs) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Compute mean and log standard deviation: weighed over the leaves in training, of one leaf when acting."""
        x = self.extract_features(obs, self.features_extractor)
        scores = self.tree.scores(x)
        if not self.training:
            leaf = leaf_logits(scores, self.tree.topology).argmax(dim=1)
            return self.head.at(leaf, x), _squash(self.leaf_log_std[leaf]), {}
        weights = self.tree.selector.weigh(scores, self.tree.topology)
        return self.head(weights, x), _squash(weights @ self.leaf_log_std), {}

    def forward(self, obs: PyTorchObs, deterministic: bool = False) -> Tensor:
        """Choose an action for each row, (n_samples, n_actions), before scaling to the bounds."""
        mean, log_std, _ = self.get_action_dist_params(obs)
        return mean.tanh() if deterministic else draw_squashed(mean, log_std)[0]

    def action_log_prob(self, obs: PyTorchObs) -> tuple[Tensor, Tensor]:
        """Draw an action for each row, (n_samples, n_actions), with the logarithm of its density, (n_samples,)."""
        return draw_squashed(*self.get_action_dist_params(obs)[:2])

    @property
    def head(self) -> LinearLeaves:
        """The linear models of the leaves."""
        assert isinstance(self.tree.head, LinearLeaves)
        return self.tree.head

    def to_tree(self) -> Tree:
        """Decode the network: its outputs are the actions before squashing."""
        return decode(self.tree)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self.tree_kwargs


class TreeSACPolicy(SACPolicy):
    """The paper's policy for continuous actions, for ``TopKSAC``.

    Parameters
    ----------
    observation_space, action_space, lr_schedule
        Passed by stable-baselines3.
    net_arch : list of int or dict, optional
        Layers of the critics, ``[256, 256]`` if not given.
    max_depth : int, default=4
        Depth of the tree, the paper's height.
    selector : Selector, optional
        How training weighs the leaves; ``TopK(4, temperature=0.5)`` if not given. The paper's other variant is
        ``StraightThrough()`` with ``LeanSAC``.
    splits, leaves : callable, default=LinearSplits, LinearLeaves
        Build the split layer from its sizes, and the leaves from initial slopes and intercepts. Other modules make
        another method of it; train it with ``LeanSAC`` then.
    init : Tree or Model, optional
        Tree that the actor starts from, of any shape, as ``policy_tree`` gives it: its outputs are actions before they
        are squashed. ``max_depth``, ``splits`` and ``leaves`` are not read then. A model's tree reads what the encoder
        gives: observe through the same ``VecNormalize``.
    **kwargs
        Options of ``SACPolicy``.

    Examples
    --------
    >>> from dtsemnet.rl import TopKSAC
    >>> agent = TopKSAC(TreeSACPolicy, "Pendulum-v1", policy_kwargs=dict(max_depth=3), seed=0)
    >>> agent.actor.to_tree()
    Tree(depth 3, 7 splits, 8 leaves, 3 features, linear leaves)
    """

    actor: RegressionActor
    tree_kwargs: dict[str, Any]

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Box,
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        *,
        max_depth: int = 4,
        selector: Selector | None = None,
        splits: Callable[[int, int], Splits] = LinearSplits,
        leaves: Callable[[Tensor, Tensor], LinearLeaves] = LinearLeaves,
        init: Tree | Model | None = None,
        **kwargs: Any,
    ) -> None:
        if max_depth < 1:
            raise ValueError(f"max_depth must be at least 1, got {max_depth}.")
        if not isinstance(action_space, spaces.Box):
            raise TypeError(
                f"TreeSACPolicy needs a Box of actions, got {action_space}; "
                "for Discrete actions take TreePolicy with PPO."
            )
        check_observations(observation_space, "TreeSACPolicy", is_scaled=kwargs.get("normalize_images", True))
        parts = {"max_depth": max_depth, "selector": selector, "splits": splits, "leaves": leaves, "init": init}
        self.tree_kwargs = parts
        super().__init__(observation_space, action_space, lr_schedule, critic_layers(net_arch, "qf"), **kwargs)

    @property
    def actor_target(self) -> None:
        """Not there: algorithms that follow a slow copy of the actor, such as TD3, cannot train this policy."""
        raise TypeError(f"{type(self).__name__} has no target actor; train it with TopKSAC, LeanSAC or SAC.")

    def make_actor(self, features_extractor: BaseFeaturesExtractor | None = None) -> RegressionActor:
        """Build the actor."""
        actor_kwargs = self._update_features_extractor(self.actor_kwargs, features_extractor)
        return RegressionActor(**actor_kwargs, **self.tree_kwargs).to(self.device)

    def set_training_mode(self, mode: bool) -> None:
        """Set the mode of actor and critics."""
        # Called before every action: visiting all modules each time would cost time and change nothing.
        if not self.training == self.actor.training == self.critic.training == mode:
            super().set_training_mode(mode)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self.tree_kwargs


def draw_squashed(mean: Tensor, log_std: Tensor) -> tuple[Tensor, Tensor]:
    """Draw from a normal distribution and squash by ``tanh``; the gradient passes through both, as SAC needs.

    The same function as ``SquashedDiagGaussianDistribution`` of stable-baselines3, in fewer operations.

    Returns
    -------
    actions, log_prob : Tensor of shape (n_samples, n_actions), (n_samples,)
    """
    noise = torch.randn_like(mean)
    actions = torch.addcmul(mean, log_std.exp(), noise).tanh()
    # The noise is the draw in standard deviations; the Jacobian of tanh is 1 - tanh^2, kept away from 0.
    log_density = noise.square() / 2 + log_std + (1 - actions.square() + SAFETY).log()
    return actions, -log_density.sum(dim=1) - math.log(2 * math.pi) / 2 * mean.shape[1]


def _squash(log_std: Tensor) -> Tensor:
    return LOG_STD_MIN + (log_std.tanh() + 1) / 2 * (LOG_STD_MAX - LOG_STD_MIN)
