"""Configurations: every file is whole, and every agent of every environment can be built and updated."""

from __future__ import annotations

import gymnasium as gym
import pytest
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet.rl import AnnealEntropy, AnnealPooling, critters
from dtsemnet.rl.agents import AGENTS, STUDENTS, build_agent, build_worlds, check_settings
from dtsemnet.rl.configurations import environment_names, parse_setting, read_environment

ALL = [read_environment(name) for name in environment_names()]
TRAINED = [(known, agent) for known in ALL for agent in known.agents if agent not in STUDENTS]
# Two rollouts: the learning rate of the last update is 0, where it decays.
TINY_PPO = {"steps": 16, "n_envs": 2, "n_steps": 4, "batch_size": 4, "n_epochs": 1}
TINY_SAC = {"steps": 24, "n_envs": 1, "learning_starts": 8, "train_freq": 8, "gradient_steps": 2, "batch_size": 4}


def is_discrete(known):
    return isinstance(gym.make(known.environment).action_space, spaces.Discrete)


def test_the_environments_are_there():
    assert environment_names() == [
        "CartPole-v1",
        "Acrobot-v1",
        "LunarLander-v3",
        "LunarLanderContinuous-v3",
        "BipedalWalker-v3",
        "MarinesAndCritters-v0",
    ]


@pytest.mark.parametrize("known", ALL, ids=lambda known: known.name)
def test_files_agree_with_their_environments(known):
    world = gym.make(known.environment)
    assert known.name == known.environment.rpartition("/")[2]
    assert len(known.features) == world.observation_space.shape[0]
    size = world.action_space.n if is_discrete(known) else world.action_space.shape[0]
    assert len(known.actions) == size
    assert len(set(known.seeds)) == 5
    assert list(known.agents) == list(AGENTS["discrete" if is_discrete(known) else "continuous"])
    assert set(known.published) <= set(known.agents)
    assert all(set(value) == {"mean", "sem"} for value in known.published.values())
    for agent in known.agents:
        check_settings(known.configuration(agent))


def test_names_of_the_game_are_its_own():
    known = read_environment("MarinesAndCritters-v0")
    assert tuple(known.features) == critters.FEATURE_NAMES
    assert tuple(known.actions) == critters.ACTION_NAMES


@pytest.mark.parametrize(("known", "agent"), TRAINED, ids=lambda part: getattr(part, "name", part))
def test_every_agent_takes_an_update(known, agent):
    tiny = TINY_PPO if is_discrete(known) else TINY_SAC
    built, callbacks = build_agent(known.configuration(agent, tiny), seed=0)
    before = {name: value.clone() for name, value in built.policy.state_dict().items() if hasattr(value, "clone")}
    built.learn(tiny["steps"], callback=callbacks)
    assert any(not value.equal(built.policy.state_dict()[name]) for name, value in before.items())
    pooled = agent == "dtsemnet" and is_discrete(known)
    falling = known.configuration(agent).settings.get("entropy_end") is not None
    assert [type(callback) for callback in callbacks] == [AnnealPooling] * pooled + [AnnealEntropy] * falling
    depth = known.configuration(agent).settings["depth"]
    assert agent == "mlp" or built.policy.actor.to_tree().depth == depth


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


def test_nobody_looks_on_while_agents_train():
    """Sparks of the engines are simulated for pictures alone, and more of them with every step."""
    worlds = build_worlds(read_environment("LunarLander-v3").configuration("dtsemnet", {"n_envs": 2}))
    worlds.reset()
    worlds.step([2, 2])  # both fire their main engine
    assert worlds.get_attr("render_mode") == [None, None]
    assert [len(world.unwrapped.particles) for world in worlds.envs] == [0, 0]


@pytest.mark.parametrize("name", ["cartpole", "CARTPOLE-V1", "CartPole-v1"])
def test_names_are_taken_with_and_without_version(name):
    assert read_environment(name).environment == "CartPole-v1"


def test_a_file_of_your_own(tmp_path):
    path = tmp_path / "my-pole.toml"
    path.write_text(
        'environment = "CartPole-v1"\n[all]\nsteps = 8\njudge_every = 8\ndepth = 1\nn_steps = 8\nbatch_size = 8\n'
        "[agents.dtsemnet]\n"
    )
    known = read_environment(str(path))
    assert known.name == "my-pole"
    agent, _ = build_agent(known.configuration("dtsemnet"), seed=0)
    assert isinstance(agent, PPO)
    path.write_text('environment = "CartPole-v1"\nagents = {dtsemnet = {depth = 2, steps = 5}}\n')
    with pytest.raises(ValueError, match="'judge_every'"):
        read_environment(str(path))
    path.write_text('environment = "CartPole-v1"\ncolour = 2\nagents = {}\n')
    with pytest.raises(ValueError, match="colour"):
        read_environment(str(path))


def test_the_entropy_falls_as_the_settings_tell():
    walker = read_environment("BipedalWalker-v3")
    changes = {"entropy": 0.5, "entropy_end": -2, "entropy_since": 0.25, "entropy_until": 0.75}
    (callback,) = build_agent(walker.configuration("mlp", changes), seed=0)[1]
    assert [callback.target(share) for share in (0.25, 0.5, 0.75)] == [0.5, -0.75, -2.0]
    changes = dict.fromkeys(changes)
    assert build_agent(walker.configuration("mlp", changes), seed=0)[1] == []
    (callback,) = build_agent(walker.configuration("mlp", {**changes, "entropy_end": -4}), seed=0)[1]
    assert [callback.target(share) for share in (0.0, 1.0)] == [-1.0, -4.0]


def test_errors_name_the_way_out():
    pole = read_environment("CartPole-v1")
    with pytest.raises(ValueError, match=r"ENV must be one of CartPole-v1, .*got 'Pong'"):
        read_environment("Pong")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        read_environment("nowhere.toml")
    with pytest.raises(ValueError, match=r"agent must be one of dtsemnet, mlp, .*got 'dqn'"):
        pole.configuration("dqn")
    with pytest.raises(ValueError, match=r"no setting 'lr'; there are .*learning_rate"):
        check_settings(pole.configuration("dtsemnet", {"lr": 1}))
    with pytest.raises(ValueError, match="activation must be tanh or relu, got 'gelu'"):
        check_settings(pole.configuration("dtsemnet", {"activation": "gelu"}))
    with pytest.raises(ValueError, match="pooling is for the agent dtsemnet"):
        check_settings(pole.configuration("dgt", {"pooling": 1.0}))
    with pytest.raises(ValueError, match="entropy_end is for continuous actions, which CartPole-v1 has not"):
        check_settings(pole.configuration("mlp", {"entropy_end": -3.0}))
    lander = read_environment("LunarLanderContinuous-v3")
    with pytest.raises(ValueError, match="entropy_since needs entropy_end beside it"):
        check_settings(lander.configuration("mlp", {"entropy_end": None, "entropy_since": 0.5}))
    with pytest.raises(ValueError, match="name=value"):
        parse_setting("depth")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1_000", 1000), ("true", True), ("[1, 2]", [1, 2]), ("1e-3", 1e-3), ("null", None), ("a b", "a b")],
)
def test_settings_are_read_as_toml_json_or_text(text, value):
    assert parse_setting(f" name = {text} ") == ("name", value)
