"""Episodes without exploration: how good a policy is, and on which seeds that is asked.

Three kinds of episodes never meet: those trained on, those that judge a policy on the way (the best is kept by
them), and those that test it at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet.arrays import Array
from dtsemnet.rl.policies.actors import DiscreteActor
from dtsemnet.rl.policies.sac import RegressionActor
from dtsemnet.tree import Model

__all__ = ["JUDGING_EPISODES", "JUDGING_SEEDS", "TEST_SEEDS", "act_by_tree", "evaluate", "is_tree", "summary"]

JUDGING_SEEDS = range(10_000, 11_000)
"""Seeds of the episodes that judge a policy on the way."""
JUDGING_EPISODES = 130
"""How many of them judge one that may be the best."""
TEST_SEEDS = range(500, 600)
"""Seeds of the episodes that test it at the end, the paper's."""
ABREAST = 50
"""Episodes that are played side by side: one call of the policy serves them all."""

Act = Callable[[Array], Any]
"""From observations, one a row, to actions."""


def evaluate(
    policy: BaseAlgorithm | Model,
    env: gym.Env[Any, Any] | str,
    seeds: Iterable[int] = TEST_SEEDS,
    *,
    vec_normalize: VecNormalize | None = None,
) -> list[float]:
    """Play one episode a seed without exploration and give the sums of rewards.

    Parameters
    ----------
    policy : agent of stable-baselines3, or Model
        An agent behind ``VecNormalize`` gets its observations normalised; a model reads them raw.
    env : gymnasium.Env or str
        The raw environment, or its name. By name the episodes are played side by side, which is much faster.
    seeds : iterable of int, default=TEST_SEEDS
        Seeds of the resets.
    vec_normalize : VecNormalize, optional
        Statistics for an agent that was loaded without its environment; a model has its own.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet.rl import TreePolicy, policy_tree
    >>> agent = PPO(TreePolicy, "CartPole-v1", n_steps=64, batch_size=64, seed=0)
    >>> evaluate(agent, "CartPole-v1", range(5)) == evaluate(policy_tree(agent), "CartPole-v1", range(5))
    True
    """
    wanted = list(seeds)
    worlds = [env] if not isinstance(env, str) else [_world(env) for _ in range(min(ABREAST, len(wanted)))]
    act = act_by_tree(policy, worlds[0]) if isinstance(policy, Model) else _act_by_agent(policy, vec_normalize)
    rewards = []
    for first in range(0, len(wanted), len(worlds)):
        rewards += _play(act, worlds, wanted[first : first + len(worlds)])
    if isinstance(env, str):
        for world in worlds:
            world.close()
    return rewards


def is_tree(agent: BaseAlgorithm) -> bool:
    """Tell whether the deterministic policy of an agent is a tree."""
    return isinstance(getattr(agent.policy, "actor", None), DiscreteActor | RegressionActor)


def summary(rewards: list[float]) -> dict[str, Any]:
    """Mean, standard deviation with n - 1, and the standard error of the mean.

    Examples
    --------
    >>> summary([1.0, 3.0, 5.0, 7.0])["mean"]
    4.0
    """
    std = float(np.std(rewards, ddof=1)) if len(rewards) > 1 else 0.0
    return {"mean": float(np.mean(rewards)), "std": std, "sem": std / len(rewards) ** 0.5, "rewards": rewards}


def _world(name: str) -> gym.Env[Any, Any]:
    # The checker looks at every step, and has looked at those trained on.
    return gym.make(name, disable_env_checker=True)


def _play(act: Act, worlds: Sequence[gym.Env[Any, Any]], seeds: Sequence[int]) -> list[float]:
    """Play one episode in each environment, all in step; those that are over wait."""
    total = [0.0] * len(seeds)
    seen = {place: worlds[place].reset(seed=seed)[0] for place, seed in enumerate(seeds)}
    while seen:
        actions = act(np.stack(list(seen.values())))
        for place, action in zip(list(seen), actions):
            seen[place], reward, over, cut, _ = worlds[place].step(action)
            total[place] += float(reward)
            if over or cut:
                del seen[place]
    return total


def _act_by_agent(agent: BaseAlgorithm, normalize: VecNormalize | None) -> Act:
    if normalize is None:
        normalize = agent.get_vec_normalize_env()

    def act(rows: Array) -> Any:
        rows = rows if normalize is None else np.asarray(normalize.normalize_obs(rows))
        return agent.predict(rows, deterministic=True)[0]

    return act


def act_by_tree(model: Model, env: gym.Env[Any, Any]) -> Act:
    """Make the function that gives the actions of a tree."""
    shape, dtype = env.action_space.shape or (), env.action_space.dtype
    return lambda rows: model.predict(rows.reshape(len(rows), -1)).astype(dtype).reshape(-1, *shape)
