"""Everything that depends on how numba works inside: compiling, caching, bit tricks, vector instructions.

**Compiling.** Every kernel is decorated with :func:`kernel`. The machine code is
kept in numba's cache beside the package (or in ``NUMBA_CACHE_DIR``), so that
only the first call on a machine waits for the compiler. If no cache can be
written, kernels are compiled in each process and work all the same. No kernel is
compiled with ``fastmath``: reordered sums would break the promise that a row's
score depends on the row alone.

**Exponential and logarithm** that a loop over the batch can vectorise.
``math.exp`` is a call into the C library, one number at a time, and would take
most of the time of annealed training. :func:`exp` and :func:`log` are a few
multiplications and additions on the bits of the number, so that the compiler
turns a loop of them into vector instructions. Relative error: 2 units in the
last place, in float32 and in float64.

- ``exp(x)``: ``x = k ln 2 + r`` with an integer ``k`` and ``|r| <= ln(2) / 2``;
  ``e^r`` by its Taylor polynomial, ``2^k`` by writing ``k`` into the exponent
  bits. Arguments are at most a few hundred (logits are never positive);
  underflow gives 0.
- ``log(x)``: ``x = 2^k m`` with ``m`` between ``sqrt(1/2)`` and ``sqrt(2)``;
  ``log m = 2 artanh((m - 1) / (m + 1))`` by its odd series. Arguments are
  positive, finite and normal.

**The dot product** of :mod:`dtsemnet.kernels.routing`, in its documented order.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import logging
import math
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils, event
from numba.extending import intrinsic, overload
from numba.np import arrayobj
from threadpoolctl import ThreadpoolController

__all__ = ["LANES", "dot", "exp", "kernel", "log", "one_thread"]

logger = logging.getLogger("dtsemnet")

LANES = 16
"""Number of interleaved partial sums of a dot product."""

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` with numba: no fast-math, no GIL, cached on disk if that is possible.

    A kernel may call kernels of its own module, and those that its module imports from the module that defines them.
    """
    _MODULES_WITH_KERNELS.add(function.__module__)
    try:
        compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no folder that it may write to
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    else:
        _make_cache_safe(compiled, function.__module__)
    return cast(F, compiled)


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its products are small here, and the sums of two threads could differ in a bit."""
    with _controller().limit(limits=1):
        yield


@functools.lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


_MODULES_WITH_KERNELS = {__name__}
_PROCESS = uuid.uuid4().hex[:12]


def _make_cache_safe(compiled: Any, module: str) -> None:
    """Correct three things that numba's cache gets wrong.

    Numba looks at the file of a kernel alone, not at those of the kernels that it calls: here a cached kernel expires
    when any of them changes. And numba numbers the files of a kernel, so two processes that compile two signatures of
    one kernel at the same time would write to one file, and the index could lead one to the machine code of the
    other: here the files of each process have names of their own. Numba also unpickles an index before it sees that it
    is stale, and fails if a class in it has gone since: here the version, read first, changes with the sources.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_source_stamp") and hasattr(file, "_data_name_pattern"):
        file._source_stamp = _stamp(module)
        file._version = f"{getattr(file, '_version', '')} {file._source_stamp}"
        file._data_name_pattern = file._data_name_pattern.replace(".{number", f".{_PROCESS}.{{number")


@functools.cache
def _stamp(module: str) -> str:
    """Hash the sources of all modules whose kernels or constants the kernels of a module can use.

    These are the module, the modules that it imports from packages with kernels, and, for those of them that have
    kernels, what they import in turn.
    """
    content, pending, done = hashlib.sha256(), [__name__, module], set[str]()
    packages = {name.partition(".")[0] for name in _MODULES_WITH_KERNELS}
    while pending:
        name = pending.pop()
        path = getattr(sys.modules.get(name), "__file__", None)
        if name not in done and name.partition(".")[0] in packages and path is not None:
            done.add(name)
            source = Path(path).read_bytes()
            content.update(source)
            pending += _imports(source) if name in _MODULES_WITH_KERNELS else []
    return content.hexdigest()


def _imports(source: bytes) -> list[str]:
    """Names of the modules that the statements at the top of a source file import, and of what could be modules."""
    names = []
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Import):
            names += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module is not None:
            names += [statement.module, *(f"{statement.module}.{alias.name}" for alias in statement.names)]
    return names


class _Announcement(event.Listener):
    """Log once per process that kernels are being compiled, so that no user waits without knowing why."""

    def __init__(self) -> None:
        self.logged = False

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data.get("dispatcher")
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", None) or ""
        if not self.logged and module.startswith("dtsemnet"):
            self.logged = True
            logger.warning("dtsemnet: compiling kernels for this machine (under a minute, kept for the next time)")

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]


def exp(x: Any) -> Any:
    """Compute ``e ** x`` for ``x <= 88``; 0 if that underflows. Inside kernels only."""
    raise RuntimeError("exp is for use inside kernels; call math.exp")


def log(x: Any) -> Any:
    """Compute the natural logarithm of a positive, finite, normal ``x``. Inside kernels only."""
    raise RuntimeError("log is for use inside kernels; call math.log")


@intrinsic
def _bits(typingctx: Any, x: Any) -> Any:
    """Read a float as the integer with the same bits."""
    integer = types.int32 if x == types.float32 else types.int64

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(integer))

    return integer(x), codegen


