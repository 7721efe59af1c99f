"""Tiny environments that an agent learns in seconds, and observations to compare policies on."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv


class Sides(gym.Env):
    """Ten draws from a square; reward 1 for naming the quadrant (0 to 3)."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._draw(), {}

    def step(self, action):
        right = int(self.state[0] > 0) + 2 * int(self.state[1] > 0)
        self.time += 1
        return self._draw(), float(action == right), False, self.time >= 10, {}

    def _draw(self):
        self.state = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.state


class Echo(gym.Env):
    """Ten draws from a square; the reward is minus the squared distance of the action to ``(|x|, -y)``, scaled."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Box(np.array([-1.0, -3.0], np.float32), np.array([2.0, 1.0], np.float32))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._draw(), {}

    def step(self, action):
        wanted = np.array([abs(self.state[0]), -self.state[1]])
        self.time += 1
        return self._draw(), -float(np.square(action - wanted).sum()), False, self.time >= 10, {}

    def _draw(self):
        self.state = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.state


def eight(world):
    """Eight copies side by side: one call of the policy serves them all."""
    return DummyVecEnv([world] * 8)


def far_from_splits(model, X):
    """Tell which rows lie outside the float32 rounding bound of all splits of a policy's tree."""
    encoded, tree = model.transform(X), model.tree
    size = np.abs(encoded) @ np.abs(tree.weight).T + np.abs(tree.bias)
    gamma = (encoded.shape[1] + 4) * np.finfo(np.float32).eps
    return (np.abs(tree.scores(encoded)) > gamma * size).all(axis=1)
