"""PPO for discrete actions with the steps of stable-baselines3's in a fraction of the time.

The loss is a function of the action logits and the value, and its gradient with respect to both is a formula: only the
actor is left to autograd. The critic is differentiated by hand, and what is logged is computed once an update. What is
computed is the same, up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.utils import explained_variance
from torch import Tensor

from dtsemnet.rl.algorithms.chains import Chain, check_features

__all__ = ["LeanPPO"]


class Rows(NamedTuple):
    """A rollout in random order, or a part of it."""

    features: Tensor
    actions: Tensor
    old_log_prob: Tensor
    old_values: Tensor
    advantages: Tensor
    returns: Tensor

    def parts(self, size: int) -> list[Rows]:
        """Split into batches."""
        return [Rows(*part) for part in zip(*(torch.split(whole, size) for whole in self))]


class Told(NamedTuple):
    """What a step computes of each row, for the log."""

    gain: Tensor
    log_ratio: Tensor
    entropy: Tensor
    error: Tensor


class LeanPPO(PPO):
    """PPO for ``Discrete`` actions and a critic that is a plain network; takes what ``PPO`` takes.

    Examples
    --------
    >>> from dtsemnet.rl import TreePolicy
    >>> agent = LeanPPO(TreePolicy, "CartPole-v1", n_steps=64, policy_kwargs=dict(max_depth=3), seed=0, device="cpu")
    >>> agent.learn(64).num_timesteps
    64
    """

    def train(self) -> None:
        """Take gradient steps on the rollout."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        critic, parameters = self._critic(), list(self.policy.parameters())
        told: list[Told] = []
        for _ in range(self.n_epochs):
            self._n_updates, before = self._n_updates + 1, len(told)
            for rows in self._shuffled().parts(self.batch_size):
                told.append(self._set_gradients(rows, critic))
                if self.target_kl is not None and _divergence(told[-1].log_ratio) > 1.5 * self.target_kl:
                    return self._log(told, before)
                torch.nn.utils.clip_grad_norm_(parameters, self.max_grad_norm)
                self.policy.optimizer.step()
        return self._log(told, before)

    def _shuffled(self) -> Rows:
        with torch.no_grad():
            drawn = next(self.rollout_buffer.get())  # as one batch: the split gives those of stable-baselines3
            features = self.policy.extract_features(drawn.observations)
        if isinstance(features, tuple):  # extractors of their own for actor and critic; without weights they agree
            features = features[0]
        actions = drawn.actions.long().reshape(-1, 1)
        return Rows(features, actions, drawn.old_log_prob, drawn.old_values, drawn.advantages, drawn.returns)

    def _set_gradients(self, rows: Rows, critic: Chain) -> Told:
        """Leave at the parameters the gradient of the loss."""
        self.policy.optimizer.zero_grad()
        logits: Tensor = self.policy.action_net(self.policy.mlp_extractor.forward_actor(rows.features))
        with torch.no_grad():
            slope, gain, log_ratio, entropy = self._judge_actions(logits, rows)
            error = self._regress(critic, rows)
        torch.autograd.backward([logits], [slope])
        return Told(gain, log_ratio, entropy, error)

    def _judge_actions(self, logits: Tensor, rows: Rows) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Compute the gradient of the loss with respect to the logits; the gain, log ratio and entropy of each row."""
        share, reach = 1 / len(logits), self._at_present(self.clip_range)
        log_p = logits.log_softmax(dim=1)
        p = log_p.exp()
        entropy = -(p * log_p).sum(dim=1, keepdim=True)
        log_ratio = log_p.gather(1, rows.actions).squeeze(1) - rows.old_log_prob
        advantages, ratio = rows.advantages, log_ratio.exp()
        if self.normalize_advantage and len(advantages) > 1:
            deviation, mean = torch.std_mean(advantages)
            advantages = (advantages - mean) / (deviation + 1e-8)
        free, bound = advantages * ratio, advantages * ratio.clamp(1 - reach, 1 + reach)
        # With respect to the log probability of the action taken; 0 where the bound holds it back.
        pull = torch.where(free <= bound, -share * free, 0.0).unsqueeze(1)
        slope = p * (self.ent_coef * share * (log_p + entropy) - pull)
        return slope.scatter_add_(1, rows.actions, pull), torch.minimum(free, bound), log_ratio, entropy

    def _regress(self, critic: Chain, rows: Rows) -> Tensor:
        """Leave at the critic the gradient of its squared error; tell the error of each row."""
        outputs = critic.forward(rows.features)
        value = outputs[-1].squeeze(1)
        if self.clip_range_vf is None:
            error = gradient = value - rows.returns
        else:
            reach, change = self._at_present(self.clip_range_vf), value - rows.old_values
            error = rows.old_values + change.clamp(-reach, reach) - rows.returns
            gradient = torch.where(change.abs() <= reach, error, 0.0)
        critic.set_gradients(outputs, (2 * self.vf_coef / len(value) * gradient).unsqueeze(1))
        return error

    def _log(self, told: list[Told], before: int) -> None:
        """Log what stable-baselines3 does; ``before`` counts the steps before the last epoch."""
        gain, log_ratio, entropy, error = (torch.cat(part) for part in zip(*told))
        reach = self._at_present(self.clip_range)
        buffer = self.rollout_buffer
        self.logger.record("train/entropy_loss", -entropy.mean().item())
        self.logger.record("train/policy_gradient_loss", -gain.mean().item())
        self.logger.record("train/value_loss", error.square().mean().item())
        self.logger.record("train/approx_kl", _divergence(torch.cat([step.log_ratio for step in told[before:]])))
        self.logger.record("train/clip_fraction", ((log_ratio.exp() - 1).abs() > reach).float().mean().item())
        self.logger.record(
            "train/explained_variance", explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        )
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/clip_range", reach)

    def _at_present(self, schedule: object) -> float:
        assert callable(schedule), "stable-baselines3 turns numbers into schedules"
        return float(schedule(self._current_progress_remaining))

    def _critic(self) -> Chain:
        return Chain([*self.policy.mlp_extractor.value_net, self.policy.value_net])

    def _setup_model(self) -> None:
        if self.policy_kwargs.get("optimizer_class", torch.optim.Adam) is torch.optim.Adam:
            fused = {"optimizer_kwargs": {"eps": 1e-5, "fused": True}}  # the usual eps, and a step is one operation
            self.policy_kwargs = fused | self.policy_kwargs
        super()._setup_model()
        if not isinstance(self.action_space, spaces.Discrete):
            raise ValueError(
                f"env must have Discrete actions for LeanPPO, got {self.action_space}; "
                "take stable_baselines3.PPO for others."
            )
        check_features(self.policy.pi_features_extractor)
        check_features(self.policy.vf_features_extractor)
        self._critic()  # refuses what it cannot differentiate, before anything is trained


def _divergence(log_ratio: Tensor) -> float:
    """Estimate how far the policy has moved from the one that acted."""
    return (log_ratio.exp() - 1 - log_ratio).mean().item()
