"""Least and largest outputs against exact optima and grids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, lipschitz, output_bounds, reachable_leaves
from strategies import make_model, trees
from verify.oracle import N_TREES, affine, box, grid, hard_trees, is_satisfiable, law, leaf_terms, optimum, variables
from verify.tally import is_close

small_trees = st.integers(2, 4).flatmap(
    lambda d: st.sampled_from(["constant", "linear", "guard", "multi-output"]).flatmap(
        lambda kind: trees(kind=kind, n_features=d, max_splits=6)
    )
)


def exact_minimum(tree, o, sign):
    """Infimum of an output over the closed box, in real arithmetic."""
    x, found = variables(tree), []
    lower, upper = tree.guard
    for leaf in range(tree.n_leaves):
        terms = box(x, -1, 1) + leaf_terms(tree, leaf, x, inside=False)
        if is_satisfiable(terms):
            coef = np.zeros(tree.n_features) if tree.coef is None else sign * tree.coef[leaf, o]
            least = float(optimum(terms, affine(coef, sign * tree.value[leaf, o], x)))
            found.append(sign * np.clip(sign * least, lower[leaf, o], upper[leaf, o]))
    return min(found)


@pytest.mark.parametrize("n", N_TREES)
def test_bounds_are_the_exact_optima(n, tally):
    @law(n, *({"tree": tree} for kind in ("constant", "linear") for tree in hard_trees(kind)), tree=small_trees)
    def agrees(tree):
        tally.next_tree()
        thin = reachable_leaves(tree, Domain(-1.0, 1.0)).undecided
        for found in output_bounds(tree, Domain(-1.0, 1.0)):
            for end, sign in ((found.minimum, 1.0), (found.maximum, -1.0)):
                exact = exact_minimum(tree, found.output, sign)
                assert sign * end.certified <= exact + 1e-12
                assert sign * end.attained >= exact - 1e-9
                # A leaf thinner than rounding counts for what is certified though no point may be found in it.
                assert thin or sign * end.certified >= exact - 1e-9
                assert tree.predict(end.point[None]).reshape(-1)[found.output] == end.attained
                tally("output_bounds", is_close(end.certified, end.attained))

    agrees()


@pytest.mark.parametrize("n", N_TREES)
def test_constants_of_change_are_the_dual_norms(n, tally):
    @law(n, tree=st.integers(2, 4).flatmap(lambda d: trees(kind="linear", n_features=d, max_splits=4)))
    def agrees(tree):
        tally.next_tree()
        for norm, order in (("inf", 1), (1, np.inf), (2, 2)):  # the order of the dual norm
            tally("lipschitz", True)
            exact = np.linalg.norm(tree.coef[:, 0], order, axis=1)
            found = lipschitz(tree, norm)[:, 0]
            assert (exact <= found).all()
            assert (found <= exact * (1 + 1e-12)).all()

    agrees()


@settings(max_examples=30)
@given(tree=small_trees)
def test_no_point_of_a_grid_is_outside(tree):
    X = grid(tree.n_features, -1.0, 1.0, 17 if tree.n_features < 4 else 9)
    Y = tree.predict(X).reshape(len(X), -1)
    for found in output_bounds(tree, Domain(-1.0, 1.0)):
        assert found.minimum.certified <= Y[:, found.output].min()
        assert Y[:, found.output].max() <= found.maximum.certified
        assert found.minimum.attained <= Y[:, found.output].min() + 1e-9
        assert Y[:, found.output].max() - 1e-9 <= found.maximum.attained


@pytest.mark.parametrize("kind", ["mixed linear", "tanh", "multi-output", "class", "one leaf"])
@pytest.mark.parametrize("seed", range(2))
def test_models_with_encoders_and_output_maps(kind, seed):
    model = make_model(kind, seed)
    rng = np.random.default_rng(seed)
    rows = np.empty((2000, model.encoder.n_columns), dtype=object)
    for j, column in enumerate(model.encoder.columns):
        choice = np.array(column.categories or [0], dtype=object)
        rows[:, j] = rng.uniform(-2, 2, 2000) if column.categories is None else rng.choice(choice, 2000)
    answers = model.predict_proba(rows) if model.is_classifier else model.predict(rows).reshape(2000, -1)
    for found in output_bounds(model, Domain(-2.0, 2.0)):
        seen = answers[:, found.output]
        assert found.minimum.certified <= seen.min()
        assert seen.max() <= found.maximum.certified
        assert found.minimum.attained <= seen.min() + 1e-9
        assert found.maximum.attained >= seen.max() - 1e-9
        gap = max(found.minimum.attained - found.minimum.certified, found.maximum.certified - found.maximum.attained)
        assert gap <= 1e-6


def test_integers_raise_the_minimum():
    line = Tree(Topology.complete(1), [[2.0, 2.0]], [-1.0], [[9.0], [0.0]], coef=[[[0, 0]], [[1, 1]]])
    free, whole = (output_bounds(line, Domain(0, 3, integer=integer))[0] for integer in ((), (0, 1)))
    assert free.minimum.attained == pytest.approx(0.5)
    assert whole.minimum.attained == 1.0
    assert whole.minimum.certified == pytest.approx(1.0)


@settings(max_examples=25)
@given(tree=trees(kind="guard", n_features=3, max_splits=4), norm=st.sampled_from(["inf", 1, 2]))
def test_outputs_change_no_faster_than_the_constant(tree, norm):
    X = grid(3, -1.0, 1.0, 5)
    leaf, answer, constant = tree.apply(X), tree.predict(X), lipschitz(tree, norm)[:, 0]
    order = {"inf": np.inf, 1: 1, 2: 2}[norm]
    for k in np.unique(leaf):
        Z, v = X[leaf == k], answer[leaf == k]
        change = np.abs(v[:, None] - v)
        moved = np.linalg.norm(Z[:, None] - Z, ord=order, axis=2)
        assert (change <= constant[k] * moved + 1e-12).all()
