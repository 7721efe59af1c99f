"""What a run has kept is loaded again as it was."""

from __future__ import annotations

import numpy as np
import pytest
from stable_baselines3 import PPO, SAC

from dtsemnet.rl import evaluate
from dtsemnet.rl.environments import read_environment
from dtsemnet.rl.recipes import build_agent
from dtsemnet.rl.runs import Run, execute
from dtsemnet.rl.saved_policy import SavedPolicy, load_agent, load_policy
from dtsemnet.tree import Encoder, Model, Topology, Tree

TINY = {"steps": 64, "judge_every": 64, "n_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1}


def done(folder, agent, **changes):
    run = Run(read_environment("CartPole-v1").configuration(agent, TINY | changes), 1, folder)
    return run, execute(run)


def test_a_tree_comes_from_its_folder(tmp_path):
    run, record = done(tmp_path, "dtsemnet")
    for path in (run.folder, run.folder / "best.json"):
        saved = load_policy(path)
        assert (saved.environment, saved.about["agent"], saved.about["seed"]) == ("CartPole-v1", "dtsemnet", 1)
        assert evaluate(saved.policy, saved.environment, range(500, 503)) == record["test"]["rewards"][:3]
    assert load_policy(run.folder, last=True).policy == Model.load(run.folder / "last.json")
    assert set(load_policy(run.folder).named().predict(np.eye(4))) <= {"left", "right"}
    assert isinstance(load_policy(run.folder / "last.zip").policy, PPO)


def test_an_agent_behind_normalisation_gets_its_statistics_back(tmp_path):
    run, record = done(tmp_path, "mlp", normalize=True)
    saved = load_policy(run.folder)
    assert evaluate(saved.policy, "CartPole-v1", range(500, 503)) == record["test"]["rewards"][:3]
    assert saved.playable() is saved.policy
    with pytest.raises(TypeError, match="'mlp' is not a tree"):
        saved.named()


@pytest.mark.filterwarnings("error::UserWarning")
def test_an_agent_with_returns_of_several_steps_is_loaded_without_a_warning(tmp_path):
    configuration = read_environment("LunarLanderContinuous-v3").configuration("mlp", {"n_envs": 1, "n_steps": 3})
    agent, _ = build_agent(configuration, seed=1)
    agent.save(tmp_path / "best.zip")
    assert load_agent(tmp_path, configuration).replay_buffer.n_steps == 3


def test_a_tree_that_knows_fewer_actions_plays_by_their_numbers():
    tree = Tree(Topology.complete(1), np.eye(1, 8), [0.0], [[1, 0], [0, 1]], class_names=[0, 2])
    saved = SavedPolicy(Model(Encoder.identity(tree.feature_labels), tree), "LunarLander-v3", {})
    rows = np.vstack([np.eye(8)[0], -np.eye(8)[0]])
    assert saved.named().predict(rows).tolist() == ["main engine", "nothing"]
    assert saved.playable().predict(rows).tolist() == [2, 0]


def test_actions_that_are_numbers_have_names():
    tree = Tree(Topology.complete(1), np.eye(1, 8), [0.0], np.zeros((2, 2)))
    model = Model(Encoder.identity(tree.feature_labels), tree)
    assert list(SavedPolicy(model, "LunarLanderContinuous-v3", {}).output_names()) == ["main engine", "side engines"]
    assert SavedPolicy(model, None, {}).output_names() is None
    network = SAC("MlpPolicy", "LunarLanderContinuous-v3", buffer_size=1, device="cpu")
    assert SavedPolicy(network, "LunarLanderContinuous-v3", {}).output_names()[0] == "main engine"
    classes = Tree(Topology.complete(1), np.eye(1, 8), [0.0], [[1, 0], [0, 1]], class_names=[0, 2])
    assert SavedPolicy(Model(model.encoder, classes), "LunarLander-v3", {}).output_names() is None


def test_an_environment_that_nobody_described_has_no_names():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 1])
    model = Model(Encoder.identity(["x0"]), tree)
    assert SavedPolicy(model, "Elsewhere-v0", {}).named() is model
    assert SavedPolicy(model, None, {}).playable() is model


def test_errors_name_the_way_out(tmp_path):
    with pytest.raises(FileNotFoundError, match="folder of a run, or a model file"):
        load_policy(tmp_path)
    (tmp_path / "best.zip").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"configuration\.json"):
        load_policy(tmp_path)
