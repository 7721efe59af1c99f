"""Folders that one process at a time works in, such as that of checkpoints: locked, and cleared of what a kill left.

The lock is the system's, on the folder itself: it ends with the process, however that ends. While it is held, a
temporary file in the folder belongs to a process that was killed while it wrote, and is removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["lock_file", "own_folder"]

LEFTOVER = re.compile(r"\..*\.[0-9a-z_]{8,16}\.tmp")
"""Names of the temporary files of :mod:`dtsemnet.files`."""


@contextmanager
def own_folder(folder: Path, *, busy: str) -> Iterator[None]:
    """Make a folder, keep other processes out of it if the system can, and remove temporary files of dead ones.

    Raises
    ------
    BlockingIOError
        With the words ``busy``, if another process or thread holds the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, own_folder(Path(folder), busy="wait"):
    ...     with own_folder(Path(folder), busy="wait"):
    ...         pass
    Traceback (most recent call last):
    BlockingIOError: wait
    """
    folder.mkdir(parents=True, exist_ok=True)
    if os.name == "nt":  # Windows opens no folders, and has no such lock
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with lock_file(handle, busy=busy) as locked:
            for path in folder.iterdir() if locked else ():  # without a lock, its writer may be alive
                if LEFTOVER.fullmatch(path.name):
                    with suppress(OSError):  # of a read-only folder the first write tells
                        path.unlink()
            yield
    finally:
        os.close(handle)


@contextmanager
def lock_file(handle: int, *, busy: str | None = None) -> Iterator[bool]:
    """Lock an open file against other processes, and tell whether the system can.

    It is waited for, unless words for ``busy`` are given, with which a ``BlockingIOError`` is raised.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield False
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
    except BlockingIOError:
        raise BlockingIOError(busy) from None
    except OSError:  # some network file systems have no locks
        yield False
        return
    try:
        yield True
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)
