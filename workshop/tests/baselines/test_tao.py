"""TAO: alternating optimisation, and the problems that its splits solve."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet.fit.data import Sample
from dtsemnet.training import Rows
from dtsemnet_paper.baselines import TAOClassifier, TAORegressor
from dtsemnet_paper.baselines.common import cut_idle_splits
from dtsemnet_paper.baselines.kernels.tao_splits import best_threshold, sparse_logistic
from dtsemnet_paper.baselines.tao.alternation import Alternation, AxisAligned, Oblique, reach
from dtsemnet_paper.baselines.tao.leaves import ClassLeaves, LinearLeaves
from dtsemnet_paper.baselines.tao.search import Start
from strategies import points, trees

FAST = {"penalties": (0.3, 3.0), "n_init": 1, "max_iter": 5}


@parametrize_with_checks([TAOClassifier(max_depth=3, **FAST), TAORegressor(max_depth=3, **FAST)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@given(seed=st.integers(0, 10**6), penalty=st.sampled_from([0.1, 1.0, 5.0]))
@settings(max_examples=30)
def test_sparse_logistic_is_at_a_minimum(seed, penalty):
    """The slope of the loss is balanced by the penalty where a weight is not zero, and below it where it is."""
    rng = np.random.default_rng(seed)
    X, side = rng.normal(size=(60, 5)), np.where(rng.random(60) < 0.5, 1.0, -1.0)
    weight = rng.random(60) + 0.1
    found = sparse_logistic(X, side, weight, penalty, np.zeros(6), 200, 1e-7)
    pull = -weight * side / (1 + np.exp(side * (X @ found[:-1] + found[-1])))
    slope = pull @ X
    on = found[:-1] != 0
    assert_allclose(slope[on], -penalty * np.sign(found[:-1][on]), atol=1e-3)
    assert (np.abs(slope[~on]) <= penalty + 1e-3).all()
    assert abs(pull.sum()) < 1e-3


def test_sparse_logistic_agrees_with_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.ascontiguousarray(X[:, 4:10])  # few columns: the peer is slow
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    side = np.where(y == 1, 1.0, -1.0)

    def objective(w):
        return np.log1p(np.exp(-side * (X @ w[:-1] + w[-1]))).sum() + 2.0 * np.abs(w[:-1]).sum()

    peer = LogisticRegression(l1_ratio=1.0, C=0.5, solver="saga", max_iter=20000, tol=1e-6).fit(X, y)
    ours = sparse_logistic(X, side, np.ones(len(X)), 2.0, np.zeros(7), 100, 1e-5)
    assert objective(ours) <= objective(np.append(peer.coef_[0], peer.intercept_)) * (1 + 1e-4)


@given(seed=st.integers(0, 10**6))
def test_best_threshold_loses_least(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (20, 3)).astype(float)
    side, weight = np.where(rng.random(20) < 0.5, 1.0, -1.0), rng.integers(1, 5, 20).astype(float)
    feature, threshold, sign, loss = best_threshold(X, side, weight)
    right = sign * (X[:, feature] - threshold) > 0 if feature >= 0 else np.full(20, sign > 0)
    assert_allclose(weight[right != (side > 0)].sum(), loss)
    for j in range(3):
        for cut in (-1, 0, 1, 2, 3, 4):
            for flip in (1, -1):
                assert loss <= weight[(flip * (X[:, j] - cut - 0.5) > 0) != (side > 0)].sum() + 1e-9


def problem(seed, depth, leaves="class"):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(150, 4)), rng.integers(1, 3, 150).astype(float)
    if leaves == "class":
        y = (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] > 0.5)
        return X, weight, y, ClassLeaves(y, weight, 2**depth, 4)
    y = np.abs(X[:, :1]) + 0.1 * rng.normal(size=(150, 1))
    return X, weight, y, LinearLeaves(X, y, weight, 2**depth, linear=leaves == "linear", ridge=1e-6)


@pytest.mark.parametrize("leaves", ["class", "constant"])
@pytest.mark.parametrize("solve", [Oblique(0.5), AxisAligned()])
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4), init=st.sampled_from(["cart", "random"]))
@settings(max_examples=10, deadline=None)
def test_monotone_passes_never_raise_the_loss(leaves, solve, seed, depth, init):
    X, weight, y, held = problem(seed, depth, leaves)
    splits = Start(init, solve, seed).splits(Rows(X, y, weight), depth)
    tree = Alternation(X, weight, splits, held, solve, monotone=True)
    losses = [tree.loss()]
    for _ in range(4):
        tree.sweep()
        losses.append(tree.loss())
    # Constants are not clipped by their own rows, and classes are majorities: no step of either kind can lose.
    assert (np.diff(losses) <= 1e-9).all()


@given(seed=st.integers(0, 10**6), depth=st.integers(0, 4))
@settings(max_examples=10, deadline=None)
def test_rows_reach_the_leaves_that_the_alternation_says(seed, depth):
    X, weight, y, held = problem(seed, depth)
    splits = Start("random", Oblique(0.5), seed).splits(Rows(X, y, weight), depth)
    tree = Alternation(X, weight, splits, held, Oblique(0.5))
    tree.sweep()
    assert_array_equal(tree.leaf, reach(X, tree.splits))


def test_random_splits_halve_the_rows():
    X = np.random.default_rng(0).normal(size=(256, 3))
    splits = Start("random", Oblique(1.0), 0).splits(Rows(X, np.zeros(256, int), np.ones(256)), 4)
    assert_array_equal(np.bincount(reach(X, splits)), 16)


def test_a_dead_branch_comes_to_life():
    """From a tree that sends all rows one way, exclusive or is found."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
    held = ClassLeaves(y, np.ones(400), 4, 4)
    tree = Alternation(X, np.ones(400), np.zeros((3, 3)), held, Oblique(0.1))
    for _ in range(10):
        tree.sweep()
    assert tree.loss() < 0.05


