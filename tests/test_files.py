"""Files are whole or not there: what a crash, a full disk, a link or a FIFO must not do."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from dtsemnet import files
from dtsemnet.files import open_atomically, read_bytes, write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="FIFOs, links and permissions of POSIX")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    for content in ("old", "näu\n"):
        assert write_atomically(path, content) == path
        assert path.read_bytes() == content.encode()
    write_atomically(str(path), b"\r\n")
    assert path.read_bytes() == b"\r\n"
    assert names(tmp_path) == ["model.json"]


def test_a_failure_in_the_block_keeps_the_old_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")

    def write(error: BaseException) -> None:
        with open_atomically(path) as stream:
            stream.write(b"ne")
            raise error

    for error in (RuntimeError("half way"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            write(error)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["model.json"]


def test_text_that_utf8_cannot_write_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "model.json", "\ud800")
    assert names(tmp_path) == []


def test_an_error_of_another_file_in_the_block_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere"), open_atomically(tmp_path / "model.json"):
        (tmp_path / "elsewhere").read_bytes()


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, call, fail)
    with pytest.raises(OSError, match=r"No space left.*model\.json") as caught:
        write_atomically(path, "new")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["model.json"]


def test_content_and_name_reach_the_disk_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    real_sync: Callable[[int], None] = os.fsync
    real_replace = os.replace

    def sync(handle: int) -> None:
        mode = os.fstat(handle).st_mode
        done.append("folder" if stat.S_ISDIR(mode) else f"file of {os.fstat(handle).st_size}")
        real_sync(handle)

    def replace(source: str, target: str) -> None:
        done.append("rename")
        real_replace(source, target)

    monkeypatch.setattr(files.os, "fsync", sync)
    monkeypatch.setattr(files.os, "replace", replace)
    write_atomically(tmp_path / "model.json", "12345")
    assert done == ["file of 5", "rename", "folder"]


@posix
def test_a_symbolic_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    target, link = tmp_path / "store" / "model.json", tmp_path / "latest.json"
    link.symlink_to(Path("store", "model.json"))
    for content in ("made through the link", "replaced through the link"):
        write_atomically(link, content)
        assert link.is_symlink()
        assert target.read_text() == content
    assert names(tmp_path / "store") == ["model.json"]


@posix
def test_a_link_to_itself_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="loop"):
        write_atomically(tmp_path / "loop", "x")
    with pytest.raises(OSError, match="loop"):
        read_bytes(tmp_path / "loop", max_bytes=10)
    assert names(tmp_path) == ["loop"]


@posix
def test_a_fifo_or_socket_is_neither_replaced_nor_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fifo, address = Path("fifo"), Path("socket")  # relative: the address of a socket must be short
    os.mkfifo(fifo)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        for path, kind in [(fifo, "a FIFO"), (address, "a socket"), (Path(os.devnull), "a device")]:
            with pytest.raises(OSError, match=f"{path}.* is {kind}, not a regular file"):
                write_atomically(path, "x")
            with pytest.raises(OSError, match=f"{path}.* is {kind}, not a regular file"):
                read_bytes(path, max_bytes=10)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    for use in (lambda: write_atomically(tmp_path, "x"), lambda: read_bytes(tmp_path, max_bytes=10)):
        with pytest.raises(IsADirectoryError, match="is a folder"):
            use()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none' first"):
        write_atomically(tmp_path / "none" / "model.json", "x")


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(bytes(11))
    assert read_bytes(path, max_bytes=11) == bytes(11)
    with pytest.raises(ValueError, match=r"model\.json.* is longer than max_bytes=10"):
        read_bytes(path, max_bytes=10)
    with pytest.raises(FileNotFoundError, match=r"model2\.json"):
        read_bytes(tmp_path / "model2.json", max_bytes=10)


@posix
def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    before = os.umask(0o027)
    try:
        write_atomically(path, "x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write_atomically(path, "y")
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_a_name_as_long_as_the_file_system_allows_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)
    write_atomically(path, "x")
    assert path.read_text() == "x"
