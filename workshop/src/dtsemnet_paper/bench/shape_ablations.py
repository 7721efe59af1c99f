"""The default that finds the shape of its tree, with one ingredient left out.

What each method of the table ``shape-classes`` or ``shape-numbers`` lacks stands in its task. A task is mixed from
the task of the default and one of the parts below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dtsemnet.arrays import Floats
from dtsemnet.estimators import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit.class_task import ClassTask
from dtsemnet.fit.data import Sample
from dtsemnet.fit.initial_trees import CartTree, GreedyTree, HingeTree, InitialTree, LogisticTree
from dtsemnet.fit.judging import Verdict
from dtsemnet.fit.plans import Plan
from dtsemnet.fit.regression_task import RegressionTask
from dtsemnet.tree import Tree

__all__ = [
    "BestClassifier", "BestRegressor", "NoCartClassifier", "NoCartRegressor", "NoObliqueClassifier",
    "NoObliqueRegressor", "NoPruningClassifier", "NoPruningRegressor", "NoSecondClassifier", "NoSmoothingRegressor",
    "OneRidgeRegressor", "RandomClassifier", "RandomRegressor",
]  # fmt: skip


class _Without:
    """Leave out the plans that begin with a tree of these kinds."""

    left_out: tuple[type[InitialTree], ...] = ()

    def plans(self) -> Sequence[Plan]:
        plans: Sequence[Plan] = super().plans()  # type: ignore[misc]
        return [plan for plan in plans if not isinstance(plan.tree, self.left_out)]


class _NoCart(_Without):
    left_out = (CartTree,)


class _NoOblique(_Without):
    left_out = (LogisticTree, GreedyTree, HingeTree)


class _Random(_Without):
    left_out = (CartTree, LogisticTree, GreedyTree, HingeTree)


class _NoPruning:
    """Judge the trees as they were trained."""

    def smaller_trees(self, tree: Tree, sample: Sample, verdict: Verdict, prunings: Sequence[float]) -> list[Tree]:
        return [tree] * len(prunings)


class _Best:
    """Take the best plan, however many leaves it has."""

    tolerance = 0.0


class _NoSecond:
    """Keep the last training, even if it failed."""

    def is_clearly_better(self, tree: Tree, other: Tree) -> bool:
        return False


class _NoSmoothing:
    """Train with the targets as they are."""

    def smoothed(self, sample: Sample, answer: Floats) -> Sample:
        return sample


class _OneRidge:
    """Shrink leaves towards the model of all rows that has nearly no penalty."""

    ways = tuple(way for way in RegressionTask.ways if way.common == RegressionTask.ways[0].common)


def _classifier(name: str, part: type[Any]) -> type[DTSemNetClassifier]:
    task = type(f"_{name}Task", (part, ClassTask), {})
    return type(name, (DTSemNetClassifier,), {"_task_class": task, "__doc__": part.__doc__, "__module__": __name__})


def _regressor(name: str, part: type[Any]) -> type[DTSemNetRegressor]:
    task = type(f"_{name}Task", (part, RegressionTask), {})
    return type(name, (DTSemNetRegressor,), {"_task_class": task, "__doc__": part.__doc__, "__module__": __name__})


NoCartClassifier = _classifier("NoCartClassifier", _NoCart)
NoObliqueClassifier = _classifier("NoObliqueClassifier", _NoOblique)
RandomClassifier = _classifier("RandomClassifier", _Random)
NoPruningClassifier = _classifier("NoPruningClassifier", _NoPruning)
BestClassifier = _classifier("BestClassifier", _Best)
NoSecondClassifier = _classifier("NoSecondClassifier", _NoSecond)
NoCartRegressor = _regressor("NoCartRegressor", _NoCart)
NoObliqueRegressor = _regressor("NoObliqueRegressor", _NoOblique)
RandomRegressor = _regressor("RandomRegressor", _Random)
NoPruningRegressor = _regressor("NoPruningRegressor", _NoPruning)
BestRegressor = _regressor("BestRegressor", _Best)
NoSmoothingRegressor = _regressor("NoSmoothingRegressor", _NoSmoothing)
OneRidgeRegressor = _regressor("OneRidgeRegressor", _OneRidge)
