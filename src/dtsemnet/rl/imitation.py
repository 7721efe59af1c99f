"""Imitation: a tree learns from a trained agent, which may be a network or anything else.

DAgger (Ross, Gordon and Bagnell, 2011): the first round follows the teacher, later rounds follow the latest tree, so
that the tree learns in the states that it reaches itself; the teacher labels every step with its action. Each round
fits a student to all steps so far; the tree with the best reward is kept.

VIPER (Bastani, Pu and Solar-Lezama, 2018) is DAgger with CART as the student, with each step weighted by how much the
choice of the action matters, ``max_a Q - min_a Q``. If the teacher has no Q function, the logarithm of its action
probabilities takes its place, as in the paper. Continuous actions, which the paper does not treat, are fitted by
squared error with equal weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy

from dtsemnet.arrays import Array
from dtsemnet.rl.evaluation import Act, EnvOrName, Policy, act_by, evaluate
from dtsemnet.rl.spaces import check_env, check_observations
from dtsemnet.rl.training import Clock, Progress, Watch
from dtsemnet.tree import Model, Tree

__all__ = ["imitate", "viper"]

Advice = Callable[[Array], tuple[Any, float]]
"""From an observation to the teacher's action, and the weight of the step."""
Lesson = tuple[Array, Any, float]
"""An observation, what the teacher does there, and the weight of the step."""
CART = (DecisionTreeClassifier, DecisionTreeRegressor)
"""VIPER's students, for discrete and for continuous actions."""


def imitate(
    teacher: Policy,
    env: EnvOrName,
    student: Any,
    *,
    n_rounds: int = 10,
    n_steps: int = 2000,
    n_episodes: int = 10,
    seed: int = 0,
    watch: Watch | None = None,
) -> Model:
    """Distil an agent into the tree that an estimator fits.

    Parameters
    ----------
    teacher : agent of stable-baselines3, Model, or callable
        A trained agent; for discrete actions PPO, A2C or DQN. If it was trained behind ``VecNormalize``, it must still
        have that environment; the tree reads raw observations. A model, such as a larger tree, or a callable from raw
        observations (one per row) to actions teaches too; then all steps weigh the same.
    env : gymnasium.Env or str
        The environment without normalisation, or its name; with a ``Box`` of observations, and ``Discrete`` actions or
        a ``Box`` of one axis. With a name the trees are evaluated faster.
    student : estimator
        Cloned and fitted in each round. For discrete actions a classifier such as ``DTSemNetClassifier``, for a ``Box``
        a regressor such as ``DTSemNetRegressor``; decision trees of scikit-learn and other estimators that end in a
        tree are accepted too.
    n_rounds, n_steps : int, default=10, 2000
        Rounds of DAgger, and steps in each.
    n_episodes : int, default=10
        Episodes that evaluate each tree, the same for all.
    seed : int, default=0
        Seed of the environment; the rounds and the evaluation use it and the numbers after it.
    watch : callable, optional
        Called with a :class:`~dtsemnet.rl.training.Progress` after each round.

    Returns
    -------
    Model
        The best tree; its classes are the actions that the teacher took, or its outputs the actions.

    Examples
    --------
    >>> from stable_baselines3 import PPO
    >>> from dtsemnet import DTSemNetClassifier
    >>> teacher = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, seed=0)
    >>> student = DTSemNetClassifier(max_depth=2, random_state=0)
    >>> imitate(teacher, "CartPole-v1", student, n_rounds=1, n_steps=50, n_episodes=1).tree.n_features
    4
    """
    if min(n_rounds, n_steps, n_episodes) < 1:
        raise ValueError(
            f"n_rounds, n_steps and n_episodes must be at least 1, got {n_rounds}, {n_steps} and {n_episodes}."
        )
    check_env(env)
    made = gym.make(env) if isinstance(env, str) else env
    discrete = _is_discrete(made)
    _check_student(student, discrete)
    advise = _advice(teacher, made, discrete)
    act: Act | None = None
    steps: list[Lesson] = []
    best, best_reward, clock = None, -np.inf, Clock()
    for n in range(n_rounds):
        steps += _walk(made, act, advise, n_steps, seed + n)
        model = _fit(student, steps)
        act = act_by(model, made)
        reward = float(np.mean(evaluate(model, env, range(seed + n_rounds, seed + n_rounds + n_episodes))))
        if reward > best_reward:
            best, best_reward = model, reward
        if watch is not None:
            spent, remaining = clock.elapsed(), (n_rounds - n - 1) / (n + 1)
            watch(Progress(len(steps), n_rounds * n_steps, None, reward, best_reward, spent, spent * remaining))
    assert best is not None
    return best


