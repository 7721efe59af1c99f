"""The critics of SAC, differentiated by hand.

An update asks three things of them: their least value, the gradient of their weights for a target, and the gradient of
the least value with respect to the actions. Each is a few products.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from stable_baselines3.common.policies import ContinuousCritic
from torch import Tensor

from dtsemnet.rl.chains import Chain, check_features

__all__ = ["Critics"]


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
        check_features(critic.features_extractor)
        self.critic = critic
        self.networks = [Chain(network.children()) for network in critic.q_networks]

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
