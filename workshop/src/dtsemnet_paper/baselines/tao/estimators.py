"""TAO: tree alternating optimisation, oblique or axis-aligned, for classes and numbers.

M. Carreira-Perpinan, P. Tavallali, "Alternating optimization of decision trees,
with application to learning sparse oblique trees", 2018; A. Zharmagambetov,
M. Carreira-Perpinan, "Smaller, more accurate regression forests using tree
alternating optimization", 2020.

A complete tree, grown greedily or random, is improved one level at a time, from the
leaves to the root: each split is solved again as a weighted two-class problem over the
rows that reach it (:mod:`dtsemnet_paper.baselines.kernels.tao_splits`). There is a
patent application on the method (US 2022/0318641); it is here for comparison only, and
no other estimator uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.estimators.kinds import TreeClassifier, TreeRegressor
from dtsemnet.estimators.persistence import FLAG, Rule, number, one_of, whole
from dtsemnet.fit.data import TrainingData, set_aside
from dtsemnet.fit.leaves import constant_tree
from dtsemnet.kernels import one_thread
from dtsemnet.training import History
from dtsemnet.tree import Tree
from dtsemnet_paper.baselines.common import cut_idle_splits
from dtsemnet_paper.baselines.tao.alternation import AxisAligned, Oblique
from dtsemnet_paper.baselines.tao.leaves import ClassProblem, Problem, RegressionProblem
from dtsemnet_paper.baselines.tao.search import Run, Start, race

__all__ = ["TAOClassifier", "TAORegressor"]


def _are_penalties(value: Any) -> bool:
    positive = number(0, above=True)
    return isinstance(value, Sequence) and len(value) > 0 and all(positive.is_legal(penalty) for penalty in value)


LEGAL = {
    "split": one_of("oblique", "axis_aligned"),
    "init": one_of("auto", "cart", "random"),
    "n_init": whole(1),
    "max_iter": whole(1),
    "monotone": FLAG,
    "penalties": Rule(_are_penalties, "a sequence of positive numbers"),
    "ridge": number(0, above=True),
}


class TAOClassifier(TreeClassifier):
    """A tree for classes, found by alternating optimisation (TAO).

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the complete tree to start from. At the end, leaves that no row reaches are cut off, and so are splits
        below which all leaves have the same class.
    split : {"oblique", "axis_aligned"}, default="oblique"
        Sparse linear splits, or splits on one feature, solved exactly.
    penalties : sequence of float, default=(0.1, 0.3, 1.0, 3.0)
        L1 penalties tried for oblique splits, in rows of standardised features: the larger, the fewer features in
        a split. The best is chosen on validation rows.
    init : {"auto", "cart", "random"}, default="auto"
        Initial tree: grown greedily, random, or both tried.
    n_init : int, default=2
        Random starts for each penalty.
    max_iter : int, default=20
        Most passes over the tree.
    monotone : bool, default=False
        Refuse a split that loses more than the one it replaces, as the theorem of the authors requires. This lowers
        the accuracy, because the search gets stuck early.
    validation_fraction : float, default=0.2
        Share of the training rows that are set aside to compare starts and passes if ``X_val`` is not given.
    refit : bool, default=True
        Run the best start once more on all rows, including those set aside.
    class_weight, categorical_features, missing, n_jobs, random_state
        As in :class:`~dtsemnet.DTSemNetClassifier`; ``n_jobs`` solves splits of one level side by side.

    Attributes
    ----------
    best_params_ : dict
        Initial tree, penalty and number of passes of the best tree.
    history_ : History
        One epoch per pass.
    tree_, model_, classes_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Notes
    -----
    ``paper/REPORT.md`` has its figures beside the published ones. Those quoted for concise trees look like
    the figures of an axis-aligned tree, ``split="axis_aligned", init="cart"``; oblique splits are far ahead of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> TAOClassifier(max_depth=2, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _legal: ClassVar[dict[str, Rule]] = LEGAL

    def __init__(
        self,
        max_depth: int = 4,
        *,
        split: str = "oblique",
        penalties: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
        init: str = "auto",
        n_init: int = 2,
        max_iter: int = 20,
        monotone: bool = False,
        validation_fraction: float = 0.2,
        refit: bool = True,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.split = split
        self.penalties = penalties
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.monotone = monotone
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        return _fit(self, data, rng, ClassProblem(data))


class TAORegressor(TreeRegressor):
    """A tree with linear or constant leaves, found by alternating optimisation (TAO, TAO-Linear).

    Parameters
    ----------
    max_depth : int, default=5
        Depth of the complete tree to start from.
    leaf : {"linear", "constant"}, default="linear"
    penalties : sequence of float, default=(1.0, 3.0, 10.0, 30.0)
        L1 penalties tried for oblique splits.
    ridge : float, default=10.0
        Penalty that pulls linear leaves towards the linear model of all rows, in rows of standardised features. The
        authors use an L1 penalty.
    split, init, n_init, max_iter, monotone, validation_fraction, refit, n_jobs
        As in :class:`TAOClassifier`.
    categorical_features, missing, random_state
        As in :class:`~dtsemnet.DTSemNetClassifier`.

    Attributes
    ----------
    best_params_, history_, tree_, model_, feature_importances_, n_features_in_, feature_names_in_
        As in :class:`TAOClassifier`.

    Notes
    -----
    Outputs are clipped to the targets that a leaf has seen. ``paper/REPORT.md`` has its figures beside the
    published ones: on Abalone it is worse, on Comp-Active and Ailerons better. The authors' splits of the rows are
    not known, and they tune an L1 penalty of the leaves, whereas this estimator has one ridge penalty.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> TAORegressor(max_depth=2, random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    _legal: ClassVar[dict[str, Rule]] = LEGAL

    def __init__(
        self,
        max_depth: int = 5,
        *,
        leaf: str = "linear",
        split: str = "oblique",
        penalties: Sequence[float] = (1.0, 3.0, 10.0, 30.0),
        ridge: float = 10.0,
        init: str = "auto",
        n_init: int = 2,
        max_iter: int = 20,
        monotone: bool = False,
        validation_fraction: float = 0.2,
        refit: bool = True,
        categorical_features: Any = "from_dtype",
        missing: str = "indicator",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.leaf = leaf
        self.split = split
        self.penalties = penalties
        self.ridge = ridge
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.monotone = monotone
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.categorical_features = categorical_features
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_tree(self, data: TrainingData, rng: np.random.Generator) -> Tree:
        return _fit(self, data, rng, RegressionProblem(data, linear=self.leaf == "linear", ridge=float(self.ridge)))


def _fit(options: Any, data: TrainingData, rng: np.random.Generator, problem: Problem) -> Tree:
    """Race the starts, run the best once more on all rows, and cut off what no row reaches."""
    options.history_, options.best_params_ = History(), {}
    if data.is_constant:
        return constant_tree(data)
    starts, sample = _starts(options, rng), data.sample
    _check_memory(options.max_depth, len(starts), len(sample), data.n_features)
    train, validation = set_aside(data, options.validation_fraction, rng)
    shared = {"problem": problem, "monotone": options.monotone, "n_jobs": options.n_jobs}
    with one_thread():
        rows, judges = problem.rows(train), None if validation is None else problem.rows(validation)
        initial: dict[tuple[str, int], Floats] = {}  # starts that differ in their penalty share an initial tree
        for start in starts:
            if (start.init, start.seed) not in initial:
                initial[start.init, start.seed] = start.splits(rows, options.max_depth)
        runs = [Run(start, initial[start.init, start.seed], rows, judges, **shared) for start in starts]
        best = race(runs, options.max_iter)
        splits, history = best.best, best.history
        if len(train) < len(sample) and options.refit:
            rows = problem.rows(sample)
            again = Run(best.start, best.start.splits(rows, options.max_depth), rows, None, **shared)
            again.advance(best.best_pass)
            splits, history, train = again.tree.splits, again.history, sample
        tree = problem.tree(splits, train)
    options.history_ = history
    options.best_params_ = {
        "init": best.start.init, "penalty": getattr(best.start.solve, "penalty", None), "n_passes": best.best_pass,
    }  # fmt: skip
    return cut_idle_splits(tree, train)


def _starts(options: Any, rng: np.random.Generator) -> list[Start]:
    """One greedy start and some random ones for each way to solve a split."""
    ways = [Oblique(float(p)) for p in options.penalties] if options.split == "oblique" else [AxisAligned()]
    inits: list[Any] = ["cart"] * (options.init != "random") + ["random"] * (
        options.n_init if options.init != "cart" else 0
    )
    seeds = rng.integers(2**31, size=len(inits))
    return [Start(init, way, int(seed)) for way in ways for init, seed in zip(inits, seeds)]


def _check_memory(depth: int, n_starts: int, n_rows: int, n_features: int) -> None:
    """The side of every row at every split, and the splits themselves, for each tree in the race."""
    size = n_starts * 2**depth * (n_rows + 16 * (n_features + 1))
    if size > 8e9:
        raise ValueError(
            f"max_depth={depth} asks for {n_starts} trees of {2**depth - 1} splits over {n_rows} rows, "
            f"{size / 1e9:.0f} GB; lower max_depth, n_init or the number of penalties."
        )
