"""PPO for discrete actions: the steps of stable-baselines3's PPO in a fraction of the time.

The loss is a function of the action logits and the value, and its gradient with respect to both is a formula, so only
the actor is left to autograd. The critic is a small network, for which autograd spends more time on bookkeeping than on
arithmetic; :class:`MLP` computes its gradient by two matrix products per layer. What is logged is computed once per
update. The result is the same, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.type_aliases import RolloutBufferSamples
from stable_baselines3.common.utils import explained_variance
from torch import Tensor, nn

__all__ = ["MLP", "LeanPPO", "check_features"]


class StepStatistics(NamedTuple):
    """What a gradient step computes for each row, for the log."""

    objective: Tensor
    log_ratio: Tensor
    entropy: Tensor
    value_error: Tensor


class LeanPPO(PPO):
    """PPO for ``Discrete`` actions and a critic that is a plain network; the arguments are those of ``PPO``.

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
        steps: list[StepStatistics] = []
        for _ in range(self.n_epochs):
            self._n_updates, n_before = self._n_updates + 1, len(steps)
            for part in zip(*(torch.split(whole, self.batch_size) for whole in self._shuffled_rollout())):
                batch = RolloutBufferSamples(*part)
                steps.append(self._set_gradients(batch, critic))
                if self.target_kl is not None and _divergence(steps[-1].log_ratio) > 1.5 * self.target_kl:
                    return self._log(steps, n_before)
                torch.nn.utils.clip_grad_norm_(parameters, self.max_grad_norm)
                self.policy.optimizer.step()
        return self._log(steps, n_before)

    def _shuffled_rollout(self) -> RolloutBufferSamples:
        """Give the rollout in random order, with the features in place of the observations."""
        with torch.no_grad():
            rollout = next(self.rollout_buffer.get())  # one batch, which train() divides as stable-baselines3 does
            features = self.policy.extract_features(rollout.observations)
        if isinstance(features, tuple):  # separate extractors for actor and critic; without weights they agree
            features = features[0]
        return rollout._replace(observations=features, actions=rollout.actions.long().reshape(-1, 1))

    def _set_gradients(self, batch: RolloutBufferSamples, critic: MLP) -> StepStatistics:
        """Set the gradients of all parameters to those of the loss."""
        self.policy.optimizer.zero_grad()
        logits: Tensor = self.policy.action_net(self.policy.mlp_extractor.forward_actor(batch.observations))
        with torch.no_grad():
            gradient, objective, log_ratio, entropy = self._actor_gradient(logits, batch)
            error = self._set_critic_gradients(critic, batch)
        torch.autograd.backward([logits], [gradient])
        return StepStatistics(objective, log_ratio, entropy, error)

    def _actor_gradient(self, logits: Tensor, batch: RolloutBufferSamples) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Compute the gradient of the loss by the logits, and each row's objective, log ratio and entropy."""
        share, clip = 1 / len(logits), self._current(self.clip_range)
        log_p = logits.log_softmax(dim=1)
        p = log_p.exp()
        entropy = -(p * log_p).sum(dim=1, keepdim=True)
        log_ratio = log_p.gather(1, batch.actions).squeeze(1) - batch.old_log_prob
        advantages, ratio = batch.advantages, log_ratio.exp()
        if self.normalize_advantage and len(advantages) > 1:
            deviation, mean = torch.std_mean(advantages)
            advantages = (advantages - mean) / (deviation + 1e-8)
        free, clipped = advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip)
        # By the log probability of the action taken; 0 for rows that the clipping holds back.
        by_log_p = torch.where(free <= clipped, -share * free, 0.0).unsqueeze(1)
        gradient = p * (self.ent_coef * share * (log_p + entropy) - by_log_p)
        return gradient.scatter_add_(1, batch.actions, by_log_p), torch.minimum(free, clipped), log_ratio, entropy

    def _set_critic_gradients(self, critic: MLP, batch: RolloutBufferSamples) -> Tensor:
        """Set the gradients of the critic to those of its squared error; return the error of each row."""
        outputs = critic.forward(batch.observations)
        value = outputs[-1].squeeze(1)
        if self.clip_range_vf is None:
            error = gradient = value - batch.returns
        else:
            clip, change = self._current(self.clip_range_vf), value - batch.old_values
            error = batch.old_values + change.clamp(-clip, clip) - batch.returns
            gradient = torch.where(change.abs() <= clip, error, 0.0)
        critic.set_gradients(outputs, (2 * self.vf_coef / len(value) * gradient).unsqueeze(1))
        return error

    def _log(self, steps: list[StepStatistics], n_before: int) -> None:
        """Log what stable-baselines3 does; ``n_before`` is the number of steps before the last epoch."""
        objective, log_ratio, entropy, error = (torch.cat(part) for part in zip(*steps))
        clip, buffer = self._current(self.clip_range), self.rollout_buffer
        figures = {
            "entropy_loss": -entropy.mean().item(),
            "policy_gradient_loss": -objective.mean().item(),
            "value_loss": error.square().mean().item(),
            "approx_kl": _divergence(torch.cat([step.log_ratio for step in steps[n_before:]])),
            "clip_fraction": ((log_ratio.exp() - 1).abs() > clip).float().mean().item(),
            "explained_variance": explained_variance(buffer.values.flatten(), buffer.returns.flatten()),
            "clip_range": clip,
        }
        for name, figure in figures.items():
            self.logger.record(f"train/{name}", figure)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _current(self, schedule: object) -> float:
        assert callable(schedule), "stable-baselines3 turns numbers into schedules"
        return float(schedule(self._current_progress_remaining))

    def _critic(self) -> MLP:
        return MLP([*self.policy.mlp_extractor.value_net, self.policy.value_net])

    def _setup_model(self) -> None:
        if self.policy_kwargs.get("optimizer_class", torch.optim.Adam) is torch.optim.Adam:
            fused = {"optimizer_kwargs": {"eps": 1e-5, "fused": True}}  # PPO's usual eps; fused: one operation per step
            self.policy_kwargs = fused | self.policy_kwargs
        super()._setup_model()
        if not isinstance(self.action_space, spaces.Discrete):
            raise ValueError(
                f"env must have Discrete actions for LeanPPO, got {self.action_space}; "
                "take stable_baselines3.PPO for others."
            )
        check_features(self.policy.pi_features_extractor)
        check_features(self.policy.vf_features_extractor)
        self._critic()  # refuses layers that it cannot differentiate, before any training


