"""Each peer learns more than the mean, with one tree, from the same call."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from dtsemnet_paper.bench.external_methods import (
    CubistRegressor,
    LightGBMLinearRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    SGTClassifier,
    SGTRegressor,
    YDFClassifier,
    YDFRegressor,
)

CLASSIFIERS = [ObliqueTreeClassifier, SGTClassifier, YDFClassifier]
REGRESSORS = [
    CubistRegressor,
    LightGBMLinearRegressor,
    ObliqueTreeRegressor,
    SGTRegressor,
    YDFRegressor,
]


@pytest.mark.parametrize("peer", CLASSIFIERS)
def test_classes_are_learned(peer):
    X, y = load_iris(return_X_y=True)
    fitted = peer(max_depth=3, random_state=0).fit(X[::2], y[::2])
    assert np.isin(fitted.predict(X[1::2]), y).all()
    assert fitted.score(X[1::2], y[1::2]) > 0.85


@pytest.mark.parametrize("peer", REGRESSORS)
def test_numbers_are_learned(peer):
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = X @ [1.0, 2.0, 0.0] + 10.0
    assert peer(max_depth=4, random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.6


def test_records_say_how_many_features_a_split_reads():
    X, y = load_iris(return_X_y=True)
    alone = SGTClassifier(max_depth=2, random_state=0).fit(X, y)
    assert alone.remarks_["columns"] == 1
    assert 2 <= alone.remarks_["leaves"] <= 4
    assert SGTClassifier(max_depth=3, pairs=True, random_state=0).fit(X, y).remarks_["columns"] <= 2
    assert 1 <= YDFClassifier(max_depth=2, random_state=0).fit(X, y).remarks_["columns"] <= 4
    assert YDFClassifier(max_depth=2, random_state=0).fit(X, y).remarks_["leaves"] <= 4
