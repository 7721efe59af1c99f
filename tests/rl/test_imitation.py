"""Imitation: the tree learns what the teacher does, in raw observations; VIPER is imitation by CART."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box
from sklearn.tree import DecisionTreeClassifier
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.vec_env import VecNormalize

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.rl import TreePolicy, evaluate, imitate, viper
from dtsemnet.rl.imitation import _advice
from rl.worlds import Echo, Sides, eight


def quadrants(X):
    """The right answers in ``Sides``."""
    return (X[:, 0] > 0) + 2 * (X[:, 1] > 0)


@pytest.fixture(scope="module")
def teacher():
    """An agent behind VecNormalize that knows its quadrants."""
    env = VecNormalize(eight(Sides))
    options = {"learning_rate": 0.02, "n_steps": 32, "batch_size": 64, "gamma": 0.0, "device": "cpu", "seed": 0}
    return PPO(TreePolicy, env, policy_kwargs={"max_depth": 3}, **options).learn(2048)


def test_the_tree_does_what_the_teacher_does(teacher):
    model = viper(teacher, Sides(), max_depth=4, n_rounds=2, n_steps=300, n_episodes=3)
    X = np.random.default_rng(0).uniform(-1, 1, (1000, 2)).astype(np.float32)
    taught = teacher.predict(teacher.get_vec_normalize_env().normalize_obs(X), deterministic=True)[0]
    assert (model.predict(X) == taught).mean() > 0.9
    assert (model.predict(X) == quadrants(X)).mean() > 0.8
    assert ((model.tree.weight != 0).sum(axis=1) == 1).all()


def reflex(X):
    """The right answers in ``Echo``."""
    return np.stack([np.abs(X[:, 0]), -X[:, 1]], axis=1)


def test_continuous_actions_are_fitted_by_squared_error():
    model = viper(reflex, Echo(), max_depth=6, n_rounds=2, n_steps=1000, n_episodes=3)
    X = np.random.default_rng(0).uniform(-1, 1, (1000, 2)).astype(np.float32)
    # 64 boxes, about eight a side: errors are uniform in an eighth of each range.
    assert np.square(model.predict(X) - reflex(X)).mean() < 0.02
    assert model.tree.depth == 6


def test_an_oblique_student_imitates_in_raw_units(teacher):
    student = DTSemNetClassifier(max_depth=2, random_state=0)
    model = imitate(teacher, Sides(), student, n_rounds=2, n_steps=300, n_episodes=3)
    X = np.random.default_rng(0).uniform(-1, 1, (1000, 2)).astype(np.float32)
    taught = teacher.predict(teacher.get_vec_normalize_env().normalize_obs(X), deterministic=True)[0]
    assert (model.predict(X) == taught).mean() > 0.9
    assert model.tree.depth == 2
    assert not hasattr(student, "tree_")


def test_linear_leaves_repeat_a_piecewise_linear_teacher():
    student = DTSemNetRegressor(max_depth=1, random_state=0)
    model = imitate(reflex, Echo(), student, n_rounds=2, n_steps=1000, n_episodes=3)
    X = np.random.default_rng(0).uniform(-1, 1, (1000, 2)).astype(np.float32)
    # One split at 0 would be exact; a hundredth of what 64 boxes of constants leave shows that it was nearly found.
    assert np.square(model.predict(X) - reflex(X)).mean() < 2e-4


def test_one_number_may_be_the_action():
    class Narrow(Echo):
        action_space = Box(-1.0, 1.0, (1,))

        def step(self, action):
            assert np.shape(action) == (1,)
            return super().step(np.append(action, 0.0))

    world = Narrow()

    def narrow(X):
        return 0.5 * X[:, :1]

    student = DTSemNetRegressor(max_depth=1, random_state=0)
    model = imitate(narrow, world, student, n_rounds=2, n_steps=200, n_episodes=1)
    x = np.array([[0.5, 0.1], [-0.25, 0.3]])
    np.testing.assert_allclose(np.ravel(model.predict(x)), 0.5 * x[:, 0], atol=1e-3)


def test_viper_is_imitation_by_cart(teacher):
    rounds = {"n_rounds": 2, "n_steps": 100, "n_episodes": 1, "seed": 5}
    cart = DecisionTreeClassifier(max_depth=3, random_state=5)
    assert viper(teacher, Sides(), max_depth=3, **rounds) == imitate(teacher, Sides(), cart, **rounds)


def test_every_round_is_told(teacher):
    told = []
    viper(teacher, Sides(), n_rounds=3, n_steps=50, n_episodes=1, watch=told.append)
    assert [(now.step, now.n_steps) for now in told] == [(50, 150), (100, 150), (150, 150)]
    assert [now.best for now in told] == list(np.maximum.accumulate([now.judged for now in told]))
    assert told[-1].left == 0


def test_same_seed_same_tree(teacher):
    first, second = (viper(teacher, Sides(), n_rounds=1, n_steps=100, n_episodes=1, seed=3) for _ in range(2))
    assert first == second


def test_a_choice_weighs_by_the_spread_of_its_values(teacher):
    q_agent = DQN("MlpPolicy", Sides(), buffer_size=100, device="cpu", seed=0)
    x = np.array([0.3, -0.2], np.float32)
    action, weight = _advice(q_agent, Sides(), True)(x)
    values = q_agent.q_net(q_agent.policy.obs_to_tensor(x)[0]).detach().numpy()[0]
    assert action == values.argmax()
    assert weight == pytest.approx(values.max() - values.min())


def test_errors_name_the_way_out(teacher):
    with pytest.raises(TypeError, match=r"PPO, A2C or DQN"):
        viper(SAC("MlpPolicy", Echo(), buffer_size=1, device="cpu"), Sides())
    grid = Echo()
    grid.action_space = Box(-1.0, 1.0, (2, 2))
    with pytest.raises(TypeError, match="Discrete actions or a Box of one axis"):
        viper(teacher, grid)
    with pytest.raises(ValueError, match="n_rounds, n_steps and n_episodes must be at least 1, got 0"):
        viper(teacher, Sides(), n_rounds=0)
    with pytest.raises(ValueError, match="max_depth must be at least 1, got 0"):
        viper(teacher, Sides(), max_depth=0)
    with pytest.raises(
        TypeError, match=r"student must be a classifier for Discrete actions, such as .*, got DTSemNetR"
    ):
        imitate(teacher, Sides(), DTSemNetRegressor())
    with pytest.raises(TypeError, match="student must be a regressor for a Box of actions"):
        imitate(reflex, Echo(), DTSemNetClassifier)


def test_a_function_and_a_tree_teach():
    student = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = imitate(quadrants, Sides(), student, n_rounds=2, n_steps=300, n_episodes=2)
    X = np.random.default_rng(0).uniform(-1, 1, (1000, 2)).astype(np.float32)
    assert (model.predict(X) == quadrants(X)).mean() > 0.95
    again = imitate(model, Sides(), student, n_rounds=2, n_steps=300, n_episodes=2)
    assert (again.predict(X) == model.predict(X)).mean() > 0.95
    assert np.mean(evaluate(again, Sides(), range(5))) > 9
    assert evaluate(quadrants, Sides(), range(3)) == [10.0] * 3
