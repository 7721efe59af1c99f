"""TreePolicy: the leaf reached acts, rollouts and updates see one distribution, everything survives a file."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from dtsemnet.rl import AnnealPooling, TreeActor, TreePolicy
from rl.worlds import Echo, Sides, eight


def agent(env=None, seed=0, **policy_kwargs):
    """Build a small PPO agent."""
    return PPO(
        TreePolicy,
        eight(Sides) if env is None else env,
        learning_rate=0.02,
        n_steps=32,
        batch_size=64,
        gamma=0.0,
        policy_kwargs=policy_kwargs,
        seed=seed,
        device="cpu",
    )


def observations(n, d=2, seed=0):
    """Draw normal observations."""
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@given(depth=st.integers(2, 5), pooling=st.sampled_from([0.0, 0.3, 2.0]), seed=st.integers(0, 9))
def test_deterministic_action_is_that_of_the_leaf_reached(depth, pooling, seed):
    torch.manual_seed(seed)
    actor = TreeActor(3, 4, max_depth=depth, pooling=pooling)
    x = torch.from_numpy(observations(50, 3, seed))
    leaf = actor.net.leaf_logits(x).argmax(dim=1)
    assert torch.equal(actor.act(x), leaf % 4)


def test_a_tie_takes_the_leaf_and_not_the_first_action():
    tree_agent = agent(max_depth=2)
    actor = tree_agent.policy.actor
    with torch.no_grad():
        actor.net.splits.weight.zero_()
        # The root is a tie, so left; then right: leaf 1. Leaves 0 and 2, behind ties of their own, pool to 0 as well.
        actor.net.splits.bias.copy_(torch.tensor([0.0, 1.0, 0.0]))
    assert tree_agent.predict(np.zeros(2, np.float32), deterministic=True)[0] == 1
    actor.net.splits.bias.data = torch.tensor([0.0, 0.0, 0.0])
    assert tree_agent.predict(np.zeros(2, np.float32), deterministic=True)[0] == 0
    actor.net.head.leaf_class.copy_(torch.tensor([3, 2, 1, 0]))
    # All four actions pool to 0: the largest logit would be action 0, the leaf reached holds 3.
    obs = torch.zeros(1, 2)
    assert actor(obs).argmax() == 0
    assert tree_agent.predict(obs.numpy(), deterministic=True)[0] == 3
    assert tree_agent.policy.get_distribution(obs).mode() == 3
    assert tree_agent.policy(obs, deterministic=True)[0] == 3


@pytest.mark.parametrize("pooling", [0.0, 0.7])
def test_rollout_and_update_see_the_same_probabilities(pooling):
    policy = agent(max_depth=3, pooling=pooling).policy
    obs = torch.from_numpy(observations(64))
    policy.set_training_mode(False)
    actions, _, before = policy(obs)
    policy.set_training_mode(True)
    _, after, _ = policy.evaluate_actions(obs, actions)
    torch.testing.assert_close(before, after, rtol=0, atol=0)


def test_pooled_logits_are_above_the_maximum_and_reach_it_in_the_limit():
    actor = TreeActor(3, 2, max_depth=4)
    x = torch.from_numpy(observations(50, 3))
    top = actor(x)
    actor.pooling = 0.5
    assert (actor(x) > top).all()
    actor.pooling = 1e-6
    torch.testing.assert_close(actor(x), top, atol=1e-4, rtol=0)


def test_an_agent_learns_and_survives_a_file(tmp_path):
    tree_agent = agent(max_depth=3, pooling=1.0, net_arch=[16]).learn(2048, callback=AnnealPooling(fraction=0.5))
    env = Monitor(Sides())
    env.reset(seed=1)
    assert evaluate_policy(tree_agent, env, 20)[0] > 9
    assert tree_agent.policy.actor.pooling == 0
    tree_agent.policy.actor.pooling = 0.25
    tree_agent.save(tmp_path / "agent")
    again = PPO.load(tmp_path / "agent", device="cpu")
    assert again.policy.actor.pooling == 0.25
    X = observations(500)
    np.testing.assert_array_equal(again.predict(X, deterministic=True)[0], tree_agent.predict(X, deterministic=True)[0])
    torch.testing.assert_close(again.policy.actor(torch.from_numpy(X)), tree_agent.policy.actor(torch.from_numpy(X)))
    tree_agent.policy.save(tmp_path / "policy")
    alone = TreePolicy.load(tmp_path / "policy", device="cpu")
    np.testing.assert_array_equal(alone.predict(X, deterministic=True)[0], tree_agent.predict(X, deterministic=True)[0])
    again.set_env(tree_agent.get_env())
    assert again.learn(256).num_timesteps == 256


def test_training_moves_every_part():
    tree_agent = agent(max_depth=3)
    before = {name: value.clone() for name, value in tree_agent.policy.named_parameters()}
    tree_agent.learn(256)
    assert all(not torch.equal(before[name], value) for name, value in tree_agent.policy.named_parameters())
    assert any(name.startswith("action_net") for name in before)


def test_same_seed_same_tree():
    first, second = (agent(seed=3).learn(256).policy.actor.to_tree() for _ in range(2))
    assert first == second


def test_ortho_init_gives_orthonormal_columns():
    weight = TreeActor(4, 2, max_depth=4, ortho_init=True).net.splits.weight
    torch.testing.assert_close(weight.T @ weight, torch.eye(4), atol=1e-5, rtol=0)
    weight = TreeActor(4, 2, max_depth=4, ortho_init=False).net.splits.weight
    assert weight.abs().max() <= 0.5


def test_errors_name_the_way_out():
    with pytest.raises(ValueError, match="each of the 4 actions a leaf, got 1; take at least 2"):
        agent(max_depth=1)
    with pytest.raises(TypeError, match="TreeSACPolicy"):
        agent(eight(Echo))
    with pytest.raises(ValueError, match="critic alone"):
        agent(net_arch={"pi": [8], "vf": [8]})
    with pytest.raises(ValueError, match="pooling must be at least 0"):
        agent(pooling=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cartpole_is_balanced_within_60000_steps(seed):
    tree_agent = PPO(
        TreePolicy,
        "CartPole-v1",
        learning_rate=0.024,
        n_steps=832,
        batch_size=32,
        n_epochs=20,
        gae_lambda=0.86,
        ent_coef=0.02,
        policy_kwargs={"max_depth": 4, "net_arch": [16, 16]},
        seed=seed,
        device="cpu",
    )
    best = 0.0
    while best < 475 and tree_agent.num_timesteps < 60_000:
        tree_agent.learn(832 * 5, reset_num_timesteps=False)
        env = Monitor(gym.make("CartPole-v1"))
        env.reset(seed=1000 + seed)
        best = max(best, evaluate_policy(tree_agent, env, 20)[0])
    assert best >= 475
