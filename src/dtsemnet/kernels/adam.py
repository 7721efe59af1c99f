"""Adam with decoupled decay, on a matrix of parameters.

With ``g`` the gradient plus those of the penalties ``l1 |p| + l2 p^2 / 2``:

    m <- beta1 m + (1 - beta1) g        v <- beta2 v + (1 - beta2) g^2
    p <- p (1 - eta * decay) - eta * m_hat / (sqrt(v_hat) + eps)

Penalties and decay apply to the first ``n_penalised`` columns: the bias column
of a leaf is spared. A split is penalised as a whole, bias included, since
scaling ``(w, b)`` together sharpens or softens its margin and leaves its
hyperplane where it is.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.kernels.jit import kernel

__all__ = ["adam", "squared_norm"]


BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@kernel
def squared_norm(gradient: Floats) -> float:
    """Sum of squares, in float64."""
    total = 0.0
    for row in gradient:
        for g in row:
            total += np.float64(g) * np.float64(g)
    return total


@kernel
def adam(
    parameter: Floats,
    gradient: Floats,
    first: Floats,
    second: Floats,
    n_steps: int,
    learning_rate: float,
    decay: float,
    l1: float,
    l2: float,
    n_penalised: int,
    scale: float,
) -> None:
    """Take step number ``n_steps`` (from 1) in place; the gradient is multiplied by ``scale`` first."""
    real = parameter.dtype.type
    # Bias correction moved from the moments to the step size and epsilon: the same numbers, fewer operations.
    correction = np.sqrt(1 - BETA2**n_steps)
    rate, epsilon = real(learning_rate * correction / (1 - BETA1**n_steps)), real(EPSILON * correction)
    beta1, rest1, beta2, rest2 = real(BETA1), real(1 - BETA1), real(BETA2), real(1 - BETA2)
    keep, factor, lasso, ridge, zero = real(1 - learning_rate * decay), real(scale), real(l1), real(l2), real(0)
    n_rows, n_columns = parameter.shape
    for i in range(n_rows):
        p, g, m, v = parameter[i], gradient[i], first[i], second[i]
        for j in range(n_columns):
            penalised = j < n_penalised
            sign = (lasso if p[j] > zero else zero) - (lasso if p[j] < zero else zero)
            slope = g[j] * factor + ((sign + ridge * p[j]) if penalised else zero)
            m[j] = beta1 * m[j] + rest1 * slope
            v[j] = beta2 * v[j] + rest2 * slope * slope
            p[j] = p[j] * (keep if penalised else real(1)) - rate * m[j] / (np.sqrt(v[j]) + epsilon)