@given(tree=trees(kind="class", n_features=3), X=points(3))
def test_cutting_idle_splits_keeps_the_classes(tree, X):
    assume(len(X) > 0)
    cut = cut_idle_splits(tree, Sample(X, np.arange(len(X)), np.zeros(len(X), int), np.ones(len(X))))
    assert_array_equal(cut.predict(X), tree.predict(X))
    for left, right in cut.topology.children:
        assert left >= 0 or right >= 0 or cut.leaf_class[~left] != cut.leaf_class[~right]


def test_the_number_of_jobs_does_not_matter():
    X, y = load_iris(return_X_y=True)
    alone = TAOClassifier(3, **FAST, random_state=0).fit(X, y)
    assert alone.tree_ == TAOClassifier(3, **FAST, n_jobs=2, random_state=0).fit(X, y).tree_


def test_a_larger_penalty_gives_a_sparser_tree():
    X, y = load_breast_cancer(return_X_y=True)
    share = [
        np.mean(TAOClassifier(2, penalties=(p,), init="cart", random_state=0).fit(X, y).tree_.weight != 0)
        for p in (0.1, 30.0)
    ]
    assert share[1] < share[0] / 2


def test_axis_aligned_splits_read_one_feature():
    X, y = load_iris(return_X_y=True)
    tree = TAOClassifier(3, split="axis_aligned", random_state=0).fit(X, y).tree_
    assert_array_equal(np.abs(tree.weight).sum(axis=1), 1)


def test_a_piecewise_linear_target_is_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(800, 3))
    y = np.abs(X[:, 0] - X[:, 1]) + X[:, 2]
    found = TAORegressor(1, ridge=0.01, random_state=0).fit(X[:600], y[:600])
    assert found.score(X[600:], y[600:]) > 0.99


def test_constant_leaves_have_no_linear_model():
    X, y = load_diabetes(return_X_y=True)
    tree = TAORegressor(2, leaf="constant", **FAST, random_state=0).fit(X, y).tree_
    assert tree.coef is None
    assert tree.n_leaves > 1


@pytest.mark.parametrize(
    "parameters",
    [{"split": "curved"}, {"init": "kmeans"}, {"penalties": ()}, {"penalties": (0.0,)}, {"n_init": 0}, {"max_iter": 0}],
)
def test_illegal_parameters_are_named(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        TAOClassifier(**parameters).fit(*load_iris(return_X_y=True))


def test_a_tree_that_would_not_fit_into_memory_is_refused():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    with pytest.raises(ValueError, match="lower max_depth"):
        TAOClassifier(20).fit(X, X[:, 0] > 0)
