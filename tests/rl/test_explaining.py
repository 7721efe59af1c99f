"""Explanations of policies: shares are those of the steps that were played."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from dtsemnet.rl import evaluate, explain_policy
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from rl.worlds import Sides


def push(names=("left", "right")) -> Model:
    """Leaf 0 pushes left, leaf 1 pushes right; leaf 2 is never reached."""
    weight = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    topology = Topology([[~0, 1], [~1, ~2]])
    value = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    tree = Tree(topology, weight, [0.0, 0.0], value, class_names=names, feature_names=["x", "v", "angle", "spin"])
    return Model(Encoder.identity(["x", "v", "angle", "spin"]), tree)


def test_shares_are_those_of_the_steps_played():
    explained = explain_policy(push(), "CartPole-v1", range(4))
    assert list(explained.rewards) == evaluate(push(), "CartPole-v1", range(4))
    assert explained.n_steps == sum(explained.rewards)  # one a step
    assert {use.leaf for use in explained.leaves} == {0, 1}
    assert explained.n_leaves == 3
    assert [use.share for use in explained.leaves] == sorted((u.share for u in explained.leaves), reverse=True)
    np.testing.assert_allclose(sum(use.share for use in explained.leaves), 1)
    np.testing.assert_allclose(np.sum([use.over_time for use in explained.leaves], axis=0), np.ones(10))
    assert {use.action for use in explained.leaves} == {"left", "right"}
    assert "2 of 3 leaves act" in str(explained)


def test_columns_that_tell_a_leaf_from_the_rest_are_named():
    tree = Tree(Topology.complete(1), [[1.0, 0.0]], [0.0], np.eye(2, 4), class_names=range(4))
    explained = explain_policy(Model(Encoder.identity(["x", "y"]), tree), Sides(), range(40))
    columns = {use.leaf: use.columns for use in explained.leaves}
    assert [list(columns[leaf]) for leaf in (0, 1)] == [["x"], ["x"]]  # y is drawn alike in both halves
    for leaf, sign in ((0, -1), (1, 1)):  # half of a square of side 2: mean 1/2, standard deviation 1/sqrt(3)
        np.testing.assert_allclose(columns[leaf]["x"], [sign / 2, sign * 3**0.5 / 2], atol=0.15)


def test_numbers_as_actions_are_averaged():
    tree = Tree(Topology.complete(0), np.empty((0, 3)), np.empty(0), [[0.5]])
    model = Model(Encoder(Column(name) for name in ("cos", "sin", "speed")), tree)
    (use,) = explain_policy(model, gym.make("Pendulum-v1", max_episode_steps=5), [0]).leaves
    assert use.action == (0.5,)
    assert use.columns == {}, "the only leaf is like all steps"


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="policy must be a Model, got function"):
        explain_policy(lambda rows: rows, "CartPole-v1")
    with pytest.raises(ValueError, match="seeds"):
        explain_policy(push(), "CartPole-v1", [])
