"""Cheapest changes against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, counterfactual, reachable_leaves
from strategies import eighths, make_model, trees
from verify.oracle import N_TREES, box, grid, hard_trees, is_satisfiable, law, leaf_terms, number, optimum, variables
from verify.tally import is_cheapest

classifiers = st.tuples(trees(kind="class", n_features=2, max_splits=6), eighths((2,), limit=16))


@settings(max_examples=30)
@given(case=classifiers)
def test_integers_against_enumeration(case):
    tree, x = case
    x = np.round(x)
    X = np.array(list(itertools.product(range(-3, 4), repeat=2)), dtype=float)
    price = np.array([0.5, 2.0])
    cost = np.abs(X - x) @ price
    for name in tree.class_names:
        found = counterfactual(tree, x, name, domain=Domain(-3, 3), cost=price, integer=[0, 1])
        there = tree.predict(X) == name
        assert bool(found) == there.any()
        if found:
            assert tree.predict(found[0].point[None])[0] == name
            assert found[0].cost == pytest.approx(cost[there].min(), abs=1e-9)
            assert found[0].lower <= cost[there].min()


def exact_cost(tree, x, name):
    """Infimum of the cost over the leaves of a class, in real arithmetic; None where no point has it."""
    v, step = variables(tree), [z3.Real(f"t{j}") for j in range(tree.n_features)]
    size = [t >= e for t, a, b in zip(step, v, x) for e in (a - number(b), number(b) - a)]
    prices = []
    for leaf in np.flatnonzero(tree.leaf_class == tree.class_names.index(name)):
        terms = box(v, -2, 2) + leaf_terms(tree, leaf, v, inside=False)
        if is_satisfiable(terms):
            prices.append(optimum(terms + size, z3.Sum(step) / 4))
    return min(prices, default=None)


@pytest.mark.parametrize("n", N_TREES)
def test_cost_is_the_exact_optimum(n, tally):
    hard = [{"case": (tree, np.array(x))} for tree in hard_trees("class") for x in ([0.0, 0.0], [1.0, -0.5])]
    cases = st.integers(2, 4).flatmap(
        lambda d: st.tuples(trees(kind="class", n_features=d, max_splits=5), eighths((d,), limit=16))
    )

    @law(n, *hard, case=cases)
    def agrees(case):
        tally.next_tree()
        tree, x = case
        thin = reachable_leaves(tree, Domain(-2, 2)).undecided
        for name in tree.class_names:
            exact, found = exact_cost(tree, x, name), counterfactual(tree, x, name, domain=Domain(-2, 2))
            tally("counterfactual", is_cheapest(found))
            assert all(tree.predict(answer.point[None])[0] == name for answer in found)
            if exact is not None and found:
                assert found[0].lower <= float(exact) * (1 + 1e-12)
                assert found[0].cost >= float(exact) * (1 - 1e-12)
            if exact is not None and not thin:
                assert found[0].cost <= float(exact) + 1e-6

    agrees()


@settings(max_examples=30)
@given(case=classifiers)
def test_no_point_of_a_grid_is_cheaper(case):
    tree, x = case
    X = grid(2, -2.0, 2.0, 33)
    cost = np.abs(X - x).sum(axis=1) / 4.0
    for name in tree.class_names:
        there = tree.predict(X) == name
        found = counterfactual(tree, x, name, domain=Domain(-2, 2), n=3)
        if there.any():
            assert found[0].cost <= cost[there].min() + 1e-9
            assert found[0].lower <= cost[there].min()
        assert [answer.cost for answer in found] == sorted(answer.cost for answer in found)
        assert len({answer.leaf for answer in found}) == len(found)
        assert all(tree.predict(answer.point[None])[0] == name for answer in found)


def test_immutable_columns_stay():
    tree = Tree(Topology.complete(1), [[1.0, 2.0]], [-5.0], [[1, 0], [0, 1]], class_names=["no", "yes"])
    free = counterfactual(tree, [0.0, 0.0], "yes", domain=Domain(0, 10))[0]
    held = counterfactual(tree, [0.0, 0.0], "yes", domain=Domain(0, 10), immutable=["x1"])[0]
    assert list(free.changes) == ["x1"]
    assert list(held.changes) == ["x0"]
    assert held.cost == pytest.approx(0.5)
    assert counterfactual(tree, [0.0, 0.0], "yes", domain=Domain(0, 10), immutable=[0, 1]) == []
    assert counterfactual(tree, [9.0, 0.0], "yes", domain=Domain(0, 10))[0].changes == {}


@pytest.mark.parametrize("seed", range(3))
def test_categories_change_whole(seed):
    model = make_model("mixed class", seed)
    row = np.array([30.0, "red", 2, 900.0, 70.0, 0.5], dtype=object)
    domain = Domain([0, 0, 0, 500, 50, -1], [60, 0, 0, 1500, 90, 1])
    for name in set(model.class_names) - {model.predict(row[None])[0]}:
        for answer in counterfactual(model, row, name, domain=domain, n=2):
            assert model.predict(answer.point[None])[0] == name
            assert answer.point[1] in model.encoder.columns[1].categories
            assert answer.point[2] in model.encoder.columns[2].categories
            width = {"age": 60, "income": 1000, "weight": 40, "plain": 2}
            price = sum(1.0 if k not in width else abs(b - a) / width[k] for k, (a, b) in answer.changes.items())
            assert answer.cost == pytest.approx(price, rel=1e-6)
            assert answer.lower <= answer.cost


def test_bad_arguments_are_named():
    tree = Tree(Topology.complete(1), [[1.0, 2.0]], [-5.0], [[1, 0], [0, 1]], class_names=["no", "yes"])
    with pytest.raises(ValueError, match="target must be a class"):
        counterfactual(tree, [0, 0], "maybe", domain=Domain(0, 1))
    with pytest.raises(ValueError, match="cost must be positive"):
        counterfactual(tree, [0, 0], "yes", domain=Domain(0, 1), cost={"x0": 0.0})
    with pytest.raises(ValueError, match="one number per column"):
        counterfactual(tree, [0, 0], "yes", domain=Domain(0, 1), cost=[1.0])
    with pytest.raises(ValueError, match="x must lie in the domain"):
        counterfactual(tree, [5, 0], "yes", domain=Domain(0, 1))
