"""One shape, one table."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from dtsemnet.tree import Topology
from strategies import topologies


@given(topologies())
def test_paths_lead_from_the_root_to_each_leaf(topology):
    for leaf in range(topology.n_leaves):
        node = 0 if topology.n_splits else -1
        for split, side in zip(topology.paths.split[leaf], topology.paths.side[leaf]):
            if split < 0:
                assert side == -1
                continue
            assert split == node
            node = topology.children[split, side]
        assert node == ~leaf


@given(topologies())
def test_sums_below_a_split_are_those_of_its_leaves(topology):
    per_leaf = np.arange(1.0, topology.n_leaves + 1) ** 2
    below = [(topology.paths.split == split).any(axis=1) for split in range(topology.n_splits)]
    assert topology.sums_below(per_leaf).tolist() == [per_leaf[part].sum() for part in below]


def test_paths_are_padded_with_minus_one():
    chain = Topology([[-1, 1], [-2, -3]])
    assert chain.paths.split.tolist() == [[0, -1], [0, 1], [0, 1]]
    assert chain.paths.side.tolist() == [[0, -1], [1, 0], [1, 1]]


@given(topologies())
def test_spans_hold_the_leaves_whose_path_meets_the_split(topology):
    first, last = topology.spans
    for split in range(topology.n_splits):
        below = np.flatnonzero((topology.paths.split == split).any(axis=1))
        assert_array_equal(below, np.arange(first[split], last[split]))


@given(topologies())
def test_levels_meet_every_node_once_and_depth_is_the_longest_path(topology):
    splits = [int(i) for level in topology.levels for i in level.splits]
    assert splits == list(range(topology.n_splits))
    assert topology.depth == (topology.paths.split >= 0).sum(axis=1).max()
    met = [~k for level in topology.levels for k in topology.children[level.splits].ravel() if k < 0] or [0]
    assert_array_equal(np.array(met)[topology.leaf_order], np.arange(topology.n_leaves))


@given(topologies())
def test_copies_are_equal_and_read_only(topology):
    for other in (Topology(topology.children.tolist()), copy.deepcopy(topology), pickle.loads(pickle.dumps(topology))):
        assert other == topology
        assert hash(other) == hash(topology)
        assert not other.children.flags.writeable
        with pytest.raises(FrozenInstanceError):
            other.children = topology.children


@pytest.mark.parametrize(
    "children",
    [
        [[0, -1]],  # its own parent
        [[-1, -1]],  # a leaf twice
        [[-2, -1]],  # leaves from right to left
        [[2, 1], [-1, -2], [-3, -4]],  # not breadth-first
        [[1, 1], [-1, -2]],  # a split with two parents
        [[-1, -2], [-3, -4]],  # two trees
        [[-1, 7]],
        [[0.5, 1.5]],
        [-1, -2],
    ],
)
def test_tables_that_are_not_one_tree_are_refused(children):
    with pytest.raises(ValueError, match="children"):
        Topology(children)


@pytest.mark.parametrize("children", [[[-1, -2], [1, -3]], [[1, -1], [-2, -3], [2, -4]]])
def test_a_split_below_itself_is_named_as_the_reason(children):
    with pytest.raises(ValueError, match="number the splits breadth-first"):
        Topology(children)


def test_complete_trees_have_a_sane_limit():
    assert Topology.complete(10).n_leaves == 1024
    assert Topology.complete(0) == Topology([])
    with pytest.raises(ValueError, match="depth"):
        Topology.complete(60)
