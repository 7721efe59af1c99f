"""What leaves hold: class frequencies, guards, ridge models, updates by new rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.fit.data import Sample, Scaling, TrainingData, merge
from dtsemnet.fit.leaves import (
    LeafFit,
    RidgeRows,
    class_error,
    constant_tree,
    count_classes,
    count_rows,
    frequencies,
    guard_of,
    ridge_paths,
    update_leaves,
)
from dtsemnet.fit.sparse import n_columns_read
from dtsemnet.tree import Topology, Tree

STEP = Tree(Topology.complete(1), [[1.0]], [0.0], [[1.0, 0.0], [0.0, 1.0]], class_names=["left", "right"])


def sample_of(X, y, weight=None):
    X = np.asarray(X, dtype=float)
    return Sample(X, np.arange(len(X)), np.asarray(y), np.ones(len(X)) if weight is None else np.asarray(weight, float))


def test_frequencies_shrink_towards_the_parent_and_keep_the_majority():
    topology = Topology.complete(2)
    table = np.array([[8.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 3.0]])
    found = frequencies(topology, table)
    root = np.array([9, 3]) / 12
    left, right = (np.array([9, 0]) + root) / 10, (np.array([0, 3]) + root) / 4
    expected = [(table[0] + left) / 9, (table[1] + left) / 2, right, (table[3] + right) / 4]
    assert_allclose(found, expected)
    assert_array_equal(found.argmax(axis=1), [0, 0, 1, 1])


def test_a_leaf_without_rows_has_the_class_that_it_keeps():
    table = np.array([[5.0, 0.0], [0.0, 0.0]])
    for kept in (0, 1):
        assert frequencies(Topology.complete(1), table, np.array([1, kept])).argmax(axis=1).tolist() == [0, kept]
    assert table[1].sum() == 0, "the table is left as it is"


def test_rows_are_counted_by_weight():
    sample = sample_of([[-1.0], [-2.0], [3.0]], [0, 1, 1], [1, 2, 4])
    assert_array_equal(count_classes(STEP, sample, 2), [[1, 2], [0, 4]])
    assert_array_equal(count_rows(STEP, sample), [3, 4])
    assert_allclose(class_error(STEP, sample), 2 / 7)


def test_a_guard_is_the_range_of_a_leaf_and_of_all_rows_if_the_leaf_is_empty():
    lower, upper = guard_of(np.array([0, 0, 2]), np.array([[1.0, 5.0], [3.0, 4.0], [9.0, 0.0]]), 3)
    assert_array_equal(lower, [[1, 4], [1, 0], [9, 0]])
    assert_array_equal(upper, [[3, 5], [9, 5], [9, 0]])


def test_the_constant_tree_holds_frequencies_means_or_the_only_target_unrounded():
    def tree(y, class_names=None, weight=None):
        sample = sample_of(np.zeros((len(y), 2)), y, weight)
        return constant_tree(TrainingData(sample, None, ("a", "b"), class_names, Scaling.of(sample)))

    assert_allclose(tree(np.array([0, 1, 1]), ("u", "v"), [2, 1, 1]).value, [[0.5, 0.5]])
    assert_allclose(tree(np.array([[1.0], [4.0]]), weight=[1, 2]).value, [[3.0]])
    assert (tree(np.full((3, 1), 0.1), weight=[0.3, 0.3, 0.3]).value == 0.1).all()


def test_new_rows_move_a_leaf_by_their_share_of_all_rows_seen():
    y = np.array([[6.0], [8.0], [1.0]])
    sample = sample_of([[-1.0], [-1.0], [1.0]], y)
    model = np.array([[[4.0]], [[1.0]]])
    moved = update_leaves(STEP, model, np.array([2.0, 1.0]), sample, Scaling.of(sample))
    assert_allclose(moved[:, 0, 0], [(2 * 4 + 6 + 8) / 4, 1.0])


def test_ridge_paths_solve_the_normal_equations_of_each_leaf():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 2)), rng.standard_normal((80, 1))
    weight = rng.integers(1, 4, 80).astype(float)
    sample = merge(X, y, weight)
    scaling = Scaling.of(sample)
    tree = Tree(Topology.complete(1), [[1.0, 0.5]], [0.1], [[0.0], [0.0]])
    ((_, found),) = ridge_paths(tree, RidgeRows(sample, scaling), [LeafFit(False, 2.0)], linear=True)
    rows = np.column_stack([scaling.apply(sample, np.float64), np.ones(80)])
    common = np.linalg.solve(
        rows.T * sample.weight @ rows + 1e-3 * np.eye(3), rows.T * sample.weight @ sample.y
    )  # the model of all rows
    for leaf in (0, 1):
        own = tree.apply(sample.to_array()) == leaf
        A, w = rows[own], sample.weight[own]
        penalty = np.diag([2.0, 2.0, 2e-6])
        expected = common + np.linalg.solve(A.T * w @ A + penalty, A.T * w @ (sample.y[own] - A @ common))
        assert_allclose(found[leaf, 0], expected[:, 0], rtol=1e-8)


def test_errors_on_rows_left_out_are_those_of_fits_without_them():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 2)), rng.standard_normal((12, 1))
    sample = merge(X, y, np.ones(12))
    scaling = Scaling.of(sample)
    tree = Tree(Topology([]), np.empty((0, 2)), [], [[0.0]])
    ((left_out, _),) = ridge_paths(tree, RidgeRows(sample, scaling), [LeafFit(False, 2.0)], linear=True)
    rows = np.column_stack([scaling.apply(sample, np.float64), np.ones(12)])
    common = np.linalg.solve(rows.T @ rows + 1e-3 * np.eye(3), rows.T @ sample.y)
    errors = []
    for i in range(12):
        keep = np.arange(12) != i
        A, r = rows[keep], (sample.y - rows @ common)[keep]
        moved = np.linalg.solve(A.T @ A + np.diag([2.0, 2.0, 2e-6]), A.T @ r)
        errors.append(((sample.y - rows @ common)[i] - rows[i] @ moved) ** 2)
    assert_allclose(left_out, np.mean(errors), rtol=1e-6)


def test_augmented_rows_do_not_make_two_leaves_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    sample = merge(X, np.where(X > 0, 5 + X, -X), np.ones(200))
    ((_, model),) = ridge_paths(STEP, RidgeRows(sample, Scaling.of(sample)), [LeafFit(True, 0.1)], linear=True)
    left, right = model[:, 0, 0]
    assert left < 0 < right


@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([0.01, 1.0, 100.0]))
@settings(max_examples=15)
def test_models_on_few_columns_solve_the_ridge_problem_on_the_columns_that_they_read(seed, most, penalty):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((60, 5)), rng.standard_normal((60, 2))
    sample = sample_of(X, y, rng.random(60) + 0.1)
    rows = RidgeRows(sample, Scaling.of(sample), column=np.array([0, 0, 1, 2, 3]))
    tree = Tree(Topology.complete(1), rng.standard_normal((1, 5)), [0.1], np.zeros((2, 2)))
    fits = [LeafFit(False, penalty, n_columns=most), LeafFit(False, penalty, n_columns=4), LeafFit(False, penalty)]
    (error, few), (wide_error, wide), (full_error, full) = ridge_paths(tree, rows, fits, linear=True)
    assert (n_columns_read(few.reshape(4, -1)[:, :-1], rows.column) <= most).all()
    assert_allclose(wide, full, atol=1e-6)
    assert_allclose(wide_error, full_error, rtol=1e-6)
    assert np.isfinite(error)
