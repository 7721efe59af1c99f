"""Several processes on one file or folder, what a dead one left, and clocks that run backwards."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from dtsemnet import DTSemNetClassifier
from dtsemnet.files import write_atomically
from dtsemnet.folders import own_folder
from dtsemnet.json_lines import append_line, read_lines
from faults.failing import ENVIRONMENT, leftovers

QUICK = {"max_depth": 2, "max_iter": 5, "effort": 0, "n_init": 2, "random_state": 0}

APPEND = """
import json, sys
from dtsemnet.json_lines import append_line
for number in range(100):
    append_line(sys.argv[1], json.dumps({"writer": sys.argv[2], "number": number, "text": "x" * 5000}))
"""


def test_two_processes_append_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"torn')
    writers = [subprocess.Popen([sys.executable, "-c", APPEND, path, name], env=ENVIRONMENT) for name in "ab"]
    assert [writer.wait(600) for writer in writers] == [0, 0]
    records = read_lines(path)
    for name in "ab":
        assert [record["number"] for record in records if record["writer"] == name] == list(range(100))
    assert Path(f"{path}.torn").read_text() == '{"torn\n'


def test_a_line_that_another_process_left_torn_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    append_line(path, '{"key": 1}')
    with path.open("a") as file:
        file.write('{"key": 2, "text": "' + "x" * 10_000)  # killed here
    assert read_lines(path) == [{"key": 1}]
    append_line(path, '{"key": 3}')
    assert read_lines(path) == [{"key": 1}, {"key": 3}]


@pytest.mark.skipif(os.name == "nt", reason="folders are locked on POSIX systems")
def test_two_fits_with_one_folder_of_checkpoints_are_refused(tmp_path: Path) -> None:
    fit = DTSemNetClassifier(**QUICK, checkpoint=tmp_path).fit
    with own_folder(tmp_path, busy=""), pytest.raises(BlockingIOError, match="is used by another fit"):
        fit(*load_iris(return_X_y=True))
    fit(*load_iris(return_X_y=True))


def test_a_file_in_place_of_the_folder_of_checkpoints_is_a_value_error_that_names_the_argument(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("mine")
    with pytest.raises(ValueError, match="checkpoint must be the path of a folder, or None, got"):
        DTSemNetClassifier(**QUICK, checkpoint=path).fit(*load_iris(return_X_y=True))
    assert path.read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="folders are locked on POSIX systems")
def test_temporary_files_that_a_kill_left_are_gone_after_the_next_run(tmp_path: Path, monkeypatch) -> None:
    with monkeypatch.context() as patch:  # a kill removes nothing
        patch.setattr(os, "replace", lambda *_: os._exit(9))
        for name in ("start-0.npz", "a name that is " + "long " * 20 + ".npz"):
            process = os.fork()
            if process == 0:
                write_atomically(tmp_path / name, "half")
            os.waitpid(process, 0)
    (tmp_path / "notes.tmp").write_text("of the user")
    assert len(leftovers(tmp_path)) == 3
    DTSemNetClassifier(**QUICK, checkpoint=tmp_path).fit(*load_iris(return_X_y=True))
    assert leftovers(tmp_path) == ["notes.tmp"]


def test_a_clock_that_runs_backwards_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_iris(return_X_y=True)
    whole = DTSemNetClassifier(**QUICK).fit(*data)
    ticks = itertools.count(2_000_000_000, -3600)
    monkeypatch.setattr(time, "time", lambda: float(next(ticks)))
    monkeypatch.setattr(time, "time_ns", lambda: next(ticks) * 10**9)
    assert DTSemNetClassifier(**QUICK, checkpoint=tmp_path).fit(*data).tree_ == whole.tree_
    assert DTSemNetClassifier(**QUICK, checkpoint=tmp_path).fit(*data).tree_ == whole.tree_


def test_the_newest_record_is_the_last_whatever_the_clock_said(tmp_path: Path) -> None:
    records = pytest.importorskip("dtsemnet_paper.records", reason="the workshop is not installed")
    path = tmp_path / "records.jsonl"
    for date in ("2030-01-01", "1970-01-01"):
        append_line(path, json.dumps({"key": "a", "date": date}))
    assert records.find_record(path, "a")["date"] == "1970-01-01"
