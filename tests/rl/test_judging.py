"""What accompanies a training: judgements, and word of its progress."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from dtsemnet.rl import TreePolicy, judging, train
from dtsemnet.rl.judging import Clock, Judge, Watch
from rl.worlds import Sides


def test_progress_is_told_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(Clock, "here", lambda clock: clock.__dict__.setdefault("ticks", iter(range(9999))).__next__())
    agent = PPO(TreePolicy, DummyVecEnv([lambda: Monitor(Sides())]), n_steps=32, batch_size=32, seed=0, device="cpu")
    told = []
    seeds = {"judging_seeds": range(100, 103), "test_seeds": range(3)}
    train(agent, Sides(), tmp_path, n_steps=100, judge_every=32, watch=told.append, **seeds)
    assert [now.n_steps for now in told] == [100] * len(told)
    steps = [now.step for now in told]
    assert steps == sorted(steps)
    assert steps[-1] == 100  # of 128 that were done: the last rollout goes beyond
    assert told[0].judged is told[0].reward is None
    assert told[-1].left == 0
    assert all(now.left > 0 for now in told[:-40])
    assert told[-1].best == max(now.judged for now in told if now.judged is not None)
    assert 0 <= told[-1].reward <= 10


def test_luck_in_the_first_episodes_does_not_keep_a_policy(tmp_path, monkeypatch):
    rewards = [
        [5, 5, 5, 5],  # sound
        [9, 9, 0, 0],  # lucky
        [1, 1, 99, 99],  # bad at first
        [3, 6, 6, 7],  # better in all
        [5.5, 5.5, 9, 9],  # as good at first, without a spread: not played on
    ]
    played, kept = [], []
    monkeypatch.setattr(judging, "HEARING", 2)
    monkeypatch.setattr(judging, "evaluate", lambda policy, env, seeds: [rewards[played[-1]][seed] for seed in seeds])
    monkeypatch.setattr(Judge, "_keep", lambda judge, name: kept.append(played[-1]))
    judge = Judge(Sides(), tmp_path, 1, range(4))
    judge.model = SimpleNamespace(policy=None, logger=SimpleNamespace(record=lambda name, value: None))
    for number in range(len(rewards)):
        played.append(number)
        judge._judge()
    assert kept == [0, 3]
    assert judge.best == np.mean(rewards[3])
    assert [len(row["rewards"]) for row in judge.judgements] == [4, 4, 2, 4, 2]


def test_time_left_is_by_the_pace_of_this_process():
    class Agent:
        num_timesteps, _total_timesteps, ep_info_buffer = 150, 200, None

    class Judge:
        judgements, best = (), 0.0

    told, clock = [], Clock()
    clock.earlier, clock.started = (1000.0, 1000.0), (clock.started[0] - 10.0, clock.started[1])
    watch = Watch(told.append, Judge(), clock)
    watch.model, watch.num_timesteps, watch.first_step = Agent(), 150, 100
    watch._on_training_end()
    assert told[0].left == pytest.approx(10.0, abs=1.0)  # 50 steps in 10 seconds, 50 to go
    assert told[0].seconds == pytest.approx(1010.0, abs=1.0)
