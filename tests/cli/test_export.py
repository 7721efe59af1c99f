"""export: the tree in other languages, checked before it is written."""

from __future__ import annotations

import importlib.util
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from cli.conftest import Run
from dtsemnet.cli.export import FORMS
from dtsemnet.export import artefact, to_python
from dtsemnet.tree import read


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["wine", "bare"])
def test_every_form_is_written_and_checked(form: str, name: str, run: Run) -> None:
    figures = run("export", f"@{name}.json", "--to", form, "--out", "tree.out", "--json").json()
    assert figures["bytes"] == Path("tree.out").stat().st_size > 0
    assert figures["form"] == form
    assert "--force" in run("export", f"@{name}.json", "--to", form, "--out", "tree.out", code=1).stderr


def test_export_is_that_of_the_library(run: Run, prepared: Path) -> None:
    done = run("export", "@people.json", "--to", "python")
    assert done.stdout == to_python(read(prepared / "people.json")).text
    assert done.stderr.startswith("note: agrees on ")


def test_python_export_predicts_alike(run: Run, prepared: Path) -> None:
    run("export", "@wine.json", "--to", "python", "--out", "tree.py")
    spec = importlib.util.spec_from_file_location("tree", "tree.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table = pd.read_csv(prepared / "wine.csv").drop(columns="cultivar")
    expected = read(prepared / "wine.json").predict(table)
    assert [module.predict(row) for row in table.to_numpy().tolist()] == expected.tolist()


def test_name_begins_names_in_c_and_is_the_table_in_sql(run: Run) -> None:
    assert "int pump_predict_class(" in run("export", "@bare.json", "--to", "c", "--name", "pump").stdout
    sql = run("export", "@bare.json", "--to", "sql", "--name", "pumps").stdout
    database = sqlite3.connect(":memory:")
    database.executescript("create table pumps (a real, b real); insert into pumps values (1.0, 0.0), (0.0, 2.0)")
    answers = [row[-1] for row in database.execute(f"select {sql} from pumps")]
    assert answers == ["yes", "no"]


def test_an_export_that_disagrees_is_not_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise artefact.ExportError("Python disagrees with the tree")

    monkeypatch.setattr(artefact, "check_export", refuse)
    assert "disagrees" in run("export", "@wine.json", "--to", "python", "--out", "tree.py", code=1).stderr
    assert not Path("tree.py").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--to", "dot", "--name", "x"], "--name is for C and SQL"),
        (["--to", "cobol"], "'cobol' is not one of 'c', 'c-float', 'python'"),
        (["--to", "c", "--json"], "--json needs --out"),
    ],
)
def test_exports_that_are_refused(words: list[str], reason: str, run: Run) -> None:
    shown = " ".join(run("export", "@wine.json", *words, code=2).stderr.replace("│", " ").split())
    assert reason in shown


def test_rows_beyond_the_first_are_compared_too(run: Run, prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("export", "@wine.json", "--to", "python", "--data", "@wine.csv", "--out")
    whole = run(*words, "whole.py", "--json").json()["check"]
    monkeypatch.setattr(importlib.import_module("dtsemnet.cli.export"), "FIRST_ROWS", 10)
    again = run(*words, "again.py", "--json").json()["check"]
    count = [int(text.split()[2].replace(",", "")) for text in (whole, again)]
    assert count[1] >= 178 + 300
    assert abs(count[1] - count[0]) < 100  # probes begin at other rows
    assert Path("whole.py").read_text() == Path("again.py").read_text()


def test_a_network_of_categories_is_refused_with_the_form_that_holds_them(run: Run) -> None:
    message = run("export", "@people.json", "--to", "onnx-network", "--out", "tree.onnx", code=1).stderr
    assert "onnx-network holds numbers that are scaled" in message
    assert "use --to onnx" in message
    assert not Path("tree.onnx").exists()
