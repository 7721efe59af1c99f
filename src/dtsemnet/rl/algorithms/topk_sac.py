"""SAC for trees: each update has the three phases of the paper.

1. Top-k: ordinary SAC steps on critics, actor and entropy weight; Top-k weighs the leaves of the actor.
2. Two leaves: as many steps on the actor alone, on an action of the leaf reached and of the second best, so that a
   linear model also learns just outside its region.
3. Top-1: half as many steps on the actor alone, which is now the very tree that acts.

Phases 2 and 3 train the leaves alone: the choice of one leaf has no gradient. A phase is one call of compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from stable_baselines3.common.utils import FloatSchedule, update_learning_rate

from dtsemnet.kernels import one_thread
from dtsemnet.nn import LinearLeaves, LinearSplits, TopK
from dtsemnet.rl.algorithms.lean_sac import CriticArrays, LeanSAC, PackedParameters, check_adam, learning_rate
from dtsemnet.rl.algorithms.topk_kernels import Leaves, Splits, TreeArrays, leaf_steps, sac_steps
from dtsemnet.rl.policies.sac import RegressionActor, TreeSACPolicy

__all__ = ["TopKSAC", "TopKUpdate"]


class TopKSAC(LeanSAC):
    """SAC whose updates end on the tree that acts.

    Parameters
    ----------
    policy : type
        ``TreeSACPolicy`` with a ``TopK`` selector.
    env : gymnasium.Env, VecEnv or str
        Environment with a ``Box`` of actions.
    learning_rate : float or schedule, default=1e-3
        Learning rate of critics and entropy weight, and of the actor in phase 1 unless it has its own.
    actor_learning_rate : float or schedule, optional
        Learning rate of the actor in phase 1; 2e-3 for the paper's BipedalWalker.
    leaf_learning_rate : float or schedule, default=1e-4
        Learning rate of the actor in phases 2 and 3; 5e-4 for the paper's BipedalWalker.
    train_freq, gradient_steps : int, default=64, 32
        Steps in the environment between updates, and SAC steps in phase 1 of an update. Phase 2 has as many,
        phase 3 half as many.
    device : str, default="cpu"
        Must be the CPU: the networks are small, and an update is one call of compiled code.
    **kwargs
        Options of ``SAC``, with its defaults except for the paper's ``tau=0.01`` and ``learning_starts=10_000``.

    Examples
    --------
    >>> agent = TopKSAC(TreeSACPolicy, "Pendulum-v1", learning_starts=64, gradient_steps=4, seed=0)
    >>> agent.learn(128).num_timesteps
    128
    """

    actor: RegressionActor

    def __init__(
        self,
        policy: type[TreeSACPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 1e-3,
        *,
        actor_learning_rate: float | Schedule | None = None,
        leaf_learning_rate: float | Schedule = 1e-4,
        train_freq: int | tuple[int, str] = 64,
        gradient_steps: int = 32,
        tau: float = 0.01,
        learning_starts: int = 10_000,
        device: str = "cpu",
        **kwargs: Any,
    ) -> None:
        self.actor_learning_rate, self.leaf_learning_rate = actor_learning_rate, leaf_learning_rate
        super().__init__(
            policy, env, learning_rate, train_freq=train_freq, gradient_steps=gradient_steps, tau=tau,
            learning_starts=learning_starts, device=device, **kwargs,
        )  # fmt: skip

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Run the three phases on samples of the replay buffer."""
        self._update_learning_rate(self._optimizers())
        update = TopKUpdate(self, batch_size)
        with one_thread():
            losses = update.first_phase(gradient_steps)
            self._set_actor_rate(self.leaf_learning_rate)
            two, one = update.leaf_phase(gradient_steps, 2), update.leaf_phase(gradient_steps // 2, 1)
        update.write_back()
        self.policy.set_training_mode(False)
        names = ("ent_coef", "critic_loss", "actor_loss", "actor_loss_two_leaves", "actor_loss_top_1")
        self._log(gradient_steps, dict(zip(names, (update.critics.entropy_weight, *losses, two, one))))

    def _setup_model(self) -> None:
        super()._setup_model()
        actor = self.policy.actor
        if not isinstance(actor, RegressionActor):
            raise TypeError(f"TopKSAC needs TreeSACPolicy, got {type(self.policy).__name__}; take LeanSAC for it.")
        parts = [type(part) for part in (actor.tree.selector, actor.tree.splits, actor.head)]
        if parts != [TopK, LinearSplits, LinearLeaves]:
            names = ", ".join(part.__name__ for part in parts)
            raise TypeError(f"TopKSAC needs TopK, LinearSplits and LinearLeaves, got {names}; take LeanSAC for others.")
        check_adam(actor.optimizer)

    def _update_learning_rate(self, optimizers: list[torch.optim.Optimizer] | torch.optim.Optimizer) -> None:
        super()._update_learning_rate(optimizers)
        if self.actor_learning_rate is not None:
            self._set_actor_rate(self.actor_learning_rate)

    def _set_actor_rate(self, rate: float | Schedule) -> None:
        # The last update may come after the last step, and a schedule must not run beyond its end.
        remaining = max(0.0, self._current_progress_remaining)
        update_learning_rate(self.actor.optimizer, FloatSchedule(rate)(remaining))


class TopKUpdate:
    """An update: the parameters of an agent as arrays, from torch through the compiled phases and back."""

    def __init__(self, agent: TopKSAC, batch_size: int) -> None:
        self.agent, self.batch_size = agent, batch_size
        actor = agent.actor
        tree, head = actor.tree, actor.head
        hyperplanes = [tree.splits.get_parameter("weight"), tree.splits.get_parameter("bias")]
        self.splits = PackedParameters(hyperplanes, actor.optimizer)
        self.leaves = PackedParameters([head.coef, head.value, actor.leaf_log_std], actor.optimizer)
        self.critics = CriticArrays(agent)

    def first_phase(self, n_steps: int) -> tuple[float, float]:
        """Take SAC steps; return the losses of critics and actor."""
        rows = self.agent._draw(n_steps * self.batch_size)
        transitions, noise = self.agent._transitions(rows), self._noise(2, n_steps, self.batch_size)
        critics = self.critics.critics(self.batch_size)
        return sac_steps(transitions, noise, self._tree(), critics, self.critics.entropy_arrays)

    def leaf_phase(self, n_steps: int, n_choices: int) -> float:
        """Take steps on the leaves alone, each on the best leaves of every row; return the loss."""
        rows = self.agent._draw(n_steps * self.batch_size)
        n_actions = self.batch_size * n_choices
        observations, noise = self.agent._features(rows.observations), self._noise(n_steps, n_actions)
        networks = self.critics.networks(n_actions)
        return leaf_steps(observations, noise, n_choices, self.critics.entropy_weight, self._tree(), networks)

    def write_back(self) -> None:
        """Copy everything back to torch."""
        for part in (self.splits, self.leaves, self.critics):
            part.write_back()

    def _tree(self) -> TreeArrays:
        splits, leaves, tree = self.splits, self.leaves, self.agent.actor.tree
        assert isinstance(tree.selector, TopK)
        return TreeArrays(
            tree.topology.children,
            Splits(*splits.views(splits.row)),
            Splits(*splits.views(splits.gradient)),
            splits.parameters,
            Leaves(*leaves.views(leaves.row)),
            Leaves(*leaves.views(leaves.gradient)),
            leaves.parameters,
            k=min(tree.selector.k, tree.topology.n_leaves),
            temperature=tree.selector.temperature,
            rate=learning_rate(self.agent.actor.optimizer),
        )

    def _noise(self, *shape: int) -> NDArray[np.float32]:
        return torch.randn(*shape, self.agent.actor.head.value.shape[1]).numpy()
