"""A folder of data that scikit-learn ships, a catalogue of it, and a small table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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
