"""SAC with the steps of stable-baselines3's in less time, for any actor.

A step on the critics and what they say of the actor's actions is one call of compiled code; the actor alone is left to
autograd. All rows of an update are drawn at once, and the actor sees the observations before and after a step in one
batch. What is computed is the same, up to rounding and the order of random draws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3 import SAC
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from stable_baselines3.sac.policies import SACPolicy
from torch import Tensor

from dtsemnet.kernels import one_thread
from dtsemnet.rl.algorithms.critics import Critics, check_critics
from dtsemnet.rl.algorithms.sac_kernels import Critic, Experience, follow, judge, step_entropy
from dtsemnet.rl.policies.sac import draw_squashed

__all__ = ["LeanSAC"]


class Rows(NamedTuple):
    """What is drawn from the replay buffer."""

    observations: Tensor
    actions: Tensor
    next_observations: Tensor
    dones: Tensor
    rewards: Tensor
    discounts: Tensor


class LeanSAC(SAC):
    """SAC on the CPU for critics that are plain networks; takes what ``SAC`` takes, but for ``use_sde``.

    Critics have ReLU or tanh between their layers, and are trained by Adam as it is.

    Examples
    --------
    >>> agent = LeanSAC("MlpPolicy", "Pendulum-v1", learning_starts=64, seed=0)
    >>> agent.learn(128).num_timesteps
    128
    """

    def __init__(
        self,
        policy: str | type[SACPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 3e-4,
        *,
        device: str = "cpu",
        **kwargs: Any,
    ) -> None:
        super().__init__(policy, env, learning_rate, device=device, **kwargs)

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Take gradient steps on samples of the replay buffer."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self._optimizers())
        rows, critics = self._draw(gradient_steps * batch_size), Critics(self)
        experience, networks, losses = self._experience(rows), critics.networks(batch_size), []
        with one_thread():
            for number in range(gradient_steps):
                part = slice(number * batch_size, (number + 1) * batch_size)
                seen = torch.cat([rows.observations[part], rows.next_observations[part]])
                losses.append(self._step(seen, Experience(*(array[part] for array in experience)), critics, networks))
                if number % self.target_update_interval == 0:
                    follow(critics.targets.row, critics.packed.row, self.tau)
        critics.write_back()
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/ent_coef", critics.entropy_weight)
        for name, values in zip(("critic_loss", "actor_loss"), zip(*losses)):
            self.logger.record(f"train/{name}", sum(values) / len(values))

    def _step(
        self, seen: Tensor, rows: Experience, critics: Critics, networks: tuple[Critic, ...]
    ) -> tuple[float, float]:
        """Take one step on critics, entropy weight and actor; tell the losses of critics and actor.

        ``seen`` holds the observations before the steps of ``rows``, then those after them.
        """
        n = len(rows.rewards)
        mean, log_std, _ = self.actor.get_action_dist_params(seen)
        drawn, log_prob = draw_squashed(mean, log_std)
        weight, actions, density = critics.entropy_weight, drawn.detach().numpy(), log_prob.detach().numpy()
        step_entropy(critics.entropy.trained, density[:n], critics.target_entropy, critics.entropy_rate)
        worth = -np.float32(weight) * density[n:]
        loss, value, slope = judge(
            rows, actions[:n], actions[n:], worth, networks, critics.trained, critics.activation, critics.rate
        )
        self.actor.optimizer.zero_grad()
        towards = torch.zeros_like(drawn), torch.zeros_like(log_prob)
        towards[0][:n], towards[1][:n] = torch.from_numpy(slope), weight / n
        torch.autograd.backward([drawn, log_prob], towards)
        self.actor.optimizer.step()
        return loss, weight * float(density[:n].mean()) - value

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        found = (self.actor.optimizer, self.critic.optimizer, self.ent_coef_optimizer)
        return [optimizer for optimizer in found if optimizer is not None]

    def _draw(self, n_rows: int) -> Rows:
        assert self.replay_buffer is not None
        drawn: Any = self.replay_buffer.sample(n_rows, env=self._vec_normalize_env)
        discounts = torch.full_like(drawn.rewards, self.gamma) if drawn.discounts is None else drawn.discounts
        fields = (drawn.observations, drawn.actions, drawn.next_observations, drawn.dones, drawn.rewards)
        return Rows(*fields, discounts)

    def _experience(self, rows: Rows) -> Experience:
        """Give rows to compiled code."""
        going_on = (1 - rows.dones) * rows.discounts
        arrays = self._features(rows.observations), rows.actions.numpy(), self._features(rows.next_observations)
        return Experience(*arrays, rows.rewards.reshape(-1).numpy(), going_on.reshape(-1).numpy())

    def _features(self, observations: Tensor) -> NDArray[np.float32]:
        features = self.actor.extract_features(observations, self.actor.features_extractor)
        return np.ascontiguousarray(features.numpy())

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
        check_critics(self)  # before anything is trained
