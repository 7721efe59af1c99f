"""Fitness of a whole population of complete axis-aligned trees, from their matrix encoding.

An individual is two rows of a matrix: the column that each split reads, and its
threshold, splits in breadth-first order. A leaf predicts the class of most of its
rows, so one pass over the rows gives the number that a tree classifies correctly.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.kernels import kernel

__all__ = ["population_fitness"]


@kernel
def population_fitness(
    columns: Array, y: Array, weight: Array, n_classes: int, feature: Array, threshold: Array
) -> Array:
    """Compute the weight of the rows that each tree classifies correctly, (n_trees,).

    Parameters
    ----------
    columns : array of shape (n_features, n_rows)
        The data, one feature per row.
    y : array of int, shape (n_rows,)
    weight : array of shape (n_rows,)
    feature, threshold : arrays of shape (n_trees, n_splits)
        A row goes right if ``columns[feature] > threshold``.
    """
    n_trees, n_splits = feature.shape
    n_rows = len(y)
    fitness = np.zeros(n_trees)
    table = np.empty((n_splits + 1, n_classes))
    node = np.empty(n_rows, np.int64)
    for p in range(n_trees):
        table[:] = 0
        node[:] = 0
        first = 0
        while first < n_splits:  # level by level: the rows of one level read few columns
            for n in range(n_rows):
                i = node[n]
                node[n] = 2 * i + 1 + (columns[feature[p, i], n] > threshold[p, i])
            first = 2 * first + 1
        for n in range(n_rows):
            table[node[n] - n_splits, y[n]] += weight[n]
        for leaf in range(n_splits + 1):
            fitness[p] += table[leaf].max()
    return fitness
