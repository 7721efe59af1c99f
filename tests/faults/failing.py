"""Disks that fill up, folders that lose their rights, and programs to kill: what the tests of faults share."""

from __future__ import annotations

import errno
import gc
import io
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from dtsemnet.cli import main

CODE = {"full": errno.ENOSPC, "lost": errno.EACCES, "broken": errno.EIO}
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}


class Disk:
    """Counts what is written by Python, and lets everything from one call on fail, as on a full disk.

    A write that fails has written half of its bytes, as the kernel does when the last block is taken.
    """

    def __init__(self, fails_at: int | None = None, code: int = errno.ENOSPC) -> None:
        self.fails_at, self.code, self.n_calls = fails_at, code, 0

    @property
    def failed(self) -> bool:
        """Whether a call has failed."""
        return self.fails_at is not None and self.n_calls > self.fails_at

    def check(self, *names: Any) -> None:
        """Count a call, and fail if it is its turn, with the names that the system gives."""
        self.n_calls += 1
        if self.failed:
            raise OSError(self.code, os.strerror(self.code), *names[:1])

    @contextmanager
    def installed(self) -> Iterator[Disk]:
        """Take the place of the real disk."""
        with pytest.MonkeyPatch.context() as patch:
            write, fdopen = os.write, os.fdopen

            def failing_write(handle: int, data: bytes) -> int:
                try:
                    self.check()
                except OSError:
                    if len(data) > 1:
                        return write(handle, data[: len(data) // 2])
                    raise
                return write(handle, data)

            patch.setattr(os, "write", failing_write)
            patch.setattr(os, "fdopen", lambda *args, **options: _Stream(fdopen(*args, **options), self))
            fsync, replace, open_file = os.fsync, os.replace, os.open

            def failing_fsync(handle: int) -> None:
                self.check()
                fsync(handle)

            def failing_replace(source: Any, target: Any) -> None:
                self.check(os.fspath(source))
                replace(source, target)

            def failing_open(path: Any, flags: int, *mode: Any, **options: Any) -> int:
                if flags & os.O_CREAT:
                    self.check(os.fspath(path))
                return open_file(path, flags, *mode, **options)

            patch.setattr(os, "fsync", failing_fsync)
            patch.setattr(os, "replace", failing_replace)
            patch.setattr(os, "open", failing_open)
            yield self


class _Stream:
    """A stream whose writes are counted."""

    def __init__(self, inner: Any, disk: Disk) -> None:
        self._inner, self._disk = inner, disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._inner.close()

    def write(self, data: Any) -> int:
        try:
            self._disk.check()
        except OSError:
            self._inner.write(bytes(data)[: len(data) // 2])
            raise
        return int(self._inner.write(data))


def spread(n_calls: int, n_wanted: int = 12) -> list[int]:
    """Numbers of calls to fail at, from the first to the last."""
    return sorted({round(part * (n_calls - 1) / (n_wanted - 1)) for part in range(n_wanted)})


def leftovers(folder: Path) -> list[str]:
    """Temporary files under a folder."""
    return sorted(path.name for path in folder.rglob("*.tmp"))


def run(source: str, *words: object, check: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a program of Python in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", source, *map(str, words)],
        env=ENVIRONMENT, capture_output=True, encoding="utf-8", timeout=600, check=check,
    )  # fmt: skip


class Command:
    """The command ``dtsemnet`` in a process that is forked, so that it need not import anything again."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.errors = folder.with_suffix(".stderr")
        self.process = os.fork()
        if self.process:
            return
        code: Any = 70
        gc.callbacks.clear()  # hypothesis has one, and Python drops what a signal raises inside it
        try:
            os.chdir(folder)
            with self.errors.open("w") as errors, redirect_stderr(errors), redirect_stdout(io.StringIO()):
                main(words)
        except SystemExit as end:
            code = end.code
        except BaseException:
            with self.errors.open("a") as errors:
                traceback.print_exc(file=errors)
        finally:
            os._exit(code if isinstance(code, int) else 1)

    def await_that(self, has_begun: Callable[[], bool]) -> None:
        """Wait until the command has done something."""
        while not has_begun():
            ended, status = os.waitpid(self.process, os.WNOHANG)
            assert not ended, (status, self.errors.read_text())
            time.sleep(0.01)

    def end_by(self, number: int) -> int:
        """Send a signal, and return the exit code, negative for a signal; no traceback must have been printed."""
        os.kill(self.process, number)  # it is ours until it is waited for, even if it has ended
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        assert "Traceback" not in self.errors.read_text()
        return code
