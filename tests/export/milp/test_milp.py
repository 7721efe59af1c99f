"""The mixed-integer program holds the tree: points fixed reach their leaf, and optima are those of the leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dtsemnet.export.milp import to_milp
from dtsemnet.tree import Topology, Tree
from strategies import MODELS, eighths, make_model, trees


def box(kind):
    if kind.startswith("mixed") and kind != "mixed filled":
        return np.array([0, 0, 0, -9000, 20, -3.0]), np.array([90, 0, 0, 9000, 120, 3.0])
    n_columns = make_model(kind).encoder.n_columns
    return np.full(n_columns, -4.0), np.full(n_columns, 4.0)


def draw_row(model, low, high, rng):
    row = []
    for j, column in enumerate(model.encoder.columns):
        known = column.categories
        value = rng.uniform(low[j], high[j]) if known is None else known[rng.integers(len(known))]
        unknown = known is not None and rng.random() < 0.2
        missing = column.missing is not None and rng.random() < 0.2
        row.append(None if missing else "unknown" if unknown else value)
    return row


def outputs(tree, features):
    return tree.predict_proba(features)[0] if tree.is_classifier else tree.predict(features).reshape(-1)


@pytest.mark.parametrize("kind", MODELS)
def test_a_row_that_is_fixed_reaches_its_leaf(kind):
    model, (low, high) = make_model(kind), box(kind)
    program, rng = to_milp(model, low, high), np.random.default_rng(0)
    for _ in range(15):
        row = draw_row(model, low, high, rng)
        table = np.array([row], dtype=object)
        features = model.transform(table)
        solved = program.solve(fixed=program.fix(row))
        assert solved.x[program.leaf].round().argmax() == model.apply(table)[0]
        np.testing.assert_allclose(solved.x[program.feature], features[0], atol=1e-6)
        np.testing.assert_allclose(solved.x[program.output], outputs(model.tree, features), atol=1e-5)


def best_of_leaves(tree, low, high):
    """Largest output by one linear program for each leaf."""
    best, paths = -np.inf, tree.topology.paths
    for k in range(tree.n_leaves):
        on = paths.split[k] >= 0
        split, sign = paths.split[k][on], np.where(paths.side[k][on] == 1, -1.0, 1.0)
        rows = sign[:, None] * tree.weight[split]
        room = -sign * tree.bias[split]
        coef = np.zeros(tree.n_features) if tree.coef is None else tree.coef[k, 0]
        solved = linprog(-coef, A_ub=rows, b_ub=room, bounds=list(zip(low, high))) if on.any() else None
        if solved is None or solved.x is not None:
            top = np.where(coef > 0, high, low) @ coef if solved is None else -solved.fun
            best = max(best, float(np.clip(top + tree.value[k, 0], tree.guard[0][k, 0], tree.guard[1][k, 0])))
    return best


@pytest.mark.parametrize("kind", ["constant", "linear", "guard"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_largest_output_is_that_of_the_best_leaf(kind, seed):
    tree = make_model(kind, seed).tree
    low, high = np.full(8, -2.0), np.full(8, 2.0)
    program = to_milp(tree, low, high, margin=1e-5)
    best = program.solve({int(program.output[0]): -1.0})
    assert -best.fun == pytest.approx(best_of_leaves(tree, low, high), abs=5e-3)
    reached = tree.predict(best.x[program.column][None])
    assert reached[0] == pytest.approx(-best.fun, abs=1e-6)


@given(trees(n_features=3, max_splits=6), st.data())
@settings(max_examples=25, deadline=None)
def test_every_tree_holds_rows_off_its_hyperplanes(tree, data):
    x = data.draw(eighths(3))
    size = np.abs(tree.weight).sum(axis=1) * 2 + np.abs(tree.bias)
    scores = tree.scores(x[None])[0] if tree.n_splits else np.empty(0)
    assume(not ((scores > 0) & (scores < 1e-4 * size)).any())
    program = to_milp(tree, -2.0, 2.0)
    solved = program.solve(fixed=program.fix(x.tolist()))
    assert solved.x[program.leaf].round().argmax() == tree.apply(x[None])[0]
    np.testing.assert_allclose(solved.x[program.output], outputs(tree, x[None]), atol=1e-5)


def test_a_leaf_out_of_reach_is_infeasible():
    tree = Tree(Topology([[-1, 1], [-2, -3]]), [[1.0], [1.0]], [0.0, 1.0], [[0.0], [1.0], [2.0]])  # x > 0, then x > -1
    program = to_milp(tree, -5.0, 5.0)
    reachable = [program.solve(fixed={int(z): 1.0}).x is not None for z in program.leaf]
    assert reachable == [True, False, True]


def test_rows_just_right_of_a_split_are_left_out():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [1.0]])
    program = to_milp(tree, -1.0, 1.0, epsilon=1e-3)
    x = int(program.column[0])
    assert program.solve(fixed={x: 1e-4}).x is None
    assert program.solve(fixed={x: 2e-3}).x[program.leaf].argmax() == 1
    assert program.solve(fixed={x: 0.0}).x[program.leaf].argmax() == 0


def test_an_unguarded_optimum_hides_behind_its_guard():
    tree = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]], coef=[[[2.0]]], lower=[[-1.0]], upper=[[3.0]])
    program = to_milp(tree, -4.0, 4.0)
    y, x = int(program.output[0]), int(program.column[0])
    assert [program.solve({y: sign}).x[y] for sign in (1.0, -1.0)] == pytest.approx([-1.0, 3.0])
    assert program.solve({x: 1.0}, fixed={y: 3.0}).x[x] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("lower", "upper", "named"),
    [
        (-1.0, np.inf, "column 'pixel 0'"),
        (1.0, -1.0, "lower <= upper"),
        ([0.0, 0.0], 1.0, "70 of them"),
    ],
)
def test_a_bad_box_is_refused(lower, upper, named):
    with pytest.raises(ValueError, match=named):
        to_milp(make_model("wide"), lower, upper)


@pytest.mark.parametrize(("name", "number"), [("epsilon", 0.0), ("margin", -1e-9)])
def test_a_bad_distance_is_refused(name, number):
    with pytest.raises(ValueError, match=f"{name} must lie between 0 and 1"):
        to_milp(make_model("wide"), 0.0, 1.0, **{name: number})
