"""train: what is kept and recorded, how policies are judged, and that judging leaves the training alone."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dtsemnet.rl import AnnealPooling, TopKSAC, TreePolicy, TreeSACPolicy, evaluate, policy_tree, train, training
from dtsemnet.rl.training import Clock, Judge, ReportProgress
from dtsemnet.tree import Model
from rl.worlds import Echo, Sides, eight

SHORT = {"judging_seeds": range(100, 105), "test_seeds": range(8)}


def agent(policy=TreePolicy, env=None, **policy_kwargs):
    """Build a small PPO agent."""
    options = {"learning_rate": 0.02, "n_steps": 16, "batch_size": 64, "gamma": 0.0, "seed": 0, "device": "cpu"}
    return PPO(policy, eight(Sides) if env is None else env, policy_kwargs=policy_kwargs, **options)


def lines(path):
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_record_and_files_agree(tmp_path):
    annealing = AnnealPooling(fraction=0.5)
    record = train(
        agent(max_depth=3, pooling=1.0), Sides(), tmp_path, n_steps=1024, judge_every=200, callback=annealing, **SHORT
    )
    assert lines(tmp_path / "record.jsonl") == [record]
    judged = lines(tmp_path / "judgements.jsonl")
    assert [row["step"] for row in judged] == [200, 400, 600, 800, 1000, 1024]
    best = max(judged, key=lambda row: (row["mean"], row["step"]))
    assert (record["judged"], record["best_step"]) == (best["mean"], best["step"])
    tree, again = Model.load(tmp_path / "best.json"), PPO.load(tmp_path / "best.zip", device="cpu")
    assert policy_tree(again) == tree
    assert evaluate(tree, Sides(), range(100, 105)) == best["rewards"]
    assert evaluate(tree, Sides(), range(8)) == record["test"]["rewards"]
    assert evaluate(Model.load(tmp_path / "last.json"), Sides(), range(8)) == record["test_last"]["rewards"]
    rewards = record["test"]["rewards"]
    assert record["test"]["std"] == pytest.approx(np.std(rewards, ddof=1))
    assert record["test"]["sem"] == pytest.approx(np.std(rewards, ddof=1) / np.sqrt(8))


def test_judging_does_not_change_what_is_learnt(tmp_path):
    judged = agent()
    train(judged, Sides(), tmp_path, n_steps=256, judge_every=50, **SHORT)
    alone = agent().learn(256)  # built only now: stable-baselines3 seeds torch's global generator
    assert policy_tree(judged) == policy_tree(alone)


@pytest.mark.parametrize("policy", ["MlpPolicy", TreePolicy])
def test_normalised_agents_are_judged_in_the_raw_environment(policy, tmp_path):
    env = VecNormalize(eight(Sides), norm_reward=False)
    record = train(agent(policy, env), Sides(), tmp_path, n_steps=256, judge_every=10_000, **SHORT)
    assert record["policy"] == ("TreePolicy" if policy is TreePolicy else "ActorCriticPolicy")
    # Judged once, at the end: best and last are one policy.
    assert record["test"]["rewards"] == record["test_last"]["rewards"]
    assert (tmp_path / "best.npz").exists()
    assert (tmp_path / "best.json").exists() == (policy is TreePolicy)


def test_continuous_actions(tmp_path):
    tree_agent = TopKSAC(
        TreeSACPolicy,
        Echo(),
        policy_kwargs={"max_depth": 2},
        learning_starts=64,
        buffer_size=500,
        gradient_steps=4,
        seed=0,
        device="cpu",
    )
    record = train(tree_agent, Echo(), tmp_path, n_steps=128, judge_every=64, **SHORT)
    assert record["algorithm"] == "TopKSAC"
    tree = evaluate(policy_tree(tree_agent), Echo(), range(8))
    np.testing.assert_allclose(tree, record["test_last"]["rewards"], atol=1e-4)


def test_errors_name_the_way_out(tmp_path):
    with pytest.raises(ValueError, match=r"no seed in common, got \[3, 4\]"):
        train(agent(), Sides(), tmp_path, n_steps=10, judging_seeds=[3, 4, 9], test_seeds=range(5))
    with pytest.raises(ValueError, match="judge_every"):
        train(agent(), Sides(), tmp_path, n_steps=10, judge_every=0)


def test_progress_is_reported_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(
        Clock, "elapsed", lambda clock: clock.__dict__.setdefault("ticks", iter(range(9999))).__next__()
    )
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
    monkeypatch.setattr(training, "SCREENING", 2)
    monkeypatch.setattr(training, "evaluate", lambda policy, env, seeds: [rewards[played[-1]][seed] for seed in seeds])
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
    watch = ReportProgress(told.append, Judge(), clock)
    watch.model, watch.num_timesteps, watch.first_step = Agent(), 150, 100
    watch._on_training_end()
    assert told[0].left == pytest.approx(10.0, abs=1.0)  # 50 steps in 10 seconds, 50 to go
    assert told[0].seconds == pytest.approx(1010.0, abs=1.0)
