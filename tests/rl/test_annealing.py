"""Annealing: temperatures fall while agents learn, and end where they should."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import PPO, SAC

from dtsemnet.nn import StraightThrough
from dtsemnet.rl import AnnealPooling, AnnealTopK, LeanSAC, TopKSAC, TreePolicy, TreeSACPolicy
from rl.worlds import Echo, Sides, eight


@given(fraction=st.floats(0.01, 1.0), progress=st.floats(0, 1))
def test_annealing_falls_and_ends_at_zero(fraction, progress):
    schedule = AnnealPooling(2.0, 0.1, fraction)
    assert schedule.temperature(0.0) == 2.0
    assert schedule.temperature(1.0) == 0.0
    assert schedule.temperature(progress) == 0 or 0.1 <= schedule.temperature(progress) <= 2.0
    assert schedule.temperature(min(1.0, progress + 0.1)) <= schedule.temperature(progress)


@given(fraction=st.floats(0.01, 1.0), progress=st.floats(0, 1))
def test_top_k_annealing_falls_and_stays_at_its_end(fraction, progress):
    schedule = AnnealTopK(2.0, 0.1, fraction)
    assert schedule.temperature(0.0) == 2.0
    assert schedule.temperature(1.0) == schedule.temperature(fraction) == pytest.approx(0.1)
    assert schedule.temperature(min(1.0, progress + 0.1)) <= schedule.temperature(progress)


class Temperatures(AnnealTopK):
    """Writes down what it sets."""

    def __init__(self, *args):
        super().__init__(*args)
        self.seen = []

    def _set(self, temperature):
        super()._set(temperature)
        self.seen.append(self.model.actor.tree.selector.temperature)


def test_the_selector_of_a_learning_agent_is_annealed():
    options = {"learning_starts": 20, "train_freq": 20, "gradient_steps": 2, "batch_size": 16, "buffer_size": 100}
    policy = {"max_depth": 2, "net_arch": [32, 32]}
    agent = TopKSAC(TreeSACPolicy, Echo(), policy_kwargs=policy, seed=0, **options)
    callback = Temperatures(1.0, 0.25, 0.5)
    agent.learn(80, callback=callback)
    # Rollouts begin after 0, 20, 40 and 60 of 80 steps; half of them take it to its end.
    assert callback.seen == pytest.approx([1.0, 0.5, 0.25, 0.25, 0.25])


def test_agents_without_such_a_temperature_are_refused():
    with pytest.raises(TypeError, match="AnnealPooling needs an agent with TreePolicy"):
        PPO("MlpPolicy", Sides(), n_steps=64, device="cpu").learn(64, callback=AnnealPooling())
    with pytest.raises(TypeError, match="AnnealPooling needs"):
        SAC("MlpPolicy", Echo(), device="cpu", buffer_size=100).learn(10, callback=AnnealPooling())
    straight = {"selector": StraightThrough()}
    for agent in (
        PPO(TreePolicy, eight(Sides), n_steps=8, batch_size=8, device="cpu"),
        LeanSAC(TreeSACPolicy, Echo(), policy_kwargs=straight, buffer_size=100, device="cpu"),
    ):
        with pytest.raises(TypeError, match="AnnealTopK needs an agent with TreeSACPolicy and a TopK selector"):
            agent.learn(10, callback=AnnealTopK())


@pytest.mark.parametrize("kind", [AnnealPooling, AnnealTopK])
def test_schedules_that_rise_are_refused(kind):
    with pytest.raises(ValueError, match="start must be at least end"):
        kind(0.01, 0.05)
    with pytest.raises(ValueError, match="fraction"):
        kind(fraction=0.0)
