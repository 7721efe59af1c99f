"""Tasks: what a fit does differently for classes, for numbers, and for other methods.

:func:`dtsemnet.fit.fit.fit` runs the course of a fit. A task tells it what is
trained (the problem, the settings of the starts, the plans to choose from), where a start begins
(:meth:`Task.initial`), how long each phase lasts (:meth:`Task.phases`), which tree
the trained splits make (:meth:`Task.fill`), and how the best tree goes on with all
rows (:meth:`Task.again`). A method that trains a tree by gradient descent is one
more subclass of :class:`Task`; ours are in :mod:`dtsemnet.fit.class_task` and
:mod:`dtsemnet.fit.regression_task`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.conformal import CrossFit
from dtsemnet.fit.data import Sample, TrainingData
from dtsemnet.fit.initial_trees import Grown, RandomTree
from dtsemnet.fit.judging import Verdict, simplest_of_best, sparsest_of_best
from dtsemnet.fit.leaves import LeafFit
from dtsemnet.fit.order import one_sided
from dtsemnet.fit.plans import COLUMN_LIMITS, Plan, sparse_plans
from dtsemnet.fit.points import whole_tree
from dtsemnet.fit.pruning import Costs, Limits, PruningPath, pruned, pruning_path
from dtsemnet.fit.settings import FitOptions, Recipe, Setting, with_fewer_columns
from dtsemnet.fit.sparse import ColumnLimit, n_columns_read, sparse_planes
from dtsemnet.kernels.optimizer import hold
from dtsemnet.training import (
    ALL,
    Callback,
    ClassParameters,
    History,
    Penalties,
    Phase,
    Problem,
    RegressionParameters,
    Rows,
    cpu_engine,
)
from dtsemnet.training.columns import Rules, column_norms
from dtsemnet.tree import MarginProbability, Topology, Tree

__all__ = ["Candidate", "OurTask", "Task", "Watch"]

LEAST_BY_L1 = 0.003
"""A column that moves the score of a split by less than this share of what its first one does has gone to zero."""
FEWEST_TO_CHOOSE = 10
"""With fewer rows there is nothing to compare trees by."""

Watch: TypeAlias = Callable[[str, Callable[[], Tree]], Callback]
"""Makes a callback for a training, from its name and from a function that returns its tree as if it ended now."""

S = TypeVar("S", bound=Setting)
P = TypeVar("P", bound=ClassParameters | RegressionParameters)


@dataclass(frozen=True)
class Candidate:
    """A tree, how well it does, and how it was trained."""

    tree: Tree
    score: tuple[float, ...]
    """Errors to compare candidates by, the most important first; smaller is better."""
    leaf_fit: LeafFit | None = None
    """How the leaves were fitted, if there was a choice."""
    number: int = 0
    """Number of the start."""
    setting: Any = None
    """What it was trained with; None if it was not trained."""
    history: History = field(default_factory=History)
    probability: MarginProbability | None = None
    """How a classifier computes probabilities, if rows that it was not trained on could tell."""
    cross_fit: CrossFit | None = None
    """The trees that judged the plan, for intervals and sets."""
    verdict: Verdict | None = None
    """How the plan did on rows that its trees were not trained on."""


class Task(ABC, Generic[S, P]):
    """One fit to be done: the data, the options, and what the method does its own way.

    Parameters
    ----------
    data : TrainingData
    options : FitOptions
    topology : Topology
        Shape of the tree.
    init : Tree, optional
        Tree to start from.
    """

    problem: Problem
    """What the engine solves."""
    settings: Sequence[S]
    """What the starts are trained with, in turn."""
    most_epochs: int
    """Most epochs of a start, if their number is not given."""
    fewest_epochs: tuple[int, int] = (10, 45)
    """Fewest epochs of a start that is trained on if it is the best, and of a training whose result is final."""
    watch: Watch | None = None
    """Makes one more callback for each training of the fit."""
    pause: float | None = None
    """Share of the training after which the worse half of the starts is dropped; None: none is dropped."""

    def __init__(self, data: TrainingData, options: FitOptions, topology: Topology, init: Tree | None = None) -> None:
        self.data, self.options, self.topology, self.init = data, options, topology, init

    @abstractmethod
    def initial(self, setting: S, train: Sample, rng: np.random.Generator, init: Tree | None) -> P:
        """Parameters that a training begins with, in training coordinates.

        Parameters
        ----------
        setting : Setting
            What will be trained with.
        train : Sample
            Training rows.
        rng : numpy.random.Generator
            Draws random parameters.
        init : Tree or None
            Tree to begin with; None for random parameters.
        """

    @abstractmethod
    def phases(self, setting: S, n_epochs: int) -> tuple[Phase, ...]:
        """Phases of a training with this setting and this number of epochs."""

    @abstractmethod
    def fill(
        self, tree: Tree, trained: P | None, train: Sample, held: Sample | None, chosen: LeafFit | None = None
    ) -> Candidate:
        """Fit the leaves of a tree to training rows, and score the tree.

        Parameters
        ----------
        tree : Tree
            Its splits read raw inputs and stay as they are. Its leaves are those of a given tree, or empty.
        trained : Parameters or None
            What training has reached; None if the tree was given and not trained.
        train : Sample
            Rows that the leaves are fitted to.
        held : Sample or None
            Rows that the score is measured on; None: the training rows.
        chosen : LeafFit, optional
            How to fit the leaves, if that was chosen before.
        """

    @abstractmethod
    def again(self, best: Candidate) -> tuple[S, Tree | None]:
        """Setting and tree with which the best candidate is trained on all rows; None: from its own start again."""

    def monitor(self, rows: Rows) -> Callable[[Any], float]:
        """Error of an engine on validation rows, in training coordinates, for early stopping."""
        raise NotImplementedError(f"{type(self).__name__} has no early stopping.")

    def plans(self) -> Sequence[Plan]:
        """The trees to choose from by cross-fitting; none: the starts are compared on rows that are set aside."""
        return ()

    def within_limits(self, init: Tree) -> Tree:
        """The given tree as a candidate, which no training is to make worse."""
        return init

    def smaller(self) -> Task[S, P] | None:
        """The same task with a smaller tree, to try beside the starts of full size; None: no such tree."""
        return None

    def update(self, trained: P, seen: Floats) -> tuple[Tree, Floats]:
        """The initial tree after one more epoch on new rows, which the leaves take into account (``partial_fit``).

        Parameters
        ----------
        trained : Parameters
            What the epoch has reached.
        seen : array of shape (n_leaves,)
            Weight of the rows that each leaf has seen so far.

        Returns
        -------
        Tree, and the weight of the rows that each leaf has seen now
        """
        raise NotImplementedError(f"{type(self).__name__} has no partial_fit.")

    def callbacks(self, rows: Rows) -> list[Callback]:
        """Callbacks of a training on these rows."""
        return []

    def targets(self, sample: Sample) -> Array:
        """Targets of a sample as the engine reads them."""
        return sample.y

    def rows(self, sample: Sample) -> Rows:
        """Copy rows to training coordinates, with weights of mean 1."""
        weight = (sample.weight / sample.weight.mean()).astype(np.float32)
        return Rows(self.data.scaling.apply(sample), self.targets(sample), weight)

    def engine(self, setting: S, parameters: P, rows: Rows) -> Any:
        """The engine that trains these parameters on these rows; its ``parameters()`` returns them later."""
        o = self.options
        penalties = Penalties(setting.weight_decay, setting.l1, setting.max_grad_norm)
        make: Callable[..., Any] = cpu_engine
        if o.engine == "torch":
            from dtsemnet.training.torch import torch_engine

            make = partial(torch_engine, device=o.device or "cpu")
        return make(
            self.problem, self.topology, rows, parameters, batch_size=o.batch_size, penalties=penalties,
            rules=self.rules,
        )  # fmt: skip

    @property
    def rules(self) -> Rules:
        """What the weights of splits and leaves may be."""
        return Rules(self.data.column, self.data.groups, self.data.direction)

    def settled(self, tree: Tree, sample: Sample) -> Tree:
        """The tree with its splits in the form that they keep, given the rows that it was trained on: as they are."""
        return tree

    def splits_only(self, splits: Floats) -> Tree:
        """A tree with these splits, folded to raw inputs, and empty leaves."""
        weight, bias = self.data.scaling.fold(splits)
        return Tree(self.topology, weight, bias, np.zeros((self.topology.n_leaves, 1)))


class OurTask(Task[Setting, P]):
    """What both of our tasks share: complete trees or a given one, and splits that start from normal weights.

    ``max_depth`` is the largest depth that the user allows, None for no limit; ``depth`` is that of the starts if
    there are no plans to choose from.
    """

    tolerance: float
    """A plan with fewer leaves wins if it is behind the best by no more than this many standard errors."""
    sparse_tolerance: float
    """The same for the plan whose splits read the fewest columns, if sparse splits are asked for."""

    def __init__(
        self, data: TrainingData, options: FitOptions, recipe: Recipe, *,
        depth: int, max_depth: int | None = None, init: Tree | None = None,
        overrides: Mapping[str, float | None] | None = None,
    ) -> None:  # fmt: skip
        _check_memory(2**depth - 1 if init is None else init.n_splits, data.n_features)
        if data.groups is not None:  # a split reads no more columns than the largest group has
            most = int(data.groups.sum(axis=1).max())
            options = replace(options, max_split_features=min(most, options.max_split_features or most))
        super().__init__(data, options, Topology.complete(depth) if init is None else init.topology, init)
        self.recipe, self.overrides, self.max_depth = recipe, overrides or {}, max_depth
        settings = self.starts() if init is None else tuple(setting.warm() for setting in self.starts())
        self.n_columns, self.splits_read_directed = options.max_split_features, True
        self.settings = tuple(self._with_columns(setting).override(**self.overrides) for setting in settings)

    def starts(self) -> tuple[Setting, ...]:
        """Settings of the starts, before those of the user replace a part of them."""
        return self.recipe.settings

    def phases(self, setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
        return with_fewer_columns(self.recipe.phases(setting, n_epochs), setting)

    def plans(self) -> Sequence[Plan]:
        return sparse_plans(self.dense_plans(), self.column_limits) if self.chooses else ()

    @abstractmethod
    def dense_plans(self) -> Sequence[Plan]:
        """The trees to choose from, whatever the number of columns of a split."""

    @property
    def column_limits(self) -> tuple[int | None, ...]:
        """The most columns of a split that are tried, from the widest to the narrowest; None: no limit."""
        widest = self.options.max_split_features
        if self.options.sparsity is None:
            return (widest,)
        fewer = self._n_varying_columns if widest is None else widest
        return widest, *(limit for limit in COLUMN_LIMITS if limit < fewer)

    @property
    def _n_varying_columns(self) -> int:
        """Number of columns that tell rows apart."""
        return len(np.unique(self.data.column[self.data.scaling.factor > 0]))

    def limit_of(self, plan: Plan) -> ColumnLimit | None:
        """The limit on the columns of a split in a plan; None if there is none."""
        return None if plan.n_columns is None else ColumnLimit(plan.n_columns, self.data.column, self.data.groups)

    def columns_to_keep(self) -> tuple[int, int]:
        """Most columns of a split and of a leaf when a given tree learns from more rows: if limited, as many as now."""
        options, init = self.options, self.init
        has_few = options.max_split_features is not None or options.sparsity is not None
        coef = None if init is None or init.coef is None else init.coef.reshape(-1, init.n_features)
        parts = (
            (has_few, None if init is None else init.weight),
            (options.max_leaf_features is not None, coef),
        )
        split, leaf = (
            max(1, int(n_columns_read(weight, self.data.column).max(initial=0)))
            if is_limited and weight is not None else ALL
            for is_limited, weight in parts
        )  # fmt: skip
        return split, leaf

    def _with_columns(self, setting: Setting) -> Setting:
        """A setting that leaves each split, and each leaf, as many columns at its end as this task allows."""
        n_all = int(self.data.column.max()) + 1
        columns, leaf_columns = (
            None if most is None else (n_all, min(most, n_all))
            for most in (self.n_columns, self.options.max_leaf_features)
        )
        return replace(setting, columns=columns, leaf_columns=leaf_columns)

    @property
    def rules(self) -> Rules:
        return replace(super().rules, splits_read_directed=self.splits_read_directed)

    def splits_only(self, splits: Floats) -> Tree:
        """The splits with their empty leaves; what breaks a rule is left out, as in a training that was cut short.

        So are columns that an L1 penalty of the user has pushed to zero: steps of a finite length leave weights
        beside it.
        """
        splits = self._within_rules(splits)
        if self.overrides.get("l1"):
            norms = column_norms(splits[:, :-1], self.data.column)
            splits[:, :-1] *= (norms >= LEAST_BY_L1 * norms.max(axis=1, keepdims=True, initial=0.0))[
                :, self.data.column
            ]
        return super().splits_only(splits)

    def _within_rules(self, splits: Floats, side: Ints | None = None) -> Floats:
        """Splits without the weights that break a rule."""
        splits = splits.copy()
        hold(splits, self.rules.of_splits(splits, ALL if self.n_columns is None else self.n_columns, side))
        return splits

    def within_limits(self, init: Tree) -> Tree:
        """The given tree as a candidate: as it is, or if its splits read too many columns the nearest one on fewer."""
        scaling, sample = self.data.scaling, self.data.sample
        planes = given = scaling.unfold(init.weight, init.bias)
        if self.n_columns is not None:
            limit = ColumnLimit(self.n_columns, self.data.column, self.data.groups)
            planes = sparse_planes(given, scaling.apply(sample, np.float64), sample.weight, limit)
        planes = self._within_rules(planes)
        if (planes != given).any():
            weight, bias = scaling.fold(planes)
            init = init.replace(weight=weight, bias=bias)
        return self.settled(init, sample)

    def choose(self, verdicts: Sequence[Verdict]) -> int:
        """The plan to carry out."""
        if self.options.sparsity is not None:
            return sparsest_of_best(verdicts, self.sparse_tolerance)
        return simplest_of_best(verdicts, self.tolerance)

    def columns_read(self, tree: Tree) -> int:
        """Columns that the splits of a tree read, counted anew in each split."""
        return int(n_columns_read(tree.weight, self.data.column).sum())

    def initial_splits(self, rng: np.random.Generator, init: Tree | None) -> Floats:
        """Splits of the given tree, or random ones whose scores have a standard deviation of about 1."""
        scaling = self.data.scaling
        if init is not None:
            return scaling.unfold(init.weight, init.bias)
        n_varying = int((scaling.factor > 0).sum())
        splits = rng.standard_normal((self.topology.n_splits, self.data.n_features + 1)) / np.sqrt(n_varying + 1)
        if self.n_columns is not None:  # a column that never varies is not to take the place of another
            splits[:, :-1] *= scaling.factor > 0
        return splits

    def directed(self, splits: Floats, side: Ints | None, init: Tree | None) -> Floats:
        """Initial splits whose features with a direction push to the given sides; None: to any one side.

        Random weights that push to the other side are turned, those of a given tree left out.
        """
        direction = self.data.direction
        if direction is None:
            return splits
        if init is None:
            turned = np.abs(splits[:, :-1]) * np.outer(np.ones(len(splits)) if side is None else side, direction)
            splits = np.column_stack([np.where(direction == 0, splits[:, :-1], turned), splits[:, -1]])
        return self._within_rules(splits, side)

    @property
    def chooses(self) -> bool:
        """Whether trees of several shapes are compared: not if the user fixed the course of the training."""
        options, recipe = self.options, self.recipe
        fixed = options.n_init != "auto" or options.early_stopping or not options.refit or self.init is not None
        return options.effort > 0 and recipe.adapts and not fixed and len(self.data.sample) >= FEWEST_TO_CHOOSE

    def follow(
        self, plan: Plan, grown: Grown | None, X: Floats, train: Sample
    ) -> tuple[Self, Setting | None, Tree | None]:
        """Begin a plan: the task in its shape, the setting to train with if any, and the tree to begin with if any.

        ``X`` are the rows that the tree was grown from, in training coordinates.
        """
        task = copy.copy(self)
        task.n_columns, task.splits_read_directed = plan.n_columns, plan.splits_read_directed
        if grown is None:
            assert isinstance(plan.tree, RandomTree)
            _check_memory(2**plan.tree.depth - 1, self.data.n_features)
            task.topology = Topology.complete(plan.tree.depth)
            return task, task.adapted(plan.setting), None
        task.topology = grown.topology
        if plan.setting is None or not len(grown.splits):
            return task, None, task.splits_only(grown.splits)  # its leaves are fitted when it is judged
        return task, task.adapted(plan.setting).warm(), task.given(grown.unit_scores(X), train)

    def grow(self, plan: Plan, rows: Rows, rng: np.random.Generator) -> Grown | None:
        """Grow the tree of a plan from rows in training coordinates; None if it is random."""
        direction = self.data.direction
        grown = plan.tree.grow(rows, rng, self.limit_of(plan), direction)
        if grown is None or direction is None:
            return grown
        target = rows.y.reshape(len(rows.y), -1).mean(axis=1, dtype=np.float64)
        return one_sided(grown, rows.X, target, rows.weight.astype(np.float64), direction)

    def adapted(self, setting: Setting | None) -> Setting:
        """A setting of a plan, for the depth of this task and with what the user gave."""
        assert setting is not None
        return self._with_columns(setting).override(**self.overrides)

    @abstractmethod
    def given(self, grown: Grown, train: Sample) -> Tree:
        """A tree that was grown in training coordinates, as a tree that reads raw inputs."""

    @abstractmethod
    def costs(self) -> Costs:
        """What pruning weighs against the number of leaves."""

    def settled(self, tree: Tree, sample: Sample) -> Tree:
        """The tree with whole weights, if they are asked for."""
        most = self.options.integer_weights
        return tree if most is None else whole_tree(tree, sample, most)

    def pruned(self, tree: Tree, sample: Sample) -> Tree:
        """The settled tree without leaves that no row of a sample reaches, and as small as the user wants it."""
        rows, limits = self.limited(sample)
        tree = pruned(tree, rows, limits, self.costs())
        settled = self.settled(tree, sample)
        return tree if settled is tree else pruned(settled, rows, limits, self.costs())

    def limited(self, sample: Sample) -> tuple[Sample, Limits]:
        """The rows that pruning judges splits by, and the user's limits in the unit of their targets."""
        return sample, self.limits

    def pruning_path(self, tree: Tree, sample: Sample) -> PruningPath:
        """The trees that pruning passes, down to one leaf."""
        return pruning_path(tree, sample, self.costs())

    @abstractmethod
    def smaller_trees(self, tree: Tree, sample: Sample, verdict: Verdict, prunings: Sequence[float]) -> list[Tree]:
        """Prune a tree that was trained on a sample, for each number by which a leaf must be worth its place."""

    @property
    def limits(self) -> Limits:
        """How small the user wants the tree."""
        o = self.options
        return Limits(o.min_samples_leaf, o.max_leaf_nodes, o.ccp_alpha)

    @abstractmethod
    def outcome(self, tree: Tree, train: Sample, held: Sample) -> Any:
        """What a tree that was fitted to training rows says of validation rows."""

    @abstractmethod
    def judge(self, outcomes: Sequence[Any], before: Verdict | None) -> Verdict:
        """Judge a plan by the outcomes of its folds; an earlier verdict on some of them is a place to begin."""

    @abstractmethod
    def errors(self, verdict: Verdict, y: Array) -> Floats:
        """How far the answers of a verdict are off, row by row, in the units of the user."""

    def may_have_failed(self, tree: Tree) -> bool:
        """Whether some tree could be clearly better than this one, which was trained on all rows."""
        return False

    def is_clearly_better(self, tree: Tree, other: Tree) -> bool:
        """Whether a tree fits all rows so much better than another one that the training of the other has failed."""
        return False

    def smoothed(self, sample: Sample, answer: Floats) -> Sample:
        """The rows for the last training, given what trees that never saw them said; as they are by default."""
        return sample


def _check_memory(n_splits: int, n_features: int) -> None:
    """Refuse trees whose splits, with their gradient and two moments in float32, do not fit into memory."""
    size = n_splits * (n_features + 1) * 16
    if size > 8e9:
        raise ValueError(
            f"max_depth asks for {n_splits} splits over {n_features} features, {size / 1e9:.0f} GB while "
            "training; lower max_depth."
        )
