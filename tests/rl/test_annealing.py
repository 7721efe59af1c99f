"""What is driven while an agent learns is where its schedule says, after a kill too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback

from dtsemnet.rl import AnnealEntropy, AnnealPooling, LeanSAC, TreePolicy, TreeSACPolicy
from rl.worlds import Echo, Sides


@given(fraction=st.floats(0.01, 1.0), progress=st.floats(0, 1))
def test_pooling_falls_and_ends_at_zero(fraction, progress):
    schedule = AnnealPooling(2.0, 0.1, fraction)
    assert schedule.temperature(0.0) == 2.0
    assert schedule.temperature(1.0) == 0.0
    assert schedule.temperature(progress) == 0 or 0.1 <= schedule.temperature(progress) <= 2.0
    assert schedule.temperature(min(1.0, progress + 0.1)) <= schedule.temperature(progress)


@given(
    start=st.floats(-2, 1),
    fall=st.floats(0, 5),
    shares=st.tuples(st.floats(0, 0.9), st.floats(0.05, 1.0)).filter(lambda pair: pair[0] < pair[1]),
    progress=st.floats(0, 1),
)
def test_entropy_stays_falls_and_stays(start, fall, shares, progress):
    since, until = shares
    schedule = AnnealEntropy(start, start - fall, since, until)
    assert all(schedule.target(share) == start for share in (0.0, since))
    assert all(schedule.target(share) == pytest.approx(start - fall) for share in (until, 1.0))
    assert schedule.target(min(1.0, progress + 0.1)) <= schedule.target(progress)
    middle = (since + until) / 2
    assert schedule.target(middle) == pytest.approx(start - fall / 2)


class Note(BaseCallback):
    """Note the target entropy at each step."""

    def __init__(self):
        super().__init__()
        self.seen = {}

    def _on_step(self):
        self.seen[self.num_timesteps] = self.model.target_entropy
        return True


def sac(**options):
    return LeanSAC(TreeSACPolicy, Echo(), learning_starts=16, train_freq=8, buffer_size=100, seed=0, **options)


def test_the_target_entropy_counts_action_dimensions_and_steps():
    agent, note = sac(), Note()
    agent.learn(80, callback=[AnnealEntropy(1.0, -1.0, since=0.5, until=0.9), note])
    n_actions = agent.action_space.shape[0]
    # A rollout has eight steps, and the target is that of its beginning.
    expected = {1: 1.0, 40: 1.0, 48: 1.0, 49: 0.5, 56: 0.5, 57: 0.0, 65: -0.5, 73: -1.0, 80: -1.0}
    assert {step: note.seen[step] / n_actions for step in expected} == pytest.approx(expected)
    assert agent.target_entropy == pytest.approx(-1.0 * n_actions)


def test_errors_name_the_way_out():
    with pytest.raises(TypeError, match="AnnealPooling needs an agent with TreePolicy"):
        PPO("MlpPolicy", Sides(), n_steps=64, device="cpu").learn(64, callback=AnnealPooling())
    with pytest.raises(TypeError, match="AnnealPooling needs"):
        SAC("MlpPolicy", Echo(), device="cpu", buffer_size=100).learn(10, callback=AnnealPooling())
    with pytest.raises(ValueError, match="start must be at least end"):
        AnnealPooling(0.01, 0.05)
    with pytest.raises(ValueError, match="fraction"):
        AnnealPooling(fraction=0.0)
    with pytest.raises(TypeError, match=r"AnnealEntropy needs SAC .* got PPO"):
        PPO(TreePolicy, Sides(), n_steps=64, device="cpu").learn(64, callback=AnnealEntropy())
    with pytest.raises(TypeError, match="ent_coef='auto'"):
        sac(ent_coef=0.1).learn(10, callback=AnnealEntropy())
    with pytest.raises(ValueError, match="start must be at least end"):
        AnnealEntropy(-3.0, -1.0)
    with pytest.raises(ValueError, match="since must be below until"):
        AnnealEntropy(since=0.9, until=0.3)
