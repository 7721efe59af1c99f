"""Everything that depends on how numba works inside: compiling, caching, bit tricks, vector instructions.

Imported when a kernel is compiled for the first time, see :mod:`dtsemnet.kernels.kernel`.

**Compiling.** The machine code is kept in numba's cache beside the package (or in
``NUMBA_CACHE_DIR``), so that only the first call on a machine waits for the compiler. If
that folder and the user's cache folder cannot be written, a folder for temporary files of
the user takes their place. No kernel is compiled with ``fastmath``: reordered sums would
break the promise that a row's score depends on the row alone.

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
import getpass
import hashlib
import logging
import math
import os
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils, config, event
from numba.extending import intrinsic, overload, typeof_impl
from numba.np import arrayobj

from dtsemnet.kernels.kernel import LANES, MODULES_WITH_KERNELS, Kernel, dot, exp, log

__all__ = ["FORMATS", "compiled"]

logger = logging.getLogger("dtsemnet")


def compiled(function: Callable[..., Any]) -> Any:
    """Make numba's dispatcher for a function: no fast-math, no GIL, cached on disk if that is possible."""
    make = functools.partial(numba.njit, nogil=True, error_model="numpy")
    try:
        dispatcher = make(cache=True)(function)
    except RuntimeError:  # numba finds no folder that it may write to
        if not _use_temporary_folder():
            return make()(function)
        dispatcher = make(cache=True)(function)
    _make_cache_safe(dispatcher, function.__module__)
    return dispatcher


@functools.cache
def _use_temporary_folder() -> bool:
    """Keep machine code in a folder for temporary files that nobody else can write to; False if there is none."""
    if config.CACHE_DIR:  # type: ignore[attr-defined]
        return False  # the folder that the user named cannot be written
    try:
        user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
        folder = Path(tempfile.gettempdir()) / f"dtsemnet-kernels-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        # Machine code is run, so a folder that somebody else has made is not used.
        mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
        if not stat.S_ISDIR(found.st_mode) or not mine:
            return False
    except (OSError, KeyError):
        return False
    config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    logger.warning(
        f"dtsemnet: kernels are kept in {folder}, since neither the package nor a home folder can be written"
    )
    return True


@typeof_impl.register(Kernel)
def _typeof_kernel(kernel: Kernel, context: Any) -> Any:
    """A kernel that another kernel calls is its dispatcher."""
    return typeof_impl(kernel.dispatcher, context)


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
    content, pending, done = hashlib.sha256(), [__name__, Kernel.__module__, module], set[str]()
    packages = {name.partition(".")[0] for name in MODULES_WITH_KERNELS}
    while pending:
        name = pending.pop()
        path = getattr(sys.modules.get(name), "__file__", None)
        if name not in done and name.partition(".")[0] in packages and path is not None:
            done.add(name)
            source = Path(path).read_bytes()
            content.update(source)
            pending += _imports(source) if name in MODULES_WITH_KERNELS else []
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
    """Log what takes over a second to compile, while the user waits and when it is done."""

    def __init__(self) -> None:
        self.depth, self.start, self.said = 0, 0.0, False

    def on_start(self, event: event.Event) -> None:
        if self.depth or _is_ours(event):
            self.depth += 1
            if self.depth == 1:
                self.start, self.said = time.monotonic(), False
            elif not self.said and time.monotonic() - self.start > 1:
                self.said = True
                logger.warning("dtsemnet: compiling kernels for this machine")

    def on_end(self, event: event.Event) -> None:
        if self.depth:
            self.depth -= 1
            if self.depth == 0 and self.said:
                kept = event.data["dispatcher"]._cache.cache_path if _is_kept(event) else None
                place = f"kept in {kept} for the next time" if kept else "not kept, since no folder can be written"
                logger.warning(f"dtsemnet: compiling kernels took {time.monotonic() - self.start:.0f} s, {place}")


def _is_ours(event: event.Event) -> bool:
    function = getattr(event.data.get("dispatcher"), "py_func", None)
    return (getattr(function, "__module__", None) or "").startswith("dtsemnet")


def _is_kept(event: event.Event) -> bool:
    return getattr(getattr(event.data.get("dispatcher"), "_cache", None), "cache_path", None) is not None


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]


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


FORMATS = {
    types.float32: _Format(np.float32, 23, 127, (0.693359375, -2.1219444005469057e-4), terms=7, series=4),
    types.float64: _Format(np.float64, 52, 1023, (0.6931471803691238, 1.9082149292705877e-10), terms=13, series=10),
}


@overload(exp, inline="never")
def _exp(x: Any) -> Any:
    form = FORMATS[x]
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
    form = FORMATS[x]
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


_dot: Any = intrinsic(_write_dot)


@overload(dot, inline="never")
def _overload_dot(w: Any, w_start: Any, x: Any, x_start: Any, length: Any) -> Any:
    def implementation(w: Any, w_start: Any, x: Any, x_start: Any, length: Any) -> Any:
        return _dot(w, w_start, x, x_start, length)

    return implementation
