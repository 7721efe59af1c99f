"""Growth with the number of rows: time per row and peak memory, 20 features, height 6.

Each size runs in a process of its own. After a small fit that compiles and loads everything, the caller's arrays are
made; what the peak of resident memory then gains during ``fit`` is what the library needs beyond them. The engine is
timed on one epoch in random order, the estimator on a whole ``fit`` with one start and two epochs; CPU time, one
thread. Run by ``python benchmarks/growth.py``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from measure import best_times, cpu_time, one_thread, table

from dtsemnet import DTSemNetClassifier
from dtsemnet.training import Classification, ClassParameters, Rows, Step, cpu_engine
from dtsemnet.tree import Topology

SIZES = (100_000, 1_000_000, 5_000_000)
N_FEATURES, HEIGHT, N_CLASSES, N_EPOCHS = 20, 6, 5, 2
WITHIN, SLACK = 1.25, 300e6
"""Largest time per row as a multiple of the smallest size's, and bytes beyond one float32 copy of the data."""


def records() -> list[dict[str, Any]]:
    """Run all sizes, each in a fresh process; seconds per row and bytes."""
    _in_process(1000)  # compiles what is not yet compiled: the compiler's own peak would hide that of a fit
    return [_in_process(n_rows) for n_rows in SIZES]


def _in_process(n_rows: int) -> dict[str, Any]:
    program = [sys.executable, __file__, "--rows", str(n_rows)]
    found: dict[str, Any] = json.loads(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
    return found


def report(found: list[dict[str, Any]]) -> str:
    """Lay out the records as a table."""
    rows = [
        (
            f"{r['rows']:,}",
            *(f"{r[key] * 1e6:.3f} us ({r[key] / found[0][key]:.2f}x)" for key in ("epoch", "fit")),
            f"{r['peak'] / 1e6:.0f} MB", f"{r['allowed'] / 1e6:.0f} MB",
        )
        for r in found
    ]  # fmt: skip
    header = ("rows", "epoch, per row", "fit, per row", "peak beyond the caller's arrays", "within")
    return f"Time per row within {WITHIN}x of the smallest size.\n\n{table(header, rows)}"


def _measure(n_rows: int) -> dict[str, Any]:
    one_thread()
    _fit(*_draw(2000))
    X, y = _draw(n_rows)
    before = _peak()
    fit = cpu_time(lambda: _fit(X, y))
    peak = _peak() - before
    n_more = 2_000_000 // n_rows if n_rows > 10_000 else 0  # small sizes are timed as long as large ones
    fit = (fit + cpu_time(lambda: [_fit(X, y) for _ in range(n_more)])) / (1 + n_more)
    return {
        "rows": n_rows, "fit": fit / n_rows, "epoch": _epoch(X, y) / n_rows,
        "peak": peak, "allowed": 4 * X.size + SLACK,
    }  # fmt: skip


def _draw(n_rows: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows in float32 with the class of a random tree, drawn in blocks so that drawing leaves no peak."""
    rng = np.random.default_rng(0)
    X, y = np.empty((n_rows, N_FEATURES), np.float32), np.empty(n_rows, np.int64)
    normal = rng.standard_normal((3, N_FEATURES), dtype=np.float32)
    for start in range(0, n_rows, 10_000):
        block = rng.standard_normal((min(10_000, n_rows - start), N_FEATURES), dtype=np.float32)
        X[start : start + len(block)] = block
        y[start : start + len(block)] = (block @ normal.T > 0) @ [1, 2, 4] % N_CLASSES
    return X, y


def _fit(X: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    DTSemNetClassifier(max_depth=HEIGHT, n_init=1, max_iter=N_EPOCHS, random_state=0).fit(X, y)


def _epoch(X: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
    rng, topology = np.random.default_rng(0), Topology.complete(HEIGHT)
    splits = rng.standard_normal((topology.n_splits, N_FEATURES + 1)) / np.sqrt(N_FEATURES)
    parameters = ClassParameters(splits, np.arange(topology.n_leaves) % N_CLASSES)
    rows = Rows(X, y, np.ones(len(X), np.float32))
    engine = cpu_engine(Classification(N_CLASSES), topology, rows, parameters)
    order = rng.permutation(len(X))
    n_epochs = max(1, SIZES[-1] // len(X))  # the same number of rows at every size
    return best_times(lambda: [engine.run_epoch(order, Step(0.01)) for _ in range(n_epochs)], repeats=5)[0] / n_epochs


def _peak() -> int:
    """Peak of resident memory in bytes."""
    try:
        # Not getrusage: what it tells of a process begins with the peak of the process that started it.
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: in bytes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="measure this size in this process and print it as JSON")
    n_rows = parser.parse_args().rows
    print(report(records()) if n_rows is None else json.dumps(_measure(n_rows)))
