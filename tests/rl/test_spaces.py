"""Environments that no tree can act in are refused before training, and wrong actions before they are played."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import PPO

from dtsemnet.rl import TopKSAC, TreePolicy, TreeSACPolicy, evaluate, imitate
from dtsemnet.tree import Encoder, Model, Topology, Tree
from rl.worlds import Echo, Sides, eight

OBSERVATIONS = {
    "discrete": spaces.Discrete(5),
    "multidiscrete": spaces.MultiDiscrete([2, 3]),
    "multibinary": spaces.MultiBinary(4),
    "dict": spaces.Dict({"a": spaces.Box(-1.0, 1.0, (2,)), "b": spaces.Discrete(2)}),
    "image": spaces.Box(0, 255, (3, 36, 36), np.uint8),
}


class Other(gym.Env):
    """An environment with any spaces."""

    def __init__(self, observations, actions):
        self.observation_space, self.action_space = observations, actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, True, False, {}


def constant(n_outputs=1, n_features=2, class_names=None):
    """A tree of one leaf."""
    value = np.full((1, n_outputs), 1.0 / n_outputs) if class_names else np.full((1, n_outputs), 0.4)
    tree = Tree(Topology([]), np.empty((0, n_features)), [], value, class_names=class_names)
    return Model(Encoder.identity(tree.feature_labels), tree)


@pytest.mark.parametrize("kind", OBSERVATIONS)
def test_observations_that_are_no_row_of_numbers_are_refused_before_training(kind):
    space = OBSERVATIONS[kind]
    with pytest.raises(TypeError, match=r"TreePolicy needs .* wrap the environment"):
        PPO(TreePolicy, Other(space, spaces.Discrete(2)), n_steps=8, batch_size=8, device="cpu")
    with pytest.raises(TypeError, match=r"TreeSACPolicy needs .* wrap the environment"):
        TopKSAC(TreeSACPolicy, Other(space, spaces.Box(-1.0, 1.0, (1,))), buffer_size=10, device="cpu")


def test_the_wrapper_that_the_error_names_helps():
    wrapped = gym.wrappers.FlattenObservation(Other(spaces.Discrete(5), spaces.Discrete(2)))
    agent = PPO(TreePolicy, wrapped, n_steps=8, batch_size=8, device="cpu", policy_kwargs={"max_depth": 2})
    assert agent.policy.actor.to_tree().n_features == 5


def test_pixels_are_read_as_they_are_if_told_so():
    world = Other(OBSERVATIONS["image"], spaces.Discrete(2))
    options = {"max_depth": 1, "normalize_images": False}
    with pytest.raises(TypeError, match="normalize_images=False"):
        PPO(TreePolicy, world, n_steps=8, batch_size=8, device="cpu", policy_kwargs={"max_depth": 1})
    agent = PPO(TreePolicy, world, n_steps=8, batch_size=8, device="cpu", policy_kwargs=options)
    assert agent.policy.actor.to_tree().n_features == 3 * 36 * 36


def test_discrete_actions_are_refused_by_the_policy_of_a_box():
    with pytest.raises(TypeError, match="TreeSACPolicy needs a Box of actions"):
        TreeSACPolicy(Sides.observation_space, Sides.action_space, lambda _: 1e-3)


def test_numbers_are_not_cut_to_the_numbers_of_actions():
    with pytest.raises(TypeError, match=r"policy answers with numbers.*Discrete\(4\)"):
        evaluate(constant(), Sides(), range(1))
    with pytest.raises(TypeError, match="policy answers with classes"):
        evaluate(constant(2, class_names=[0, 1]), Echo(), range(1))


@pytest.mark.parametrize(
    ("model", "world", "words"),
    [
        (constant(1), Echo(), "1 outputs"),
        (constant(2, n_features=3), Echo(), "reads 3 columns"),
        (constant(2, class_names=[0, 7]), Sides(), r"actions \[0, 7\]"),
        (constant(5, class_names=list("abcde")), Sides(), "actions"),
    ],
)
def test_a_model_of_another_environment_is_refused(model, world, words):
    with pytest.raises(ValueError, match=words):
        evaluate(model, world, range(1))


def test_environments_side_by_side_are_refused_with_the_way_out():
    for call in (evaluate, lambda policy, env: imitate(policy, env, None)):
        with pytest.raises(TypeError, match=r"env must be .* got DummyVecEnv.*env\.envs\[0\]"):
            call(constant(4, class_names=[0, 1, 2, 3]), eight(Sides))


def test_a_policy_that_is_nothing_to_act_by_is_refused():
    with pytest.raises(TypeError, match="policy must be an agent, a Model or a callable"):
        evaluate("a name", Sides(), range(1))
