"""Files that were received: names that command a terminal, damaged content, and paths that are no files."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from cli.conftest import Run
from dtsemnet.cli import output

HEADER = '"red\x1b[2J","a\nb","x\u202ey"'
GOLDEN = Path(__file__).parents[1] / "golden" / "v0.1"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A model and a table whose names hold escape codes, line breaks and a change of direction."""
    path = tmp_path / "odd.json"
    shutil.copy(GOLDEN / "odd-names.json", path)
    (tmp_path / "odd.csv").write_text(HEADER + "\n1.5,ok,2\n-3,=1+1,0\n0,\x9b,1\n", encoding="utf-8")
    return path


def is_harmless(text: str) -> bool:
    return text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "words",
    [
        ["info", "odd.json"],
        ["info", "odd.json", "--json"],
        ["show", "odd.json"],
        ["show", "odd.json", "--data", "odd.csv"],
        ["explain", "odd.json", "odd.csv"],
        ["explain", "odd.json", "odd.csv", "--json"],
        ["export", "odd.json", "--to", "dot"],
        ["export", "odd.json", "--to", "text"],
        ["predict", "odd.json", "odd.csv", "--proba", "--json"],
    ],
    ids=" ".join,
)
def test_names_pass_no_escape_codes_to_the_terminal(run: Run, odd: Path, words: list[str]) -> None:
    done = run(*words)
    assert is_harmless(done.stdout)
    assert is_harmless(done.stderr)
    assert "\\x1b" in done.stdout or "\\u001b" in done.stdout


def test_evaluate_shows_labels_without_escape_codes(run: Run, odd: Path) -> None:
    labels = ["\x1b]0;title\x07", "\x1b]0;other", '"q""uote;--"']
    rows = [f"{i},ok,1,{label}" for i, label in enumerate(labels)]
    Path("odd.csv").write_text("\n".join([HEADER + ",t", *rows, ""]), encoding="utf-8")
    done = run("evaluate", odd, "odd.csv", "--target", "t", "--leaves")
    assert is_harmless(done.stdout + done.stderr)


def test_errors_pass_no_escape_codes_to_the_terminal(run: Run, odd: Path) -> None:
    Path("other.csv").write_text("a\x1b[2J\n1\n", encoding="utf-8")
    for words in (
        ["predict", odd, "other.csv"],
        ["info", "no\x1b[2J.json"],
        ["predict", odd, "odd.csv", "--keep", "\x9b"],
    ):
        done = run(*words, code=1)
        assert is_harmless(done.stderr)
        assert done.stderr.startswith("error: ")


def test_json_keeps_names_as_they_are(run: Run, odd: Path) -> None:
    facts = run("info", odd, "--json").json()
    assert [column["name"] for column in facts["columns"]] == ["red\x1b[2J", "a\nb", "x\u202ey"]
    assert facts["classes"] == ["\x1b]0;title\x07", 'q"uote;--']
    rows = run("predict", odd, "odd.csv", "--json").json()
    assert {row["prediction"] for row in rows} <= set(facts["classes"])


def test_csv_keeps_labels_as_they_are_unless_it_is_printed_on_a_terminal(
    run: Run, odd: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = run("predict", odd, "odd.csv", "--proba").stdout
    assert "\x1b]0;title\x07" in written
    run("predict", odd, "odd.csv", "--proba", "--out", "answers.csv")
    assert Path("answers.csv").read_text(encoding="utf-8") == written
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    output.put(written)
    shown = capsys.readouterr().out
    assert is_harmless(shown)
    assert shown.count("\n") == written.count("\n")


@pytest.mark.parametrize("form", ["=1+1", "+1", "-1+2", "@SUM(A1)"])
def test_labels_that_a_spreadsheet_would_compute_are_written_as_they_are(run: Run, form: str) -> None:
    document = json.loads((GOLDEN / "bare-leaf.json").read_text(encoding="utf-8"))
    document["tree"]["class_names"] = ["no", form]
    Path("leaf.json").write_text(json.dumps(document), encoding="utf-8")
    Path("rows.csv").write_text("x0,x1,x2,x3\n1,2,3,4\n", encoding="utf-8")
    assert run("predict", "leaf.json", "rows.csv").stdout == f"prediction\n{form}\n"


DAMAGED = {
    "width": '{"format": "dtsemnet", "version": 1, "tree": {"n_features": 2147483647, "n_splits": 0, "n_outputs": 1, '
    '"children": [], "weight": [], "bias": [], "value": [[0]]}}',
    "empty": "",
    "escape codes": '{"format": "\x1b[2J"}',
    "deep": "[" * 100_000,
    "bytes": "\ud800",
    "twice": '{"a\\u001b": 1, "a\\u001b": 2}',
}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("verb", ["info", "show", "predict", "explain", "export", "plot"])
def test_a_damaged_file_is_one_line_and_exit_code_1(run: Run, kind: str, verb: str) -> None:
    Path("model.json").write_bytes(DAMAGED[kind].encode("utf-8", "surrogatepass"))
    more = {"predict": ["@ab.csv"], "explain": ["@ab.csv"], "export": ["--to", "c"], "plot": ["tree", "--out", "a.png"]}
    done = run(verb, "model.json", *more.get(verb, []), code=1)
    assert done.stderr.startswith("error: model file 'model.json' cannot be read: ")
    assert done.stderr.count("\n") == 1
    assert is_harmless(done.stderr)
    assert not done.stdout


@pytest.mark.parametrize(
    "about",
    [
        {"estimator": "versions"},
        {"estimator": "tree"},
        {"estimator": ["a"]},
        {"versions": [1], "fit": "x", "target": 5},
        {"versions": {"dtsemnet": {}}, "fit": {"dtsemnet": [], "data": []}},
        {"fit": {"dtsemnet": {"test": ["a"]}}},
        {"fit": {"dtsemnet": {"test": {"\x1b[2J": 1.0}}}, "estimator": "\x1b[2J"},
    ],
    ids=str,
)
def test_metadata_of_any_form_is_shown(run: Run, about: dict[str, object]) -> None:
    document = json.loads((GOLDEN / "bare-leaf.json").read_text(encoding="utf-8")) | {"about": about}
    Path("model.json").write_text(json.dumps(document), encoding="utf-8")
    assert is_harmless(run("info", "model.json").stdout)
    assert run("info", "model.json", "--json").json()["splits"] == 0
    Path("rows.csv").write_text("x0,x1,x2,x3\n1,2,3,4\n2,2,1,4\n", encoding="utf-8")
    run("plot", "model.json", "importance", "--data", "rows.csv", "--out", "picture.svg")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs of POSIX")
def test_a_fifo_is_refused_at_once(run: Run, odd: Path) -> None:
    os.mkfifo("fifo")
    assert "is a FIFO or a device" in run("info", "fifo", code=1).stderr
    for words in (["show", odd, "--out", "fifo"], ["predict", odd, "odd.csv", "--out", "fifo"]):
        assert "is a FIFO or a device, which a file cannot replace" in run(*words, "--force", code=1).stderr
    assert Path("fifo").is_fifo()
