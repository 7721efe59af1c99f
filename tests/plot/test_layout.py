"""Where nodes stand: apart, in order, parents centred, and the same for equal subtrees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.plot.layout import cut, lay_out
from dtsemnet.tree import Topology
from strategies import topologies


def place(layout, node):
    return layout.split_x[node] if node >= 0 else layout.leaf_x[~node]


@given(topologies(max_splits=40))
def test_nodes_at_one_depth_are_a_unit_apart(topology):
    layout = lay_out(topology)
    x = np.concatenate([layout.split_x, layout.leaf_x])
    depth = np.concatenate([layout.split_depth, layout.leaf_depth])
    for level in range(topology.depth + 1):
        assert (np.diff(np.sort(x[depth == level])) >= 1 - 1e-9).all()
    assert x.min() == 0
    assert x.max() == layout.span


@given(topologies(max_splits=40))
def test_parents_stand_in_the_middle_one_level_above(topology):
    layout = lay_out(topology)
    for split, (left, right) in enumerate(topology.children.tolist()):
        a, b = place(layout, left), place(layout, right)
        assert a < b
        assert_allclose((a + b) / 2, layout.split_x[split], atol=1e-9)
        for child in (left, right):
            depth = layout.split_depth[child] if child >= 0 else layout.leaf_depth[~child]
            assert depth == layout.split_depth[split] + 1


@given(topologies(max_splits=40))
def test_leaves_at_one_depth_keep_their_order(topology):
    layout = lay_out(topology)
    for level in range(topology.depth + 1):
        assert (np.diff(layout.leaf_x[layout.leaf_depth == level]) > 0).all()


@pytest.mark.parametrize("depth", range(6))
def test_complete_trees_take_one_unit_a_leaf(depth):
    assert_array_equal(lay_out(Topology.complete(depth)).leaf_x, np.arange(2**depth))


@given(topologies(max_splits=40))
def test_the_mirrored_tree_has_the_mirrored_layout(topology):
    layout = lay_out(topology)
    mirrored = lay_out(mirror(topology))
    assert_allclose(mirrored.leaf_x, (layout.span - layout.leaf_x)[::-1], atol=1e-9)


def mirror(topology):
    old = topology.children.tolist()
    order = [0] if old else []
    for split in order:
        order += [child for child in reversed(old[split]) if child >= 0]
    number = {split: place for place, split in enumerate(order)}
    last = topology.n_leaves - 1
    return Topology([[number[c] if c >= 0 else ~(last - ~c) for c in reversed(old[split])] for split in order])


@settings(max_examples=40)
@given(topologies(max_splits=40), st.integers(0, 8))
def test_a_cut_keeps_upper_splits_and_accounts_for_every_leaf(topology, depth):
    upper = cut(topology, depth)
    assert upper.topology.depth == min(depth, topology.depth)
    assert upper.topology.n_splits == (lay_out(topology).split_depth < depth).sum()
    assert upper.first[0] == 0
    assert upper.last[-1] == topology.n_leaves
    assert_array_equal(upper.first[1:], upper.last[:-1])
    # The way to a leaf begins with the way to the drawn leaf that stands for it.
    for leaf, (first, last) in enumerate(zip(upper.first, upper.last)):
        way = upper.topology.paths.split[leaf]
        for below in range(first, last):
            assert_array_equal(topology.paths.split[below][: len(way)][way >= 0], way[way >= 0])


def test_a_negative_depth_is_refused():
    with pytest.raises(ValueError, match="at least 0, got -1"):
        cut(Topology.complete(2), -1)
