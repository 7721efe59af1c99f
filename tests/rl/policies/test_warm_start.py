"""Starting from a tree: before training, the agent acts as the tree does, whatever its shape."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from stable_baselines3 import PPO

from dtsemnet.rl import LeanPPO, TopKSAC, TreePolicy, TreeSACPolicy, policy_tree
from dtsemnet.tree import Model, Topology, Tree
from rl.worlds import Echo, Sides

RAGGED = Topology([[~0, 1], [~1, ~2]])


def classes(names, shape=RAGGED):
    rng = np.random.default_rng(3)
    value = np.eye(len(names))[np.arange(shape.n_leaves) % len(names)]
    return Tree(
        shape, rng.normal(size=(shape.n_splits, 2)), rng.normal(size=shape.n_splits) / 4, value, class_names=names
    )


def numbers(n_outputs=2):
    rng = np.random.default_rng(4)
    return Tree(
        RAGGED,
        rng.normal(size=(2, 2)),
        np.zeros(2),
        rng.normal(size=(3, n_outputs)),
        rng.normal(size=(3, n_outputs, 2)),
    )


@pytest.mark.parametrize("names", [[0, 3], [0, 1, 2], ["a", "b", "c", "d"]])
def test_an_agent_starts_as_the_tree_and_learns_on(names, tmp_path):
    tree = classes(names, RAGGED if len(names) < 4 else Topology.complete(2))
    agent = LeanPPO(TreePolicy, Sides(), policy_kwargs={"init": tree}, n_steps=64, batch_size=32, seed=0, device="cpu")
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2)).astype(np.float32)
    leaf_action = np.array(names if isinstance(names[0], int) else range(4))[tree.leaf_class]
    assert_array_equal(agent.predict(X, deterministic=True)[0], leaf_action[tree.apply(X)])
    assert policy_tree(agent).tree.topology == tree.topology
    agent.learn(128)
    assert all(torch.isfinite(part).all() for part in agent.policy.parameters())
    agent.save(tmp_path / "agent")
    again = PPO.load(tmp_path / "agent", device="cpu")
    assert policy_tree(again, vec_normalize=False) == policy_tree(agent)


def test_actions_without_a_leaf_have_a_finite_logit():
    agent = LeanPPO(
        TreePolicy, Sides(), policy_kwargs={"init": classes([0, 3])}, n_steps=64, batch_size=32, device="cpu"
    )
    logits = agent.policy.actor(torch.zeros(1, 2))
    assert torch.isfinite(logits).all()
    assert logits[0, 1] == logits[0, 2] == logits.min()


def test_a_box_of_actions_starts_as_the_tree():
    trained = TopKSAC(TreeSACPolicy, Echo(), policy_kwargs={"max_depth": 2}, learning_starts=20, seed=1, device="cpu")
    for init in (numbers(), policy_tree(trained)):
        options = {"policy_kwargs": {"init": init}, "learning_starts": 20, "train_freq": 20, "gradient_steps": 2}
        agent = TopKSAC(TreeSACPolicy, Echo(), **options, seed=0, device="cpu")
        tree = init.tree if isinstance(init, Model) else init
        X = np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32)
        # The actions of Echo lie in [-1, 2] x [-3, 1].
        expected = [0.5, -1.0] + np.array([1.5, 2.0]) * np.tanh(tree.predict(X))
        assert_allclose(agent.predict(X, deterministic=True)[0], expected, atol=1e-5)
        agent.learn(60)
        assert policy_tree(agent).tree.topology == tree.topology


@pytest.mark.parametrize(
    ("policy", "world", "init", "told"),
    [
        (TreePolicy, Sides, "a.json", "init must be a Tree or a Model, got str"),
        (TreePolicy, Sides, numbers(), "a tree of classes"),
        (TreePolicy, Sides, classes([0, 7]), "classes from 0 to 3"),
        (TreePolicy, Sides, classes(["a", "b"]), "name all 4 actions"),
        (TreePolicy, Sides, Tree(Topology.complete(0), np.empty((0, 2)), [], [[1.0]], class_names=[0]), "single leaf"),
        (TreeSACPolicy, Echo, numbers(3), "a tree of 2 numbers"),
        (TreeSACPolicy, Echo, Model.of(numbers()), "policy_tree"),
    ],
)
def test_what_cannot_be_started_from_is_refused(policy, world, init, told):
    kind = LeanPPO if policy is TreePolicy else TopKSAC
    with pytest.raises((TypeError, ValueError), match=told):
        kind(policy, world(), policy_kwargs={"init": init}, device="cpu")
