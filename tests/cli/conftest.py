"""A folder with tables and quickly fitted models, and a way to run the command line in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from dtsemnet.cli import app
from dtsemnet.tree import Topology, Tree

QUICK = ("--n-init", "1", "--epochs", "20")
Run = Callable[..., Any]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables and models, made once; tests that write use ``folder``."""
    folder = tmp_path_factory.mktemp("cli")
    wine = load_wine(as_frame=True)
    table = wine.data.assign(cultivar=[f"cultivar {code + 1}" for code in wine.target])
    table.to_csv(folder / "wine.csv", index=False)
    people().to_csv(folder / "people.csv", index=False)
    people().to_parquet(folder / "people.parquet")
    Tree(
        Topology.complete(1),
        [[1.0, -1.0]],
        [0.5],
        [[1, 0], [0, 1]],
        feature_names=["a", "b"],
        class_names=["no", "yes"],
    ).save(folder / "bare.json")
    pd.DataFrame({"b": [1.0, 0.0, 2.0], "a": [0.5, 1.0, 0.0]}).to_csv(folder / "ab.csv", index=False)
    for name, target, depth in (("wine", "cultivar", 2), ("people", "income", 1)):
        words = ["fit", folder / f"{name}.csv", "--target", target, "--depth", depth, "--out", folder / f"{name}.json"]
        done = CliRunner().invoke(app, [*map(str, words), *QUICK])
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def run(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in an empty folder; ``@name`` is a prepared file."""
    monkeypatch.chdir(tmp_path)

    def invoke(*words: object, code: int = 0, input: str | None = None) -> Any:
        arguments = [str(prepared / str(word)[1:]) if str(word).startswith("@") else str(word) for word in words]
        done = CliRunner().invoke(app, arguments, input=input)
        assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
        done.json = lambda: json.loads(done.stdout)
        return done

    return invoke


def people() -> pd.DataFrame:
    """Numbers, text, a category of numbers, missing values, and columns that cannot help."""
    rng = np.random.default_rng(0)
    n = 200
    age = rng.integers(18, 80, n)
    city = rng.choice(["Bergen", "Oslo", "7"], n)
    income = 300.0 + 5.0 * age + 80.0 * (city == "Oslo") + rng.normal(0, 5, n)
    table = pd.DataFrame({"age": age, "city": city, "visits": rng.poisson(3, n).astype(float), "income": income})
    table.loc[::10, "visits"] = np.nan
    table.loc[::17, "city"] = None
    table.loc[[5, 6], "income"] = np.nan
    return table.assign(name=[f"person {i}" for i in range(n)], always="same", number=np.arange(n))
