# ruff: noqa: E402 - thread counts are set before numpy is imported
"""Speed of prediction, as ratios in one run.

Each case times a tree against a yardstick on the same rows: scikit-learn's decision tree of the same depth for
narrow rows, numpy's sum along the rows (reading the data once) for wide ones. CPU time, one thread, the two
interleaved, the best of the repeats. Run by ``python benchmarks/predict.py``.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import sklearn
from sklearn.tree import DecisionTreeClassifier

from dtsemnet.tree import Topology, Tree

DEPTH = 8
REPEATS = 7


def main() -> None:
    """Run all cases and print one line each."""
    print(
        f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}, ", end=""
    )
    print(f"numba {numba.__version__}, scikit-learn {sklearn.__version__}\n")
    rng = np.random.default_rng(0)

    X = rng.standard_normal((1_000_000, 16), dtype=np.float32)
    y = rng.integers(0, 5, 20_000)
    cart = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X[: len(y)], y)
    oblique = _random_tree(16, rng)
    _compare("1,000,000 x 16 float32, predict", lambda: oblique.predict(X), lambda: cart.predict(X), "CART", 1.5, 1.0)
    same = Tree.from_sklearn(cart)
    _compare("the same CART, converted", lambda: same.predict(X), lambda: cart.predict(X), "CART", 1.5, 1.0)

    X = rng.standard_normal((100_000, 784), dtype=np.float32)
    wide = _random_tree(784, rng)
    _compare("100,000 x 784 float32, predict", lambda: wide.predict(X), lambda: X.sum(axis=1), "X.sum(axis=1)", 8, 5)

    row = rng.standard_normal((1, 16), dtype=np.float32)
    oblique.apply(row)
    calls = 20_000
    best = min(_time(lambda: [oblique.apply(row) for _ in range(calls)]) for _ in range(REPEATS))
    print(f"{'one row, apply':34} {best / calls * 1e6:8.1f} us   (within 30 us)")


def _compare(
    name: str, ours: Callable[[], Any], theirs: Callable[[], Any], yardstick: str, least: float, aim: float
) -> None:
    ours(), theirs()  # compile, touch the pages
    pairs = [(_time(ours), _time(theirs)) for _ in range(REPEATS)]
    a, b = (min(times) for times in zip(*pairs))
    print(f"{name:34} {a * 1e3:8.1f} ms, {yardstick} {b * 1e3:.1f} ms: {a / b:.2f}x   (within {least}x, aim {aim}x)")


def _time(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _random_tree(n_features: int, rng: np.random.Generator) -> Tree:
    topology = Topology.complete(DEPTH)
    probability = rng.dirichlet(np.ones(5), topology.n_leaves)
    weight = rng.standard_normal((topology.n_splits, n_features))
    return Tree(topology, weight, 0.1 * rng.standard_normal(topology.n_splits), probability, class_names=range(5))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