def viper(teacher: Policy, env: EnvOrName, *, max_depth: int = 4, seed: int = 0, **options: Any) -> Model:
    """Distil an agent into an axis-aligned tree, grown by CART.

    Parameters
    ----------
    teacher, env
        See :func:`imitate`.
    max_depth : int, default=4
        Depth of the tree.
    seed : int, default=0
        Seed of the environment and of CART.
    **options
        Other options of :func:`imitate`: ``n_rounds``, ``n_steps``, ``n_episodes``, ``watch``.

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
    if max_depth < 1:
        raise ValueError(f"max_depth must be at least 1, got {max_depth}.")
    cart = CART[0] if _is_discrete(gym.make(env) if isinstance(env, str) else env) else CART[1]
    return imitate(teacher, env, cart(max_depth=max_depth, random_state=seed), seed=seed, **options)


def _is_discrete(env: gym.Env[Any, Any]) -> bool:
    """Tell whether actions are ``Discrete`` or a ``Box``; refuse other environments."""
    actions = env.action_space
    known = isinstance(actions, spaces.Discrete | spaces.Box) and len(actions.shape or ()) <= 1
    if not known:
        raise TypeError(f"env must have Discrete actions or a Box of one axis, got {actions}.")
    check_observations(env.observation_space, "imitate", is_scaled=False)
    return isinstance(actions, spaces.Discrete)


def _check_student(student: Any, discrete: bool) -> None:
    is_right_kind = is_classifier if discrete else is_regressor
    if not isinstance(student, BaseEstimator) or not is_right_kind(student):
        wanted, actions = ("classifier", "Discrete actions") if discrete else ("regressor", "a Box of actions")
        raise TypeError(
            f"student must be a {wanted} for {actions}, such as DTSemNet{wanted.capitalize()}(max_depth=4), "
            f"got {student!r}."
        )


def _advice(teacher: Policy, env: gym.Env[Any, Any], discrete: bool) -> Advice:
    if not isinstance(teacher, BaseAlgorithm):
        act = act_by(teacher, env)
        return lambda x: (act(np.asarray(x)[np.newaxis])[0], 1.0)
    policy: Any = teacher.policy
    normalize = teacher.get_vec_normalize_env()
    if discrete and not isinstance(policy, ActorCriticPolicy | DQNPolicy):
        raise TypeError(f"teacher must be a PPO, A2C or DQN agent, got the policy {type(policy).__name__}.")

    def advise(x: Array) -> tuple[Any, float]:
        x = x if normalize is None else np.asarray(normalize.normalize_obs(x))
        action = teacher.predict(x, deterministic=True)[0]
        if not discrete:
            return action, 1.0
        rows, _ = policy.obs_to_tensor(x)
        with torch.no_grad():
            is_dqn = isinstance(policy, DQNPolicy)
            value: Any = policy.q_net(rows) if is_dqn else policy.get_distribution(rows).distribution.logits
        return int(action), float(value.max() - value.min())

    return advise


def _walk(env: gym.Env[Any, Any], act: Act | None, advise: Advice, n_steps: int, seed: int) -> list[Lesson]:
    """Walk by ``act``, or by the teacher if it is None, and record what the teacher would do."""
    steps = []
    x, _ = env.reset(seed=seed)
    for _ in range(n_steps):
        advised, weight = advise(x)
        steps.append((np.ravel(x), advised, weight))
        x, _, terminated, truncated, _ = env.step(advised if act is None else act(np.asarray(x)[np.newaxis])[0])
        if terminated or truncated:
            x, _ = env.reset()
    return steps


def _fit(student: Any, steps: list[Lesson]) -> Model:
    X, action, weight = (np.array(part) for part in zip(*steps))
    weight = weight + 1e-6 * max(1.0, float(weight.max()))  # all weights would be 0 if no choice mattered
    fitted = clone(student).fit(X, action, weight)
    if getattr(getattr(fitted, "history_", None), "stopped", None) == "interrupt":
        raise KeyboardInterrupt  # meant for the imitation, of which there is no tree so far that is worth keeping
    return Model.of(fitted if hasattr(fitted, "model_") else Tree.from_sklearn(fitted))
