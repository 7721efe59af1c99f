"""Bad tables on the command line: one line that names the file, the column and the row as the user counts it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import Run
from dtsemnet.tables import limits
from dtsemnet.tables.files import read_table

FIT = ("--n-init", 1, "--epochs", 2, "--depth", 1, "--out", "o.json")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    return frame.assign(y=np.where(frame.a > 0, "yes", "no"))


def with_inf(column: str = "b") -> pd.DataFrame:
    frame = table().assign(t=np.arange(40) / 3)
    frame.loc[7, column] = np.inf
    return frame


@pytest.fixture
def folder(tmp_path: Path, prepared: Path) -> Path:
    """Tables with one fault each; fixture ``run`` works in the same folder."""
    pd.read_csv(prepared / "wine.csv").assign(other="x").to_csv(tmp_path / "other-target.csv", index=False)
    table().to_csv(tmp_path / "good.csv", index=False)
    with_inf().to_csv(tmp_path / "inf.csv", index=False)
    with_inf("t").to_csv(tmp_path / "inf-target.csv", index=False)
    slip = table().astype({"b": object})
    slip.loc[7, "b"] = "oops"
    slip.to_csv(tmp_path / "slip.csv", index=False)
    texts = {
        "ragged.csv": "a,b,y\n1,2,yes\n1,2,3,4,no\n",
        "empty.csv": "",
        "header.csv": "a,b,y\n",
        "one.csv": "a,y\n1,yes\n",
        "fake.parquet": "hello",
        "fake.csv.gz": "hello",
        "sheet.xlsx": "hello",
        "table.xls": "hello",
        "table.xyz": "hello",
        "bad.json": "{",
        "other.json": '{"a": 1}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.csv").write_bytes("a,b,y\n1,2,caf\xe9\n".encode("latin-1"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("fit inf.csv --target y", "column 'b' holds inf in row 7, counted from 0 below the header"),
        ("fit inf-target.csv --target t", "--target 't' holds inf in row 7"),
        ("fit good.csv --target y --test inf.csv", "inf.csv: column 'b' holds inf in row 7"),
        ("fit good.csv --target y --validation inf.csv", "inf.csv: column 'b' holds inf in row 7"),
        ("fit ragged.csv --target y", "'ragged.csv' cannot be read: line 3 has 5 cells"),
        ("fit empty.csv --target y", "'empty.csv' cannot be read"),
        ("fit header.csv --target y", "'header.csv' has a header but no rows"),
        ("fit latin.csv --target y --encoding utf-8", "'latin.csv' cannot be read: .*; name its encoding, as in --enc"),
        ("fit slip.csv --target y", "column 'b' holds numbers, but 'oops' in row 7; .* --na oops; .* --categorical b"),
        ("fit one.csv --target y", "no column is left to predict from"),
        ("fit fake.parquet --target y", "'fake.parquet' cannot be read"),
        ("fit fake.csv.gz --target y", "'fake.csv.gz' cannot be read: Not a gzipped file"),
        ("fit sheet.xlsx --target y", "'sheet.xlsx' cannot be read: .*(it is no Excel file|openpyxl)"),
        ("fit table.xls --target y", ".xls files are not read; save it as .xlsx or .csv"),
        ("fit table.xyz --target y", "the ending must be .csv, .tsv, .*.zst"),
        ("fit nowhere.csv --target y", "data file 'nowhere.csv' does not exist"),
        ("fit . --target y", "data file '.' is a folder"),
        ("fit good.csv", "--target is missing"),
        ("fit good.csv --target z", "--target 'z' is no column of the table"),
        ("fit good.csv --target y --task regression", "regression needs a target of numbers, got"),
        ("fit good.csv --target a --task classification", "looks like a quantity: leave out --task"),
        ("fit good.csv --target y --drop zz", "--drop 'zz' is no column"),
        ("fit good.csv --target y --categorical zz", "--categorical 'zz' is no column"),
        ("fit good.csv --target y --test one.csv", "one.csv has no column 'b'"),
        ("fit good.csv --target a --balanced", "--balanced weighs classes, but this is regression"),
        ("fit good.csv --target y --leaf linear", "--leaf is for regression, but this is classification"),
        ("fit good.csv --target y --l1 inf", "l1 must be a number"),
        ("predict @wine.json good.csv", "good.csv has no column 'alcohol'"),
        ("predict bad.json good.csv", "model file 'bad.json' cannot be read"),
        ("predict other.json good.csv", "this is not a dtsemnet model file"),
        ("predict nowhere.json good.csv", "model file 'nowhere.json' does not exist"),
        ("predict @people.json @people.csv --proba", "--proba needs a model that predicts classes"),
        ("predict @wine.json @wine.csv --keep zz", "--keep 'zz' is no column"),
        ("evaluate @wine.json @wine.csv --target zz", "--target 'zz' is no column"),
        ("evaluate @people.json @people.csv --target name", "the model predicts numbers, but the target holds"),
        ("evaluate @wine.json other-target.csv --target other", "holds none of the classes of the model, 'cultivar 1'"),
    ],
)  # fmt: skip
def test_a_bad_command_gets_one_clear_line(words: str, message: str, folder: Path, run: Run) -> None:
    options = FIT if words.startswith("fit") else ()
    done = run(*words.split(), *options, code=1)
    lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    assert re.search(message, lines[0])
    assert not (folder / "o.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        "--seed 5000000000",
        "--jobs 0",
        "--test-fraction 2",
        "--depth 99",
        "--max-split-features 0",
        "--sparsity much",
        "--l1 nan",
    ],
)
def test_an_option_out_of_range_is_named(words: str, folder: Path, run: Run) -> None:
    done = run("fit", "good.csv", "--target", "y", *words.split(), code=2)
    assert words.split()[0] in done.stderr


def test_a_small_file_does_not_unpack_to_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEAST", 2**20)
    text = "a,b,y\n" + "0,0,yes\n1,1,no\n" * 100_000
    with gzip.open(tmp_path / "bomb.csv.gz", "wt") as stream:
        stream.write(text)
    with pytest.raises(ValueError, match=r"unpacks to more than 1 MB, .*unpack it first by: gunzip"):
        read_table(tmp_path / "bomb.csv.gz")
    (tmp_path / "plain.csv").write_text(text)
    assert len(read_table(tmp_path / "plain.csv")) == 200_000
