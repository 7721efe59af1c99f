"""What the benchmarks share: CPU time on one thread, and a description of the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Loaded before the limit on threads is set: kernels call this BLAS, and a limit reaches only what is loaded.
import scipy.linalg.cython_blas  # noqa: F401
from threadpoolctl import threadpool_limits

from dtsemnet import versions

__all__ = ["best_times", "cpu_time", "machine", "one_thread", "table"]

PACKAGES = ("dtsemnet", "numpy", "scipy", "numba", "scikit-learn", "torch")


def one_thread() -> None:
    """Hold every BLAS and OpenMP pool of this process to one thread, for good."""
    threadpool_limits(1)


def cpu_time(run: Callable[[], Any]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def best_times(*runs: Callable[[], Any], repeats: int) -> list[float]:
    """Smallest CPU time of each run, the runs interleaved so that a busy machine slows all alike."""
    for run in runs:
        run()  # compile, touch the pages
    return [min(times) for times in zip(*([cpu_time(run) for run in runs] for _ in range(repeats)))]


def machine() -> dict[str, Any]:
    """Processor, cores and versions."""
    found = {name: version or "not installed" for name, version in versions("python", *PACKAGES).items()}
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system(), "versions": found}


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Lay out a Markdown table, padded so that it reads well as plain text too."""
    width = [max(map(len, column)) for column in zip(header, *rows)]
    lines = [[cell.ljust(w) for cell, w in zip(line, width)] for line in [header, *rows]]
    lines.insert(1, ["-" * w for w in width])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
