"""Splits that count points: whole weights, a whole threshold, columns in steps that people use.

A column of numbers is counted in steps of 1, 2 or 5 times a power of ten, of about the size of its standard deviation
(:func:`in_steps`); the encoder divides by the step. So a weight says how many points a step is worth, and points of
different columns compare.

The scale of a split is free, so its weights are tried at several scales. At each they are rounded one after the
other, and those that are left are fitted again after each, so that the score stays near that of the trained
split: by least squares over the rows of its node, in which rows near the hyperplane count most. The threshold is the
whole number that sends fewest rows to the other side, weighed by how far they lie on theirs (:func:`whole_split`).
Splits are rounded from the root down, so that each sees the rows that reach it (:func:`whole_tree`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.fit.data import Sample, Scaling
from dtsemnet.tree import Column, Encoder, Tree

__all__ = ["counts_points", "in_steps", "whole_split", "whole_tree"]

MOST_ROWS = 4000
"""Rows of a node that its split is rounded by; of more, every so many."""
FAR_FROM_ZERO = 20.0
"""A column whose mean is more steps away from 0 is counted from a round number near it."""
NEARLY = 1.01
"""Smaller weights are preferred if they cost at most this factor more than the best."""
RIDGE = 1e-3
"""Share of the mean square of the columns that is added to each: some columns are nearly sums of others."""
SCALES = np.linspace(0.5, 2.0, 46)
"""Scales of a split that are tried; at 1 the largest weight is the largest that is allowed."""


def in_steps(encoder: Encoder, sample: Sample, scaling: Scaling) -> Encoder:
    """Let an encoder count columns of numbers in steps.

    Parameters
    ----------
    encoder : Encoder
        Passes numbers on as they are.
    sample : Sample
        Encoded rows.
    scaling : Scaling
        Their means and standard deviations.
    """
    columns = []
    for column, part in zip(encoder.columns, encoder.features_of_column):
        deviation, mean = float(scaling.std[part.start]), float(scaling.center[part.start])
        if column.categories is not None or not _is_plain(column) or deviation == 0:
            columns.append(column)
            continue
        step = _round_number(deviation)
        known = sample.X[sample.index, part.start]
        if column.has_indicator:
            known = known[sample.X[sample.index, part.start + 1] == 0]
        if (known == np.round(known)).all():
            step = max(step, 1.0)
        center = 0.0 if abs(mean) <= FAR_FROM_ZERO * step else float(f"{round(mean / (10 * step)) * 10 * step:.12g}")
        column = replace(column, center=center, scale=1 / step)
        if column.has_indicator:  # so that a missing number is worth a whole number of points
            column = replace(column, fill=float(f"{center + round((column.fill - center) / step) * step:.12g}"))
        columns.append(column)
    return Encoder(columns)


def _is_plain(column: Column) -> bool:
    """Whether a column passes numbers on as they are."""
    return (column.center, column.scale) == (0.0, 1.0) and not column.is_clipped


def counts_points(tree: Tree, most: float) -> bool:
    """Tell whether all weights of the splits are whole numbers up to ``most``, and all biases whole numbers.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[3.0, -2.0]], [-40.0], [[0.0], [1.0]])
    >>> counts_points(tree, 10), counts_points(tree, 2)
    (True, False)
    """
    is_whole = (tree.weight % 1 == 0).all() and (tree.bias % 1 == 0).all()
    return bool(is_whole and np.abs(tree.weight).max(initial=0.0) <= most)


def whole_tree(tree: Tree, sample: Sample, most: int) -> Tree:
    """Round the splits of a tree to whole weights from ``-most`` to ``most`` and whole biases.

    Parameters
    ----------
    tree : Tree
    sample : Sample
        Rows that it was trained on.
    most : int
    """
    if counts_points(tree, most):
        return tree
    sample = sample.take(_spread_out(len(sample), 10 * MOST_ROWS))
    rows, weight, bias = sample.to_array(), np.zeros_like(tree.weight), np.zeros_like(tree.bias)
    members = {0: np.arange(len(rows))}
    for split, pair in enumerate(tree.topology.children.tolist()):
        here = members.pop(split)
        near = here[_spread_out(len(here), MOST_ROWS)]
        given = tree.weight[split], float(tree.bias[split])
        weight[split], bias[split] = whole_split(*given, rows[near], sample.weight[near], most)
        is_right = rows[here] @ weight[split] + bias[split] > 0
        members |= {child: here[is_right == bool(side)] for side, child in enumerate(pair) if child >= 0}
    return tree.replace(weight=weight, bias=bias)


def whole_split(weight: Floats, bias: float, X: Floats, row_weight: Floats, most: int) -> tuple[Floats, float]:
    """Round one split.

    No weight changes its sign, and one that is 0 stays so.

    Parameters
    ----------
    weight : array of shape (n_features,)
    bias : float
    X : array of shape (n_rows, n_features)
        Rows that reach the split.
    row_weight : array of shape (n_rows,)
    most : int
        Largest weight, positive or negative.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> weight, bias = whole_split(np.array([0.31, -0.2, 0.0]), -0.1, X, np.ones(500), 10)
    >>> weight.tolist(), bias
    ([3.0, -2.0, 0.0], -1.0)
    """
    used, whole = np.flatnonzero(weight), np.zeros_like(weight)
    if not len(used):
        return whole, float(bias > 0)
    given = weight[used] / np.abs(weight[used]).max()
    bias = bias / float(np.abs(weight[used]).max())
    X = X[:, used]
    score = X @ given + bias
    spread = float(np.sqrt(np.average(np.square(score), weights=row_weight))) if len(X) else 0.0
    if not 0 < spread < np.inf:
        whole[used] = np.round(given * most)
        return whole, float(np.round(bias * most))
    scale = most * SCALES
    points = _rounded(given, scale, X, row_weight * _slope(2 * score / spread), most)
    total = X @ points.T
    near = row_weight * _slope(2 * score / spread)
    guess = np.average(total - np.outer(score, scale), axis=0, weights=near)
    amount = row_weight * np.abs(score)
    found = [_threshold(column, score > 0, amount, float(at)) for column, at in zip(total.T, guess)]
    cost = np.array([c for c, _ in found]) + np.where(points.any(axis=1), 0.0, np.inf)
    size = np.abs(points).sum(axis=1)
    size[cost > cost.min() * NEARLY + 1e-12 * amount.sum()] = np.inf
    best = int(np.argmin(size))
    threshold = found[best][1]
    common = float(
        np.gcd.reduce(np.append(points[best], threshold if abs(threshold) < 2**53 else 1.0).astype(np.int64))
    )
    whole[used] = points[best] / common
    return whole, -threshold / common + 0.0


def _rounded(given: Floats, scale: Floats, X: Floats, near: Floats, most: int) -> Floats:
    """Whole weights at each scale, (n_scales, n_features): fixed one after the other, the rest fitted again."""
    X = np.clip(X, -1e9, 1e9)
    centred = X - np.average(X, axis=0, weights=near)
    gram = (centred * near[:, None]).T @ centred
    gram[np.diag_indices(len(gram))] += RIDGE * float(np.trace(gram)) / len(gram) + np.finfo(float).tiny
    order = np.argsort(-np.diag(gram), kind="stable")  # those that move the score most first: the others make up for it
    inverse = np.linalg.pinv(gram[np.ix_(order, order)], hermitian=True)
    inverse[np.diag_indices(len(inverse))] *= 1 + 1e-9
    factor = np.linalg.cholesky(inverse).T
    rest, sign = np.outer(scale, given[order]), np.sign(given[order])
    points = np.zeros_like(rest)
    for k in range(len(order)):
        points[:, k] = np.clip(np.round(rest[:, k] * sign[k]), 0, most) * sign[k]
        error = (rest[:, k] - points[:, k]) / factor[k, k]
        rest[:, k + 1 :] -= np.outer(error, factor[k, k + 1 :])
    unordered = np.empty_like(points)
    unordered[:, order] = points + 0.0
    return unordered


def _threshold(total: Floats, is_right: Bools, amount: Floats, guess: float) -> tuple[float, float]:
    """The whole number that parts totals as given, at the least cost, and nearest to a guess; the cost comes first."""
    least = np.ceil(total)  # a total is above a whole number if this is
    order = np.argsort(least, kind="stable")
    steps = least[order]
    wrong = np.cumsum(np.where(is_right, amount, -amount)[order]) + amount[~is_right].sum()
    last = np.append(np.flatnonzero(np.diff(steps)), len(steps) - 1)
    low = np.append(steps[0] - 1, steps[last])
    high = np.append(low[1:] - 1, np.maximum(low[-1], np.round(guess)))
    low[0] = min(low[0], np.round(guess))
    cost = np.append(amount[~is_right].sum(), wrong[last])
    at = np.clip(np.round(guess), low, np.maximum(low, high))
    best = np.lexsort([np.abs(at - guess), np.round(cost / max(amount.sum(), np.finfo(float).tiny), 12)])[0]
    return float(cost[best]), float(at[best])


def _slope(score: Floats) -> Floats:
    """Slope of the logistic function, times 4; never quite 0."""
    return np.maximum(1 / np.square(np.cosh(np.clip(score / 2, -300, 300))), 1e-12)


def _spread_out(n: int, most: int) -> Ints:
    """Numbers from 0 to n - 1, all or so many of them at equal distances."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)


def _round_number(size: float) -> float:
    """The number of 1, 2 or 5 times a power of ten that is nearest to a positive number, as a ratio.

    >>> [_round_number(size) for size in (0.03, 1.2, 11.0, 350.0)]
    [0.02, 1.0, 10.0, 500.0]
    """
    exponent = int(np.floor(np.log10(size)))
    near = [float(f"{digit}e{exponent}") for digit in (1, 2, 5, 10)]
    return min(near, key=lambda step: abs(np.log(step / size)))
