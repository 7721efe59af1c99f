"""Domains in the features of a model: ends, rows and back."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain, output_bounds, reachable_leaves
from dtsemnet.verify.proof.binding import bind
from strategies import make_model

TREE = Tree(Topology.complete(1), [[1.0, 1.0]], [0.0], [[0.0], [1.0]])


def test_narrowed_columns_are_those_of_a_smaller_box():
    narrow = Domain(-2.0, 2.0).narrow({"x0": (-1, 5)}).narrow({0: (0.5, 1.5), "x1": (-9, 1)})
    encoded = bind(Model.of(TREE), narrow)
    assert_array_equal(encoded.lower, [0.5, -2])
    assert_array_equal(encoded.upper, [1.5, 1])
    assert not encoded.contains(np.array([0.0, 0.0]))
    opened = Domain(-np.inf, np.inf).narrow({"x0": (0, 1), "x1": (0, 1)})  # no other end is needed
    assert reachable_leaves(TREE, opened).reachable == [0, 1]
    categories = make_model("mixed class")
    with pytest.raises(ValueError, match="which has categories"):
        bind(categories, Domain(-1.0, 1.0).narrow({"rooms": (0, 1)}))


def test_a_fill_between_integers_is_found():
    tree = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]], coef=[[[-1.0]]])
    model = Model(Encoder([Column("x", missing="fill", fill=0.25)]), tree)
    domain = Domain(0, 3, integer=["x"], missing=["x"], A=[[-1.0]], b=[-0.25])  # 0 is left out, a missing value is not
    (found,) = output_bounds(model, domain)
    assert found.maximum.certified == found.maximum.attained == -0.25
    assert np.isnan(found.maximum.point[0])


def test_constraints_are_checked_without_rounding():
    encoded = bind(Model.of(TREE), Domain(-2, 2, A=[[0.1, 0.2]], b=[0.3]))
    assert not encoded.contains(np.array([1.0, 1.0]))  # 0.1 + 0.2 > 0.3 as the doubles are
    assert encoded.contains(np.array([1.0, 0.9999999999999998]))


def test_mapped_columns_have_the_images_of_their_ends():
    model = make_model("tanh")
    encoded = bind(model, Domain(-3.0, 3.0))
    ends = model.transform(np.array([[-3.0] * 8, [3.0] * 8]))
    assert_array_equal(encoded.lower, ends.min(axis=0))
    assert_array_equal(encoded.upper, ends.max(axis=0))
    rows = np.random.default_rng(0).uniform(-3, 3, (500, 8))
    features = model.transform(rows)
    assert ((encoded.lower <= features) & (features <= encoded.upper)).all()
    assert all(encoded.contains(encoded.row(z)) for z in features)


def test_constraint_on_a_clipped_column_is_refused():
    with pytest.raises(ValueError, match="no plain number"):
        bind(make_model("tanh"), Domain(-3.0, 3.0, A=np.ones((1, 8)), b=[0]))


def filled_row(model, row):
    return model.encoder.fill_missing(np.array([row], dtype=object))[0]


def test_a_missing_value_that_is_filled_in_is_that_point_of_its_column():
    model = make_model("mixed filled")
    row = np.array([None, None, np.nan, np.nan, 1.0, "a", 0.5, 0.0], dtype=object)
    kinds = {"colour": ["red", None], "rooms": [np.nan]}
    for missing in ((), ("age", "income")):
        encoded = bind(model, Domain(-2.0, 2.0, missing=missing, categories=kinds))
        assert encoded.contains(row)
        assert encoded.contains(filled_row(model, row))
        z = encoded.encode(row)
        assert ((encoded.lower <= z) & (z <= encoded.upper)).all()
        held = encoded.hold(row)
        parts = model.encoder.features_of_column
        for j in (0, 1, 2, 3, 5):
            assert_array_equal(held.lower[parts[j]], z[parts[j]])
            assert_array_equal(held.upper[parts[j]], z[parts[j]])
        assert (held.lower < held.upper)[parts[4]].all()
    narrow = bind(model, Domain(-2.0, 2.0, categories=kinds).narrow({"age": (1.0, 2.0)}))
    assert not narrow.contains(row)  # the fill of age, 0.7, is outside
    whole = bind(model, Domain(-2.0, 2.0, integer=["age"], categories=kinds))
    assert not whole.contains(row)
    cut = bind(model, Domain(-2.0, 2.0, categories=kinds, A=[[1.0] + [0.0] * 7], b=[0.5]))
    assert not cut.contains(row)


@pytest.mark.parametrize("kind", ["mixed class", "mixed linear", "mixed filled", "tanh"])
def test_rows_come_back_from_their_features(kind):
    model = make_model(kind)
    columns = model.encoder.columns
    missing = [column.name for column in columns if column.missing and column.categories is None]
    encoded = bind(model, Domain(-2.0, 2.0, missing=missing))
    rng = np.random.default_rng(0)
    for _ in range(50):
        row = np.array(
            [rng.choice(c.categories) if c.categories else rng.uniform(-2, 2) for c in columns], dtype=object
        )
        for j, column in enumerate(columns):
            if column.name in missing and rng.random() < 0.3:
                row[j] = np.nan
        back = encoded.row(encoded.encode(row))
        row = filled_row(model, row)
        assert encoded.contains(back)
        assert encoded.leaf_of(back) == encoded.leaf_of(row)
        for column, before, after in zip(columns, row, back):
            if column.categories is not None:
                assert str(before) == str(after)
            elif not column.is_clipped and column.scale:
                assert after == pytest.approx(before, abs=1e-12, nan_ok=True)
