"""Runs: killed ones go on, finished ones are not repeated, and each leaves one record."""

from __future__ import annotations

import fcntl
import json
import shutil

import pytest

from dtsemnet.rl import evaluate, runs
from dtsemnet.rl.configurations import read_environment
from dtsemnet.rl.runs import Run, execute
from dtsemnet.tree import Model, load_document

TINY = {"steps": 256, "judge_every": 96, "n_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1}


@pytest.fixture(autouse=True)
def _few_episodes(monkeypatch):
    """Ten test episodes for a hundred, and three judges for thirty."""
    monkeypatch.setattr(runs, "TEST_SEEDS", range(500, 510))
    monkeypatch.setattr(runs, "JUDGING_SEEDS", range(10_000, 10_003))


def asked(folder, agent="dtsemnet", seed=1, **changes):
    configuration = read_environment("CartPole-v1").configuration(agent, TINY | changes)
    return Run(configuration, seed, folder / "runs", folder / "results")


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


@pytest.mark.parametrize("changes", [{}, {"normalize": True}], ids=["plain", "normalised"])
def test_a_killed_run_ends_as_one_that_was_not(changes, tmp_path):
    straight = execute(asked(tmp_path / "straight", **changes))
    run = asked(tmp_path / "killed", **changes)
    for steps in (40, 140, 220):  # before the first checkpoint, then twice between judgements
        with pytest.MonkeyPatch.context() as patch:
            killer(patch, steps)
            with pytest.raises(Killed):
                execute(run, checkpoint_minutes=0)
        assert run.begun() == (steps > 64)
        assert run.finished() is None
        assert run.recorded() is None
    record = execute(run, checkpoint_minutes=0)
    assert Model.load(run.tree) == Model.load(asked(tmp_path / "straight", **changes).tree)
    told = [name for name in straight if name not in ("seconds", "cpu_seconds", "date")]
    assert {name: record[name] for name in told} == {name: straight[name] for name in told}
    assert not run.begun()


def test_a_finished_run_is_not_repeated(tmp_path, monkeypatch):
    run = asked(tmp_path)
    record = execute(run)
    monkeypatch.setattr(runs, "train", lambda *_, **__: pytest.fail("trained again"))
    assert execute(run) == record
    assert lines(tmp_path / "results" / "rl.jsonl") == [record]
    # The folder alone is enough, and so is the record alone.
    (tmp_path / "results" / "rl.jsonl").unlink()
    assert execute(run) == record
    assert list(run.folder.glob("tensorboard/**/events*"))  # curves for TensorBoard
    shutil.rmtree(run.folder)
    assert execute(run) == record
    assert lines(tmp_path / "results" / "rl.jsonl") == [record]


def test_fresh_does_it_again_and_the_newest_record_counts(tmp_path):
    run = asked(tmp_path)
    execute(run)
    record = execute(run, fresh=True)
    assert len(lines(tmp_path / "results" / "rl.jsonl")) == 2
    assert run.recorded() == record


def test_a_record_tells_what_was_done(tmp_path):
    run = asked(tmp_path, seed=4)
    record = execute(run)
    assert (record["environment"], record["agent"], record["seed"]) == ("CartPole-v1", "dtsemnet", 4)
    assert record["configuration"] == dict(run.configuration.settings)
    assert record["curve"]["step"] == [96, 192, 256]
    assert max(record["curve"]["mean"]) == round(record["judged"], 2)
    assert len(record["test"]["rewards"]) == 10
    assert "rewards" not in record["test_last"]
    assert record["tree"] == {"depth": 4, "leaves": 16}
    document = load_document(run.tree)
    assert document.about["seed"] == 4
    assert evaluate(document.content, "CartPole-v1", range(500, 510)) == record["test"]["rewards"]
    assert document.content.encoder.columns[2].name == "pole angle"
    assert len(list(run.folder.glob("log-*.csv"))) == 1


def test_agents_that_are_no_tree_leave_none(tmp_path):
    run = asked(tmp_path, "mlp", actor=[4])
    record = execute(run)
    assert "tree" not in record
    assert not run.tree.exists()
    assert (run.folder / "best.zip").is_file()


@pytest.mark.parametrize("agent", ["viper", "dtsemnet-viper"])
def test_imitation_learns_from_the_network_of_its_seed(tmp_path, agent):
    rounds = {"rounds": 2, "round_steps": 60, "round_episodes": 2, "depth": 2}
    run = asked(tmp_path, agent, **rounds)
    record = execute(run)
    found = lines(tmp_path / "results" / "rl.jsonl")
    assert [line["agent"] for line in found] == ["mlp", agent]
    assert found[1] == record
    assert (record["steps"], record["algorithm"]) == (120, "VIPER")
    model = Model.load(run.tree)
    assert model.tree.depth <= 2
    assert {column.name for column in model.encoder.columns} == set(run.configuration.environment.features)
    assert evaluate(model, "CartPole-v1", range(500, 510)) == record["test"]["rewards"]
    execute(asked(tmp_path, agent, **rounds | {"depth": 1}), fresh=True)
    assert [line["agent"] for line in lines(tmp_path / "results" / "rl.jsonl")] == ["mlp", agent, agent]


def test_a_folder_is_not_mixed_up(tmp_path):
    execute(asked(tmp_path))
    with pytest.raises(ValueError, match=r"holds a run with steps 256 \(now 128\); add --fresh .*--runs"):
        execute(asked(tmp_path, steps=128))
    execute(asked(tmp_path, steps=128), fresh=True)
    with (asked(tmp_path).folder / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="trained by another process"):
            execute(asked(tmp_path, steps=64))


@pytest.mark.parametrize("seed", [-1, 401, 509, 10_002])
def test_seeds_that_would_train_on_the_test_are_refused(seed, tmp_path):
    with pytest.raises(ValueError, match=f"got {seed}; take 1 to 400"):
        execute(asked(tmp_path, seed=seed))


def test_imitation_is_not_chosen_by_episodes_of_the_test(tmp_path):
    rounds = {"rounds": 40, "round_episodes": 100}
    with pytest.raises(ValueError, match=r"not within 140 of the test's .* got 361; take 1 to 360"):
        execute(asked(tmp_path, "viper", seed=361, **rounds))


@pytest.mark.parametrize("settings", [{"steps": 128}, {"learning_rate": 0.1}])
def test_runs_are_told_apart_by_seed_agent_and_settings(settings, tmp_path):
    keys = {asked(tmp_path).key, asked(tmp_path, seed=2).key, asked(tmp_path, "dgt").key}
    assert len(keys | {asked(tmp_path, **settings).key}) == 4


def test_a_tree_with_other_settings_does_not_replace_the_usual_one(tmp_path):
    usual = Run(read_environment("CartPole-v1").configuration("dtsemnet"), 1, tmp_path, tmp_path)
    same = Run(read_environment("CartPole-v1").configuration("dtsemnet", {"depth": 4}), 1, tmp_path, tmp_path)
    assert usual.tree == same.tree == tmp_path / "rl" / "CartPole-v1-dtsemnet-1.json"
    assert len({usual.tree, asked(tmp_path).tree, asked(tmp_path, depth=2).tree}) == 3


def test_the_configuration_says_how_many_episodes_judge(tmp_path):
    run = asked(tmp_path, judge_episodes=2)
    execute(run)
    assert {len(row["rewards"]) for row in lines(run.folder / "judgements.jsonl")} == {2}
    for wrong in (0, -1, 1001):
        with pytest.raises(ValueError, match=f"judge_episodes must be from 1 to 1000, got {wrong}"):
            execute(asked(tmp_path, judge_episodes=wrong))
