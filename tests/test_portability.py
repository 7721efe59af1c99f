"""What differs between systems is missing here on purpose, and files are still whole; tests do not depend on speed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from dtsemnet.files import read_bytes, write_atomically
from dtsemnet.folders import lock_file, own_folder
from dtsemnet.json_lines import append_line, mend, read_lines

ROOT = Path(__file__).parents[1]
LEAST_PATIENCE = 600
"""Seconds that a test must give a process: a busy machine is many times slower than an idle one."""


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, which has no fcntl."""
    monkeypatch.setitem(sys.modules, "fcntl", None)


@pytest.mark.usefixtures("without_locks")
def test_records_are_written_and_mended_without_locks(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    append_line(path, '{"seed": 0}')
    with path.open("a") as file:
        file.write('{"se')
    append_line(path, '{"seed": 1}')
    assert read_lines(path) == [{"seed": 0}, {"seed": 1}]
    assert (tmp_path / "runs.jsonl.torn").read_text() == '{"se\n'
    assert not mend(path)


@pytest.mark.usefixtures("without_locks")
def test_without_locks_nobody_is_kept_out_and_nothing_of_others_is_removed(tmp_path: Path) -> None:
    leftover = tmp_path / ".model.json.0123456789abcdef.tmp"
    leftover.touch()
    with own_folder(tmp_path, busy="wait"), own_folder(tmp_path, busy="wait"):
        assert leftover.exists(), "its writer may be alive"
    with (tmp_path / "file").open("w") as file, lock_file(file.fileno(), busy="wait") as locked:
        assert not locked


def test_files_are_whole_where_the_flags_and_folders_of_posix_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_NONBLOCK", raising=False)
    opened = os.open

    def no_folders(path: object, *words: object, **named: object) -> int:
        if Path(str(path)).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *words, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", no_folders)
    path = write_atomically(tmp_path / "model.json", "{}")
    assert write_atomically(path, "[1]").read_text() == "[1]"
    assert read_bytes(path, max_bytes=10) == b"[1]"
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


def test_no_test_gives_a_process_less_time_than_a_busy_machine_needs() -> None:
    short = []
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("workshop/tests/**/*.py")]:
        for seconds in re.findall(r"[(,\s]timeout=(\d+)", path.read_text("utf-8")):
            if int(seconds) < LEAST_PATIENCE:
                short.append(f"{path.relative_to(ROOT)}: timeout={seconds}")
    assert short == []
