"""How a regressor is fitted: starts annealed, leaves in closed form, outputs guarded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.fit.data import Sample, target_scale
from dtsemnet.fit.fitting import Fitting, TrainingData
from dtsemnet.fit.leaves import PENALTIES, guard_of, leaves_of, ridge_paths, update_leaves
from dtsemnet.fit.search import Candidate, Plan, begin, parameters_of
from dtsemnet.fit.settings import PAPER_REGRESSION, REGRESSION, Setting, regression_phases
from dtsemnet.training import (
    History,
    Regression,
    RegressionEngine,
    RegressionParameters,
    Step,
    Training,
    TreeEngine,
    validation_loss,
)
from dtsemnet.tree import Tree

__all__ = ["LeafFitting"]


class Way(NamedTuple):
    """A way to fit the leaves: whether rows count for their second choice too, and the ridge penalty."""

    augmented: bool
    penalty: float


WAYS = tuple(Way(augmented, penalty) for augmented in (False, True) for penalty in PENALTIES)


class LeafFitting(Fitting):
    """A regressor in the making. Targets are standardised while it lasts, and folded back into the leaves."""

    by_class = False
    pause = None  # errors on the way tell too little of those at the end

    def __init__(self, options: Any, data: TrainingData, rng: np.random.Generator, init: Tree | None) -> None:
        super().__init__(options, data, rng, init)
        self.y_center, self.y_scale = target_scale(data.sample)

    @property
    def most_epochs(self) -> int:
        return 500

    @property
    def problem(self) -> Regression:
        o = self.options
        parameter = o.quantile if o.loss == "quantile" else o.huber_delta
        return Regression(self.data.sample.y.shape[1], o.leaf == "linear", o.loss, parameter)

    @property
    def settings(self) -> tuple[Setting, ...]:
        return REGRESSION if self.options.training == "annealed" else (PAPER_REGRESSION,)

    @property
    def trains_on(self) -> bool:
        return self.closed_form and super().trains_on

    def last(self, setting: Setting) -> Setting:
        return setting.warm()

    @property
    def closed_form(self) -> bool:
        """Whether leaves are refitted by ridge regression; the paper's training keeps its trained leaves."""
        return bool(self.options.training == "annealed" and self.options.loss == "squared_error")

    def targets(self, sample: Sample) -> Array:
        return self._standard(sample).astype(np.float32)

    def _standard(self, sample: Sample) -> Floats:
        scaled: Floats = (sample.y - self.y_center) / self.y_scale
        return scaled

    def _scaled(self, sample: Sample) -> Sample:
        """The same rows with standardised targets."""
        return Sample(sample.X, sample.index, self._standard(sample), sample.weight)

    def first_parameters(self) -> RegressionParameters:
        return RegressionParameters(self.first_splits(self.rng, self.init), self._first_leaves(self.rng, self.init))

    def begin(
        self, plan: Plan, number: int, setting: Setting, train: Sample, rng: Any, init: Tree | None, n_epochs: int
    ) -> Training[Any]:
        parameters = RegressionParameters(self.first_splits(rng, init), self._first_leaves(rng, init))
        phases = regression_phases(self.options.training, setting, n_epochs, closed_form=self.closed_form)
        return begin(plan, parameters, phases, rng, number=number, weight_decay=setting.weight_decay, l1=setting.l1)

    def judge(
        self, run: Training[RegressionEngine], number: int, setting: Setting, train: Sample, validation: Sample | None
    ) -> Candidate:
        found = parameters_of(run)
        skeleton = self.skeleton(found.splits)
        if self.closed_form:
            tree, merit, way = self._refit(skeleton, train, validation)
            return Candidate(tree, (merit,), run.history, setting, number, way)
        leaves = found.leaves.astype(np.float64).reshape(self.topology.n_leaves, train.y.shape[1], -1)
        (merit,) = self._losses(skeleton, [leaves], train, train if validation is None else validation)
        return Candidate(self._tree(skeleton, leaves, train), (merit,), run.history, setting, number)

    def finish(self, plan: Callable[[], Plan], best: Candidate, rng: Any) -> Candidate:
        """Train the best tree on; the way to fit its leaves, chosen on rows that it had not seen, stays."""
        if not self.closed_form:
            return best
        # From leaves that have seen all rows; those of a tree kept as it is, or stopped early, are all there is.
        tree, _, _ = self._refit(best.tree, self.data.sample, None, [best.way])
        best = replace(best, tree=tree)
        if best.setting is None or not self.trains_on:
            return best
        run = self.train_on(plan(), best, rng)
        tree, _, _ = self._refit(self.skeleton(parameters_of(run).splits), self.data.sample, None, [best.way])
        return replace(best, tree=tree, history=best.history.followed_by(run.history))

    def monitor(self, validation: Sample) -> Callable[[TreeEngine], float]:
        return validation_loss(self.rows(validation), Step(0.0))

    def as_it_is(self, tree: Tree, train: Sample, validation: Sample | None) -> Candidate:
        if self.closed_form:
            refitted, merit, way = self._refit(tree, train, validation)
            return Candidate(refitted, (merit,), History(), None, 0, way)
        paths = ridge_paths(
            tree, self._scaled(train), self.scaling, linear=self.options.leaf == "linear", augmented=False,
            penalties=(1.0,),
        )  # fmt: skip
        model = paths.leaves[0]
        (merit,) = self._losses(tree, [model], train, train if validation is None else validation)
        return Candidate(self._tree(tree, model, train), (merit,), History(), None, 0)

    def _first_leaves(self, rng: np.random.Generator, init: Tree | None) -> Floats:
        """Small random models, or those of the initial tree in training coordinates."""
        n_outputs, linear = self.data.sample.y.shape[1], self.options.leaf == "linear"
        n_rows = self.topology.n_leaves * n_outputs
        if init is None or init.is_classifier:
            return rng.standard_normal((n_rows, self.data.n_features + 1 if linear else 1)) * 0.01
        value = init.value
        coef = np.zeros((*value.shape, self.data.n_features)) if init.coef is None else init.coef
        if not linear:
            return ((value - self.y_center) / self.y_scale).reshape(-1, 1)
        slopes, offset = coef / self.y_scale[:, None], (value - self.y_center) / self.y_scale
        return self.scaling.unfold(slopes.reshape(n_rows, -1), offset.ravel())

    def _refit(
        self, tree: Tree, train: Sample, validation: Sample | None, ways: Sequence[Way] = WAYS
    ) -> tuple[Tree, float, Way]:
        """Fit all leaves in each of the ways and keep the best, with its loss and the way."""
        models, errors = [], []
        for augmented in (False, True):
            penalties = tuple(way.penalty for way in ways if way.augmented == augmented)
            if penalties:
                paths = ridge_paths(
                    tree, self._scaled(train), self.scaling, linear=self.options.leaf == "linear",
                    augmented=augmented, penalties=penalties,
                )  # fmt: skip
                models += list(paths.leaves)
                errors += list(paths.left_out)
        if validation is not None:
            errors = self._losses(tree, models, train, validation)
        best = int(np.argmin(errors))
        return self._tree(tree, models[best], train), float(errors[best]), ways[best]

    def _losses(self, tree: Tree, models: Sequence[Floats], train: Sample, judges: Sample) -> list[float]:
        """Loss of each set of leaf models on the rows that judge, guarded by the rows of training."""
        leaf, target = leaves_of(tree, judges), self._standard(judges)
        lower, upper = ((bound - self.y_center) / self.y_scale for bound in self._guard(tree, train))
        design = np.ones((len(judges), 1))
        if self.options.leaf == "linear":
            design = np.hstack([self.scaling.apply(judges, np.float64), design])
        losses = []
        for model in models:
            output = np.clip(np.einsum("nc,noc->no", design, model[leaf]), lower[leaf], upper[leaf])
            losses.append(float(np.average(self._loss(output - target).mean(axis=1), weights=judges.weight)))
        return losses

    def _loss(self, residual: Floats) -> Floats:
        """The loss that the user asked for, of standardised residuals."""
        name, parameter, size = self.problem.loss, self.problem.parameter, np.abs(residual)
        if name == "squared_error":
            return np.square(residual)
        if name == "absolute_error":
            return size
        if name == "huber":
            return np.where(size <= parameter, residual**2 / 2, parameter * (size - parameter / 2))
        return np.maximum((1 - parameter) * residual, -parameter * residual)

    def _guard(self, tree: Tree, train: Sample) -> tuple[Floats, Floats]:
        return guard_of(leaves_of(tree, train), train.y, tree.n_leaves)

    def _tree(self, tree: Tree, model: Floats, train: Sample) -> Tree:
        return self.fold_leaves(tree, model, self._guard(tree, train) if self.options.guard else (None, None))

    def update(self, splits: Array, leaves: Array, seen: Floats, guard: Callable[[Tree], Any]) -> Tree:
        """The tree after an epoch on new rows: moved splits, and leaves as they were, updated in closed form."""
        sample, tree = self.data.sample, self.skeleton(splits)
        model: Floats = leaves.astype(np.float64).reshape(tree.n_leaves, sample.y.shape[1], -1)
        if self.closed_form:
            before = self._first_leaves(self.rng, self.init).reshape(model.shape)
            model = update_leaves(tree, before, seen, self._scaled(sample), self.scaling)
        return self.fold_leaves(tree, model, guard(tree))

    def fold_leaves(self, tree: Tree, model: Floats, guard: tuple[Any, Any]) -> Tree:
        """Fold leaf models (n_leaves, n_outputs, n_columns) to raw inputs and targets, on the splits of a tree."""
        n_leaves, n_outputs, _ = model.shape
        coef, value = None, model[:, :, -1]
        if self.options.leaf == "linear":
            slopes, offset = self.scaling.fold(model.reshape(n_leaves * n_outputs, -1))
            coef = slopes.reshape(n_leaves, n_outputs, -1) * self.y_scale[:, None]
            value = offset.reshape(n_leaves, n_outputs)
        value = value * self.y_scale + self.y_center
        return Tree(tree.topology, tree.weight, tree.bias, value, coef, *guard, feature_names=self.data.feature_names)
