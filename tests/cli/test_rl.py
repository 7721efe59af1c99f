"""dtsemnet rl: tiny trainings by the command line, killed and resumed, and what the other verbs make of them."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.conftest import Run
from cli.test_app import commands
from dtsemnet.cli import app
from dtsemnet.cli.rl import VERBS
from faults.failing import Command

TINY = ["--steps", "128", *(f"--set={text}" for text in ("judge_every=64", "n_steps=32", "n_envs=2", "n_epochs=1"))]
FOLDER = "runs/rl/CartPole-v1/dtsemnet/1"


@pytest.fixture(scope="module", autouse=True)
def _no_extensions() -> Iterator[None]:
    """Test the product alone, even if the workshop is installed."""
    from dtsemnet.rl import environments, recipes

    with pytest.MonkeyPatch.context() as patch:
        for module in (environments, recipes):
            patch.setattr(module, "extensions", lambda: ())
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run."""
    folder = tmp_path_factory.mktemp("rl")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(app, ["rl", "train", "CartPole-v1", "--depth", "2", *TINY])
    assert done.exit_code == 0, done.output
    assert "test:" in done.stdout
    assert "published" not in done.stdout
    assert "step 128 of 128" in done.stderr
    return folder


@pytest.fixture
def here(trained: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run command lines in the folder of the finished run."""
    monkeypatch.chdir(trained)
    return run


def record() -> dict[str, object]:
    """The record of the run."""
    [line] = Path(FOLDER, "record.jsonl").read_text().splitlines()
    content = json.loads(line)
    assert isinstance(content, dict)
    return content


def test_training_again_says_that_it_is_done(here: Run) -> None:
    done = here("rl", "train", "cartpole", "--depth", "2", *TINY, "--json")
    assert "is finished" in done.stderr
    assert done.json() == record()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_json(verb: str) -> None:
    assert "as_json" in inspect.signature(importlib.import_module(VERBS[verb]).run).parameters


def test_settings_of_the_command_line_reach_the_record(here: Run) -> None:
    configuration = record()["configuration"]
    assert isinstance(configuration, dict)
    assert [configuration[name] for name in ("depth", "steps", "n_envs", "learning_rate")] == [2, 128, 2, 0.024]


def test_other_settings_in_the_same_folder_are_refused(here: Run) -> None:
    done = here("rl", "train", "CartPole-v1", *TINY, code=1)
    assert "holds a run with depth 2 (now 4)" in done.stderr
    assert "--fresh" in done.stderr


def test_evaluate_repeats_the_test(here: Run) -> None:
    test = record()["test"]
    assert isinstance(test, dict)
    assert here("rl", "evaluate", FOLDER, "--json").json()["rewards"] == test["rewards"]
    shown = here("rl", "evaluate", Path(FOLDER, "best.json"), "--episodes", 5).stdout
    assert "CartPole-v1, 5 episodes, seeds 500 to 504" in shown
    assert f"mean {sum(test['rewards'][:5]) / 5:.2f}, standard error" in shown


def test_evaluate_needs_the_environment_if_the_file_does_not_state_it(here: Run, tmp_path: Path) -> None:
    bare = tmp_path / "bare.json"
    bare.write_text(Path(FOLDER, "best.json").read_text())
    assert "add --env" in here("rl", "evaluate", bare, code=1).stderr
    same = here("rl", "evaluate", FOLDER, "--episodes", 3).stdout
    assert here("rl", "evaluate", bare, "--env", "cartpole", "--episodes", 3).stdout == same


def test_shrink_writes_a_policy_that_acts_as_the_figures_say(here: Run, tmp_path: Path) -> None:
    out, picture = tmp_path / "small.json", tmp_path / "curve.svg"
    sizes = ["--leaves", 2, "--rounds", 1, "--steps", 100, "--episodes", 3]
    done = here("rl", "shrink", FOLDER, "--out", out, "--plot", picture, *sizes, "--json")
    figures = done.json()
    assert figures["environment"] == "CartPole-v1"
    assert figures["chosen"] in [one["leaves"] for one in figures["candidates"]]
    assert "2 of 2" in done.stderr
    assert picture.read_bytes().startswith(b"<?xml")
    assert "CartPole-v1, 2 episodes" in here("rl", "evaluate", out, "--episodes", 2).stdout
    assert "add --force" in here("rl", "shrink", FOLDER, "--out", out, *sizes, code=1).stderr
    assert "chosen" in here("rl", "shrink", FOLDER, "--out", out, *sizes, "--force").stdout


def test_show_names_features_and_actions_and_draws(here: Run, tmp_path: Path) -> None:
    done = here("rl", "show", FOLDER, "--plot", tmp_path / "policy.svg")
    assert "pole angle" in done.stdout
    assert "left (100 %)" in done.stdout
    assert done.stdout.count("> 0 ?") == 3
    assert "<svg" in (tmp_path / "policy.svg").read_text()
    assert "exists" in here("rl", "show", FOLDER, "--plot", tmp_path / "policy.svg", code=1).stderr
    figures = here("rl", "show", FOLDER, "--json").json()
    assert [leaf["leaf"] for leaf in figures["leaves"]] == [0, 1, 2, 3]
    assert "leaf 3: " in figures["text"]


def test_render_writes_a_film(here: Run, tmp_path: Path) -> None:
    said = here("rl", "render", FOLDER, "--out", tmp_path / "film.gif", "--steps", 2, "--json").json()
    assert said["bytes"] == (tmp_path / "film.gif").stat().st_size
    assert (tmp_path / "film.gif").read_bytes().startswith(b"GIF8")


def test_records_of_all_runs_need_the_workshop(run: Run) -> None:
    assert "needs the distribution dtsemnet-paper" in run("rl", "train", "CartPole-v1", "--record", "x", code=1).stderr


@pytest.mark.skipif(os.name == "nt", reason="processes are forked")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside threads of the test runner
def test_a_process_that_is_killed_is_resumed(run: Run) -> None:
    words = ["train", "CartPole-v1", "--steps", "2500", "--checkpoint", "0", "--set=judge_every=1000"]
    words += [
        "--set=n_steps=64",
        "--set=n_envs=2",
        "--set=n_epochs=1",
        "--set=learning_rate=1e-6",
    ]  # a bad policy: short episodes
    command = Command(["rl", *words], Path.cwd())
    command.await_that(Path(FOLDER, "checkpoint.npz").is_file)
    assert command.end_by(signal.SIGKILL) == -signal.SIGKILL
    assert not Path(FOLDER, "record.jsonl").exists()
    done = run("rl", *words)
    assert f"resuming {FOLDER}" in done.stderr
    assert record()["steps"] == 2560
    judgements = [json.loads(line) for line in Path(FOLDER, "judgements.jsonl").read_text().splitlines()]
    assert [judgement["step"] for judgement in judgements] == [1000, 2000, 2560]


def test_interrupt_says_how_to_continue(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dtsemnet.rl.runs.train", interrupted)
    done = run("rl", "train", "CartPole-v1", *TINY, code=130)
    assert "interrupted; the same command starts again" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["Pong"], "such as CartPole-v1, a class as module:Class"),
        (["CartPole-v1", "--agent", "dqn"], "agent must be one of dtsemnet, mlp"),
        (["CartPole-v1", "--set", "lr=1"], "has no setting 'lr'"),
        (["CartPole-v1", "--set", "lr"], "name=value"),
        (["CartPole-v1", "--seed", "500"], "take 1 to 400"),
    ],
)
def test_what_is_refused_is_one_line(words: list[str], told: str, run: Run) -> None:
    done = run("rl", "train", *words, code=1)
    errors = [line for line in done.stderr.splitlines() if not line.startswith("note:")]
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert told in errors[0]
    assert not Path("runs").exists()


MY_WORLD = """
import gymnasium as gym
import numpy as np

class Drift(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal(size=2)
        return self.place.copy(), {}

    def step(self, action):
        self.place = self.place + 0.1 * (2 * action - 1)
        return self.place.copy(), -float(np.abs(self.place).sum()), bool(np.abs(self.place).max() > 3), False, {}
"""


def test_a_class_of_ones_own_becomes_a_smaller_tree_and_c(run: Run) -> None:
    Path("drifting.py").write_text(MY_WORLD)
    said = run("rl", "init", "drifting:Drift", "--out", "drift.toml", "--json").stdout
    assert json.loads(said)["out"] == "drift.toml"
    assert "normalize = true" in Path("drift.toml").read_text()
    assert "--force" in run("rl", "init", "drifting:Drift", "--out", "drift.toml", code=1).stderr
    run("rl", "train", "drift.toml", "--depth", "2", *TINY, "--set", "batch_size=64")
    folder = "runs/rl/drift/dtsemnet/1"
    told = run("rl", "explain", folder, "--episodes", "2").stdout
    assert "of 4 leaves act" in told
    explained = json.loads(run("rl", "explain", folder, "--episodes", "2", "--json").stdout)
    assert explained["n_leaves"] == 4
    assert sum(use["share"] for use in explained["leaves"]) == pytest.approx(1)
    small = ["--leaves", "2", "--rounds", "1", "--steps", "50", "--episodes", "2", "--out", "small.json"]
    run("rl", "shrink", folder, *small)
    run("export", "small.json", "--to", "c", "--out", "small.c")
    assert Path("small.c").stat().st_size > 0


@pytest.mark.parametrize("words", [["rl", "trian"], ["rl", "train"], ["rl", "train", "CartPole-v1", "--dept", "2"]])
def test_a_wrong_command_line_is_exit_code_2(words: list[str], run: Run) -> None:
    done = run(*words, code=2)
    assert done.stdout == ""
    assert f" {' '.join(words[: 2 if words[1] in VERBS else 1])} " in done.stderr.splitlines()[0]


def test_debug_reaches_the_verbs_of_the_verb(run: Run) -> None:
    assert isinstance(run("rl", "train", "Pong", "--debug", code=1).exception, ValueError)


@pytest.mark.parametrize("verb", VERBS)
def test_without_the_extra_each_verb_names_it(verb: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    words = {"train": ["CartPole-v1"], "render": ["x", "--out", "x.gif"]}.get(verb, ["x"])
    assert "pip install 'dtsemnet[rl]'" in run("rl", verb, *words, code=1).stderr


@pytest.mark.parametrize("verb", VERBS)
def test_examples_are_shown_and_exist(verb: str, run: Run) -> None:
    module = importlib.import_module(VERBS[verb])
    shown = " ".join(run("rl", verb, "--help").stdout.split())
    lines = commands(module.EXAMPLES)
    assert lines
    for line in lines:
        assert line[:50] in shown
        words = line.replace("'[64, 64]'", "[64,64]").split()[2:]
        known = {option for word in words if (option := word.partition("=")[0]).startswith("--")}
        assert words[0] == verb
        assert all(option in shown for option in known)


def test_help_needs_none_of_the_packages() -> None:
    code = (
        "import sys\nfrom dtsemnet.cli import main\n"
        "for words in (['rl', '--help'], ['rl', 'train', '--help'], ['--help']):\n"
        "    try: main(words)\n    except SystemExit: pass\n"
        "print([name for name in ('torch', 'gymnasium', 'stable_baselines3', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
