"""Plans keep to the depth that the user allows, and none is listed twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.fit.initial_trees import CartTree, GreedyTree, HingeTree, LogisticTree, OneLeaf, RandomTree
from dtsemnet.fit.plans import Plan, TableSize, class_plans, regression_plans

SIZES = st.builds(TableSize, st.integers(10, 100_000), st.integers(1, 500), st.integers(2, 40))


def depth_of(plan: Plan, n_classes: int) -> int:
    tree = plan.tree
    if isinstance(tree, OneLeaf):
        return 0
    if isinstance(tree, LogisticTree):
        return n_classes - 1
    assert isinstance(tree, (RandomTree, CartTree, GreedyTree, HingeTree))
    return tree.depth


@given(SIZES, st.integers(0, 20))
def test_no_plan_is_deeper_than_allowed_and_one_is_as_deep(size, max_depth):
    for plans in (class_plans(size, max_depth), regression_plans(size, max_depth)):
        depths = [depth_of(plan, size.n_classes) for plan in plans]
        assert max(depths) == max_depth
        assert len(set(plans)) == len(plans)


@given(SIZES)
def test_a_random_tree_has_a_leaf_for_each_class_if_it_may(size):
    for plan in class_plans(size, None):
        assert not isinstance(plan.tree, RandomTree) or 2**plan.tree.depth >= size.n_classes


@given(SIZES)
def test_random_trees_are_always_trained(size):
    for plan in (*class_plans(size, None), *regression_plans(size, None)):
        assert not isinstance(plan.tree, RandomTree) or plan.setting is not None


@pytest.mark.parametrize("list_plans", [class_plans, regression_plans])
def test_a_large_table_gets_fewer_plans(list_plans):
    small, large = TableSize(1000, 20, 3), TableSize(100_000, 20, 3)
    assert len(list_plans(large, None)) < len(list_plans(small, None))


def test_a_plan_says_what_it_is():
    assert str(class_plans(TableSize(100, 4, 2), None)[0]) == "RandomTree(depth=1), trained"
    assert str(Plan(OneLeaf())) == "OneLeaf()"
