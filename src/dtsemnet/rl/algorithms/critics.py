"""The critics of SAC and its entropy weight as arrays, which compiled steps change in place during an update."""

from __future__ import annotations

import numpy as np
import torch
from stable_baselines3 import SAC
from torch import nn

from dtsemnet.rl.algorithms.chain_kernels import RELU, TANH
from dtsemnet.rl.algorithms.chains import Chain, check_features
from dtsemnet.rl.algorithms.packing import Packed, check_adam
from dtsemnet.rl.algorithms.sac_kernels import Critic, Trained

__all__ = ["Critics", "check_critics"]


class Critics:
    """Networks, their targets and the entropy weight, until they are written back.

    Parameters
    ----------
    agent : SAC
        Its critics are networks with ReLU or tanh between their layers, see :func:`check_critics`.

    Examples
    --------
    >>> agent = SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [8, 6]}, buffer_size=1, device="cpu")
    >>> networks = Critics(agent).networks(n_rows=5)
    >>> len(networks), [weight.shape for weight in networks[0].weights]
    (2, [(8, 4), (6, 8), (1, 6)])
    """

    def __init__(self, agent: SAC) -> None:
        self.packed = Packed(agent.critic.parameters(), agent.critic.optimizer)
        self.targets = Packed(agent.critic_target.parameters())
        self.chain = Chain(agent.critic.q_networks[0].children())
        self.activation = TANH if isinstance(self.chain.activation, nn.Tanh) else RELU
        self.rate = _rate(agent.critic.optimizer)
        log_weight = agent.ent_coef_tensor.log() if agent.log_ent_coef is None else agent.log_ent_coef
        self.entropy = Packed([log_weight], agent.ent_coef_optimizer)
        self.entropy_rate = 0.0 if agent.ent_coef_optimizer is None else _rate(agent.ent_coef_optimizer)
        self.target_entropy = 0.0 if agent.ent_coef_optimizer is None else float(agent.target_entropy)

    @property
    def trained(self) -> Trained:
        """What a kernel trains."""
        return self.packed.trained

    @property
    def entropy_weight(self) -> float:
        """What a nat of entropy is worth."""
        return float(np.exp(self.entropy.row[0, 0]))

    def networks(self, n_rows: int) -> tuple[Critic, ...]:
        """See the rows of critics and targets as layers: weights and biases take turns."""
        n_layers = len(self.chain.layers)
        views = [
            packed.views(row)
            for packed, row in (
                (self.packed, self.packed.row),
                (self.packed, self.packed.gradient),
                (self.targets, self.targets.row),
            )
        ]
        found = []
        for start in range(0, len(views[0]), 2 * n_layers):
            layers = (tuple(view[start + kind : start + 2 * n_layers : 2]) for view in views for kind in (0, 1))
            outputs = tuple(np.empty((n_rows, layer.out_features), np.float32) for layer in self.chain.layers)
            found.append(Critic._make([*layers, outputs]))
        return tuple(found)

    def write_back(self) -> None:
        """Leave everything where torch has it."""
        for packed in (self.packed, self.targets, self.entropy):
            packed.write_back()


def check_critics(agent: SAC) -> None:
    """Refuse what compiled steps do not know."""
    if agent.device.type != "cpu":
        raise ValueError(
            f"device must be 'cpu' for {type(agent).__name__}, got {agent.device}: its networks are small; "
            "take stable_baselines3.SAC for others."
        )
    check_features(agent.critic.features_extractor)
    for network in agent.critic.q_networks:
        Chain(network.children())
    check_adam(agent.critic.optimizer)
    if agent.ent_coef_optimizer is not None:
        check_adam(agent.ent_coef_optimizer)


def _rate(optimizer: torch.optim.Optimizer) -> float:
    return float(optimizer.param_groups[0]["lr"])
