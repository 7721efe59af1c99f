"""Folders of data, archives that scikit-learn ships and CSV files drawn here, with catalogues and small tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

CATALOGUE = """
[iris]
title = "Iris"
task = "classification"
rows = 150
features = 4
classes = 3
split = { rule = "random" }

[tumours]
task = "classification"
rows = 569
features = 30
classes = 2
split = { rule = "fixed", test = 0.2, validation = 0.2 }

[diabetes]
task = "regression"
rows = 442
features = 10
target_factor = 0.1
split = { rule = "rest", train = 0.7, test = 0.7 }

[nowhere]
task = "classification"
rows = 10
features = 2
classes = 2
source = "a shelf"
"""

TABLE = """
title = "Flowers and tumours"
source = "a book"
score = "accuracy"
sets = ["iris", "tumours", "nowhere"]
methods = ["dtsemnet", "sklearn.tree:DecisionTreeClassifier"]
seeds = 2
heights = [1, 2]

[height]
iris = 2
tumours = 1

[published.dtsemnet]
iris = { mean = 96.0, sd = 2.0, height = 2 }
nowhere = { mean = 50.0, sd = 1.0, height = 2 }
"""


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    X, y = load_iris(return_X_y=True)
    np.savez(folder / "iris.npz", X=X.astype(np.float32), y=y.astype(np.int64))
    X, y = load_breast_cancer(return_X_y=True)
    np.savez(folder / "tumours.npz", X=X, y=y.astype(np.int64))
    X, y = load_diabetes(return_X_y=True)
    np.savez(folder / "diabetes.npz", X=X, y=y.astype(np.float32))
    monkeypatch.setenv("DTSEMNET_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def paper(tmp_path: Path, data_folder: Path) -> Path:
    """A folder with the table ``small``."""
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "datasets.toml").write_text(CATALOGUE)
    (folder / "small.toml").write_text(TABLE)
    return folder


CSV_CATALOGUE = """
[flora]
file = "csv"
task = "classification"
rows = 90
features = 4
text = 2
classes = 3
split = { rule = "holdout" }
source = "a meadow"

[rivers]
file = "csv"
task = "regression"
rows = 80
features = 3
text = 1
target_factor = 10
split = { rule = "holdout" }
"""

CSV_TABLE = """
title = "{name}"
score = "{score}"
means = {means}
tie = 0.3
datasets = "csv-tables.toml"
sets = ["{name}"]
methods = ["dtsemnet", "cart-tuned"]
seeds = 2
protocols = ["whole"]
"""


def flora() -> pd.DataFrame:
    """Classes that depend on a category and a number; text and numbers with gaps, one of them in a single row."""
    rng = np.random.default_rng(0)
    colour, soil = rng.choice(["red", "blue", "green"], 90), rng.choice(["clay", "sand"], 90).astype(object)
    height, width = rng.normal(size=90), rng.normal(size=90)
    kind = np.where(colour == "red", "rose", np.where(height > 0, "iris", "lily"))
    soil[::7], height[::11], width[3] = None, np.nan, np.nan
    return pd.DataFrame({"colour": colour, "soil": soil, "height": height, "width": width, "target": kind})


def rivers() -> pd.DataFrame:
    """Numbers that depend on a category and two numbers, one of them whole."""
    rng = np.random.default_rng(1)
    bed, slope, gates = rng.choice(["rock", "mud"], 80), rng.normal(size=80), rng.integers(5, size=80)
    flow = np.where(bed == "rock", 3.0, 0.0) + slope + 0.5 * gates + rng.normal(scale=0.1, size=80)
    slope[::9] = np.nan
    return pd.DataFrame({"bed": bed, "slope": slope, "gates": gates, "target": flow})


@pytest.fixture
def csv_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tables ``flora`` and ``rivers``, one set each; DTSEMNET_TABLES names that of their rows."""
    rows, folder = tmp_path / "tables", tmp_path / "paper"
    rows.mkdir()
    folder.mkdir()
    flora().to_csv(rows / "flora.csv", index=False)
    rivers().to_csv(rows / "rivers.csv", index=False)
    (folder / "csv-tables.toml").write_text(CSV_CATALOGUE)
    for name, score, means in (
        ("flora", "accuracy", ["test", "log_loss", "auc", "columns", "seconds"]),
        ("rivers", "rmse", ["r2", "leaves", "seconds"]),
    ):
        (folder / f"{name}.toml").write_text(CSV_TABLE.format(name=name, score=score, means=means))
    monkeypatch.setenv("DTSEMNET_TABLES", str(rows))
    return folder
