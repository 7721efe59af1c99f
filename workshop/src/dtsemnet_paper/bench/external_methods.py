"""Methods of other packages: one tree each, with scikit-learn's ``fit`` and ``predict``.

These methods of the benchmarks are optional. Each adapter makes its package grow one tree no
deeper than ``max_depth``; if a package has no limit of depth, one with as many leaves or rules
as such a tree has. They use no validation rows: the honest protocol tries the heights.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from dtsemnet.arrays import Array

__all__ = [
    "CubistRegressor", "LightGBMLinearRegressor", "ObliqueTreeClassifier", "ObliqueTreeRegressor", "SGTClassifier",
    "SGTRegressor", "YDFClassifier", "YDFRegressor",
]  # fmt: skip


class _Adapter(BaseEstimator):  # type: ignore[misc]
    """What the adapters share."""

    def __init__(self, max_depth: int = 5, random_state: int | None = None) -> None:
        self.max_depth = max_depth
        self.random_state = random_state

    def predict(self, X: Any) -> Array:
        """Predict by the one tree."""
        predicted: Array = np.asarray(self.model_.predict(X))
        return predicted


class LightGBMLinearRegressor(RegressorMixin, _Adapter):  # type: ignore[misc]
    """One LightGBM tree with linear leaves.

    LightGBM keeps the leaves of its very first tree constant, so a stump without a split (no gain is large enough for
    it) comes first, and the second tree is the one that is used.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the tree on standardised targets."""
        lightgbm = importlib.import_module("lightgbm")
        options = {
            "objective": "regression", "linear_tree": True, "learning_rate": 1.0, "max_depth": self.max_depth,
            "num_leaves": max(2, min(2**self.max_depth, 131072)), "linear_lambda": 1e-3, "num_threads": 1,
            "seed": self.random_state or 0, "verbosity": -1, "deterministic": True,
        }  # fmt: skip
        self.offset_, self.scale_ = float(np.mean(y)), float(np.std(y)) or 1.0
        data = lightgbm.Dataset(X, (np.asarray(y) - self.offset_) / self.scale_, params=options, free_raw_data=False)
        stump = lightgbm.train(
            {**options, "min_gain_to_split": 1e30}, data, num_boost_round=1, keep_training_booster=True
        )
        self.model_ = lightgbm.train(options, data, num_boost_round=1, init_model=stump)
        return self

    def predict(self, X: Any) -> Array:
        """Predict by the one tree, in the units of the targets."""
        return super().predict(X) * self.scale_ + self.offset_


class CubistRegressor(RegressorMixin, _Adapter):  # type: ignore[misc]
    """One Cubist model of at most ``2 ** max_depth`` rules, without committees and neighbours.

    By default 512 rules, about Cubist's own limit of 500.
    """

    def __init__(self, max_depth: int = 9, random_state: int | None = None) -> None:
        super().__init__(max_depth, random_state)

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the rules."""
        cubist = importlib.import_module("cubist")
        self.model_ = cubist.Cubist(n_rules=2**self.max_depth, n_committees=1, random_state=self.random_state)
        self.model_.fit(X, y)
        return self

    def predict(self, X: Any) -> Array:
        """Predict by the rules."""
        with warnings.catch_warnings():  # Cubist names the columns of arrays itself, then misses the names
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return super().predict(X)


class _ObliqueTree(_Adapter):
    _kind: str

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the tree."""
        kind = getattr(importlib.import_module("obliquetree"), self._kind)
        self.model_ = kind(use_oblique=True, max_depth=self.max_depth, random_state=self.random_state)
        self.model_.fit(np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64))
        return self


class ObliqueTreeClassifier(ClassifierMixin, _ObliqueTree):  # type: ignore[misc]
    """One tree of the package obliquetree, for classes."""

    _kind = "Classifier"


class ObliqueTreeRegressor(RegressorMixin, _ObliqueTree):  # type: ignore[misc]
    """One tree of the package obliquetree, with constant leaves."""

    _kind = "Regressor"


class _YDF(_Adapter):
    _task: str

    def fit(self, X: Any, y: Any) -> Self:
        """Grow a CART tree with sparse oblique splits."""
        ydf = importlib.import_module("ydf")
        learner = ydf.CartLearner(
            label="y", task=getattr(ydf.Task, self._task), max_depth=self.max_depth + 1,
            split_axis="SPARSE_OBLIQUE", random_seed=self.random_state or 0, num_threads=1,
        )  # fmt: skip
        self.classes_ = np.unique(y)
        ydf.verbose(0)
        self.model_ = learner.train({"x": np.asarray(X, dtype=np.float32), "y": np.asarray(y)})
        self.remarks_ = _size([len(getattr(node.condition, "attributes", [0])) for node in _splits_of(self.model_)])
        return self


def _splits_of(model: Any) -> Iterator[Any]:
    """The splits of the one tree of Yggdrasil."""
    todo = [model.get_tree(0).root]
    while todo:
        node = todo.pop()
        if hasattr(node, "condition"):
            yield node
            todo += [node.pos_child, node.neg_child]


def _size(n_features: list[int]) -> dict[str, Any]:
    """What a record says of a binary tree whose splits read so many features each."""
    return {"leaves": len(n_features) + 1, "columns": float(np.mean(n_features)) if n_features else None}


class _SGT(_Adapter):
    """One shape generalised tree: each split is an axis-aligned tree over one feature, or over two."""

    _kind: str

    def __init__(self, max_depth: int = 5, pairs: bool = False, random_state: int | None = None) -> None:
        super().__init__(max_depth, random_state)
        self.pairs = pairs

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the tree."""
        kind = getattr(importlib.import_module("sgtlearn"), self._kind)
        candidates = 10 if self.pairs else 0
        self.model_ = kind(
            max_depth=self.max_depth, pairwise_candidates=candidates, random_state=self.random_state or 0
        )
        self.model_.fit(np.asarray(X, dtype=np.float64), np.asarray(y))
        nodes = self.model_.tree_export()["nodes"]
        self.remarks_ = _size([len(node["features"]) for node in nodes if not node["is_leaf"]])
        return self


class SGTClassifier(ClassifierMixin, _SGT):  # type: ignore[misc]
    """One tree of the package sgtlearn, for classes."""

    _kind = "SGTClassifier"

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the tree."""
        self.classes_ = np.unique(y)
        return super().fit(X, y)


class SGTRegressor(RegressorMixin, _SGT):  # type: ignore[misc]
    """One tree of the package sgtlearn, with constant leaves."""

    _kind = "SGTRegressor"


class YDFClassifier(ClassifierMixin, _YDF):  # type: ignore[misc]
    """One sparse oblique tree of Yggdrasil, for classes."""

    _task = "CLASSIFICATION"

    def predict(self, X: Any) -> Array:
        """Take the most likely class."""
        chances = np.asarray(self.model_.predict({"x": np.asarray(X, dtype=np.float32)}))
        names = np.asarray(self.model_.label_classes()).astype(self.classes_.dtype)
        codes = chances.argmax(axis=1) if chances.ndim == 2 else (chances > 0.5).astype(np.int64)
        predicted: Array = names[codes]
        return predicted


class YDFRegressor(RegressorMixin, _YDF):  # type: ignore[misc]
    """One sparse oblique tree of Yggdrasil, with constant leaves."""

    _task = "REGRESSION"

    def predict(self, X: Any) -> Array:
        """Predict by the one tree."""
        predicted: Array = np.asarray(self.model_.predict({"x": np.asarray(X, dtype=np.float32)}))
        return predicted
