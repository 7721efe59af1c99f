"""TopKSAC: each phase moves what it should and nothing else; acting takes one leaf."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.distributions import SquashedDiagGaussianDistribution
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.utils import polyak_update
from torch import nn

from dtsemnet.nn import Hardmax, LinearSplits, StraightThrough, TopK
from dtsemnet.rl import LeanSAC, TopKSAC, TreeSACPolicy
from dtsemnet.rl.algorithms.lean_sac import CriticArrays
from dtsemnet.rl.algorithms.topk_sac import TopKUpdate
from dtsemnet.rl.policies.sac import _squash, draw_squashed
from rl.worlds import Echo, Sides

LEAVES = {"tree.head.value", "tree.head.coef", "leaf_log_std"}


def agent(kind=TopKSAC, selector=None, seed=0, activation=nn.ReLU, n_critics=2, **kwargs):
    """Build a small agent."""
    policy_kwargs = {"max_depth": 2, "net_arch": [32, 32], "selector": selector, "activation_fn": activation}
    policy_kwargs |= {"n_critics": n_critics}
    options = {
        "learning_starts": 100,
        "train_freq": 64,
        "gradient_steps": 8,
        "buffer_size": 5000,
        "batch_size": 64,
        "gamma": 0.0,
        "device": "cpu",
    } | kwargs
    return kind(TreeSACPolicy, Echo(), policy_kwargs=policy_kwargs, seed=seed, **options)


def state(tree_agent):
    """Copy all that training can move."""
    parts = {"actor": tree_agent.actor, "critic": tree_agent.critic, "target": tree_agent.critic_target}
    found = {f"{part}.{name}": value.clone() for part, net in parts.items() for name, value in net.named_parameters()}
    return found | {"entropy": torch.tensor(CriticArrays(tree_agent).entropy_weight)}


def moved(before, after):
    """Name what differs."""
    return {name for name in before if not torch.equal(before[name], after[name])}


@pytest.fixture
def filled():
    return agent().learn(200)


class ByAutograd(LeanSAC):
    """The three phases as the paper tells them, by torch."""

    def train(self, gradient_steps, batch_size=64):
        self.policy.set_training_mode(True)
        self._update_learning_rate(self._optimizers())
        drawn = self._draw(gradient_steps * batch_size)
        discounts = torch.full_like(drawn.rewards, self.gamma) if drawn.discounts is None else drawn.discounts
        parts = (torch.split(whole, batch_size) for whole in (*drawn[:5], discounts))
        for number, rows in enumerate(zip(*parts)):
            self.sac_step(*rows)
            if number % self.target_update_interval == 0:
                polyak_update(self.critic.parameters(), self.critic_target.parameters(), self.tau)
        for group in self.actor.optimizer.param_groups:
            group["lr"] = 1e-4
        for n_steps, n_choices in ((gradient_steps, 2), (gradient_steps // 2, 1)):
            for rows in torch.split(self._draw(n_steps * batch_size).observations, batch_size):
                leaf = self.actor.tree.leaf_logits(rows).argsort(dim=1, descending=True, stable=True)[:, :n_choices]
                seen = rows.repeat(n_choices, 1)
                leaf = leaf.T.flatten()
                actions, log_prob = draw_squashed(
                    self.actor.head.at(leaf, seen), _squash(self.actor.leaf_log_std[leaf])
                )
                least = torch.cat(self.critic(seen, actions), dim=1).min(dim=1).values
                self.actor.optimizer.zero_grad()
                (CriticArrays(self).entropy_weight * log_prob - least).mean().backward()
                self.actor.optimizer.step()
        self.policy.set_training_mode(False)

    def sac_step(self, x, taken, later, dones, rewards, discounts):
        n, (actions, log_prob) = len(x), self.actor.action_log_prob(torch.cat([x, later]))
        weight = CriticArrays(self).entropy_weight
        if self.ent_coef_optimizer is not None:
            away = log_prob[:n].detach().mean() + self.target_entropy
            self.descend(self.ent_coef_optimizer, -(self.log_ent_coef * away).mean())
        with torch.no_grad():
            least = torch.cat(self.critic_target(later, actions[n:]), dim=1).min(dim=1).values
            goal = rewards + (1 - dones) * discounts * (least - weight * log_prob[n:]).unsqueeze(1)
        self.descend(self.critic.optimizer, sum(((value - goal) ** 2).mean() / 2 for value in self.critic(x, taken)))
        least = torch.cat(self.critic(x, actions[:n]), dim=1).min(dim=1).values
        self.descend(self.actor.optimizer, (weight * log_prob[:n] - least).mean())

    def descend(self, optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ent_coef": 0.3},
        {"target_update_interval": 2, "gamma": 0.9},
        {"n_steps": 3, "gamma": 0.9},
        {"selector": TopK(1)},
        {"selector": TopK(9, temperature=0.1), "activation": nn.Tanh},
        pytest.param({"n_critics": 1}, marks=pytest.mark.slow),  # kernels of their own to compile
    ],
    ids=str,
)
def test_an_update_is_the_three_phases(options, monkeypatch):
    """Two updates on the same rows and noise end where autograd ends, moments and steps of Adam included."""
    monkeypatch.setattr(torch, "randn", lambda *shape: torch.full(shape, 0.7))
    monkeypatch.setattr(torch, "randn_like", lambda like: torch.full_like(like, 0.7))
    made = [agent(kind, learning_rate=1e-3, tau=0.01, **options).learn(64) for kind in (TopKSAC, ByAutograd)]
    for one in made:
        np.random.seed(7)
        for _ in range(2):
            one.train(6, 16)
    mine, torchs = (state(one) for one in made)
    for name, value in torchs.items():
        torch.testing.assert_close(
            mine[name], value, rtol=1e-3, atol=1e-5, msg=lambda told, name=name: f"{name}: {told}"
        )
    for part in ("actor", "critic"):
        states = [getattr(one, part).optimizer.state_dict()["state"] for one in made]
        for number in states[1]:
            for name in ("step", "exp_avg", "exp_avg_sq"):
                torch.testing.assert_close(states[0][number][name], states[1][number][name], rtol=1e-2, atol=1e-5)


@pytest.mark.parametrize("n_choices", [1, 2])
def test_leaf_phases_move_the_leaves_alone(filled, n_choices):
    before, update = state(filled), TopKUpdate(filled, 64)
    update.leaf_phase(5, n_choices)
    update.write_back()
    assert moved(before, state(filled)) == {f"actor.{name}" for name in LEAVES}


def test_an_update_moves_everything_and_runs_the_three_phases(filled, monkeypatch):
    before, phases, inner = state(filled), [], TopKUpdate.leaf_phase

    def spy(update, n_steps, n_choices):
        phases.append((n_steps, n_choices, filled.actor.optimizer.param_groups[0]["lr"]))
        return inner(update, n_steps, n_choices)

    monkeypatch.setattr(TopKUpdate, "leaf_phase", spy)
    filled.train(32, 64)
    assert phases == [(32, 2, 1e-4), (16, 1, 1e-4)]
    assert moved(before, state(filled)) == set(before)
    assert all(parameter.requires_grad for parameter in filled.critic.parameters())
    assert not filled.actor.training


def test_learning_rates_by_phase():
    tree_agent = agent(actor_learning_rate=2e-3, leaf_learning_rate=lambda remaining: 1e-4 * (1 + remaining)).learn(100)
    optimizers = [tree_agent.actor.optimizer, tree_agent.critic.optimizer]
    tree_agent._update_learning_rate(optimizers)
    assert [optimizer.param_groups[0]["lr"] for optimizer in optimizers] == [2e-3, 1e-3]
    # The last update comes after 128 of 100 steps: the schedule has ended, and must not run below its end.
    tree_agent.learn(100)
    assert tree_agent.actor.optimizer.param_groups[0]["lr"] == 1e-4


def test_draws_are_normal_and_squashed():
    mean, log_std = torch.tensor([[0.3, -0.8]]).double(), torch.tensor([[-1.0, -0.2]]).double()
    torch.manual_seed(0)
    actions, log_prob = draw_squashed(mean.repeat(20_000, 1), log_std.repeat(20_000, 1))
    draws = (actions.atanh() - mean) / log_std.exp()
    assert draws.mean(dim=0).abs().max() < 0.03
    assert (draws.std(dim=0) - 1).abs().max() < 0.03
    # stable-baselines3 inverts the tanh itself.
    other = SquashedDiagGaussianDistribution(2).proba_distribution(mean, log_std)
    torch.testing.assert_close(log_prob, other.log_prob(actions), rtol=1e-5, atol=1e-5)


def test_gradients_pass_through_draw_and_density():
    mean, log_std = torch.zeros(1, 1, dtype=torch.float64), torch.full((1, 1), -1.0, dtype=torch.float64)

    def draw(mean, log_std):
        torch.manual_seed(1)
        return draw_squashed(mean, log_std)

    assert torch.autograd.gradcheck(draw, (mean.requires_grad_(), log_std.requires_grad_()))


def test_acting_takes_one_leaf_and_training_four(filled):
    x = torch.randn(30, 2)
    filled.actor.set_training_mode(False)
    mean, log_std, _ = filled.actor.get_action_dist_params(x)
    torch.testing.assert_close(mean, filled.actor.tree.predict(x))
    assert ((log_std > -5) & (log_std < 2)).all()
    filled.actor.set_training_mode(True)
    mixed, _, _ = filled.actor.get_action_dist_params(x)
    assert (mixed - mean).abs().max() > 1e-3
    # SB3 acts in eval mode: what collects samples is Top-1.
    filled.learn(8, reset_num_timesteps=False)
    assert not filled.actor.training


@pytest.mark.parametrize(("kind", "selector"), [(TopKSAC, TopK(2)), (SAC, StraightThrough())])
def test_agents_learn(kind, selector):
    rates = {"learning_rate": 1e-2, "train_freq": 64, "gradient_steps": 32}
    own = {"leaf_learning_rate": 5e-3} if kind is TopKSAC else {}
    tree_agent = agent(kind, selector, **rates, **own)
    env = Monitor(Echo())
    env.reset(seed=1)
    before = evaluate_policy(tree_agent, env, 10)[0]
    tree_agent.learn(448)
    env.reset(seed=1)
    after = evaluate_policy(tree_agent, env, 10)[0]
    # Ten draws of |x| lose 10/12 to the best action that is linear in x; what has not learnt loses twenty times that.
    assert before < -15
    assert after > -1.5 * 10 / 12


def test_save_and_load_keep_policy_and_phases(tmp_path):
    tree_agent = agent(selector=TopK(3, 0.25), leaf_learning_rate=3e-4).learn(200)
    tree_agent.save(tmp_path / "agent")
    again = TopKSAC.load(tmp_path / "agent", env=Echo(), device="cpu")
    assert again.leaf_learning_rate == 3e-4
    assert (again.actor.tree.selector.k, again.actor.tree.selector.temperature) == (3, 0.25)
    X = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    np.testing.assert_array_equal(again.predict(X, deterministic=True)[0], tree_agent.predict(X, deterministic=True)[0])
    again.learn(200)
    tree_agent.policy.save(tmp_path / "policy")
    alone = TreeSACPolicy.load(tmp_path / "policy", device="cpu")
    np.testing.assert_array_equal(alone.predict(X, deterministic=True)[0], tree_agent.predict(X, deterministic=True)[0])


def test_errors_name_the_way_out():
    with pytest.raises(TypeError, match=r"needs TopK.*got Hardmax.*take LeanSAC"):
        agent(selector=Hardmax())

    class OtherSplits(LinearSplits):
        pass

    with pytest.raises(TypeError, match="LinearSplits and LinearLeaves, got TopK, OtherSplits"):
        TopKSAC(TreeSACPolicy, Echo(), policy_kwargs={"splits": OtherSplits}, buffer_size=100, device="cpu")
    for option in ({"optimizer_class": torch.optim.SGD}, {"optimizer_kwargs": {"eps": 1e-4}}):
        with pytest.raises(ValueError, match=r"optimizer_class must be torch\.optim.Adam.*take stable_baselines3"):
            TopKSAC(TreeSACPolicy, Echo(), policy_kwargs=option, buffer_size=100, device="cpu")
    with pytest.raises(TypeError, match="TopKSAC needs TreeSACPolicy"):
        TopKSAC("MlpPolicy", Echo(), device="cpu", buffer_size=100)
    with pytest.raises(ValueError, match="max_depth"):
        TopKSAC(TreeSACPolicy, Echo(), policy_kwargs={"max_depth": 0}, buffer_size=100)
    with pytest.raises(ValueError, match="critics alone"):
        TopKSAC(TreeSACPolicy, Echo(), policy_kwargs={"net_arch": {"pi": [4], "qf": [4]}}, buffer_size=100)
    with pytest.raises(ValueError, match="use_sde"):
        TopKSAC(TreeSACPolicy, Echo(), use_sde=True, buffer_size=100)
    with pytest.raises(AssertionError, match="Box"):
        TopKSAC(TreeSACPolicy, Sides(), buffer_size=100)
