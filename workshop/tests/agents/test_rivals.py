"""DGT, ICCT and soft trees: what they compute, what they pass back, and that they learn and end in a tree."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from dtsemnet.rl import policy_tree
from dtsemnet_paper.agents import DGTPolicy, ICCTPolicy, SoftTreePolicy
from dtsemnet_paper.agents.rivals import DGTActor, ICCTActor, SoftActor
from rl.algorithms.test_lean_ppo import OPTIONS, check_updates
from rl.worlds import Sides, eight, far_from_splits

ACTORS = (DGTActor, ICCTActor, SoftActor)


def made(kind, depth, seed):
    """Build an actor of four actions on three features, and some rows."""
    torch.manual_seed(seed)
    return kind(3, 4, max_depth=depth), torch.randn(20, 3)


@given(kind=st.sampled_from(ACTORS), depth=st.integers(2, 5), seed=st.integers(0, 9))
def test_acts_are_those_of_the_tree(kind, depth, seed):
    actor, x = made(kind, depth, seed)
    np.testing.assert_array_equal(actor.to_tree().predict(x.double().numpy()), actor.act(x).numpy())
    if kind is not SoftActor:
        torch.testing.assert_close(actor(x), actor.net.predict(x))


@pytest.mark.parametrize("kind", ACTORS)
@pytest.mark.parametrize("training", [True, False])
def test_every_part_gets_a_gradient(kind, training):
    actor, x = made(kind, 3, 0)
    actor.train(training)
    actor(x).square().sum().backward()
    for parameter in actor.parameters():
        assert parameter.grad.abs().sum() > 0


def test_icct_keeps_the_largest_weight_of_each_split():
    actor, _ = made(ICCTActor, 3, 0)
    weight, full = actor.to_tree().weight, actor.net.splits.weight.detach().double().numpy()
    kept = np.abs(full).argmax(axis=1)
    np.testing.assert_array_equal(weight.nonzero()[1], kept)
    np.testing.assert_array_equal(weight[np.arange(7), kept], full[np.arange(7), kept])


@pytest.mark.parametrize("policy", [DGTPolicy, ICCTPolicy, SoftTreePolicy])
def test_agents_learn_and_end_in_their_tree(policy, tmp_path):
    agent = PPO(
        policy,
        eight(Sides),
        learning_rate=0.03,
        n_steps=32,
        batch_size=64,
        gamma=0.0,
        policy_kwargs={"actor_kwargs": {"max_depth": 3}, "net_arch": [16]},
        seed=0,
        device="cpu",
    ).learn(2048)
    env = Monitor(Sides())
    env.reset(seed=1)
    reward = evaluate_policy(agent, env, 20)[0]
    assert reward > 6  # guessing gets 2.5
    agent.save(tmp_path / "agent")
    again = PPO.load(tmp_path / "agent", device="cpu")
    X = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)
    model = policy_tree(again)
    far = far_from_splits(model, X)
    np.testing.assert_array_equal(model.predict(X)[far], agent.predict(X, deterministic=True)[0][far])


@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
@pytest.mark.parametrize("policy", [DGTPolicy, ICCTPolicy, SoftTreePolicy])
@pytest.mark.parametrize("options", OPTIONS)
def test_lean_ppo_trains_them_as_ppo_does(policy, options):
    check_updates(policy, options)
