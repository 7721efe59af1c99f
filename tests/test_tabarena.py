"""The model for AutoGluon works against its interface; a stand-in of that interface serves where AutoGluon is not.

The stand-in holds what the wrapper uses of ``AbstractModel`` of AutoGluon 1.6: it was written from the interface, and
the wrapper was tried with AutoGluon 1.6.3 itself (see ``benchmarks/tabarena/README.md``).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

FOLDER = Path(__file__).parents[1] / "benchmarks" / "tabarena"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="a source distribution holds no benchmarks")


class StandIn:
    """The part of AutoGluon's AbstractModel that a model relies on."""

    def __init__(self, problem_type: str, hyperparameters: dict[str, object]) -> None:
        self.problem_type, self.hyperparameters = problem_type, hyperparameters

    def preprocess(self, X: pd.DataFrame, **options: object) -> pd.DataFrame:
        return X

    def _get_model_params(self) -> dict[str, object]:
        return dict(self.hyperparameters)


@pytest.fixture
def wrapper(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    for name in ("autogluon", "autogluon.core", "autogluon.core.models"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(sys.modules["autogluon.core.models"], "AbstractModel", StandIn, raising=False)
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.delitem(sys.modules, "tabarena_model", raising=False)
    return importlib.import_module("tabarena_model")


def test_tables_with_categories_and_holes_are_fitted_as_they_are(wrapper: types.ModuleType) -> None:
    table = load_iris(as_frame=True).frame
    table["colour"] = pd.Categorical(np.random.default_rng(0).choice(["red", "green", None], len(table)))
    table.iloc[::9, 0] = np.nan
    X, y = table.drop(columns="target"), table["target"]
    model = wrapper.DTSemNetModel("multiclass", {"max_depth": 2, "n_init": 1, "max_iter": 30, "random_state": 0})
    model._fit(X, y, num_cpus=1, num_gpus=0, verbosity=2)
    assert model.model.predict_proba(X).shape == (150, 3)
    assert model.model.score(X, y) > 0.9
    assert model._estimate_memory_usage(X) > 400e6


def test_a_time_limit_ends_trainings_and_leaves_a_tree(wrapper: types.ModuleType) -> None:
    X, y = load_diabetes(as_frame=True, return_X_y=True)
    model = wrapper.DTSemNetModel("regression", {"max_depth": 2, "n_init": 1, "max_iter": 400, "random_state": 0})
    model._fit(X, y, time_limit=0.0, num_cpus=1)
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9", exc_type=ImportError)
    assert model.model.history_.stopped == "callback"
    assert len(model.model.history_) < 400
    assert np.isfinite(model.model.predict(X)).all()


def test_every_tuned_name_is_a_parameter(wrapper: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Space:
        def __init__(self, *values: object, **options: object) -> None:
            self.values = values

    space = types.ModuleType("autogluon.common.space")
    space.Categorical = space.Real = Space  # type: ignore[attr-defined]
    for name in ("autogluon.common", "autogluon.common.space"):
        monkeypatch.setitem(sys.modules, name, space)
    from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

    names = set(wrapper.search_space())
    assert names <= set(DTSemNetClassifier().get_params()) & set(DTSemNetRegressor().get_params())
    X, y = load_iris(return_X_y=True)
    quick = {"n_init": 1, "max_iter": 1}
    for name, values in wrapper.search_space().items():
        for value in values.values:
            DTSemNetClassifier(**quick | {name: value, "max_depth": 2}).fit(X, y)
