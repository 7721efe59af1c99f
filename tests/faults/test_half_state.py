"""A fit that fails in the middle leaves the estimator as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from watching import Watch, watched

QUICK = {"max_depth": 2, "max_iter": 5, "effort": 0, "n_init": 2, "random_state": 0}
TUMOURS = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("error", [MemoryError, OSError, SystemExit, ValueError])
@pytest.mark.parametrize(
    ("kind", "load"), [(DTSemNetClassifier, load_iris), (DTSemNetRegressor, load_diabetes)], ids=["classes", "numbers"]
)
def test_a_second_fit_that_fails_leaves_the_first(kind: Any, load: Any, error: type[BaseException]) -> None:
    X, y = load(return_X_y=True)
    watch = Watch()
    estimator = watched(kind(**QUICK), watch).fit(X, y)
    before, expected = dict(vars(estimator)), estimator.predict(X)
    watch.stop_after, watch.error = len(watch.n_rows_by_epoch) + 3, error
    with pytest.raises(error):
        estimator.fit(*TUMOURS)  # other columns, other classes
    assert vars(estimator) == before
    assert np.array_equal(estimator.predict(X), expected)


def test_a_first_fit_that_fails_leaves_the_estimator_unfitted() -> None:
    estimator = watched(DTSemNetClassifier(**QUICK), Watch(3, MemoryError))
    before = dict(vars(estimator))
    with pytest.raises(MemoryError):
        estimator.fit(*TUMOURS)
    assert vars(estimator) == before
