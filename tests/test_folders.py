"""Folders that one process at a time works in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dtsemnet.folders import own_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="folders are locked on POSIX systems")


def test_a_folder_is_made_and_given_back(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "folder"
    for _ in range(2):
        with own_folder(folder, busy="wait"):
            assert folder.is_dir()
            with pytest.raises(BlockingIOError, match="wait"), own_folder(folder, busy="wait"):
                pass
    assert list(folder.iterdir()) == []


def test_it_is_given_back_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), own_folder(tmp_path, busy="wait"):
        raise KeyboardInterrupt
    with own_folder(tmp_path, busy="wait"):
        pass


def test_only_temporary_files_of_ours_are_removed(tmp_path: Path) -> None:
    ours = [".start-0.npz.0123456789abcdef.tmp", ".a b.json.a1b2c3d4.tmp"]
    others = ["notes.tmp", ".hidden", ".vimrc.tmp", "start-0.npz", ".x.UPPER123.tmp"]
    for name in (*ours, *others):
        (tmp_path / name).touch()
    with own_folder(tmp_path, busy="wait"):
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)
