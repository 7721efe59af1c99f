"""Records: one JSON line a run, appended so that a kill loses nothing.

A line is written by one call, flushed and synchronised before the next run is taken up.
A process killed in the middle of that call leaves at most one line without its end.
Readers pass over such a line; the next writer cuts it off, keeps it in a file beside the
records (``.torn``), and its run is done again, as it counts as not done.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Record", "append_record", "key_of", "latest", "mend", "read_records"]

Record: TypeAlias = dict[str, Any]
KEY = ("method", "set", "seed", "protocol", "configuration", "candidates")
"""What tells one run from another."""


def key_of(run: Mapping[str, Any]) -> str:
    """Name a run by what is asked of it, so that a record of it can be found.

    Examples
    --------
    >>> run = {"method": "cart", "set": "flowers", "seed": 0, "protocol": "paper", "configuration": {"max_depth": 2}}
    >>> key_of(run) == key_of({**run, "test": 95.0}), key_of(run) == key_of({**run, "seed": 1})
    (True, False)
    """
    asked = json.dumps([run.get(name) for name in KEY], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


def append_record(path: str | os.PathLike[str], record: Record) -> None:
    """Append one record; when this returns it is on the disk."""
    line = (json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n").encode()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        with _locked(file):
            written = os.write(file, line)
            os.fsync(file)
    finally:
        os.close(file)
    if written != len(line):  # a full disk; the rest of the line would be read as a torn one
        raise OSError(f"{path}: only {written} of {len(line)} bytes could be written; is the disk full?")


def mend(path: str | os.PathLike[str]) -> bool:
    """Cut off a last line that a kill left torn, and keep it aside; tell whether there was one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.jsonl")
    ...     _ = path.write_text('{"seed": 0}\\n{"se')
    ...     mend(path), path.read_text(), Path(folder, "runs.jsonl.torn").read_text()
    (True, '{"seed": 0}\\n', '{"se\\n')
    """
    path = Path(path)
    if not path.exists():
        return False
    with path.open("r+b") as file, _locked(file.fileno()):
        content = file.read()
        end = content.rfind(b"\n") + 1
        if end == len(content):
            return False
        with Path(f"{path}.torn").open("ab") as aside:
            aside.write(content[end:] + b"\n")
        file.truncate(end)
    return True


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read all whole records; a file that is not there has none."""
    path = Path(path)
    if not path.exists():
        return []
    records = []
    content = path.read_bytes()
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            records.append(json.loads(line))
        except ValueError:
            raise ValueError(f"{path}, line {number} is no record; mend the file by hand or move it away.") from None
    return records


def latest(records: list[Record]) -> list[Record]:
    """The last record of each run, in the order of the runs: a run that was repeated counts once."""
    return list({record["key"]: record for record in records}.values())


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """Keep other processes that append to this file waiting, where the system can."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where one write at the end is the best there is
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
