"""The folder of results: one record per run, rounded and with its curve, and the tree beside it."""

from __future__ import annotations

import shutil

import pytest

from dtsemnet.rl import evaluate, runs
from dtsemnet.rl.environments import read_environment
from dtsemnet.rl.runs import Run, execute
from dtsemnet.tree import load_document
from dtsemnet_paper.agents.results import ResultsFolder, open_results
from rl.test_runs import lines, planned


@pytest.fixture(autouse=True)
def _few_episodes(monkeypatch):
    """Ten test episodes instead of a hundred, and three that judge instead of thirty."""
    monkeypatch.setattr(runs, "TEST_SEEDS", range(500, 510))
    monkeypatch.setattr(runs, "JUDGING_SEEDS", range(10_000, 10_003))


def test_a_recorded_run_is_not_repeated(tmp_path, monkeypatch):
    run, results = planned(tmp_path), ResultsFolder(tmp_path / "results")
    record = execute(run, store=results)
    monkeypatch.setattr(runs, "train", lambda *_, **__: pytest.fail("trained again"))
    assert execute(run, store=results) == record
    assert lines(tmp_path / "results" / "rl.jsonl") == [record]
    # The folder of the run alone is enough, and so is the record alone.
    (tmp_path / "results" / "rl.jsonl").unlink()
    assert execute(run, store=results) == record
    shutil.rmtree(run.folder)
    assert execute(run, store=results) == record
    assert lines(tmp_path / "results" / "rl.jsonl") == [record]


def test_fresh_repeats_a_run_and_the_newest_record_counts(tmp_path):
    run, results = planned(tmp_path), ResultsFolder(tmp_path / "results")
    execute(run, store=results)
    record = execute(run, store=results, fresh=True)
    assert len(lines(tmp_path / "results" / "rl.jsonl")) == 2
    assert results.find(run) == record


def test_a_record_says_what_was_done(tmp_path):
    run, results = planned(tmp_path, seed=4), ResultsFolder(tmp_path / "results")
    record = execute(run, store=results)
    assert next(iter(record)) == "key"
    assert record["configuration"] == dict(run.configuration.settings)
    assert record["curve"]["step"] == [96, 192, 256]
    assert max(record["curve"]["mean"]) == round(record["judged"], 2)
    assert len(record["test"]["rewards"]) == 10
    assert "rewards" not in record["test_last"]
    assert record["tree"] == {"depth": 4, "leaves": 16}
    document = load_document(results.tree_file(run))
    assert document.about["seed"] == 4
    assert evaluate(document.content, "CartPole-v1", range(500, 510)) == record["test"]["rewards"]


def test_agents_that_are_not_trees_leave_none(tmp_path):
    run, results = planned(tmp_path, "mlp", actor=[4]), ResultsFolder(tmp_path / "results")
    assert "tree" not in execute(run, store=results)
    assert not results.tree_file(run).exists()


def test_imitation_records_its_teacher_too(tmp_path):
    run, results = planned(tmp_path, "viper", rounds=2, round_steps=60, depth=2), ResultsFolder(tmp_path / "results")
    record = execute(run, store=results)
    records = lines(tmp_path / "results" / "rl.jsonl")
    assert [line["agent"] for line in records] == ["mlp", "viper"]
    assert records[1] == record


def test_a_tree_with_changed_settings_does_not_replace_the_usual_one(tmp_path):
    results, pole = ResultsFolder(tmp_path), read_environment("CartPole-v1")
    usual, same = (Run(pole.configuration("dtsemnet", changes), 1, tmp_path) for changes in ({}, {"depth": 4}))
    assert results.tree_file(usual) == results.tree_file(same) == tmp_path / "rl" / "CartPole-v1-dtsemnet-1.json"
    others = [results.tree_file(planned(tmp_path, **changes)) for changes in ({}, {"depth": 2})]
    assert len({results.tree_file(usual), *others}) == 3


def test_results_are_kept_with_the_paper_if_it_is_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert open_results(None, tmp_path / "runs").folder == tmp_path / "runs"
    (tmp_path / "paper").mkdir()
    assert open_results(None, tmp_path / "runs").folder.as_posix() == "paper/results"
    assert open_results(tmp_path / "mine", tmp_path / "runs").folder == tmp_path / "mine"
