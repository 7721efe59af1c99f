"""policy_tree: the tree does what the agent does, on raw observations."""

from __future__ import annotations

import warnings
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import DQN, PPO, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dtsemnet.export import to_c, to_text
from dtsemnet.rl import TopKSAC, TreePolicy, TreeSACPolicy, policy_tree
from dtsemnet.rl.extraction import named_model
from dtsemnet.tree import Encoder, MarginProbability, Model
from rl.worlds import Echo, Sides, far_from_splits
from strategies import points, trees

CLIP = 1.5


def trained(world, normalise):
    """Train an agent for a moment, with statistics that are far from 0 and 1 and clipping that bites."""
    env = DummyVecEnv([world])
    if normalise:
        env = VecNormalize(env, clip_obs=CLIP)
        env.obs_rms.mean = np.array([0.3, -0.4])
        env.obs_rms.var = np.array([0.05, 2.0])
    if world is Sides:
        kind, policy, options = PPO, TreePolicy, {"n_steps": 128, "batch_size": 64}
    else:
        kind, policy, options = TopKSAC, TreeSACPolicy, {"learning_starts": 100, "gradient_steps": 4, "batch_size": 32}
    return kind(policy, env, policy_kwargs={"max_depth": 4}, seed=0, device="cpu", **options).learn(256)


def raw(n=10_000):
    """Draw raw observations, many of them beyond the clip."""
    return np.random.default_rng(5).normal(scale=2.0, size=(n, 2)).astype(np.float32)


def leaf_of(agent, obs):
    """Find the leaf that the network reaches."""
    actor = agent.policy.actor
    net = actor.net if isinstance(agent, PPO) else actor.tree
    return net.leaf(torch.from_numpy(obs)).numpy()


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("world", [Sides, Echo])
def test_tree_is_the_deterministic_policy(world, normalise, tmp_path):
    agent = trained(world, normalise)
    normalize = agent.get_vec_normalize_env()
    X = raw()
    obs = normalize.normalize_obs(X) if normalise else X
    if normalise:
        assert (np.abs(obs) == CLIP).any(axis=1).mean() > 0.1
    agent.save(tmp_path / "agent")
    again = type(agent).load(tmp_path / "agent", device="cpu")
    model = policy_tree(agent)
    assert policy_tree(again, vec_normalize=normalize or False) == model
    model.save(tmp_path / "tree.json")
    model = Model.load(tmp_path / "tree.json")
    far = far_from_splits(model, X)
    assert far.mean() > 0.99
    np.testing.assert_array_equal(model.apply(X)[far], leaf_of(agent, obs)[far])
    action = agent.predict(obs, deterministic=True)[0]
    if world is Sides:
        np.testing.assert_array_equal(model.predict(X)[far], action[far])
        assert set(model.predict(X)) <= {0, 1, 2, 3}
    else:
        np.testing.assert_allclose(model.predict(X)[far], action[far], rtol=0, atol=1e-5)
        assert (model.predict(X) >= Echo.action_space.low).all()
        assert (model.predict(X) <= Echo.action_space.high).all()


# The exports try themselves on the largest numbers there are, which a clipped column takes to infinity first.
@pytest.mark.filterwarnings("ignore:overflow encountered in multiply:RuntimeWarning")
@pytest.mark.parametrize("world", [Sides, Echo])
def test_exports_take_it(world):
    model = policy_tree(trained(world, True), feature_names=["east", "north"])
    assert "east" in to_text(model)
    X = raw(200).astype(np.float64)
    np.testing.assert_array_equal(to_c(model).answer(X).leaf, model.apply(X))


def test_names():
    agent = trained(Sides, False)
    names = ["south-west", "south-east", "north-west", "north-east"]
    model = policy_tree(agent, feature_names=["east", "north"], action_names=names)
    X = raw(100)
    assert model.feature_labels == ("east", "north")
    np.testing.assert_array_equal(model.predict(X), np.array(names)[policy_tree(agent).predict(X)])


def test_normalisation_of_rewards_alone_leaves_observations_raw():
    agent = trained(Sides, False)
    normalize = VecNormalize(DummyVecEnv([Sides]), norm_obs=False)
    assert policy_tree(agent, vec_normalize=normalize) == policy_tree(agent)


def test_observations_of_several_axes_are_flattened():
    class Grid(Sides):
        observation_space = spaces.Box(-1.0, 1.0, (2, 1), np.float32)

        def _draw(self):
            return super()._draw().reshape(2, 1)

    agent = PPO(TreePolicy, Grid(), n_steps=64, batch_size=64, device="cpu", seed=0)
    X = raw(50)
    np.testing.assert_array_equal(
        policy_tree(agent).predict(X), agent.predict(X.reshape(-1, 2, 1), deterministic=True)[0]
    )


def test_errors_name_the_way_out():
    agent = trained(Sides, False)
    with pytest.raises(TypeError, match="got ActorCriticPolicy; train it with TreePolicy"):
        policy_tree(PPO("MlpPolicy", Sides(), n_steps=64, device="cpu"))
    with pytest.raises(ValueError, match="feature_names must hold 2 names, got 1"):
        policy_tree(agent, feature_names=["a"])
    with pytest.raises(ValueError, match="action_names must hold 4 names, got 1"):
        policy_tree(agent, action_names=["a"])
    with pytest.raises(ValueError, match="continuous"):
        policy_tree(trained(Echo, False), action_names=["a"])
    other = VecNormalize(DummyVecEnv([lambda: gym.make("CartPole-v1")]))
    with pytest.raises(ValueError, match="statistics of 4 entries, but the agent observes 2"):
        policy_tree(agent, vec_normalize=other)
    with pytest.raises(TypeError, match="Box of numbers"):
        policy_tree(PPO(TreePolicy, "FrozenLake-v1", n_steps=64, device="cpu"))


def test_a_loaded_agent_may_have_been_normalised(tmp_path):
    worlds = VecNormalize(DummyVecEnv([Sides]), norm_reward=False)
    agent = PPO(TreePolicy, worlds, policy_kwargs={"max_depth": 2}, n_steps=32, batch_size=32, seed=0, device="cpu")
    agent.learn(32).save(tmp_path / "agent")
    loaded = PPO.load(tmp_path / "agent", device="cpu")
    with pytest.warns(UserWarning, match="vec_normalize"):
        policy_tree(loaded)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert policy_tree(loaded, vec_normalize=worlds) == policy_tree(agent)
        assert policy_tree(loaded, vec_normalize=False).encoder == Encoder.identity(["x0", "x1"])


@pytest.mark.parametrize(
    ("algorithm", "policy", "env", "told"),
    [
        (DQN, TreePolicy, "CartPole-v1", "PPO, LeanPPO or A2C"),
        (TD3, TreeSACPolicy, "Pendulum-v1", "TopKSAC, LeanSAC or"),
    ],
)
def test_algorithms_that_cannot_train_a_tree_say_which_can(algorithm, policy, env, told):
    with pytest.raises(TypeError, match=told):
        algorithm(policy, env, device="cpu")


@given(data=st.data(), tree=trees(n_features=3))
def test_names_change_nothing_but_names(data, tree):
    # They once lost the guard of a regressor.
    model = Model(Encoder.identity(tree.feature_labels), tree)
    named = named_model(model, ["height", "speed", "angle"])
    X = data.draw(points(3))
    np.testing.assert_array_equal(named.predict(X), model.predict(X))
    assert named.tree.feature_names == ("height", "speed", "angle")
    if tree.is_classifier:
        sure = replace(model, probability=MarginProbability(2.0))
        assert named_model(sure, ["height", "speed", "angle"]).probability == sure.probability
