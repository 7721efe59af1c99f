"""TopKSAC: each phase moves what it should and nothing else; acting takes one leaf."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from stable_baselines3 import SAC
from stable_baselines3.common.distributions import SquashedDiagGaussianDistribution
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from dtsemnet.nn import Hardmax, StraightThrough, TopK
from dtsemnet.rl import TopKSAC, TreeSACPolicy
from dtsemnet.rl.continuous import draw_squashed, two_best
from rl.worlds import Echo, Sides
from strategies import eighths

LEAVES = {"tree.head.value", "tree.head.coef", "leaf_log_std"}


def agent(kind=TopKSAC, selector=None, seed=0, **kwargs):
    """Build a small agent."""
    policy_kwargs = {"max_depth": 2, "net_arch": [32, 32], "selector": selector}
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
    return found | {"entropy": tree_agent.log_ent_coef.detach().clone()}


def moved(before, after):
    """Name what differs."""
    return {name for name in before if not torch.equal(before[name], after[name])}


@pytest.fixture
def filled():
    return agent().learn(200)


@pytest.mark.parametrize("augmented", [True, False])
def test_actor_phases_move_the_leaves_alone(filled, augmented):
    before = state(filled)
    filled.actor.set_training_mode(augmented)
    filled._train_actor(5, 64, filled.actor.two_leaves_log_prob if augmented else filled.actor.action_log_prob)
    assert moved(before, state(filled)) == {f"actor.{name}" for name in LEAVES}


def test_an_update_moves_everything_and_runs_the_three_phases(filled, monkeypatch):
    before = state(filled)
    phases = []
    inner = filled._train_actor

    def spy(n_steps, batch_size, draw):
        phases.append((n_steps, draw.__name__, filled.actor.training, filled.actor.optimizer.param_groups[0]["lr"]))
        return inner(n_steps, batch_size, draw)

    monkeypatch.setattr(filled, "_train_actor", spy)
    filled.train(32, 64)
    assert phases == [(32, "two_leaves_log_prob", True, 1e-4), (16, "action_log_prob", False, 1e-4)]
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


@given(logits=eighths((6, 5)))
def test_two_best_leaves_are_the_lowest_among_equals(logits):
    expected = np.argsort(-logits, axis=1, kind="stable")[:, :2]
    np.testing.assert_array_equal(two_best(torch.from_numpy(logits)).numpy(), expected)


def test_two_leaves_draw_from_the_reached_and_the_second(filled):
    with torch.no_grad():
        filled.actor.leaf_log_std.fill_(-20.0)  # squashed to exp(-5): the draws are the means, nearly
    x = torch.randn(40, 2)
    actions, log_prob = filled.actor.two_leaves_log_prob(x)
    assert actions.shape == (80, 2)
    assert log_prob.shape == (80,)
    leaf = two_best(filled.actor.tree.leaf_logits(x)).T.flatten()
    mean = filled.actor.head.at(leaf, x.repeat(2, 1)).tanh()
    assert (actions - mean).abs().max() < 0.05
    assert (actions[:40] - mean[40:]).abs().max() > 0.05


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
    with pytest.raises(TypeError, match=r"stable_baselines3\.SAC"):
        agent(selector=Hardmax())
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
