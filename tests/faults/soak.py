"""Fit, predict from threads, save and load for a long time; memory must stay flat: ``make soak``.

After a warm-up, memory (resident set size), open files and threads are sampled after every round. The run fails if the
median of the last tenth of the samples is more than 5 % above that of the first tenth, or if an answer differs.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor, Model

ALLOWED = 1.05
"""Largest growth of memory after the warm-up."""
N_THREADS = 4
SMALL: dict[str, Any] = {"max_depth": 2, "max_iter": 10}


class Sample(NamedTuple):
    """What a process uses."""

    megabytes: float
    n_files: int
    n_threads: int

    @classmethod
    def now(cls) -> Sample:
        """Look at this process."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            pages * os.sysconf("SC_PAGESIZE") / 2**20, len(os.listdir("/proc/self/fd")), threading.active_count()
        )


def one_round(number: int, folder: Path) -> None:
    """Fit a few trees, ask them from threads, write and read them; all answers must agree."""
    rng = np.random.default_rng(number)
    X, y = load_breast_cancer(return_X_y=True)
    rows = rng.permutation(len(X))[:300]
    estimators = [
        DTSemNetClassifier(**SMALL, effort=0, random_state=number).fit(X[rows], y[rows]),
        DTSemNetRegressor(**SMALL, effort=0, random_state=number, n_jobs=2).fit(*load_diabetes(return_X_y=True)),
        DTSemNetClassifier(max_iter=5, random_state=number).fit(*load_iris(return_X_y=True)),
    ]
    kept = folder / f"checkpoints {number % 2}"
    DTSemNetClassifier(**SMALL, effort=0, random_state=number, checkpoint=kept).fit(*load_iris(return_X_y=True))
    for path in kept.iterdir():
        path.unlink()
    with ThreadPoolExecutor(N_THREADS) as pool:
        for estimator in estimators:
            queries = rng.normal(size=(5000, estimator.n_features_in_))
            expected = estimator.predict(queries)
            path = folder / "model.json"
            estimator.save(path)
            again = type(estimator).load(path)
            answers = pool.map(lambda _, model=again, queries=queries: model.predict(queries), range(4 * N_THREADS))
            assert all(np.array_equal(answer, expected) for answer in answers)
            assert np.array_equal(Model.load(path).predict(queries), expected)


def main() -> None:
    """Run rounds for the given time and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--warm-up", type=float, help="seconds before memory is compared; a fifth by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warm_up = options.seconds / 5 if options.warm_up is None else options.warm_up
    started, shown, number, samples = time.monotonic(), 0.0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() - started < options.seconds:
            one_round(number, Path(folder))
            number += 1
            elapsed, sample = time.monotonic() - started, Sample.now()
            if elapsed >= warm_up:
                samples.append(sample)
            if elapsed - shown >= 60:
                shown = elapsed
                print(
                    f"{elapsed:6.0f} s, round {number}: {sample.megabytes:.1f} MB, {sample.n_files} files", flush=True
                )
    if len(samples) < 10:
        sys.exit(f"only {len(samples)} rounds after the warm-up; take more than {options.seconds:g} seconds.")
    tenth = max(3, len(samples) // 10)
    first, last = (
        Sample(*(statistics.median(column) for column in zip(*part))) for part in (samples[:tenth], samples[-tenth:])
    )
    growth = last.megabytes / first.megabytes
    print(f"{number} rounds in {options.seconds:g} s, warm-up {warm_up:g} s")
    print(f"memory {first.megabytes:.1f} MB -> {last.megabytes:.1f} MB ({100 * (growth - 1):+.1f} %)")
    print(f"open files {first.n_files:g} -> {last.n_files:g}, threads {first.n_threads:g} -> {last.n_threads:g}")
    sys.exit(growth > ALLOWED or last.n_files > first.n_files + 5 or last.n_threads > first.n_threads + 5)


if __name__ == "__main__":
    main()
