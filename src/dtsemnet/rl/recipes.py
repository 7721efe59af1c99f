"""Recipes: from the settings of an agent to the agent, ready to train.

A :class:`Recipe` names the algorithm that trains an agent and its policy: PPO for discrete actions, SAC or ``TopKSAC``
for continuous ones. :class:`Settings` lists what a configuration may set; every other setting is an option of the
algorithm.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal

import gymnasium as gym
from gymnasium import spaces
from stable_baselines3 import SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from torch import nn

from dtsemnet.estimators import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.names import shown
from dtsemnet.nn import StraightThrough, TopK
from dtsemnet.rl.algorithms.lean_ppo import LeanPPO
from dtsemnet.rl.algorithms.lean_sac import LeanSAC
from dtsemnet.rl.algorithms.topk_sac import TopKSAC
from dtsemnet.rl.annealing import AnnealEntropy, AnnealPooling
from dtsemnet.rl.environments import Configuration, extensions
from dtsemnet.rl.evaluation import JUDGING_EPISODES, JUDGING_SEEDS
from dtsemnet.rl.imitation import CART
from dtsemnet.rl.policies.ppo import TreePolicy
from dtsemnet.rl.policies.sac import TreeSACPolicy

__all__ = [
    "ActionKind", "Recipe", "Settings", "build_agent", "build_student", "critic_options", "find_recipe",
    "make_training_environments", "read_settings", "recipes_for", "tree_sac_options",
]  # fmt: skip

ActionKind = Literal["discrete", "continuous"]
ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}
NOT_SETTINGS = ("policy", "env", "seed", "device", "verbose", "policy_kwargs", "tensorboard_log", "args", "kwargs")
"""Arguments of an algorithm that a configuration must not set."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of an agent; None in a configuration stands for the default."""

    steps: int
    judge_every: int
    """Steps between two evaluations of the policy."""
    judge_episodes: int = JUDGING_EPISODES
    """Episodes that evaluate a policy which may be the best."""
    depth: int
    n_envs: int = 1
    """Copies of the environment that are stepped together."""
    normalize: bool = False
    """Normalise observations by ``VecNormalize``."""
    critic: Sequence[int] = (64, 64)
    """Layers of the critic."""
    actor: Sequence[int] = (64, 64)
    """Layers of the actor, if it is a network."""
    activation: Literal["tanh", "relu"] = "tanh"
    decay: bool = False
    """Let the learning rates fall linearly to 0."""
    pooling: float = 0.0
    """Temperature at which annealed pooling starts; 0 means no annealing."""
    pooling_end: float = 0.05
    """Temperature that it falls to."""
    pooling_fraction: float = 0.7
    """Share of the steps after which the pool is the maximum."""
    entropy: float = -1.0
    """SAC: target entropy per action dimension at the start, if ``entropy_end`` is given."""
    entropy_end: float | None = None
    """SAC: target entropy at the end; None keeps SAC's own target."""
    entropy_since: float = 0.3
    entropy_until: float = 0.9
    """Shares of the steps between which the target entropy falls."""
    top_k: int = 4
    """Leaves of the Top-k selector."""
    temperature: float = 0.5
    """Temperature of the Top-k selector."""
    rounds: int = 10
    """Imitation: rounds of DAgger."""
    round_steps: int = 2000
    """Imitation: steps in each round."""
    round_episodes: int = 10
    """Imitation: episodes that evaluate the tree of a round."""
    algorithm_options: Mapping[str, Any] = field(default_factory=dict)
    """All other settings."""


@dataclass(frozen=True)
class Recipe:
    """How an agent is made."""

    algorithm: type[BaseAlgorithm]
    policy: str | type[BasePolicy]
    policy_options: Callable[[Settings], dict[str, Any]]
    """Computes the keywords of the policy."""
    student: type[Any] | None = None
    """Estimator whose tree imitates the agent that the rest of the recipe describes."""


