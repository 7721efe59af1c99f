"""A stranger's journeys: one table each, from its file through every verb; exit codes, messages and scores."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from dtsemnet.cli import app
from journeys.tables import JOURNEYS, Journey

QUICK = ("--n-init", "1", "--epochs", "40", "--depth", "2")
FORMS = ("python", "sql", "text", "numpy", "json")
"""Each journey is exported to one of them."""


def run(*words: object, code: int = 0) -> Any:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == code, (words, done.stdout, done.stderr, done.exception)
    return done


def test_there_are_tables_enough() -> None:
    assert len({journey.file for journey in JOURNEYS}) == len(JOURNEYS) >= 25


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.file)
def test_a_stranger_succeeds_at_the_first_try(
    journey: Journey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    journey.write(journey.table(), Path(journey.file))
    data, reading = journey.file, journey.reading
    done = run("fit", data, "--target", journey.target, *QUICK, *journey.options, *reading, "--json")
    figures = json.loads(done.stdout)
    for pattern in journey.notes:
        assert re.search(pattern, " ".join(done.stderr.split())), (pattern, done.stderr)
    for name, fate in journey.fates:
        assert figures["fate of columns"][name].startswith(fate)
    score = figures["dtsemnet"]["test"]
    assert score.get("accuracy", score.get("R2")) >= journey.least, score

    # The same rows give the same answers, whether many are read or one: the model file says how texts are read.
    weighed = journey.options[journey.options.index("--weight") :][:2] if "--weight" in journey.options else ()
    scored = json.loads(run("evaluate", "model.json", data, *reading, *weighed, "--leaves", "--json").stdout)
    whole = json.loads(run("predict", "model.json", data, *reading, "--leaf", "--json").stdout)
    assert len(whole) == scored["rows"] == sum(line["rows"] for line in scored["leaves"])
    if Path(data).suffix in (".csv", ".tsv") and not {"--no-header", "--encoding"} & set(reading) and "16" not in data:
        encoding = "cp1252" if data == "forbes.csv" else "utf-8"
        lines = Path(data).read_text(encoding).splitlines(keepends=True)
        Path("one.csv").write_text(lines[0] + lines[4], encoding)
        (alone,) = json.loads(run("predict", "model.json", "one.csv", *reading, "--leaf", "--json").stdout)
        assert alone == whole[3]

    shown = run("show", "model.json", "--data", data, *reading).stdout
    assert all(f"leaf {line['leaf']}: " in shown for line in scored["leaves"])
    explained = run("explain", "model.json", data, "--row", 2, *reading).stdout
    assert f"(leaf {whole[2]['leaf']})" in explained
    if figures["task"] == "regression":
        assert explained.startswith(f"{journey.target}: ")
        assert f"{journey.target} = " in shown
    run("explore", "model.json", "--data", data, "--out", "page.html", *reading)
    assert "trained on" in Path("page.html").read_text("utf-8")
    form = FORMS[JOURNEYS.index(journey) % len(FORMS)]
    exported = run("export", "model.json", "--to", form, "--out", "tree.out", "--data", data, *reading).stdout
    assert "tree.out" in exported
    assert form == "text" or re.search(r"agrees on [\d,]+ rows", exported)
    proved = json.loads(run("verify", "model.json", "--data", data, "--json", *reading).stdout)
    assert {line["leaf"] for line in scored["leaves"] if line["rows"]} <= set(proved["leaves"]["reachable"])
    if figures["task"] == "regression":
        assert [line["output"] for line in proved["outputs"]] == [journey.target]


def test_an_export_says_that_it_reads_numbers_and_parts_of_dates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    journey = next(journey for journey in JOURNEYS if journey.file == "verkauf.csv")
    journey.write(journey.table(), Path(journey.file))
    run("fit", journey.file, "--target", journey.target, *QUICK, "--date", "day=month", "--drop", "units")
    done = run("export", "model.json", "--to", "python")
    assert "note: the export reads 'day month' in place of 'day'." in done.stderr


def odd_ways() -> list[tuple[str, str]]:
    """Files that hold the same table, and the plain one."""
    return [
        ("pinguine.csv", "penguins.csv"), ("penguins.xlsx", "penguins.csv"), ("penguins.feather", "penguins.csv"),
        ("penguins.jsonl", "penguins.csv"), ("penguins.zip", "penguins.csv"), ("penguins16.csv", "penguins.csv"),
        ("diamanten.csv", "diamonds.csv"), ("diamonds-dollar.csv", "diamonds.csv"),
    ]  # fmt: skip


@pytest.mark.parametrize(("odd", "plain"), odd_ways())
def test_the_way_a_table_is_written_does_not_change_its_tree(
    odd: str, plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    by_file = {journey.file: journey for journey in JOURNEYS}
    prints = []
    for name in (odd, plain):
        journey = by_file[name]
        journey.write(journey.table(), Path(name))
        out = f"{Path(name).stem}-{Path(name).suffix[1:]}.json"
        run("fit", name, "--target", journey.target, "--n-init", 1, "--epochs", 3, "--depth", 1, "--out", out, "--json")
        prints.append(json.loads(run("info", out, "--json").stdout)["fingerprint"])
    assert prints[0] == prints[1]


def test_a_model_of_decimal_commas_reads_the_same_table_from_a_spreadsheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    journey = next(journey for journey in JOURNEYS if journey.file == "pinguine.csv")
    table = journey.table()
    journey.write(table, Path(journey.file))
    run("fit", journey.file, "--target", journey.target, *QUICK)
    wanted = run("predict", "model.json", journey.file).stdout
    table.to_excel("rows.xlsx", index=False)
    table.to_feather("rows.feather")
    table.to_json("rows.jsonl", orient="records", lines=True)
    for name in ("rows.xlsx", "rows.feather", "rows.jsonl"):
        assert run("predict", "model.json", name).stdout == wanted
    run("fit", journey.file, "--target", journey.target, *QUICK, "--test", "rows.xlsx", "--force")
    table.to_csv("points.csv", index=False)
    assert "--decimal" in run("predict", "model.json", "points.csv", code=1).stderr
    assert run("predict", "model.json", "points.csv", "--decimal", ".").stdout == wanted


@pytest.mark.parametrize(
    ("table", "words", "message"),
    [
        ({"a": ["3,750", "4,125"] * 20, "y": [0, 1] * 20}, (), "'3,750' may be 3750 or 3.750; say which by --decimal"),
        (
            {"a": [f"{k}.5" for k in range(39)] + ["x"], "y": [0, 1] * 20},
            (),
            "'x' in row 39; .*--na x; .*--categorical a",
        ),
        ({"d": ["3/4/2024", "5/6/2024"] * 20, "y": [0, 1] * 20}, ("--date", "d"), "add --day-first or --month-first"),
        ({"a": range(40), "y": [0, 1] * 20}, ("--weight", "w"), "--weight 'w' is no column of the table"),
        (
            {"a": range(40), "y": [f"{1 + k % 28:02}.{1 + k % 12:02}.2024" for k in range(40)]},
            (),
            "turn dates into numbers in the file, such as the days since one of them",
        ),
        ({"y": [0, 1] * 20}, (), "no column is left to predict from: the table has no other than the target."),
        (
            {"a": range(40), "y": [0, 1] * 20},
            ("--drop", "a"),
            "no other than the target and those of --drop",
        ),
        (
            {"a": range(40), "y": [k + 0.5 for k in range(40)]},
            ("--task", "classification"),
            "looks like a quantity: leave out --task classification",
        ),
    ],
)
def test_what_a_table_does_not_say_is_asked_with_the_option_that_settles_it(
    table: dict[str, Any], words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({name: list(values) for name, values in table.items()})
    frame.to_csv("t.csv", index=False, sep=";")
    done = run("fit", "t.csv", "--target", "y", *QUICK, *words, code=1)
    assert re.search(message, " ".join(done.stderr.split())), done.stderr
    assert not Path("model.json").exists()
