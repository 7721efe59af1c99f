"""SAC for any actor: the steps of stable-baselines3's SAC in less time.

A step on the critics and their derivatives by the actor's actions is one call of compiled code; only the actor is left
to autograd. All rows of an update are drawn at once, and the actor sees the observations before and after a step in one
batch. What is computed is the same, up to rounding and the order of random draws.

During an update the parameters of critics and entropy weight are arrays (:class:`CriticArrays`), each with the state of
its Adam (:class:`PackedParameters`), and are written back at its end: only torch is saved, loaded and resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3 import SAC
from stable_baselines3.common.type_aliases import GymEnv, ReplayBufferSamples, Schedule
from stable_baselines3.sac.policies import SACPolicy
from torch import Tensor, nn

from dtsemnet.arrays import Floats
from dtsemnet.kernels import one_thread
from dtsemnet.rl.algorithms import sac_kernels
from dtsemnet.rl.algorithms.lean_ppo import MLP, check_features
from dtsemnet.rl.policies.sac import draw_squashed

__all__ = ["CriticArrays", "LeanSAC", "PackedParameters", "check_adam", "learning_rate"]

PLAIN_ADAM = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False}
"""The options of Adam that the kernels support."""


class LeanSAC(SAC):
    """SAC on the CPU for critics that are plain networks; the arguments are those of ``SAC``, except ``use_sde``.

    Critics have ReLU or tanh between their layers, and are trained by Adam with its default options.

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
        rows, arrays = self._draw(gradient_steps * batch_size), CriticArrays(self)
        transitions, critics, losses = self._transitions(rows), arrays.critics(batch_size), []
        with one_thread():
            for step in range(gradient_steps):
                part = slice(step * batch_size, (step + 1) * batch_size)
                seen = torch.cat([rows.observations[part], rows.next_observations[part]])
                batch = sac_kernels.Transitions(*(array[part] for array in transitions))
                losses.append(self._step(seen, batch, arrays, critics))
                sac_kernels.move_targets(critics, step)
        arrays.write_back()
        critic_loss, actor_loss = (sum(values) / len(values) for values in zip(*losses))
        figures = {"ent_coef": arrays.entropy_weight, "critic_loss": critic_loss, "actor_loss": actor_loss}
        self._log(gradient_steps, figures)

    def _log(self, gradient_steps: int, figures: dict[str, float]) -> None:
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name, figure in figures.items():
            self.logger.record(f"train/{name}", figure)

    def _step(
        self, seen: Tensor, batch: sac_kernels.Transitions, arrays: CriticArrays, critics: sac_kernels.Critics
    ) -> tuple[float, float]:
        """Take one step, for the observations of the batch and then the next ones; return both losses."""
        n = len(batch.rewards)
        mean, log_std, _ = self.actor.get_action_dist_params(seen)
        drawn, log_prob = draw_squashed(mean, log_std)
        weight, actions, density = arrays.entropy_weight, drawn.detach().numpy(), log_prob.detach().numpy()
        sac_kernels.entropy_step(arrays.entropy_arrays, density[:n])
        bonus = -np.float32(weight) * density[n:]
        loss, value, gradient = sac_kernels.critic_step(batch, actions[:n], actions[n:], bonus, critics)
        self.actor.optimizer.zero_grad()
        by_action, by_density = torch.zeros_like(drawn), torch.zeros_like(log_prob)
        by_action[:n], by_density[:n] = torch.from_numpy(gradient), weight / n
        torch.autograd.backward([drawn, log_prob], [by_action, by_density])
        self.actor.optimizer.step()
        return loss, weight * float(density[:n].mean()) - value

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        optimizers = (self.actor.optimizer, self.critic.optimizer, self.ent_coef_optimizer)
        return [optimizer for optimizer in optimizers if optimizer is not None]

    def _draw(self, n_rows: int) -> ReplayBufferSamples:
        assert self.replay_buffer is not None
        return self.replay_buffer.sample(n_rows, env=self._vec_normalize_env)

    def _transitions(self, rows: ReplayBufferSamples) -> sac_kernels.Transitions:
        """Give rows to the kernels."""
        discounts = (1 - rows.dones) * (self.gamma if rows.discounts is None else rows.discounts)
        arrays = self._features(rows.observations), rows.actions.numpy(), self._features(rows.next_observations)
        return sac_kernels.Transitions(*arrays, rows.rewards.reshape(-1).numpy(), discounts.reshape(-1).numpy())

    def _features(self, observations: Tensor) -> NDArray[np.float32]:
        features = self.actor.extract_features(observations, self.actor.features_extractor)
        return np.ascontiguousarray(features.numpy())

    def _setup_model(self) -> None:
        if self.policy_kwargs.get("optimizer_class", torch.optim.Adam) is torch.optim.Adam:
            self.policy_kwargs = {"optimizer_kwargs": {"fused": True}} | self.policy_kwargs  # one operation per step
        super()._setup_model()
        if self.use_sde:
            raise ValueError("use_sde must be False for LeanSAC; take stable_baselines3.SAC for it.")
        if isinstance(self.observation_space, spaces.Dict):
            raise ValueError(
                "env must have observations of one array for LeanSAC; take stable_baselines3.SAC for a Dict."
            )
        if self.device.type != "cpu":
            raise ValueError(
                f"device must be 'cpu' for {type(self).__name__}, got {self.device}: its networks are small; "
                "take stable_baselines3.SAC for others."
            )
        check_features(self.critic.features_extractor)
        for network in self.critic.q_networks:
            MLP(network.children())
        for optimizer in self._optimizers()[1:]:  # that of the actor is left to torch
            check_adam(optimizer)