@intrinsic
def _float(typingctx: Any, x: Any) -> Any:
    """Read an integer as the float with the same bits."""
    real = types.float32 if x == types.int32 else types.float64

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(real))

    return real(x), codegen


class _Format:
    """The constants of one floating point format."""

    def __init__(
        self, dtype: type, fraction: int, bias: int, ln2: tuple[float, float], terms: int, series: int
    ) -> None:
        self.dtype = dtype
        self.integer = np.int32 if dtype is np.float32 else np.int64
        self.fraction, self.bias = self.integer(fraction), self.integer(bias)
        # Adding 1.5 * 2^fraction rounds to an integer and leaves it in the lowest bits.
        self.magic = dtype(1.5 * 2.0**fraction)
        # ln 2 in two parts, the first with enough trailing zeros that k times it is exact.
        self.ln2_high, self.ln2_low = dtype(ln2[0]), dtype(ln2[1])
        self.smallest = dtype((2 - bias) * math.log(2))
        self.exp_terms = tuple(dtype(1 / math.factorial(i)) for i in range(terms, -1, -1))
        self.log_terms = tuple(dtype(2 / (2 * i + 1)) for i in range(series, -1, -1))


_FORMATS = {
    types.float32: _Format(np.float32, 23, 127, (0.693359375, -2.1219444005469057e-4), terms=7, series=4),
    types.float64: _Format(np.float64, 52, 1023, (0.6931471803691238, 1.9082149292705877e-10), terms=13, series=10),
}


@overload(exp, inline="never")
def _exp(x: Any) -> Any:
    form = _FORMATS[x]
    real, integer, fraction, bias, magic = form.dtype, form.integer, form.fraction, form.bias, form.magic
    ln2_high, ln2_low, smallest, terms = form.ln2_high, form.ln2_low, form.smallest, form.exp_terms
    log2e, zero = real(1 / math.log(2)), real(0)

    def implementation(x: Any) -> Any:
        clipped = max(x, smallest)
        shifted = clipped * log2e + magic
        k = shifted - magic
        r = (clipped - k * ln2_high) - k * ln2_low
        p = terms[0]
        for c in terms[1:]:
            p = p * r + c
        power: Any = _float(integer((_bits(shifted) + bias) << fraction))  # type: ignore[call-arg]
        return p * power if x >= smallest else zero

    return implementation


@overload(log, inline="never")
def _log(x: Any) -> Any:
    form = _FORMATS[x]
    real, integer, fraction, bias = form.dtype, form.integer, form.fraction, form.bias
    ln2_high, ln2_low, terms = form.ln2_high, form.ln2_low, form.log_terms
    one, root_half = real(1), real(math.sqrt(0.5))
    offset = int(np.array(root_half).view(integer))
    mask = integer((1 << int(fraction)) - 1)
    one_bits = integer(int(bias) << int(fraction))
    start = integer(offset)

    def implementation(x: Any) -> Any:
        # Counted from sqrt(1/2), the exponent field is k and the fraction that of m.
        # numba widens integer arithmetic, hence the casts back.
        bits = integer(_bits(x) + (one_bits - start))  # type: ignore[call-arg]
        k = real(integer((bits >> fraction) - bias))
        m = _float(integer((bits & mask) + start))
        s = (m - one) / (m + one)
        square = s * s
        p = terms[0]
        for c in terms[1:]:
            p = p * square + c
        return k * ln2_high + (s * p + k * ln2_low)

    return implementation


def _write_dot(typing: Any, w: Any, w_start: Any, x: Any, x_start: Any, length: Any) -> Any:
    """Sum ``w[w_start + j] * x[x_start + j]`` over ``j < length``, a multiple of 16, in the documented order.

    Written as vector instructions of LLVM, since no compiler finds them in the scalar loop: it may not reorder
    floating-point sums, and here the order matters. LLVM maps them to the vectors the machine has.
    """
    signature = types.float64(w, types.intp, x, types.intp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector, index = ir.VectorType(ir.DoubleType(), LANES), ir.IntType(32)
        make_array: Any = arrayobj.make_array
        w_data = make_array(signature.args[0])(context, builder, args[0]).data
        x_data = make_array(signature.args[2])(context, builder, args[2]).data

        def block(data: Any, start: Any, j: Any) -> Any:
            address = builder.gep(data, [builder.add(start, j)])
            return builder.load(builder.bitcast(address, vector.as_pointer()), align=8)

        allocate: Any = cgutils.alloca_once
        total = allocate(builder, vector)
        builder.store(ir.Constant(vector, [0.0] * LANES), total)
        first, step = (ir.Constant(args[4].type, value) for value in (0, LANES))
        with cgutils.for_range_slice(builder, first, args[4], step) as (j, _):
            product = builder.fmul(block(w_data, args[1], j), block(x_data, args[3], j))
            builder.store(builder.fadd(builder.load(total), product), total)
        joined, half = builder.load(total), LANES // 2
        while half:
            low, high = (
                builder.shuffle_vector(
                    joined,
                    ir.Constant(joined.type, ir.Undefined),
                    ir.Constant(ir.VectorType(index, half), list(range(begin, begin + half))),
                )
                for begin in (0, half)
            )
            joined, half = builder.fadd(low, high), half // 2
        return builder.extract_element(joined, ir.Constant(index, 0))

    return signature, generate


dot: Any = intrinsic(_write_dot)
