"""The default beside other trees and boosting on five tables: CPU time of a whole fit, and the score on test rows.

Everybody gets the training and validation rows together, as ``fit(X, y)``, on one thread; what a method chooses it
chooses inside. Test rows are those of the catalogue. Fits of all methods are interleaved, one split after the other; a
method whose package is missing is left out. Run by ``python benchmarks/peers.py``; ``--seeds 1 --sets car_evaluation``
is a quick try.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from measure import cpu_time, one_thread, table
from sklearn.base import clone

from dtsemnet_paper.bench.data import load_data, read_catalogue
from dtsemnet_paper.bench.methods import MissingMethod, find_method, fit_method
from dtsemnet_paper.bench.splits import split_rows

CATALOGUE = Path(__file__).parents[1] / "paper/datasets.toml"
SETS = ("car_evaluation", "optical_recognition", "dry_bean", "abalone", "comp_active")
METHODS = ("dtsemnet-default", "boosting", "cart-tuned", "ydf-chosen", "tao-chosen")
SEEDS = 3


def records(sets: tuple[str, ...] = SETS, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """Run all fits; seconds of CPU, accuracy or root mean squared error."""
    one_thread()
    return [record for name in sets for record in _one_set(name, seeds)]


def report(results: list[dict[str, Any]]) -> str:
    """Lay out the records as a table."""
    rows = [(r["set"], r["method"], f"{r['time']:.2f} s", f"{r['score']:.4g}", r["measure"]) for r in results]
    return table(("table", "method", "fit, CPU", "score", "measure"), rows)


def _one_set(name: str, seeds: int) -> list[dict[str, Any]]:
    data = load_data(read_catalogue(CATALOGUE)[name])
    is_classes = data.spec.task == "classification"
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(seeds):
        split = split_rows(data, seed)
        rows, test = split.visible_rows(data, whole=True), split.test
        for method in METHODS:
            try:
                estimator = find_method(method).make(data.spec.task, {}, seed)
            except MissingMethod:
                continue
            if seed == 0:
                noise = np.random.default_rng(0).normal(size=(200, rows.X.shape[1]))  # loads and compiles
                clone(estimator).fit(noise, (noise[:, 0] > 0).astype(int) if is_classes else noise[:, 0])
            time = cpu_time(lambda: fit_method(estimator, rows))  # noqa: B023
            answer = np.asarray(estimator.predict(data.X[test]))
            error = np.square(answer.reshape(-1) - np.reshape(data.y[test], -1)) if not is_classes else None
            score = 100 * float(np.mean(answer == data.y[test])) if error is None else float(np.sqrt(error.mean()))
            found.setdefault(method, []).append((time, score))
    return [
        {
            "set": name, "method": method, "measure": "accuracy" if is_classes else "RMSE",
            "time": statistics.median(time for time, _ in pairs), "score": statistics.fmean(s for _, s in pairs),
        }
        for method, pairs in found.items()
    ]  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    arguments = parser.parse_args()
    print(report(records(tuple(arguments.sets), arguments.seeds)))
