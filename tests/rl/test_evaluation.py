"""evaluate: side by side or one by one, the rewards are the same."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import SAC

from dtsemnet.rl import evaluate, evaluation
from dtsemnet.rl.evaluation import JUDGING_EPISODES, JUDGING_SEEDS, TEST_SEEDS, summary
from dtsemnet.tree import Encoder, Model, TanhScale, Topology, Tree


def pole():
    """Push to the side that the pole falls to."""
    tree = Tree(Topology.complete(1), [[0.1, 0.3, 1.0, 1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 1])
    return Model(Encoder.identity(tree.feature_labels), tree)


def swing():
    tree = Tree(Topology.complete(1), [[1.0, 0.0, 0.0]], [0.0], [[0.0], [0.5]], np.full((2, 1, 3), 0.3))
    return Model(Encoder.identity(tree.feature_labels), tree, TanhScale([-2.0], [2.0]))


@pytest.mark.parametrize(("policy", "name"), [(pole(), "CartPole-v1"), (swing(), "Pendulum-v1")])
def test_side_by_side_is_one_by_one(policy, name, monkeypatch):
    monkeypatch.setattr(evaluation, "N_PARALLEL", 3)  # so that five seeds take two rounds
    assert evaluate(policy, name, range(5)) == evaluate(policy, gym.make(name), range(5))


def test_agents_with_a_box_of_actions():
    agent = SAC("MlpPolicy", "Pendulum-v1", buffer_size=10, seed=0, device="cpu")
    together, alone = evaluate(agent, "Pendulum-v1", range(3)), evaluate(agent, gym.make("Pendulum-v1"), range(3))
    np.testing.assert_allclose(together, alone, rtol=1e-3)


def test_seeds_that_judge_and_test_have_none_in_common():
    assert len(TEST_SEEDS) == 100
    assert 30 < JUDGING_EPISODES <= len(JUDGING_SEEDS)
    assert not set(JUDGING_SEEDS) & set(TEST_SEEDS)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20), st.floats(-10, 10))
def test_spread_does_not_move_with_the_mean(rewards, shift):
    figures, moved = summary(rewards), summary([reward + shift for reward in rewards])
    assert moved["mean"] == pytest.approx(figures["mean"] + shift, abs=1e-9)
    assert moved["std"] == pytest.approx(figures["std"], abs=1e-9)
    assert figures["sem"] == pytest.approx(figures["std"] / np.sqrt(len(rewards)))


def test_named_actions_are_played_by_their_order():
    tree = pole().tree
    named = Model(Encoder.identity(tree.feature_labels), replace(tree, class_names=("left", "right")))
    assert evaluate(named, "CartPole-v1", range(3)) == evaluate(pole(), "CartPole-v1", range(3))
