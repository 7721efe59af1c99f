"""The problem that one split solves in alternating optimisation, and its two solvers.

Each row that reaches the split has a side (+1 right, -1 left) on which the loss of
the tree below is smaller, and a weight: the difference. An oblique split minimises

    sum_n weight_n * log(1 + exp(-side_n * (w . x_n + b))) + penalty * |w|_1

by a proximal Newton method: the smooth part is replaced by its second-order
model over the columns that are, or want to become, non-zero, which coordinate
descent solves; a line search along the step makes the sum fall. An axis-aligned
split is solution by looking at all of them.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.kernels import kernel

__all__ = ["best_threshold", "sparse_logistic", "walk"]


@kernel
def sparse_logistic(
    X: Floats, side: Floats, weight: Floats, penalty: float, first: Floats, max_iter: int, tol: float
) -> Floats:
    """Minimise the weighted logistic loss plus an L1 penalty; returns (w, b) as one vector, b last.

    Parameters
    ----------
    X : array of float64, shape (n_rows, n_features), C-ordered
    side : array of +1.0 and -1.0
    weight : array of shape (n_rows,)
    penalty : float
        On the absolute values of w; b is free.
    first : array of shape (n_features + 1,)
        Where to start.
    tol : float
        Ends when no column_gradient is larger than this share of the largest at zero.
    """
    n_rows, n_features = X.shape
    solution = first.copy()
    score = np.dot(X, solution[:n_features]) + solution[n_features]
    value = _logistic_loss(score, side, weight) + penalty * np.abs(solution[:n_features]).sum()
    scale = np.abs(np.dot(side * weight, X)).max() / 2 if n_features else 0.0
    for _ in range(max_iter):
        gradient, hessian = np.empty(n_rows), np.empty(n_rows)
        for n in range(n_rows):
            miss = 1 / (1 + np.exp(min(side[n] * score[n], 500.0)))
            gradient[n] = -weight[n] * side[n] * miss
            hessian[n] = weight[n] * max(miss * (1 - miss), 1e-6)
        column_gradient = np.dot(gradient, X)
        active, violation = _active_columns(column_gradient, solution, penalty)
        if max(violation, abs(gradient.sum())) <= tol * scale:
            break
        step = _newton_step(X, active, gradient, hessian, column_gradient, solution, penalty)
        moved = _line_search(X, active, step, score, side, weight, penalty, solution, value)
        if moved >= value - 1e-9 * abs(value):
            break
        value = moved
    return solution


@kernel
def _logistic_loss(score: Floats, side: Floats, weight: Floats) -> float:
    total = 0.0
    for n in range(len(score)):
        margin = side[n] * score[n]
        total += weight[n] * (np.log1p(np.exp(-margin)) if margin > 0 else np.log1p(np.exp(margin)) - margin)
    return total


@kernel
def _active_columns(column_gradient: Floats, solution: Floats, penalty: float) -> tuple[Ints, float]:
    """Find the columns that are not zero or should not be, and the largest violation of optimality among them."""
    n_features = len(column_gradient)
    active, violation = np.empty(n_features, np.int64), 0.0
    count = 0
    for j in range(n_features):
        if solution[j] != 0:
            excess = abs(column_gradient[j] + (penalty if solution[j] > 0 else -penalty))
        else:
            excess = abs(column_gradient[j]) - penalty
        if solution[j] != 0 or excess > 0:
            active[count] = j
            count += 1
            violation = max(violation, excess)
    return active[:count], violation


@kernel
def _newton_step(
    X: Floats,
    active: Ints,
    gradient: Floats,
    hessian: Floats,
    column_gradient: Floats,
    solution: Floats,
    penalty: float,
) -> Floats:
    """Minimise the second-order model over the active columns by coordinate descent; the last entry is the bias."""
    n_rows, n_active = len(X), len(active)
    scaled = np.empty((n_rows, n_active + 1))
    for n in range(n_rows):
        root = np.sqrt(hessian[n])
        for a in range(n_active):
            scaled[n, a] = root * X[n, active[a]]
        scaled[n, n_active] = root
    gram = np.dot(scaled.T, scaled)
    step, model_gradient = np.zeros(n_active + 1), np.empty(n_active + 1)
    for a in range(n_active):
        model_gradient[a] = column_gradient[active[a]]
    model_gradient[n_active] = gradient.sum()
    for _ in range(100):
        largest = 0.0
        for a in range(n_active + 1):
            curvature = gram[a, a] * (1 + 1e-8) + 1e-12
            at = (solution[active[a]] if a < n_active else solution[-1]) + step[a]
            target = at - model_gradient[a] / curvature
            if a < n_active:
                target = np.sign(target) * max(abs(target) - penalty / curvature, 0.0)
            change = target - at
            if change != 0:
                step[a] += change
                for k in range(n_active + 1):
                    model_gradient[k] += gram[a, k] * change
                largest = max(largest, abs(change) * np.sqrt(curvature))
        if largest < 1e-3:
            break
    return step


@kernel
def _line_search(
    X: Floats,
    active: Ints,
    step: Floats,
    score: Floats,
    side: Floats,
    weight: Floats,
    penalty: float,
    solution: Floats,
    value: float,
) -> float:
    """Halve the step until the loss decreases, and take it in place; return the loss afterwards."""
    n_active, before = len(active), solution.copy()
    direction = np.zeros(len(solution))
    for a in range(n_active):
        direction[active[a]] = step[a]
    direction[-1] = step[n_active]
    score_direction = np.dot(X, direction[:-1]) + direction[-1]
    size = 1.0
    for _ in range(12):
        moved = _logistic_loss(score + size * score_direction, side, weight)
        for j in range(len(solution)):
            solution[j] = before[j] + size * direction[j]
            if j < len(solution) - 1:
                moved += penalty * abs(solution[j])
        if moved < value:
            score += size * score_direction
            return moved
        size /= 2
    solution[:] = before
    return value


@kernel
def best_threshold(X: Floats, side: Floats, weight: Floats) -> tuple[int, float, float, float]:
    """Find the axis-aligned split with the least weight on the wrong side.

    Returns
    -------
    feature, threshold, sign, loss
        The split is ``sign * (x[feature] - threshold) > 0``, or ``sign > 0`` alone if the feature is -1.
    """
    n_rows, n_features = X.shape
    rights = weight[side > 0].sum()
    total = weight.sum()
    # To begin with, a split that sends all rows to one side.
    feature, threshold, sign, loss = -1, 0.0, 1.0 if rights > total - rights else -1.0, min(rights, total - rights)
    for j in range(n_features):
        column = X[:, j].copy()
        order = np.argsort(column)
        wrong = total - rights  # everything goes right: the rows that belong left are wrong
        for rank in range(n_rows - 1):
            n = order[rank]
            wrong += weight[n] * side[n]  # moves to the left
            low, high = column[n], column[order[rank + 1]]
            if high <= low:
                continue
            lower, flip = (wrong, 1.0) if wrong <= total - wrong else (total - wrong, -1.0)
            if lower < loss * (1 - 1e-12):
                middle = low + (high - low) / 2
                feature, threshold, sign, loss = j, middle if middle < high else low, flip, lower
    return feature, threshold, sign, loss


@kernel
def walk(right: Array, node: Ints, n_splits: int) -> Ints:
    """Find the leaf that each row reaches from its node in a complete tree, whose children are 2 i + 1 and 2 i + 2."""
    leaf = np.empty(len(node), np.int64)
    for n in range(len(node)):
        i = node[n]
        while i < n_splits:
            i = 2 * i + 1 + right[n, i]
        leaf[n] = i - n_splits
    return leaf
