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
    YDFClassifier,
    YDFRegressor,
)

CLASSIFIERS = [ObliqueTreeClassifier, YDFClassifier]
REGRESSORS = [
    CubistRegressor,
    LightGBMLinearRegressor,
    ObliqueTreeRegressor,
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
