"""Pairs of leaves: the product of two trees reaches the pair of leaves that the two trees reach."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.tree import Model, Topology, Tree
from dtsemnet.verify import Domain
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import Polytope
from dtsemnet.verify.proof.leaf_pairs import Line, largest_gap, product
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


def test_largest_gap_of_a_clipped_line_and_a_level():
    encoded = bind(Model.of(Tree(Topology([]), np.empty((0, 1)), [], [[0.0]])), Domain(0.0, 4.0))
    polytope = Polytope(np.empty((0, 1)), np.empty(0), np.zeros(1), np.full(1, 4.0))
    gap = largest_gap(encoded, polytope, Line(np.ones(1), 0.0, ceiling=3.0), Line(np.zeros(1), 1.0))
    assert gap.upper == pytest.approx(2.0, abs=1e-9)
    assert gap.points[0] >= 3
