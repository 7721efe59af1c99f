"""What it costs to read a tree is what its rows meet on the way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.tree import Column, Encoder, Model, ReadingCost, Topology, Tree
from strategies import points, trees


@given(data=st.data())
def test_no_row_meets_more_columns_than_the_longest_path(data):
    tree = data.draw(trees())
    X = data.draw(points(tree.n_features))
    cost = ReadingCost.of(tree)
    in_splits, in_leaves = np.array(cost.columns_of_splits), np.array(cost.columns_of_leaves or [0] * tree.n_leaves)
    path = tree.decision_path(X)
    met = (np.append(in_splits, 0)[path] * (path >= 0)).sum(axis=1) + in_leaves[tree.apply(X)]
    assert met.max() <= cost.longest_path <= cost.total
    assert max([0, *cost.columns_of_splits]) <= cost.n_distinct <= tree.n_features
    numbers = np.count_nonzero(tree.weight) + (0 if tree.coef is None else np.count_nonzero(tree.coef))
    assert cost.total == numbers, "each feature is a column of its own"


def test_features_of_one_column_count_once():
    encoder = Encoder([Column("colour", categories=("blue", "red")), Column("age", missing="indicator", fill=40.0)])
    weight = [[1.0, -1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 2.0]]
    coef = [[[0.0, 0.0, 1.0, 1.0]], [[0.0] * 4], [[1.0, 1.0, 1.0, 0.0]]]
    tree = Tree(Topology([[1, -3], [-1, -2]]), weight, [0.0, 0.0], np.zeros((3, 1)), coef=coef)
    cost = ReadingCost.of(Model(encoder, tree))
    assert (cost.columns_of_splits, cost.columns_of_leaves, cost.longest_path, cost.n_distinct) == (
        (1, 2),
        (1, 0, 2),
        4,
        2,
    )
    assert str(cost) == (
        "2 splits of 1.5 columns, 3 linear leaves of 1 column, at most 4 columns on a path; 2 different columns"
    )
    assert str(ReadingCost.of(Tree(Topology([]), np.empty((0, 1)), [], [[1.0]]))).startswith("no splits, at most 0")
