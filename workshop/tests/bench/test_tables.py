"""Tables: filled by hand, as a report, and those of the paper."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from dtsemnet_paper.bench.methods import METHODS, MissingMethod, find_method
from dtsemnet_paper.bench.render import remarks, to_grids, to_markdown
from dtsemnet_paper.bench.report import agreement, report
from dtsemnet_paper.bench.selection import Selection
from dtsemnet_paper.bench.summary import summarise
from dtsemnet_paper.bench.tables import Table, find_tables, read_table

PAPER = Path(__file__).parents[3] / "paper"
TREE = "sklearn.tree:DecisionTreeClassifier"


def test_table_wider_than_the_terminal_comes_in_parts(paper: Path) -> None:
    summary = read_table("small", folder=paper)
    filled = summarise(summary, [made("dtsemnet", "iris", 0, 90, summary), made(TREE, "iris", 0, 92, summary)])
    wide, narrow = to_grids(filled, 200), to_grids(filled, 50)
    assert [len(grid.columns) for grid in wide] == [3]
    assert [grid.columns[1].header for grid in narrow] == ["dtsemnet", TREE]


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
    for run in table.runs(seeds=1) if table.height or table.published else ():
        assert run.method in table.unbounded or 2 <= run.configuration["max_depth"] <= 10


def test_paper_has_its_seven_tables() -> None:
    assert set(find_tables(PAPER)) >= {"regression-1", "regression-2", "concise", "dense", "time", "gap", "ant"}


@pytest.mark.parametrize("name", find_tables(PAPER))
def test_tables_read_records_that_are_there(name: str) -> None:
    table = read_table(name, folder=PAPER)
    assert all((PAPER / "results" / f"{other}.jsonl").is_file() for other in table.reads)


def test_a_table_reads_tables_and_not_their_files(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text("title = 'x'\nscore = 'accuracy'\nsets = ['iris']\nmethods = ['cart']\nreads = ['dense.jsonl']\n")
    with pytest.raises(ValueError, match=r"'dense\.jsonl' must lose"):
        read_table("small", folder=tmp_path)


def test_method_that_is_not_installed_says_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importlib.sys.modules, "cubist", None)
    with pytest.raises(MissingMethod, match="pip install cubist"):
        find_method("cubist").load("regression")
