"""Which columns a split keeps when it may read only a few of them: those that move its score most.

A column moves the score of a split by the norm of its weights in training coordinates, where every feature has
a standard deviation of 1. The features of one column (its categories, its missing mark) count as one and stay
or go together. The bias always stays.

A mask that is computed once an epoch depends on nothing but the weights. A column that has gone has a weight of
zero and stays away as long as the number of columns does not rise, so a run that resumes from its weights goes on
with the same mask.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints

__all__ = ["column_norms", "free_features"]


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
