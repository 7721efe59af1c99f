"""Recipes: settings reach the agent, every agent of every environment can be built and updated, errors help."""

from __future__ import annotations

import gymnasium as gym
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet.rl import AnnealEntropy, AnnealPooling, recipes
from dtsemnet.rl.environments import read_environment
from dtsemnet.rl.recipes import build_agent, make_training_environments, read_settings
from rl.test_environments import NAMES

# Two rollouts: the learning rate of the last update is 0 if it decays.
TINY_PPO = {"steps": 16, "n_envs": 2, "n_steps": 4, "batch_size": 4, "n_epochs": 1}
TINY_SAC = {"steps": 24, "n_envs": 1, "learning_starts": 8, "train_freq": 8, "gradient_steps": 2, "batch_size": 4}


def check_update(name, agent):
    """Build an agent, train it a little, and see that it changes."""
    described = read_environment(name)
    discrete = "learning_starts" not in described.all
    tiny = TINY_PPO if discrete else TINY_SAC
    built, callbacks = build_agent(described.configuration(agent, tiny), seed=0)
    before = {name: value.clone() for name, value in built.policy.state_dict().items() if hasattr(value, "clone")}
    built.learn(tiny["steps"], callback=callbacks)
    assert isinstance(built, PPO) == discrete
    assert any(not value.equal(built.policy.state_dict()[name]) for name, value in before.items())
    pooled = agent == "dtsemnet" and discrete
    settings = described.configuration(agent).settings
    falling = settings.get("entropy_end") is not None
    assert [type(callback) for callback in callbacks] == [AnnealPooling] * pooled + [AnnealEntropy] * falling
    assert agent == "mlp" or built.policy.actor.to_tree().depth == settings["depth"]


@pytest.mark.parametrize("agent", ["dtsemnet", "dtsemnet-ste", "mlp"])
@pytest.mark.parametrize("name", NAMES)
def test_every_agent_takes_an_update(name, agent):
    if agent in read_environment(name).agents:
        check_update(name, agent)


def test_settings_reach_the_agent():
    changes = {"normalize": True, "critic": [5], "activation": "relu", "depth": 2, "pooling": 0.5, "gamma": 0.5}
    agent, callbacks = build_agent(read_environment("CartPole-v1").configuration("dtsemnet", changes), seed=9)
    assert isinstance(agent.get_vec_normalize_env(), VecNormalize)
    assert not agent.get_vec_normalize_env().norm_reward
    assert agent.policy.actor.to_tree().n_leaves == 4
    assert agent.policy.value_net.in_features == 5
    assert (agent.gamma, agent.seed, callbacks[0].start, agent.policy.actor.pooling) == (0.5, 9, 0.5, 0.5)
    assert [round(agent.lr_schedule(left), 6) for left in (1.0, 0.5, 0.0)] == [0.024, 0.012, 0.0]


def test_all_rates_decay_together():
    changes = TINY_SAC | {"decay": True, "learning_rate": 1e-3, "actor_learning_rate": 1e-2, "leaf_learning_rate": 1e-4}
    agent, _ = build_agent(read_environment("LunarLanderContinuous").configuration("dtsemnet", changes), seed=0)
    rates = agent.lr_schedule, agent.actor_learning_rate, agent.leaf_learning_rate
    assert [rate(0.5) for rate in rates] == pytest.approx([5e-4, 5e-3, 5e-5])


def test_the_entropy_falls_as_the_settings_say():
    walker = read_environment("BipedalWalker-v3")
    changes = {"entropy": 0.5, "entropy_end": -2, "entropy_since": 0.25, "entropy_until": 0.75}
    (callback,) = build_agent(walker.configuration("mlp", changes), seed=0)[1]
    assert [callback.target(share) for share in (0.25, 0.5, 0.75)] == [0.5, -0.75, -2.0]
    changes = dict.fromkeys(changes)
    assert build_agent(walker.configuration("mlp", changes), seed=0)[1] == []
    (callback,) = build_agent(walker.configuration("mlp", {**changes, "entropy_end": -4}), seed=0)[1]
    assert [callback.target(share) for share in (0.0, 1.0)] == [-1.0, -4.0]


def test_agents_train_without_pictures():
    """Sparks of the engines are simulated for pictures alone, and more of them with every step."""
    worlds = make_training_environments(read_environment("LunarLander-v3").configuration("dtsemnet", {"n_envs": 2}))
    worlds.reset()
    worlds.step([2, 2])  # both fire their main engine
    assert worlds.get_attr("render_mode") == [None, None]
    assert [len(env.unwrapped.particles) for env in worlds.envs] == [0, 0]


def test_the_kind_of_actions_is_looked_up_once(monkeypatch):
    made = []
    monkeypatch.setattr(recipes.gym, "make", lambda name, make=gym.make: made.append(name) or make(name))
    recipes._action_kind.cache_clear()
    for agent in ("dtsemnet", "mlp"):
        read_settings(read_environment("Acrobot-v1").configuration(agent))
    assert made == ["Acrobot-v1"]


@pytest.mark.parametrize(("name", "value", "told"), [
    ("depth", "x", "depth must be a whole number of at least 1, got 'x'"),
    ("steps", float("nan"), "steps must be a whole number of at least 1, got nan"),
    ("n_envs", 0, "n_envs must be a whole number of at least 1, got 0"),
    ("decay", 1, "decay must be true or false, got 1"),
    ("actor", [0], "actor must be a list of whole numbers of at least 1"),
    ("pooling", "x", "pooling must be a finite number, got 'x'"),
    ("learning_rate", float("inf"), "learning_rate must be a finite number, got inf"),
    ("judge_episodes", "x", "judge_episodes must be from 1 to 1000, got x"),
])  # fmt: skip
def test_settings_of_the_wrong_kind_are_refused_before_training(name, value, told):
    with pytest.raises(ValueError, match=told):
        read_settings(read_environment("CartPole-v1").configuration("dtsemnet", {name: value}))


def test_errors_name_the_way_out():
    pole = read_environment("CartPole-v1")
    with pytest.raises(ValueError, match=r"no setting 'lr'; there are .*learning_rate"):
        read_settings(pole.configuration("dtsemnet", {"lr": 1}))
    with pytest.raises(ValueError, match=r"dtsemnet has no setting 'rounds'"):
        read_settings(pole.configuration("dtsemnet", {"rounds": 1}))
    with pytest.raises(ValueError, match="activation must be tanh or relu, got 'gelu'"):
        read_settings(pole.configuration("dtsemnet", {"activation": "gelu"}))
    with pytest.raises(ValueError, match="pooling is for the agent dtsemnet"):
        read_settings(pole.configuration("mlp", {"pooling": 1.0}))
    with pytest.raises(ValueError, match="entropy_end is for continuous actions, which CartPole-v1 does not have"):
        read_settings(pole.configuration("mlp", {"entropy_end": -3.0}))
    lander = read_environment("LunarLanderContinuous-v3")
    with pytest.raises(ValueError, match="entropy_since needs entropy_end beside it"):
        read_settings(lander.configuration("mlp", {"entropy_end": None, "entropy_since": 0.5}))
    for wrong in (0, -1, 1001):
        with pytest.raises(ValueError, match=f"judge_episodes must be from 1 to 1000, got {wrong}"):
            read_settings(pole.configuration("dtsemnet", {"judge_episodes": wrong}))
