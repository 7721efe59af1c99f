"""From settings to agents, ready to train.

A recipe makes the policy of an agent: for discrete actions it is trained by PPO, for a ``Box`` of actions by SAC, or by
``TopKSAC``. Settings that a recipe does not take are options of the algorithm.

===================== ==================================================================
``judge_episodes``    that judge a policy which may be the best, 130 by default
``depth``             of the tree
``n_envs``            copies of the environment side by side, 1 by default
``normalize``         true: observations through ``VecNormalize``
``critic``, ``actor`` layers of the critic, and of the actor if that is a network
``activation``        ``tanh`` or ``relu``, of the networks
``decay``             true: learning rates fall linearly to 0
``pooling``           temperature that annealed pooling starts from, 0 for none; it falls to
                      ``pooling_end`` at ``pooling_fraction`` of the steps
``entropy_end``       of SAC: the target entropy per action dimension falls to it from ``entropy``, -1 by
                      default, between the shares ``entropy_since`` and ``entropy_until`` of the steps
``top_k``             leaves of the Top-k selector, and ``temperature`` its temperature
``rounds``            of imitation, ``round_steps`` in each, ``round_episodes`` to judge its tree
===================== ==================================================================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
from gymnasium import spaces
from stable_baselines3 import SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from torch import nn

from dtsemnet.estimators import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.nn import StraightThrough, TopK
from dtsemnet.rl.annealing import AnnealEntropy, AnnealPooling
from dtsemnet.rl.configurations import Configuration
from dtsemnet.rl.continuous import TreeSACPolicy
from dtsemnet.rl.evaluation import JUDGING_EPISODES, JUDGING_SEEDS
from dtsemnet.rl.imitation import CART
from dtsemnet.rl.lean_ppo import LeanPPO
from dtsemnet.rl.lean_sac import LeanSAC
from dtsemnet.rl.parts import AxisSplits, CrispTurns, QuantisedPaths, SparseLinearLeaves
from dtsemnet.rl.policies import TreePolicy
from dtsemnet.rl.rivals import DGTPolicy, ICCTPolicy, SoftTreePolicy
from dtsemnet.rl.sac import TopKSAC

__all__ = ["AGENTS", "STUDENTS", "algorithm_of", "build_agent", "build_student", "build_worlds", "check_settings"]

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}
OURS = (
    "steps", "judge_every", "judge_episodes", "depth", "n_envs", "normalize", "critic", "actor", "activation",
    "decay", "pooling", "pooling_end", "pooling_fraction", "entropy", "entropy_end", "entropy_since", "entropy_until",
    "top_k", "temperature",
)  # fmt: skip
"""Settings that are not the algorithm's."""
HANDED = ("policy", "env", "seed", "device", "verbose", "policy_kwargs", "tensorboard_log", "kwargs")
"""Options of algorithms that are no settings."""
RATES = ("learning_rate", "actor_learning_rate", "leaf_learning_rate")
ROUNDS = ("rounds", "round_steps", "round_episodes")
"""Settings of imitation: rounds of DAgger, steps in each, and episodes that judge its tree."""

Settings = Mapping[str, Any]
Recipe = tuple[type[BaseAlgorithm], Any, Callable[[Settings], dict[str, Any]]]
"""Algorithm, policy, and from settings the keywords of the policy."""


def build_agent(configuration: Configuration, seed: int) -> tuple[BaseAlgorithm, list[BaseCallback]]:
    """Build an agent with its environments, and the callbacks that drive it.

    Examples
    --------
    >>> from dtsemnet.rl.configurations import read_environment
    >>> agent, callbacks = build_agent(read_environment("CartPole-v1").configuration("dtsemnet"), seed=1)
    >>> agent.policy.actor.to_tree(), type(callbacks[0]).__name__
    (Tree(depth 4, 15 splits, 16 leaves, 4 features, class leaves: 0, 1), 'AnnealPooling')
    """
    check_settings(configuration)
    settings = configuration.settings
    algorithm, policy, policy_kwargs = _recipe(configuration)
    options = {name: value for name, value in settings.items() if name not in OURS}
    if settings.get("decay"):
        options |= {name: LinearSchedule(options[name], 0.0, 1.0) for name in RATES if options.get(name) is not None}
    if issubclass(algorithm, SAC):
        options.setdefault("buffer_size", min(1_000_000, configuration.steps))
    agent = algorithm(
        policy, build_worlds(configuration), policy_kwargs=policy_kwargs(settings), seed=seed, device="cpu", **options
    )
    return agent, _annealing(settings)


