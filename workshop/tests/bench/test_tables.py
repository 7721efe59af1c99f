"""A small table from end to end, as the command runs it, and the tables of the paper."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from dtsemnet.cli import main
from dtsemnet_paper.bench.methods import METHODS, MissingMethod, find_method
from dtsemnet_paper.bench.render import remarks, to_grids, to_markdown
from dtsemnet_paper.bench.report import agreement, report
from dtsemnet_paper.bench.selection import Selection
from dtsemnet_paper.bench.summary import summarise
from dtsemnet_paper.bench.tables import Table, find_tables, read_table
from dtsemnet_paper.records import read_records

PAPER = Path(__file__).parents[3] / "paper"
TREE = "sklearn.tree:DecisionTreeClassifier"


def call(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["bench", *words])
    out, err = capsys.readouterr()
    assert stop.value.code == code, err
    return out, err


def test_table_end_to_end(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("table", "small", "--folder", str(paper), "--seeds", "2", "--offline", "--quiet")
    out, err = call(capsys, *words, "--json")
    shown = json.loads(out)
    records = read_records(paper / "results" / "small.jsonl")
    assert len(records) == 8  # two methods, two sets that are here, two seeds
    tests = [r["test"] for r in records if (r["method"], r["set"]) == ("dtsemnet", "iris")]
    assert shown["sets"]["iris"]["dtsemnet"]["ours"]["test"]["mean"] == pytest.approx(np.mean(tests))
    assert shown["sets"]["iris"]["dtsemnet"]["ours"]["test"]["sd"] == pytest.approx(np.std(tests))
    assert shown["sets"]["iris"]["dtsemnet"]["published"]["test"]["mean"] == 96.0
    assert shown["sets"]["nowhere"]["dtsemnet"]["ours"] == {}
    assert list(shown["missing"]) == ["nowhere"]
    assert "a shelf" in shown["missing"]["nowhere"]
    out, err = call(capsys, *words)
    assert "8 runs, 8 of them recorded" in err
    assert len(read_records(paper / "results" / "small.jsonl")) == 8
    assert "96.0 ± 2.0 (2)" in out
    assert "no data" in out


def test_without_data_the_table_says_what_is_missing(
    paper: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DTSEMNET_DATA")
    out, err = call(capsys, "table", "small", "--folder", str(paper), "--offline")
    assert "no data set of this table is here" in err
    assert "DTSEMNET_DATA" in out
    assert "a shelf" in out
    assert not (paper / "results" / "small.jsonl").exists()


def test_both_protocols_stand_side_by_side(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--folder", str(paper), "--sets", "iris", "--methods", TREE, "--protocol", "both", "--offline", "--quiet")
    out, _ = call(capsys, "table", "small", "--seeds", "1", *words, "--json")
    cells = json.loads(out)["sets"]["iris"]
    assert set(cells) == {TREE, f"{TREE} (honest)"}
    assert cells[TREE]["height"] == "2"
    assert cells[f"{TREE} (honest)"]["height"] in "12"


def test_table_wider_than_the_terminal_comes_in_parts(paper: Path) -> None:
    summary = read_table("small", folder=paper)
    filled = summarise(summary, [made("dtsemnet", "iris", 0, 90, summary), made(TREE, "iris", 0, 92, summary)])
    wide, narrow = to_grids(filled, 200), to_grids(filled, 50)
    assert [len(grid.columns) for grid in wide] == [3]
    assert [grid.columns[1].header for grid in narrow] == ["dtsemnet", TREE]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("table", "absent"), "there is no table"),
        (("table", "small", "--sets", "roses"), "none of the sets"),
        (("table", "small", "--methods", "magic"), "no method 'magic'"),
        (("table", "small", "--seeds", "0"), "at least 1"),
    ],
)
def test_wrong_wish_is_told(paper: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str) -> None:
    _, err = call(capsys, *words, "--folder", str(paper), code=1)
    assert told in " ".join(err.split())


@pytest.mark.parametrize(
    "words",
    [
        ("table",),
        ("dance",),
        ("table", "small", "--protocol", "guess"),
        ("list", "--seeds", "3"),
        ("list", "--protocol", "nonsense"),
        ("list", "--methods", "banana"),
        ("list", "concise"),
        ("report", "--jobs", "2"),
        ("figure", "rise", "--seeds", "2"),
    ],
)
def test_wrong_command_line_is_told(paper: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    call(capsys, *words, "--folder", str(paper), code=2)


def test_list_names_tables_sets_and_methods(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = call(capsys, "list", "--folder", str(paper))
    for word in ("small", "iris", "tumours", "nowhere", "a shelf", "dtsemnet-ste"):
        assert word in out


def made(method: str, name: str, seed: int, test: float, table: Table, **more: object) -> dict[str, object]:
    run = table._run(method, name, seed, "paper")
    record = {"key": run.key, **run.request, "error": None, "train": test + 1, "validation": test, "test": test}
    return record | {"cpu_seconds": 2.0, "leaves_used": 3, "score": "accuracy", "chosen": {}} | more


def test_summary_by_hand(paper: Path) -> None:
    table = read_table("small", folder=paper)
    scores = {("dtsemnet", "iris"): (90, 94), ("dtsemnet", "tumours"): (80, 80)}
    scores |= {(TREE, "iris"): (92, 92), (TREE, "tumours"): (60, 100)}
    records = [made(m, s, seed, v, table) for (m, s), values in scores.items() for seed, v in enumerate(values)]
    records.append(made("dtsemnet", "iris", 2, 0.0, table, error="ValueError: no"))
    records.append({**records[0], "key": "0" * 16, "configuration": {"max_depth": 9}, "test": 1.0})
    summary = summarise(table, records)
    ours, tree = summary.columns
    cell = summary.cells["iris", ours]
    assert (cell.ours["test"].mean, cell.ours["test"].sd, cell.ours["test"].n) == (92.0, 2.0, 2)
    assert cell.failed == 1
    assert cell.verdict == "agrees"  # 92 lies within 2 * 2.0 of 96
    assert summary.shared == ("iris", "tumours")
    assert summary.distance == {ours: 0.0, tree: 0.0}
    assert summary.best("iris") == {ours, tree}
    assert any("1 runs failed" in line for line in remarks(summary))
    lines = to_markdown(summary).splitlines()
    assert lines[0] == f"| set | dtsemnet | published | {TREE} |"
    assert lines[2] == "| Iris | **92.0 ± 2.0 (2)** | 96.0 ± 2.0 (2) | **92.0 ± 0.0 (2)** |"
    found = agreement(summary)
    assert found == {"agrees": ["Iris, dtsemnet: 92.0 against 96.0"], "above": [], "below": []}


def test_report_holds_each_table_and_what_agrees(paper: Path) -> None:
    table = read_table("small", folder=paper)
    assert "no runs yet" in report(paper)
    selection = Selection(table, sets=["iris"], methods=["dtsemnet"], seeds=1)
    selection.run_missing(selection.runs())
    text = report(paper)
    assert "## Flowers and tumours" in text
    assert "of 1 published values agree" in text


@pytest.mark.parametrize("name", find_tables(PAPER))
def test_tables_of_the_paper_are_sound(name: str) -> None:
    table = read_table(name, folder=PAPER)
    assert set(table.catalogue()) == set(table.sets)
    tasks = {spec.task for spec in table.catalogue().values()}
    assert tasks == {"classification" if table.larger_is_better else "regression"}
    assert set(table.methods) <= set(METHODS)
    for method in table.published:
        assert set(table.published[method]) == set(table.sets), method
    for run in table.runs(seeds=1):
        assert run.method in table.unbounded or 2 <= run.configuration["max_depth"] <= 10


def test_paper_has_its_seven_tables() -> None:
    assert set(find_tables(PAPER)) >= {"regression-1", "regression-2", "concise", "dense", "time", "gap", "ant"}


def test_method_that_is_not_installed_says_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importlib.sys.modules, "cubist", None)
    with pytest.raises(MissingMethod, match="pip install cubist"):
        find_method("cubist").load("regression")
