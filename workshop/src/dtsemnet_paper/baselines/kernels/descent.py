"""One step of Adam, of RMSprop, or of gradient descent with Nesterov's momentum.

Parameters are arrays of shape (3, rows, columns): values, and two moments of which
RMSprop uses the second and Nesterov's momentum the first. Constants are those of the published
runs of dense gradient trees.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.kernels.adam import adam
from dtsemnet.kernels.jit import kernel

__all__ = ["ADAM", "RMSPROP", "SGD", "descend"]


ADAM, RMSPROP, SGD = 0, 1, 2
SMOOTHING, EPSILON, MOMENTUM = 0.99, 1e-5, 0.9


@kernel
def descend(
    parameter: Floats, gradient: Floats, optimizer: int, n_steps: int, rate: float, l1: float, scale: float
) -> None:
    """Take step number ``n_steps`` (from 1) in place; the gradient is multiplied by ``scale``, then penalised."""
    value, first, second = parameter[0], parameter[1], parameter[2]
    n_rows, n_columns = value.shape
    if optimizer == ADAM:
        adam(value, gradient, first, second, n_steps, rate, 0.0, l1, 0.0, n_columns, scale)
        return
    for i in range(n_rows):
        for j in range(n_columns):
            g = gradient[i, j] * scale + l1 * np.sign(value[i, j])
            if optimizer == RMSPROP:
                second[i, j] = SMOOTHING * second[i, j] + (1 - SMOOTHING) * g * g
                value[i, j] -= rate * g / (np.sqrt(second[i, j]) + EPSILON)
            else:
                first[i, j] = MOMENTUM * first[i, j] + g
                value[i, j] -= rate * (g + MOMENTUM * first[i, j])
