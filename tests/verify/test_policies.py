"""Proofs about policies: the tree of an agent, raw observations, bounds of the environment."""

from __future__ import annotations

import numpy as np
import pytest

from dtsemnet.verify import Domain, largest_jump, monotone, never, output_bounds, reachable_leaves

gymnasium = pytest.importorskip("gymnasium", reason="only the extra rl has environments")
sb3 = pytest.importorskip("stable_baselines3", reason="only the extra rl has agents")


@pytest.fixture(scope="module")
def balancing():
    """A tree for CartPole behind normalised observations, as it begins, and its environment's bounds."""
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    from dtsemnet.rl import TreePolicy, policy_tree

    env = VecNormalize(DummyVecEnv([lambda: gymnasium.make("CartPole-v1")]), clip_obs=3.0)
    options = {"max_depth": 3, "net_arch": [8]}
    agent = sb3.PPO(TreePolicy, env, policy_kwargs=options, n_steps=64, batch_size=64, seed=0, device="cpu")
    agent.learn(64)
    names = ["position", "speed", "angle", "spin"]
    return agent, policy_tree(agent, feature_names=names), Domain.from_space(env.observation_space, limit=5.0)


def observations(lower: np.ndarray, upper: np.ndarray, n: int = 5000) -> np.ndarray:
    return np.random.default_rng(0).uniform(lower, upper, (n, len(lower)))


@pytest.mark.parametrize("falling", [{}, {"angle": (0.1, 0.4), "spin": (0.5, 2.0), "position": (0.0, 0.5)}])
def test_actions_that_never_come_are_never_seen(balancing, falling):
    _, policy, domain = balancing
    ends = [falling.get(column.name, (-5.0, 5.0)) for column in policy.encoder.columns]
    lower, upper = (np.clip(end, domain.lower, domain.upper) for end in np.transpose(ends))
    seen = set(policy.predict(observations(lower, upper)).tolist())
    for action in policy.class_names:
        answer = never(policy, domain.narrow(falling), action)
        assert answer.status in ("yes", "no")
        if answer.status == "no":
            assert policy.predict(answer.witness[None])[0] == action
            assert ((lower <= answer.witness) & (answer.witness <= upper)).all()
        else:
            assert action not in seen
            assert all(proof.check() for proof in answer.proofs)


def test_witness_is_an_observation_that_the_agent_answers_so(balancing):
    agent, policy, domain = balancing
    found = reachable_leaves(policy, domain)
    assert found.reachable
    for leaf in found.reachable:
        witness = found.verdicts[leaf].witness
        action, _ = agent.predict(agent.get_vec_normalize_env().normalize_obs(witness), deterministic=True)
        assert policy.predict(witness[None])[0] == int(action)


def test_an_action_that_more_of_an_observation_makes_likelier(balancing):
    _, policy, domain = balancing
    X = observations(domain.lower, domain.upper)
    for feature in range(4):
        raised = X.copy()
        raised[:, feature] = domain.upper[feature]
        falls = (policy.predict_proba(raised)[:, 1] < policy.predict_proba(X)[:, 1]).any()
        found = monotone(policy, feature, domain, output=policy.class_names[1])
        assert not (falls and found)
        if found.status == "no":
            before, after = policy.predict_proba(np.stack([found.low, found.high]))[:, 1]
            assert after < before


def test_continuous_actions_stay_within_their_bounds():
    from dtsemnet.rl import TopKSAC, TreeSACPolicy, policy_tree

    agent = TopKSAC(TreeSACPolicy, "Pendulum-v1", policy_kwargs={"max_depth": 2, "net_arch": [8]}, seed=0, device="cpu")
    policy, domain = policy_tree(agent), Domain.from_space(agent.observation_space)
    (torque,) = output_bounds(policy, domain)
    answers = policy.predict(observations(domain.lower, domain.upper))
    assert -2.0 - 1e-9 <= torque.minimum.certified <= answers.min()
    assert answers.max() <= torque.maximum.certified <= 2.0 + 1e-9
    jump = largest_jump(policy, domain)
    assert jump.lower <= jump.upper <= jump.lower * (1 + 1e-6) + 1e-9
