"""What one wrong number costs: one value of the training rows is moved far away, and clean test rows judge the tree.

Each table of ``paper/tables-classes.toml`` and ``paper/tables-numbers.toml`` with a column of numbers and at most
``MOST_ROWS`` rows is split as its own benchmark splits it. One training row, in one column that varies, both drawn by
the seed, gets a value that is so many standard deviations above the mean. The tree is fitted to the clean table, to
the spoilt one, and to the spoilt one with other distances at which training clips a column (``REACH`` in
``fit/data.py``), among them none. ``python benchmarks/outliers.py`` appends one record per fit to ``outliers.jsonl``,
goes on where it was stopped, and prints the report, which is a function of them. ``--effort 1`` adds the default.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

import numpy as np
from measure import table
from sklearn.metrics import accuracy_score, r2_score

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit import data as fit_data
from dtsemnet_paper.bench.csv_files import is_number
from dtsemnet_paper.bench.data import DataSpec, load_data, read_catalogue, take_rows
from dtsemnet_paper.bench.splits import split_rows
from dtsemnet_paper.records import Job, Record, key_of, provenance, read_records, run_missing

HERE = Path(__file__).parent
PAPER, RESULTS, REPORT = HERE.parent / "paper", HERE / "outliers.jsonl", HERE / "OUTLIERS.md"
TASKS = {"classes": "accuracy", "numbers": "R2"}
DISTANCES = (1e3, 1e12, 1e300)
"""Of the wrong value from the mean, in standard deviations of the column."""
REACHES = (5.0, fit_data.REACH, 20.0, None)
"""Where training clips, in standard deviations from the median; None: it does not."""
MOST_ROWS = 5000
SEEDS = {0: range(3), 1: range(2)}
"""By effort."""


def main() -> None:
    """Run what has no record yet, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", type=int, default=0, choices=[0, 1])
    parser.add_argument("--report", action="store_true", help="write OUTLIERS.md from the records, fit nothing")
    arguments = parser.parse_args()
    if not arguments.report:
        run_missing(jobs(arguments.effort))
    text = report(read_records(RESULTS))
    REPORT.write_text(text, encoding="utf-8")
    print(text)


def jobs(effort: int) -> Iterator[Job]:
    """All fits of an effort: on the clean table, on spoilt ones, and without clipping or with another distance."""
    catalogue = read_catalogue(PAPER / "csv-tables.toml")
    ways: list[tuple[float | None, float | None]] = [(None, fit_data.REACH)]
    ways += [(distance, fit_data.REACH) for distance in DISTANCES]
    ways += [(1e12, reach) for reach in REACHES if reach != fit_data.REACH and not effort]
    for kind in TASKS:
        for name in tomllib.loads((PAPER / f"tables-{kind}.toml").read_text(encoding="utf-8"))["sets"]:
            spec = catalogue[name]
            for seed in SEEDS[effort]:
                for distance, reach in ways:
                    request = {"table": name, "task": kind, "seed": seed, "effort": effort}
                    request |= {"distance": distance, "reach": reach}
                    yield Job(key_of(request), RESULTS, partial(fit, request, spec))


def fit(request: Record, spec: DataSpec) -> Record | None:
    """Fit one tree and judge it on clean test rows; None if the table is too large or has no numbers."""
    data = load_data(spec)
    split = split_rows(data, request["seed"])
    rows, test = (take_rows(data.X, part) for part in (split.train, split.test))
    numbers = [name for name in rows.columns if is_number(rows[name].dtype) and rows[name].std() > 0]
    if len(data.y) > MOST_ROWS or not numbers:
        return None
    if request["distance"] is not None:
        rng = np.random.default_rng(request["seed"])
        rows = spoilt(rows, rng.choice(numbers), int(rng.integers(len(rows))), request["distance"])
    make: Any = DTSemNetClassifier if request["task"] == "classes" else DTSemNetRegressor
    tree = make(effort=request["effort"], random_state=request["seed"])
    reach = request["reach"]
    constant = {"REACH": reach} if reach is not None else {"FAR_TAILS": np.inf}
    with mock.patch.multiple(fit_data, **constant):
        tree.fit(rows, data.y[split.train])
    score = accuracy_score if request["task"] == "classes" else r2_score
    result = score(data.y[split.test], tree.predict(test))
    return {"request": request, "score": float(result), **provenance("dtsemnet", "numpy", "scikit-learn")}


def spoilt(rows: Any, column: str, row: int, distance: float) -> Any:
    """A copy of the table with one value that is so many standard deviations above the mean of its column."""
    with np.errstate(over="ignore"):
        value = np.clip(rows[column].mean() + distance * rows[column].std(), None, 1e307)
    wrong = rows.astype({column: float})
    wrong.iloc[row, wrong.columns.get_loc(column)] = value
    return wrong


def report(records: list[Record]) -> str:
    """Means over tables and seeds, and how the worst table fares."""
    page = [
        "# One wrong number\n\nOne value of one training row is moved far away from the others; test rows are clean. "
        "Means over tables and seeds; in brackets the largest loss of a table (mean over seeds) against the clean fit."
        "\n\n`python benchmarks/outliers.py`, and `--effort 1` for the default.\n"
    ]
    for effort, name in ((0, "`effort=0`"), (1, "The default")):
        for kind, measure in TASKS.items():
            chosen = [r for r in records if (r["request"]["effort"], r["request"]["task"]) == (effort, kind)]
            if chosen:
                page.append(f"## {name}, {kind}\n\n{_table(chosen, measure)}\n")
    return "\n".join(page)


def _table(records: list[Record], measure: str) -> str:
    scores: dict[tuple[Any, Any], dict[str, list[float]]] = {}
    for record in records:
        asked = record["request"]
        means = scores.setdefault((asked["distance"], asked["reach"]), {})
        means.setdefault(asked["table"], []).append(record["score"])
    clean = scores[None, fit_data.REACH]
    rows = []
    for (distance, reach), tables in scores.items():
        loss = {name: fmean(clean[name]) - fmean(tables[name]) for name in tables}
        worst = max(loss, key=lambda name: loss[name])
        rows.append(
            (
                "none" if distance is None else f"{distance:.0e}",
                "not" if reach is None else f"at {reach:g}",
                f"{fmean(fmean(found) for found in tables.values()):.3f}",
                "" if distance is None else f"{loss[worst]:.3f} ({worst})",
                f"{len(tables)} x {len(next(iter(tables.values())))}",
            )
        )
    header = ("wrong value, in standard deviations", "clipped", measure, "largest loss of a table", "tables x seeds")
    return table(header, rows)


if __name__ == "__main__":
    main()
