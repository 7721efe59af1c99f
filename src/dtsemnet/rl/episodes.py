"""Episodes that are played again: how an environment without readable state is put back into the middle of one.

A simulation in C or C++ does not show its state (:mod:`dtsemnet.rl.environment_states`). But an episode follows from
the random generator of the environment when it was reset, and from the actions since then. So these are recorded, and a
resumed training plays the same actions again, which leads to the same state to the bit. If the last observation is
another one than before, the environment depends on something else; then new episodes begin.

BipedalWalker does depend on something else, which its observations show only later: it keeps its simulation from one
episode to the next, and the engine remembers what was there. A training in it resumes at the same observation, but not
to the same bytes.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dtsemnet.rl.environment_states import BIT_GENERATORS, environment_state

__all__ = ["RecordedEpisode", "episodes_of", "record_episodes", "replay_episodes"]

MOST_ACTIONS = 100_000
"""Longest episode that is recorded: one without an end would fill the memory."""


class RecordedEpisode(gym.Wrapper[Any, Any, Any, Any]):
    """An environment that remembers how its episode began, and all actions since.

    Examples
    --------
    >>> one, two = (RecordedEpisode(gym.make("LunarLander-v3")) for _ in range(2))
    >>> _ = one.reset(seed=1), two.reset(seed=2)
    >>> for action in (2, 0, 3):
    ...     observation, *_ = one.step(action)
    >>> two.replay(one.episode())
    True
    >>> one.step(1)[0].tolist() == two.step(1)[0].tolist()
    True
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.start: dict[str, Any] | None = None
        self.actions: list[Any] = []
        self.last: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and remember the generator that it is drawn from."""
        generator = None if seed is not None else self.unwrapped.np_random.bit_generator.state
        self.start, self.actions = {"seed": seed, "options": options, "generator": generator}, []
        self.last, info = self.env.reset(seed=seed, options=options)
        return self.last, info

    def step(self, action: Any) -> Any:
        """Take a step, and remember the action."""
        if len(self.actions) < MOST_ACTIONS:
            self.actions.append(np.array(action))
        else:
            self.start = None
        result = self.env.step(action)
        self.last = result[0]
        return result

    def episode(self) -> Any:
        """Give the episode so far as plain values, or None if it is too long."""
        if self.start is None:
            return None
        return self.start | {"actions": list(self.actions), "last": self.last}

    def replay(self, episode: Any) -> bool:
        """Play an episode of an environment made alike; return whether it led to the same observation."""
        state = episode["generator"]
        if state is not None:
            generator = np.random.Generator(BIT_GENERATORS[state["bit_generator"]]())
            generator.bit_generator.state = state
            self.unwrapped.np_random = generator
        self.reset(seed=episode["seed"], options=episode["options"])
        for action in episode["actions"]:
            self.step(action)
        return bool(_equal(self.last, episode["last"]))


def record_episodes(agent: BaseAlgorithm) -> None:
    """Record the episodes of an agent that is not yet trained, if its environments are opaque."""
    base = _base_env(agent)
    if base is not None and environment_state(agent.env) is None:
        base.envs = [env if isinstance(env, RecordedEpisode) else RecordedEpisode(env) for env in base.envs]


def episodes_of(agent: BaseAlgorithm) -> list[Any] | None:
    """Give the episodes that are under way, or None if they are not recorded."""
    base = _base_env(agent)
    if base is None or not all(isinstance(env, RecordedEpisode) for env in base.envs):
        return None
    episodes = [env.episode() for env in base.envs]  # type: ignore[attr-defined]
    return None if None in episodes else episodes


def replay_episodes(agent: BaseAlgorithm, episodes: list[Any]) -> bool:
    """Bring the environments of an agent back into the middle of these episodes; return whether that was possible."""
    record_episodes(agent)
    base = _base_env(agent)
    if base is None or len(episodes) != len(base.envs):
        return False
    return all(isinstance(env, RecordedEpisode) and env.replay(part) for env, part in zip(base.envs, episodes))


def _base_env(agent: BaseAlgorithm) -> DummyVecEnv | None:
    """Find the environments, if nothing with a state of its own lies between them and the agent."""
    env = agent.env.venv if isinstance(agent.env, VecNormalize) else agent.env
    return env if isinstance(env, DummyVecEnv) else None


def _equal(one: Any, two: Any) -> bool:
    """Whether two observations are the same to the bit."""
    if isinstance(one, dict):
        return isinstance(two, dict) and all(_equal(part, two.get(key)) for key, part in one.items())
    return np.asarray(one).tobytes() == np.asarray(two).tobytes()
