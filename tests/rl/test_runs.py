"""Runs: killed ones resume, finished ones are not repeated, and each leaves one record and policies to load again."""

from __future__ import annotations

import base64
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from stable_baselines3 import PPO, SAC

from dtsemnet.folders import own_folder
from dtsemnet.rl import evaluate, runs
from dtsemnet.rl.environments import read_environment
from dtsemnet.rl.recipes import build_agent
from dtsemnet.rl.runs import Run, SavedPolicy, execute, load_agent, load_policy
from dtsemnet.tree import Encoder, Model, Topology, Tree

TINY = {"steps": 256, "judge_every": 96, "n_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1}


@pytest.fixture(autouse=True)
def _few_episodes(monkeypatch):
    """Ten test episodes for a hundred, and three judges for thirty."""
    monkeypatch.setattr(runs, "TEST_SEEDS", range(500, 510))
    monkeypatch.setattr(runs, "JUDGING_SEEDS", range(10_000, 10_003))


def planned(folder, agent="dtsemnet", seed=1, env="CartPole-v1", **changes):
    configuration = read_environment(env).configuration(agent, TINY | changes)
    return Run(configuration, seed, folder / "runs")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class Killed(Exception):
    """Stands for a kill in the middle."""


def killer(monkeypatch, steps):
    """Die at so many steps, between two checkpoints."""
    inner = runs.train

    def train(agent, *args, callback, **options):
        from stable_baselines3.common.callbacks import BaseCallback

        class Kill(BaseCallback):
            def _on_step(self):
                if self.num_timesteps >= steps:
                    raise Killed
                return True

        return inner(agent, *args, callback=[*callback, Kill()], **options)

    monkeypatch.setattr(runs, "train", train)


@pytest.mark.parametrize(
    "changes",
    [{}, {"normalize": True}, {"env": "LunarLander-v3"}, {"env": "LunarLander-v3", "normalize": True}],
    ids=["plain", "normalised", "opaque", "opaque and normalised"],
)
def test_a_killed_run_ends_as_one_that_was_not(changes, tmp_path):
    straight = execute(planned(tmp_path / "straight", **changes))
    run = planned(tmp_path / "killed", **changes)
    for steps in (40, 140, 220):  # before the first checkpoint, then twice between judgements
        with pytest.MonkeyPatch.context() as patch:
            killer(patch, steps)
            with pytest.raises(Killed):
                execute(run, checkpoint_minutes=0)
        assert run.begun() == (steps > 64)
        assert run.finished() is None
    record = execute(run, checkpoint_minutes=0)
    straight_run = planned(tmp_path / "straight", **changes)
    assert Model.load(run.folder / "best.json") == Model.load(straight_run.folder / "best.json")
    told = [name for name in straight if name not in ("seconds", "cpu_seconds", "date")]
    assert {name: record[name] for name in told} == {name: straight[name] for name in told}
    assert not run.begun()


def test_a_finished_run_is_not_repeated(tmp_path, monkeypatch):
    run = planned(tmp_path)
    record = execute(run)
    monkeypatch.setattr(runs, "train", lambda *_, **__: pytest.fail("trained again"))
    assert execute(run) == record == run.finished()
    assert lines(run.folder / "record.jsonl") == [record]
    assert list(run.folder.glob("tensorboard/**/events*"))  # curves for TensorBoard


def test_fresh_repeats_a_run(tmp_path):
    run = planned(tmp_path)
    execute(run)
    record = execute(run, fresh=True)
    assert lines(run.folder / "record.jsonl") == [record]


def test_a_record_says_what_was_done(tmp_path):
    run = planned(tmp_path, seed=4)
    record = execute(run)
    assert (record["environment"], record["agent"], record["seed"]) == ("CartPole-v1", "dtsemnet", 4)
    assert record["configuration"] == dict(run.configuration.settings)
    judged = lines(run.folder / "judgements.jsonl")
    assert [row["step"] for row in judged] == [96, 192, 256]
    assert max(row["mean"] for row in judged) == record["judged"]
    model = Model.load(run.folder / "best.json")
    assert evaluate(model, "CartPole-v1", range(500, 510)) == record["test"]["rewards"]
    assert model.encoder.columns[2].name == "pole angle"
    assert len(list(run.folder.glob("log-*.csv"))) == 1


def test_agents_that_are_no_tree_leave_none(tmp_path):
    run = planned(tmp_path, "mlp", actor=[4])
    execute(run)
    assert not (run.folder / "best.json").exists()
    assert (run.folder / "best.zip").is_file()


@pytest.mark.parametrize("agent", ["viper", "dtsemnet-viper"])
def test_imitation_learns_from_the_network_of_its_seed(tmp_path, agent):
    rounds = {"rounds": 2, "round_steps": 60, "round_episodes": 2, "depth": 2}
    run = planned(tmp_path, agent, **rounds)
    record = execute(run)
    assert run.finished() == record
    [teacher] = lines(planned(tmp_path, "mlp").folder / "record.jsonl")
    assert (teacher["agent"], teacher["seed"]) == ("mlp", 1)
    assert (record["steps"], record["algorithm"]) == (120, "VIPER")
    model = Model.load(run.folder / "best.json")
    assert model.tree.depth <= 2
    assert {column.name for column in model.encoder.columns} == set(run.configuration.environment.features)
    assert evaluate(model, "CartPole-v1", range(500, 510)) == record["test"]["rewards"]
    execute(planned(tmp_path, agent, **rounds | {"depth": 1}), fresh=True)
    assert len(lines(planned(tmp_path, "mlp").folder / "record.jsonl")) == 1  # the network is not trained again


def test_a_folder_is_not_mixed_up(tmp_path):
    execute(planned(tmp_path))
    with pytest.raises(ValueError, match=r"holds a run with steps 256 \(now 128\); add --fresh .*--runs"):
        execute(planned(tmp_path, steps=128))
    execute(planned(tmp_path, steps=128), fresh=True)
    refused = pytest.raises(BlockingIOError, match="trained by another process")
    with own_folder(planned(tmp_path).folder, busy="never"), refused:
        execute(planned(tmp_path, steps=64))


@pytest.mark.parametrize("seed", [-1, 401, 509, 10_002])
def test_seeds_that_would_train_on_the_test_are_refused(seed, tmp_path):
    with pytest.raises(ValueError, match=f"got {seed}; take 1 to 400"):
        execute(planned(tmp_path, seed=seed))


def test_imitation_is_not_chosen_by_episodes_of_the_test(tmp_path):
    rounds = {"rounds": 40, "round_episodes": 100}
    with pytest.raises(ValueError, match=r"not within 140 of the test's .* got 361; take 1 to 360"):
        execute(planned(tmp_path, "viper", seed=361, **rounds))


@pytest.mark.parametrize("settings", [{"steps": 128}, {"learning_rate": 0.1}])
def test_runs_are_told_apart_by_seed_agent_and_settings(settings, tmp_path):
    keys = {planned(tmp_path).key, planned(tmp_path, seed=2).key, planned(tmp_path, "mlp").key}
    assert len(keys | {planned(tmp_path, **settings).key}) == 4


def test_the_configuration_says_how_many_episodes_judge(tmp_path):
    run = planned(tmp_path, judge_episodes=2)
    execute(run)
    assert {len(row["rewards"]) for row in lines(run.folder / "judgements.jsonl")} == {2}


def done(folder, agent, **changes):
    run = planned(folder, agent, steps=64, judge_every=64, **changes)
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


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return (Path("exploded").touch, ())


def test_code_in_the_archive_of_an_agent_does_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run, record = done(tmp_path, "mlp", actor=[4], normalize=True)
    with zipfile.ZipFile(run.folder / "best.zip") as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    serialized = base64.b64encode(pickle.dumps(Bomb())).decode()
    content["data"] = json.dumps({"policy_class": {":type:": "x", ":serialized:": serialized}}).encode()
    with zipfile.ZipFile(run.folder / "best.zip", "w") as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    saved = load_policy(run.folder)
    assert evaluate(saved.policy, "CartPole-v1", range(500, 510)) == record["test"]["rewards"]
    assert not Path("exploded").exists()


def test_statistics_that_were_pickled_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run, _ = done(tmp_path, "mlp", actor=[4], normalize=True)
    (run.folder / "best.npz").unlink()
    (run.folder / "best.pkl").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match=r"best\.pkl was written by an earlier version and is not read"):
        load_policy(run.folder)
    assert not Path("exploded").exists()


@pytest.mark.parametrize("size", [0, 100, -1])
def test_a_torn_archive_of_an_agent_is_one_error_that_names_it(size, tmp_path):
    run, _ = done(tmp_path, "mlp", actor=[4])
    path = run.folder / "best.zip"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"best\.zip does not hold the parameters"):
        load_policy(run.folder)
