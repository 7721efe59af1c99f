"""A disk that is full from any write on: one error that names the file, the old file whole, nothing half written."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from typer.testing import CliRunner

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.cli import app
from dtsemnet.json_lines import append_line, read_lines
from dtsemnet.training import loop
from dtsemnet.tree import Topology, Tree
from faults.failing import Disk, leftovers, spread

QUICK: dict[str, Any] = {"max_depth": 2, "max_iter": 3, "random_state": 0, "effort": 0, "n_init": 2}
OLD = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [1.0]])
NEW = Tree(Topology.complete(2), np.ones((3, 1)), np.zeros(3), np.arange(4.0)[:, None])


def fails_everywhere(work: Callable[[], Any], check: Callable[[OSError | None], None], n_wanted: int = 12) -> int:
    """Let the disk fill up at one write after the other; return how many there are."""
    with Disk().installed() as disk:
        work()
    n_calls = disk.n_calls
    for number in spread(n_calls, n_wanted):
        with Disk(number).installed() as full:
            error = None
            try:
                work()
            except OSError as caught:
                error = caught
        assert full.failed, "the work writes the same each time"
        check(error)
    return n_calls


def test_saving_to_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    OLD.save(path)

    def work() -> None:
        OLD.save(path)
        NEW.save(path)

    def check(error: OSError | None) -> None:
        found = Tree.load(path)
        assert found in (OLD, NEW)
        if error is not None:  # the folder may not be flushed, which is no error: the file is whole
            assert (error.errno, error.filename) == (errno.ENOSPC, str(path))
        assert leftovers(tmp_path) == []

    assert fails_everywhere(work, check, 30) >= 8


@pytest.mark.parametrize(
    ("kind", "load"), [(DTSemNetClassifier, load_iris), (DTSemNetRegressor, load_diabetes)], ids=["classes", "numbers"]
)
def test_a_fit_on_a_full_disk_resumes_when_there_is_room(
    kind: Any, load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    data = load(return_X_y=True)
    whole = kind(**QUICK).fit(*data)
    turn = iter(range(100))

    def work() -> None:
        kind(**QUICK, checkpoint=tmp_path / str(next(turn))).fit(*data)

    def check(error: OSError | None) -> None:
        folder = max(tmp_path.iterdir(), key=lambda path: int(path.name))
        assert leftovers(tmp_path) == []
        if error is not None:
            assert error.errno == errno.ENOSPC
            assert Path(error.filename).parent == folder
            assert kind(**QUICK, checkpoint=folder).fit(*data).tree_ == whole.tree_

    fails_everywhere(work, check, 5)


def test_the_command_fit_on_a_full_disk_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["fit", "--depth", "2", "--n-init", "1", "--epochs", "2", "--effort", "0", "--force"]
    with Disk().installed() as disk:
        assert CliRunner().invoke(app, words).exit_code == 0
    Path("model.json").unlink()
    for number in range(disk.n_calls - 1):  # the last call flushes the folder
        with Disk(number).installed():
            done = CliRunner().invoke(app, words)
        assert (done.exit_code, done.stderr) == (1, "error: model.json: No space left on device.\n")
        assert list(tmp_path.iterdir()) == []


def test_a_record_that_does_not_fit_is_cut_off_again(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    append_line(path, json.dumps({"key": "old"}))
    before = path.read_bytes()
    with Disk().installed() as disk:
        append_line(path, json.dumps({"key": "new"}))
    path.write_bytes(before)
    for number in range(disk.n_calls):
        with Disk(number).installed(), pytest.raises(OSError, match="No space left") as caught:
            append_line(path, json.dumps({"key": "new"}))
        assert caught.value.filename == str(path)
        assert path.read_bytes() == before
    append_line(path, json.dumps({"key": "new"}))
    assert [record["key"] for record in read_lines(path)] == ["old", "new"]
    assert leftovers(tmp_path) == []


def test_an_agent_on_a_full_disk_resumes_when_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = pytest.importorskip("dtsemnet.rl.runs", reason="the extra rl is not installed")
    from dtsemnet.rl.environments import read_environment
    from dtsemnet.tree import Model

    monkeypatch.setattr(runs, "TEST_SEEDS", range(500, 502))
    monkeypatch.setattr(runs, "JUDGING_SEEDS", range(10_000, 10_002))
    tiny = {"steps": 96, "judge_every": 64, "n_envs": 2, "n_steps": 16, "batch_size": 16, "n_epochs": 1}
    configuration = read_environment("CartPole-v1").configuration("dtsemnet", tiny)

    def planned(name: object) -> Any:
        return runs.Run(configuration, 1, tmp_path / str(name))

    straight = runs.execute(planned("straight"))
    with Disk().installed() as disk:
        runs.execute(planned("counted"), checkpoint_minutes=0)
    best = Model.load(planned("straight").folder / "best.json")
    n_errors = 0
    for number in spread(disk.n_calls, 5):
        run, error = planned(number), None
        with Disk(number).installed():
            try:
                runs.execute(run, checkpoint_minutes=0)
            except OSError as caught:
                error = caught
        if error is not None:
            n_errors += 1
            assert error.errno == errno.ENOSPC
            assert str(tmp_path) in str(error.filename)
        assert leftovers(tmp_path) == []
        record = runs.execute(run, checkpoint_minutes=0)
        assert (record["test"], record["steps"]) == (straight["test"], straight["steps"])
        assert Model.load(run.folder / "best.json") == best
    assert n_errors >= 3


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can mount a small disk")
def test_on_a_real_disk_that_is_full(tmp_path: Path) -> None:
    import subprocess

    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        path = tmp_path / "tree.json"
        OLD.save(path)
        large = Tree(Topology.complete(9), np.full((511, 9), 1 / 3), np.zeros(511), np.zeros((512, 1)))
        with pytest.raises(OSError, match=r"No space left on device: .*tree.json"):
            large.save(path)
        assert Tree.load(path) == OLD
        records = tmp_path / "records.jsonl"

        def append_until_full() -> None:
            for number in range(10_000):
                append_line(records, json.dumps({"key": str(number), "text": "x" * 50}))

        with pytest.raises(OSError, match=r"No space left on device: .*records.jsonl"):
            append_until_full()
        kept = [record["key"] for record in read_lines(records)]
        assert kept == [str(number) for number in range(len(kept))]
        assert records.read_bytes().endswith(b"}\n")
        with pytest.raises(OSError, match=r"No space left on device: .*start-0.npz"):
            DTSemNetClassifier(**QUICK, checkpoint=tmp_path / "run").fit(*load_iris(return_X_y=True))
        assert leftovers(tmp_path) == []
        records.unlink()
        fitted = DTSemNetClassifier(**QUICK, checkpoint=tmp_path / "run").fit(*load_iris(return_X_y=True))
        assert fitted.tree_ == DTSemNetClassifier(**QUICK).fit(*load_iris(return_X_y=True)).tree_
    finally:
        subprocess.run(["umount", tmp_path], check=True)
