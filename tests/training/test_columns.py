"""A split keeps the columns that move its score most, in both engines, and the others are zero exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from dtsemnet.kernels.optimizer import hold
from dtsemnet.training import Classification, ClassParameters, Phase, Rows, Step, cpu_engine
from dtsemnet.training.columns import Rules, column_norms, free_features, sides_of_classes
from dtsemnet.tree import Topology

COLUMN = np.array([0, 0, 1, 2, 2, 2, 3])
SPLITS = hnp.arrays(np.float64, (3, len(COLUMN) + 1), elements=st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0]))


@given(SPLITS, st.integers(1, 3))
def test_the_columns_that_are_left_move_the_score_at_least_as_much_as_those_that_go(splits, n_columns):
    is_free, norms = free_features(splits, COLUMN, n_columns), column_norms(splits[:, :-1], COLUMN)
    assert is_free[:, -1].all()
    for free, norm in zip(is_free, norms):
        kept = np.unique(COLUMN[free[:-1]])
        assert len(kept) == n_columns
        assert (free[:-1] == np.isin(COLUMN, kept)).all(), "a column stays or goes as a whole"
        assert norm[kept].min() >= np.delete(norm, kept).max(initial=0)


@given(SPLITS, st.integers(1, 3))
def test_what_was_left_out_stays_out(splits, n_columns):
    first = free_features(splits, COLUMN, n_columns)
    assert_array_equal(free_features(np.where(first, splits + 0.0, 0.0), COLUMN, n_columns) & (splits != 0),
                       first & (splits != 0))  # fmt: skip


def test_no_limit_leaves_all_weights_free():
    assert free_features(np.zeros((5, 8)), COLUMN, 4).shape == (0, 8)


@pytest.mark.parametrize("n_columns", [1, 3, 4, 9])
@pytest.mark.parametrize("direction", [None, np.zeros(7, np.int64)])
def test_rules_say_beforehand_whether_they_leave_all_weights_free(n_columns, direction):
    rules = Rules(COLUMN, direction=direction)
    assert rules.leave_free(n_columns) == (len(rules.of_splits(np.ones((5, 8)), n_columns, None)) == 0)


def engine_of(make, rules):
    rng, topology = np.random.default_rng(0), Topology.complete(2)
    rows = Rows(rng.standard_normal((60, len(COLUMN))), rng.integers(0, 2, 60), np.ones(60))
    parameters = ClassParameters(rng.standard_normal((3, len(COLUMN) + 1)), np.array([0, 1, 0, 1]))
    return make(Classification(2), topology, rows, parameters, batch_size=7, rules=rules)


def _engines():
    torch_engine = pytest.importorskip("dtsemnet.training.torch", reason="torch is an optional extra").torch_engine
    return [engine_of(make, Rules(COLUMN)) for make in (cpu_engine, torch_engine)]


def test_an_epoch_with_a_limit_leaves_exact_zeros_in_both_engines_alike():
    engines = _engines()
    for n_columns in (3, 3, 1):
        for engine in engines:
            before = engine.parameters().splits
            is_free = free_features(before, COLUMN, n_columns)
            engine.run_epoch(np.arange(60), Step(0.05, temperature=0.5, n_columns=n_columns))
            after = engine.parameters().splits
            assert ((after != 0) == is_free).all()
            assert (after != before)[is_free].all(), "the others are trained"
    cpu, torch = (engine.parameters().splits for engine in engines)
    np.testing.assert_allclose(cpu, torch, rtol=1e-7, atol=1e-9)


def test_each_feature_is_a_column_of_its_own_unless_it_is_said_otherwise():
    engine = engine_of(cpu_engine, rules=None)
    engine.run_epoch(np.arange(60), Step(0.05, n_columns=2))
    assert ((engine.parameters().splits[:, :-1] != 0).sum(axis=1) == 2).all()


def test_a_phase_rounds_the_number_of_columns():
    assert Phase(2, 0.1, n_columns=lambda epoch, n_epochs: 1.9999999).step(0).n_columns == 2


DIRECTION = np.array([1, 0, 0, -1, 0, 0, 1])


@given(SPLITS, st.integers(1, 4), st.lists(st.integers(0, 1), min_size=4, max_size=4))
def test_features_with_a_direction_push_to_the_side_of_the_higher_class_alone(splits, n_columns, leaf_class):
    topology, leaf_class = Topology.complete(2), np.array(leaf_class)
    side = sides_of_classes(topology, leaf_class, splits, DIRECTION)
    hold(splits, Rules(COLUMN, direction=DIRECTION).of_splits(splits, n_columns, side))
    pushes = splits[:, :-1] * DIRECTION
    for split, (left, right) in enumerate(
        [(leaf_class[:2], leaf_class[2:]), leaf_class[:2, None], leaf_class[2:, None]]
    ):
        assert left.max() <= right.min() or not (pushes[split] > 0).any()
        assert right.max() <= left.min() or not (pushes[split] < 0).any()
        assert not ((pushes[split] > 0).any() and (pushes[split] < 0).any())


@given(SPLITS, st.integers(1, 2))
def test_a_split_keeps_the_columns_of_one_group(splits, n_columns):
    groups = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    before = column_norms(splits[:, :-1], COLUMN)
    hold(splits, Rules(COLUMN, groups).of_splits(splits, n_columns, None))
    for given_norms, norms in zip(before, column_norms(splits[:, :-1], COLUMN)):
        assert (norms > 0).sum() <= n_columns
        assert any(not (norms[~group] > 0).any() for group in groups)
        best = max(np.square(np.sort(given_norms[group])[-n_columns:]).sum() for group in groups)
        np.testing.assert_allclose(np.square(norms).sum(), best)


def test_groups_hold_once_a_split_reads_no_more_columns_than_the_largest_has():
    splits, groups = np.ones((2, 8)), np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    assert not len(Rules(COLUMN, groups).of_splits(splits, 4, None))
    assert (Rules(COLUMN, groups).of_splits(splits, 3, None) == 0).any(), "one column of four has gone"
    free = Rules(COLUMN, groups).of_splits(splits, 2, None)[:, :-1] > 0
    assert all(set(COLUMN[row]) in ({0, 1}, {2, 3}) for row in free)


def test_both_engines_keep_directions_alike():
    torch_engine = pytest.importorskip("dtsemnet.training.torch", reason="torch is an optional extra").torch_engine
    rules = Rules(COLUMN, direction=DIRECTION)
    cpu, torch = (engine_of(make, rules) for make in (cpu_engine, torch_engine))
    for engine in (cpu, torch):
        for _ in range(3):
            engine.run_epoch(np.arange(60), Step(0.05, temperature=0.5))
    splits = cpu.parameters().splits
    np.testing.assert_allclose(splits, torch.parameters().splits, rtol=1e-7, atol=1e-9)
    assert (splits[0, :-1][DIRECTION != 0] == 0).all(), "both sides of the root have both classes"
    assert (splits[1:, :-1] * DIRECTION >= 0).all()
    assert splits[1:, :-1].any()


@pytest.mark.parametrize("groups", [None, np.array([[1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)])
@pytest.mark.parametrize("direction", [None, np.array([1, 0, 0, 0, 0, 0, -1])])
def test_compiled_kernels_can_read_what_weights_may_be(groups, direction):
    rules, splits = Rules(COLUMN, groups, direction), np.ones((2, 8))
    for allowed in (rules.of_splits(splits, 1, None), rules.of_leaves(splits, 1)):
        assert allowed.flags.c_contiguous
        assert allowed.dtype == np.int8
