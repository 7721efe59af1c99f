"""Reachability against exact real arithmetic, dense grids, and cases placed to go wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.tree import Topology, Tree, raw_view
from dtsemnet.verify import Domain, never, possible_classes, prune_unreachable, reachable_leaves
from strategies import make_model, trees, wild_trees
from verify.oracle import N_TREES, box, grid, hard_trees, is_satisfiable, law, leaf_terms, variables

small_trees = st.integers(2, 4).flatmap(lambda d: trees(n_features=d, max_splits=7))
classifiers = st.integers(2, 4).flatmap(lambda d: trees(kind="class", n_features=d, max_splits=5))


@pytest.mark.parametrize("n", N_TREES)
def test_agrees_with_exact_arithmetic(n, tally):
    @law(n, *({"tree": tree} for tree in hard_trees("constant")), tree=small_trees)
    def agrees(tree):
        found = reachable_leaves(tree, Domain(-2.0, 2.0))
        x = variables(tree)
        assert found.check()
        tally.next_tree()
        for leaf, verdict in enumerate(found.verdicts):
            tally("reachable_leaves", verdict.status != "undecided")
            if verdict.status == "reachable":
                assert_array_equal(tree.apply(verdict.witness[None]), [leaf])
                assert (np.abs(verdict.witness) <= 2).all()
            else:  # only what has no inside may be left open
                assert not is_satisfiable(box(x, -2, 2) + leaf_terms(tree, leaf, x, inside=True))

    agrees()


@pytest.mark.parametrize("n", N_TREES)
def test_classes_that_may_occur_are_those_of_exact_arithmetic(n, tally):
    @law(n, *({"tree": tree} for tree in hard_trees("class")), tree=classifiers)
    def agrees(tree):
        x, domain = variables(tree), Domain(-2.0, 2.0, A=np.ones((1, tree.n_features)), b=[1.0])
        inside = [*box(x, -2, 2, inside=True), sum(x) < 1]
        open_ = {
            tree.class_names[tree.leaf_class[leaf]]
            for leaf in range(tree.n_leaves)
            if is_satisfiable(inside + leaf_terms(tree, leaf, x, inside=True))
        }
        tally.next_tree()
        for name, verdict in possible_classes(tree, domain).items():
            answer = never(tree, domain, name)
            tally("never, possible_classes", answer.status != "undecided")
            assert (answer.status == "yes") == (verdict.status == "unreachable")
            assert all(proof.check() for proof in answer.proofs)
            if name in open_:
                assert answer.status == "no"
            if answer.status == "no":
                assert tree.predict(answer.witness[None])[0] == name
                assert (np.abs(answer.witness) <= 2).all()

    agrees()


@settings(max_examples=50)
@given(tree=small_trees)
def test_no_point_of_a_grid_is_in_an_unreachable_leaf(tree):
    found = reachable_leaves(tree, Domain(-2.0, 2.0))
    seen = set(tree.apply(grid(tree.n_features, -2.0, 2.0, {2: 33, 3: 17, 4: 9}[tree.n_features])).tolist())
    assert not seen & set(found.unreachable)


@given(tree=wild_trees(max_splits=7))
@settings(max_examples=50)
def test_numbers_of_all_sizes_give_no_wrong_proof(tree):
    found = reachable_leaves(tree, Domain(-1e3, 1e3))
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, tree.n_features)) * 10.0 ** rng.uniform(-150, 3, (2000, tree.n_features))
    assert not set(tree.apply(X).tolist()) & set(found.unreachable)
    assert found.check()


@settings(max_examples=40)
@given(tree=trees(n_features=3, max_splits=7))
def test_pruning_keeps_the_function_on_the_domain(tree):
    domain = Domain(-1.0, 1.0, A=[[1, 1, 1]], b=[0.5])
    pruned = prune_unreachable(tree, domain)
    X = grid(3, -1.0, 1.0, 9)
    X = X[X.sum(axis=1) <= 0.5]
    assert_array_equal(tree.predict(X), pruned.predict(X))
    assert pruned.n_leaves <= tree.n_leaves


def test_pruning_keeps_margin_probabilities():
    model = make_model("margin class")
    pruned = prune_unreachable(model, Domain(-0.1, 0.1))
    assert pruned.tree.n_leaves < model.tree.n_leaves
    assert pruned.probability == model.probability


def chain(weights, biases, n_features=2):
    """Right, right, right ...: the last leaf lies right of all splits."""
    n = len(biases)
    children = [[~i, i + 1] for i in range(n - 1)] + [[~(n - 1), ~n]]
    return Tree(Topology(children), weights, biases, np.arange(n + 1.0)[:, None])


@pytest.mark.parametrize(
    ("weights", "biases", "leaf", "status"),
    [
        ([[1, 1], [-1, -1]], [0, 0], 2, "unreachable"),  # s > 0 and -s > 0: touching half-planes
        ([[1, 1], [1, 1]], [0, 0], 1, "unreachable"),  # s > 0 and s <= 0: the same split twice
        ([[1, 1], [1, 1]], [0, -1], 1, "reachable"),  # 0 < s <= 1
        ([[1, 1], [1, 1]], [-1, 0], 1, "unreachable"),  # s > 1 and s <= 0
        ([[1, 0], [-1, 0]], [0, 2.0**-60], 2, "reachable"),  # 0 < x < 2^-60
        ([[0, 0], [1, 1]], [0, 0], 2, "unreachable"),  # a split without weights, tie: left
        ([[0.1, 0.2], [-0.1, -0.2]], [-0.3, 0.3], 2, "unreachable"),  # opposite, with numbers that round
        ([[1, 0], [0, 1]], [-1, -1], 2, "unreachable"),  # x > 1 and y > 1 in the unit box
    ],
)
def test_adversarial_cases(weights, biases, leaf, status):
    found = reachable_leaves(chain(weights, biases), Domain(-1.0, 1.0))
    assert found.verdicts[leaf].status == status
    assert found.check()


def test_leaf_that_is_one_hyperplane_has_a_witness():
    # left of s > 0 and left of -s > 0: only s == 0
    tree = Tree(Topology([[1, -3], [-1, -2]]), [[1, 1], [-1, -1]], [-0.5, 0.5], [[0], [1], [2]])
    verdict = reachable_leaves(tree, Domain(-1.0, 1.0)).verdicts[0]
    assert verdict.status == "reachable"
    assert verdict.witness.sum() == 0.5


def test_thinner_than_rounding_is_undecided_not_wrong():
    # 0.1 x + 0.2 y > 0.3 and 0.3 x + 0.6 y < 0.9: parallel in the reals, not in doubles
    tree = chain([[0.1, 0.2], [-0.3, -0.6]], [-0.3, 0.9])
    verdict = reachable_leaves(tree, Domain(-5.0, 5.0)).verdicts[2]
    if verdict.status == "reachable":
        assert_array_equal(tree.apply(verdict.witness[None]), [2])
    else:
        assert verdict.status == "undecided"
        assert abs(verdict.margin) < 1e-12


def test_integers_are_settled_by_parts_of_the_box():
    tree = chain([[2, 2], [-2, -2]], [-1, 1.5])  # 1 < 2(x + y) < 1.5: no whole numbers
    assert reachable_leaves(tree, Domain(0, 3)).verdicts[2].status == "reachable"
    found = reachable_leaves(tree, Domain(0, 3, integer=[0, 1]))
    assert found.verdicts[2].status == "unreachable"
    assert found.check()
    assert found.verdicts[2].proof.cases == {"enumerated": 16}
    wide = reachable_leaves(tree, Domain(0, 300, integer=[0, 1]))
    assert wide.verdicts[2].status == "unreachable"
    assert wide.check()
    assert wide.verdicts[2].proof.n_certificates > 1


@pytest.mark.parametrize("kind", ["mixed class", "mixed linear", "mixed filled", "filled class", "tanh", "wide"])
@pytest.mark.parametrize("seed", range(3))
def test_models_with_encoders(kind, seed):
    model = make_model(kind, seed)
    missing = [column.name for column in model.encoder.columns if column.missing and column.categories is None]
    kinds = {
        column.name: [*column.categories, None, "never seen"]
        for column in model.encoder.columns
        if column.categories is not None
    }
    domain = Domain(-3.0, 3.0, missing=missing, categories=kinds, unknown=list(kinds))
    found = reachable_leaves(model, domain)
    assert found.check()
    rng = np.random.default_rng(seed)
    rows = np.empty((3000, model.encoder.n_columns), dtype=object)
    for j, column in enumerate(model.encoder.columns):
        if column.categories is not None:
            rows[:, j] = rng.choice(np.array(kinds[column.name], dtype=object), len(rows))
        else:
            rows[:, j] = rng.uniform(-3, 3, len(rows))
            if column.missing:
                rows[rng.random(len(rows)) < 0.3, j] = None
    seen = set(model.apply(rows).tolist())
    assert seen <= set(found.reachable)
    for leaf in found.reachable:
        assert_array_equal(model.apply(found.verdicts[leaf].witness[None]), [leaf])
    assert raw_view(model).tree.n_leaves == len(found.verdicts)


def test_never_and_possible_classes_agree():
    for seed in range(5):
        model = make_model("class", seed)
        domain = Domain(-0.5, 0.5)
        for name, verdict in possible_classes(model, domain).items():
            answer = never(model, domain, name)
            assert bool(answer) == (verdict.status == "unreachable")
            if answer.status == "no":
                assert model.predict(answer.witness[None])[0] == name
            assert all(proof.check() for proof in answer.proofs)


def test_fixed_column_narrows():
    tree = chain([[1, 1], [1, -1]], [0, 0])
    assert reachable_leaves(tree, Domain(-1, 1, fixed={"x0": -1})).reachable == [0]


def test_bad_arguments_are_named():
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"])
    with pytest.raises(ValueError, match="output must be a class"):
        never(tree, Domain(0, 1), "c")
    regressor = Tree(Topology.complete(1), [[1.0]], [0.0], [[1], [2]])
    with pytest.raises(ValueError, match="has no classes"):
        possible_classes(regressor, Domain(0, 1))
    with pytest.raises(ValueError, match="too large"):
        reachable_leaves(tree, Domain(-1e308, 1e308))


def test_leaf_that_only_rounding_reaches_is_not_proved_unreachable():
    # In the reals s > 0 and 3 s + tiny <= 0 exclude each other; doubles get in between.
    rng = np.random.default_rng(0)
    w = np.round(rng.normal(size=40) * 2.0**40) / 2.0**40  # so that 3 w is exact
    w[0] = 1.0
    tree = chain([w, 3 * w], [0.25, 0.75 + 2.0**-50])
    X = rng.uniform(-1, 1, (50_000, 40)) / 8
    X[:, 0] = -(X[:, 1:] @ w[1:] + 0.25)
    X = np.concatenate([X * (1 + k * 2.0**-53) for k in range(-8, 9)])
    X = X[(np.abs(X) <= 1).all(axis=1)]
    assert (tree.apply(X) == 1).any()
    assert 1 not in reachable_leaves(tree, Domain(-1.0, 1.0)).unreachable