def _annealing(settings: Settings) -> list[BaseCallback]:
    """Make the callbacks that settings ask for; what they do not tell has the default of the callback."""
    pooling = {"start": "pooling", "end": "pooling_end", "fraction": "pooling_fraction"}
    entropy = {"start": "entropy", "end": "entropy_end", "since": "entropy_since", "until": "entropy_until"}
    callbacks: list[BaseCallback] = []
    if settings.get("pooling"):
        callbacks.append(AnnealPooling(**_told(settings, pooling)))
    if settings.get("entropy_end") is not None:
        callbacks.append(AnnealEntropy(**_told(settings, entropy)))
    return callbacks


def _told(settings: Settings, names: Mapping[str, str]) -> dict[str, Any]:
    """Pick settings under other names."""
    return {name: settings[key] for name, key in names.items() if settings.get(key) is not None}


def build_worlds(configuration: Configuration) -> VecEnv:
    """Build the environments to train in."""
    settings = configuration.settings
    # Nobody looks on: LunarLander, for one, would simulate the sparks of its engines, ten times the work of the rest.
    unseen = {"render_mode": None}
    name, n_envs = configuration.environment.environment, settings.get("n_envs", 1)
    worlds: VecEnv = make_vec_env(name, n_envs=n_envs, env_kwargs=unseen)
    return VecNormalize(worlds, norm_reward=False) if settings.get("normalize") else worlds


def build_student(configuration: Configuration, seed: int) -> Any:
    """Build the estimator whose tree imitates a network.

    Examples
    --------
    >>> from dtsemnet.rl.configurations import read_environment
    >>> build_student(read_environment("CartPole-v1").configuration("viper"), seed=1)
    DecisionTreeClassifier(max_depth=4, random_state=1)
    """
    classifier, regressor = STUDENTS[configuration.agent]
    kind = regressor if issubclass(algorithm_of(configuration), SAC) else classifier
    return kind(max_depth=configuration.settings["depth"], random_state=seed)


def algorithm_of(configuration: Configuration) -> type[BaseAlgorithm]:
    """Name the algorithm that trains an agent."""
    return _recipe(configuration)[0]


def check_settings(configuration: Configuration) -> None:
    """Refuse agents and settings that do not exist."""
    algorithm = algorithm_of(configuration)
    allowed = {*OURS, *_options(algorithm), *(ROUNDS if configuration.agent in STUDENTS else ())}
    for name in configuration.settings:
        if name not in allowed:
            raise ValueError(f"{configuration.agent} has no setting {name!r}; there are {', '.join(sorted(allowed))}.")
    episodes = configuration.settings.get("judge_episodes", JUDGING_EPISODES)
    if not 1 <= episodes <= len(JUDGING_SEEDS):
        raise ValueError(f"judge_episodes must be from 1 to {len(JUDGING_SEEDS)}, got {episodes}.")
    activation = configuration.settings.get("activation", "tanh")
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be tanh or relu, got {activation!r}.")
    if configuration.settings.get("pooling") and configuration.agent != "dtsemnet":
        raise ValueError(f"pooling is for the agent dtsemnet, got it for {configuration.agent}.")
    _check_entropy(configuration, algorithm)


def _check_entropy(configuration: Configuration, algorithm: type[BaseAlgorithm]) -> None:
    told = [name for name, value in configuration.settings.items() if name.startswith("entropy") and value is not None]
    if told and not issubclass(algorithm, SAC):
        raise ValueError(f"{told[0]} is for continuous actions, which {configuration.environment.name} has not.")
    if told and "entropy_end" not in told:
        raise ValueError(f"{told[0]} needs entropy_end beside it, to which the entropy falls.")