class MLP:
    """Linear layers, all with ReLU or all with tanh between them, differentiated by hand; shares the modules' weights.

    Examples
    --------
    >>> net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    >>> outputs = MLP(net).forward(torch.ones(2, 3))
    >>> [tuple(output.shape) for output in outputs]
    [(2, 3), (2, 4), (2, 1)]
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        modules = list(modules)
        self.layers = [module for module in modules if isinstance(module, nn.Linear)]
        between = [module for module in modules if not isinstance(module, nn.Linear)]
        kinds = {type(module) for module in between}
        if len(kinds) > 1 or not kinds <= set(DERIVATIVES):
            raise ValueError(f"activation_fn must be nn.ReLU or nn.Tanh, got {between}.")
        self.activation = between[0] if between else nn.Identity()

    def forward(self, x: Tensor) -> list[Tensor]:
        """Compute the input, the output of each hidden layer, and the value."""
        outputs = [x]
        for layer in self.layers[:-1]:
            outputs.append(self.activation(torch.addmm(layer.bias, outputs[-1], layer.weight.t())))
        last = self.layers[-1]
        return [*outputs, torch.addmm(last.bias, outputs[-1], last.weight.t())]

    def set_gradients(self, outputs: list[Tensor], gradient: Tensor) -> None:
        """Set the gradients of weights and biases, given the gradient of the value."""
        for level in reversed(range(len(self.layers))):
            layer = self.layers[level]
            layer.weight.grad, layer.bias.grad = gradient.t() @ outputs[level], gradient.sum(dim=0)
            if level:
                gradient = DERIVATIVES[type(self.activation)](gradient @ layer.weight, outputs[level])


DERIVATIVES: dict[type[nn.Module], Callable[[Tensor, Tensor], Tensor]] = {
    nn.ReLU: lambda gradient, output: gradient.mul_(output.sign()),
    nn.Tanh: lambda gradient, output: gradient.mul_(1 - output.square()),
}
"""From the gradient of an activation's output, and that output, to the gradient of its input, in place."""


def check_features(extractor: nn.Module) -> None:
    """Refuse a features extractor with weights: no gradient is computed for it."""
    if any(True for _ in extractor.parameters()):
        raise ValueError(
            "features_extractor_class must have no weights, such as FlattenExtractor: "
            f"the critics read observations as they are, got {type(extractor).__name__}."
        )


def _divergence(log_ratio: Tensor) -> float:
    """Estimate the Kullback-Leibler divergence from the policy that acted."""
    return (log_ratio.exp() - 1 - log_ratio).mean().item()