class CriticArrays:
    """The critics of an agent, their targets and the entropy weight, as arrays until they are written back.

    Examples
    --------
    >>> agent = SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [8, 6]}, buffer_size=1, device="cpu")
    >>> networks = CriticArrays(agent).networks(n_rows=5)
    >>> len(networks), [weight.shape for weight in networks[0].layers.weights]
    (2, [(8, 4), (6, 8), (1, 6)])
    """

    def __init__(self, agent: SAC) -> None:
        self.packed = PackedParameters(agent.critic.parameters(), agent.critic.optimizer)
        self.targets = PackedParameters(agent.critic_target.parameters())
        self.mlp = MLP(agent.critic.q_networks[0].children())
        self.settings = learning_rate(agent.critic.optimizer), agent.tau, agent.target_update_interval
        log_weight = agent.ent_coef_tensor.log() if agent.log_ent_coef is None else agent.log_ent_coef
        optimizer = agent.ent_coef_optimizer
        self.entropy = PackedParameters([log_weight], optimizer)
        target, rate = (0.0, 0.0) if optimizer is None else (float(agent.target_entropy), learning_rate(optimizer))
        self.entropy_arrays = sac_kernels.Entropy(self.entropy.parameters, target, rate)

    @property
    def entropy_weight(self) -> float:
        """Weight of the entropy in the objective of the actor."""
        return float(np.exp(self.entropy.row[0, 0]))

    def networks(self, n_rows: int) -> tuple[sac_kernels.Critic, ...]:
        """View the rows of critics and targets as layers; weights and biases alternate."""
        size, networks = 2 * len(self.mlp.layers), []
        views = [self.packed.views(self.packed.row), self.packed.views(self.packed.gradient)]
        views.append(self.targets.views(self.targets.row))
        activation = sac_kernels.TANH if isinstance(self.mlp.activation, nn.Tanh) else sac_kernels.RELU
        for start in range(0, len(views[0]), size):
            parts = (view[start : start + size] for view in views)
            values, gradient, target = (sac_kernels.Layers(tuple(part[::2]), tuple(part[1::2])) for part in parts)
            outputs = tuple(np.empty((n_rows, layer.out_features), np.float32) for layer in self.mlp.layers)
            networks.append(sac_kernels.Critic(values, gradient, target, outputs, activation))
        return tuple(networks)

    def critics(self, n_rows: int) -> sac_kernels.Critics:
        """Give everything to the kernels."""
        return sac_kernels.Critics(self.networks(n_rows), self.packed.parameters, self.targets.row, *self.settings)

    def write_back(self) -> None:
        """Copy everything back to torch."""
        for packed in (self.packed, self.targets, self.entropy):
            packed.write_back()


class PackedParameters:
    """Parameters of torch side by side in one row, (1, n), with the state of their Adam if they have one.

    Examples
    --------
    >>> layer = torch.nn.Linear(3, 2)
    >>> packed = PackedParameters(layer.parameters())
    >>> packed.row.shape, [view.shape for view in packed.views(packed.row)]
    ((1, 8), [(2, 3), (2,)])
    >>> packed.row[:] = 1
    >>> packed.write_back()
    >>> layer.bias.tolist()
    [1.0, 1.0]
    """

    def __init__(self, tensors: Iterable[Tensor], optimizer: torch.optim.Optimizer | None = None) -> None:
        self.tensors = list(tensors)
        self.optimizer = optimizer
        self.row = _row(self.tensors)
        states = [] if optimizer is None else [optimizer.state.get(tensor, {}) for tensor in self.tensors]
        begun = all("step" in state for state in states) and len(states) > 0
        self.first = _row([state["exp_avg"] for state in states]) if begun else np.zeros_like(self.row)
        self.second = _row([state["exp_avg_sq"] for state in states]) if begun else np.zeros_like(self.row)
        self.n_steps = np.array([int(states[0]["step"]) if begun else 0])
        self.gradient = np.zeros_like(self.row)
        self.parameters = sac_kernels.Parameters(self.row, self.gradient, self.first, self.second, self.n_steps)

    def views(self, row: Floats) -> list[Floats]:
        """View a row as arrays of the shapes of the parameters."""
        ends = np.cumsum([tensor.numel() for tensor in self.tensors])
        parts = np.split(row[0], ends[:-1])
        return [part.reshape(tensor.shape) for part, tensor in zip(parts, self.tensors)]

    def write_back(self) -> None:
        """Copy the row into the parameters, and the moments into the state of their optimizer."""
        with torch.no_grad():
            for tensor, array in zip(self.tensors, self.views(self.row)):
                tensor.copy_(torch.from_numpy(array))
        if self.optimizer is None or not self.n_steps[0]:
            return
        for tensor, first, second in zip(self.tensors, self.views(self.first), self.views(self.second)):
            state = self.optimizer.state[tensor]
            state["step"] = torch.tensor(float(self.n_steps[0]))
            state["exp_avg"], state["exp_avg_sq"] = torch.tensor(first), torch.tensor(second)


def check_adam(optimizer: torch.optim.Optimizer) -> None:
    """Refuse an optimizer that the kernels do not support."""
    options = {name: optimizer.defaults.get(name) for name in PLAIN_ADAM}
    if type(optimizer) is not torch.optim.Adam or options != PLAIN_ADAM:
        raise ValueError(
            f"optimizer_class must be torch.optim.Adam with its own betas and eps, got {type(optimizer).__name__} with "
            f"{options}; take stable_baselines3.SAC for others."
        )


def _row(tensors: Sequence[Tensor]) -> Floats:
    return np.concatenate([tensor.detach().numpy().reshape(-1) for tensor in tensors])[np.newaxis]


def learning_rate(optimizer: torch.optim.Optimizer) -> float:
    """Read the learning rate of an optimizer."""
    return float(optimizer.param_groups[0]["lr"])
