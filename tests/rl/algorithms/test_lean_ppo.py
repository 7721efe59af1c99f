"""LeanPPO: what stable-baselines3 and autograd compute, in other words."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.envs import SimpleMultiObsEnv
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import nn

from dtsemnet.rl import AnnealPooling, LeanPPO, TreePolicy
from rl.worlds import Echo, Sides, eight

OPTIONS = {
    "usual": {},
    "entropy": {"ent_coef": 0.1, "vf_coef": 0.2},
    "value clipped": {"clip_range_vf": 0.05},
    "raw advantages": {"normalize_advantage": False, "max_grad_norm": 0.1},
    "stopped early": {"target_kl": 0.0003, "learning_rate": 0.02},
    "ragged batches": {"batch_size": 24, "clip_range": 0.05},
}


def agent(kind=LeanPPO, policy=TreePolicy, **kwargs):
    """Build a small agent."""
    options = {"n_steps": 8, "batch_size": 16, "n_epochs": 3, "seed": 0, "device": "cpu", "learning_rate": 0.01}
    own = {"net_arch": [8, 6]} | kwargs.pop("policy_kwargs", {})
    return kind(policy, eight(Sides), policy_kwargs=own, **options | kwargs)


def assert_same(lean, plain):
    for (name, found), expected in zip(lean.policy.named_parameters(), plain.policy.parameters()):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5, msg=lambda told, name=name: f"{name}: {told}")


def check_updates(policy, options):
    """From the same seed, three rollouts and updates end at the same weights, and took as many epochs."""
    before = agent(policy=policy, **OPTIONS[options])
    lean, plain = (agent(kind, policy, **OPTIONS[options]).learn(3 * 64) for kind in (LeanPPO, PPO))
    assert_same(lean, plain)
    assert all(not torch.equal(old, new) for old, new in zip(before.policy.parameters(), lean.policy.parameters()))
    assert lean._n_updates == plain._n_updates
    assert (lean._n_updates < 9) == (options == "stopped early")


@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")
@pytest.mark.parametrize("policy", [TreePolicy, "MlpPolicy"], ids=["tree", "mlp"])
@pytest.mark.parametrize("options", OPTIONS)
def test_updates_are_those_of_ppo(policy, options):
    check_updates(policy, options)


def test_annealed_pooling_is_trained_alike():
    lean, plain = (
        agent(kind, policy_kwargs={"pooling": 1.0}).learn(3 * 64, callback=AnnealPooling()) for kind in (LeanPPO, PPO)
    )
    assert_same(lean, plain)


def test_extractors_of_their_own_change_nothing():
    apart = agent(policy_kwargs={"share_features_extractor": False}).learn(64)
    assert_same(apart, agent().learn(64))


def test_networks_that_read_images_are_refused():
    env = SimpleMultiObsEnv(channel_last=False, discrete_actions=True)
    with pytest.raises(ValueError, match=r"must have no weights.*CombinedExtractor"):
        LeanPPO("MultiInputPolicy", env, n_steps=8, batch_size=8, device="cpu")


def test_the_log_is_that_of_ppo():
    told = []
    for kind in (LeanPPO, PPO):
        made = agent(kind)
        made.set_logger(Logger(None, []))
        made.learn(64, log_interval=100)
        told.append({name: value for name, value in made.logger.name_to_value.items() if name.startswith("train/")})
    lean, plain = told
    del plain["train/loss"]  # of the last batch alone
    assert set(lean) == set(plain)
    for name, value in plain.items():
        assert lean[name] == pytest.approx(value, rel=1e-3, abs=1e-5), name


def test_save_and_load(tmp_path):
    made = agent().learn(64)
    made.save(tmp_path / "agent")
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32)
    for kind in (LeanPPO, PPO):
        again = kind.load(tmp_path / "agent", env=eight(Sides), device="cpu")
        np.testing.assert_array_equal(again.predict(X, deterministic=True)[0], made.predict(X, deterministic=True)[0])
        again.learn(64)


def test_what_cannot_be_differentiated_is_refused():
    with pytest.raises(ValueError, match=r"activation_fn must be nn\.ReLU or nn\.Tanh"):
        agent(policy_kwargs={"activation_fn": nn.ELU})
    with pytest.raises(ValueError, match=r"env must have Discrete actions.*stable_baselines3\.PPO"):
        LeanPPO("MlpPolicy", Echo(), n_steps=8, batch_size=8, device="cpu")

    class Weighted(FlattenExtractor):
        def __init__(self, space):
            super().__init__(space)
            self.scale = nn.Parameter(torch.ones(()))

    with pytest.raises(ValueError, match=r"features_extractor_class must have no weights.*Weighted"):
        agent(policy_kwargs={"features_extractor_class": Weighted})
