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
    """Let a cached kernel expire when any kernel changes: numba looks at its own file, not at those it calls."""
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp"):
        file._source_stamp = (file._source_stamp, _SOURCES)


_SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


class _Announcement(event.Listener):
    """Say once per process that a kernel is being compiled: the only silent wait a user would meet."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data.get("dispatcher")
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", "")
        if not self.said and module.startswith("dtsemnet."):
            self.said = True
            logger.warning("dtsemnet: compiling kernels for this machine (under a minute, kept for the next time)")

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
