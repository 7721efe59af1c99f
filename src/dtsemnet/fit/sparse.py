"""Splits on a few columns: which columns come nearest to what all of them do.

*Forward selection* takes the column that explains most of the targets, removes its part from the targets and
from the other columns, and goes on with what is left (:func:`forward_selection`). The features of one column
(its categories, its missing mark) are taken together. All it needs are the sums of products of the columns, so
one pass over the rows serves every number of columns. Three parts of a fit use it: splits of trees that are grown,
given splits that are to be made sparse (:func:`sparse_planes`), and linear leaves (:mod:`dtsemnet.fit.leaves`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.training.columns import column_norms

__all__ = ["ColumnLimit", "forward_selection", "keep_groups", "moments", "n_columns_read", "sparse_planes"]

LEAST_GAIN = 1e-6
"""A column that explains less than this share of what the first one does is left out: it equals one of the others."""
RIDGE = 1e-6
"""Share of the mean square of the columns that is added to each, so that equal columns have a solution."""


class ColumnLimit(NamedTuple):
    """The most columns that a split may read, and the column that each feature comes from."""

    most: int
    column: Ints
    """Shape (n_features,)."""
    groups: Bools | None = None
    """Columns that may meet in a split, one group in each row, (n_groups, n_columns); None: all may."""

    def keeps(self, splits: Floats) -> bool:
        """Whether splits (n_splits, n_features + 1) keep the limit."""
        few = (n_columns_read(splits[:, :-1], self.column) <= self.most).all()
        return bool(few) and (self.groups is None or bool(keep_groups(splits[:, :-1], self.column, self.groups).all()))


def keep_groups(weight: Floats, column: Ints, groups: Bools) -> Bools:
    """Whether all columns that a split reads are in one group, for each row of weights (n_splits, n_features).

    Examples
    --------
    >>> weight, groups = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]]), np.array([[True, True, False]])
    >>> keep_groups(weight, np.arange(3), groups).tolist()
    [True, False]
    """
    read = column_norms(weight != 0, column) > 0
    n_outside: Ints = (read[:, None] & ~groups).sum(axis=2)
    return n_outside.min(axis=1) == 0


def n_columns_read(weight: Floats, column: Ints) -> Ints:
    """Number of columns that each split reads, given its weights (n_splits, n_features).

    Examples
    --------
    >>> n_columns_read(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0, 0, 1])).tolist()
    [1, 1]
    """
    return (column_norms(weight != 0, column) > 0).sum(axis=1)


def forward_selection(gram: Floats, cross: Floats, limit: ColumnLimit) -> Bools:
    """Choose columns by which targets are explained best, one after the other.

    Parameters
    ----------
    gram : array of shape (n_features, n_features)
        Sums of products of the features, less those of their means, with a ridge.
    cross : array of shape (n_features, n_targets)
        Sums of products of features and targets.
    limit : ColumnLimit

    Returns
    -------
    array of bool, shape (n_features,)
        The features of the columns chosen; fewer than the limit if no other explains anything.

    Examples
    --------
    >>> X = np.array([[0.0, 1, 0], [1, 0, 0], [2, 1, 1], [3, 0, 0]])
    >>> X -= X.mean(axis=0)
    >>> y = 2 * X[:, :1] - X[:, 2:]
    >>> forward_selection(X.T @ X + 1e-9 * np.eye(3), X.T @ y, ColumnLimit(2, np.arange(3))).tolist()
    [True, False, True]
    """
    if limit.groups is not None:
        ways = [_selection_among(gram, cross, limit, group[limit.column]) for group in limit.groups]
        return max(ways, key=lambda way: way[1])[0]
    return _selection_among(gram, cross, limit, np.ones(len(gram), bool))[0]


def _selection_among(gram: Floats, cross: Floats, limit: ColumnLimit, allowed: Bools) -> tuple[Bools, float]:
    """Choose among some features; also returns how much they explain."""
    rest, target = gram.copy(), cross.copy()
    chosen, explained = np.zeros(len(gram), bool), 0.0
    least = 1e-9 * np.diag(gram)
    groups = [np.flatnonzero(limit.column == c) for c in np.unique(limit.column)]
    wide = [group for group in groups if len(group) > 1]
    first = None
    for _ in range(limit.most):
        left = np.maximum(np.diag(rest), np.maximum(least, np.finfo(float).tiny))
        gain = np.square(target).sum(axis=1) / left
        gain[chosen | ~allowed] = -1.0
        for group in wide:
            if allowed[group[0]] and not chosen[group[0]]:
                part = rest[np.ix_(group, group)] + np.diag(least[group])
                both = target[group].T @ np.linalg.lstsq(part, target[group], rcond=None)[0]
                gain[group] = float(np.trace(both))
        best = int(np.argmax(gain))
        first = gain[best] if first is None else first
        if not gain[best] > LEAST_GAIN * first:
            break
        explained += float(gain[best])
        group = np.flatnonzero(limit.column == limit.column[best])
        chosen[group] = True
        part = rest[np.ix_(group, group)] + np.diag(least[group] + np.finfo(float).tiny)
        slopes = np.linalg.lstsq(part, np.column_stack([rest[group], target[group]]), rcond=None)[0]
        beside = rest[:, group].copy()
        rest -= beside @ slopes[:, : len(rest)]
        target -= beside @ slopes[:, len(rest) :]
    return chosen, explained


def moments(X: Floats, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Sums of products of features, and of features with targets, less those of their means.

    ``X`` has no column of ones here; the result is what :func:`forward_selection` takes.
    """
    share = weight / weight.sum()
    centred, aim = X - share @ X, target - share @ target
    gram = (centred * weight[:, None]).T @ centred
    gram[np.diag_indices(len(gram))] += RIDGE * max(float(np.trace(gram)) / max(1, len(gram)), np.finfo(float).tiny)
    return gram, (centred * weight[:, None]).T @ aim


def sparse_planes(splits: Floats, X: Floats, weight: Floats, limit: ColumnLimit) -> Floats:
    """The splits on few columns whose scores come nearest to those of given splits, by least squares over rows.

    Parameters
    ----------
    splits : array of shape (n_splits, n_features + 1)
    X : array of shape (n_rows, n_features)
        Rows in training coordinates.
    weight : array of shape (n_rows,)
    limit : ColumnLimit

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> limit = ColumnLimit(2, np.arange(3))
    >>> sparse_planes(np.array([[2.0, 0.01, -1.0, 0.5]]), X, np.ones(500), limit).round(1).tolist()
    [[2.0, 0.0, -1.0, 0.5]]
    """
    if limit.keeps(splits):
        return splits
    X = X.astype(np.float64)
    gram, _ = moments(X, X[:, :1], weight)
    mean = weight @ X / weight.sum()
    found = np.zeros_like(splits)
    for plane, given in zip(found, splits):
        cross = gram @ given[:-1, None]
        kept = np.flatnonzero(forward_selection(gram, cross, limit))
        plane[kept] = np.linalg.solve(gram[np.ix_(kept, kept)], cross[kept, 0])
        plane[-1] = given[-1] + mean @ (given[:-1] - plane[:-1])
    return found
