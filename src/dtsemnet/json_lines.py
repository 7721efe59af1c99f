"""Files of records, one JSON value per line, that several processes may append to.

A line is appended under a lock, by one call, and is on the disk when that returns. If it does not fit on the disk, what
was written of it is cut off again. A process that is killed or a machine that stops in the middle of the call leaves at
most one line without its end. Readers skip it; the next writer cuts it off and keeps it beside the file (``.torn``).
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from dtsemnet.folders import lock_file

__all__ = ["append_line", "mend", "read_lines"]


def append_line(path: str | os.PathLike[str], text: str) -> None:
    """Append one line of JSON; when this returns it is on the disk, whole.

    Raises
    ------
    OSError
        If it cannot be written; the file is as before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "record.jsonl")
    ...     _ = file.write_text('{"seed": 1}\\n{"se')
    ...     append_line(file, '{"seed": 2}')
    ...     read_lines(file)
    [{'seed': 1}, {'seed': 2}]
    """
    line = (text + "\n").encode()
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with lock_file(handle):
                _cut_torn_line(handle, path)
                end = os.fstat(handle).st_size
                try:
                    if os.write(handle, line) < len(line):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(handle)
                except BaseException:
                    os.ftruncate(handle, end)
                    raise
        finally:
            os.close(handle)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def mend(path: str | os.PathLike[str]) -> bool:
    """Cut off a last line that a kill left torn, and keep it aside; return whether there was one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.jsonl")
    ...     _ = path.write_text('{"seed": 0}\\n{"se')
    ...     mend(path), path.read_text(), Path(folder, "runs.jsonl.torn").read_text()
    (True, '{"seed": 0}\\n', '{"se\\n')
    """
    if not Path(path).exists():
        return False
    with Path(path).open("r+b") as file, lock_file(file.fileno()):
        return _cut_torn_line(file.fileno(), path)


def read_lines(path: str | os.PathLike[str]) -> list[Any]:
    """Read all whole lines; a file that does not exist has none, and a torn last line does not count.

    Raises
    ------
    ValueError
        If a line is no JSON.
    """
    path = Path(path)
    content = path.read_bytes() if path.exists() else b""
    values = []
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            raise ValueError(f"{path}, line {number} is not a record; mend the file by hand or move it away.") from None
    return values


def _cut_torn_line(handle: int, path: str | os.PathLike[str]) -> bool:
    """Cut off what follows the last whole line of a locked file, and keep it aside."""
    size = os.fstat(handle).st_size
    torn = b""
    while size > len(torn) and b"\n" not in torn:  # from the end, so that a long file is not read whole
        start = max(0, size - len(torn) - 4096)
        os.lseek(handle, start, os.SEEK_SET)
        torn = os.read(handle, size - len(torn) - start) + torn
    torn = torn[torn.rfind(b"\n") + 1 :]
    if not torn:
        return False
    with Path(f"{path}.torn").open("ab") as aside:
        aside.write(torn + b"\n")
    os.ftruncate(handle, size - len(torn))
    return True
