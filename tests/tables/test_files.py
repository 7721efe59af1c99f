"""One table, written in every way: the same columns and cells come back."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow
import pytest

from dtsemnet.tables.files import TableOptions, read_table

TEXT = "größe,name\n1.5,Zoë\n2.5,Jürgen\n"
CONTENT = {"größe": [1.5, 2.5], "name": ["Zoë", "Jürgen"]}


def packed(path: Path, content: bytes) -> None:
    """Write bytes, packed as the ending says."""
    match path.suffix:
        case ".gz":
            content = gzip.compress(content)
        case ".bz2":
            content = bz2.compress(content)
        case ".xz":
            content = lzma.compress(content)
        case ".zst":
            content = pyarrow.compress(content, codec="zstd", asbytes=True)
        case ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("inside/table.csv", content)
                archive.writestr("__MACOSX/._table.csv", b"no table")
                archive.writestr("readme.md", b"no table either")
            return
    path.write_bytes(content)


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zst", "t.csv.zip", "t.zip", "t.data"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_text_in_any_encoding_and_packing(name: str, encoding: str, tmp_path: Path) -> None:
    packed(tmp_path / name, (TEXT + "3.5,Ada\n" * 50).encode(encoding))
    remarks: list[str] = []
    frame = read_table(tmp_path / name, remark=remarks.append)
    assert frame.head(2).to_dict("list") == CONTENT
    assert bool(remarks) == (encoding == "cp1252")
    assert all("read as Western European text, cp1252 ('größe')" in remark for remark in remarks)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_divides_the_lines_alike(separator: str, tmp_path: Path) -> None:
    lines = [["a, b;c|d" if separator not in "a, b;c|d" else "plain", "y"], ["1", "2"], ["3", "4"]]
    (tmp_path / "t.csv").write_text("".join(separator.join(line) + "\n" for line in lines))
    assert read_table(tmp_path / "t.csv").columns.tolist() == lines[0]
    named = TableOptions(sep="tab" if separator == "\t" else separator)
    assert read_table(tmp_path / "t.csv", named).columns.tolist() == lines[0]


def test_columns_divided_by_spaces(tmp_path: Path) -> None:
    (tmp_path / "t.dat").write_text("a  b   c\n 1   2  x\n10  20  y\n")
    assert read_table(tmp_path / "t.dat").to_dict("list") == {"a": [1, 10], "b": [2, 20], "c": ["x", "y"]}


@pytest.mark.parametrize(
    "name", ["t.parquet", "t.pq", "t.feather", "t.arrow", "t.jsonl", "t.ndjson", "t.json", "t.xlsx"]
)
def test_other_kinds_of_files(name: str, tmp_path: Path) -> None:
    frame, path = pd.DataFrame(CONTENT), tmp_path / name
    match path.suffix:
        case ".parquet" | ".pq":
            frame.to_parquet(path)
        case ".feather" | ".arrow":
            frame.to_feather(path)
        case ".xlsx":
            frame.to_excel(path, index=False)
        case suffix:
            frame.to_json(path, orient="records", lines=suffix != ".json")
    assert read_table(path).to_dict("list") == CONTENT
    assert read_table(path, TableOptions(na=("Zoë",)))["name"].isna().tolist() == [True, False]
    assert read_table(path, text=["größe"])["größe"].tolist() == ["1.5", "2.5"]


def test_a_sheet_is_named(tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"a": [1]}).to_excel(book, sheet_name="one", index=False)
        pd.DataFrame({"b": [2]}).to_excel(book, sheet_name="two", index=False)
    remarks: list[str] = []
    assert list(read_table(tmp_path / "t.xlsx", remark=remarks.append).columns) == ["a"]
    assert remarks == ["t.xlsx has 2 sheets; 'one' is read, another by --sheet NAME."]
    assert list(read_table(tmp_path / "t.xlsx", TableOptions(sheet="two")).columns) == ["b"]
    with pytest.raises(ValueError, match="no sheet 'three'; it has 'one', 'two'"):
        read_table(tmp_path / "t.xlsx", TableOptions(sheet="three"))


def test_without_openpyxl_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.DataFrame(CONTENT).to_excel(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"pip install 'dtsemnet\[excel\]', or save the sheet as .csv"):
        read_table(tmp_path / "t.xlsx")


def test_a_table_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n")
    remarks: list[str] = []
    assert len(read_table(tmp_path / "t.csv", remark=remarks.append)) == 1
    assert remarks == [
        "the first line is read as the names of the columns ('5.1', '3.5', 'setosa', ...); if it is a row, add "
        "--no-header."
    ]
    frame = read_table(tmp_path / "t.csv", TableOptions(header=False), remark=remarks.append)
    assert frame.to_dict("list") == {"x0": [5.1, 4.9], "x1": [3.5, 3.0], "x2": ["setosa"] * 2}
    assert len(remarks) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": ";"}, "--decimal must be"),
        ({"decimal": ",", "thousands": ","}, "must differ"),
        ({"sep": ";;"}, "--sep must be one character"),
        ({"encoding": "klingon"}, "--encoding 'klingon' is not known"),
        ({"thousands": "x"}, "--thousands must be"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TableOptions(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "said", "columns"),
    [
        ("# made in May\n# by us\na,b\n1,2\n", "2 lines that begin with # above the table left out.", ["a", "b"]),
        ("#a,b\n1,2\n", None, ["#a", "b"]),
        ("a,b,a\n1,2,3\n", "2 columns are called 'a'; the second is read as 'a.1'.", ["a", "b", "a.1"]),
    ],
)
def test_what_stands_above_a_table_is_read_as_its_author_meant(
    content: str, said: str | None, columns: list[str], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(content)
    remarks: list[str] = []
    assert list(read_table(tmp_path / "t.csv", remark=remarks.append).columns) == columns
    assert remarks == ([] if said is None else [said])


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "it is empty"), ("a,b\n1,2\n3,4,5\n", "line 3 has 3 cells, and those before it have 2")],
)
def test_a_file_that_is_no_table_is_refused_in_plain_words(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t.csv")


def test_columns_with_one_name_are_refused(tmp_path: Path) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_arrays([pyarrow.array([1.0, 2.0])] * 2, names=["a", "a"])
    feather.write_feather(table, str(tmp_path / "twice.feather"))
    with pytest.raises(ValueError, match=r"twice.feather' has 2 columns named 'a'; give each a name of its own"):
        read_table(tmp_path / "twice.feather")
