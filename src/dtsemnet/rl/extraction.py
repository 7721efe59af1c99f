"""Extraction: from a trained agent to its hard tree.

The deterministic policy of an agent is ``encoder -> tree -> output``: the observation normalised and clipped as by
``VecNormalize``, the leaf that the actor reaches, and for continuous actions the tanh and the scaling to the action
bounds. Network and tree hold the same numbers; the network adds in float32, so only observations within rounding of a
split may reach another leaf.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet.rl.policies.actors import DiscreteActor
from dtsemnet.rl.policies.sac import RegressionActor
from dtsemnet.rl.spaces import check_observations
from dtsemnet.tree import Column, Encoder, Identity, Model, Output, TanhScale, Tree

__all__ = ["named_model", "policy_tree"]


def policy_tree(
    model: BaseAlgorithm,
    *,
    vec_normalize: VecNormalize | Literal[False] | None = None,
    feature_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> Model:
    """Return the deterministic policy of an agent as a hard tree in the units of the raw observations.

    Parameters
    ----------
    model : PPO with a tree policy, TopKSAC, or SAC with TreeSACPolicy
        Trained or loaded. Its actor must read the flat observation.
    vec_normalize : VecNormalize or False, optional
        Statistics of the observations; those of the agent's environment if not given. An agent that was loaded
        without its environment does not have them, and may have been trained with some: False says that it was not.
    feature_names : sequence of str, optional
        Names of the entries of an observation, ``x0, x1, ...`` if not given.
    action_names : sequence of str, optional
        Names of discrete actions; their numbers if not given, so that ``predict`` returns actions of the environment.

    Returns
    -------
    Model
        Its ``predict`` of raw observations is ``model.predict(normalised, deterministic=True)``; if the action is one
        number, without the axis of length 1 that the agent gives.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet.rl import TreePolicy
    >>> agent = PPO(TreePolicy, "CartPole-v1", policy_kwargs=dict(max_depth=2), n_steps=64, batch_size=64, seed=0)
    >>> policy = policy_tree(agent, feature_names=["position", "speed", "angle", "spin"])
    >>> policy
    Model(4 columns -> 4 features, Tree(depth 2, 3 splits, 4 leaves, 4 features, class leaves: 0, 1))
    >>> bool(policy.predict([[0.1, 0.2, 0.3, 0.4]])[0] == agent.predict([0.1, 0.2, 0.3, 0.4], deterministic=True)[0])
    True
    """
    policy = model.policy
    actor = getattr(policy, "actor", None)
    if not isinstance(actor, DiscreteActor | RegressionActor):
        raise TypeError(
            f"model must have a tree for its actor, got {type(policy).__name__}; "
            "train it with TreePolicy or TreeSACPolicy."
        )
    space, extractor = model.observation_space, policy.features_extractor_class
    check_observations(space, "policy_tree", is_scaled=policy.normalize_images)
    if extractor is not FlattenExtractor:
        raise TypeError(f"model must read its observation as it is, got the features of {extractor.__name__}.")
    n_features = int(np.prod(space.shape or ()))
    if feature_names is not None and len(feature_names) != n_features:
        raise ValueError(f"feature_names must hold {n_features} names, got {len(feature_names)}.")
    names = [f"x{j}" for j in range(n_features)] if feature_names is None else list(feature_names)
    if vec_normalize is None:
        vec_normalize = model.get_vec_normalize_env()
        if model.get_env() is None:
            warnings.warn(
                "the agent was loaded without its environment, so that statistics of VecNormalize are unknown; pass "
                "vec_normalize=VecNormalize.load(path, env), or vec_normalize=False if it was trained without.",
                UserWarning,
                stacklevel=2,
            )
    tree = _named(actor.to_tree(), names, action_names)
    output: Output = Identity()
    if isinstance(actions := model.action_space, spaces.Box):
        output = TanhScale(np.ravel(actions.low).tolist(), np.ravel(actions.high).tolist())
    return Model(_encoder(names, vec_normalize or None), tree, output)


def named_model(
    model: Model, feature_names: Sequence[str] | None = None, action_names: Sequence[str] | None = None
) -> Model:
    """Give names to the entries of an observation and to discrete actions, for people to read.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 1])
    >>> named_model(Model(Encoder.identity(["x0"]), tree), ["angle"], ["left", "right"]).predict([[2.0]]).tolist()
    ['right']
    """
    names = [column.name for column in model.encoder.columns] if feature_names is None else list(feature_names)
    columns = [replace(column, name=name) for column, name in zip(model.encoder.columns, names, strict=True)]
    if action_names is not None and model.tree.class_names is not None:
        # A tree that imitates has only the actions that it has seen.
        action_names = [action_names[int(action)] for action in model.tree.class_names]
    return replace(model, encoder=Encoder(columns), tree=_named(model.tree, names, action_names))


def _encoder(names: Sequence[str], normalize: VecNormalize | None) -> Encoder:
    if normalize is None or not normalize.norm_obs:
        return Encoder.identity(names)
    statistics: Any = normalize.obs_rms
    mean = np.ravel(statistics.mean)
    scale = 1 / np.sqrt(np.ravel(statistics.var) + normalize.epsilon)
    if len(mean) != len(names):
        raise ValueError(f"vec_normalize has statistics of {len(mean)} entries, but the agent observes {len(names)}.")
    clip = float(normalize.clip_obs)
    # An infinite bound of VecNormalize means no clipping.
    lower, upper = (-clip, clip) if np.isfinite(clip) else (None, None)
    return Encoder(
        Column(name, center=float(m), scale=float(s), lower=lower, upper=upper)
        for name, m, s in zip(names, mean, scale)
    )


def _named(tree: Tree, feature_names: Sequence[str], action_names: Sequence[str] | None) -> Tree:
    class_names = tree.class_names
    if action_names is not None:
        if class_names is None:
            raise ValueError("action_names are for discrete actions, but these are continuous; leave them out.")
        if len(action_names) != len(class_names):
            raise ValueError(f"action_names must hold {len(class_names)} names, got {len(action_names)}.")
        class_names = tuple(action_names)
    return replace(tree, feature_names=tuple(feature_names), class_names=class_names)
