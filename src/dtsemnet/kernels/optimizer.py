"""Adam with decoupled weight decay, on a matrix of parameters, and the limit on its gradient.

With ``g`` the gradient plus that of the penalty ``l1 |p|``:

    m <- beta1 m + (1 - beta1) g        v <- beta2 v + (1 - beta2) g^2
    p <- p (1 - rate * decay) - rate * m_hat / (sqrt(v_hat) + eps)

A split is penalised as a whole, bias included: scaling ``(w, b)`` together
sharpens or softens its margin and does not move its hyperplane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.kernels.kernel import kernel

__all__ = ["Moments", "adam", "clip_scale", "hold"]

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class Moments(NamedTuple):
    """A matrix of parameters with the moving averages of its gradient and of the squared gradient, all one shape."""

    value: Floats
    first: Floats
    second: Floats

    @classmethod
    def start(cls, value: Floats, dtype: np.dtype[np.floating]) -> Moments:
        """Copy a matrix of parameters; the averages start at zero."""
        value = np.array(value, dtype=dtype, order="C")
        return cls(value, np.zeros_like(value), np.zeros_like(value))


@kernel
def adam(
    parameter: Moments,
    gradient: Floats,
    n_steps: int,
    rate: float,
    decay: float = 0.0,
    l1: float = 0.0,
    scale: float = 1.0,
) -> None:
    """Take the step ``n_steps``, counted from 1, in place; the gradient is first multiplied by ``scale``."""
    value, first, second = parameter.value, parameter.first, parameter.second
    real = value.dtype.type
    # Bias correction moved from the moments to the step size and epsilon: the same numbers, fewer operations.
    correction = np.sqrt(1 - BETA2**n_steps)
    step, epsilon = real(rate * correction / (1 - BETA1**n_steps)), real(EPSILON * correction)
    beta1, rest1, beta2, rest2 = real(BETA1), real(1 - BETA1), real(BETA2), real(1 - BETA2)
    keep, factor, lasso, zero = real(1 - rate * decay), real(scale), real(l1), real(0)
    n_rows, n_columns = value.shape
    for i in range(n_rows):
        p, g, m, v = value[i], gradient[i], first[i], second[i]
        for j in range(n_columns):
            sign = (lasso if p[j] > zero else zero) - (lasso if p[j] < zero else zero)
            slope = g[j] * factor + sign
            m[j] = beta1 * m[j] + rest1 * slope
            v[j] = beta2 * v[j] + rest2 * slope * slope
            p[j] = p[j] * keep - step * m[j] / (np.sqrt(v[j]) + epsilon)


@kernel
def hold(value: Floats, allowed: Ints) -> None:
    """Set the entries of a matrix that are not what they may be to zero, in place.

    ``allowed`` says of each entry whether it may be positive (1), negative (2), both (3) or neither (0); a matrix
    without rows allows all.
    """
    zero = value.dtype.type(0)
    for i in range(len(allowed)):
        p, signs = value[i], allowed[i]
        for j in range(len(signs)):
            keeps = signs[j] != 0 and not (signs[j] == 1 and p[j] < zero) and not (signs[j] == 2 and p[j] > zero)
            p[j] = p[j] if keeps else zero


@kernel
def clip_scale(gradients: tuple[Floats, ...], limit: float) -> float:
    """Compute the factor that brings the norm of all gradients together down to ``limit``; 0 means no limit."""
    if limit <= 0:
        return 1.0
    total = 0.0
    for gradient in gradients:
        total += _squared_norm(gradient)
    return min(1.0, limit / (np.sqrt(total) + 1e-6))


@kernel
def _squared_norm(gradient: Floats) -> float:
    """Sum of squares, in float64."""
    total = 0.0
    for row in gradient:
        for g in row:
            total += np.float64(g) * np.float64(g)
    return total
