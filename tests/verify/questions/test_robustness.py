"""Radii against exact optima and dense grids; certified shares against the radii."""

from __future__ import annotations

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain, certify, counterfactual, robustness
from strategies import eighths, make_model, trees
from verify.oracle import N_TREES, grid, hard_trees, is_satisfiable, law, leaf_terms, number, optimum, variables
from verify.tally import is_close

classifiers = st.integers(2, 4).flatmap(
    lambda d: st.tuples(trees(kind="class", n_features=d, max_splits=6), eighths((d,), limit=8))
)
ORDER = {"inf": np.inf, 1: 1, 2: 2}


def exact_radius(tree, x, norm):
    """Infimum of the distance to leaves of another class, in real arithmetic; None where there is none."""
    v = variables(tree)
    own = tree.leaf_class[tree.apply(x[None])[0]]
    step = [z3.Real(f"t{j}") for j in range(len(x))]
    size = [t >= e for t, a, b in zip(step, v, x) for e in (a - number(b), number(b) - a)]
    total = z3.Real("total")
    size += [total >= t for t in step] if norm == "inf" else [total == z3.Sum(step)]
    radii = []
    for leaf in np.flatnonzero(tree.leaf_class != own):
        terms = leaf_terms(tree, leaf, v, inside=False)
        if is_satisfiable(terms):
            radii.append(optimum(terms + size, total))
    return min(radii, default=None)


@pytest.mark.parametrize("n", N_TREES)
def test_radius_is_the_exact_optimum(n, tally):
    hard = [
        {"case": (tree, np.array(x)), "norm": "inf"} for tree in hard_trees("class") for x in ([0.0, 0.0], [1.0, -0.5])
    ]

    @law(n, *hard, case=classifiers, norm=st.sampled_from(["inf", 1]))
    def agrees(case, norm):
        tree, x = case
        found, exact = robustness(tree, x, norm), exact_radius(tree, x, norm)
        assert found.lower <= found.upper
        tally.next_tree()
        tally("robustness", is_close(found.lower, found.upper))
        if found.point is not None:
            assert tree.predict(found.point[None])[0] == found.other != found.label
            assert np.linalg.norm(found.point - x, ORDER[norm]) <= found.upper * (1 + 1e-12)
        if exact is None:
            return
        # A certified radius may stop short of a leaf thinner than rounding, never reach past the optimum.
        assert found.lower <= float(exact) * (1 + 1e-12) + 1e-300  # the nearest double may lie beyond the infimum
        assert found.lower >= float(exact) * (1 - 1e-6) - 1e-9
        for epsilon, status in ((0.99 * float(exact) - 1e-6, "certified"), (1.01 * found.upper + 1e-6, "broken")):
            if np.isfinite(epsilon) and epsilon >= 0:
                assert certify(tree, x[None], epsilon, norm).status[0] == status
                tally("certify", True)

    agrees()


@settings(max_examples=60)
@given(case=classifiers, norm=st.sampled_from(["inf", 1, 2]))
def test_no_point_of_a_grid_breaks_the_radius(case, norm):
    tree, x = case
    found = robustness(tree, x, norm)
    X = grid(len(x), -3.0, 3.0, {2: 41, 3: 17, 4: 9}[len(x)])
    other = tree.predict(X) != tree.predict(x[None])[0]
    size = np.linalg.norm(X - x, ORDER[norm], axis=1)
    assert found.lower <= size[other].min(initial=np.inf)
    if found.point is not None:
        assert found.upper - found.lower <= 1e-6 * (1 + found.upper)


@settings(max_examples=30)
@given(case=classifiers, norm=st.sampled_from(["inf", 1, 2]), epsilon=st.sampled_from([0.0, 0.1, 0.7, 3.0]))
def test_certified_rows_are_those_with_a_larger_radius(case, norm, epsilon):
    tree, x = case
    found, outcome = robustness(tree, x, norm), certify(tree, x[None], epsilon, norm)
    status = outcome.status[0]
    if found.lower > epsilon * (1 + 1e-6) + 1e-9:
        assert status == "certified"
    if found.upper < epsilon * (1 - 1e-6) - 1e-9:
        assert status == "broken"
    if status == "broken":
        assert tree.predict(outcome.points[0][None]) != tree.predict(x[None])
        assert np.linalg.norm(outcome.points[0] - x, ORDER[norm]) <= epsilon * (1 + 1e-12)