def _check_kinds(given: Mapping[str, Any]) -> None:
    """Refuse values that are not of the kind of their setting; of the options of algorithms, numbers without end."""
    kinds = {part.name: str(part.type) for part in fields(Settings)}
    for name, value in given.items():
        kind = kinds.get(name, "")
        if value is None:
            continue
        if kind == "int" and name != "judge_episodes" and not _is_count(value):
            raise ValueError(f"{name} must be a whole number of at least 1, got {shown(value)}.")
        if kind == "bool" and not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, got {shown(value)}.")
        if kind == "Sequence[int]" and not (isinstance(value, Sequence) and all(map(_is_count, value))):
            raise ValueError(f"{name} must be a list of whole numbers of at least 1, got {shown(value)}.")
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if (kind.startswith("float") and not is_number) or (is_number and not abs(value) < math.inf):
            raise ValueError(f"{name} must be a finite number, got {shown(value)}.")


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def read_settings(configuration: Configuration) -> Settings:
    """Read the settings of a configuration; refuse unknown agents, unknown settings and wrong values.

    Examples
    --------
    >>> from dtsemnet.rl.environments import read_environment
    >>> settings = read_settings(read_environment("CartPole-v1").configuration("dtsemnet", {"depth": 2}))
    >>> settings.depth, settings.pooling, settings.algorithm_options["gamma"]
    (2, 1.0, 0.99)
    """
    recipe, given = find_recipe(configuration), configuration.settings
    own = {part.name for part in fields(Settings)} - {"algorithm_options"}
    if recipe.student is None:
        own -= {"rounds", "round_steps", "round_episodes"}
    known = own | _option_names(recipe.algorithm)
    for name in given:
        if name not in known:
            raise ValueError(f"{configuration.agent} has no setting {name!r}; there are {', '.join(sorted(known))}.")
    _check_kinds(given)
    settings = Settings(
        **{name: value for name, value in given.items() if name in own and value is not None},
        algorithm_options={name: value for name, value in given.items() if name not in own},
    )
    if not (_is_count(settings.judge_episodes) and settings.judge_episodes <= len(JUDGING_SEEDS)):
        raise ValueError(f"judge_episodes must be from 1 to {len(JUDGING_SEEDS)}, got {settings.judge_episodes}.")
    if settings.activation not in ACTIVATIONS:
        raise ValueError(f"activation must be tanh or relu, got {settings.activation!r}.")
    if settings.pooling and configuration.agent != "dtsemnet":
        raise ValueError(f"pooling is for the agent dtsemnet, got it for {configuration.agent}.")
    entropy = [name for name, value in given.items() if name.startswith("entropy") and value is not None]
    if entropy and not issubclass(recipe.algorithm, SAC):
        raise ValueError(
            f"{entropy[0]} is for continuous actions, which {configuration.environment.name} does not have."
        )
    if entropy and "entropy_end" not in entropy:
        raise ValueError(f"{entropy[0]} needs entropy_end beside it, the value that the entropy falls to.")
    return settings


def find_recipe(configuration: Configuration) -> Recipe:
    """Find the recipe of an agent for the actions of its environment."""
    recipes = recipes_for(_action_kind(configuration.environment.environment))
    if configuration.agent not in recipes:
        raise ValueError(
            f"agent must be one of {', '.join(recipes)} for the actions of {configuration.environment.name}, "
            f"got {configuration.agent!r}."
        )
    return recipes[configuration.agent]


def recipes_for(actions: ActionKind) -> dict[str, Recipe]:
    """List the recipes for discrete or for continuous actions, those of extensions included."""
    recipes = dict(RECIPES[actions])
    for extension in extensions():
        recipes |= extension.recipes.get(actions, {})
    return recipes


def build_agent(configuration: Configuration, seed: int) -> tuple[BaseAlgorithm, list[BaseCallback]]:
    """Build an agent with its environments, and the callbacks that anneal its settings.

    Examples
    --------
    >>> from dtsemnet.rl.environments import read_environment
    >>> agent, callbacks = build_agent(read_environment("CartPole-v1").configuration("dtsemnet"), seed=1)
    >>> agent.policy.actor.to_tree(), type(callbacks[0]).__name__
    (Tree(depth 4, 15 splits, 16 leaves, 4 features, class leaves: 0, 1), 'AnnealPooling')
    """
    settings, recipe = read_settings(configuration), find_recipe(configuration)
    options = dict(settings.algorithm_options)
    if settings.decay:
        for name in ("learning_rate", "actor_learning_rate", "leaf_learning_rate"):
            if options.get(name) is not None:
                options[name] = LinearSchedule(options[name], 0.0, 1.0)
    if issubclass(recipe.algorithm, SAC):
        options.setdefault("buffer_size", min(1_000_000, settings.steps))
    worlds, policy_kwargs = make_training_environments(configuration), recipe.policy_options(settings)
    agent = recipe.algorithm(recipe.policy, worlds, policy_kwargs=policy_kwargs, seed=seed, device="cpu", **options)
    callbacks: list[BaseCallback] = []
    if settings.pooling:
        callbacks.append(AnnealPooling(settings.pooling, settings.pooling_end, settings.pooling_fraction))
    if settings.entropy_end is not None:
        shares = settings.entropy_since, settings.entropy_until
        callbacks.append(AnnealEntropy(settings.entropy, settings.entropy_end, *shares))
    return agent, callbacks


