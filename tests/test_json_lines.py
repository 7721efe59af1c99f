"""Lines of JSON: appended whole, read whole; more of it in tests/faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtsemnet.json_lines import append_line, mend, read_lines


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    for text in ('{"a": 1}', '{"a": "\\u00e9\\n"}', "[]"):
        append_line(path, text)
    assert read_lines(path) == [{"a": 1}, {"a": "é\n"}, []]
    assert not mend(path)


def test_a_file_that_does_not_exist_has_no_lines(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "none.jsonl") == []
    assert not mend(tmp_path / "none.jsonl")


@pytest.mark.parametrize("n_torn", [1, 4095, 4096, 4097, 20_000])
@pytest.mark.parametrize("before", ["", '{"key": 1}\n'])
def test_a_torn_line_of_any_length_is_kept_aside(before: str, n_torn: int, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(before + "x" * n_torn)
    assert mend(path)
    assert path.read_text() == before
    assert Path(f"{path}.torn").read_text() == "x" * n_torn + "\n"
    assert not mend(path)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("{}\n{oops\n")
    with pytest.raises(ValueError, match=r"records\.jsonl, line 2 is not a record"):
        read_lines(path)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        append_line(tmp_path / "none" / "records.jsonl", "{}")
    assert caught.value.filename == str(tmp_path / "none" / "records.jsonl")
