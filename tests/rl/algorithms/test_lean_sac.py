"""LeanSAC and its critics: what stable-baselines3 and autograd compute, in other words."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.envs import SimpleMultiObsEnv
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn

from dtsemnet.rl import LeanSAC, TreeSACPolicy
from dtsemnet.rl.algorithms.lean_sac import CriticArrays, PackedParameters, check_adam
from dtsemnet.rl.algorithms.sac_kernels import Transitions, critic_step
from rl.worlds import Echo


def agent(kind=LeanSAC, policy=TreeSACPolicy, seed=0, activation=nn.ReLU, **kwargs):
    """Build a small agent, its buffer filled."""
    own = {"max_depth": 2} if policy is TreeSACPolicy else {}
    options = {"learning_starts": 100, "buffer_size": 500, "batch_size": 16, "device": "cpu"} | kwargs
    made = kind(
        policy, Echo(), policy_kwargs={"net_arch": [8, 6], "activation_fn": activation} | own, seed=seed, **options
    )
    return made.learn(100)


def everything(made):
    """Copy all that training can move."""
    parts = {"actor": made.actor, "critic": made.critic, "target": made.critic_target}
    found = {f"{part}.{name}": value.clone() for part, net in parts.items() for name, value in net.named_parameters()}
    return found | {"entropy": torch.tensor(CriticArrays(made).entropy_weight)}


def asked(critic, rows, drawn):
    """Ask critics about actions, after a step at rate 0; give the gradient of the step, the value and the slope."""
    critics = CriticArrays(critic)
    loss, value, slope = critic_step(
        Transitions(*(tensor.numpy() for tensor in rows)),
        drawn.numpy(),
        drawn.numpy(),
        np.zeros(len(drawn), np.float32),
        critics.critics(len(drawn))._replace(rate=0.0),
    )
    return loss, critics.packed.views(critics.packed.gradient), value, slope


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh])
def test_gradients_are_those_of_autograd(activation):
    """Where nothing goes on after a step, the goal of the critics is its reward."""
    torch.manual_seed(0)
    space = {"net_arch": [8, 6], "activation_fn": activation}
    made = SAC("MlpPolicy", Echo(), policy_kwargs=space, buffer_size=1, device="cpu")
    x, actions, target, drawn = torch.randn(20, 2), torch.rand(20, 2), torch.randn(20), torch.rand(20, 2)
    loss, gradients, value, slope = asked(made, (x, actions, x, target, torch.zeros(20)), drawn)
    weights = list(made.critic.parameters())
    expected = 0.5 * sum(((found.squeeze(1) - target) ** 2).mean() for found in made.critic(x, actions))
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    for gradient, autograd in zip(gradients, torch.autograd.grad(expected, weights)):
        torch.testing.assert_close(torch.from_numpy(gradient), autograd)
    drawn.requires_grad_()
    least = torch.cat(made.critic(x, drawn), dim=1).min(dim=1).values.mean()
    assert value == pytest.approx(least.item(), rel=1e-5)
    torch.testing.assert_close(torch.from_numpy(slope), -torch.autograd.grad(least, drawn)[0])


def test_the_slope_of_equals_is_that_of_one():
    made = SAC("MlpPolicy", Echo(), policy_kwargs={"net_arch": [8, 6]}, buffer_size=1, device="cpu")
    made.critic.q_networks[1].load_state_dict(made.critic.q_networks[0].state_dict())
    x, drawn = torch.randn(5, 2), torch.rand(5, 2)
    _, _, _, slope = asked(made, (x, drawn, x, torch.zeros(5), torch.zeros(5)), drawn)
    drawn.requires_grad_()
    expected = torch.autograd.grad(made.critic(x, drawn)[0].mean(), drawn)[0]
    torch.testing.assert_close(torch.from_numpy(slope), -expected)


@pytest.mark.parametrize("policy", [TreeSACPolicy, "MlpPolicy"])
@pytest.mark.parametrize("options", [{}, {"ent_coef": 0.3}, {"target_update_interval": 2}, {"ent_coef": "auto_0.5"}])
def test_updates_are_those_of_sac(policy, options, monkeypatch):
    """Without noise in the draws, three steps on the same rows end at the same weights."""
    lean, plain = agent(policy=policy, **options), agent(SAC, policy, **options)
    plain.policy.load_state_dict(lean.policy.state_dict())
    batches = [lean.replay_buffer.sample(16) for _ in range(3)]
    together = type(batches[0])(*(torch.cat(part) if part[0] is not None else None for part in zip(*batches)))
    waiting = {16: iter(batches), 48: iter([together])}
    monkeypatch.setattr(ReplayBuffer, "sample", lambda buffer, n, env=None: next(waiting[n]))
    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)
    monkeypatch.setattr(torch.distributions.Normal, "rsample", lambda normal, shape=None: normal.mean)
    before = everything(lean)
    lean.train(3, 16)
    plain.train(3, 16)
    after = everything(lean)
    for name, value in everything(plain).items():
        torch.testing.assert_close(after[name], value, rtol=2e-4, atol=2e-6)
    still = {"entropy"} if options.get("ent_coef") == 0.3 else set()
    assert {name for name in before if torch.equal(before[name], after[name])} == still


def test_networks_learn():
    made = LeanSAC(
        "MlpPolicy", Echo(), policy_kwargs={"net_arch": [32, 32]}, learning_rate=1e-2, learning_starts=100,
        train_freq=64, gradient_steps=64, batch_size=64, gamma=0.0, seed=0, device="cpu",
    )  # fmt: skip
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2)).astype(np.float32)
    before = np.abs(made.predict(X, deterministic=True)[0] - aim(X)).mean()
    made.learn(640)
    assert np.abs(made.predict(X, deterministic=True)[0] - aim(X)).mean() < before / 2


def aim(X):
    """Give the actions that Echo rewards most."""
    return np.stack([np.abs(X[:, 0]), -X[:, 1]], axis=1)


def test_save_and_load(tmp_path):
    made = agent()
    made.save(tmp_path / "agent")
    again = LeanSAC.load(tmp_path / "agent", env=Echo(), device="cpu")
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    np.testing.assert_array_equal(again.predict(X, deterministic=True)[0], made.predict(X, deterministic=True)[0])
    again.learn(50)


def test_what_cannot_be_differentiated_is_refused():
    with pytest.raises(ValueError, match=r"activation_fn must be nn\.ReLU or nn\.Tanh"):
        agent(activation=nn.ELU)
    with pytest.raises(ValueError, match="use_sde must be False"):
        agent(policy="MlpPolicy", use_sde=True)

    with pytest.raises(ValueError, match=r"optimizer_class must be torch\.optim.Adam.*take stable_baselines3\.SAC"):
        LeanSAC("MlpPolicy", Echo(), policy_kwargs={"optimizer_class": torch.optim.SGD}, buffer_size=1, device="cpu")
    with pytest.raises(ValueError, match=r"device must be 'cpu' for LeanSAC, got meta"):
        LeanSAC("MlpPolicy", Echo(), buffer_size=1, device="meta")
    with pytest.raises(ValueError, match=r"take stable_baselines3\.SAC for a Dict"):
        LeanSAC("MultiInputPolicy", SimpleMultiObsEnv(discrete_actions=False), buffer_size=1, device="cpu")

    class Weighted(FlattenExtractor):
        def __init__(self, space):
            super().__init__(space)
            self.scale = nn.Parameter(torch.ones(()))

    with pytest.raises(ValueError, match=r"features_extractor_class must have no weights.*Weighted"):
        LeanSAC("MlpPolicy", Echo(), policy_kwargs={"features_extractor_class": Weighted}, buffer_size=1, device="cpu")


def test_rows_are_copies_until_they_are_written_back():
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().clone()
    packed = PackedParameters(layer.parameters())
    weight, bias = packed.views(packed.row)
    np.testing.assert_array_equal(weight, before.numpy())
    weight += 1
    bias[:] = 5
    assert torch.equal(layer.weight, before)
    packed.write_back()
    assert torch.equal(layer.weight, before + 1)
    assert layer.bias.tolist() == [5.0, 5.0]
    weight += 1
    assert torch.equal(layer.weight, before + 1)


def test_the_state_of_adam_goes_there_and_back():
    layer = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(layer.parameters())
    fresh = PackedParameters(layer.parameters(), optimizer)
    assert fresh.n_steps[0] == 0
    assert not fresh.first.any()
    fresh.write_back()
    assert not optimizer.state  # nothing was trained
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()
    packed = PackedParameters(layer.parameters(), optimizer)
    assert packed.n_steps[0] == 3
    moment = optimizer.state[layer.bias]["exp_avg_sq"].clone()
    np.testing.assert_array_equal(packed.views(packed.second)[1], moment.numpy())
    packed.n_steps[0] += 1
    packed.second *= 2
    packed.write_back()
    assert optimizer.state[layer.bias]["step"] == 4
    assert torch.equal(optimizer.state[layer.bias]["exp_avg_sq"], 2 * moment)
    layer(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()  # torch goes on from there
    assert optimizer.state[layer.weight]["step"] == 5


@pytest.mark.parametrize("options", [{"betas": (0.5, 0.9)}, {"weight_decay": 0.1}, {"eps": 1e-3}, {"amsgrad": True}])
def test_other_adams_are_refused(options):
    parameters = [nn.Parameter(torch.zeros(2))]
    check_adam(torch.optim.Adam(parameters, fused=True))
    with pytest.raises(ValueError, match="with its own betas and eps, got Adam"):
        check_adam(torch.optim.Adam(parameters, **options))
    with pytest.raises(ValueError, match="got AdamW"):
        check_adam(torch.optim.AdamW(parameters))
