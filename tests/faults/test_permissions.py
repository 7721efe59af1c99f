"""Folders that cannot be written, from the start or from some moment on: one error that names the file."""

from __future__ import annotations

import os
import tempfile

import pytest

from faults.failing import run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="rights of folders are those of POSIX")

AS_A_USER = """
import os, sys
from pathlib import Path
from sklearn.datasets import load_diabetes, load_iris
from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.json_lines import append_line
from dtsemnet.training import Callback, loop

folder = Path(sys.argv[1])
options = {"max_depth": 2, "max_iter": 6, "effort": 0, "n_init": 2, "random_state": 0}
kinds = [(DTSemNetClassifier, load_iris(return_X_y=True)), (DTSemNetRegressor, load_diabetes(return_X_y=True))]
whole = [kind(**options).fit(*data) for kind, data in kinds]
loop.CHECKPOINT_SECONDS = 0.0
for codec in ("cp437", "utf-32-le"):
    "".encode(codec)  # archives need them, and another user may not be able to import them
if os.geteuid() == 0:
    os.chown(folder, 65534, 65534)
    os.seteuid(65534)  # rights mean nothing to root

def refused(work, path):
    try:
        work()
    except PermissionError as error:
        assert error.filename == str(path), (error.filename, path)
    else:
        raise AssertionError(path)
"""

READ_ONLY = """
path = folder / "old.json"
whole[0].tree_.save(path)
append_line(folder / "records.jsonl", "{}")
before = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
folder.chmod(0o555)
refused(lambda: whole[1].tree_.save(path), path)
refused(lambda: whole[1].tree_.save(folder / "new.json"), folder / "new.json")
refused(lambda: append_line(folder / "new.jsonl", "{}"), folder / "new.jsonl")
for kind, data in kinds:
    refused(lambda: kind(**options, checkpoint=folder / "run").fit(*data), folder / "run")
    refused(lambda: kind(**options, checkpoint=folder).fit(*data), folder / "start-0.npz")
assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == before
"""

LOST = """
class Lose(Callback):
    n_epochs = 0
    def on_epoch(self, context):
        self.n_epochs += 1
        if self.n_epochs == 9:
            checkpoints.chmod(0o555)

def losing(kind):
    class Task(kind._task_class):
        def callbacks(self, rows):
            return [*super().callbacks(rows), lose]
    return type(kind.__name__, (kind,), {"_task_class": Task})

for number, (kind, data) in enumerate(kinds):
    checkpoints, lose = folder / str(number), Lose()
    estimator = losing(kind)(**options, checkpoint=checkpoints)
    refused(lambda: estimator.fit(*data), checkpoints / "start-1.npz")
    assert not hasattr(estimator, "tree_")
    assert sorted(entry.name for entry in checkpoints.iterdir()) == ["start-0.npz", "start-1.npz"]
    checkpoints.chmod(0o755)
    assert kind(**options, checkpoint=checkpoints).fit(*data).tree_ == whole[number].tree_
"""


def test_a_folder_without_rights_is_named() -> None:
    # Not tmp_path: other runs of pytest take the rights to its parents away from other users.
    with tempfile.TemporaryDirectory() as folder:
        parts = [f"folder = Path(sys.argv[1], {name!r}); folder.mkdir()" for name in ("read-only", "lost")]
        done = run("\n".join([AS_A_USER, parts[0], READ_ONLY, parts[1], LOST]), folder)
        assert done.returncode == 0, done.stderr
