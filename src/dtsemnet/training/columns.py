"""What the weights of a split may be: zero outside of a few columns, and not negative where an order is asked for.

If a split may read only a few columns, it keeps those that move its score most. A column moves the score of a split
by the norm of its weights in training coordinates, where every feature has a standard deviation of 1. The features
of one column (its categories, its missing mark) count as one and stay or go together. The bias always stays.
The linear models of leaves are kept to few columns in the same way.

If some columns must not meet in a split (*groups*), the split keeps the group that moves its score most, and its few
columns are chosen in there. Groups hold in epochs in which a split may read no more columns than the largest of them
has; a training that begins with all columns finds out which group a split needs.

If an output must not fall as a feature rises (*direction*), all such features may push a row to one side of a split
only, the one with the larger answers: so says :mod:`dtsemnet.tree.order`. For classes this is the side
whose leaves have the higher classes; a split with higher classes on both sides must not read such features at all. For
numbers it is the side to which the split pushes already.

A mask that is computed once an epoch depends on nothing but the weights. A column that has gone has a weight of
zero and stays away as long as the number of columns does not rise, so a run that resumes from its weights goes on
with the same mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.training.engine import ALL
from dtsemnet.tree import Topology
from dtsemnet.tree.order import is_ordered

__all__ = ["Rules", "allowed_signs", "column_norms", "free_features", "sides_of_classes", "sides_of_weights"]

NEVER_NEGATIVE, NEVER_POSITIVE, ANY_SIGN = 1, 2, 3
"""What :func:`dtsemnet.kernels.optimizer.hold` leaves of a number; 0 for zero alone."""


def column_norms(weight: Floats, column: Ints) -> Floats:
    """Norm of the weights of each column in each split, shape (n_splits, n_columns).

    Parameters
    ----------
    weight : array of shape (n_splits, n_features)
        Weights in training coordinates.
    column : array of shape (n_features,)
        Number of the column that each feature comes from.

    Examples
    --------
    >>> column_norms(np.array([[3.0, 4.0, 1.0]]), np.array([0, 0, 1])).tolist()
    [[5.0, 1.0]]
    """
    squares = np.zeros((int(column.max(initial=-1)) + 1, len(weight)))
    np.add.at(squares, column, np.square(weight, dtype=np.float64).T)
    return np.sqrt(squares).T


def free_features(splits: Floats, column: Ints, n_columns: int) -> Bools:
    """Mark the weights that may differ from zero if each split reads at most ``n_columns`` columns.

    Parameters
    ----------
    splits : array of shape (n_splits, n_features + 1)
        Weights in training coordinates, the bias last.
    column : array of shape (n_features,)
        Number of the column that each feature comes from.
    n_columns : int
        Most columns of a split.

    Returns
    -------
    array of bool, shape (n_splits, n_features + 1)
        Without rows if there are no more columns than that, so that all weights are free.

    Examples
    --------
    >>> splits = np.array([[3.0, 4.0, 1.0, 9.0], [0.5, 0.0, 1.0, 9.0]])
    >>> free_features(splits, np.array([0, 0, 1]), 1).tolist()
    [[True, True, False, True], [False, False, True, True]]
    >>> free_features(splits, np.array([0, 0, 1]), 2).shape
    (0, 4)
    """
    if column.max(initial=-1) < n_columns:
        return np.ones((0, splits.shape[1]), bool)
    norms = column_norms(splits[:, :-1], column)
    # Of equals the first, so that the mask does not depend on how a sort treats ties.
    order = np.argsort(-norms, axis=1, kind="stable")[:, :n_columns]
    kept = np.zeros(norms.shape, bool)
    np.put_along_axis(kept, order, True, axis=1)
    return np.column_stack([kept[:, column], np.ones(len(splits), bool)])


@dataclass(frozen=True)
class Rules:
    """What the weights of splits and linear leaves may be."""

    column: Ints
    """Number of the column that each feature comes from, shape (n_features,)."""
    groups: Bools | None = None
    """Columns that may meet in a split, one group in each row, (n_groups, n_columns); None: all may."""
    direction: Ints | None = None
    """1 if no output may fall as the feature rises, -1 if none may rise, else 0; None: 0 for all."""
    splits_read_directed: bool = True
    """Whether splits may read features with a direction; else only linear leaves may."""

    @cached_property
    def _n_columns(self) -> int:
        return int(self.column.max(initial=-1)) + 1

    def leave_free(self, n_columns: int) -> bool:
        """Whether splits that read at most so many columns may have any weights."""
        return self.groups is None and self.direction is None and self._n_columns <= n_columns

    def of_splits(self, splits: Floats, n_columns: int, side: Ints | None) -> Ints:
        """What each weight of some splits may be, (n_splits, n_features + 1), or no rows if all are free.

        Parameters
        ----------
        splits : array of shape (n_splits, n_features + 1)
            As they are now, in training coordinates.
        n_columns : int
            Most columns of a split.
        side : array of int, shape (n_splits,), or None
            1 if features with direction 1 may push rows to the right, -1 to the left, 0 neither; None: by
            :func:`sides_of_weights`.
        """
        # C order: kernels that came compiled take nothing else.
        allowed = ANY_SIGN * self._free_features(splits, n_columns).astype(np.int8, order="C")
        if self.direction is None:
            return allowed
        if not self.splits_read_directed:
            side = np.zeros(len(splits), np.int64)
        elif side is None:
            side = sides_of_weights(splits, self.direction)
        signs = np.column_stack([allowed_signs(np.outer(side, self.direction), self.direction),
                                 np.full(len(splits), ANY_SIGN, np.int8)])  # fmt: skip
        return signs if len(allowed) < len(signs) else allowed & signs

    def of_leaves(self, leaves: Floats, n_columns: int = ALL) -> Ints:
        """What each number of the leaf models may be, (n_models, n_features + 1), or no rows if all are free."""
        if leaves.shape[1] == 1:
            return np.ones((0, 1), np.int8)
        allowed = ANY_SIGN * free_features(leaves, self.column, n_columns).astype(np.int8, order="C")
        if self.direction is None:
            return allowed
        signs = np.append(allowed_signs(self.direction, self.direction), np.int8(ANY_SIGN))
        signs = np.tile(signs, (len(leaves), 1))
        return signs if len(allowed) < len(signs) else allowed & signs

    def _free_features(self, splits: Floats, n_columns: int) -> Bools:
        if self.groups is None or n_columns > self.groups.sum(axis=1).max():
            return free_features(splits, self.column, n_columns)
        squares = np.square(column_norms(splits[:, :-1], self.column))
        by_group = np.where(self.groups, squares[:, None], 0.0)  # (n_splits, n_groups, n_columns)
        most = -np.sort(-by_group, axis=2)[:, :, :n_columns].sum(axis=2)
        inside = self.groups[most.argmax(axis=1)]
        is_free = np.column_stack([inside[:, self.column], np.ones(len(splits), bool)])
        few = free_features(np.where(is_free, splits, 0.0), self.column, n_columns)
        return is_free & few if len(few) else is_free


def allowed_signs(push: Ints, direction: Ints) -> Ints:
    """What numbers may be whose features have a direction and push to one side (1, -1) or to none (0)."""
    signs = np.choose(np.sign(push) + 1, [NEVER_POSITIVE, 0, NEVER_NEGATIVE])
    return np.where(direction == 0, ANY_SIGN, signs).astype(np.int8)


def sides_of_weights(splits: Floats, direction: Ints) -> Ints:
    """The side to which features push rows in the end: 1 for right, also if they do not, and -1 for left.

    Examples
    --------
    >>> sides_of_weights(np.array([[1.0, 2.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 1.0]]), np.array([1, -1])).tolist()
    [-1, 1, 1]
    """
    return np.where(splits[:, :-1] @ direction < 0, -1, 1)


def sides_of_classes(topology: Topology, leaf_class: Ints, splits: Floats, direction: Ints) -> Ints:
    """The side of each split whose leaves have the higher classes, 0 if neither side has.

    Where all leaves have one class it is :func:`sides_of_weights`.

    Examples
    --------
    >>> topology, plane = Topology.complete(2), np.array([[1.0, 0.0]] * 3)
    >>> sides_of_classes(topology, np.array([0, 1, 1, 0]), plane, np.array([1])).tolist()
    [0, 1, -1]
    """
    value = leaf_class.astype(np.float64)
    right, left = (is_ordered(topology, value, value, np.full(topology.n_splits, side)) for side in (1, -1))
    pushed = sides_of_weights(splits, direction)
    return np.where(right & left, pushed, right.astype(np.int64) - left)
