"""SIGTERM to the command: exit code 143, no temporary file, checkpoints and records whole."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from dtsemnet.training import loop
from faults.failing import Command, leftovers

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to send"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of a fork beside threads of the test runner
]


def test_a_fit_that_is_terminated_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, begun = tmp_path / "work", tmp_path / "begun"
    folder.mkdir()
    start = loop.Training.start

    def noted(training: Any) -> Any:
        begun.touch()
        return start(training)

    monkeypatch.setattr(loop.Training, "start", noted)  # in the fork, too
    command = Command(["fit", "--epochs", "100000"], folder)
    command.await_that(begun.exists)
    assert command.end_by(signal.SIGTERM) == 143
    assert list(folder.iterdir()) == []


def test_an_agent_that_is_terminated_resumes(tmp_path: Path) -> None:
    pytest.importorskip("dtsemnet.rl.runs", reason="the extra rl is not installed")
    from dtsemnet.rl.plain_values import read_values

    words = ["rl", "train", "CartPole-v1", "--steps", "10000000", "--checkpoint", "0", "--set=judge_every=1000000"]
    words += ["--set=n_steps=32", "--set=n_envs=2"]
    folder = tmp_path / "work"
    folder.mkdir()
    checkpoint = folder / "runs/rl/CartPole-v1/dtsemnet/1/checkpoint.npz"
    command = Command(words, folder)
    command.await_that(checkpoint.is_file)
    assert command.end_by(signal.SIGTERM) == 143
    assert leftovers(folder) == []
    assert read_values(checkpoint)["counters"]["num_timesteps"] > 0
