"""Means, ranks, wins and ties over sets, by hand, and a table of CSV files from end to end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.conftest import flora
from dtsemnet.cli import main
from dtsemnet_paper.bench.data import load_data
from dtsemnet_paper.bench.methods import METHODS
from dtsemnet_paper.bench.overall import overall
from dtsemnet_paper.bench.render import to_grids, to_markdown
from dtsemnet_paper.bench.report import report
from dtsemnet_paper.bench.runs import MethodRun, execute
from dtsemnet_paper.bench.selection import Selection
from dtsemnet_paper.bench.splits import split_rows
from dtsemnet_paper.bench.summary import Summary, summarise
from dtsemnet_paper.bench.tables import Table, read_table
from dtsemnet_paper.records import read_records

PAPER = Path(__file__).parents[3] / "paper"
RIVALS = ["cart-tuned", "tao-chosen", "linear", "forest", "boosting"]


def filled(name: str, values: dict[str, dict[str, list[dict[str, Any]]]]) -> Summary:
    """A table of the folder paper, cut to three sets, with these values by method, set and seed."""
    table = read_table(name, folder=PAPER)
    table = replace(table, sets=[s for s in table.sets if any(s in sets for sets in values.values())])
    records = []
    for method, sets in values.items():
        for set_, seeds in sets.items():
            for seed, found in enumerate(seeds):
                run = MethodRun(method, set_, seed, "whole")
                records.append({"key": run.key, **run.request, "error": None, "leaves_used": None, **found})
    return summarise(table, records)


def classes(tests: list[float], seconds: float, auc: float | None = None) -> list[dict[str, Any]]:
    return [
        {"train": 99.0, "test": test, "log_loss": 0.5, "brier": 0.2, "auc": auc, "leaves": None, "cpu_seconds": seconds}
        for test in tests
    ]


def test_means_ranks_and_ties_by_hand() -> None:
    summary = filled(
        "tables-classes",
        {
            "cart-tuned": {
                "saheart": classes([80.0, 82.0], 1.0, auc=0.8),
                "crx": classes([90.0], 4.0, auc=0.6),
                "tae": classes([70.0], 2.0),
            },
            "linear": {
                "saheart": classes([81.3], 1.0, auc=0.9),  # on seed 0, which both have, 1.3 points more: a win
                "crx": classes([89.7], 1.0, auc=0.7),  # 0.3 points less: a tie
                "tae": classes([69.6], 27.0),  # 0.4 points less: a loss
            },
        },
    )
    first, second = overall(summary).items()
    assert [column.label for column in summary.columns] == [first[0].label, second[0].label] == ["cart-tuned", "linear"]
    assert first[1].means["test"] == pytest.approx((80 + 90 + 70) / 3)
    assert second[1].means["test"] == pytest.approx((81.3 + 89.7 + 69.6) / 3)
    assert second[1].means["auc"] == pytest.approx(0.8), "over the sets with two classes"
    assert (first[1].means["seconds"], second[1].means["seconds"]) == (pytest.approx(2.0), pytest.approx(3.0))
    assert "leaves" not in first[1].means
    assert first[1].rank == pytest.approx(4 / 3)  # first on two sets, second on one
    assert second[1].rank == pytest.approx(5 / 3)
    assert second[1][2:] == (1, 1, 1)
    text = to_markdown(summary)
    assert "| linear | 80.2 | 0.500 | 0.200 | 0.800 | - | - | - | 3.00 | 1.67 | 1, 1, 1 |" in text
    assert to_grids(summary, 120)[-1].row_count == 2


def test_ties_of_numbers_are_points_of_r2() -> None:
    def numbers(rmse: float, r2: float) -> list[dict[str, Any]]:
        return [{"train": 0.0, "test": rmse, "r2": r2, "cpu_seconds": 1.0}]

    summary = filled(
        "tables-numbers",
        {
            "cart-tuned": {"stock": numbers(2.0, 0.8), "servo": numbers(1.0, 0.9), "housing": numbers(5.0, 0.5)},
            "linear": {"stock": numbers(1.9, 0.803), "servo": numbers(0.9, 0.92), "housing": numbers(5.9, 0.3)},
        },
    )
    found = list(overall(summary).values())
    assert found[1][2:] == (1, 1, 1)
    assert [it.rank for it in found] == [pytest.approx(5 / 3), pytest.approx(4 / 3)]  # by the error itself
    assert found[1].means["r2"] == pytest.approx((0.803 + 0.92 + 0.3) / 3)


def test_one_method_is_not_compared() -> None:
    summary = filled("tables-classes", {"linear": {"saheart": classes([80.0], 1.0)}})
    assert overall(summary) == {}
    assert "Means over" not in to_markdown(summary)


def test_errors_have_no_mean_without_r2(csv_paper: Path) -> None:
    path = csv_paper / "rivers.toml"
    path.write_text(path.read_text().replace("'r2', ", ""))
    with pytest.raises(ValueError, match=r"means in .* must hold 'r2'"):
        read_table("rivers", folder=csv_paper)
    path.write_text(path.read_text().replace("'leaves'", "'weight'"))
    with pytest.raises(ValueError, match=r"means in .* got 'weight'"):
        read_table("rivers", folder=csv_paper)


@pytest.mark.parametrize(
    ("method", "name"),
    [(method, name) for method in RIVALS for name in ("flora", "rivers")]
    + [("cubist", "rivers")]
    + [pytest.param("dgt-chosen", name, marks=pytest.mark.slow) for name in ("flora", "rivers")],
)
def test_every_rival_reads_categories_and_gaps(csv_paper: Path, method: str, name: str) -> None:
    table = read_table(name, folder=csv_paper)
    record = execute(MethodRun(method, name, 0, "whole"), table.catalogue()[name])
    assert record["error"] is None, record["traceback"]
    json.dumps(record, allow_nan=False)
    assert record["validation"] is None
    assert record["rows"]["validation"] == 0
    if name == "flora":
        assert record["test"] > 70
        assert record["log_loss"] > 0
        assert record["auc"] is None
    else:
        assert record["r2"] > 0.7
    has_splits = method in ("cart-tuned", "tao-chosen", "dgt-chosen") and record["leaves"] > 1
    assert (record["columns"] is not None) == has_splits


def test_first_gap_of_a_column_may_come_in_the_test_rows(csv_paper: Path) -> None:
    spec = read_table("flora", folder=csv_paper).catalogue()["flora"]
    data = load_data(spec)
    assert data.X["width"].isna().sum() == 1
    seed = next(seed for seed in range(20) if 3 in split_rows(data, seed).test)
    for method in RIVALS:
        assert execute(MethodRun(method, "flora", seed, "whole"), spec)["error"] is None


def test_ours_reads_the_frame_itself(csv_paper: Path) -> None:
    spec = read_table("rivers", folder=csv_paper).catalogue()["rivers"]
    record = execute(MethodRun("dtsemnet", "rivers", 0, "whole", {"max_depth": 2, "n_init": 1}), spec)
    assert record["error"] is None, record["traceback"]
    assert 1 <= record["columns"] <= 3
    assert METHODS["dtsemnet"].reads_frames
    assert not any(METHODS[name].reads_frames for name in RIVALS)


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["bench", *words])
    out, err = capsys.readouterr()
    assert stop.value.code == 0, err
    return out, err


def test_table_of_csv_files_runs_resumes_and_is_reported(csv_paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("table", "flora", "--folder", str(csv_paper), "--methods", "linear,cart-tuned", "--quiet")
    assert "## flora" not in report(csv_paper), "a table without records or published values is left out"
    call(capsys, *words, "--seeds", "1")
    path = csv_paper / "results" / "flora.jsonl"
    first = read_records(path)
    assert [r["method"] for r in first] == ["linear", "cart-tuned"]
    out, err = call(capsys, *words, "--json")
    assert "4 runs, 2 of them recorded" in err
    assert read_records(path)[:2] == first
    assert len(read_records(path)) == 4
    shown = json.loads(out)
    assert list(shown["overall"]) == list(shown["statistics"]["ranks"]) == ["linear", "cart-tuned"]
    tests = [r["test"] for r in read_records(path) if r["method"] == "linear"]
    assert shown["overall"]["linear"]["means"]["test"] == pytest.approx(np.mean(tests))
    assert shown["sets"]["flora"]["cart-tuned"]["ours"]["columns"]["mean"] == 1.0
    text = report(csv_paper)
    assert "## flora" in text
    assert "Means over the 1 sets that all have:" in text


def test_without_the_variable_the_table_names_the_way_out(
    csv_paper: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DTSEMNET_TABLES")
    out, err = call(capsys, "table", "flora", "--folder", str(csv_paper))
    assert "no data set of this table is here" in err
    assert "put NAME.csv (a header line, the column target last)" in " ".join(out.split())
    assert "flora: the environment variable DTSEMNET_TABLES is not set; source: a meadow" in " ".join(out.split())


def test_records_of_a_changed_table_have_another_fingerprint(csv_paper: Path, tmp_path: Path) -> None:
    table: Table = read_table("flora", folder=csv_paper)
    selection = Selection(table, methods=["linear"], seeds=1)
    (record,) = selection.run_missing(selection.runs())
    assert record["data"] == load_data(table.catalogue()["flora"]).fingerprint
    flora()[::-1].to_csv(tmp_path / "tables" / "flora.csv", index=False)
    assert record["data"] != load_data(table.catalogue()["flora"]).fingerprint
