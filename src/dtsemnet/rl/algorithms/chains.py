"""Small networks, differentiated by hand.

A critic is a chain of a few small layers, for which autograd spends more time on its books than on arithmetic. By hand
its gradient is two products a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

__all__ = ["Chain", "check_features"]

Derivative = Callable[[Tensor, Tensor], Tensor]
DERIVATIVES: dict[type[nn.Module], Derivative] = {
    nn.ReLU: lambda gradient, output: gradient.mul_(output.sign()),
    nn.Tanh: lambda gradient, output: gradient.mul_(1 - output.square()),
}
"""From the gradient of an activation's output, and that output, to the gradient of its input, in place."""


class Chain:
    """A chain of linear layers, with one activation between them; it shares its weights with the modules.

    Parameters
    ----------
    modules : iterable of nn.Module
        Linear layers, the same activation between any two of them: ReLU or tanh.

    Examples
    --------
    >>> net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    >>> outputs = Chain(net).forward(torch.ones(2, 3))
    >>> [tuple(output.shape) for output in outputs]
    [(2, 3), (2, 4), (2, 1)]
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        modules = list(modules)
        self.layers = [module for module in modules if isinstance(module, nn.Linear)]
        between = [module for module in modules if not isinstance(module, nn.Linear)]
        kinds = {type(module) for module in between}
        if len(kinds) > 1 or not kinds <= set(DERIVATIVES):
            raise ValueError(f"activation_fn must be nn.ReLU or nn.Tanh, got {between}.")
        self.activation = between[0] if between else nn.Identity()
        self.derivative = DERIVATIVES.get(type(self.activation))

    def forward(self, x: Tensor) -> list[Tensor]:
        """Compute the input, the output of each hidden layer, and the value."""
        outputs = [x]
        for layer in self.layers[:-1]:
            outputs.append(self.activation(torch.addmm(layer.bias, outputs[-1], layer.weight.t())))
        last = self.layers[-1]
        return [*outputs, torch.addmm(last.bias, outputs[-1], last.weight.t())]

    def set_gradients(self, outputs: list[Tensor], gradient: Tensor) -> None:
        """Leave at the weights what a gradient of the value makes of them."""
        for number in reversed(range(len(self.layers))):
            layer = self.layers[number]
            layer.weight.grad, layer.bias.grad = gradient.t() @ outputs[number], gradient.sum(dim=0)
            if number:
                gradient = self._below(number, outputs, gradient)

    def _below(self, number: int, outputs: list[Tensor], gradient: Tensor) -> Tensor:
        """Carry a gradient of a layer's output back to that of the layer below, before its activation."""
        assert self.derivative is not None, "there is an activation between two layers"
        return self.derivative(gradient @ self.layers[number].weight, outputs[number])


def check_features(extractor: nn.Module) -> None:
    """Refuse what is trained before the first layer: no gradient is carried there."""
    if any(True for _ in extractor.parameters()):
        raise ValueError(
            "features_extractor_class must have no weights, such as FlattenExtractor: "
            f"the critics read observations as they are, got {type(extractor).__name__}."
        )
