"""CART: greedy axis-aligned trees, as scikit-learn grows them, tuned as one should.

L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression
Trees", 1984. Depth and leaf size are chosen on validation rows, then the tree is
grown once more on all rows. One deep tree answers for every smaller depth: a
greedy tree cut off at a depth is the tree grown to that depth.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dtsemnet.arrays import Array, Floats
from dtsemnet.estimators.kinds import TreeClassifier, TreeRegressor
from dtsemnet.estimators.persistence import Rule, one_of, whole
from dtsemnet.fit.data import Sample, TrainingData, set_aside
from dtsemnet.fit.leaves import constant_tree
from dtsemnet.training import History
from dtsemnet.tree import Tree

__all__ = ["CARTClassifier", "CARTRegressor"]


def _are_leaf_sizes(value: Any) -> bool:
    sizes = tuple(value) if isinstance(value, Iterable) else (value,)
    return len(sizes) > 0 and all(whole(1).is_legal(size) for size in sizes)


LEAF_SIZES = Rule(_are_leaf_sizes, f"{whole(1).words}, or a sequence of such")


class CARTClassifier(TreeClassifier):
    """A greedy axis-aligned tree for classes, its depth and leaf size chosen on validation rows.

    Parameters
    ----------
    max_depth : int, default=20
        Largest depth tried. The default is as deep as one would ever want; the paper's concise trees have 2 to 4.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
    min_samples_leaf : int or sequence of int, default=(1, 2, 5, 10, 20, 50)
        Leaf sizes tried, in rows after equal rows are merged.
    validation_fraction : float, default=0.2
        Share of the training rows that are set aside to choose by if ``X_val`` is not given. If it is 0, or there are
        fewer than 30 rows, the tree is grown to ``max_depth`` with the first leaf size.
    class_weight, categorical_features, missing, random_state
        As in :class:`~dtsemnet.DTSemNetClassifier`. The random state breaks ties between splits.

    Attributes
    ----------
    best_params_ : dict
        The depth and leaf size chosen.
    tree_, model_, classes_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Notes
    -----
    ``paper/REPORT.md`` has its figures beside the published ones. It may grow
    deeper than the published trees seem to be.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> cart = CARTClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> cart.score(X, y) > 0.93
    True
    """

    _legal: ClassVar[dict[str, Rule]] = {
        "criterion": one_of("gini", "entropy", "log_loss"),
        "min_samples_leaf": LEAF_SIZES,
    }

    def __init__(
        self,
        max_depth: int = 20,
        *,
        criterion: str = "gini",
        min_samples_leaf: Any = (1, 2, 5, 10, 20, 50),
        validation_fraction: float = 0.2,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        return _fit(self, DecisionTreeClassifier, data, rng)


class CARTRegressor(TreeRegressor):
    """A greedy axis-aligned tree with constant leaves, its depth and leaf size chosen on validation rows.

    Parameters
    ----------
    max_depth : int, default=20
        Largest depth tried.
    criterion : {"squared_error", "absolute_error", "friedman_mse", "poisson"}, default="squared_error"
        How splits are chosen; trees are compared by their squared error on validation rows.
    min_samples_leaf, validation_fraction, categorical_features, missing, random_state
        As in :class:`CARTClassifier`.

    Notes
    -----
    The paper's own runs of CART choose splits at random and prune strongly; this tree does neither.
    ``paper/REPORT.md`` has its figures beside the published ones.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> CARTRegressor(random_state=0).fit(X, y).score(X, y) > 0.3
    True
    """

    _legal: ClassVar[dict[str, Rule]] = {
        "criterion": one_of("squared_error", "absolute_error", "friedman_mse", "poisson"),
        "min_samples_leaf": LEAF_SIZES,
    }

    def __init__(
        self,
        max_depth: int = 20,
        *,
        criterion: str = "squared_error",
        min_samples_leaf: Any = (1, 2, 5, 10, 20, 50),
        validation_fraction: float = 0.2,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        return _fit(self, DecisionTreeRegressor, data, rng)


def _fit(options: Any, grower: Any, data: TrainingData, rng: np.random.Generator) -> Tree:
    """Choose depth and leaf size, and grow the tree on all rows."""
    given = options.min_samples_leaf
    sizes = tuple(int(size) for size in given) if isinstance(given, Iterable) else (int(given),)
    options.history_ = History()
    options.best_params_ = {"max_depth": 0, "min_samples_leaf": int(sizes[0])}
    if data.is_constant or options.max_depth == 0:
        return constant_tree(data)
    seed = int(rng.integers(2**31))

    def grow(sample: Sample, depth: int, size: int) -> Any:
        tree = grower(criterion=options.criterion, max_depth=depth, min_samples_leaf=int(size), random_state=seed)
        y = sample.y if sample.y.ndim == 1 or sample.y.shape[1] > 1 else sample.y[:, 0]
        return tree.fit(sample.to_array(), y, sample.weight)

    depth, size = options.max_depth, sizes[0]
    train, validation = set_aside(data, options.validation_fraction, rng)
    if validation is not None:
        losses = np.stack([_losses_by_depth(grow(train, depth, s), validation, depth) for s in sizes])
        depth, size = _simplest(losses, sizes, 1.0 if data.class_names else float(losses[0, 0]))
    options.best_params_ = {"max_depth": int(depth), "min_samples_leaf": int(size)}
    return _as_tree(grow(data.sample, depth, size), data) if depth else constant_tree(data)


def _simplest(losses: Floats, sizes: tuple[int, ...], scale: float) -> tuple[int, int]:
    """Among trees that lose least, up to a millionth, the shallowest, and of these the one with the largest leaves."""
    good = np.argwhere(losses <= losses.min() + 1e-6 * scale)
    depth, size = min((int(d), -sizes[k]) for k, d in good)
    return depth, -size


def _losses_by_depth(fitted: Any, judges: Sample, depth: int) -> Floats:
    """Loss of the tree cut off at each depth from 0 on."""
    nodes, X = fitted.tree_, judges.to_array().astype(np.float32)
    at, losses = np.zeros(len(judges), np.int64), []
    for _ in range(depth + 1):
        losses.append(np.average(_losses(fitted, at, judges.y), weights=judges.weight))
        inner = np.flatnonzero(nodes.children_left[at] >= 0)
        node = at[inner]
        left = X[inner, nodes.feature[node]] <= nodes.threshold[node]
        at[inner] = np.where(left, nodes.children_left[node], nodes.children_right[node])
    return np.array(losses)


def _losses(fitted: Any, node: Array, y: Array) -> Floats:
    """Loss of each row if its node were a leaf."""
    value = fitted.tree_.value[node]
    if hasattr(fitted, "classes_"):
        return np.asarray(fitted.classes_[value[:, 0, :].argmax(axis=1)] != y, dtype=np.float64)
    return np.asarray(np.square(value[:, :, 0] - y).sum(axis=1))


def _as_tree(fitted: Any, data: TrainingData) -> Tree:
    """Convert, with the names of the data, and a column for each class, held or not."""
    tree = Tree.from_sklearn(fitted)
    value = tree.value
    if data.class_names is not None:
        value = np.zeros((tree.n_leaves, len(data.class_names)))
        value[:, fitted.classes_] = tree.value
    return tree.replace(value=value, feature_names=data.feature_names, class_names=data.class_names)
