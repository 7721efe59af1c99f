"""Scorecards beside logistic regression: how much accuracy it costs to add up whole points.

Scikit-learn's breast cancer and three tables of ``paper/csv-tables.toml`` are split 70 to 30, five times. A tree of one
split counts whole points from -10 to 10, dense and on at most five columns, or from -3 to 3. Beside it stand the same
tree without whole points, one of depth 2, and a logistic regression whose penalty is chosen by five folds (columns
standardised, categories one-hot). ``python benchmarks/scorecards.py`` appends one record per fit to
``scorecards.jsonl``, goes on where it was stopped, and prints the report, which is a function of the records.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from measure import table
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from dtsemnet import DTSemNetClassifier
from dtsemnet_paper.bench.data import load_data, read_catalogue, take_rows
from dtsemnet_paper.bench.one_hot import OneHot
from dtsemnet_paper.bench.searches import linear_classifier
from dtsemnet_paper.bench.splits import split_rows
from dtsemnet_paper.records import Job, Record, key_of, provenance, read_records, run_missing

HERE = Path(__file__).parent
PAPER, RESULTS, REPORT = HERE.parent / "paper", HERE / "scorecards.jsonl", HERE / "SCORECARDS.md"
TABLES = ("breast cancer", "hepatitis", "german", "saheart")
METHODS: dict[str, dict[str, Any] | None] = {
    "logistic regression": None,
    "one split": {"max_depth": 1},
    "points to 10": {"max_depth": 1, "integer_weights": 10},
    "points to 10, 5 columns": {"max_depth": 1, "integer_weights": 10, "max_split_features": 5},
    "points to 3": {"max_depth": 1, "integer_weights": 3},
    "points to 10, depth 2": {"max_depth": 2, "integer_weights": 10},
}
SEEDS = range(5)


def main() -> None:
    """Run what has no record yet, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true", help="write SCORECARDS.md from the records, fit nothing")
    if not parser.parse_args().report:
        run_missing(jobs())
    text = report(read_records(RESULTS))
    REPORT.write_text(text, encoding="utf-8")
    print(text)


def jobs() -> Iterator[Job]:
    """All fits."""
    for seed in SEEDS:
        for name in TABLES:
            for method, options in METHODS.items():
                request = {"table": name, "method": method, "options": options, "seed": seed}
                yield Job(key_of(request), RESULTS, partial(fit, request))


def fit(request: Record) -> Record:
    """Fit one model and judge it on test rows."""
    seed = request["seed"]
    X, y, X_test, y_test = rows_of(request["table"], seed)
    about: Record = {}
    if request["options"] is None:
        encode = OneHot(X)
        model = linear_classifier(seed).fit(encode(X), y)
        accuracy = model.score(encode(X_test), y_test)
    else:
        tree = DTSemNetClassifier(random_state=seed, **request["options"]).fit(X, y)
        accuracy = tree.score(X_test, y_test)
        column = np.array([feature.column_index for feature in tree.model_.encoder.features])
        columns = [len(set(column[weight != 0].tolist())) for weight in tree.tree_.weight]
        about = {"largest": float(np.abs(tree.tree_.weight).max(initial=0.0)), "columns": columns}
        about["is whole"] = bool((tree.tree_.weight % 1 == 0).all() and (tree.tree_.bias % 1 == 0).all())
    return {"request": request, "accuracy": float(accuracy), **about, **provenance("dtsemnet", "numpy", "scikit-learn")}


def rows_of(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Training rows and test rows with their classes."""
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        return train, y_train.to_numpy(), test, y_test.to_numpy()
    data = load_data(read_catalogue(PAPER / "csv-tables.toml")[name])
    split = split_rows(data, seed)
    return take_rows(data.X, split.train), data.y[split.train], take_rows(data.X, split.test), data.y[split.test]


def report(records: list[Record]) -> str:
    """Mean accuracy of each method on each table."""
    lines = []
    for method in METHODS:
        own = [r for r in records if r["request"]["method"] == method]
        cells = [[r["accuracy"] for r in own if r["request"]["table"] == name] for name in TABLES]
        means = [f"{100 * fmean(cell):.1f} ({len(cell)})" if cell else "" for cell in cells]
        whole = [r for r in own if "largest" in r]
        largest = f"{max(r['largest'] for r in whole):.3g}" if whole and all(r["is whole"] for r in whole) else ""
        lines.append([method, *means, largest])
    return (
        "# Scorecards\n\nAccuracy on test rows in %, mean over splits of 70 to 30 (their number in brackets), and the "
        "largest weight of a split if all are whole numbers.\n\n"
        f"{table(['method', *TABLES, 'largest weight'], lines)}\n\n`python benchmarks/scorecards.py`\n"
    )


if __name__ == "__main__":
    main()
