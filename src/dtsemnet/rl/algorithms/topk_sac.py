"""SAC for trees: the paper's three phases in each update.

1. Top-k: ordinary SAC steps on critics, actor and entropy weight, the actor's leaves weighed by Top-k.
2. Two leaves: as many steps on the actor alone, on the action of the leaf reached and of the second
   best, so that a regressor also learns just outside its region.
3. Top-1: half as many steps on the actor alone, which is now the very tree that acts.

Phases 2 and 3 move the leaves and nothing else: the choice of one leaf has no gradient. A phase is one call of
compiled code.
"""

from __future__ import annotations

from typing import Any

import torch
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from stable_baselines3.common.utils import FloatSchedule, update_learning_rate

from dtsemnet.kernels import one_thread
from dtsemnet.nn import LinearLeaves, LinearSplits, TopK
from dtsemnet.rl.algorithms.lean_sac import LeanSAC
from dtsemnet.rl.algorithms.packing import check_adam
from dtsemnet.rl.algorithms.update import Update
from dtsemnet.rl.policies.sac import RegressionActor, TreeSACPolicy

__all__ = ["TopKSAC"]


class TopKSAC(LeanSAC):
    """SAC whose updates end on the tree that acts.

    Parameters
    ----------
    policy : type
        ``TreeSACPolicy`` with a ``TopK`` selector.
    env : gymnasium.Env, VecEnv or str
        Environment with a ``Box`` of actions.
    learning_rate : float or schedule, default=1e-3
        Of critics and entropy weight, and of the actor in phase 1 unless told otherwise.
    actor_learning_rate : float or schedule, optional
        Of the actor in phase 1; the paper's BipedalWalker takes 2e-3.
    leaf_learning_rate : float or schedule, default=1e-4
        Of the actor in phases 2 and 3; the paper's BipedalWalker takes 5e-4.
    train_freq, gradient_steps : int, default=64, 32
        Steps in the environment between updates, and SAC steps in phase 1 of an update. Phase 2 has as many,
        phase 3 half as many.
    device : str, default="cpu"
        Nothing else: the networks are small, and an update is one call of compiled code.
    **kwargs
        Options of ``SAC``. Its defaults hold, but for ``tau=0.01`` and ``learning_starts=10_000``, the paper's.

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
        self.actor_learning_rate = actor_learning_rate
        self.leaf_learning_rate = leaf_learning_rate
        super().__init__(
            policy,
            env,
            learning_rate,
            train_freq=train_freq,
            gradient_steps=gradient_steps,
            tau=tau,
            learning_starts=learning_starts,
            device=device,
            **kwargs,
        )

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Run the three phases on samples of the replay buffer."""
        self._update_learning_rate(self._optimizers())
        update = Update(self, batch_size)
        with one_thread():
            losses = update.first_phase(gradient_steps)
            self._set_actor_rate(self.leaf_learning_rate)
            two, one = update.actor_phase(gradient_steps, 2), update.actor_phase(gradient_steps // 2, 1)
        update.write_back()
        self.policy.set_training_mode(False)
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/ent_coef", update.critics.entropy_weight)
        for name, loss in zip(
            ("critic_loss", "actor_loss", "actor_loss_two_leaves", "actor_loss_top_1"), (*losses, two, one)
        ):
            self.logger.record(f"train/{name}", loss)

    def _setup_model(self) -> None:
        super()._setup_model()
        actor = self.policy.actor
        if not isinstance(actor, RegressionActor) or not isinstance(actor.tree.selector, TopK):
            raise TypeError(
                "TopKSAC needs TreeSACPolicy with a TopK selector, "
                f"got {type(self.policy).__name__}; for the others take LeanSAC."
            )
        if type(actor.tree.splits) is not LinearSplits or type(actor.head) is not LinearLeaves:
            raise TypeError(
                "TopKSAC needs LinearSplits and LinearLeaves, "
                f"got {type(actor.tree.splits).__name__} and {type(actor.head).__name__}; for the others take LeanSAC."
            )
        check_adam(actor.optimizer)

    def _update_learning_rate(self, optimizers: list[torch.optim.Optimizer] | torch.optim.Optimizer) -> None:
        super()._update_learning_rate(optimizers)
        if self.actor_learning_rate is not None:
            self._set_actor_rate(self.actor_learning_rate)

    def _set_actor_rate(self, rate: float | Schedule) -> None:
        # The last update may come after the last step asked for, and a schedule must not run below its end.
        remaining = max(0.0, self._current_progress_remaining)
        update_learning_rate(self.actor.optimizer, FloatSchedule(rate)(remaining))
