"""plot, explore and export: files that others open."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import webbrowser
from pathlib import Path

import pandas as pd
import pytest

from cli.conftest import Run
from dtsemnet.cli.export import FORMS
from dtsemnet.cli.plot import PICTURES
from dtsemnet.export import check, to_python
from dtsemnet.tree import read


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize(("name", "table"), [("people", "people"), ("bare", "ab")])
def test_pictures(picture: str, name: str, table: str, run: Run) -> None:
    done = run("plot", f"@{name}.json", picture, "--data", f"@{table}.csv", "--out", "figure.png")
    content = Path("figure.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 2000
    assert done.stdout.startswith("Picture written to figure.png (")
    assert "--force" in run("plot", f"@{name}.json", picture, "--out", "figure.png", code=1).stderr


def test_path_of_a_row_changes_the_picture(run: Run) -> None:
    for out, words in (("all.svg", []), ("row.svg", ["--row", 3])):
        run("plot", "@wine.json", "tree", "--data", "@wine.csv", "--out", out, *words)
    assert Path("all.svg").read_text().count("<path") > 0
    assert Path("all.svg").read_bytes() != Path("row.svg").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["tree", "--out", "tree.gif"], 2, "--out must end in .png"),
        (["forest", "--out", "x.png"], 2, "'forest' is not one of 'tree', 'regions', 'leaves', 'importance'"),
        (["tree", "--row", "3", "--out", "x.png"], 1, "add --data FILE"),
        (["leaves", "--out", "x.png"], 1, "add --data FILE"),
        (["tree", "--row", "178", "--data", "@wine.csv", "--out", "x.png"], 1, "rows 0 to 177"),
    ],
)
def test_pictures_that_are_refused(words: list[str], code: int, reason: str, run: Run) -> None:
    shown = " ".join(run("plot", "@wine.json", *words, code=code).stderr.replace("│", " ").split())
    assert reason in shown
    assert os.listdir() == []


def test_page_holds_rows_only_where_a_table_is_named(run: Run) -> None:
    run("explore", "@people.json", "--out", "bare.html")
    run("explore", "@people.json", "--data", "@people.csv", "--out", "full.html", "--title", "A <b>title</b>")
    bare, full = (Path(name).read_text("utf-8") for name in ("bare.html", "full.html"))
    assert bare.startswith("<!doctype html>")
    assert len(full) > len(bare) + 1000
    assert "<title>people" in bare
    assert "<b>title</b>" not in full


def test_page_opens_on_demand(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    run("explore", "@bare.json", "--out", "page.html")
    assert opened == []
    run("explore", "@bare.json", "--out", "page.html", "--force", "--open")
    assert opened == [Path("page.html").resolve().as_uri()]


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
        raise check.ExportError("Python disagrees with the tree")

    monkeypatch.setattr(check, "check_export", refuse)
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
