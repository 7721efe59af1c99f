"""What is drawn of a sparsity path are its numbers."""

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.plot import plot_sparsity_path
from dtsemnet.tree import Topology, Tree

LINE = Tree(Topology.complete(1), [[1.0, 2.0]], [0.0], [[0.0], [1.0]])


@dataclass
class Fitted:
    tree_: Tree = LINE


@dataclass
class Path:
    n_columns: Any
    n_leaves: Any
    score: Any
    behind: Any
    error: Any
    chosen: int
    estimators: Any = (Fitted(),)


@pytest.mark.parametrize("widest", [9.0, 40.0])
def test_dots_are_full_if_they_are_near_the_best_and_the_choice_has_a_ring(widest):
    columns, score = np.array([widest, 3.0, 2.0, 1.0]), np.array([0.9, 0.91, 0.89, 0.7])
    path = Path(columns, np.array([4, 5, 6, 1]), score, np.array([0.0, 0.01, 0.02, 0.3]), np.full(4, 0.05), 2)
    ax = plot_sparsity_path(path, ax=plt.figure().subplots())
    assert_array_equal(ax.lines[0].get_xdata(), columns)
    full, hollow, ring = (scatter.get_offsets() for scatter in ax.collections)
    assert_array_equal(full, np.column_stack([columns, score])[:3])
    assert_array_equal(hollow, [[1.0, 0.7]])
    assert_array_equal(ring, [[2.0, 0.89]])
    assert [text.get_text() for text in ax.texts] == ["4 leaves", "5 leaves", "6 leaves", "1 leaf"]
    assert ax.get_xlim()[0] > ax.get_xlim()[1], "from dense to sparse"
    assert ax.get_ylabel() == "R2 on held-out rows"
    plt.close("all")


def test_what_is_no_path_is_refused():
    with pytest.raises(TypeError, match="what sparsity_path returned, got list"):
        plot_sparsity_path([])
