"""The critics of SAC, differentiated by hand.

They are small networks, for which autograd spends more time on its books than on arithmetic. An update asks three
things of them: their least value, the gradient of their weights for a target, and the gradient of the least value with
respect to the actions. Each is a few products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from stable_baselines3.common.policies import ContinuousCritic
from torch import Tensor, nn

__all__ = ["Critics"]

Derivative = Callable[[Tensor, Tensor], Tensor]
DERIVATIVES: dict[type[nn.Module], Derivative] = {
    nn.ReLU: lambda gradient, output: gradient.mul_(output.sign()),
    nn.Tanh: lambda gradient, output: gradient.mul_(1 - output.square()),
}
"""From the gradient of an activation's output, and that output, to the gradient of its input, in place."""


class Critics:
    """The networks of a critic, which share their weights with it.

    Parameters
    ----------
    critic : ContinuousCritic
        Networks with ReLU or tanh between their layers, which read observations as they are.

    Examples
    --------
    >>> from stable_baselines3 import SAC
    >>> critic = SAC("MlpPolicy", "Pendulum-v1", buffer_size=1, seed=0, device="cpu").critic
    >>> rows, actions = torch.zeros(2, 3), torch.zeros(2, 1)
    >>> value, slope = Critics(critic).slope(rows, actions)
    >>> torch.equal(value, torch.cat(critic(rows, actions), dim=1).min(dim=1).values), slope.shape
    (True, torch.Size([2, 1]))
    """

    def __init__(self, critic: ContinuousCritic) -> None:
        if any(True for _ in critic.features_extractor.parameters()):
            raise ValueError(
                "features_extractor_class must have no weights, such as FlattenExtractor: "
                f"the critics read observations as they are, got {type(critic.features_extractor).__name__}."
            )
        self.critic = critic
        self.networks = [_Network(list(network.children())) for network in critic.q_networks]

    @torch.no_grad()
    def least(self, rows: Tensor, actions: Tensor) -> Tensor:
        """Compute the least of the networks' values, (n_samples,)."""
        return self._least(self._forward(rows, actions))

    @torch.no_grad()
    def regress(self, rows: Tensor, actions: Tensor, target: Tensor) -> Tensor:
        """Give the weights the gradient of half the sum of the networks' mean squared errors, and return that sum."""
        loss = torch.zeros(())
        for network, outputs in zip(self.networks, self._forward(rows, actions)):
            error = outputs[-1] - target.unsqueeze(1)
            network.set_gradients(outputs, error / len(error))
            loss = loss + error.square().mean() / 2
        return loss

    @torch.no_grad()
    def slope(self, rows: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the least value, (n_samples,), and its gradient with respect to the actions."""
        outputs = self._forward(rows, actions)
        least, slope = self._least(outputs), torch.zeros_like(actions)
        free = torch.ones_like(least, dtype=torch.bool)
        for network, output in zip(self.networks, outputs):
            taken = free & (output[-1].squeeze(1) == least)  # the first of equals, as in a minimum
            slope = slope + network.pull_back(output, taken.to(least.dtype).unsqueeze(1))[:, -actions.shape[1] :]
            free = free & ~taken
        return least, slope

    def _forward(self, rows: Tensor, actions: Tensor) -> list[list[Tensor]]:
        features = self.critic.extract_features(rows, self.critic.features_extractor)
        x = torch.cat([features, actions], dim=1)
        return [network.forward(x) for network in self.networks]

    @staticmethod
    def _least(outputs: Sequence[Sequence[Tensor]]) -> Tensor:
        least = outputs[0][-1]
        for output in outputs[1:]:
            least = torch.minimum(least, output[-1])
        return least.squeeze(1)


class _Network:
    """A chain of linear layers, with one activation between them."""

    def __init__(self, modules: list[nn.Module]) -> None:
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

    def pull_back(self, outputs: list[Tensor], gradient: Tensor) -> Tensor:
        """Carry a gradient of the value back to the input."""
        for number in reversed(range(1, len(self.layers))):
            gradient = self._below(number, outputs, gradient)
        return gradient @ self.layers[0].weight

    def _below(self, number: int, outputs: list[Tensor], gradient: Tensor) -> Tensor:
        """Carry a gradient of a layer's output back to that of the layer below, before its activation."""
        assert self.derivative is not None, "there is an activation between two layers"
        return self.derivative(gradient @ self.layers[number].weight, outputs[number])
