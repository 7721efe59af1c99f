"""Tasks: what a fit does differently for classes, for numbers, and for other methods.

:func:`dtsemnet.fit.fit.fit` runs the course of a fit. A task tells it what is
trained (the problem, the settings of the starts), where a start begins
(:meth:`Task.initial`), how long each phase lasts (:meth:`Task.phases`), which tree
the trained splits make (:meth:`Task.fill`), and how the best tree goes on with all
rows (:meth:`Task.again`). A method that trains a tree by gradient descent is one
more subclass of :class:`Task`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.calibration import margin_unit, sample_margins
from dtsemnet.fit.conformal import CrossFit
from dtsemnet.fit.data import Sample, TrainingData
from dtsemnet.fit.initial_trees import Grown, RandomTree
from dtsemnet.fit.judging import ClassOutcome, RegressionOutcome, Verdict, judge_classes, judge_numbers
from dtsemnet.fit.leaves import (
    CONSTANT_FITS,
    LEAF_FITS,
    WAYS,
    LeafFit,
    class_error,
    class_table,
    class_tree,
    count_classes,
    count_rows,
    frequencies,
    guard_of,
    leaves_of,
    ridge_paths,
    update_leaves,
)
from dtsemnet.fit.plans import Plan, TableSize, class_plans, regression_plans
from dtsemnet.fit.pruning import Costs, Limits, class_costs, pruned, regression_costs
from dtsemnet.fit.settings import ANNEALED_SHARE, FitOptions, Recipe, Setting
from dtsemnet.kernels.regression import LOSSES, residual_losses
from dtsemnet.training import (
    Callback,
    ClassEngine,
    Classification,
    ClassParameters,
    Context,
    History,
    Penalties,
    Phase,
    Problem,
    Regression,
    RegressionParameters,
    Rows,
    Step,
    TreeEngine,
    cpu_engine,
    validation_error,
    validation_loss,
)
from dtsemnet.tree import MarginProbability, Topology, Tree

__all__ = ["Candidate", "ClassTask", "RegressionTask", "Task", "deal_classes", "fold_leaves"]

LEAST_SHARE = 0.02
"""Smaller shares of a class in a mixed target are not trained on."""
FEWEST_TO_CHOOSE = 10
"""With fewer rows there is nothing to compare trees by."""

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
        return make(self.problem, self.topology, rows, parameters, batch_size=o.batch_size, penalties=penalties)

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

    def __init__(
        self, data: TrainingData, options: FitOptions, recipe: Recipe, *,
        depth: int, max_depth: int | None = None, init: Tree | None = None,
        overrides: Mapping[str, float | None] | None = None,
    ) -> None:  # fmt: skip
        _check_memory(2**depth - 1 if init is None else init.n_splits, data.n_features)
        super().__init__(data, options, Topology.complete(depth) if init is None else init.topology, init)
        self.recipe, self.overrides, self.max_depth = recipe, overrides or {}, max_depth
        settings = self.starts() if init is None else tuple(setting.warm() for setting in self.starts())
        self.settings = tuple(setting.override(**self.overrides) for setting in settings)

    def starts(self) -> tuple[Setting, ...]:
        """Settings of the starts, before those of the user replace a part of them."""
        return self.recipe.settings

    def phases(self, setting: Setting, n_epochs: int) -> tuple[Phase, ...]:
        return self.recipe.phases(setting, n_epochs)

    def initial_splits(self, rng: np.random.Generator, init: Tree | None) -> Floats:
        """Splits of the given tree, or random ones whose scores have a standard deviation of about 1."""
        scaling = self.data.scaling
        if init is not None:
            return scaling.unfold(init.weight, init.bias)
        n_varying = int((scaling.factor > 0).sum())
        return rng.standard_normal((self.topology.n_splits, self.data.n_features + 1)) / np.sqrt(n_varying + 1)

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
        if grown is None:
            assert isinstance(plan.tree, RandomTree)
            _check_memory(2**plan.tree.depth - 1, self.data.n_features)
            task.topology = Topology.complete(plan.tree.depth)
            return task, task.adapted(plan.setting), None
        task.topology = grown.topology
        if plan.setting is None or not len(grown.splits):
            return task, None, task.given(grown, train)
        return task, task.adapted(plan.setting).warm(), task.given(grown.unit_scores(X), train)

    def adapted(self, setting: Setting | None) -> Setting:
        """A setting of a plan, for the depth of this task and with what the user gave."""
        assert setting is not None
        return setting.override(**self.overrides)

    @abstractmethod
    def given(self, grown: Grown, train: Sample) -> Tree:
        """A tree that was grown in training coordinates, as a tree that reads raw inputs."""

    @abstractmethod
    def costs(self) -> Costs:
        """What pruning weighs against the number of leaves."""

    def pruned(self, tree: Tree, sample: Sample) -> Tree:
        """The tree without leaves that no row of a sample reaches, and as small as the user wants it."""
        o = self.options
        return pruned(tree, sample, Limits(o.min_samples_leaf, o.max_leaf_nodes, o.ccp_alpha), self.costs())

    @abstractmethod
    def outcome(self, tree: Tree, train: Sample, held: Sample) -> Any:
        """What a tree that was fitted to training rows says of validation rows."""

    @abstractmethod
    def judge(self, outcomes: Sequence[Any]) -> Verdict:
        """Judge a plan by the outcomes of its folds."""

    @abstractmethod
    def errors(self, verdict: Verdict, y: Array) -> Floats:
        """How far the answers of a verdict are off, row by row, in the units of the user."""

    @abstractmethod
    def mixed(self, sample: Sample, answer: Floats) -> Sample:
        """The rows of a sample with half of their targets replaced by what trees that never saw them said."""


class ClassTask(OurTask[ClassParameters]):
    """Fit a classifier: classes are dealt to leaves, reassigned when the annealing ends, and counted at the end.

    Parameters
    ----------
    data, options, init
        As in :class:`Task`.
    recipe : Recipe
        One of ``CLASSIFICATION_RECIPES``.
    depth : int
        Depth of the complete tree, if ``init`` is not given.
    overrides : dict, optional
        Hyper-parameters that the user gave, in place of those of the settings.
    most_epochs : int, optional
        By default 200, and fewer for trees deeper than 4, whose steps cost more and which overfit small tables sooner.
    """

    problem: Classification
    pause = ANNEALED_SHARE
    tolerance = 0.25

    def __init__(
        self, data: TrainingData, options: FitOptions, recipe: Recipe, *, most_epochs: int | None = None, **more: Any
    ) -> None:
        super().__init__(data, options, recipe, **more)
        self.problem, self._most_epochs = Classification(data.n_outputs), most_epochs

    @property
    def most_epochs(self) -> int:  # type: ignore[override]
        """Most epochs of a start, if their number is not given."""
        by_depth = round(200 * (4 / max(4, self.topology.depth)) ** 1.75)
        return by_depth if self._most_epochs is None else self._most_epochs

    def plans(self) -> Sequence[Plan]:
        if not self.chooses:
            return ()
        size = TableSize(len(self.data.sample), self.data.n_features, self.problem.n_classes)
        return class_plans(size, self.max_depth)

    def adapted(self, setting: Setting | None) -> Setting:
        assert setting is not None
        return super().adapted(setting.at_depth(self.topology.depth))

    def given(self, grown: Grown, train: Sample) -> Tree:
        assert grown.leaf_class is not None
        return class_tree(self.splits_only(grown.splits), np.eye(self.problem.n_classes)[grown.leaf_class], self.data)

    def costs(self) -> Costs:
        return class_costs(self.problem.n_classes)

    def outcome(self, tree: Tree, train: Sample, held: Sample) -> ClassOutcome:
        tree = self.fill(tree, None, train, None).tree
        unit, share = margin_unit(sample_margins(tree, train)), tree.value[leaves_of(tree, held)]
        return ClassOutcome(sample_margins(tree, held) / unit, share, held.y, held.weight, tree.n_leaves)

    def judge(self, outcomes: Sequence[ClassOutcome]) -> Verdict:
        return judge_classes(outcomes)

    def errors(self, verdict: Verdict, y: Array) -> Floats:
        return 1 - verdict.answer[np.arange(len(y)), y]

    def mixed(self, sample: Sample, answer: Floats) -> Sample:
        """A row of mixed classes is several rows, one for each class that has a share worth training on."""
        target = (answer + np.eye(self.problem.n_classes)[sample.y]) / 2
        row, code = np.nonzero(target > LEAST_SHARE)
        rows = sample.take(row)
        return Sample(rows.X, rows.index, code, rows.weight * target[row, code])

    def starts(self) -> tuple[Setting, ...]:
        adapts, depth = self.recipe.adapts, self.topology.depth
        return tuple(setting.at_depth(depth) if adapts else setting for setting in self.recipe.settings)

    def initial(self, setting: Setting, train: Sample, rng: np.random.Generator, init: Tree | None) -> ClassParameters:
        splits, n_classes = self.initial_splits(rng, init), self.problem.n_classes
        if init is None:
            weight: Array = np.bincount(train.y, train.weight, n_classes)
            leaf_class = deal_classes(weight, self.topology.n_leaves, proportional=setting.proportional)
        elif init.is_classifier and init.class_names == self.data.class_names:
            leaf_class = init.leaf_class
        else:
            leaf_class = frequencies(self.topology, count_classes(init, train, n_classes)).argmax(axis=1)
        return ClassParameters(splits, leaf_class)

    def fill(
        self,
        tree: Tree,
        trained: ClassParameters | None,
        train: Sample,
        held: Sample | None,
        chosen: LeafFit | None = None,
    ) -> Candidate:
        given = tree.leaf_class if tree.is_classifier else None
        leaf_class = given if trained is None else trained.leaf_class
        table = count_classes(tree, train, self.problem.n_classes) / train.weight.mean()
        tree = class_tree(tree, frequencies(tree.topology, table, leaf_class), self.data)
        error = float(1 - table[np.arange(tree.n_leaves), tree.leaf_class].sum() / table.sum())
        return Candidate(tree, (error,) if held is None else (class_error(tree, held), error))

    def again(self, best: Candidate) -> tuple[Setting, Tree | None]:
        """Anneal the best tree once more, which frees splits that are stuck; the loss stays bounded as it ended."""
        return replace(best.setting, first_q=best.setting.q), best.tree

    def monitor(self, rows: Rows) -> Callable[[ClassEngine], float]:
        return validation_error(rows)

    def callbacks(self, rows: Rows) -> list[Callback]:
        return [ReassignLeaves(rows, self.problem.n_classes)]

    def smaller(self) -> ClassTask | None:
        """The smallest complete tree with a leaf for each class; for two classes that is a linear model."""
        depth = (self.problem.n_classes - 1).bit_length()
        if not 0 < depth < self.topology.depth:
            return None
        return type(self)(
            self.data, self.options, self.recipe, depth=depth, overrides=self.overrides, most_epochs=self.most_epochs
        )

    def update(self, trained: ClassParameters, seen: Floats) -> tuple[Tree, Floats]:
        """Count the classes of the new rows in."""
        assert self.init is not None
        moved = self.splits_only(trained.splits)
        table = self.init.value * seen[:, None] + count_classes(moved, self.data.sample, self.problem.n_classes)
        return class_tree(moved, frequencies(moved.topology, table), self.data), table.sum(axis=1)


class RegressionTask(OurTask[RegressionParameters]):
    """Fit a regressor. Targets are standardised during training, and folded back into the leaves.

    Parameters
    ----------
    data, options, depth, init, overrides
        As in :class:`ClassTask`.
    recipe : Recipe
        See :func:`~dtsemnet.fit.settings.regression_recipe`.
    problem : Regression
        The loss, and whether leaves are linear.
    guard : bool
        Whether outputs are clipped to the range of the training targets of a leaf.
    """

    problem: Regression
    most_epochs = 500
    tolerance = 0.5

    def __init__(
        self, data: TrainingData, options: FitOptions, recipe: Recipe, *, problem: Regression, guard: bool, **more: Any
    ) -> None:
        # Leaves that were trained are not refitted, so training with all rows would start from other leaves.
        options = options if recipe.closed_form else replace(options, refit=False)
        super().__init__(data, options, recipe, **more)
        self.problem, self.guard = problem, guard

    def plans(self) -> Sequence[Plan]:
        if not self.chooses:
            return ()
        return regression_plans(TableSize(len(self.data.sample), self.data.n_features), self.max_depth)

    def given(self, grown: Grown, train: Sample) -> Tree:
        return self.fill(self.splits_only(grown.splits), None, train, None, LeafFit(False, 10.0)).tree

    def costs(self) -> Costs:
        return regression_costs(self.data.scaling, linear=self.problem.linear)

    def outcome(self, tree: Tree, train: Sample, held: Sample) -> RegressionOutcome:
        ways = WAYS if self.problem.linear else CONSTANT_FITS
        models = [model for _, model in self._models(tree, train, ways)]
        output = np.array(self._outputs(tree, models, train, held))
        y = self.data.standardise(held.y)
        return RegressionOutcome(output, y, held.weight, ways, tree.n_leaves)

    def judge(self, outcomes: Sequence[RegressionOutcome]) -> Verdict:
        return judge_numbers(outcomes, self.problem.loss, self.problem.parameter)

    def errors(self, verdict: Verdict, y: Array) -> Floats:
        center, scale = self.data.target_scale
        return np.abs(verdict.answer * scale + center - y)

    def mixed(self, sample: Sample, answer: Floats) -> Sample:
        center, scale = self.data.target_scale
        return sample.with_targets((sample.y + answer * scale + center) / 2)

    def targets(self, sample: Sample) -> Array:
        return self.data.standardise(sample.y).astype(np.float32)

    def initial(
        self, setting: Setting, train: Sample, rng: np.random.Generator, init: Tree | None
    ) -> RegressionParameters:
        return RegressionParameters(self.initial_splits(rng, init), self._initial_leaves(rng, init))

    def fill(
        self,
        tree: Tree,
        trained: RegressionParameters | None,
        train: Sample,
        held: Sample | None,
        chosen: LeafFit | None = None,
    ) -> Candidate:
        if self.recipe.closed_form:
            return self._refit(tree, train, held, LEAF_FITS if chosen is None else (chosen,))
        if trained is None:
            model = self._ridge(tree, train, LeafFit(False, 1.0), (1.0,))[0][0]
        else:
            model = trained.leaves.astype(np.float64).reshape(tree.n_leaves, self.problem.n_outputs, -1)
        losses = self._losses(tree, [model], train, train if held is None else held)
        return Candidate(self._tree(tree, model, train), tuple(losses))

    def again(self, best: Candidate) -> tuple[Setting, Tree | None]:
        """Warm the best tree up a little, with leaves that are fitted to all rows."""
        return best.setting.warm(), self.fill(best.tree, None, self.data.sample, None, best.leaf_fit).tree

    def monitor(self, rows: Rows) -> Callable[[TreeEngine], float]:
        return validation_loss(rows, Step(0.0))

    def update(self, trained: RegressionParameters, seen: Floats) -> tuple[Tree, Floats]:
        """Update the leaves in closed form if they have one, and widen the guard by the targets of the new rows."""
        assert self.init is not None
        sample, tree = self.data.sample, self.splits_only(trained.splits)
        shape = tree.n_leaves, self.problem.n_outputs, -1
        model: Floats = trained.leaves.astype(np.float64).reshape(shape)
        if self.recipe.closed_form:
            before = self._initial_leaves(np.random.default_rng(0), self.init).reshape(shape)
            model = update_leaves(tree, before, seen, self._standard(sample), self.data.scaling)
        lower, upper = self.init.lower, self.init.upper
        if lower is not None and upper is not None:
            lower, upper, leaf = lower.copy(), upper.copy(), leaves_of(tree, sample)
            np.minimum.at(lower, leaf, sample.y)
            np.maximum.at(upper, leaf, sample.y)
        return fold_leaves(tree, model, (lower, upper), self.data), seen + count_rows(tree, sample)

    def _standard(self, sample: Sample) -> Sample:
        """The same rows with standardised targets."""
        return sample.with_targets(self.data.standardise(sample.y))

    def _initial_leaves(self, rng: np.random.Generator, init: Tree | None) -> Floats:
        """Small random models, or those of the given tree in training coordinates."""
        n_rows = self.topology.n_leaves * self.problem.n_outputs
        if init is None or init.is_classifier:
            return rng.standard_normal((n_rows, self.data.n_features + 1 if self.problem.linear else 1)) * 0.01
        offset, (_, scale) = self.data.standardise(init.value), self.data.target_scale
        if not self.problem.linear:
            return offset.reshape(-1, 1)
        coef = np.zeros((*init.value.shape, self.data.n_features)) if init.coef is None else init.coef
        return self.data.scaling.unfold((coef / scale[:, None]).reshape(n_rows, -1), offset.ravel())

    def _refit(self, tree: Tree, train: Sample, held: Sample | None, leaf_fits: Sequence[LeafFit]) -> Candidate:
        """Fit all leaves in each of the ways, and keep the best."""
        fitted = self._models(tree, train, leaf_fits)
        losses, models = [loss for loss, _ in fitted], [model for _, model in fitted]
        if held is not None:
            losses = self._losses(tree, models, train, held)
        best = int(np.argmin(losses))
        return Candidate(self._tree(tree, models[best], train), (float(losses[best]),), leaf_fits[best])

    def _models(self, tree: Tree, train: Sample, leaf_fits: Sequence[LeafFit]) -> list[tuple[float, Floats]]:
        """Fit all leaves in each of the ways: the mean squared leave-one-out error, and the models."""
        found: dict[LeafFit, tuple[float, Floats]] = {}
        for kind in dict.fromkeys(leaf_fit._replace(penalty=0.0) for leaf_fit in leaf_fits):
            alike = [leaf_fit for leaf_fit in leaf_fits if leaf_fit._replace(penalty=0.0) == kind]
            fitted, left_out = self._ridge(tree, train, kind, tuple(leaf_fit.penalty for leaf_fit in alike))
            found |= zip(alike, zip(left_out, fitted))
        return [found[leaf_fit] for leaf_fit in leaf_fits]

    def _ridge(self, tree: Tree, train: Sample, kind: LeafFit, penalties: tuple[float, ...]) -> tuple[Floats, Floats]:
        return ridge_paths(
            tree, self._standard(train), self.data.scaling, linear=kind.linear and self.problem.linear,
            augmented=kind.augmented, penalties=penalties, common_penalty=kind.common,
        )  # fmt: skip

    def _outputs(self, tree: Tree, models: Sequence[Floats], train: Sample, judges: Sample) -> list[Floats]:
        """What each set of leaf models predicts, clipped to the targets of the training rows, in training units."""
        leaf = leaves_of(tree, judges)
        lower, upper = (self.data.standardise(bound) for bound in self._guard(tree, train))
        ones = np.ones((len(judges), 1))
        design = np.hstack([self.data.scaling.apply(judges, np.float64), ones]) if self.problem.linear else ones
        # A constant model is its last column alone.
        products = (np.einsum("nc,noc->no", design[:, -model.shape[2] :], model[leaf]) for model in models)
        return [np.clip(product, lower[leaf], upper[leaf]) for product in products]

    def _losses(self, tree: Tree, models: Sequence[Floats], train: Sample, judges: Sample) -> list[float]:
        """Loss of each set of leaf models on the rows to judge by."""
        target, losses = self.data.standardise(judges.y), []
        for output in self._outputs(tree, models, train, judges):
            loss = residual_losses(output - target, LOSSES[self.problem.loss], self.problem.parameter)
            losses.append(float(np.average(loss.mean(axis=1), weights=judges.weight)))
        return losses

    def _guard(self, tree: Tree, train: Sample) -> tuple[Floats, Floats]:
        return guard_of(leaves_of(tree, train), train.y, tree.n_leaves)

    def _tree(self, tree: Tree, model: Floats, train: Sample) -> Tree:
        return fold_leaves(tree, model, self._guard(tree, train) if self.guard else (None, None), self.data)


def fold_leaves(tree: Tree, model: Floats, guard: tuple[Floats | None, Floats | None], data: TrainingData) -> Tree:
    """Give a tree leaf models that were fitted in training coordinates, folded to raw inputs and targets.

    The models have shape (n_leaves, n_outputs, n_features + 1), or (n_leaves, n_outputs, 1) for constants; the guard
    is the lower and upper bound of the outputs, (n_leaves, n_outputs) each.
    """
    n_leaves, n_outputs, n_columns = model.shape
    center, scale = data.target_scale
    coef, value = None, model[:, :, -1]
    if n_columns > 1:
        slopes, offset = data.scaling.fold(model.reshape(n_leaves * n_outputs, -1))
        coef = slopes.reshape(n_leaves, n_outputs, -1) * scale[:, None]
        value = offset.reshape(n_leaves, n_outputs)
    return Tree(
        tree.topology, tree.weight, tree.bias, value * scale + center, coef, *guard, feature_names=data.feature_names
    )


def deal_classes(class_weight: Floats, n_leaves: int, *, proportional: bool) -> Ints:
    """Deal the classes out to the leaves before training.

    Either in turn, the most frequent class first, or in proportion to the square root of their weights, each class
    spread evenly over the leaves. Every class gets a leaf if there are enough; else the rarest get none.

    >>> deal_classes(np.array([1.0, 5.0, 3.0]), 4, proportional=False).tolist()
    [1, 2, 0, 1]
    >>> deal_classes(np.array([1.0, 16.0]), 4, proportional=True).tolist()
    [1, 1, 0, 1]
    """
    order = np.argsort(-class_weight, kind="stable")[:n_leaves]
    if not proportional:
        return order[np.arange(n_leaves) % len(order)]
    share, held = np.sqrt(class_weight[order]), np.ones(len(order))
    while held.sum() < n_leaves:
        held[np.argmax(share / (held + 0.5))] += 1
    positions = [((i + 0.5) / held[c], c) for c in range(len(order)) for i in range(int(held[c]))]
    return order[[c for _, c in sorted(positions)]]


@dataclass(frozen=True)
class ReassignLeaves(Callback):
    """When the annealing ends, give each leaf the class of most of its rows; a class may lose all its leaves."""

    rows: Rows
    n_classes: int

    def on_epoch(self, context: Context) -> None:
        """Reassign once, between the last epoch with a temperature and the first without."""
        temperatures = [epoch.step.temperature for epoch in context.history.epochs[-2:]]
        if len(temperatures) < 2 or not (temperatures[0] > 0 and temperatures[1] == 0):
            return
        engine = cast(ClassEngine, context.engine)
        leaf_class = engine.parameters().leaf_class
        leaf = engine.reached(self.rows.X)
        table = class_table(leaf, self.rows.y, self.rows.weight, len(leaf_class), self.n_classes)
        engine.assign(np.where(table.sum(axis=1) > 0, table.argmax(axis=1), leaf_class))


def _check_memory(n_splits: int, n_features: int) -> None:
    """Refuse trees whose splits, with their gradient and two moments in float32, do not fit into memory."""
    size = n_splits * (n_features + 1) * 16
    if size > 8e9:
        raise ValueError(
            f"max_depth asks for {n_splits} splits over {n_features} features, {size / 1e9:.0f} GB while "
            "training; lower max_depth."
        )
