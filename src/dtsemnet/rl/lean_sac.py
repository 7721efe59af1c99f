"""SAC with the steps of stable-baselines3's in less time.

The critics are differentiated by hand, all rows of an update are drawn at once, and the actor sees the observations
before and after a step in one batch. What is computed is the same, up to rounding and the order of random draws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from gymnasium import spaces
from stable_baselines3 import SAC
from torch import Tensor

from dtsemnet.rl.critics import Critics

__all__ = ["LeanSAC"]


class Rows(NamedTuple):
    """What is drawn from the replay buffer, or a part of it."""

    observations: Tensor
    actions: Tensor
    next_observations: Tensor
    dones: Tensor
    rewards: Tensor
    discounts: Tensor

    def parts(self, size: int) -> list[Rows]:
        """Split into batches."""
        return [Rows(*part) for part in zip(*(torch.split(whole, size) for whole in self))]


class LeanSAC(SAC):
    """SAC for critics that are plain networks; takes what ``SAC`` takes, but for ``use_sde``.

    Examples
    --------
    >>> agent = LeanSAC("MlpPolicy", "Pendulum-v1", learning_starts=64, seed=0, device="cpu")
    >>> agent.learn(128).num_timesteps
    128
    """

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Take gradient steps on samples of the replay buffer."""
        self.policy.set_training_mode(True)
        optimizers = [self.actor.optimizer, self.critic.optimizer, self.ent_coef_optimizer]
        self._update_learning_rate([optimizer for optimizer in optimizers if optimizer is not None])
        critics, targets = Critics(self.critic), Critics(self.critic_target)
        weights = list(zip(self.critic_target.parameters(), self.critic.parameters()))
        losses = []
        for number, rows in enumerate(self._draw(gradient_steps * batch_size).parts(batch_size)):
            losses.append(self._step(rows, critics, targets))
            if number % self.target_update_interval == 0:
                for target, new in weights:
                    target.data.lerp_(new.data, self.tau)
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/ent_coef", self._entropy_weight().item())
        for name, values in zip(("critic_loss", "actor_loss"), zip(*losses)):
            self.logger.record(f"train/{name}", torch.stack(values).mean().item())

    def _step(self, rows: Rows, critics: Critics, targets: Critics) -> tuple[Tensor, Tensor]:
        """Take one step on critics, entropy weight and actor; tell the losses of critics and actor."""
        n = len(rows.rewards)
        drawn, log_prob = self.actor.action_log_prob(torch.cat([rows.observations, rows.next_observations]))
        weight = self._entropy_weight()
        self._step_entropy(log_prob[:n].detach())
        future = targets.least(rows.next_observations, drawn[n:].detach()) - weight * log_prob[n:].detach()
        goal = (rows.rewards + (1 - rows.dones) * rows.discounts * future.unsqueeze(1)).squeeze(1)
        critic_loss = critics.regress(rows.observations, rows.actions, goal)
        self.critic.optimizer.step()
        return critic_loss, self._step_actor(critics, rows.observations, drawn[:n], log_prob[:n], weight)

    def _step_entropy(self, log_prob: Tensor) -> None:
        if self.ent_coef_optimizer is not None and self.log_ent_coef is not None:
            assert isinstance(self.target_entropy, float)
            self.log_ent_coef.grad = -(log_prob.mean() + self.target_entropy).reshape_as(self.log_ent_coef)
            self.ent_coef_optimizer.step()

    def _step_actor(
        self, critics: Critics, observations: Tensor, actions: Tensor, log_prob: Tensor, weight: Tensor
    ) -> Tensor:
        """Take one step on the actor towards actions of larger value and entropy; tell the loss."""
        value, slope = critics.slope(observations, actions.detach())
        share = 1 / len(actions)
        self.actor.optimizer.zero_grad()
        torch.autograd.backward([actions, log_prob], [-share * slope, (share * weight).expand_as(log_prob)])
        self.actor.optimizer.step()
        return (weight * log_prob.detach() - value).mean()

    def _entropy_weight(self) -> Tensor:
        return self.ent_coef_tensor if self.log_ent_coef is None else self.log_ent_coef.detach().exp()

    def _draw(self, n_rows: int) -> Rows:
        assert self.replay_buffer is not None
        drawn: Any = self.replay_buffer.sample(n_rows, env=self._vec_normalize_env)
        discounts = torch.full_like(drawn.rewards, self.gamma) if drawn.discounts is None else drawn.discounts
        fields = (drawn.observations, drawn.actions, drawn.next_observations, drawn.dones, drawn.rewards)
        return Rows(*fields, discounts)

    def _setup_model(self) -> None:
        if self.policy_kwargs.get("optimizer_class", torch.optim.Adam) is torch.optim.Adam:
            self.policy_kwargs = {"optimizer_kwargs": {"fused": True}} | self.policy_kwargs  # a step is one operation
        super()._setup_model()
        if self.use_sde:
            raise ValueError("use_sde must be False for LeanSAC; take stable_baselines3.SAC for it.")
        if isinstance(self.observation_space, spaces.Dict):
            raise ValueError(
                "env must have observations of one array for LeanSAC; take stable_baselines3.SAC for a Dict."
            )
        Critics(self.critic)  # refuses what it cannot differentiate, before anything is trained
