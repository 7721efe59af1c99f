"""The files of the environments: each is complete, agrees with its environment, and can be changed or replaced."""

from __future__ import annotations

import gymnasium as gym
import pytest
from gymnasium import spaces

from dtsemnet.rl import environments
from dtsemnet.rl.environments import Extension, environment_names, parse_setting, read_environment
from dtsemnet.rl.recipes import read_settings, recipes_for

NAMES = ["CartPole-v1", "Acrobot-v1", "LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3"]
MINE = 'environment = "CartPole-v1"\n[all]\nsteps = 8\njudge_every = 8\ndepth = 1\n[agents.dtsemnet]\n'


def test_the_environments_of_the_paper_have_files():
    assert environment_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_files_agree_with_their_environments(name):
    described = read_environment(name)
    env = gym.make(described.environment)
    discrete = isinstance(env.action_space, spaces.Discrete)
    assert described.name == described.environment == name
    assert len(described.features) == env.observation_space.shape[0]
    assert len(described.actions) == (env.action_space.n if discrete else env.action_space.shape[0])
    assert list(described.agents) == list(recipes_for("discrete" if discrete else "continuous"))
    for agent in described.agents:
        assert read_settings(described.configuration(agent)).steps == described.all["steps"]


@pytest.mark.parametrize("name", ["cartpole", "CARTPOLE-V1", "CartPole-v1"])
def test_names_are_accepted_with_and_without_version(name):
    assert read_environment(name).environment == "CartPole-v1"


def test_a_file_of_your_own(tmp_path):
    path = tmp_path / "my-pole.toml"
    path.write_text(MINE)
    described = read_environment(str(path))
    assert described.name == "my-pole"
    assert read_settings(described.configuration("dtsemnet", {"depth": 2})).depth == 2
    path.write_text('environment = "CartPole-v1"\nagents = {dtsemnet = {depth = 2, steps = 5}}\n')
    with pytest.raises(ValueError, match="'judge_every'"):
        read_environment(str(path))
    path.write_text('environment = "CartPole-v1"\ncolour = 2\nagents = {}\n')
    with pytest.raises(ValueError, match="colour"):
        read_environment(str(path))
    path.write_text(MINE.replace('"CartPole-v1"', "true"))
    with pytest.raises(ValueError, match="environment must be a text, got"):
        read_environment(str(path))


def test_an_extension_adds_environments_and_agents(tmp_path, monkeypatch):
    (tmp_path / "CartPole-v1.toml").write_text(
        "[agents.rival]\ndepth = 9\n[published]\nrival = {mean = 1.0, sem = 0.5}"
    )
    (tmp_path / "Mine-v0.toml").write_text(MINE)
    extension = Extension(tmp_path, {}, lambda named, runs: pytest.fail("no store is needed"))
    monkeypatch.setattr(environments, "extensions", lambda: (extension,))
    assert environment_names() == [*NAMES, "Mine-v0"]
    pole = read_environment("CartPole-v1")
    assert list(pole.agents) == ["dtsemnet", "mlp", "viper", "dtsemnet-viper", "rival"]
    assert pole.configuration("rival").settings == {**pole.all, "depth": 9}
    assert pole.published == {"rival": {"mean": 1.0, "sem": 0.5}}


@pytest.mark.parametrize(("text", "told"), [
    ("agents = 1", "agents must be a table of tables, got 1"),
    ("agents = [1]", "agents must be a table of tables, got a list of length 1"),
    ("[agents]\ndtsemnet = 1", "agents must be a table of tables"),
    ("all = 1", "all must be a table, got 1"),
    ("environment = 5", "environment must be a text, got 5"),
    ("features = [1]", "features must be a list of texts"),
    ("seeds = [true]", "seeds must be a list of whole numbers"),
    ("depth = " + "9" * 5000, "cannot be read: Exceeds the limit"),
    ("\0", "cannot be read: Invalid statement"),
    ("# " + " " * 1_000_000, "more than 1,000,000 bytes"),
])  # fmt: skip
def test_a_file_with_values_of_the_wrong_kind_is_refused_by_its_name(tmp_path, text, told):
    path = tmp_path / "world.toml"
    path.write_text(f"{text}\n")
    with pytest.raises(ValueError, match=f"world.toml .*{told}"):
        read_environment(str(path))


def test_errors_name_the_way_out():
    with pytest.raises(ValueError, match=r"ENV must be an environment that gymnasium knows, .*got 'Pong'"):
        read_environment("Pong")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        read_environment("nowhere.toml")
    with pytest.raises(ValueError, match=r"agent must be one of dtsemnet, mlp, .*got 'dqn'"):
        read_environment("CartPole-v1").configuration("dqn")
    with pytest.raises(ValueError, match="name=value"):
        parse_setting("depth")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1_000", 1000), ("true", True), ("[1, 2]", [1, 2]), ("1e-3", 1e-3), ("null", None), ("a b", "a b")],
)
def test_settings_are_read_as_toml_json_or_text(text, value):
    assert parse_setting(f" name = {text} ") == ("name", value)
