"""Half-spaces as the tree runs: what a row does in doubles holds for its region in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.tree import Model, Topology, Tree
from dtsemnet.verify import Domain
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import exact_dot
from dtsemnet.verify.proof.regions import Cuts, Region, rounding_bound
from strategies import wild_points, wild_trees


def region_of(cuts: Cuts, leaf: int) -> Region:
    region = cuts.root()
    for split, side in zip(*(part[leaf].tolist() for part in cuts.tree.topology.paths)):
        region = cuts.child(region, split, side) if split >= 0 else region
    return region


def assert_inside(tree: Tree, X: np.ndarray) -> None:
    cuts = Cuts(bind(Model.of(tree), Domain(X.min(axis=0), X.max(axis=0))))
    for x, leaf in zip(X, tree.apply(X).tolist()):
        region = region_of(cuts, leaf)
        assert not region.empty
        assert (region.lower <= x).all()
        assert (x <= region.upper).all()
        rows, bound, *_ = cuts.polytope(region)
        assert all(exact_dot(row, x) <= Fraction(b) for row, b in zip(rows, bound.tolist()))


@settings(max_examples=60)
@given(case=st.sampled_from([1, 3, 17, 40]).flatmap(lambda d: st.tuples(wild_trees(d, 7), wild_points(d))))
def test_rows_of_all_sizes_lie_in_the_region_of_their_leaf(case):
    assert_inside(*case)


def test_rows_on_hyperplanes_lie_in_the_region_of_their_leaf():
    rng = np.random.default_rng(0)
    for d in (1, 2, 5, 40):
        weight, bias = rng.normal(size=(7, d)), rng.normal(size=7)
        tree = Tree(Topology.complete(3), weight, bias, np.zeros((8, 1)))
        X = rng.normal(size=(100, d))
        X[:, 0] -= tree.scores(X)[np.arange(100), np.arange(100) % 7] / weight[np.arange(100) % 7, 0]
        assert_inside(tree, X)


def test_bound_of_rounding_is_needed_and_not_far_from_what_happens():
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(size=(5, 33)), rng.normal(size=5)
    tree = Tree(Topology([[~(k - 1), k] for k in range(1, 5)] + [[~4, ~5]]), weight, bias, np.zeros((6, 1)))
    share = []
    for x in rng.normal(size=(100, 33)):
        bound = rounding_bound(weight, bias, x, x)
        for i, score in enumerate(tree.scores(x[None])[0].tolist()):
            share.append(abs(Fraction(score) - exact_dot(weight[i], x) - Fraction(bias[i])) / Fraction(bound[i]))
    assert Fraction(1, 50) < max(share) <= 1


def test_thresholds_of_single_features_are_the_exact_doubles():
    rng = np.random.default_rng(0)
    weight = np.concatenate([rng.normal(size=40) * 10.0 ** rng.integers(-9, 9, 40), [1e-300, -1e-300, 1.0, 3.0]])
    bias = np.concatenate([rng.normal(size=40) * 10.0 ** rng.integers(-9, 9, 40), [1e-290, 5.0, 0.0, -1e-320]])
    for w, b in zip(weight, bias):
        tree = Tree(Topology.complete(1), [[w]], [b], [[0.0], [1.0]])
        cuts = Cuts(bind(Model.of(tree), Domain(-1e6, 1e6)))
        left, right = (cuts.child(cuts.root(), 0, side) for side in (0, 1))
        for region, leaf in ((left, 0), (right, 1)):
            if not region.empty:
                assert tree.apply(np.stack([region.lower, region.upper])).tolist() == [leaf, leaf]
        below, above = (left, right) if w > 0 else (right, left)
        if not (left.empty or right.empty):
            assert np.nextafter(below.upper, np.inf) == above.lower
