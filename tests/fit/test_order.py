"""Leaves put in order: the nearest constants, thresholds for linear models, and every way to fit ends in a proof."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, minimize
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.fit.order import isotonic, signed_ridge, thresholds
from dtsemnet.tree import Topology
from dtsemnet.tree.order import is_ordered, keeps_order
from strategies import eighths, topologies


@st.composite
def orders(draw):
    topology = draw(topologies(max_splits=6))
    sides = st.lists(st.sampled_from([-1, 0, 1]), min_size=topology.n_splits, max_size=topology.n_splits)
    return topology, draw(sides.map(lambda side: np.array(side, dtype=np.int64)))


def in_order(topology, side, lower, upper):
    return bool(is_ordered(topology, lower, upper, side)[side != 0].all())


@given(orders(), st.data())
def test_the_nearest_constants_in_order(order, data):
    topology, side = order
    value = data.draw(eighths(topology.n_leaves))
    weight = np.abs(data.draw(eighths(topology.n_leaves))) + 0.125
    found = isotonic(topology, side, value, weight)
    assert in_order(topology, side, found, found)
    pairs = np.array(list(pairs_in_order(topology, side))).reshape(-1, topology.n_leaves)
    if not len(pairs):
        assert_array_equal(found, value)
        return
    begin = np.full(len(value), np.average(value, weights=weight))
    best = minimize(
        lambda v: weight @ np.square(v - value), begin, jac=lambda v: 2 * weight * (v - value), method="SLSQP",
        constraints={"type": "ineq", "fun": lambda v: pairs @ v, "jac": lambda v: pairs},
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert weight @ np.square(found - value) <= best.fun + 1e-6


def pairs_in_order(topology, side):
    """For each pair of leaves in order a row whose product with the values must not be negative."""
    paths = topology.paths
    for a, b in itertools.combinations(range(topology.n_leaves), 2):
        depth = int(np.argmax((paths.split[a] != paths.split[b]) | (paths.side[a] != paths.side[b])))
        sign = side[paths.split[a, depth]]
        if sign:
            row = np.zeros(topology.n_leaves)
            row[a], row[b] = -sign, sign
            yield row


@given(orders(), st.data())
def test_thresholds_put_clipped_answers_in_order_and_leave_those_in_order_alone(order, data):
    topology, side = order
    leaf = np.array(data.draw(st.lists(st.integers(0, topology.n_leaves - 1), min_size=1, max_size=12)))
    answer = data.draw(eighths(len(leaf)))
    lower, upper = thresholds(topology, side, leaf, answer, np.ones(len(leaf)))
    assert (lower <= upper).all()
    guard = np.full(topology.n_leaves, -5.0), np.full(topology.n_leaves, 5.0)
    ends = [np.clip(end, lower, upper) for end in guard]
    assert in_order(topology, side, *ends)
    again = thresholds(topology, side, leaf, np.clip(answer, lower[leaf], upper[leaf]), np.ones(len(leaf)))
    changed = np.clip(answer, lower[leaf], upper[leaf])
    assert_allclose(np.clip(changed, again[0][leaf], again[1][leaf]), changed, atol=1e-12)


def test_a_threshold_moves_answers_least():
    rng = np.random.default_rng(0)
    leaf, answer, weight = rng.integers(0, 2, 200), rng.standard_normal(200), rng.random(200)
    _, upper = thresholds(Topology.complete(1), np.array([1]), leaf, answer, weight)

    def change(bound):
        moved = np.where(leaf == 0, np.minimum(answer, bound), np.maximum(answer, bound))
        return weight @ np.square(moved - answer)

    assert change(upper[0]) <= min(change(bound) for bound in np.linspace(-3, 3, 2001)) + 1e-9


@given(st.integers(0, 2**32))
def test_ridge_models_with_signs_have_them_and_are_near_the_best(seed):
    rng = np.random.default_rng(seed)
    design, y = rng.standard_normal((30, 5)), rng.standard_normal((30, 1))
    direction = rng.integers(-1, 2, 4)
    gram, moment = design.T @ design + 0.1 * np.eye(5), design.T @ y
    model = signed_ridge(gram, moment, direction)
    assert (direction[:, None] * model[:-1] >= 0).all()
    low, high = (np.append(np.where(direction == d, 0.0, e), e) for d, e in ((1, -np.inf), (-1, np.inf)))
    root = np.linalg.cholesky(gram)
    best = lsq_linear(root.T, np.linalg.solve(root, moment[:, 0]), (np.minimum(low, high - 1e-30), high)).x

    def loss(m):
        return m @ gram @ m - 2 * m @ moment[:, 0]

    assert loss(model[:, 0]) <= 0.8 * loss(best) + 1e-9, "the loss without a model is 0"


CANCER, DIABETES = (load(return_X_y=True) for load in (load_breast_cancer, load_diabetes))
X, Y = CANCER[0][:200, :6], CANCER[1][:200]
FALLING = np.array([-1, 0, -1, 0, -1, -1])
NUMBERS = DIABETES[0][:200, :6], DIABETES[1][:200]
RISING = np.array([0, -1, 1, 1, 0, 0])
CLASSES = {
    "default": {},
    "leaf": {"probability": "leaf"},
    "small": {"effort": 0},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 2},
    "no refit": {"effort": 0, "refit": False},
    "paper": {"training": "paper"},
    "init": {"init": DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)},
    "sparse": {"max_split_features": 2},
    "pruned": {"max_leaf_nodes": 3},
}


def rows_that_rise(X, direction, seed=0):
    """Rows of a table, and the same with one directed column changed so that answers must not fall."""
    rng = np.random.default_rng(seed)
    low = X[rng.integers(0, len(X), 400)]
    high, column = low.copy(), rng.choice(np.flatnonzero(direction), 400)
    step = np.abs(rng.standard_normal(400)) * X.std(axis=0)[column]
    high[np.arange(400), column] += step * direction[column]
    return low, high


def assert_in_order(estimator, X, direction):
    output = 1 if estimator.tree_.is_classifier else 0
    for j in np.flatnonzero(direction):
        assert keeps_order(estimator.tree_, j, output, increasing=bool(direction[j] > 0))
    low, high = rows_that_rise(X, direction)
    if not estimator.tree_.is_classifier:
        assert (estimator.predict(low) <= estimator.predict(high)).all()
        return
    assert (estimator.predict(low) <= estimator.predict(high)).all()
    assert (estimator.predict_proba(low)[:, 1] <= estimator.predict_proba(high)[:, 1] + 1e-15).all()


@pytest.mark.parametrize("way", CLASSES)
def test_every_way_to_fit_classes_keeps_the_order(way):
    options = {"max_depth": 3, "max_iter": 6, "random_state": 0, "monotonic_cst": FALLING} | CLASSES[way]
    classifier = DTSemNetClassifier(**options).fit(X, Y)
    assert_in_order(classifier, X, FALLING)
    assert classifier.score(X, Y) > 0.85


@pytest.mark.parametrize("options", [{}, {"leaf": "constant"}, {"training": "paper"}, {"loss": "absolute_error"},
                                     {"effort": 0}, {"leaf": "constant", "loss": "quantile"}], ids=str)  # fmt: skip
def test_every_way_to_fit_numbers_keeps_the_order(options):
    regressor = DTSemNetRegressor(3, max_iter=4, random_state=0, monotonic_cst=RISING, **options).fit(*NUMBERS)
    assert_in_order(regressor, NUMBERS[0], RISING)


def test_the_order_is_kept_when_a_tree_goes_on_and_is_pruned():
    options = {"effort": 0, "max_iter": 4, "random_state": 0, "warm_start": True}
    classifier = DTSemNetClassifier(2, monotonic_cst=FALLING, **options).fit(X, Y).fit(X[::2], Y[::2])
    classifier.partial_fit(X[1::2], Y[1::2])
    assert_in_order(classifier, X, FALLING)
    assert_in_order(classifier.prune(X, Y, max_leaf_nodes=2), X, FALLING)
    regressor = DTSemNetRegressor(2, monotonic_cst=RISING, **options).fit(*NUMBERS)
    assert_in_order(regressor.partial_fit(NUMBERS[0][:50], NUMBERS[1][:50]), NUMBERS[0], RISING)


def test_the_order_is_kept_through_torch():
    pytest.importorskip("torch", reason="torch is an optional extra")
    options = {"engine": "torch", "n_init": 1, "max_iter": 3, "random_state": 0}
    assert_in_order(DTSemNetClassifier(2, monotonic_cst=FALLING, **options).fit(X, Y), X, FALLING)
    assert_in_order(DTSemNetRegressor(2, monotonic_cst=RISING, **options).fit(*NUMBERS), NUMBERS[0], RISING)


def test_several_outputs_keep_the_order_each():
    y = np.column_stack([NUMBERS[1], -NUMBERS[1], NUMBERS[0][:, 2]])
    regressor = DTSemNetRegressor(2, max_iter=4, random_state=0, monotonic_cst=RISING).fit(NUMBERS[0], y)
    for output, j in itertools.product(range(3), np.flatnonzero(RISING)):
        assert keeps_order(regressor.tree_, j, output, increasing=bool(RISING[j] > 0))


def test_an_order_that_the_rows_break_is_kept_all_the_same():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((150, 2))
    y = rows[:, 0] + 0.3 * rows[:, 1]
    wrong = DTSemNetRegressor(3, max_iter=5, random_state=0, monotonic_cst=[-1, 0]).fit(rows, y)
    assert_in_order(wrong, rows, np.array([-1, 0]))
    assert wrong.score(rows, y) < 0.5
    right = DTSemNetRegressor(3, max_iter=5, random_state=0, monotonic_cst=[1, 0]).fit(rows, y)
    assert right.score(rows, y) > 0.99


def test_a_missing_value_is_not_compared_and_names_are_read(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is an optional extra")
    rng = np.random.default_rng(0)
    size, colour = rng.standard_normal(160), rng.choice(["red", "blue"], 160)
    size[::7] = np.nan
    table = pd.DataFrame({"colour": colour, "size": size})
    y = (np.nan_to_num(size, nan=-1.0) + (colour == "red")) > 0
    classifier = DTSemNetClassifier(2, max_iter=5, random_state=0, monotonic_cst={"size": 1}).fit(table, y)
    higher = table.assign(size=size + 0.5)
    assert (classifier.predict_proba(higher)[:, 1] >= classifier.predict_proba(table)[:, 1] - 1e-15).all()
    classifier.save(tmp_path / "model.json")
    assert DTSemNetClassifier.load(tmp_path / "model.json").monotonic_cst == {"size": 1}


@pytest.mark.parametrize(("given_order", "message"), [
    ([1, 0], "shape \\(6,\\)"),
    ([2, 0, 0, 0, 0, 0], "column 'x0' must be -1, 0 or 1, got 2"),
    ({"x9": 1}, "names 'x9', which is no column"),
    ("up", "shape"),
])  # fmt: skip
def test_an_order_that_cannot_be_read_is_refused(given_order, message):
    with pytest.raises(ValueError, match=f"monotonic_cst.*{message}"):
        DTSemNetClassifier(effort=0, max_iter=1, monotonic_cst=given_order).fit(X, Y)


def test_an_order_of_categories_of_three_classes_or_without_a_guard_is_refused():
    pd = pytest.importorskip("pandas", reason="pandas is an optional extra")
    table = pd.DataFrame({"colour": ["red", "blue"] * 10, "size": np.arange(20.0)})
    with pytest.raises(ValueError, match=r"column 'colour' must be 0.*no order"):
        DTSemNetClassifier(monotonic_cst={"colour": 1}).fit(table, [0, 1] * 10)
    with pytest.raises(ValueError, match="needs two classes"):
        DTSemNetClassifier(monotonic_cst=[1] * 6).fit(X[:20], np.arange(20) % 3)
    with pytest.raises(ValueError, match="guard=False"):
        DTSemNetRegressor(monotonic_cst=[1] * 6, guard=False).fit(*NUMBERS)
