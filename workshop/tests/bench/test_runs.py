"""Runs: what a method sees, what a record says, and what survives a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.spies import Spy
from dtsemnet.json_lines import mend
from dtsemnet_paper.bench.data import load_data
from dtsemnet_paper.bench.measures import score
from dtsemnet_paper.bench.runs import MethodRun, execute, run_all
from dtsemnet_paper.bench.selection import Selection
from dtsemnet_paper.bench.splits import split_rows
from dtsemnet_paper.bench.tables import Table, read_table
from dtsemnet_paper.records import read_records

SPY = "bench.spies:Spy"


@pytest.fixture
def table(paper: Path) -> Table:
    return read_table("small", folder=paper)


@pytest.fixture
def fitted() -> list[dict[str, object]]:
    Spy.fitted.clear()
    return Spy.fitted


def rows_of(*arrays: np.ndarray) -> set[bytes]:
    return {row.tobytes() for array in arrays for row in np.asarray(array, dtype=np.float64)}


@pytest.mark.parametrize("protocol", ["paper", "honest"])
def test_method_never_sees_a_test_row_before_the_last_choice(table: Table, fitted: list, protocol: str) -> None:
    spec = table.catalogue()["tumours"]
    data = load_data(spec)
    test = split_rows(data, 0).test
    record = execute(table._run(SPY, "tumours", 0, protocol), spec)
    assert record["error"] is None
    hidden = rows_of(data.X[test])
    runs = [fit for fit in fitted if len(fit["X"]) != 40]
    assert len(runs) == (1 if protocol == "paper" else 2)
    for fit in runs:
        assert not rows_of(fit["X"], fit["X_val"]) & hidden
    scored = [fit for fit in runs if any(rows_of(X) & hidden for X in fit["asked"])]
    assert len(scored) == 1, "test rows are scored for the chosen tree alone"
    for fit in runs:  # whatever is asked of a candidate before the choice is asked of validation rows
        first = fit["asked"][0]
        assert not rows_of(first) & hidden


def test_whole_protocol_fits_once_to_all_rows_but_the_test_rows(table: Table, fitted: list) -> None:
    spec = table.catalogue()["tumours"]
    data = load_data(spec)
    split = split_rows(data, 0)
    run = table._run(SPY, "tumours", 0, "whole")
    assert run.configuration == {"max_depth": 1}, "the height that the table names"
    assert not run.candidates
    record = execute(run, spec)
    assert record["error"] is None
    (fit,) = (fit for fit in fitted if len(fit["X"]) != 40)
    assert fit["X_val"] is None
    assert fit["y_val"] is None
    seen = np.sort(np.concatenate([split.train, split.validation]))
    np.testing.assert_array_equal(fit["X"], data.X[seen])
    np.testing.assert_array_equal(fit["y"], data.y[seen])
    assert not rows_of(fit["X"]) & rows_of(data.X[split.test])


def test_whole_protocol_is_a_run_of_its_own(table: Table) -> None:
    keys = {table._run("dtsemnet", "iris", 0, protocol).key for protocol in ("paper", "honest", "whole")}
    assert len(keys) == 3


def test_honest_protocol_keeps_the_candidate_that_is_best_on_validation_rows(table: Table, fitted: list) -> None:
    record = execute(table._run(SPY, "tumours", 0, "honest"), table.catalogue()["tumours"])
    runs = [fit for fit in fitted if len(fit["X"]) != 40]
    merits = {
        fit["model"].max_depth: score("classification", fit["y_val"], fit["model"].predict(fit["X_val"]))
        for fit in runs
    }
    assert merits[1] != merits[2]
    assert record["chosen"] == {"max_depth": max(merits, key=merits.__getitem__)}


def test_record_tells_scores_leaves_times_and_versions(table: Table) -> None:
    record = execute(table._run("dtsemnet", "iris", 3, "paper"), table.catalogue()["iris"])
    json.dumps(record, allow_nan=False)
    assert record["error"] is None
    assert record["rows"] == {"train": 75, "validation": 38, "test": 37}
    assert record["leaves"] == 4
    assert sum(record["leaf_rows"]) == 75
    assert record["leaves_used"] == len(record["leaf_rows"]) <= 4
    assert 80 < record["test"] <= 100
    assert record["test"] * 37 / 100 == pytest.approx(round(record["test"] * 37 / 100))
    assert record["cpu_seconds"] > 0
    assert record["wall_seconds"] > 0
    assert {"dtsemnet", "numpy", "scikit-learn", "python"} <= set(record["versions"])
    assert record["data"] == load_data(table.catalogue()["iris"]).fingerprint


def test_regression_error_is_in_scaled_units(paper: Path, table: Table) -> None:
    spec = Table("r", paper / "r.toml", "", "rmse", ["diabetes"], []).catalogue()["diabetes"]
    record = execute(MethodRun("sklearn.dummy:DummyRegressor", "diabetes", 0, "paper"), spec)
    data = load_data(spec)
    split = split_rows(data, 0)
    expected = np.sqrt(np.mean((data.y[split.test] - data.y[split.train].mean()) ** 2))
    assert record["test"] == pytest.approx(expected)


def test_a_method_may_have_a_file_of_its_own(table: Table) -> None:
    apart = replace(table, files={"bench.spies:Failing": "apart"})
    runs = [MethodRun(method, "iris", seed, "paper") for method in ("bench.spies:Failing", "cart") for seed in (0, 1)]
    selection = Selection(apart)
    assert len(selection.run_missing(runs)) == 4
    there = read_records(apart.method_files["bench.spies:Failing"])
    assert [(r["method"], r["seed"]) for r in there] == [("bench.spies:Failing", 0), ("bench.spies:Failing", 1)]
    assert [r["method"] for r in read_records(apart.results)] == ["cart", "cart"]
    assert {r["key"] for r in apart.records()} == {run.key for run in runs}
    assert selection.run_missing(runs) == []
    assert [r["seed"] for r in selection.run_missing(runs, retry=True)] == [1]


def test_failing_run_is_recorded_and_stops_no_other(table: Table) -> None:
    runs = table.runs(sets=["iris"], methods=["bench.spies:Failing"], seeds=4)
    runs = [MethodRun(r.method, r.set, r.seed, r.protocol) for r in runs]
    records = run_all(runs, table.catalogue(), table.results)
    assert [r["error"] for r in records] == [None, "ZeroDivisionError: odd seed"] * 2
    assert "odd seed" in records[1]["traceback"]
    assert run_all(runs, table.catalogue(), table.results) == []
    again = run_all(runs, table.catalogue(), table.results, retry=True)
    assert [r["seed"] for r in again] == [1, 3]


def test_runs_in_processes_give_the_records_of_one_process(table: Table, tmp_path: Path) -> None:
    runs = table.runs(sets=["iris", "tumours"], methods=["sklearn.tree:DecisionTreeClassifier"], seeds=3)
    alone = run_all(runs, table.catalogue(), tmp_path / "alone.jsonl")
    together = run_all(runs, table.catalogue(), tmp_path / "together.jsonl", n_jobs=2)
    assert [r["error"] for r in alone + together] == [None] * 12
    figures = [{r["key"]: (r["train"], r["validation"], r["test"]) for r in records} for records in (alone, together)]
    assert figures[0] == figures[1]
    assert len(figures[0]) == 6


def test_processes_of_an_earlier_call_look_for_data_where_this_call_does(
    table: Table, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = table.runs(sets=["iris"], methods=["sklearn.tree:DecisionTreeClassifier"], seeds=2)
    monkeypatch.setenv("DTSEMNET_DATA", str(tmp_path / "elsewhere"))
    assert all("iris" in r["error"] for r in run_all(runs, table.catalogue(), tmp_path / "a.jsonl", n_jobs=2))
    monkeypatch.setenv("DTSEMNET_DATA", str(data_folder))
    assert [r["error"] for r in run_all(runs, table.catalogue(), tmp_path / "b.jsonl", n_jobs=2)] == [None, None]


def test_interrupted_fit_leaves_no_record_though_it_swallows_the_interrupt(table: Table) -> None:
    runs = [MethodRun("bench.spies:Interrupted", "iris", seed, "paper") for seed in range(4)]
    with pytest.raises(KeyboardInterrupt):
        run_all(runs, table.catalogue(), table.results)
    assert [r["seed"] for r in read_records(table.results)] == [0, 1]


SCRIPT = """
import sys
from pathlib import Path
from dtsemnet_paper.bench import MethodRun, read_table, run_all

