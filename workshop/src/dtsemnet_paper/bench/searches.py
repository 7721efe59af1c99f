"""Rivals that choose their own settings, by a search inside the training rows.

Each function makes a :class:`~sklearn.model_selection.GridSearchCV`: it tries a grid of settings on folds of
the rows, or on a fifth of them, and fits the best one to all rows. Of equally good settings the first is kept, so
grids begin with the simplest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet.arrays import Array
from dtsemnet_paper.baselines import DGTClassifier, DGTRegressor, TAOClassifier, TAORegressor
from dtsemnet_paper.bench.external_methods import SGTClassifier, SGTRegressor, YDFClassifier, YDFRegressor

__all__ = [
    "cart_classifier", "cart_regressor", "dgt_classifier", "dgt_regressor", "linear_classifier", "linear_regressor",
    "sgt_classifier", "sgt_regressor", "tao_classifier", "tao_regressor", "ydf_classifier", "ydf_regressor",
]  # fmt: skip

CART_GRID: dict[str, list[Any]] = {"max_depth": [2, 3, 4, 5, 6, 8, 10, 15, None], "min_samples_leaf": [20, 10, 5, 2, 1]}
DEPTHS: dict[str, list[Any]] = {"max_depth": [2, 4, 6, 8]}
SGT_GRID = {**DEPTHS, "pairs": [False, True]}
STRENGTHS = [0.01, 0.1, 1.0, 10.0, 100.0]
FOLDS = 5
SHARE = 0.2
"""Share of the training rows on which the depth of an oblique tree is chosen."""


def cart_classifier(random_state: int | None = None) -> GridSearchCV:
    """CART for classes; depth and leaf size by five folds."""
    return _search(DecisionTreeClassifier(random_state=random_state), CART_GRID, _folds(random_state))


def cart_regressor(random_state: int | None = None) -> GridSearchCV:
    """CART for numbers; depth and leaf size by five folds."""
    return _search(DecisionTreeRegressor(random_state=random_state), CART_GRID, _number_folds(random_state))


def linear_classifier(random_state: int | None = None) -> GridSearchCV:
    """Logistic regression on standardised columns; strength of the penalty by five folds."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return _search(model, {"logisticregression__C": STRENGTHS}, _folds(random_state))


def linear_regressor(random_state: int | None = None) -> GridSearchCV:
    """Ridge regression on standardised columns; strength of the penalty by five folds."""
    model = make_pipeline(StandardScaler(), Ridge())
    return _search(model, {"ridge__alpha": STRENGTHS[::-1]}, _number_folds(random_state))


def tao_classifier(random_state: int | None = None) -> GridSearchCV:
    """TAO for classes; depth chosen on a fifth of the rows."""
    return _search(TAOClassifier(random_state=random_state), DEPTHS, _fifth(random_state))


def tao_regressor(random_state: int | None = None) -> GridSearchCV:
    """TAO with linear leaves; depth chosen on a fifth of the rows."""
    return _search(TAORegressor(leaf="linear", random_state=random_state), DEPTHS, _number_fifth(random_state))


def dgt_classifier(random_state: int | None = None) -> GridSearchCV:
    """DGT for classes; depth chosen on a fifth of the rows."""
    return _search(DGTClassifier(random_state=random_state), DEPTHS, _fifth(random_state))


def dgt_regressor(random_state: int | None = None) -> GridSearchCV:
    """DGT with linear leaves; depth chosen on a fifth of the rows."""
    return _search(DGTRegressor(leaf="linear", random_state=random_state), DEPTHS, _number_fifth(random_state))


def sgt_classifier(random_state: int | None = None) -> GridSearchCV:
    """A shape generalised tree for classes; depth, and one or two features a split, by five folds."""
    return _search(SGTClassifier(random_state=random_state), SGT_GRID, _folds(random_state))


def sgt_regressor(random_state: int | None = None) -> GridSearchCV:
    """A shape generalised tree for numbers; depth, and one or two features a split, by five folds."""
    return _search(SGTRegressor(random_state=random_state), SGT_GRID, _number_folds(random_state))


def ydf_classifier(random_state: int | None = None) -> GridSearchCV:
    """A sparse oblique tree of Yggdrasil for classes; depth by five folds."""
    return _search(YDFClassifier(random_state=random_state), DEPTHS, _folds(random_state))


def ydf_regressor(random_state: int | None = None) -> GridSearchCV:
    """A sparse oblique tree of Yggdrasil for numbers; depth by five folds."""
    return _search(YDFRegressor(random_state=random_state), DEPTHS, _number_folds(random_state))


def _search(model: Any, grid: dict[str, list[Any]], splits: Any) -> GridSearchCV:
    score = "accuracy" if isinstance(splits, _Stratified) else "neg_mean_squared_error"
    return GridSearchCV(model, grid, scoring=score, cv=splits, error_score="raise")


class _Stratified:
    """Splits of rows that keep the classes in proportion; a class too rare for that counts as the most frequent one."""

    def __init__(self, splitter: Any, fewest: int) -> None:
        self.splitter, self.fewest = splitter, fewest

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Array, Array]]:
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        yield from self.splitter.split(X, np.where(counts[codes] < self.fewest, counts.argmax(), codes))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return int(self.splitter.get_n_splits())


def _folds(seed: int | None) -> _Stratified:
    return _Stratified(StratifiedKFold(FOLDS, shuffle=True, random_state=seed), FOLDS)


def _number_folds(seed: int | None) -> KFold:
    return KFold(FOLDS, shuffle=True, random_state=seed)


def _fifth(seed: int | None) -> _Stratified:
    return _Stratified(StratifiedShuffleSplit(1, test_size=SHARE, random_state=seed), 2)


def _number_fifth(seed: int | None) -> ShuffleSplit:
    return ShuffleSplit(1, test_size=SHARE, random_state=seed)
