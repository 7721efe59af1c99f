"""Ctrl-C while a tree is fitted: the first ends the fit soon with the best tree so far, the second ends it at once.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be: in a leaf fit, or while it waits for other
threads, where the trees of the fit are lost. So a fit replaces the handler while it runs: the first Ctrl-C sets an
event, which every training reads between two epochs, whatever thread it runs in. The second raises
``KeyboardInterrupt``.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["heed_interrupts"]


@contextmanager
def heed_interrupts() -> Iterator[threading.Event]:
    """Give the event that is set by the first Ctrl-C inside the block; the second raises ``KeyboardInterrupt``.

    Only Python's own handler is replaced: a program with a handler of its own has decided what a Ctrl-C does. Signals
    reach the main thread alone, so in other threads the event is set by nobody else than the fit.

    Examples
    --------
    >>> with heed_interrupts() as interrupted:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupted.is_set()
    True
    """
    interrupted = threading.Event()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupted
        return

    def interrupt(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
