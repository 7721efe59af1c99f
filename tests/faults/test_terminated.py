"""SIGTERM to the command: exit code 143, no temporary file, checkpoints and records whole."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.failing import COMMAND, ENVIRONMENT, leftovers

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to send")


def terminated(words: list[str], folder: Path, begun: Callable[[], bool]) -> int:
    """Start a command, send it SIGTERM when it has begun, and return its exit code."""
    process = subprocess.Popen([*COMMAND, *words], cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE)
    while not begun():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=600)
    assert b"Traceback" not in errors, errors
    return process.returncode


def test_a_fit_that_is_terminated_writes_nothing(tmp_path: Path) -> None:
    started = time.monotonic()
    words = ["fit", "--epochs", "10000000"]
    assert terminated(words, tmp_path, lambda: time.monotonic() - started > 5) == 143
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_is_terminated_resumes(tmp_path: Path) -> None:
    pytest.importorskip("dtsemnet.rl", reason="the extra rl is not installed")
    from dtsemnet.rl.plain_values import read_values

    words = ["rl", "train", "CartPole-v1", "--steps", "10000000", "--checkpoint", "0", "--set=judge_every=1000000"]
    checkpoint = tmp_path / "runs/rl/CartPole-v1/dtsemnet/1/checkpoint.npz"
    assert terminated(words, tmp_path, checkpoint.is_file) == 143
    assert leftovers(tmp_path) == []
    assert read_values(checkpoint)["counters"]["num_timesteps"] > 0
