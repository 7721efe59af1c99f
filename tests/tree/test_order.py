"""A tree that keeps order by its splits and leaves keeps it on all rows, in its answers and in its probabilities."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from dtsemnet import Tree
from dtsemnet.fit.order import isotonic
from dtsemnet.tree import MarginProbability, Model, Topology
from dtsemnet.tree.order import is_ordered, keeps_order, middles
from dtsemnet.verify import Domain, monotone
from strategies import eighths, topologies


@st.composite
def ordered_trees(draw, kind="constant"):
    """Trees of three features that are in order along the first, or nearly so."""
    topology = draw(topologies(max_splits=6))
    n_splits, n_leaves = topology.n_splits, topology.n_leaves
    weight = draw(eighths((n_splits, 3)))
    side = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n_splits, max_size=n_splits).map(np.array))
    weight[:, 0] = np.abs(weight[:, 0]) * side + 0.0
    value = isotonic(topology, np.sign(weight[:, 0]), draw(eighths(n_leaves)), np.ones(n_leaves))
    if draw(st.booleans()):  # two leaves may be out of order
        i, j = draw(st.integers(0, n_leaves - 1)), draw(st.integers(0, n_leaves - 1))
        value[[i, j]] = value[[j, i]]
    bias = draw(eighths(n_splits))
    if kind == "class":
        share = (value + 2) / 4
        return Tree(topology, weight, bias, np.column_stack([1 - share, share]), class_names=["no", "yes"])
    if kind == "constant":
        return Tree(topology, weight, bias, value[:, None])
    coef = draw(eighths((n_leaves, 1, 3)))
    coef[:, :, 0] = np.abs(coef[:, :, 0])
    lower, upper = value[:, None], value[:, None].copy()
    return Tree(topology, weight, bias, draw(eighths((n_leaves, 1))), coef, lower, upper)


def pairs_of_rows(draw_rows, steps):
    higher = draw_rows.copy()
    higher[:, 0] += np.abs(steps)
    return draw_rows, higher


ROWS = st.tuples(eighths((20, 3)), eighths(20))


@given(st.sampled_from(["constant", "linear", "class"]).flatmap(ordered_trees), ROWS)
def test_an_answer_that_is_proved_never_falls_on_rows(tree, rows):
    output = 1 if tree.is_classifier else 0
    assume(keeps_order(tree, 0, output))
    low, high = pairs_of_rows(*rows)
    before, after = ((tree.value[tree.apply(X), 1] if tree.is_classifier else tree.predict(X)) for X in (low, high))
    assert (before <= after).all()


@given(ordered_trees("class"), ROWS, st.floats(0, 4), st.floats(0, 3), st.floats(0, 1))
def test_margin_probabilities_of_two_classes_keep_the_order_of_the_leaves(tree, rows, rate, power, floor):
    assume(keeps_order(tree, 0, 1))
    low, high = pairs_of_rows(*rows)
    chance = MarginProbability(rate, power, floor)
    before, after = (chance(tree, X)[:, 1] for X in (low, high))
    assert (before <= after + 1e-15).all()  # the logarithm and exp are not exact


@given(ordered_trees())
def test_what_is_proved_by_splits_is_proved_by_exploring_pairs_of_leaves_too(tree):
    assume(keeps_order(tree, 0))
    assert monotone(tree, 0, Domain(-3.0, 3.0)).status == "yes"
    assert keeps_order(tree.replace(value=-tree.value), 0, increasing=False)


def test_leaves_out_of_order_are_not_proved():
    topology = Topology.complete(2)
    tree = Tree(topology, [[1.0], [1.0], [1.0]], [0.0, 1.0, -1.0], [[0.0], [2.0], [1.0], [3.0]])
    assert not keeps_order(tree, 0)
    assert keeps_order(tree.replace(value=np.arange(4.0)[:, None]), 0)
    assert not keeps_order(tree.replace(value=np.arange(4.0)[:, None]), 0, increasing=False)
    assert Model.of(tree).predict(np.array([[-0.5], [0.5]])).tolist() == [2.0, 1.0]


def test_a_linear_leaf_needs_a_weight_of_the_right_sign_and_a_guard_in_order():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [0.0]], coef=[[[1.0]], [[1.0]]],
                lower=[[-1.0], [0.0]], upper=[[0.0], [1.0]])  # fmt: skip
    assert keeps_order(tree, 0)
    assert not keeps_order(tree.replace(coef=-tree.coef), 0)
    assert not keeps_order(tree.replace(upper=np.array([[0.5], [1.0]])), 0)
    assert not keeps_order(tree.replace(lower=None, upper=None), 0), "without a guard nothing bounds the answers"


@given(topologies())
def test_the_middle_of_a_split_is_its_first_leaf_on_the_right(topology):
    X = np.arange(topology.n_leaves)
    for split, middle in enumerate(middles(topology)):
        on_path = topology.paths.split == split
        side = topology.paths.side[on_path]
        assert X[on_path.any(axis=1)][side == 1].min() == middle


def test_each_split_is_judged_by_the_leaves_on_its_two_sides():
    value, topology = np.array([0.0, 2.0, 1.0]), Topology([[-1, 1], [-2, -3]])
    assert is_ordered(topology, value, value, np.array([1, 1])).tolist() == [True, False]
    assert is_ordered(topology, value, value, np.array([-1, -1])).tolist() == [False, True]
