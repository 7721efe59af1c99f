"""dtsemnet rl with the workshop: published values, records of all runs, rivals, and the verbs list and report."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dtsemnet.cli import app

TINY = ["--steps", "128", *(f"--set={text}" for text in ("judge_every=64", "n_steps=32", "n_envs=2", "n_epochs=1"))]


def run(*words, code=0):
    """Run a command line."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def records(folder):
    return [json.loads(line) for line in Path(folder, "rl.jsonl").read_text().splitlines()]


def test_list_and_report_show_what_is_recorded():
    done = run("rl", "train", "CartPole-v1", "--depth", 2, *TINY)
    assert "published: 500 ± 0" in done.stdout
    assert "record in runs/rl" in done.stdout
    again = run("rl", "train", "cartpole", "--depth", 2, *TINY, "--json")
    assert "is finished and recorded in runs/rl" in again.stderr
    assert json.loads(again.stdout) == records("runs/rl")[0]
    tree = next(Path("runs/rl/rl").glob("CartPole-v1-dtsemnet-1-*.json"))
    assert "CartPole-v1, 5 episodes" in run("rl", "evaluate", tree, "--episodes", 5).stdout
    assert "records: 1 in runs/rl" in run("rl", "list").stdout
    done = run("rl", "report", "CartPole-v1", "--out", "out")
    assert "dtsemnet (" in done.stdout
    assert "standard deviation over seeds" in done.stdout
    assert Path("out/figures/rl-CartPole-v1.png").read_bytes().startswith(b"\x89PNG")
    assert "(figures/rl-CartPole-v1.png)" in Path("out/REPORT-RL.md").read_text()
    rows = json.loads(run("rl", "report", "cartpole", "--json").stdout)["CartPole-v1"]
    assert [row["seeds"] for row in rows if row["seeds"]] == [[1]]


def test_records_go_to_the_folder_of_the_paper_if_there_is_one():
    Path("paper").mkdir()
    run("rl", "train", "CartPole-v1", "--agent", "dgt", *TINY, "--set=batch_size=32", "--quiet")
    assert len(records("paper/results")) == 1
    assert len(list(Path("paper/results/rl").glob("CartPole-v1-dgt-1-*.json"))) == 1
    run("rl", "train", "CartPole-v1", "--seed", 2, *TINY, "--record", "elsewhere", "--runs", "there", "--quiet")
    assert len(records("elsewhere")) == 1
    assert Path("there/CartPole-v1/dtsemnet/2/best.json").is_file()


def test_the_game_can_be_filmed():
    small = ["--set=judge_episodes=1", "--set=batch_size=64", "--set=judge_every=128"]
    run("rl", "train", "MarinesAndCritters-v0", *TINY, *small, "--quiet")
    run("rl", "render", "runs/rl/MarinesAndCritters-v0/dtsemnet/1", "--out", "film.gif", "--steps", 2)
    assert Path("film.gif").read_bytes().startswith(b"GIF8")


@pytest.mark.parametrize("verb", ["list", "report"])
def test_help_and_examples(verb, monkeypatch):
    shown = " ".join(run("rl", verb, "--help").stdout.split())
    for line in importlib.import_module(f"dtsemnet_paper.cli.rl.{verb}").EXAMPLES.strip().splitlines():
        assert line in shown
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    assert "pip install 'dtsemnet[rl]'" in run("rl", verb, code=1).stderr
