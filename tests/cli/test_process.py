"""The command as a process of its own: streams, signals, what it must not import."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "dtsemnet"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}

WITHOUT_EXTRAS = """
import sys

class Absent:
    def find_spec(name, *_):
        if name in ("torch", "pandas", "pyarrow", "matplotlib", "onnx"):
            raise ModuleNotFoundError(f"{name} is an extra", name=name)

sys.meta_path.insert(0, Absent)
from dtsemnet.cli import app
for words in (["fit", "--n-init", "1", "--epochs", "20"], ["show", "model.json"], ["info", "model.json"]):
    app(words, standalone_mode=False)
sys.exit(app(["predict", "model.json", "x.csv"], standalone_mode=False))
"""


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, encoding="utf-8", timeout=900)


def test_streams_of_a_fit_without_a_terminal(tmp_path: Path, prepared: Path) -> None:
    words = ["fit", str(prepared / "people.csv"), "--target", "income", "--n-init", "1", "--epochs", "5", "--json"]
    done = run(*COMMAND, *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["task"] == "regression"
    remarks = ("note: ", "dtsemnet: compiling kernels")  # the latter once on a machine
    assert all(line.startswith(remarks) for line in done.stderr.splitlines())  # no bar, no warning
    assert "\x1b" not in done.stdout + done.stderr


def test_refusal_is_exit_code_1_without_a_traceback(tmp_path: Path) -> None:
    done = run(*COMMAND, "predict", "nowhere.json", "x.csv", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: model file 'nowhere.json' does not exist")
    assert "Traceback" not in done.stderr


def test_the_embedded_table_needs_the_base_package_alone(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    done = run(sys.executable, "-c", WITHOUT_EXTRAS, folder=tmp_path)
    assert "iris" in done.stdout
    assert "petal width" in done.stdout
    assert done.returncode == 1
    assert "pip install 'dtsemnet[data]'" in done.stderr


def test_verbs_load_nothing_heavy_until_they_run(tmp_path: Path) -> None:
    # The package itself is replaced by an empty one: what is measured is what the command line asks for.
    source = """
import sys, types, pathlib
import importlib.util
package = types.ModuleType("dtsemnet")
package.__path__ = [str(pathlib.Path(importlib.util.find_spec("dtsemnet").origin).parent)]
sys.modules["dtsemnet"] = package
from dtsemnet.cli import app
app(["--help"], standalone_mode=False)
print(sorted({"numpy", "numba", "sklearn", "pandas", "matplotlib", "scipy"} & set(sys.modules)))
"""
    done = run(sys.executable, "-c", source, folder=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_ctrl_c_in_a_long_fit_is_exit_code_130_and_leaves_nothing(tmp_path: Path, prepared: Path) -> None:
    words = ["fit", str(prepared / "people.csv"), "--target", "income", "--epochs", "10000000"]
    process: Any = subprocess.Popen(
        [*COMMAND, *words], cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    while "identifier" not in process.stderr.readline():  # the last remark before training
        assert process.poll() is None
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=900)
    assert (process.returncode, stdout) == (130, "")
    assert stderr == "error: interrupted; nothing was written.\n"
    assert list(tmp_path.iterdir()) == []
