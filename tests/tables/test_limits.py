"""Small files that stand for huge tables are refused before the table is made."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from dtsemnet.tables import limits
from dtsemnet.tables.files import read_table

SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
FIRST = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'


def workbook(path: Path, rows: str, *, texts: str = "", sheet: str = "xl/worksheets/sheet1.xml") -> Path:
    """An Excel file whose sheet is written by hand; it may be anywhere in the archive."""
    openpyxl = pytest.importorskip("openpyxl", reason="the extra excel is not installed")
    book = openpyxl.Workbook()
    book.active.append(["a text"])
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["xl/worksheets/sheet1.xml"]
    members[sheet] = SHEET.format(rows).encode()
    members = {name: data.replace(b"worksheets/sheet1.xml", sheet[3:].encode()) for name, data in members.items()}
    if texts:
        members["xl/sharedStrings.xml"] = (
            f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{texts}</sst>'.encode()
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def sheet_with_a_value_in_the_last_corner(path: Path) -> Path:
    return workbook(
        path, FIRST.replace("</row>", '<c r="XFD1"><v>1</v></c></row><row r="1048576"><c r="A1048576"/></row>')
    )


def sheet_with_a_row_that_excel_does_not_have(path: Path) -> Path:
    return workbook(path, FIRST + '<row r="99999999999"><c><v>1</v></c></row>')


def sheet_under_another_name(path: Path) -> Path:
    rows = "".join(f'<row><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 2500))
    return workbook(path, rows, sheet="xl/other.data")


def sheet_that_uses_a_long_text_in_each_row(path: Path) -> Path:
    rows = FIRST + '<row><c t="s"><v>0</v></c></row>' * 10_000
    return workbook(path, rows, texts=f"<si><t>{'x' * 30_000}</t></si>")


def lines_with_a_name_each(path: Path) -> Path:
    path.write_text("".join(f'{{"a{i}": 1}}\n' for i in range(6000)))
    return path


def records_with_a_name_each(path: Path) -> Path:
    path.write_text(json.dumps([{f"a{i}": 1} for i in range(6000)]))
    return path


def header_of_one_name(path: Path) -> Path:
    path.write_text(",".join("a" * 20_000) + "\n" + ",".join("1" * 20_000) + "\n")
    return path


def repeated(path: Path, *, of: object, n: int) -> Path:
    """A Parquet or Feather file with one value many times."""
    pyarrow = pytest.importorskip("pyarrow", reason="the extra data is not installed")
    values = pyarrow.nulls(n)
    if of is not None:
        values = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * n), pyarrow.array([of]))
    table = pyarrow.table({"a": values})
    if path.suffix == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, path, store_schema=False)
    else:
        from pyarrow import feather

        feather.write_feather(table, path)
    return path


MAKERS: dict[str, tuple[str, Callable[[Path], Path], str]] = {
    "last corner": (".xlsx", sheet_with_a_value_in_the_last_corner, "1,048,576 rows and 16,384 columns"),
    "row of no sheet": (".xlsx", sheet_with_a_row_that_excel_does_not_have, "a sheet of Excel has at most 1,048,576"),
    "sheet elsewhere": (".xlsx", sheet_under_another_name, "rows and 16,384 columns"),
    "shared text": (".xlsx", sheet_that_uses_a_long_text_in_each_row, "it has long texts, 300 MB or more"),
    "lines": (".jsonl", lines_with_a_name_each, "6,000 rows and 6,000 columns"),
    "records": (".json", records_with_a_name_each, "6,000 rows and 6,000 columns"),
    "header": (".csv", header_of_one_name, "20,000 of its columns are called 'a'"),
    "nulls": (".parquet", lambda path: repeated(path, of=None, n=4 * 10**7), "40,000,000 rows and 1 columns"),
    "nulls in Feather": (
        ".feather",
        lambda path: repeated(path, of=None, n=4 * 10**7),
        "40,000,000 rows and 1 columns",
    ),
    "a text for all rows": (".parquet", lambda path: repeated(path, of="x" * 30_000, n=10_000), "it has long texts"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_small_file_that_stands_for_a_huge_table_is_refused(kind: str, tmp_path: Path) -> None:
    ending, make, message = MAKERS[kind]
    path = make(tmp_path / f"table{ending}")
    assert path.stat().st_size < 200_000
    with pytest.raises(ValueError, match=message):
        read_table(path)


@pytest.mark.parametrize("ending", [".xlsx", ".jsonl", ".json", ".parquet", ".feather"])
def test_a_table_within_the_limit_is_read(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"table{ending}"
    frame = pd.DataFrame({"n": range(300), "text": ["a", "some words"] * 150})
    if ending == ".xlsx":
        pytest.importorskip("openpyxl", reason="the extra excel is not installed")
        frame.to_excel(path, index=False)
    elif ending in (".json", ".jsonl"):
        frame.to_json(path, orient="records", lines=ending == ".jsonl")
    else:
        pytest.importorskip("pyarrow", reason="the extra data is not installed")
        (frame.to_parquet if ending == ".parquet" else frame.to_feather)(path)
    monkeypatch.setattr(limits, "FACTOR", 0)
    monkeypatch.setattr(limits, "LEAST", 8 * 2 * 302 if ending not in (".xlsx", ".feather") else 100_000)
    assert read_table(path).shape == (300, 2)
    monkeypatch.setattr(limits, "LEAST", 8 * 2 * 300 - 1)
    with pytest.raises(ValueError, match="too much for a file of"):
        read_table(path)


def test_a_long_cell_above_a_column_takes_no_quadratic_time(tmp_path: Path) -> None:
    cell = "1" * 60_000 + "x"
    path = tmp_path / "table.csv"
    path.write_text(f"{cell},b\n1,2\n")
    assert list(read_table(path).columns) == [cell, "b"]


def test_a_part_that_says_to_be_longer_than_the_memory_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra data is not installed")
    path = tmp_path / "table.feather"
    pd.DataFrame({"n": [1.0] * 1234}).to_feather(path, compression="lz4")
    content = path.read_bytes()
    length = struct.pack("<q", 8 * 1234)  # of the column when it is unpacked, before its packed bytes
    assert length in content
    path.write_bytes(content.replace(length, struct.pack("<q", 2**60)))
    with pytest.raises(ValueError, match="cannot be read: it says that a part of it is longer than the memory"):
        read_table(path)


def test_texts_that_lie_outside_of_a_feather_file_do_not_end_the_process(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra data is not installed")
    path = tmp_path / "table.feather"
    pd.DataFrame({"n": ["x"] * 50}).to_feather(path, compression="uncompressed")
    content = path.read_bytes()
    (form,) = [form for form in ("<51i", "<51q") if struct.pack(form, *range(51)) in content]
    path.write_bytes(content.replace(struct.pack(form, *range(51)), struct.pack(form, *range(50), 2**30)))
    with pytest.raises(ValueError, match="cannot be read"):
        read_table(path)
