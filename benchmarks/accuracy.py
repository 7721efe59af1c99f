"""Accuracy and time of a default fit on the paper's data sets, told only the depth.

Run as ``python benchmarks/accuracy.py [NAME ...] [--seeds 10]`` with ``DTSEMNET_DATA`` set. Splits are the
paper's: of the small sets half the rows train, a quarter tests, and the other quarter judges the starts; the large
sets and the regression sets have official or fixed splits. Selection sees training and validation rows alone.
Regression errors are in the unit of the paper's tables. Each set's record is appended to
``benchmarks/accuracy.jsonl`` as it is done, and ``benchmarks/ACCURACY.md`` is written from the records.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import time
from pathlib import Path

import joblib
import numpy as np
import sklearn
from sklearn.model_selection import train_test_split

import dtsemnet
from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

HERE = Path(__file__).parent
RECORDS, PAGE = HERE / "accuracy.jsonl", HERE / "ACCURACY.md"

# name: (depth, the paper's figure for this method)
SMALL = {
    "balance_scale": (2, 90.2),
    "banknote": (3, 99.8),
    "blood_transfusion": (2, 78.5),
    "acute_inflammations_1": (2, 100.0),
    "acute_inflammations_2": (2, 100.0),
    "car_evaluation": (4, 93.3),
    "breast_cancer": (2, 97.2),
    "avila": (4, 62.2),
    "wine_quality_red": (3, 58.6),
    "wine_quality_white": (4, 53.5),
    "dry_bean": (4, 91.4),
    "climate_crashes": (2, 92.9),
    "sonar": (4, 82.1),
    "optical_recognition": (4, 93.3),
}
LARGE = {
    "satimages": (6, 87.55),
    "segment": (8, 96.10),
    "pendigits": (8, 97.02),
    "connect4": (8, 82.03),
    "mnist": (8, 96.16),
    "letter": (10, 89.19),
}
REGRESSION = {
    "abalone": (5, 2.13),
    "comp_active": (5, 2.48),
    "ailerons": (5, 1.65),
    "sulfur": (5, 0.34),
    "bike_sharing": (6, 1.15),
    "houses": (5, 0.28),
    "wine_quality": (5, 0.69),
    "elevators": (4, 0.20),
    "pol": (5, 6.61),
    "superconduct": (5, 1.36),
}
VALIDATION_SHARE = {"satimages": 0.3, "pendigits": 0.2, "mnist": 0.1}


def load(name: str):
    """Read one archive from the folder named by DTSEMNET_DATA."""
    folder = os.environ.get("DTSEMNET_DATA")
    if not folder or not (Path(folder) / f"{name}.npz").exists():
        raise SystemExit(f"{name}.npz not found: set DTSEMNET_DATA to the folder that holds the data sets.")
    return np.load(Path(folder) / f"{name}.npz", allow_pickle=False)


def split_rows(name: str, content, seed: int):
    """Rows for training, validation and test."""
    y, rows = content["y"], np.arange(len(content["y"]))
    if name in SMALL:
        train, rest = train_test_split(rows, test_size=0.5, stratify=y, random_state=seed)
        counts = np.bincount(y[rest])
        stratify = y[rest] if counts[counts > 0].min() > 1 else None
        test, validation = train_test_split(rest, test_size=0.5, stratify=stratify, random_state=seed)
        return train, validation, test
    if "test_splits" in content:
        test = content["test_splits"][seed % 5]
    elif "test" in content:
        test = content["test"]
    elif name in REGRESSION:
        train, rest = train_test_split(rows, test_size=0.3, random_state=1)
        validation, test = train_test_split(rest, test_size=0.7, random_state=1)
        return train, validation, test
    else:
        test = np.isin(rows, train_test_split(rows, test_size=0.2, random_state=1)[1])
    if "val" in content:
        return rows[~test & ~content["val"]], rows[content["val"]], rows[test]
    share = VALIDATION_SHARE.get(name, 0.2)
    train, validation = train_test_split(rows[~test], test_size=share, random_state=1)
    return train, validation, rows[test]


def run(name: str, seed: int) -> dict[str, float]:
    """Fit once and score."""
    content = load(name)
    X, y = content["X"].astype(np.float64), content["y"]
    train, validation, test = split_rows(name, content, seed)
    if name in REGRESSION:
        y = y.astype(np.float64) * float(content["y_scale_paper"])
        estimator = DTSemNetRegressor(REGRESSION[name][0], random_state=seed)
    else:
        validation = validation[np.isin(y[validation], y[train])]
        estimator = DTSemNetClassifier({**SMALL, **LARGE}[name][0], random_state=seed)
    started = time.process_time()
    estimator.fit(X[train], y[train], X_val=X[validation], y_val=y[validation])
    seconds = time.process_time() - started
    if name in REGRESSION:
        return {"test": float(np.sqrt(np.mean((estimator.predict(X[test]) - y[test]) ** 2))), "cpu_seconds": seconds}
    return {"test": 100 * estimator.score(X[test], y[test]), "cpu_seconds": seconds}


def warm_up(name: str) -> None:
    """Load the compiled kernels by a fit to noise of the same kind."""
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    (DTSemNetRegressor if name in REGRESSION else DTSemNetClassifier)(2, max_iter=2).fit(X, y, X_val=X, y_val=y)


def record(name: str, n_seeds: int) -> dict[str, object]:
    """Run all seeds of a set; a small fit before the clock starts loads the kernels."""
    warm_up(name)
    runs = [run(name, seed) for seed in range(n_seeds)]
    depth, paper = {**SMALL, **LARGE, **REGRESSION}[name]
    tests, seconds = [r["test"] for r in runs], [r["cpu_seconds"] for r in runs]
    return {
        "name": name,
        "task": "regression" if name in REGRESSION else "classification",
        "depth": depth,
        "seeds": list(range(n_seeds)),
        "test": tests,
        "cpu_seconds": seconds,
        "paper": paper,
        "command": f"python benchmarks/accuracy.py {name} --seeds {n_seeds}",
        "date": datetime.date.today().isoformat(),
        "versions": {
            "dtsemnet": dtsemnet.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "python": platform.python_version(),
        },
    }


def write_page() -> None:
    """Write the table from the newest record of each set."""
    newest = {r["name"]: r for r in map(json.loads, RECORDS.read_text().splitlines())}
    lines = [
        "# Accuracy of a default fit",
        "",
        "Written by `benchmarks/accuracy.py` from its records, which hold seeds, versions and commands.",
        "Classification: test accuracy in percent. Regression: test RMSE in the unit of the paper's tables.",
        "Nothing is set but `max_depth` and `random_state`; the paper's figures were tuned for each set.",
        "Within a fit, selection sees training and validation rows alone. The one recipe behind the defaults was,",
        "however, worked out on these same sets with their test scores in view, so it has not met them as strangers.",
        "",
        "| set | depth | seeds | test, mean ± sd | paper | CPU seconds a fit, median (largest) |",
        "|---|---|---|---|---|---|",
    ]
    for name in (n for n in {**SMALL, **LARGE, **REGRESSION} if n in newest):
        r = newest[name]
        seconds = r["cpu_seconds"]
        digits = 2 if r["task"] == "classification" else 3
        lines.append(
            f"| {name} | {r['depth']} | {len(r['seeds'])} | {np.mean(r['test']):.{digits}f} ± "
            f"{np.std(r['test']):.{digits}f} | {r['paper']} | {np.median(seconds):.2f} ({max(seconds):.2f}) |"
        )
    PAGE.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="data sets; all but connect4, mnist and letter by default")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="data sets run side by side")
    options = parser.parse_args()
    default = [n for n in {**SMALL, **LARGE, **REGRESSION} if n not in ("connect4", "mnist", "letter")]
    names = options.names or default
    run(names[0], 0)
    results = joblib.Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        joblib.delayed(record)(name, options.seeds) for name in names
    )
    for r in results:
        with RECORDS.open("a") as file:
            file.write(json.dumps(r) + "\n")
        print(
            f"{r['name']:24s} {np.mean(r['test']):8.3f}  paper {r['paper']}  {np.median(r['cpu_seconds']):.2f} s",
            flush=True,
        )
        write_page()


if __name__ == "__main__":
    main()
