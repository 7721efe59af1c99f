"""Fit a regressor: targets are standardised in training and folded back into leaves that have a closed form."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.data import N_FOLDS, Sample, TrainingData
from dtsemnet.fit.initial_trees import Grown
from dtsemnet.fit.judging import SMALLEST_MEAN, RegressionOutcome, Verdict, answer_losses, judge_numbers
from dtsemnet.fit.leaves import (
    CONSTANT_FITS,
    LEAF_FITS,
    WAYS,
    LeafFit,
    RidgeRows,
    count_rows,
    guard_of,
    leaves_of,
    ridge_paths,
    update_leaves,
)
from dtsemnet.fit.order import isotonic, sides_of_tree, thresholds
from dtsemnet.fit.plans import Plan, TableSize, ordered_plans, regression_plans
from dtsemnet.fit.pruning import Costs, Limits, PruningPath, best_subtrees, pruning_path, regression_costs
from dtsemnet.fit.settings import FitOptions, Recipe, Setting
from dtsemnet.fit.tasks import Candidate, OurTask
from dtsemnet.kernels.optimizer import hold
from dtsemnet.kernels.regression import DEVIANCES
from dtsemnet.training import ALL, Regression, RegressionParameters, Rows, Step, TreeEngine, validation_loss
from dtsemnet.training.columns import Rules
from dtsemnet.tree import Tree

__all__ = ["RegressionTask", "fold_leaves"]


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
    sparse_tolerance = 0.5  # a few large errors make the standard error large: a whole one costs much accuracy
    ways = WAYS
    """How linear leaves are fitted when plans are compared."""

    def __init__(
        self, data: TrainingData, options: FitOptions, recipe: Recipe, *, problem: Regression, guard: bool, **more: Any
    ) -> None:
        # Leaves that were trained are not refitted, so training with all rows would start from other leaves.
        options = options if recipe.closed_form else replace(options, refit=False)
        super().__init__(data, options, recipe, **more)
        self.problem, self.guard = problem, guard
        # Without a choice, linear leaves alone read features with a direction: see `ordered_plans`.
        self.splits_read_directed = not problem.linear or self.init is not None
        self._ridge_rows: deque[tuple[Sample, RidgeRows]] = deque(maxlen=N_FOLDS + 1)

    def dense_plans(self) -> Sequence[Plan]:
        plans = regression_plans(TableSize(len(self.data.sample), self.data.n_features), self.max_depth)
        return ordered_plans(plans) if self.data.direction is not None and self.problem.linear else plans

    def given(self, grown: Grown, train: Sample) -> Tree:
        # The ridge penalty of a start needs no choice: training goes on from here, or the leaves are fitted again.
        return self.fill(self.splits_only(grown.splits), None, train, None, LeafFit(False, 10.0)).tree

    def costs(self) -> Costs:
        return regression_costs(self.data.scaling, linear=self.problem.linear)

    def smaller_trees(self, tree: Tree, sample: Sample, verdict: Verdict, prunings: Sequence[float]) -> list[Tree]:
        """A leaf must save this many times what its numbers would save by fitting noise alone."""
        assert verdict.leaf_fit is not None
        linear = verdict.leaf_fit.linear and self.problem.linear
        n_numbers = 1 + int((self.data.scaling.factor > 0).sum()) if linear else 1
        rows, unit = self._in_own_unit(sample)
        noise = verdict.mean * float(np.square(self.data.target_scale[1] / unit).sum())
        if self.has_log_link:  # then the loss is no variance
            noise = float(((1 - verdict.score) * np.var(rows.y, axis=0)).sum())
        alphas = [times * n_numbers * noise / float(sample.copies.sum()) for times in prunings]
        return best_subtrees(tree, rows, alphas, regression_costs(self.data.scaling, linear=linear))

    def limited(self, sample: Sample) -> tuple[Sample, Limits]:
        rows, unit = self._in_own_unit(sample)
        return rows, replace(self.limits, ccp_alpha=self.limits.ccp_alpha / unit / unit)

    def pruning_path(self, tree: Tree, sample: Sample) -> PruningPath:
        rows, unit = self._in_own_unit(sample)
        path = pruning_path(tree, rows, self.costs())
        with np.errstate(over="ignore"):  # squares of large targets may be infinite
            return path._replace(ccp_alphas=path.ccp_alphas * unit * unit, impurities=path.impurities * unit * unit)

    def outcome(self, tree: Tree, train: Sample, held: Sample) -> RegressionOutcome:
        ways = self.ways if self.problem.linear else CONSTANT_FITS
        models = [model for _, model in self._models(tree, train, ways, judges=False)]
        output = np.array(self._outputs(tree, models, train, held))
        y = self.data.standardise(held.y)
        return RegressionOutcome(output, y, held.weight, ways, tree.n_leaves, self.columns_read(tree))

    def judge(self, outcomes: Sequence[RegressionOutcome], before: Verdict | None) -> Verdict:
        return judge_numbers(outcomes, self.problem.loss, self.problem.parameter)

    def errors(self, verdict: Verdict, y: Array) -> Floats:
        center, scale = self.data.target_scale
        return np.abs(verdict.answer * scale + center - y)

    def smoothed(self, sample: Sample, answer: Floats) -> Sample:
        """Half of each target is what trees that never saw it said, which has less noise."""
        center, scale = self.data.target_scale
        return sample.with_targets((sample.y + answer * scale + center) / 2)

    def targets(self, sample: Sample) -> Array:
        return self.data.standardise(sample.y).astype(np.float32)

    def initial(
        self, setting: Setting, train: Sample, rng: np.random.Generator, init: Tree | None
    ) -> RegressionParameters:
        splits = self.directed(self.initial_splits(rng, init), None, init)
        return RegressionParameters(splits, self._initial_leaves(rng, init))

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
            ((_, model),) = self._models(tree, train, (LeafFit(False, 1.0),), judges=False)
        else:
            model = self._in_order(tree, self._of_trained(trained), train)
        losses = self._losses(tree, [model], train, train if held is None else held)
        return Candidate(self._tree(tree, model, train), tuple(losses))

    def again(self, best: Candidate) -> tuple[Setting, Tree | None]:
        """Warm the best tree up a little, with leaves that are fitted to all rows."""
        return best.setting.sparse().warm(), self.fill(best.tree, None, self.data.sample, None, best.leaf_fit).tree

    def monitor(self, rows: Rows) -> Callable[[TreeEngine], float]:
        return validation_loss(rows, Step(0.0))

    def update(self, trained: RegressionParameters, seen: Floats) -> tuple[Tree, Floats]:
        """Update the leaves in closed form if they have one, and widen the guard by the targets of the new rows."""
        assert self.init is not None
        sample = self.data.sample
        tree = self.settled(self.splits_only(trained.splits), sample)
        model = self._of_trained(trained)
        if self.recipe.closed_form:
            before = self._initial_leaves(np.random.default_rng(0), self.init).reshape(model.shape)
            before = np.exp(before) if self.has_log_link else before
            keeps = self.options.max_leaf_features is not None
            model = update_leaves(tree, before, seen, self._standard(sample), self.data.scaling, keeps_zeros=keeps)
        guard = self.init.lower, self.init.upper
        if self.init.lower is not None and self.init.upper is not None:
            lower, upper, leaf = self.init.lower.copy(), self.init.upper.copy(), leaves_of(tree, sample)
            np.minimum.at(lower, leaf, sample.y)
            np.maximum.at(upper, leaf, sample.y)
            model = self._in_order(tree, model, sample)
            guard = self._guard_in_order(tree, model, sample, (lower, upper))
        return fold_leaves(tree, model, guard, self.data), seen + count_rows(tree, sample)

    def _of_trained(self, trained: RegressionParameters) -> Floats:
        """The models of the leaves that training has reached, (n_leaves, n_outputs, n_columns)."""
        matrix: Floats = trained.leaves.astype(np.float64)
        # A training that was cut short may not have left out all that it should.
        hold(matrix, Rules(self.data.column).of_leaves(matrix, self._most_leaf_columns))
        leaves = matrix.reshape(self.topology.n_leaves, self.problem.n_outputs, -1)
        return np.exp(leaves) if self.has_log_link else leaves

    @property
    def _most_leaf_columns(self) -> int:
        """Most columns of the model of a leaf."""
        return ALL if self.options.max_leaf_features is None else self.options.max_leaf_features

    @property
    def has_log_link(self) -> bool:
        """Whether training works on logarithms of means."""
        return self.problem.loss in DEVIANCES

    def _standard(self, sample: Sample) -> Sample:
        """The same rows with standardised targets."""
        return sample.with_targets(self.data.standardise(sample.y))

    def _in_own_unit(self, sample: Sample) -> tuple[Sample, float]:
        """The same rows, their targets around 0 in a power of 2 whose squares do not overflow; and that unit."""
        center, scale = self.data.target_scale
        unit = float(np.exp2(np.floor(np.log2(scale.max()))))
        return sample.with_targets(sample.y / unit - center / unit), unit

    def _initial_leaves(self, rng: np.random.Generator, init: Tree | None) -> Floats:
        """Small random models, or those of the given tree in training coordinates."""
        n_rows = self.topology.n_leaves * self.problem.n_outputs
        if init is None or init.is_classifier:
            return rng.standard_normal((n_rows, self.data.n_features + 1 if self.problem.linear else 1)) * 0.01
        offset, (_, scale) = self.data.standardise(init.value), self.data.target_scale
        if self.has_log_link:
            offset = np.log(np.maximum(offset, SMALLEST_MEAN))
        if not self.problem.linear:
            return offset.reshape(-1, 1)
        coef = np.zeros((*init.value.shape, self.data.n_features)) if init.coef is None else init.coef
        return self.data.scaling.unfold((coef / scale[:, None]).reshape(n_rows, -1), offset.ravel())

    def _refit(self, tree: Tree, train: Sample, held: Sample | None, leaf_fits: Sequence[LeafFit]) -> Candidate:
        """Fit all leaves in each of the ways, and keep the best."""
        fitted = self._models(tree, train, leaf_fits, judges=held is None)
        losses, models = [loss for loss, _ in fitted], [model for _, model in fitted]
        if held is not None:
            losses = self._losses(tree, models, train, held)
        best = int(np.argmin(losses))
        return Candidate(self._tree(tree, models[best], train), (float(losses[best]),), leaf_fits[best])

    def _models(
        self, tree: Tree, train: Sample, leaf_fits: Sequence[LeafFit], *, judges: bool
    ) -> list[tuple[float, Floats]]:
        """Fit all leaves in each of the ways: the mean squared leave-one-out error, if it judges, and the models."""
        rows = next((rows for sample, rows in self._ridge_rows if sample is train), None)
        if rows is None:
            rows = RidgeRows(self._standard(train), self.data.scaling, self.data.direction, self.data.column)
            self._ridge_rows.append((train, rows))
        most = self.options.max_leaf_features
        ways = (
            leaf_fits
            if most is None
            else [fit._replace(n_columns=min(most, fit.n_columns or most)) for fit in leaf_fits]
        )
        fitted = ridge_paths(tree, rows, ways, linear=self.problem.linear, judges=judges)
        return [(loss, self._in_order(tree, model, train)) for loss, model in fitted]

    def _in_order(self, tree: Tree, model: Floats, train: Sample) -> Floats:
        """Models of the leaves whose constants are in order and whose weights have the right signs, if they must."""
        direction = self.data.direction
        if direction is None:
            return model
        model = model.copy()
        if model.shape[2] > 1:
            matrix = model.reshape(-1, model.shape[2])
            hold(matrix, self.rules.of_leaves(matrix))
        else:
            weight = count_rows(tree, train) + 1e-3  # a leaf without rows takes what its neighbours have
            for constant in model[:, :, 0].T:
                constant[:] = isotonic(tree.topology, sides_of_tree(tree, direction), constant, weight)
        return model

    def _outputs(self, tree: Tree, models: Sequence[Floats], train: Sample, judges: Sample) -> list[Floats]:
        """What each set of leaf models predicts, clipped to the targets of the training rows, in training units."""
        leaf, found = leaves_of(tree, judges), []
        guard = self._guard(tree, train)
        for model, product in zip(models, self._products(models, leaf, judges)):
            ends = self._guard_in_order(tree, model, train, guard)
            lower, upper = (self.data.standardise(bound) for bound in ends)
            found.append(np.clip(product, lower[leaf], upper[leaf]))
        return found

    def _products(self, models: Sequence[Floats], leaf: Ints, rows: Sample) -> Iterator[Floats]:
        """What each set of leaf models says of rows in these leaves, in training units."""
        ones = np.ones((len(rows), 1))
        design = ones
        if self.problem.linear:
            design = np.hstack([self.data.scaling.apply(rows, np.float64, far="keep"), ones])
        # A constant model is its last column alone.
        return (np.einsum("nc,noc->no", design[:, -model.shape[2] :], model[leaf]) for model in models)

    def _losses(self, tree: Tree, models: Sequence[Floats], train: Sample, judges: Sample) -> list[float]:
        """Loss of each set of leaf models on the rows to judge by."""
        target, losses = self.data.standardise(judges.y), []
        for output in self._outputs(tree, models, train, judges):
            loss = answer_losses(output, target, self.problem.loss, self.problem.parameter)
            losses.append(float(np.average(loss, weights=judges.weight)))
        return losses

    def _guard(self, tree: Tree, train: Sample) -> tuple[Floats, Floats]:
        return guard_of(leaves_of(tree, train), train.y, tree.n_leaves)

    def _guard_in_order(
        self, tree: Tree, model: Floats, train: Sample, guard: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """A guard that puts the answers of leaf models in order if they must be; the given one if not.

        A mean of counts is never held to the largest count of its leaf: that may be 0.
        """
        direction = self.data.direction
        if direction is None and not self.has_log_link:
            return guard
        lower, upper = guard
        center, scale = self.data.target_scale
        if model.shape[2] == 1:  # constants are in order already
            value = model[:, :, 0] * scale + center
            return np.minimum(lower, value), np.maximum(upper, value)
        assert direction is not None
        side = sides_of_tree(tree, direction)
        if not side.any():
            return guard
        leaf = leaves_of(tree, train)
        (product,) = self._products([model], leaf, train)
        answer = np.clip(product * scale + center, lower[leaf], upper[leaf])
        ends = [thresholds(tree.topology, side, leaf, column, train.weight) for column in answer.T]
        low, high = (np.column_stack(bounds) for bounds in zip(*ends))
        return np.clip(lower, low, high), np.clip(upper, low, high)

    def _tree(self, tree: Tree, model: Floats, train: Sample) -> Tree:
        if not self.guard:
            return fold_leaves(tree, model, (None, None), self.data)
        return fold_leaves(tree, model, self._guard_in_order(tree, model, train, self._guard(tree, train)), self.data)


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
