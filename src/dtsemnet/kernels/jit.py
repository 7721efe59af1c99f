"""How kernels are compiled: once per machine, cached on disk, announced, never fatal.

Every kernel is decorated with :func:`kernel`. The machine code is kept in
numba's cache beside the package (or in ``NUMBA_CACHE_DIR``), so that only the
first call on a machine waits for the compiler. Where no cache can be written,
kernels are compiled anew in each process and work all the same.

No kernel is compiled with ``fastmath``: reordered sums would break the promise
that a row's score depends on the row alone.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

__all__ = ["kernel"]

logger = logging.getLogger("dtsemnet")

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` with numba: no fast-math, no GIL, cached on disk where that is possible."""
    try:
        compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no folder that it may write to
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    else:
        _stamp(compiled)
    return cast(F, compiled)


def _stamp(compiled: Any) -> None:
    """Make numba's cache safe where it is not.

    A cached kernel expires when any kernel changes: numba looks at its own file alone, not at those it calls. And
    the files of one process get names of their own: numba numbers them, so two processes that compile two signatures
    of one kernel at once would write them to one file, and the index could send one to the other's machine code.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp") and hasattr(file, "_data_name_pattern"):
        file._source_stamp = (file._source_stamp, _SOURCES)
        file._data_name_pattern = file._data_name_pattern.replace(".{number", f".{_PROCESS}.{{number")


_PROCESS = uuid.uuid4().hex[:12]
_SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


class _Announcement(event.Listener):
    """Say once per process that a kernel is being compiled: the only silent wait a user would meet."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data.get("dispatcher")
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", None) or ""
        if not self.said and module.startswith("dtsemnet."):
            self.said = True
            logger.warning("dtsemnet: compiling kernels for this machine (under a minute, kept for the next time)")

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
