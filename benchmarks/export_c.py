"""Throughput of the exported C code against the Python path, as ratios in one run.

The exported file is compiled as a shared library and called on the same float64 rows as
``tree.apply``, by ``NAME_apply_batch`` and by a loop over ``NAME_apply``: CPU time, one thread, interleaved, the
best of the repeats. Also prints how long the export took, with its check. Run by
``python benchmarks/export_c.py``.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import best_times, one_thread, table
from numpy.typing import NDArray

from dtsemnet.export import to_c
from dtsemnet.export.c.compiler import find_compiler
from dtsemnet.tree import Topology, Tree

CASES = [(4, 16, 500_000), (8, 16, 500_000), (8, 784, 10_000)]
FLAGS = {"-O2": ["-O2"], "-O3 -march=native": ["-O3", "-march=native"]}
REPEATS = 5

LOOP = """
void apply_rows(const double *X, long n, int *leaf)
{
    long i;
    for (i = 0; i < n; ++i)
        leaf[i] = tree_apply(X + i * tree_COLUMNS);
}

void apply_batch(const double *X, long n, int *leaf)
{
    tree_apply_batch(X, n, leaf);
}
"""


def records() -> list[dict[str, Any]]:
    """Run all cases; times in seconds."""
    one_thread()
    rng = np.random.default_rng(0)
    results = []
    for depth, n_features, n_rows in CASES:
        tree, X = _random_tree(depth, n_features, rng), rng.standard_normal((n_rows, n_features))
        start = time.perf_counter()
        source = to_c(tree).text
        export = time.perf_counter() - start
        with tempfile.TemporaryDirectory() as folder:
            runs = [
                run
                for k, flags in enumerate(FLAGS.values())
                for run in _compiled(source, flags, X, Path(folder) / f"{k}.so")
            ]
            for run in runs:
                assert np.array_equal(run(), tree.apply(X))
            python, *times = best_times(lambda: tree.apply(X), *runs, repeats=REPEATS)  # noqa: B023
        case = f"depth {depth} x {n_features} columns"
        results += [
            {
                "case": case,
                "flags": flags,
                "rows": n_rows,
                "time": batch,
                "alone": alone,
                "python": python,
                "export": export,
            }
            for flags, batch, alone in zip(FLAGS, times[::2], times[1::2])
        ]
    return results


def report(results: list[dict[str, Any]]) -> str:
    """Lay out the records as a table."""
    rows = [
        (r["case"], r["flags"], f"{r['rows'] / r['time'] / 1e6:.2f} M/s", f"{r['rows'] / r['alone'] / 1e6:.2f} M/s",
         f"{r['rows'] / r['python'] / 1e6:.2f} M/s", f"{r['python'] / r['time']:.2f}x",
         f"{r['python'] / r['alone']:.2f}x", f"{r['export']:.2f} s")
        for r in results
    ]  # fmt: skip
    header = (
        "case", "flags", "C batch", "row by row", "Python rows", "batch against Python", "row by row",
        "export and check",
    )  # fmt: skip
    return table(header, rows)


def _compiled(source: str, flags: list[str], X: NDArray[np.float64], path: Path) -> list[Callable[[], Any]]:
    """Calls of the batch and of the loop over rows."""
    code = path.with_suffix(".c")
    code.write_text(source + LOOP, encoding="utf-8")
    compiler = find_compiler() or ["cc"]
    subprocess.run([*compiler, "-std=c99", *flags, "-shared", "-fPIC", str(code), "-o", str(path), "-lm"], check=True)
    library, leaf = ctypes.CDLL(str(path)), np.empty(len(X), dtype=np.intc)

    def run(function: Any) -> Any:
        function(ctypes.c_void_p(X.ctypes.data), ctypes.c_long(len(X)), ctypes.c_void_p(leaf.ctypes.data))
        return leaf

    return [partial(run, library.apply_batch), partial(run, library.apply_rows)]


def _random_tree(depth: int, n_features: int, rng: np.random.Generator) -> Tree:
    topology = Topology.complete(depth)
    probability = rng.dirichlet(np.ones(5), topology.n_leaves)
    weight = rng.standard_normal((topology.n_splits, n_features))
    return Tree(topology, weight, 0.1 * rng.standard_normal(topology.n_splits), probability, class_names=range(5))


if __name__ == "__main__":
    print(report(records()))
