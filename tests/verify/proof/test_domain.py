"""Domains: what is read from data, and what is refused with a way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, reachable_leaves

TREE = Tree(Topology.complete(1), [[1.0, 1.0]], [0.0], [[0.0], [1.0]])


def test_data_frame_gives_ranges_categories_and_missing_columns():
    frame = pd.DataFrame({"age": [3.0, np.nan, 5.0], "colour": ["red", None, "blue"], "n": [1, 2, 3]})
    domain = Domain.from_data(frame, integer=["n"])
    assert_array_equal(domain.lower, [3, -np.inf, 1])
    assert_array_equal(domain.upper, [5, np.inf, 3])
    assert domain.seen == {"age": (3.0, 5.0), "colour": ("red", "blue"), "n": (1, 2, 3)}
    assert domain.missing == ("age", "colour")
    assert domain.names == ("age", "colour", "n")
    assert domain.integer == ("n",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Domain([1, 2], [0, 3]), "lower must not exceed upper"),
        (lambda: Domain([np.nan], [0]), "must not hold NaN"),
        (lambda: Domain([0, 0], [1, 1, 1]), "one length"),
        (lambda: Domain(0, 1, A=[[1]]), "together"),
        (lambda: Domain([0], [1], A=[[1, 2]], b=[1]), "A has 2 columns"),
        (lambda: Domain("a", 1), "lower must be a number"),
        (lambda: reachable_leaves(TREE, Domain.from_data([[np.nan, 1.0]] * 2)), "refuses missing values"),
        (lambda: reachable_leaves(TREE, Domain([0], [1])), "domain has 1 columns, but the model reads 2"),
        (lambda: reachable_leaves(TREE, Domain(0, np.inf)), "domain is open in column 'x0'"),
        (lambda: reachable_leaves(TREE, Domain(0, 1, A=[[1, 1]], b=[-1])), "domain is empty"),
        (lambda: reachable_leaves(TREE, Domain(0, 1, fixed={0: 2})), "outside its box"),
        (lambda: reachable_leaves(TREE, Domain(0, 1, fixed={"y": 2})), "no column 'y'"),
        (lambda: reachable_leaves(TREE, Domain(0.2, 0.8, integer=[1])), "no integer in column 'x1'"),
        (lambda: reachable_leaves(TREE, Domain(0, 1, missing=[0])), "refuses missing values"),
        (lambda: reachable_leaves(TREE, Domain(0, 1, integer=[7])), "numbered from 0 to 1"),
        (lambda: Domain(0, 1).narrow({"x0": (1, 0)}), "must go from low to high"),
        (lambda: Domain(0, 1).narrow({"x0": 3}), "two numbers per column"),
        (lambda: reachable_leaves(TREE, Domain(0, 1).narrow({"x0": (2, 3)})), "leaves nothing of column 'x0'"),
    ],
)
def test_bad_input_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bounds_of_observations():
    gymnasium = pytest.importorskip("gymnasium", reason="only the extra rl has environments")
    space = gymnasium.make("CartPole-v1").observation_space
    domain = Domain.from_space(space, limit=5.0)
    assert_array_equal(domain.lower, np.clip(space.low.astype(float), -5, 5))
    assert_array_equal(domain.upper[[1, 3]], [5, 5])
    assert Domain.from_space(space).upper[1] > 1e30 or np.isinf(Domain.from_space(space).upper[1])
    policy = Tree(Topology.complete(1), [[0.0, 1.0, 2.0, 1.0]], [0.0], [[1, 0], [0, 1]], class_names=[0, 1])
    assert reachable_leaves(policy, domain).reachable == [0, 1]
    with pytest.raises(TypeError, match="space must be a Box"):
        Domain.from_space(gymnasium.spaces.Discrete(3))
    with pytest.raises(ValueError, match="limit must be"):
        Domain.from_space(space, limit=0)


def test_domain_of_another_type_is_refused():
    with pytest.raises(TypeError, match="domain must be a Domain"):
        reachable_leaves(TREE, (0, 1))
