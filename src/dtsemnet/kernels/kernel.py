"""What a kernel is: a function over arrays that runs as machine code.

The machine code comes with the package (:mod:`dtsemnet.kernels.native`) or, where that is missing, from numba, which
compiles a kernel when it is first called (:mod:`dtsemnet.kernels._numba`). Both give the same bits. Numba is imported
only then, so that predictions of a model that is loaded start at once.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

__all__ = [
    "LANES", "MODULES_WITH_KERNELS", "Kernel", "came_compiled", "dot", "exp", "kernel", "kernel_until", "log",
    "one_thread",
]  # fmt: skip

LANES = 16
"""Number of interleaved partial sums of a dot product."""

MODULES_WITH_KERNELS = {"dtsemnet.kernels._numba"}
"""Modules whose kernels are compiled by numba when they are called."""

F = TypeVar("F", bound=Callable[..., Any])


PATIENCE = 2.0
"""Seconds that stand-ins may take in a process before compiling is worth its time."""


class Kernel:
    """A function and its machine code, which is looked up or compiled at the first call.

    ``stand_in`` does the same, slowly and without machine code. If none came with the package, it takes the calls until
    they have taken ``PATIENCE`` seconds in all.
    """

    def __init__(self, function: Callable[..., Any], stand_in: Callable[..., Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.stand_in, self.seconds = function, stand_in, 0.0

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        native = self.native
        if native is not None and not keywords:
            answer = native(*args)
            if type(answer) is int:  # routing: before all else, for the sake of predictions of one row
                return answer
            if type(answer) is tuple and type(answer[0]) is bytearray:
                content, code, shape = answer
                return np.ndarray(shape, code, content)
            if answer is not NotImplemented:
                return answer
        elif native is None and self.stand_in is not None and self.seconds < PATIENCE:
            start = time.perf_counter()
            answer = self.stand_in(*args, **keywords)
            self.seconds += time.perf_counter() - start
            return answer
        return self.dispatcher(*args, **keywords)

    @functools.cached_property
    def native(self) -> Callable[..., Any] | None:
        """The machine code that came with the package; its answer is NotImplemented for other types."""
        library, numbers = _library()
        number = numbers.get(f"{self.py_func.__module__}.{self.py_func.__name__}")
        return None if library is None or number is None else functools.partial(library.run, number)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher, which compiles the kernel for the types of each call."""
        from dtsemnet.kernels._numba import compiled

        return compiled(self.py_func)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # pickled by its name, as functions are


def kernel(function: F) -> F:
    """Make a function a kernel: it runs as machine code, without fast-math and without Python's lock.

    A kernel may call kernels of its own module, and those that its module imports from the module that defines them.
    """
    return kernel_until(None)(function)


def kernel_until(stand_in: Callable[..., Any] | None) -> Callable[[F], F]:
    """Like :func:`kernel`, with a function that takes its calls until there is machine code."""

    def make(function: F) -> F:
        MODULES_WITH_KERNELS.add(function.__module__)
        return cast(F, Kernel(function, stand_in))

    return make


def came_compiled() -> bool:
    """Whether the machine code of kernels came with the package."""
    return _library()[0] is not None


@functools.cache
def _library() -> tuple[ModuleType | None, dict[str, int]]:
    """The module of machine code, if there is one, and the numbers of its kernels."""
    from dtsemnet.kernels.native import native

    library = native()
    return library, {} if library is None else {name: number for number, name in enumerate(library.kernels)}


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its products are small here, and the sums of two threads could differ in a bit."""
    with _controller().limit(limits=1):
        yield


@functools.lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # not needed by predictions

    return ThreadpoolController()


def exp(x: Any) -> Any:
    """Compute ``e ** x`` for ``x <= 88``; 0 if that underflows. Inside kernels only."""
    raise RuntimeError("exp is for use inside kernels; call math.exp")


def log(x: Any) -> Any:
    """Compute the natural logarithm of a positive, finite, normal ``x``. Inside kernels only."""
    raise RuntimeError("log is for use inside kernels; call math.log")


def dot(w: Any, w_start: Any, x: Any, x_start: Any, length: Any) -> Any:
    """Sum ``w[w_start + j] * x[x_start + j]`` over ``j < length``, in the order of :mod:`dtsemnet.kernels.routing`.

    ``length`` is a multiple of 16. Inside kernels only.
    """
    raise RuntimeError("dot is for use inside kernels; call numpy.dot")