def test_bounds_spare_most_programs():
    rng = np.random.default_rng(0)
    tree = Tree(
        Topology.complete(8), rng.normal(size=(255, 16)), rng.normal(size=255), np.eye(2)[rng.integers(0, 2, 256)],
        class_names=[0, 1],
    )  # fmt: skip
    found = robustness(tree, rng.normal(size=16))
    assert found.n_programs < found.n_leaves / 4
    assert found.upper - found.lower < 1e-9


def integer_case(seed, d):
    rng = np.random.default_rng(seed)
    value = np.eye(2)[rng.integers(0, 2, 16)]
    tree = Tree(Topology.complete(4), rng.normal(size=(15, d)), rng.normal(size=15) * 3, value, class_names=["a", "b"])
    return tree, np.round(rng.uniform(-2, 2, d))


@pytest.mark.parametrize("norm", ["inf", 1])
def test_radius_of_integers_is_that_of_all_rows(norm):
    X = np.stack(np.meshgrid(*[np.arange(-3.0, 4.0)] * 5), axis=-1).reshape(-1, 5)
    for seed in range(8):
        tree, x = integer_case(seed, 5)
        size = np.linalg.norm(X - x, ORDER[norm], axis=1)
        radius = size[tree.predict(X) != tree.predict(x[None])[0]].min(initial=np.inf)
        found = robustness(tree, x, norm, domain=Domain(-3, 3, integer=range(5)))
        assert found.lower == found.upper == radius
        if 0 < radius < np.inf:
            for epsilon, status in ((radius, "broken"), (np.nextafter(radius, 0), "certified")):
                assert certify(tree, x[None], epsilon, norm, domain=Domain(-3, 3, integer=range(5))).status[0] == status


def test_radius_of_many_integers_is_found_and_proved():
    for seed in range(4):
        tree, x = integer_case(seed, 64)
        found = robustness(tree, x, domain=Domain(-8, 8, integer=range(64)))
        assert found.lower == found.upper == np.abs(found.point - x).max()
        assert found.n_programs < 100


