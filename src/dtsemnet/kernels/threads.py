"""One thread for the products inside kernels."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its products are small here, and the sums of two threads could differ in a bit."""
    with _controller().limit(limits=1):
        yield


@functools.lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