def _options(algorithm: type[BaseAlgorithm]) -> set[str]:
    """Names of the options of an algorithm, and of the one that it hands the others on to."""
    names = set(inspect.signature(algorithm).parameters)
    if "kwargs" in names:
        names |= _options(algorithm.__mro__[1])
    return {name for name in names if name not in HANDED and not name.startswith("_")}


def _recipe(configuration: Configuration) -> Recipe:
    with gym.make(configuration.environment.environment) as world:
        discrete = isinstance(world.action_space, spaces.Discrete)
    recipes = AGENTS["discrete" if discrete else "continuous"]
    if configuration.agent not in recipes:
        raise ValueError(
            f"agent must be one of {', '.join(recipes)} for the actions of {configuration.environment.name}, "
            f"got {configuration.agent!r}."
        )
    return recipes[configuration.agent]


def _networks(settings: Settings) -> dict[str, Any]:
    return {"activation_fn": ACTIVATIONS[settings.get("activation", "tanh")]}


def _critic(settings: Settings) -> dict[str, Any]:
    return _networks(settings) | {"net_arch": list(settings.get("critic", [64, 64]))}


def _tree(settings: Settings) -> dict[str, Any]:
    return _critic(settings) | {"max_depth": settings["depth"], "pooling": float(settings.get("pooling", 0.0))}


def _rival(settings: Settings) -> dict[str, Any]:
    return _critic(settings) | {"actor_kwargs": {"max_depth": settings["depth"]}}


def _mlp(judge: str) -> Callable[[Settings], dict[str, Any]]:
    """A network for each, the critic under the name that its algorithm knows."""
    return lambda settings: {
        **_networks(settings),
        "net_arch": {"pi": list(settings.get("actor", [64, 64])), judge: list(settings.get("critic", [64, 64]))},
    }


def _top_k(settings: Settings) -> dict[str, Any]:
    selector = TopK(settings.get("top_k", 4), temperature=settings.get("temperature", 0.5))
    return _regressor(selector=selector)(settings)


def _regressor(**parts: Any) -> Callable[[Settings], dict[str, Any]]:
    return lambda settings: {**_critic(settings), "max_depth": settings["depth"], **parts}


AGENTS: dict[str, dict[str, Recipe]] = {
    "discrete": {
        "dtsemnet": (LeanPPO, TreePolicy, _tree),
        "mlp": (LeanPPO, "MlpPolicy", _mlp("vf")),
        "dgt": (LeanPPO, DGTPolicy, _rival),
        "icct": (LeanPPO, ICCTPolicy, _rival),
        "soft": (LeanPPO, SoftTreePolicy, _rival),
        "viper": (LeanPPO, "MlpPolicy", _mlp("vf")),
        "dtsemnet-viper": (LeanPPO, "MlpPolicy", _mlp("vf")),
    },
    "continuous": {
        "dtsemnet": (TopKSAC, TreeSACPolicy, _top_k),
        "dtsemnet-ste": (LeanSAC, TreeSACPolicy, _regressor(selector=StraightThrough())),
        "mlp": (LeanSAC, "MlpPolicy", _mlp("qf")),
        "dgt": (LeanSAC, TreeSACPolicy, _regressor(selector=QuantisedPaths())),
        "icct": (
            LeanSAC,
            TreeSACPolicy,
            _regressor(selector=CrispTurns(), splits=AxisSplits, leaves=SparseLinearLeaves),
        ),
        "viper": (LeanSAC, "MlpPolicy", _mlp("qf")),
        "dtsemnet-viper": (LeanSAC, "MlpPolicy", _mlp("qf")),
    },
}
"""Recipes by the kind of actions. Those of ``STUDENTS`` are of the agent mlp, which these imitate."""
STUDENTS: dict[str, tuple[type[Any], type[Any]]] = {
    "viper": CART,
    "dtsemnet-viper": (DTSemNetClassifier, DTSemNetRegressor),
}
"""What imitates a network: estimators for discrete and for continuous actions."""