def test_axis_aligned_radius_is_exact_to_the_last_double():
    tree = Tree(Topology.complete(1), [[1.0, 0.0]], [-1.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    found = robustness(tree, [0.0, 0.0])
    assert 1.0 - 1e-15 < found.lower <= found.upper <= 1.0 + 1e-14
    assert found.point[0] > 1.0


@pytest.mark.parametrize("norm", ["inf", 1])
def test_a_clip_takes_nothing_from_the_radius(norm):
    tree = Tree(Topology.complete(1), [[1.0]], [-1.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    model, domain = Model(Encoder([Column("x", lower=-4.0, upper=4.0)]), tree), Domain(0, 9)
    first = np.nextafter(1.0, 2.0)
    found = robustness(model, [0.0], norm, domain=domain)
    assert (found.upper, found.point[0]) == (first, first)
    assert found.lower >= 1.0
    assert certify(model, [[0.0]], first, norm, domain=domain).status[0] == "broken"
    assert certify(model, [[0.0]], 1.0 - 1e-15, norm, domain=domain).status[0] == "certified"


@pytest.mark.parametrize("norm", ["inf", 1, 2])
def test_radius_is_sharp_where_columns_differ_in_size_by_many_magnitudes(norm):
    # The cube that is searched first is as wide as the largest column; there small columns would round by much.
    rng = np.random.default_rng(0)
    size = np.array([1e5, 1e3, 1.0, 1e-2, 1e-3])
    value = np.eye(2)[rng.integers(0, 2, 16)]
    tree = Tree(
        Topology.complete(4), rng.normal(size=(15, 5)) / size, rng.normal(size=15), value, class_names=["a", "b"]
    )
    for x in rng.normal(size=(5, 5)) * size:
        found = robustness(tree, x, norm)
        assert tree.predict(found.point[None])[0] == found.other
        assert found.upper - found.lower <= 1e-6 * found.upper
        sample = x + found.lower * rng.uniform(-1, 1, (2000, 5)) / (1 if norm == "inf" else 5)
        assert (tree.predict(sample) == found.label).all()


def test_domain_enlarges_the_radius():
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-1.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    assert robustness(tree, [0.0, 0.0]).upper == pytest.approx(0.5)
    assert robustness(tree, [0.0, 0.0], domain=Domain(-2, 2, fixed={1: 0})).upper == pytest.approx(1.0)
    assert robustness(tree, [0.0, 0.0], domain=Domain(-0.25, 0.25)).lower == np.inf
    with pytest.raises(ValueError, match="x must lie in the domain"):
        robustness(tree, [9.0, 0.0], domain=Domain(0, 1))


@pytest.mark.parametrize("seed", range(3))
def test_columns_with_maps_categories_and_missing_values(seed):
    model = make_model("mixed class", seed)
    row = np.array([30.0, "red", 2, 900.0, None, 0.5], dtype=object)
    found = robustness(model, row)
    assert found.point is not None
    assert list(found.point[1:3]) == ["red", 2]
    assert np.isnan(found.point[4])
    moved = [abs(found.point[j] - row[j]) for j in (0, 3, 5)]
    assert max(moved) == pytest.approx(found.upper, rel=1e-9)
    rng = np.random.default_rng(seed)
    rows = np.array([row] * 2000)
    for j in (0, 3, 5):
        rows[:, j] = row[j] + found.lower * 0.999999 * rng.uniform(-1, 1, 2000)
    assert (model.predict(rows) == found.label).all()


@pytest.mark.parametrize("seed", range(3))
def test_missing_values_that_are_filled_in_are_held(seed):
    model = make_model("filled class", seed)
    row = np.array([np.nan, 0.5, np.nan, 0.1, 0.2, -0.3, 0.4, 1.0])
    found = robustness(model, row)
    filled = model.encoder.fill_missing(row[None])[0]
    assert found.point is not None
    assert_array_equal(found.point[[0, 2]], filled[[0, 2]])
    assert np.abs(found.point - filled).max() == pytest.approx(found.upper, rel=1e-9)
    assert certify(model, row[None], found.lower / 2).status.tolist() == ["certified"]
    names = set(model.class_names) - {model.predict(row[None])[0]}
    for answer in counterfactual(model, row, names.pop(), domain=Domain(-9.0, 9.0)):
        assert not {model.encoder.columns[j].name for j in (0, 2)} & answer.changes.keys()


def test_share_counts_correct_rows_and_tells_progress():
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    seen = []
    X = [[-3.0, 0.0], [3.0, 0.0], [0.1, 0.0], [5.0, 5.0]]
    outcome = certify(tree, X, 1.0, y=["a", "b", "b", "a"], progress=lambda done, all_: seen.append((done, all_)))
    assert outcome.status.tolist() == ["certified", "certified", "broken", "certified"]
    assert outcome.share == 0.5
    assert seen == [(k, 4) for k in range(1, 5)]


def test_bad_arguments_are_named():
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    with pytest.raises(ValueError, match="norm must be"):
        robustness(tree, [0, 0], 3)
    with pytest.raises(ValueError, match="x must be one row of 2 values"):
        robustness(tree, [0, 0, 0])
    with pytest.raises(ValueError, match="x must hold numbers, got 'one' in column 'x1'"):
        robustness(tree, [0, "one"])
    with pytest.raises(ValueError, match="epsilon must be"):
        certify(tree, [[0, 0]], -1)
    with pytest.raises(ValueError, match="regressor"):
        robustness(Tree(Topology([]), np.empty((0, 1)), [], [[0.0]]), [0.0])
