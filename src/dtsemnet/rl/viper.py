"""VIPER: a tree that imitates a trained agent (Bastani, Pu and Solar-Lezama, 2018).

DAgger: the first round follows the teacher, later rounds follow the latest tree, so that the tree is
taught where it goes itself; the teacher names the action at every step. Steps where the choice matters
count more, by ``max_a Q - min_a Q``. Each round fits CART to all steps so far; the best of
the trees by reward is kept. Where the teacher has no Q function, the logarithm of its action
probabilities stands in, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy

from dtsemnet.tree import Encoder, Model, Tree

__all__ = ["viper"]

Act = Callable[[NDArray[Any]], int]


def viper(
    teacher: BaseAlgorithm,
    env: gym.Env[Any, Any],
    *,
    max_depth: int = 4,
    n_rounds: int = 10,
    n_steps: int = 2000,
    n_episodes: int = 10,
    seed: int = 0,
) -> Model:
    """Distil an agent with discrete actions into an axis-aligned tree.

    Parameters
    ----------
    teacher : PPO, A2C or DQN
        A trained agent. If it was trained behind ``VecNormalize``, it must still have that environment; the
        tree reads raw observations.
    env : gymnasium.Env
        Where to act, without normalisation; a ``Box`` of observations, ``Discrete`` actions.
    max_depth : int, default=4
        Depth of the tree.
    n_rounds, n_steps : int, default=10, 2000
        Rounds of DAgger, and steps in each.
    n_episodes : int, default=10
        Episodes that judge each tree, the same for all.
    seed : int, default=0
        Of the environment and of CART.

    Returns
    -------
    Model
        The best tree; its classes are the actions that the teacher took.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> env = gym.make("CartPole-v1")
    >>> teacher = PPO("MlpPolicy", env, n_steps=64, batch_size=64, seed=0)
    >>> viper(teacher, env, max_depth=2, n_rounds=1, n_steps=50, n_episodes=1).tree.depth <= 2
    True
    """
    if not isinstance(env.action_space, spaces.Discrete) or not isinstance(env.observation_space, spaces.Box):
        raise TypeError(f"env must have a Box of observations and Discrete actions, got {env.action_space}.")
    if min(max_depth, n_rounds, n_steps, n_episodes) < 1:
        raise ValueError(
            "max_depth, n_rounds, n_steps and n_episodes must be at least 1, "
            f"got {max_depth}, {n_rounds}, {n_steps} and {n_episodes}."
        )
    advise = _advice(teacher)
    follow: Act = lambda x: advise(x)[0]  # noqa: E731
    seen: list[tuple[NDArray[Any], int, float]] = []
    best, best_reward = None, -np.inf
    for n in range(n_rounds):
        seen += _walk(env, follow, advise, n_steps, seed + n)
        model = _fit(seen, max_depth, seed)
        follow = _act_by(model)
        reward = _judge(env, follow, n_episodes, seed + n_rounds)
        if reward > best_reward:
            best, best_reward = model, reward
    assert best is not None
    return best


def _advice(teacher: BaseAlgorithm) -> Callable[[NDArray[Any]], tuple[int, float]]:
    """Make the function that gives the teacher's action at an observation, and how much the choice matters."""
    policy, normalize = teacher.policy, teacher.get_vec_normalize_env()
    if not isinstance(policy, ActorCriticPolicy | DQNPolicy):
        raise TypeError(f"teacher must be a PPO, A2C or DQN agent, got the policy {type(policy).__name__}.")

    def advise(x: NDArray[Any]) -> tuple[int, float]:
        seen = x if normalize is None else np.asarray(normalize.normalize_obs(x))
        action = int(teacher.predict(seen, deterministic=True)[0])
        rows, _ = policy.obs_to_tensor(seen)
        with torch.no_grad():
            value: Any = policy.q_net(rows) if isinstance(policy, DQNPolicy) else _log_probabilities(policy, rows)
        return action, float(value.max() - value.min())

    return advise


def _log_probabilities(policy: ActorCriticPolicy, rows: Any) -> Any:
    distribution: Any = policy.get_distribution(rows).distribution
    return distribution.logits


def _walk(
    env: gym.Env[Any, Any], act: Act, advise: Callable[[NDArray[Any]], tuple[int, float]], n_steps: int, seed: int
) -> list[tuple[NDArray[Any], int, float]]:
    """Walk by ``act`` and note what the teacher would do."""
    steps = []
    x, _ = env.reset(seed=seed)
    for _ in range(n_steps):
        steps.append((np.ravel(x), *advise(x)))
        x, _, over, cut, _ = env.step(act(x))
        if over or cut:
            x, _ = env.reset()
    return steps


def _fit(seen: list[tuple[NDArray[Any], int, float]], max_depth: int, seed: int) -> Model:
    X, action, weight = (np.array(part) for part in zip(*seen))
    weight = weight + 1e-6 * max(1.0, float(weight.max()))  # a teacher that never cares must not leave all at 0
    tree = Tree.from_sklearn(DecisionTreeClassifier(max_depth=max_depth, random_state=seed).fit(X, action, weight))
    return Model(Encoder.identity(tree.feature_labels), tree)


def _act_by(model: Model) -> Act:
    return lambda x: int(model.predict(np.reshape(x, (1, -1)))[0])


def _judge(env: gym.Env[Any, Any], act: Act, n_episodes: int, seed: int) -> float:
    total = 0.0
    for episode in range(n_episodes):
        x, _ = env.reset(seed=seed + episode)
        done = False
        while not done:
            x, reward, over, cut, _ = env.step(act(x))
            total += float(reward)
            done = over or cut
    return total / n_episodes
