"""VIPER: a tree that imitates a trained agent (Bastani, Pu and Solar-Lezama, 2018).

DAgger: the first round follows the teacher, later rounds follow the latest tree, so that the tree is
taught where it goes itself; the teacher names the action at every step. Steps where the choice matters
count more, by ``max_a Q - min_a Q``. Each round fits CART to all steps so far; the best of
the trees by reward is kept. Where the teacher has no Q function, the logarithm of its action
probabilities stands in, as in the paper. Continuous actions, which the paper does not treat, are
fitted by squared error, and all steps count alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy

from dtsemnet.rl.evaluation import act_by_tree, evaluate
from dtsemnet.tree import Encoder, Model, Tree

__all__ = ["viper"]

Advice = Callable[[NDArray[Any]], tuple[Any, float]]
"""From an observation to the teacher's action, and how much the choice matters."""
Step = tuple[NDArray[Any], Any, float]


def viper(
    teacher: BaseAlgorithm,
    env: gym.Env[Any, Any] | str,
    *,
    max_depth: int = 4,
    n_rounds: int = 10,
    n_steps: int = 2000,
    n_episodes: int = 10,
    seed: int = 0,
) -> Model:
    """Distil an agent into an axis-aligned tree.

    Parameters
    ----------
    teacher : agent of stable-baselines3
        A trained agent; for discrete actions PPO, A2C or DQN. If it was trained behind ``VecNormalize``, it must still
        have that environment; the tree reads raw observations.
    env : gymnasium.Env or str
        Where to act, without normalisation, or its name; a ``Box`` of observations, actions ``Discrete`` or a ``Box``
        of one axis. By name the trees are judged faster.
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
        The best tree; its classes are the actions that the teacher took, or its outputs the actions.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> teacher = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, seed=0)
    >>> viper(teacher, "CartPole-v1", max_depth=2, n_rounds=1, n_steps=50, n_episodes=1).tree.depth <= 2
    True
    """
    if min(max_depth, n_rounds, n_steps, n_episodes) < 1:
        raise ValueError(
            "max_depth, n_rounds, n_steps and n_episodes must be at least 1, "
            f"got {max_depth}, {n_rounds}, {n_steps} and {n_episodes}."
        )
    world = gym.make(env) if isinstance(env, str) else env
    advise = _advice(teacher, _is_discrete(world))
    act: Callable[[NDArray[Any]], Any] = lambda x: advise(x)[0]  # noqa: E731
    seen: list[Step] = []
    best, best_reward = None, -np.inf
    for n in range(n_rounds):
        seen += _walk(world, act, advise, n_steps, seed + n)
        model = _fit(seen, max_depth, seed, discrete=_is_discrete(world))
        act = _follow(model, world)
        reward = float(np.mean(evaluate(model, env, range(seed + n_rounds, seed + n_rounds + n_episodes))))
        if reward > best_reward:
            best, best_reward = model, reward
    assert best is not None
    return best


def _is_discrete(env: gym.Env[Any, Any]) -> bool:
    seen, done = env.observation_space, env.action_space
    if (
        not isinstance(seen, spaces.Box)
        or not isinstance(done, spaces.Discrete | spaces.Box)
        or len(done.shape or ()) > 1
    ):
        raise TypeError(f"env must have a Box of observations, and actions Discrete or a Box of one axis, got {done}.")
    return isinstance(done, spaces.Discrete)


def _advice(teacher: BaseAlgorithm, discrete: bool) -> Advice:
    policy, normalize = teacher.policy, teacher.get_vec_normalize_env()
    if discrete and not isinstance(policy, ActorCriticPolicy | DQNPolicy):
        raise TypeError(f"teacher must be a PPO, A2C or DQN agent, got the policy {type(policy).__name__}.")

    def advise(x: NDArray[Any]) -> tuple[Any, float]:
        seen = x if normalize is None else np.asarray(normalize.normalize_obs(x))
        action = teacher.predict(seen, deterministic=True)[0]
        if not discrete:
            return action, 1.0
        rows, _ = policy.obs_to_tensor(seen)
        with torch.no_grad():
            value: Any = policy.q_net(rows) if isinstance(policy, DQNPolicy) else _log_probabilities(policy, rows)
        return int(action), float(value.max() - value.min())

    return advise


def _log_probabilities(policy: Any, rows: Any) -> Any:
    distribution: Any = policy.get_distribution(rows).distribution
    return distribution.logits


def _walk(
    env: gym.Env[Any, Any], act: Callable[[NDArray[Any]], Any], advise: Advice, n_steps: int, seed: int
) -> list[Step]:
    """Walk by ``act`` and note what the teacher would do."""
    steps = []
    x, _ = env.reset(seed=seed)
    for _ in range(n_steps):
        steps.append((np.ravel(x), *advise(x)))
        x, _, over, cut, _ = env.step(act(x))
        if over or cut:
            x, _ = env.reset()
    return steps


def _fit(seen: list[Step], max_depth: int, seed: int, *, discrete: bool) -> Model:
    X, action, weight = (np.array(part) for part in zip(*seen))
    weight = weight + 1e-6 * max(1.0, float(weight.max()))  # a teacher that never cares must not leave all at 0
    cart = DecisionTreeClassifier if discrete else DecisionTreeRegressor
    tree = Tree.from_sklearn(cart(max_depth=max_depth, random_state=seed).fit(X, action, weight))
    return Model(Encoder.identity(tree.feature_labels), tree)


def _follow(model: Model, env: gym.Env[Any, Any]) -> Callable[[NDArray[Any]], Any]:
    act = act_by_tree(model, env)
    return lambda x: act(np.asarray(x)[np.newaxis])[0]
