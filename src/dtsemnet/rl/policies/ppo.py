"""Policies for PPO with discrete actions: the actor is a tree, the critic a network.

``PPO(TreePolicy, env, policy_kwargs=dict(max_depth=4))`` trains it like any other policy. Exploration draws from the
softmax of the action logits; the deterministic action is that of the leaf reached, never the largest pooled logit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import CategoricalDistribution, Distribution
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from dtsemnet.rl.policies.actors import DiscreteActor, TreeActor
from dtsemnet.rl.spaces import check_observations
from dtsemnet.tree import Model, Tree

__all__ = ["ActorPolicy", "TreePolicy", "critic_layers"]


class ActorPolicy(ActorCriticPolicy):
    """An actor-critic policy with a :class:`DiscreteActor` and a critic of its own.

    Parameters
    ----------
    observation_space, action_space, lr_schedule
        Passed by stable-baselines3; the actions must be ``Discrete``.
    net_arch : list of int or dict, optional
        Layers of the critic, ``[64, 64]`` if not given; ``dict(vf=[...])`` is accepted too.
    actor_kwargs : dict, optional
        Options of the actor.
    **kwargs
        Options of ``ActorCriticPolicy``.

    Attributes
    ----------
    actor_class : type
        Set by a subclass; called with the numbers of features and actions.
    actor : DiscreteActor
    """

    actor_class: type[DiscreteActor]
    action_net: DiscreteActor

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        *,
        actor_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(action_space, spaces.Discrete):
            raise TypeError(
                f"{type(self).__name__} needs Discrete actions, got {action_space}; "
                "for a Box of actions take TreeSACPolicy with TopKSAC."
            )
        check_observations(observation_space, type(self).__name__, is_scaled=kwargs.get("normalize_images", True))
        self.actor_kwargs = dict(actor_kwargs or {})
        super().__init__(observation_space, action_space, lr_schedule, critic_layers(net_arch, "vf"), **kwargs)

    @property
    def actor(self) -> DiscreteActor:
        """The actor."""
        return self.action_net

    @property
    def q_net(self) -> None:
        """Not there: algorithms that learn the values of actions, such as DQN, cannot train this policy."""
        raise TypeError(f"{type(self).__name__} has no network of action values; train it with PPO, LeanPPO or A2C.")

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        assert isinstance(self.action_space, spaces.Discrete)
        n_actions = int(self.action_space.n)
        self.action_net = self.actor_class(self.features_dim, n_actions, **self.actor_kwargs).to(self.device)
        self.action_dist = _ActorDistribution(n_actions)
        # Built again, to include the parameters of the actor.
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]

    def _get_action_dist_from_latent(self, latent_pi: Tensor) -> Distribution:
        assert isinstance(self.action_dist, _ActorDistribution)
        return self.action_dist.set_actor(self.actor, latent_pi)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "actor_kwargs": self.actor_kwargs}


class TreePolicy(ActorPolicy):
    """The paper's policy for discrete actions, for PPO.

    Parameters
    ----------
    *args
        Those of :class:`ActorPolicy`.
    max_depth : int, default=4
        Depth of the tree, the paper's height. It has ``2 ** max_depth`` leaves, and leaf ``j`` holds action
        ``j % n_actions``.
    pooling : float, default=0.0
        Temperature at which the leaves of an action are pooled; 0 is the maximum. LunarLander gains much if it
        starts at 1 and :class:`AnnealPooling` lowers it to 0.
    ortho_init : bool, default=True
        Start actor and critic from orthogonal weights.
    init : Tree or Model, optional
        Tree that the actor starts from, of any shape, instead of a complete one of ``max_depth``; its classes are the
        actions. A model's tree reads what the encoder gives: observe through the same ``VecNormalize``.
    **kwargs
        Options of :class:`ActorPolicy`: ``net_arch``, the layers of the critic, and those of ``ActorCriticPolicy``.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> agent = PPO(TreePolicy, "CartPole-v1", policy_kwargs=dict(max_depth=3), n_steps=64, batch_size=64, seed=0)
    >>> agent.policy.actor.to_tree()
    Tree(depth 3, 7 splits, 8 leaves, 4 features, class leaves: 0, 1)
    """

    actor_class = TreeActor

    def __init__(
        self,
        *args: Any,
        max_depth: int = 4,
        pooling: float = 0.0,
        ortho_init: bool = True,
        init: Tree | Model | None = None,
        **kwargs: Any,
    ) -> None:
        actor_kwargs = {"max_depth": max_depth, "pooling": pooling, "ortho_init": ortho_init, "init": init}
        super().__init__(*args, actor_kwargs=actor_kwargs, ortho_init=ortho_init, **kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters = super()._get_constructor_parameters()
        return parameters | parameters.pop("actor_kwargs")


class _ActorDistribution(CategoricalDistribution):
    """Actions drawn by the softmax of an actor's logits; the mode is the action of the tree."""

    actor: DiscreteActor
    x: Tensor

    def set_actor(self, actor: DiscreteActor, x: Tensor) -> Self:
        """Set the distribution to that of an actor at x."""
        self.actor, self.x = actor, x
        return self.proba_distribution(action_logits=actor(x))

    def mode(self) -> Tensor:
        """Return the action of the tree."""
        with torch.no_grad():
            return self.actor.act(self.x)


def critic_layers(net_arch: list[int] | dict[str, list[int]] | None, name: str) -> dict[str, list[int]]:
    """Read the layers of the critic of PPO, "vf", or of the critics of SAC, "qf"; a tree has no layers."""
    owner, default = {"vf": ("critic", [64, 64]), "qf": ("critics", [256, 256])}[name]
    if net_arch is None:
        net_arch = default
    if not isinstance(net_arch, dict):
        return {"pi": [], name: list(net_arch)}
    if net_arch.get("pi"):
        raise ValueError(
            f"net_arch must give layers to the {owner} alone, got pi={net_arch['pi']}; the actor is sized by max_depth."
        )
    return {"pi": [], name: list(net_arch.get(name, []))}
