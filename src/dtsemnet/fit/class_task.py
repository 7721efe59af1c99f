"""Fit a classifier: classes are dealt to leaves, reassigned when the annealing ends, and counted at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.calibration import margin_unit, sample_margins
from dtsemnet.fit.data import Sample, TrainingData
from dtsemnet.fit.initial_trees import Grown
from dtsemnet.fit.judging import ClassOutcome, Verdict, judge_classes
from dtsemnet.fit.leaves import (
    LeafFit,
    class_error,
    class_table,
    class_tree,
    count_classes,
    frequencies,
    leaves_of,
)
from dtsemnet.fit.order import isotonic, sides_of_tree
from dtsemnet.fit.plans import Plan, TableSize, class_plans
from dtsemnet.fit.pruning import Costs, best_subtrees, class_costs
from dtsemnet.fit.settings import ANNEALED_SHARE, FitOptions, Recipe, Setting
from dtsemnet.fit.tasks import Candidate, OurTask
from dtsemnet.training import (
    Callback,
    ClassEngine,
    Classification,
    ClassParameters,
    Context,
    Rows,
    validation_error,
)
from dtsemnet.training.columns import sides_of_classes
from dtsemnet.tree import Tree

__all__ = ["ClassTask", "deal_classes"]


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
    sparse_tolerance = 0.75

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

    def dense_plans(self) -> Sequence[Plan]:
        size = TableSize(len(self.data.sample), self.data.n_features, self.problem.n_classes)
        return class_plans(size, self.max_depth)

    def adapted(self, setting: Setting | None) -> Setting:
        assert setting is not None
        return super().adapted(setting.at_depth(self.topology.depth))

    def given(self, grown: Grown, train: Sample) -> Tree:
        assert grown.leaf_class is not None
        tree = self.splits_only(grown.splits)
        if self.data.direction is not None:  # its classes must be in order
            return self.fill(tree, None, train, None).tree
        return class_tree(tree, np.eye(self.problem.n_classes)[grown.leaf_class], self.data)

    def costs(self) -> Costs:
        return class_costs(self.problem.n_classes)

    def smaller_trees(self, tree: Tree, sample: Sample, verdict: Verdict, prunings: Sequence[float]) -> list[Tree]:
        """A leaf must save this many rows of impurity."""
        alphas = [rows / float(sample.copies.sum()) for rows in prunings]
        return best_subtrees(tree, sample, alphas, self.costs())

    def outcome(self, tree: Tree, train: Sample, held: Sample) -> ClassOutcome:
        tree = self.fill(tree, None, train, None).tree
        unit, share = margin_unit(sample_margins(tree, train)), tree.value[leaves_of(tree, held)]
        margin = sample_margins(tree, held) / unit
        return ClassOutcome(margin, share, held.y, held.weight, tree.n_leaves, self.columns_read(tree))

    def judge(self, outcomes: Sequence[ClassOutcome], before: Verdict | None) -> Verdict:
        return judge_classes(outcomes, None if before is None else before.calibration)

    def may_have_failed(self, tree: Tree) -> bool:
        return self._clearly_fewer_errors(tree) > 0

    def is_clearly_better(self, tree: Tree, other: Tree) -> bool:
        """Fewer errors, by more than a standard error of their share."""
        return self._training_error(tree) < self._clearly_fewer_errors(other)

    def _training_error(self, tree: Tree) -> float:
        return self.fill(tree, None, self.data.sample, None).score[0]

    def _clearly_fewer_errors(self, tree: Tree) -> float:
        """The share of errors of a tree on all rows, less its standard error."""
        error = self._training_error(tree)
        variance = max(0.0, error * (1 - error)) / float(self.data.sample.copies.sum())
        return error - float(np.sqrt(variance))

    def errors(self, verdict: Verdict, y: Array) -> Floats:
        return 1 - verdict.answer[np.arange(len(y)), y]

    def starts(self) -> tuple[Setting, ...]:
        adapts, depth = self.recipe.adapts, self.topology.depth
        return tuple(setting.at_depth(depth) if adapts else setting for setting in self.recipe.settings)

    def initial(self, setting: Setting, train: Sample, rng: np.random.Generator, init: Tree | None) -> ClassParameters:
        splits, n_classes = self.initial_splits(rng, init), self.problem.n_classes
        if init is None:
            weight: Array = np.bincount(train.y, train.weight, n_classes)
            leaf_class = deal_classes(weight, self.topology.n_leaves, proportional=setting.proportional)
            if self.data.direction is not None:
                leaf_class = _in_pairs(leaf_class)
        elif init.is_classifier and init.class_names == self.data.class_names:
            leaf_class = init.leaf_class
        else:
            leaf_class = frequencies(self.topology, count_classes(init, train, n_classes)).argmax(axis=1)
        if self.data.direction is not None:
            side = sides_of_classes(self.topology, leaf_class, splits, self.data.direction)
            splits = self.directed(splits, side, init)
        return ClassParameters(splits, leaf_class)

    def fill(
        self,
        tree: Tree,
        trained: ClassParameters | None,
        train: Sample,
        held: Sample | None,
        chosen: LeafFit | None = None,
    ) -> Candidate:
        # A tree to start from may know other classes, whose numbers mean nothing here.
        given = tree.leaf_class if tree.is_classifier and tree.class_names == self.data.class_names else None
        leaf_class = given if trained is None else trained.leaf_class
        table = count_classes(tree, train, self.problem.n_classes) / train.weight.mean()
        tree = class_tree(tree, self._in_order(tree, frequencies(tree.topology, table, leaf_class), table), self.data)
        error = float(1 - table[np.arange(tree.n_leaves), tree.leaf_class].sum() / table.sum())
        return Candidate(tree, (error,) if held is None else (class_error(tree, held), error))

    def again(self, best: Candidate) -> tuple[Setting, Tree | None]:
        """Anneal the best tree once more, which frees splits that are stuck; the loss stays bounded as it ended."""
        return replace(best.setting.sparse(), first_q=best.setting.q), best.tree

    def monitor(self, rows: Rows) -> Callable[[ClassEngine], float]:
        return validation_error(rows)

    def callbacks(self, rows: Rows) -> list[Callback]:
        in_order = None if self.data.direction is None else self._in_order
        return [ReassignLeaves(rows, self.problem.n_classes, in_order)]

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
        moved = self.settled(self.splits_only(trained.splits), self.data.sample)
        table = self.init.value * seen[:, None] + count_classes(moved, self.data.sample, self.problem.n_classes)
        shares = self._in_order(moved, frequencies(moved.topology, table), table)
        return class_tree(moved, shares, self.data), table.sum(axis=1)

    def _in_order(self, tree: Tree, share: Floats, table: Floats) -> Floats:
        """Shares of the classes in the leaves, put in order if some features have a direction; there are two then."""
        direction = self.data.direction
        if direction is None:
            return share
        second = isotonic(tree.topology, sides_of_tree(tree, direction), share[:, 1], table.sum(axis=1) + 1)
        return np.column_stack([1 - second, second])


def _in_pairs(leaf_class: Ints) -> Ints:
    """Put the classes of siblings in order, so that the splits right above the leaves may read any feature.

    >>> _in_pairs(np.array([1, 0, 0, 1])).tolist()
    [0, 1, 0, 1]
    """
    pairs = leaf_class[: len(leaf_class) // 2 * 2].reshape(-1, 2)
    return np.append(np.sort(pairs, axis=1).ravel(), leaf_class[pairs.size :])


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
    in_order: Callable[[Tree, Floats, Floats], Floats] | None = None
    """Puts shares of classes in order if they must be, given the tree and the weights of classes in its leaves."""

    def on_epoch(self, context: Context) -> None:
        """Reassign once, between the last epoch with a temperature and the first without."""
        epochs = context.history.epochs
        if epochs[-1].step.temperature != 0 or len(epochs) < 2 or epochs[-2].step.temperature == 0:
            return
        engine = cast(ClassEngine, context.engine)
        splits, leaf_class = engine.parameters().splits, engine.parameters().leaf_class
        leaf = engine.reached(self.rows.X)
        table = class_table(leaf, self.rows.y, self.rows.weight, len(leaf_class), self.n_classes)
        empty = table.sum(axis=1) == 0
        table[empty, leaf_class[empty]] = 1
        if self.in_order is not None:
            tree = Tree(engine.topology, splits[:, :-1], splits[:, -1], np.zeros((len(leaf_class), 1)))
            table = self.in_order(tree, table / table.sum(axis=1, keepdims=True), table)
        engine.assign(table.argmax(axis=1))
