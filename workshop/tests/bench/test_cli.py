"""The verbs of ``dtsemnet bench``: a small table from end to end, and wrong options refused."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from dtsemnet.cli import main
from dtsemnet_paper.cli.bench import VERBS
from dtsemnet_paper.records import read_records

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


def test_both_protocols_are_shown_side_by_side(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--folder", str(paper), "--sets", "iris", "--methods", TREE, "--protocol", "both", "--offline", "--quiet")
    out, _ = call(capsys, "table", "small", "--seeds", "1", *words, "--json")
    cells = json.loads(out)["sets"]["iris"]
    assert set(cells) == {TREE, f"{TREE} (honest)"}
    assert cells[TREE]["height"] == "2"
    assert cells[f"{TREE} (honest)"]["height"] in "12"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("table", "absent"), "there is no table"),
        (("table", "small", "--sets", "roses"), "none of the sets"),
        (("table", "small", "--methods", "magic"), "no method 'magic'"),
        (("table", "small", "--seeds", "0"), "at least 1"),
    ],
)
def test_wrong_value_is_refused(
    paper: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    _, err = call(capsys, *words, "--folder", str(paper), code=1)
    assert message in " ".join(err.split())


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
def test_wrong_command_line_is_exit_code_2(
    paper: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    call(capsys, *words, "--folder", str(paper), code=2)


def test_list_names_tables_sets_and_methods(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = call(capsys, "list", "--folder", str(paper))
    for word in ("small", "iris", "tumours", "nowhere", "a shelf", "dtsemnet-ste"):
        assert word in out


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_shows_its_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(call(capsys, verb, "--help")[0].split())
    for line in importlib.import_module(VERBS[verb]).EXAMPLES.strip().splitlines():
        assert " ".join(line.split())[:60] in shown


def test_without_a_folder_paper_the_tables_of_the_package_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DTSEMNET_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out, _ = call(capsys, "table", "concise", "--show")
    assert "no runs yet" in out
    assert not (tmp_path / "paper").exists()
    call(capsys, "table", "concise", "--offline", "--quiet")  # no data: nothing is run
    call(capsys, "report")
    assert (tmp_path / "paper" / "REPORT.md").is_file()
