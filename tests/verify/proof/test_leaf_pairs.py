"""Pairs of leaves: the product of two trees reaches the pair of leaves that the two trees reach."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.verify.proof.leaf_pairs import product
from strategies import trees
from verify.oracle import grid

POINTS = grid(2, -1.0, 1.0, 33)
pairs = st.sampled_from(["class", "constant", "linear", "guard"]).flatmap(
    lambda kind: st.tuples(*[trees(kind=kind, n_features=2, max_splits=4)] * 2)
)


@settings(max_examples=40)
@given(case=pairs)
def test_product_reaches_the_pair_of_leaves(case):
    a, b = case
    assert_array_equal(product(a, b).apply(POINTS), a.apply(POINTS) * b.n_leaves + b.apply(POINTS))
