"""An update of ``TopKSAC``: from torch to arrays, through compiled steps, and back."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from dtsemnet.nn import TopK
from dtsemnet.rl.algorithms.critics import Critics
from dtsemnet.rl.algorithms.lean_sac import LeanSAC
from dtsemnet.rl.algorithms.packing import Packed
from dtsemnet.rl.algorithms.sac_kernels import Rules, Trained, actor_steps, sac_steps
from dtsemnet.rl.algorithms.topk_kernels import Leaves, Splits
from dtsemnet.rl.policies.sac import RegressionActor

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
        self.critics = Critics(agent)

    def first_phase(self, n_steps: int) -> tuple[float, float]:
        """Take SAC steps; tell the losses of critics and actor."""
        rows = self.agent._draw(n_steps * self.batch_size)
        losses: tuple[float, float] = sac_steps(
            self.agent._experience(rows),
            self._noise(2, len(rows.rewards)),
            self.children,
            Splits(*self.splits.views(self.splits.row)),
            Splits(*self.splits.views(self.splits.gradient)),
            self.splits.trained,
            *self._leaves(),
            self.critics.networks(self.batch_size),
            self.critics.trained,
            self.critics.targets.row,
            self.critics.entropy.trained,
            self._rules(),
        )
        return losses

    def actor_phase(self, n_steps: int, n_choices: int) -> float:
        """Take steps on the leaves alone, each on the best leaves of every row; tell the loss."""
        rows = self.agent._draw(n_steps * self.batch_size)
        loss: float = actor_steps(
            self.agent._features(rows.observations),
            self._noise(len(rows.rewards) * n_choices),
            n_choices,
            self.critics.entropy_weight,
            self.children,
            Splits(*self.splits.views(self.splits.row)),
            *self._leaves(),
            self.critics.networks(self.batch_size * n_choices),
            self._rules(),
        )
        return loss

    def write_back(self) -> None:
        """Leave everything where torch has it."""
        for part in (self.splits, self.leaves, self.critics):
            part.write_back()

    def _leaves(self) -> tuple[Leaves, Leaves, Trained]:
        values, gradients = (Leaves(*self.leaves.views(row)) for row in (self.leaves.row, self.leaves.gradient))
        return values, gradients, self.leaves.trained

    def _rules(self) -> Rules:
        agent = self.agent
        selector = _actor(agent).tree.selector
        assert isinstance(selector, TopK)
        return Rules(
            self.batch_size,
            self.critics.activation,
            min(selector.k, _actor(agent).tree.topology.n_leaves),
            selector.temperature,
            self.critics.rate,
            float(agent.actor.optimizer.param_groups[0]["lr"]),
            self.critics.entropy_rate,
            self.critics.target_entropy,
            agent.tau,
            agent.target_update_interval,
        )

    def _noise(self, *shape: int) -> NDArray[np.float32]:
        return torch.randn(*shape, _actor(self.agent).head.value.shape[1]).numpy()


def _actor(agent: LeanSAC) -> RegressionActor:
    assert isinstance(agent.actor, RegressionActor)
    return agent.actor
