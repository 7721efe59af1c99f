"""Statistics over data sets: distances to the best, ranks, and tests of differences.

All of them take a matrix of scores with one row per data set and one column per method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from dtsemnet.arrays import Floats

__all__ = [
    "Comparison", "average_ranks", "compare", "count_wins", "critical_difference", "distance_to_best", "signed_rank",
]  # fmt: skip


def distance_to_best(scores: Any, *, larger_is_better: bool) -> Floats:
    """Mean distance of each method to the best one of each set, in percent of the best.

    Parameters
    ----------
    scores : array_like of shape (n_sets, n_methods)

    Returns
    -------
    ndarray of shape (n_methods,)

    Examples
    --------
    >>> distance_to_best([[2.0, 1.0], [3.0, 3.0]], larger_is_better=False)
    array([50.,  0.])
    >>> distance_to_best([[80.0, 100.0]], larger_is_better=True)
    array([20.,  0.])
    """
    table = _table(scores)
    best = table.max(axis=1) if larger_is_better else table.min(axis=1)
    return 100 * np.mean(np.abs(table / best[:, None] - 1), axis=0)


def average_ranks(scores: Any, *, larger_is_better: bool) -> Floats:
    """Mean rank of each method over the sets; 1 is the best, and equal scores share their ranks.

    Examples
    --------
    >>> average_ranks([[90.0, 80.0, 80.0], [70.0, 75.0, 60.0]], larger_is_better=True)
    array([1.5 , 1.75, 2.75])
    """
    table = _table(scores)
    return np.mean(rankdata(-table if larger_is_better else table, axis=1), axis=0)


def count_wins(scores: Any, others: Any, tie: float = 0.0) -> tuple[int, int, int]:
    """Count the sets on which scores are higher than others, equal to within ``tie``, and lower.

    Examples
    --------
    >>> count_wins([90.0, 80.0, 70.0], [80.0, 80.2, 75.0], tie=0.3)
    (1, 1, 1)
    """
    # Rounded, so that 80.3 and 80.0 are 0.3 apart, not a little more.
    difference = np.round(np.asarray(scores, dtype=np.float64) - np.asarray(others, dtype=np.float64), 9)
    wins, losses = int(np.sum(difference > tie)), int(np.sum(difference < -tie))
    return wins, len(difference) - wins - losses, losses


def signed_rank(first: Any, second: Any) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test on paired scores; sets without a difference are left out.

    Examples
    --------
    >>> signed_rank([1, 2, 3, 4, 5], [0, 0, 0, 0, 0])  # all five signs alike: 2 / 2 ** 5
    0.0625
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    return float(wilcoxon(difference).pvalue)


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Smallest difference of average ranks that Nemenyi's test calls significant.

    ``q * sqrt(k (k + 1) / (6 N))``, with ``q`` the quantile of the studentised range over the root of 2.

    Examples
    --------
    >>> round(critical_difference(2, 6), 3)  # q = 1.960 for two methods
    0.8
    """
    quantile = studentized_range.ppf(1 - alpha, n_methods, math.inf) / math.sqrt(2)
    return float(quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


@dataclass(frozen=True)
class Comparison:
    """Methods compared over data sets.

    Parameters
    ----------
    ranks : dict
        Average rank by method.
    friedman : float, optional
        p-value of Friedman's test that all methods are equal; None with fewer than three methods.
    nemenyi : dict of dict, optional
        p-value of each pair of methods after Friedman's test.
    difference : float, optional
        Critical difference of ranks at level ``alpha``.
    wilcoxon : dict
        p-value of the first method against each other one.
    """

    n_sets: int
    ranks: dict[str, float]
    wilcoxon: dict[str, float]
    friedman: float | None = None
    nemenyi: dict[str, dict[str, float]] | None = None
    difference: float | None = None
    alpha: float = 0.05


def compare(names: list[str], scores: Any, *, larger_is_better: bool, alpha: float = 0.05) -> Comparison:
    """Compare methods over data sets; the first is the one that the others are compared with.

    Examples
    --------
    >>> found = compare(["a", "b"], [[3, 1], [4, 2], [5, 4], [9, 7]], larger_is_better=True)
    >>> found.ranks, found.wilcoxon
    ({'a': 1.0, 'b': 2.0}, {'b': 0.125})
    """
    table = _table(scores)
    ranks = dict(zip(names, average_ranks(table, larger_is_better=larger_is_better).tolist()))
    pairs = {name: signed_rank(table[:, 0], table[:, j]) for j, name in enumerate(names) if j}
    if len(names) < 3 or len(table) < 2 or (table == table[:, :1]).all():
        return Comparison(len(table), ranks, pairs, alpha=alpha)
    return Comparison(
        len(table), ranks, pairs, float(friedmanchisquare(*table.T).pvalue), _nemenyi(ranks, len(table)),
        critical_difference(len(names), len(table), alpha), alpha,
    )  # fmt: skip


def _nemenyi(ranks: dict[str, float], n_sets: int) -> dict[str, dict[str, float]]:
    """p-value of each pair: the difference of average ranks follows the studentised range, as in the distance above."""
    deviation = math.sqrt(len(ranks) * (len(ranks) + 1) / (12 * n_sets))
    return {
        a: {
            b: float(studentized_range.sf(abs(ranks[a] - ranks[b]) / deviation, len(ranks), math.inf))
            for b in ranks
            if b != a
        }
        for a in ranks
    }


def _table(scores: Any) -> Floats:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"scores must be a matrix of finite numbers, sets x methods, got shape {table.shape}.")
    return table
