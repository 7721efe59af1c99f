"""How a classifier is fitted: starts annealed, classes dealt to leaves, reassigned, counted at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.fit.data import Sample
from dtsemnet.fit.fitting import Fitting
from dtsemnet.fit.leaves import class_table, count_classes, frequencies
from dtsemnet.fit.search import Candidate, Plan, begin, parameters_of
from dtsemnet.fit.settings import CLASSIFICATION, PAPER_CLASSIFICATION, Setting, classification_phases
from dtsemnet.training import (
    Callback,
    ClassEngine,
    Classification,
    ClassParameters,
    Context,
    History,
    Training,
    validation_error,
)
from dtsemnet.tree import Tree

__all__ = ["ClassFitting", "deal_classes"]


def deal_classes(class_weight: Floats, n_leaves: int, *, proportional: bool) -> Ints:
    """Deal the classes out to the leaves before training.

    In turn, the most frequent first; or proportionally, by the root of their weight, each class spread evenly
    over the leaves. Every class gets a leaf while there are enough; else the rarest go without.

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
    places = [((i + 0.5) / held[c], c) for c in range(len(order)) for i in range(int(held[c]))]
    return order[[c for _, c in sorted(places)]]


class ReassignLeaves(Callback):
    """When the annealing ends, give each leaf the class of most of its rows: a class may lose its leaves."""

    def __init__(self, plan: Plan) -> None:
        self.rows, self.problem = plan.rows, plan.problem

    def on_epoch(self, context: Context) -> None:
        """Reassign once, between the last epoch with a temperature and the first without."""
        temperatures = [epoch.step.temperature for epoch in context.history.epochs[-2:]]
        if len(temperatures) < 2 or not (temperatures[0] > 0 and temperatures[1] == 0):
            return
        engine = cast(ClassEngine, context.engine)
        assert isinstance(self.problem, Classification)
        held = engine.parameters().leaf_class
        leaf = engine.reached(self.rows.X)
        table = class_table(leaf, self.rows.y, self.rows.weight, len(held), self.problem.n_classes)
        engine.assign(np.where(table.sum(axis=1) > 0, table.argmax(axis=1), held))


class ClassFitting(Fitting):
    """A classifier in the making."""

    by_class = True
    pause = 0.7  # where the annealing ends

    @property
    def most_epochs(self) -> int:
        """Fewer in deep trees, whose steps cost more and which learn a small table by heart soon enough."""
        # The smallest tree has as many as the one asked for: it must not cost more.
        depth = self.options.max_depth if self.init is None else self.topology.depth
        return round(200 * (4 / max(4, depth)) ** 1.75)

    @property
    def problem(self) -> Classification:
        assert self.data.class_names is not None
        return Classification(len(self.data.class_names))

    @property
    def settings(self) -> tuple[Setting, ...]:
        if self.options.training == "paper":
            return (PAPER_CLASSIFICATION,)
        return tuple(setting.at_depth(self.topology.depth) for setting in CLASSIFICATION)

    def smallest(self) -> ClassFitting | None:
        """Find the fit of a tree with no more levels than give each class a leaf: of two classes, a linear model."""
        depth = (self.problem.n_classes - 1).bit_length()
        return type(self)(self.options, self.data, self.rng, depth=depth) if 0 < depth < self.topology.depth else None

    def last(self, setting: Setting) -> Setting:
        """Anneal once more, which frees splits that are stuck; the loss stays as bounded as it ended."""
        return replace(setting, first_q=setting.q)

    def first_parameters(self) -> ClassParameters:
        assert self.init is not None
        return ClassParameters(self.first_splits(self.rng, self.init), self.init.leaf_class)

    def begin(
        self, plan: Plan, number: int, setting: Setting, train: Sample, rng: Any, init: Tree | None, n_epochs: int
    ) -> Training[Any]:
        parameters = ClassParameters(self.first_splits(rng, init), self._first_classes(train, setting, init))
        phases = classification_phases(self.options.training, setting, n_epochs)
        return begin(
            plan, parameters, phases, rng, number=number, weight_decay=setting.weight_decay, l1=setting.l1,
            callbacks=[ReassignLeaves(plan)],
        )  # fmt: skip

    def judge(
        self, run: Training[ClassEngine], number: int, setting: Setting, train: Sample, validation: Sample | None
    ) -> Candidate:
        found = parameters_of(run)
        tree, error = self._with_leaves(self.skeleton(found.splits), found.leaf_class, train)
        merit = (error,) if validation is None else (self._error(tree, validation), error)
        return Candidate(tree, merit, run.history, setting, number)

    def finish(self, plan: Callable[[], Plan], best: Candidate, rng: Any) -> Candidate:
        """Train the best tree on; of one kept as it is, or stopped early, count the leaves."""
        sample = self.data.sample
        if best.setting is None or not self.trains_on:
            return replace(self.as_it_is(best.tree, sample, None), history=best.history)
        run = self.train_on(plan(), best, rng)
        found = self.judge(run, best.number, best.setting, sample, None)
        return replace(found, history=best.history.followed_by(run.history))

    def monitor(self, validation: Sample) -> Callable[[ClassEngine], float]:
        return validation_error(self.rows(validation))

    def as_it_is(self, tree: Tree, train: Sample, validation: Sample | None) -> Candidate:
        counted, error = self._with_leaves(tree, tree.leaf_class if tree.is_classifier else None, train)
        merit = (error,) if validation is None else (self._error(counted, validation), error)
        return Candidate(counted, merit, History(), None, 0)

    def _first_classes(self, train: Sample, setting: Setting, init: Tree | None) -> Ints:
        n_leaves = self.topology.n_leaves
        if init is not None and init.is_classifier and init.class_names == self.data.class_names:
            return init.leaf_class
        weight: Array = np.bincount(train.y, train.weight, self.problem.n_classes)
        if init is not None:
            table = count_classes(init, train, self.problem.n_classes)
            return frequencies(self.topology, table).argmax(axis=1)
        return deal_classes(weight, n_leaves, proportional=setting.proportional and self.options.training == "annealed")

    def _with_leaves(self, tree: Tree, leaf_class: Ints | None, train: Sample) -> tuple[Tree, float]:
        """Count the classes in the leaves; return the tree and its error on the rows counted."""
        n_classes = self.problem.n_classes
        table = count_classes(tree, train, n_classes) / train.weight.mean()
        shown = table.copy()
        if leaf_class is not None:
            # A leaf that no row reached holds the class it was trained for: rows to come will lie near its like.
            empty = np.flatnonzero(table.sum(axis=1) == 0)
            shown[empty, leaf_class[empty]] = 2
        names = self.data.feature_names
        counted = Tree(
            tree.topology, tree.weight, tree.bias, frequencies(tree.topology, shown),
            feature_names=names, class_names=self.data.class_names,
        )  # fmt: skip
        right = table[np.arange(tree.n_leaves), counted.leaf_class].sum()
        return counted, float(1 - right / table.sum())

    def _error(self, tree: Tree, sample: Sample) -> float:
        table = count_classes(tree, sample, self.problem.n_classes)
        return float(1 - table[np.arange(tree.n_leaves), tree.leaf_class].sum() / table.sum())
