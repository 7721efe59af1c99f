"""An update of ``TopKSAC``: from torch to arrays, through compiled steps, and back."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dtsemnet.kernels.chain import RELU, TANH
from dtsemnet.kernels.policy import Leaves, Splits
from dtsemnet.kernels.sac import Critic, Experience, Rules, Trained, actor_steps, sac_steps
from dtsemnet.nn import TopK
from dtsemnet.rl.chains import Chain
from dtsemnet.rl.continuous import RegressionActor
from dtsemnet.rl.lean_sac import LeanSAC, Rows
from dtsemnet.rl.packing import Packed

__all__ = ["Update"]


class Update:
    """The parameters of an agent as arrays, for the time of an update."""

    def __init__(self, agent: LeanSAC, batch_size: int) -> None:
        self.agent, self.batch_size = agent, batch_size
        actor = _actor(agent)
        tree, head = actor.tree, actor.head
        self.children = tree.topology.children
        hyperplanes = [tree.splits.get_parameter("weight"), tree.splits.get_parameter("bias")]
        self.splits = Packed(hyperplanes, actor.optimizer)
        self.leaves = Packed([head.coef, head.value, actor.leaf_log_std], actor.optimizer)
        self.critics = Packed(agent.critic.parameters(), agent.critic.optimizer)
        self.targets = Packed(agent.critic_target.parameters())
        weight = agent.ent_coef_tensor.log() if agent.log_ent_coef is None else agent.log_ent_coef
        self.entropy = Packed([weight], agent.ent_coef_optimizer)
        self.chain = Chain(agent.critic.q_networks[0].children())

    def first_phase(self, n_steps: int) -> tuple[float, float]:
        """Take SAC steps; tell the losses of critics and actor."""
        rows = self.agent._draw(n_steps * self.batch_size)
        losses: tuple[float, float] = sac_steps(
            self._experience(rows),
            self._noise(2, len(rows.rewards)),
            self.children,
            Splits(*self.splits.views(self.splits.row)),
            Splits(*self.splits.views(self.splits.gradient)),
            self.splits.trained,
            *self._leaves(),
            self._networks(self.batch_size),
            self.critics.trained,
            self.targets.row,
            self.entropy.trained,
            self._rules(),
        )
        return losses

    def actor_phase(self, n_steps: int, n_choices: int) -> float:
        """Take steps on the leaves alone, each on the best leaves of every row; tell the loss."""
        rows = self.agent._draw(n_steps * self.batch_size)
        loss: float = actor_steps(
            self._features(rows.observations),
            self._noise(len(rows.rewards) * n_choices),
            n_choices,
            float(np.exp(self.entropy.row[0, 0])),
            self.children,
            Splits(*self.splits.views(self.splits.row)),
            *self._leaves(),
            self._networks(self.batch_size * n_choices),
            self._rules(),
        )
        return loss

    def write_back(self) -> None:
        """Leave everything where torch has it."""
        for packed in (self.splits, self.leaves, self.critics, self.targets, self.entropy):
            packed.write_back()

    def _leaves(self) -> tuple[Leaves, Leaves, Trained]:
        values, gradients = (Leaves(*self.leaves.views(row)) for row in (self.leaves.row, self.leaves.gradient))
        return values, gradients, self.leaves.trained

    def _networks(self, n_rows: int) -> tuple[Critic, ...]:
        """See the rows of critics and targets as layers: weights and biases take turns."""
        n_layers = len(self.chain.layers)
        views = [
            packed.views(row)
            for packed, row in (
                (self.critics, self.critics.row),
                (self.critics, self.critics.gradient),
                (self.targets, self.targets.row),
            )
        ]
        found = []
        for start in range(0, len(views[0]), 2 * n_layers):
            layers = (tuple(view[start + kind : start + 2 * n_layers : 2]) for view in views for kind in (0, 1))
            outputs = tuple(np.empty((n_rows, layer.out_features), np.float32) for layer in self.chain.layers)
            found.append(Critic._make([*layers, outputs]))
        return tuple(found)

    def _rules(self) -> Rules:
        agent = self.agent
        selector = _actor(agent).tree.selector
        assert isinstance(selector, TopK)
        learnt = agent.ent_coef_optimizer
        return Rules(
            self.batch_size,
            TANH if isinstance(self.chain.activation, nn.Tanh) else RELU,
            min(selector.k, _actor(agent).tree.topology.n_leaves),
            selector.temperature,
            float(agent.critic.optimizer.param_groups[0]["lr"]),
            float(agent.actor.optimizer.param_groups[0]["lr"]),
            0.0 if learnt is None else float(learnt.param_groups[0]["lr"]),
            0.0 if learnt is None else float(agent.target_entropy),
            agent.tau,
            agent.target_update_interval,
        )

    def _experience(self, rows: Rows) -> Experience:
        going_on = ((1 - rows.dones) * rows.discounts).reshape(-1)
        features = self._features(rows.observations), rows.actions.numpy(), self._features(rows.next_observations)
        return Experience(*features, rows.rewards.reshape(-1).numpy(), going_on.numpy())

    def _features(self, observations: Tensor) -> NDArray[np.float32]:
        actor = _actor(self.agent)
        return np.ascontiguousarray(actor.extract_features(observations, actor.features_extractor).numpy())

    def _noise(self, *shape: int) -> NDArray[np.float32]:
        return torch.randn(*shape, _actor(self.agent).head.value.shape[1]).numpy()


def _actor(agent: LeanSAC) -> RegressionActor:
    assert isinstance(agent.actor, RegressionActor)
    return agent.actor
