"""Reading and writing whole files, so that neither a crash nor a power cut leaves half of one.

Content goes to a temporary file in the folder of the target, is flushed to the disk
(``fsync``), and takes the target's name in one step (``rename``); then the folder is flushed,
so that the new name survives a power cut too. At every moment the path holds either the whole
old file or the whole new one. On a failure the temporary file is removed and the old file stays.

A symbolic link stays a link: the file that it points to is replaced. A folder, a FIFO, a socket
or a device is refused, for reading as well as for writing: the first would be replaced by a
file, and reading the second may never end. Every ``OSError`` names the path that was given.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_atomically", "read_bytes", "write_atomically"]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file in one step: the path always holds either the whole old file or the whole new one.

    Parameters
    ----------
    path : path
        The file to write, or a symbolic link to it. Its folder must exist.
    content : str or bytes
        Text is written in UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder, "tree.txt"), "leaf").read_text()
    'leaf'
    """
    data = content.encode() if isinstance(content, str) else content
    with open_atomically(path) as stream:
        stream.write(data)
    return Path(path)


@contextlib.contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary stream whose content takes the place of a file when the block ends without an error.

    Parameters
    ----------
    path : path
        As in :func:`write_atomically`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_atomically(Path(folder, "numbers.bin")) as stream:
    ...         _ = stream.write(bytes(3))
    ...     Path(folder, "numbers.bin").read_bytes()
    b'\\x00\\x00\\x00'
    """
    with _named(path):
        target = Path(os.path.realpath(path))  # a link is written through, not replaced
        mode = _regular_mode(path, target)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path {str(path)!r} lies in a folder that does not exist; make {str(target.parent)!r} first."
        )
    # Short enough beside any legal name: a file system allows 255 bytes.
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        with _named(path, temporary):
            # Not mkstemp, which ignores the umask: this one gives a new file the rights that any new file has.
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if mode is not None:
                os.chmod(temporary, mode)
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _flush_folder(target.parent)


def read_bytes(path: str | os.PathLike[str], *, max_bytes: int) -> bytes:
    """Read a regular file that is at most ``max_bytes`` long.

    Raises
    ------
    ValueError
        If the file is longer; no more of it is read than that.
    OSError
        If it cannot be read, or is a FIFO, a device or a folder.

    Examples
    --------
    >>> read_bytes(os.devnull, max_bytes=10)
    Traceback (most recent call last):
    OSError: path '/dev/null' is a device, not a regular file; pass the path of a file.
    """
    with _named(path):
        _regular_mode(path, Path(path))
        # Without O_NONBLOCK the opening of a FIFO that took the file's place just now would wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            _check_regular(path, os.fstat(handle).st_mode)
            data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(
            f"the file {os.fspath(path)!r} is longer than max_bytes={max_bytes}; "
            "pass a larger max_bytes if you trust it."
        )
    return data


def _regular_mode(path: str | os.PathLike[str], target: Path) -> int | None:
    """Give the permissions of a regular file, or None if there is no such file."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    _check_regular(path, mode)
    return stat.S_IMODE(mode) & 0o777


def _check_regular(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "special")
        error = IsADirectoryError if stat.S_ISDIR(mode) else OSError
        raise error(f"path {os.fspath(path)!r} is {kind}, not a regular file; pass the path of a file.")


@contextlib.contextmanager
def _named(path: str | os.PathLike[str], temporary: Path | None = None) -> Iterator[None]:
    """Name the path in errors of the system: that of a full disk names none, others the temporary file."""
    try:
        yield
    except OSError as error:
        known = (None, os.fspath(temporary)) if temporary else (None, os.path.realpath(path))
        if error.errno is None or error.filename not in known:  # ours already, or of another file
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _flush_folder(folder: Path) -> None:
    """Flush the entry of a folder, where the system can: not all file systems do, and Windows opens no folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
