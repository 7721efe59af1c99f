"""One step of Adam, of RMSprop, or of gradient descent with Nesterov's momentum.

RMSprop uses the second of the two moments of a parameter, Nesterov's momentum the
first. Constants are those of the published runs of dense gradient trees.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.kernels import kernel
from dtsemnet.kernels.optimizer import Moments, adam

__all__ = ["ADAM", "RMSPROP", "SGD", "descend"]


ADAM, RMSPROP, SGD = 0, 1, 2
SMOOTHING, EPSILON, MOMENTUM = 0.99, 1e-5, 0.9


@kernel
def descend(
    parameter: Moments, gradient: Floats, optimizer: int, n_steps: int, rate: float, l1: float, scale: float
) -> None:
    """Take one step, in place.

    Parameters
    ----------
    parameter : Moments
    gradient : array of the shape of the parameters
    optimizer : {ADAM, RMSPROP, SGD}
    n_steps : int
        Number of this step, from 1.
    rate : float
        Learning rate.
    l1 : float
        Penalty on absolute values.
    scale : float
        The gradient is multiplied by this number before the penalty is added.
    """
    if optimizer == ADAM:
        adam(parameter, gradient, n_steps, rate, 0.0, l1, scale)
        return
    value, first, second = parameter.value, parameter.first, parameter.second
    n_rows, n_columns = value.shape
    for i in range(n_rows):
        for j in range(n_columns):
            g = gradient[i, j] * scale + l1 * np.sign(value[i, j])
            if optimizer == RMSPROP:
                second[i, j] = SMOOTHING * second[i, j] + (1 - SMOOTHING) * g * g
                value[i, j] -= rate * g / (np.sqrt(second[i, j]) + EPSILON)
            else:
                first[i, j] = MOMENTUM * first[i, j] + g
                value[i, j] -= rate * (g + MOMENTUM * first[i, j])
