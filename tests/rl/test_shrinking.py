"""Shrinking: leaves that are never visited go, small trees imitate, and the smallest of the best is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import PPO

from dtsemnet.rl import TreePolicy, evaluate, shrink, shrinking
from dtsemnet.rl.shrinking import Candidate, Shrunk
from dtsemnet.tree import Encoder, Model, Topology, Tree
from rl.worlds import Echo, Sides, eight


def quadrants(X):
    """The right answers in ``Sides``."""
    return (X[:, 0] > 0) + 2 * (X[:, 1] > 0)


def roomy():
    """Names the quadrants with eight leaves, of which four are beyond the square."""
    weight = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]] + [[1.0, 0.0]] * 4
    bias = [0.0, 0.0, 0.0, 5.0, -5.0, 5.0, -5.0]
    action = [0, 0, 1, 1, 2, 2, 3, 3]
    tree = Tree(Topology.complete(3), weight, bias, np.eye(4)[action], class_names=[0, 1, 2, 3])
    return Model(Encoder.identity(tree.feature_labels), tree)


def small(n_leaves, rewards):
    """A candidate with a number of leaves and rewards."""
    n_splits = n_leaves - 1
    children = [[~k, k + 1 if k + 1 < n_splits else ~n_splits] for k in range(n_splits)]
    tree = Tree(Topology(children), np.ones((n_splits, 1)), np.zeros(n_splits), np.zeros((n_leaves, 1)))
    return Candidate(Model(Encoder.identity(["x"]), tree), "imitation", tuple(rewards))


def test_leaves_that_are_never_visited_are_dropped_and_the_rewards_stay():
    policy = roomy()
    shrunk = shrink(policy, Sides(), leaves=[], n_episodes=10)
    assert shrunk.model.tree.n_leaves == 4
    assert shrunk.chosen.rewards == shrunk.teacher_rewards == (10.0,) * 10
    X = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    np.testing.assert_array_equal(shrunk.model.predict(X), policy.predict(X))


def test_a_function_shrinks_to_the_tree_that_it_needs():
    shrunk = shrink(quadrants, Sides(), leaves=[8, 4, 2], n_rounds=2, n_steps=400, n_episodes=20)
    # Two leaves have two of the four answers.
    assert [one.n_leaves <= size for one, size in zip(shrunk.candidates, (8, 4, 2))] == [True] * 3
    assert shrunk.candidates[-1].mean < 7
    assert shrunk.model.tree.n_leaves == 4
    assert shrunk.chosen.mean > 9.5


def test_an_agent_and_a_box_of_actions():
    agent = PPO(TreePolicy, eight(Sides), n_steps=32, batch_size=64, policy_kwargs={"max_depth": 3}, device="cpu")
    shrunk = shrink(agent, Sides(), leaves=[2], n_rounds=1, n_steps=200, n_episodes=3)
    assert {one.source for one in shrunk.candidates} == {"visited leaves", "imitation"}

    def reflex(X):
        return np.stack([np.abs(X[:, 0]), -X[:, 1]], axis=1)

    linear = shrink(reflex, Echo(), leaves=[2], n_rounds=2, n_steps=500, n_episodes=3)
    assert linear.model.tree.coef is not None
    assert linear.chosen.mean > -0.1


def test_seeds_that_compare_serve_nothing_else():
    from dtsemnet.rl.evaluation import JUDGING_SEEDS, TEST_SEEDS

    teaching = range(shrinking.FIRST_TEACHING_SEED, shrinking.FIRST_TEACHING_SEED + 1_000_000)
    groups = [JUDGING_SEEDS, TEST_SEEDS, shrinking.SHRINKING_SEEDS, shrinking.VISITING_SEEDS, teaching]
    assert sum(map(len, groups)) == len(set().union(*groups))


@given(st.lists(st.tuples(st.integers(2, 9), st.lists(st.integers(-5, 5), min_size=3, max_size=3)), min_size=1))
def test_the_choice_is_within_an_error_of_the_best_and_nothing_smaller_is(drawn):
    candidates = [small(n, rewards) for n, rewards in drawn]
    chosen = shrinking._smallest_of_the_best(candidates)
    best = max(one.mean for one in candidates)
    # The rule, told once more: by the best one's own error, whichever of equals that is.
    errors = [one.sem for one in candidates if one.mean == best]
    assert chosen.mean >= best - max(errors)
    smaller = [one for one in candidates if one.n_leaves < chosen.n_leaves]
    assert all(one.mean < best - min(errors) for one in smaller)


def test_errors_name_the_way_out():
    with pytest.raises(ValueError, match="leaves must be whole numbers from 2 on, got 1"):
        shrink(quadrants, Sides(), leaves=[1])
    with pytest.raises(ValueError, match="n_episodes must lie between 1 and 100, got 101"):
        shrink(quadrants, Sides(), n_episodes=101)
    with pytest.raises(ValueError, match="leaves must name at least one size"):
        shrink(quadrants, Sides(), leaves=[], n_episodes=1)


def test_the_curve_shows_every_candidate():
    pytest.importorskip("matplotlib").use("Agg")
    candidates = (small(4, [3.0, 5.0]), small(2, [1.0, 1.0]))
    shrunk = Shrunk(candidates[0], candidates, (4.0, 4.0))
    ax = shrunk.plot()
    drawn = ax.get_lines()[1].get_xydata()
    np.testing.assert_array_equal(drawn, [[4, 4.0], [2, 1.0]])
    assert [line.split()[0] for line in str(shrunk).splitlines()[2:]] == ["4", "2"]
    assert "chosen" in str(shrunk).splitlines()[2]


def test_what_is_watched_counts_to_the_end():
    seen = []
    shrink(roomy(), Sides(), leaves=[2], n_rounds=1, n_steps=100, n_episodes=2, watch=lambda *now: seen.append(now))
    assert [now[:2] for now in seen] == [(1, 2), (2, 2)]
    assert evaluate(roomy(), Sides(), range(2)) == [10.0, 10.0]
