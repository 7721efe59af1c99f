"""Parameters of torch side by side in one array, where kernels change them, and back again.

A kernel steps through many gradient steps on arrays. ``Packed`` copies the parameters of a module and the state of
their Adam into rows before it, and writes them back after it: in between nothing of torch is touched, and what is
saved, loaded or resumed is torch's alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from dtsemnet.arrays import Floats
from dtsemnet.rl.algorithms.sac_kernels import Trained

__all__ = ["Packed", "check_adam"]

PLAIN = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False}
"""Options of Adam that the kernels know."""


class Packed:
    """Parameters in one row.

    Parameters
    ----------
    parameters : iterable of Tensor
    optimizer : torch.optim.Adam, optional
        What trains them; without it they have no moments.

    Attributes
    ----------
    row : array of shape (1, n)

    Examples
    --------
    >>> layer = torch.nn.Linear(3, 2)
    >>> packed = Packed(layer.parameters())
    >>> packed.row.shape, [view.shape for view in packed.views(packed.row)]
    ((1, 8), [(2, 3), (2,)])
    >>> packed.row[:] = 1
    >>> packed.write_back()
    >>> layer.bias.tolist()
    [1.0, 1.0]
    """

    def __init__(self, parameters: Iterable[Tensor], optimizer: torch.optim.Optimizer | None = None) -> None:
        self.parameters = list(parameters)
        self.optimizer = optimizer
        self.row = _row(self.parameters)
        states = [] if optimizer is None else [optimizer.state.get(parameter, {}) for parameter in self.parameters]
        begun = all("step" in state for state in states) and len(states) > 0
        self.first = _row([state["exp_avg"] for state in states]) if begun else np.zeros_like(self.row)
        self.second = _row([state["exp_avg_sq"] for state in states]) if begun else np.zeros_like(self.row)
        self.n_steps = np.array([int(states[0]["step"]) if begun else 0])
        self.gradient = np.zeros_like(self.row)

    @property
    def trained(self) -> Trained:
        """What a kernel trains."""
        return Trained(self.row, self.gradient, self.first, self.second, self.n_steps)

    def views(self, row: Floats) -> list[Floats]:
        """See a row as arrays of the shapes of the parameters."""
        ends = np.cumsum([parameter.numel() for parameter in self.parameters])
        parts = np.split(row[0], ends[:-1])
        return [part.reshape(parameter.shape) for part, parameter in zip(parts, self.parameters)]

    def write_back(self) -> None:
        """Copy the row into the parameters, and the moments into the state of their optimizer."""
        with torch.no_grad():
            _copy(self.parameters, self.views(self.row))
        if self.optimizer is None or not self.n_steps[0]:
            return
        for parameter, first, second in zip(self.parameters, self.views(self.first), self.views(self.second)):
            state = self.optimizer.state[parameter]
            state["step"] = torch.tensor(float(self.n_steps[0]))
            state["exp_avg"], state["exp_avg_sq"] = torch.tensor(first), torch.tensor(second)


def check_adam(optimizer: torch.optim.Optimizer) -> None:
    """Refuse an optimizer that the kernels do not know."""
    options = {name: optimizer.defaults.get(name) for name in PLAIN}
    if type(optimizer) is not torch.optim.Adam or options != PLAIN:
        raise ValueError(
            f"optimizer_class must be torch.optim.Adam with its own betas and eps, got {type(optimizer).__name__} with "
            f"{options}; take stable_baselines3.SAC for others."
        )


def _row(tensors: Sequence[Tensor]) -> Floats:
    # A copy of its own: a single tensor would be shared.
    array: Floats = torch.cat([tensor.detach().reshape(-1) for tensor in tensors]).numpy().copy()
    return array.reshape(1, -1)


def _copy(parameters: Sequence[Tensor], arrays: Sequence[Floats]) -> None:
    for parameter, array in zip(parameters, arrays):
        parameter.copy_(torch.from_numpy(array))
