"""verify in the language of network verification: answers on the terminal, and families of instances."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from cli.conftest import Run
from dtsemnet.tree import Topology, Tree
from dtsemnet.verify.vnnlib import answer_vnnlib, read_vnnlib

PROPERTY = """; does a row of the box get "yes"?
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(assert (>= X_0 0.0))
(assert (<= X_0 1.0))
(assert (>= X_1 {}))
(assert (<= X_1 4.0))
(assert (>= Y_1 Y_0))
"""


def test_the_answer_is_the_first_word_and_an_input_follows(run: Run) -> None:
    Path("p.vnnlib").write_text(PROPERTY.format(0), "utf-8")  # the tree says yes where a - b + 0.5 > 0
    shown = run("verify", "@bare.json", "--vnnlib", "p.vnnlib").stdout
    assert shown.startswith("sat\n((X_0 ")
    found = run("verify", "@bare.json", "--vnnlib", "p.vnnlib", "--json").json()
    assert found["x"][0] - found["x"][1] + 0.5 >= 0
    assert found["y"][1] >= found["y"][0]
    Path("p.vnnlib").write_text(PROPERTY.format(1.75), "utf-8")
    assert run("verify", "@bare.json", "--vnnlib", "p.vnnlib").stdout == "unsat\n"
    run("verify", "@bare.json", "--vnnlib", "p.vnnlib", "--out", "answer.txt")
    assert Path("answer.txt").read_text("utf-8") == "unsat\n"


def test_what_cannot_be_read_is_refused_by_file_and_line(run: Run) -> None:
    Path("p.vnnlib").write_text(PROPERTY.format("(< 1 2)"), "utf-8")
    assert "p.vnnlib: line 8: expected a term" in run("verify", "@bare.json", "--vnnlib", "p.vnnlib", code=1).stderr
    assert "is no file" in run("verify", "@bare.json", "--vnnlib", "absent.vnnlib", code=1).stderr
    Path("p.vnnlib").write_text(PROPERTY.format(0), "utf-8")
    assert "the model has" in run("verify", "@wine.json", "--vnnlib", "p.vnnlib", code=1).stderr


def test_instances_ask_what_the_command_would_answer(tmp_path: Path, run: Run) -> None:
    table = np.random.default_rng(0).uniform(0, 4, (6, 2))
    Path("rows.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in table), "utf-8")
    words = ("verify", "@bare.json", "--data", "rows.csv", "--epsilon", "0.4", "--never", "yes", "--time-limit", 30)
    done = run(*words, "--instances", "family")
    assert "7 instances written" in done.stdout
    with open("family/instances.csv", newline="", encoding="utf-8") as file:
        instances = list(csv.reader(file))
    assert {seconds for *_, seconds in instances} == {"30"}
    report = run(*words, "--json", code=1).json()
    answers = {}
    for onnx, path, _ in instances:
        session = onnxruntime.InferenceSession(Path("family", onnx).read_bytes(), providers=["CPUExecutionProvider"])
        tree = Tree(
            Topology.complete(1), [[1.0, -1.0]], [0.5], [[1, 0], [0, 1]], feature_names=["a", "b"],
            class_names=["no", "yes"],
        )  # fmt: skip
        question = read_vnnlib(Path("family", path))
        assert [session.get_inputs()[0].shape[1], session.get_outputs()[0].shape[1]] == [2, 2]
        found = answer_vnnlib(tree, question)
        answers[Path(path).stem] = found.status
        if found.status == "sat":
            (logits,) = session.run(None, {"X": np.array([found.x], dtype=np.float32)})
            assert logits[0] == pytest.approx(found.y, abs=1e-4)
    assert answers.pop("never_0") == "sat"
    (rows,) = report["robustness"]
    assert list(answers.values()).count("unsat") == rows["certified"]
    assert "not empty" in run(*words, "--instances", "family", code=1).stderr
    run(*words, "--instances", "family", "--force")
    nothing = run("verify", "@bare.json", "--box", "a=0:1", "--box", "b=0:1", "--instances", "other", code=1)
    assert "needs questions" in nothing.stderr
