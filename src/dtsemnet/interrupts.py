"""Ctrl-C that ends a fit at once.

Training by itself takes a Ctrl-C as "stop here and keep the best tree so far". That is right for a person at a
prompt and wrong for a program that writes files or records: a tree that was cut short is no result.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["interruptible"]


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` after a Ctrl-C, even if the code inside catches that exception.

    Only the main thread receives signals; in other threads this does nothing.

    Examples
    --------
    >>> import contextlib
    >>> try:
    ...     with interruptible(), contextlib.suppress(KeyboardInterrupt):
    ...         signal.raise_signal(signal.SIGINT)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = threading.Event()

    def interrupt(*_: object) -> None:
        pressed.set()
        raise _Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except _Interrupted:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed.is_set():  # the code inside caught even that
        raise KeyboardInterrupt


class _Interrupted(BaseException):
    """Not a KeyboardInterrupt, which training catches."""