table = read_table("small", folder=Path(sys.argv[1]))
runs = [MethodRun("bench.spies:Signing", "iris", seed, "paper") for seed in range(12)]
run_all(runs, table.catalogue(), table.results, n_jobs=int(sys.argv[2]))
"""


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_kill_in_the_middle_loses_and_repeats_no_record(table: Table, tmp_path: Path, n_jobs: int) -> None:
    log, go_on = tmp_path / "fits.txt", tmp_path / "go on"
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"SIGNATURES": str(log), "GO_ON": str(go_on), "PYTHONPATH": paths}
    command = [sys.executable, "-c", SCRIPT, str(table.path.parent), str(n_jobs)]
    # A process group of its own, so that the kill takes the worker processes along, as a machine that goes down does.
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    while len(read_records(table.results)) < 3:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = read_records(table.results)
    assert 3 <= len(before) < 12
    go_on.touch()
    subprocess.run(command, env=environment, check=True, timeout=900)
    after = read_records(table.results)
    assert after[: len(before)] == before
    assert sorted(r["seed"] for r in after) == list(range(12))
    fits = Counter(map(int, log.read_text().split()))
    recorded = {r["seed"] for r in before}
    assert all(fits[seed] == 1 for seed in recorded), "a recorded run was done again"
    assert sum(count > 1 for count in fits.values()) <= n_jobs, "only what was under way is done twice"


def test_torn_last_line_is_kept_aside_and_its_run_repeated(table: Table) -> None:
    runs = [MethodRun("sklearn.dummy:DummyClassifier", "iris", seed, "paper") for seed in range(3)]
    run_all(runs, table.catalogue(), table.results)
    whole = table.results.read_bytes()
    torn = whole[: whole.rfind(b"\n", 0, -1) + 40]
    table.results.write_bytes(torn)
    assert [r["seed"] for r in read_records(table.results)] == [0, 1]
    assert [r["seed"] for r in run_all(runs, table.catalogue(), table.results)] == [2]
    assert [r["seed"] for r in read_records(table.results)] == [0, 1, 2]
    assert Path(f"{table.results}.torn").read_bytes() == torn[torn.rfind(b"\n") + 1 :] + b"\n"
    assert not mend(table.results)