def make_training_environments(configuration: Configuration) -> VecEnv:
    """Make the copies of the environment that an agent trains in."""
    settings = read_settings(configuration)
    # By a function, since by name stable-baselines3 asks for pictures: LunarLander would simulate the sparks of its
    # engines, ten times the work of all the rest, and a class of one's own need not know how to draw.
    worlds = make_vec_env(functools.partial(gym.make, configuration.environment.environment), settings.n_envs)
    return VecNormalize(worlds, norm_reward=False) if settings.normalize else worlds


def build_student(configuration: Configuration, seed: int) -> Any:
    """Build the estimator whose tree imitates a network.

    Examples
    --------
    >>> from dtsemnet.rl.environments import read_environment
    >>> build_student(read_environment("CartPole-v1").configuration("viper"), seed=1)
    DecisionTreeClassifier(max_depth=4, random_state=1)
    """
    student = find_recipe(configuration).student
    assert student is not None, "only agents that imitate are built here"
    return student(max_depth=read_settings(configuration).depth, random_state=seed)


def critic_options(settings: Settings) -> dict[str, Any]:
    """Policy keywords of an agent whose only network is its critic."""
    return {"activation_fn": ACTIVATIONS[settings.activation], "net_arch": list(settings.critic)}


def tree_sac_options(**parts: Any) -> Callable[[Settings], dict[str, Any]]:
    """Policy keywords of ``TreeSACPolicy`` with the given selector, splits and leaves."""
    return lambda settings: critic_options(settings) | {"max_depth": settings.depth, **parts}


@functools.cache
def _action_kind(environment: str) -> ActionKind:
    env = gym.make(environment)
    env.close()
    return "discrete" if isinstance(env.action_space, spaces.Discrete) else "continuous"


def _option_names(algorithm: type[BaseAlgorithm]) -> set[str]:
    """Names of the options of an algorithm, and of the base class that receives its remaining keywords."""
    names = set(inspect.signature(algorithm).parameters)
    if "kwargs" in names:
        names |= _option_names(algorithm.__mro__[1])
    return {name for name in names if name not in NOT_SETTINGS and not name.startswith("_")}


def _tree_ppo_options(settings: Settings) -> dict[str, Any]:
    return critic_options(settings) | {"max_depth": settings.depth, "pooling": float(settings.pooling)}


def _top_k_options(settings: Settings) -> dict[str, Any]:
    return tree_sac_options(selector=TopK(settings.top_k, temperature=settings.temperature))(settings)


def _network_options(settings: Settings) -> dict[str, Any]:
    # PPO knows its critic as vf, SAC as qf, and each ignores the other name.
    critic = list(settings.critic)
    return critic_options(settings) | {"net_arch": {"pi": list(settings.actor), "vf": critic, "qf": critic}}


RECIPES: dict[ActionKind, dict[str, Recipe]] = {
    "discrete": {
        "dtsemnet": Recipe(LeanPPO, TreePolicy, _tree_ppo_options),
        "mlp": Recipe(LeanPPO, "MlpPolicy", _network_options),
        "viper": Recipe(LeanPPO, "MlpPolicy", _network_options, student=CART[0]),
        "dtsemnet-viper": Recipe(LeanPPO, "MlpPolicy", _network_options, student=DTSemNetClassifier),
    },
    "continuous": {
        "dtsemnet": Recipe(TopKSAC, TreeSACPolicy, _top_k_options),
        "dtsemnet-ste": Recipe(LeanSAC, TreeSACPolicy, tree_sac_options(selector=StraightThrough())),
        "mlp": Recipe(LeanSAC, "MlpPolicy", _network_options),
        "viper": Recipe(LeanSAC, "MlpPolicy", _network_options, student=CART[1]),
        "dtsemnet-viper": Recipe(LeanSAC, "MlpPolicy", _network_options, student=DTSemNetRegressor),
    },
}
"""Agents by the kind of actions. Those with a student imitate the agent mlp of the same settings."""
