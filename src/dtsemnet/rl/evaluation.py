"""Episodes without exploration: how a policy acts, how good it is, and on which seeds that is measured.

Three kinds of episodes have no seed in common: those of the training, those that judge a policy on the way (the best
is kept by them), and those that test it at the end.
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
from dtsemnet.rl.spaces import check_actions, check_env
from dtsemnet.tree import Model

__all__ = [
    "JUDGING_EPISODES", "JUDGING_SEEDS", "TEST_SEEDS", "Act", "EnvOrName", "Policy", "act_by", "evaluate", "is_tree",
    "summary",
]  # fmt: skip

JUDGING_SEEDS = range(10_000, 11_000)
"""Seeds of the episodes that judge a policy on the way."""
JUDGING_EPISODES = 130
"""Default number of these episodes for a policy that may be the best."""
TEST_SEEDS = range(500, 600)
"""Seeds of the episodes that test it at the end, those of the paper."""
N_PARALLEL = 50
"""Episodes that are played side by side: one call of the policy serves them all."""

EnvOrName = gym.Env[Any, Any] | str
Act = Callable[[Array], Any]
"""From observations, one per row, to actions."""
Policy = BaseAlgorithm | Model | Act
"""An agent, a model, or a function of observations."""


def evaluate(
    policy: Policy,
    env: EnvOrName,
    seeds: Iterable[int] = TEST_SEEDS,
    *,
    vec_normalize: VecNormalize | None = None,
) -> list[float]:
    """Play one episode per seed without exploration and return the sums of rewards.

    Parameters
    ----------
    policy : agent of stable-baselines3, Model, or callable
        The observations of an agent behind ``VecNormalize`` are normalised; a model reads them raw. A callable maps raw
        observations, one per row, to actions.
    env : gymnasium.Env or str
        The raw environment, or its name. With a name the episodes are played side by side, which is much faster.
    seeds : iterable of int, default=TEST_SEEDS
        Seeds of the resets.
    vec_normalize : VecNormalize, optional
        Statistics for an agent that was loaded without its environment; a model has its own.

    Notes
    -----
    An agent computes in float32, its tree in float64. Their actions agree to about 1e-7, but in a chaotic environment
    (legged robots, say) such a difference grows from step to step, and single episodes may end with quite different
    rewards. Compare means over many seeds there.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet.rl import TreePolicy, policy_tree
    >>> agent = PPO(TreePolicy, "CartPole-v1", n_steps=64, batch_size=64, seed=0)
    >>> evaluate(agent, "CartPole-v1", range(5)) == evaluate(policy_tree(agent), "CartPole-v1", range(5))
    True
    """
    check_env(env)
    all_seeds = list(seeds)
    if isinstance(env, str):
        # Without the checker, which looks at every step: it has checked the environment during training.
        envs = [gym.make(env, disable_env_checker=True) for _ in range(min(N_PARALLEL, len(all_seeds)))]
    else:
        envs = [env]
    act = act_by(policy, envs[0], vec_normalize)
    rewards = []
    for first in range(0, len(all_seeds), len(envs)):
        rewards += _play(act, envs, all_seeds[first : first + len(envs)])
    if isinstance(env, str):
        for made in envs:
            made.close()
    return rewards


def act_by(policy: Policy, env: gym.Env[Any, Any], vec_normalize: VecNormalize | None = None) -> Act:
    """Make the function that gives the actions of a policy.

    The class names of a tree are the numbers of its actions; names that are not numbers stand for actions in order.
    """
    if isinstance(policy, Model):
        check_actions(policy, env)
        shape, dtype, names = env.action_space.shape or (), env.action_space.dtype, policy.class_names
        if names is None:
            return lambda rows: policy.predict(rows.reshape(len(rows), -1)).astype(dtype).reshape(-1, *shape)
        numbered = all(isinstance(name, int) and not isinstance(name, bool) for name in names)
        actions = np.array(names if numbered else range(len(names)), dtype=dtype)[policy.tree.leaf_class]
        return lambda rows: actions[policy.apply(rows.reshape(len(rows), -1))]
    if not isinstance(policy, BaseAlgorithm):
        if not callable(policy):
            raise TypeError(
                f"policy must be an agent, a Model or a callable, got {type(policy).__name__}; "
                "of a fitted estimator pass model_."
            )
        return policy
    normalize = policy.get_vec_normalize_env() if vec_normalize is None else vec_normalize

    def act(rows: Array) -> Any:
        rows = rows if normalize is None else np.asarray(normalize.normalize_obs(rows))
        return policy.predict(rows, deterministic=True)[0]

    return act


def is_tree(agent: BaseAlgorithm) -> bool:
    """Tell whether the deterministic policy of an agent is a tree."""
    return isinstance(getattr(agent.policy, "actor", None), DiscreteActor | RegressionActor)


def summary(rewards: list[float]) -> dict[str, Any]:
    """Compute the mean, the standard deviation with n - 1, and the standard error of the mean.

    Examples
    --------
    >>> summary([1.0, 3.0, 5.0, 7.0])["mean"]
    4.0
    """
    std = float(np.std(rewards, ddof=1)) if len(rewards) > 1 else 0.0
    return {"mean": float(np.mean(rewards)), "std": std, "sem": std / len(rewards) ** 0.5, "rewards": rewards}


def _play(act: Act, envs: Sequence[gym.Env[Any, Any]], seeds: Sequence[int]) -> list[float]:
    """Play one episode in each environment, step by step together, until all are over."""
    total = [0.0] * len(seeds)
    observations = {i: envs[i].reset(seed=seed)[0] for i, seed in enumerate(seeds)}
    while observations:
        actions = act(np.stack(list(observations.values())))
        for i, action in zip(list(observations), actions):
            observations[i], reward, terminated, truncated, _ = envs[i].step(action)
            total[i] += float(reward)
            if terminated or truncated:
                del observations[i]
    return total
