"""Prediction intervals and sets, from the trees that judged the plans of a fit.

A fit compares its plans by rows that their trees were not trained on. The trees of the plan that
won, one for each fold, and how far each was off on its own rows, give CV+ intervals (Barber, Candes,
Ramdas and Tibshirani, 2021): with ``R_i`` the error of the tree that did not see row ``i``,

    [ the a-quantile of  tree_without_i(x) - R_i,   the (1 - a)-quantile of  tree_without_i(x) + R_i ]

For rows drawn alike, such an interval covers the truth with a probability of at least ``1 - 2 a``, whatever
the trees are, and in practice about ``1 - a``. With one fold (large tables, or validation rows of the
user) it is a split conformal interval, with at least ``1 - a``. One thing weakens these promises: the same
rows chose the plan, its leaves and its probabilities, so their errors are a little smaller than those of new
rows. Sets of classes are made in the same way (Romano, Sesia and Candes, 2020), with the error of a row being
1 minus the probability of its class; the class that is predicted always belongs to the set.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import MarginProbability, Tree
from dtsemnet.tree.fields import fail, name_field, read_array, read_list, read_object
from dtsemnet.tree.file import dumps, read_document, read_probability

__all__ = ["CrossFit"]

BLOCK = 4_000_000
"""Numbers that are compared at a time."""


@dataclass(frozen=True)
class CrossFit:
    """Trees that were trained without some rows, and what these rows say about them."""

    trees: tuple[Tree, ...]
    """One for each fold."""
    errors: tuple[Floats, ...]
    """For each fold the errors of its rows: (n_rows, n_outputs) of numbers, (n_rows,) of classes."""
    weights: tuple[Floats, ...]
    """For each fold the weights of its rows, of mean 1 over all folds."""
    probabilities: tuple[MarginProbability, ...] = ()
    """How the tree of each fold computes probabilities (classes)."""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON, for the model file."""
        return {
            "trees": [json.loads(dumps(tree)) for tree in self.trees],
            "errors": [error.tolist() for error in self.errors],
            "weights": [weight.tolist() for weight in self.weights],
            "probabilities": [asdict(rule) for rule in self.probabilities],
        }

    @classmethod
    def from_dict(cls, given: Any, model: Tree, field: str = "cross_fit") -> CrossFit:
        """Read what :meth:`to_dict` wrote, for the tree of a model.

        Raise a ValueError that opens with the name of the field if it does not fit the tree.
        """
        given = read_object(field, given, ("trees", "errors", "weights", "probabilities"))
        trees = read_list(f"{field}.trees", given["trees"])
        if not trees:
            fail(f"{field}.trees", "must hold at least one tree, got none")
        errors, weights = (read_list(f"{field}.{name}", given[name], len(trees)) for name in ("errors", "weights"))
        rules = read_list(f"{field}.probabilities", given["probabilities"], len(trees) if model.is_classifier else 0)
        folds = [
            _read_fold(f"{field}.errors[{i}]", error, f"{field}.weights[{i}]", weight, model)
            for i, (error, weight) in enumerate(zip(errors, weights))
        ]
        return cls(
            tuple(_read_tree(f"{field}.trees[{i}]", tree, model) for i, tree in enumerate(trees)),
            tuple(error for error, _ in folds),
            tuple(weight for _, weight in folds),
            tuple(read_probability(f"{field}.probabilities[{i}]", rule) for i, rule in enumerate(rules)),
        )

    def interval(self, rows: Floats, coverage: float) -> Floats:
        """Lower and upper ends for encoded rows, shape (n_rows, n_outputs, 2)."""
        outputs = [np.asarray(tree.predict(rows)).reshape(len(rows), tree.n_outputs) for tree in self.trees]
        ends = np.empty((len(rows), self.trees[0].n_outputs, 2))
        weight = np.concatenate(self.weights)
        for output in range(ends.shape[1]):
            for part in _slices(len(rows), len(weight)):
                for side, sign in enumerate((-1.0, 1.0)):
                    reach = [o[part, output, None] + sign * e[:, output] for o, e in zip(outputs, self.errors)]
                    # The lower end is minus the upper end of the negated values.
                    ends[part, output, side] = sign * _quantile(sign * np.concatenate(reach, axis=1), weight, coverage)
        return ends

    def sets(self, rows: Floats, coverage: float) -> Bools:
        """Which classes belong to the set of each encoded row, shape (n_rows, n_classes)."""
        weight, n_classes = np.concatenate(self.weights), self.trees[0].n_outputs
        limit, stranger = coverage * (weight.sum() + 1), np.zeros((len(rows), n_classes))
        for tree, probability, error, own in zip(self.trees, self.probabilities, self.errors, self.weights):
            chance = probability(tree, rows)
            order = np.argsort(error, kind="stable")
            below = np.concatenate([[0.0], np.cumsum(own[order])])
            # Weight of the rows that fit their class better than this row would fit this class.
            stranger += below[np.searchsorted(error[order], 1 - chance, side="left")]
        inside: Bools = stranger < limit
        return inside


def _quantile(values: Floats, weight: Floats, coverage: float) -> Array:
    """The smallest value of each row that at least ``coverage * (total + 1)`` of the weight reaches, else infinity."""
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weight[order], axis=1)
    position = (reached < coverage * (weight.sum() + 1) - 1e-9).sum(axis=1)
    padded = np.concatenate([np.take_along_axis(values, order, axis=1), np.full((len(values), 1), np.inf)], axis=1)
    chosen: Array = padded[np.arange(len(values)), position]
    return chosen


def _slices(n_rows: int, width: int) -> list[slice]:
    step = max(1, BLOCK // max(1, width))
    return [slice(start, start + step) for start in range(0, n_rows, step)]


def _read_fold(error_field: str, error: Any, weight_field: str, weight: Any, model: Tree) -> tuple[Floats, Floats]:
    """Read the errors of the rows of a fold, and their weights."""
    n_rows = len(read_list(weight_field, weight))
    shape = (n_rows,) if model.is_classifier else (n_rows, model.n_outputs)
    errors, weights = read_array(error_field, error, shape), read_array(weight_field, weight, (n_rows,))
    if (errors < 0).any():
        fail(error_field, f"must not be negative, got {errors.min()}")
    if (weights <= 0).any():
        fail(weight_field, f"must be positive, got {weights.min()}")
    return errors, weights


def _read_tree(field: str, given: Any, model: Tree) -> Tree:
    """Read the tree of a fold, which must read and give what the tree of the model does."""
    tree = name_field(field, lambda: read_document(given)).content
    names = ("n_features", "n_outputs", "class_names")
    if not isinstance(tree, Tree) or any(getattr(tree, name) != getattr(model, name) for name in names):
        fail(field, "must be a tree of the features and outputs of the model")
    return tree
