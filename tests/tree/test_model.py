"""Models: the encoder reads what users have, the tree answers, the output map scales."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dtsemnet.tree import Column, Encoder, Identity, Model, TanhScale, Topology, Tree
from strategies import points, trees

MIXED = Encoder(
    [
        Column("age", missing="indicator", fill=40.0, center=30.0, scale=0.1, lower=-1.0, upper=2.0),
        Column("colour", categories=["red", "blue"], missing="indicator"),
        Column("size"),
        Column("grade", categories=[1, 2]),
    ]
)
ROWS = [[50.0, "red", 1.0, 1], [None, None, 2.0, 2], [0.0, "green", 3.0, 9], [math.nan, "blue", 4.0, 1]]
FEATURES = [
    [2.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0],
    [1.0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 1.0],
    [-1.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0],
    [1.0, 1.0, 0.0, 1.0, 0.0, 4.0, 1.0, 0.0],
]


def frames():
    pandas, polars = (pytest.importorskip(name, reason="data frames are optional") for name in ("pandas", "polars"))
    names = [column.name for column in MIXED.columns]
    columns = {name: [row[j] for row in ROWS] for j, name in enumerate(names)}
    columns["age"] = [None if age is None or math.isnan(age) else age for age in columns["age"]]
    mixed_up = {name: columns[name] for name in ["grade", "size", "age", "colour"]} | {"unused": [0] * 4}
    nullable = pandas.DataFrame(mixed_up).convert_dtypes()
    categorical = pandas.DataFrame(mixed_up).astype({"colour": "category"})
    return [pandas.DataFrame(mixed_up), nullable, categorical, polars.DataFrame(mixed_up)]


def test_features_have_names():
    assert MIXED.feature_names == (
        *("age", "age missing", "colour=red", "colour=blue", "colour missing", "size", "grade=1", "grade=2"),
    )
    assert (MIXED.n_columns, MIXED.n_features, MIXED.is_identity) == (4, 8, False)


def test_lists_arrays_and_frames_are_encoded_alike():
    assert_array_equal(MIXED.transform(ROWS), FEATURES)
    assert_array_equal(MIXED.transform(np.array(ROWS, dtype=object)), FEATURES)
    for frame in frames():
        assert_array_equal(MIXED.transform(frame), FEATURES)


def test_categories_are_matched_by_equality_across_types():
    encoder = Encoder([Column("a", categories=[0, 1, 2])])
    expected = [[1, 0, 0], [0, 1, 0]]
    for column in (
        [[0], [1]],
        np.array([[0.0], [1.0]]),
        np.array([[False], [True]]),
        np.array([[0], [1]], dtype=np.uint8),
    ):
        assert_array_equal(encoder.transform(column), expected)
    assert_array_equal(encoder.transform(np.array([["0"], ["1"]])), np.zeros((2, 3)))


@given(st.data())
def test_numbers_encoded_at_once_or_column_by_column_are_equal(data):
    numbers = st.floats(-100, 100)
    bound = st.none() | st.floats(0, 5)
    columns = [
        Column(f"x{j}", center=data.draw(numbers), scale=data.draw(numbers), upper=data.draw(bound)) for j in range(3)
    ]
    X = data.draw(points(3))
    one, two = Encoder(columns).transform(X), Encoder(columns).transform(X.astype(object))
    assert_array_equal(one, two)
    for j, column in enumerate(columns):
        raw = (X[:, j] - column.center) * column.scale
        assert_array_equal(one[:, j], raw if column.upper is None else np.minimum(raw, column.upper))
    assert_array_equal(Encoder(columns).transform(X.astype(np.float32)), one)


def test_an_array_through_the_identity_is_not_copied():
    X = np.ones((5, 2), dtype=np.float32)
    encoder = Encoder.identity(["a", "b"])
    assert encoder.is_identity
    assert encoder.transform(X) is X


@pytest.mark.parametrize(
    ("X", "named"),
    [
        ([[1.0, "red", None, 1]], "row 0 of column 'size' is missing"),
        ([[1.0, "red", math.inf, 1]], "row 0 of column 'size' is inf"),
        ([[math.inf, "red", 1.0, 1]], "row 0 of column 'age' is inf"),
        ([[1.0, "red", "big", 1]], "column 'size' must hold numbers, got 'big'"),
        ([[1.0, ["red"], 1.0, 1]], "column 'colour'"),
        ([[1.0, 2.0]], "X must have shape"),
    ],
)
def test_values_that_cannot_be_encoded_are_refused_by_column(X, named):
    array = np.empty((1, len(X[0])), dtype=object)
    array[0] = X[0]
    with pytest.raises(ValueError, match=named):
        MIXED.transform(array)


def test_missing_numbers_are_refused_by_column_in_plain_arrays():
    encoder = Encoder([Column("a", scale=2.0), Column("b")])
    with pytest.raises(ValueError, match="row 1 of column 'b' is missing"):
        encoder.transform([[0.0, 0.0], [0.0, np.nan]])


def test_frames_without_a_column_are_refused():
    for frame in frames():
        with pytest.raises(ValueError, match="no column 'size'"):
            MIXED.transform(frame[["age", "colour", "grade"]])


@pytest.mark.parametrize(
    "arguments",
    [
        {"missing": "drop"},
        {"fill": math.nan},
        {"scale": math.inf},
        {"lower": 1.0, "upper": 0.0},
        {"categories": ["a", "a"]},
        {"categories": ["a"], "scale": 2.0},
    ],
)
def test_columns_that_make_no_sense_are_refused(arguments):
    with pytest.raises(ValueError, match="|".join(arguments)):
        Column("a", **arguments)


def test_encoders_need_distinct_names():
    for columns in ([Column("a"), Column("a")], [], [Column("a=b"), Column("a", categories=["b"])]):
        with pytest.raises(ValueError, match="columns"):
            Encoder(columns)


@given(st.data(), trees())
def test_a_model_answers_with_its_parts(data, tree):
    X = data.draw(points(tree.n_features))
    columns = [Column(f"c{j}", center=float(j), scale=0.5) for j in range(tree.n_features)]
    output = Identity() if tree.is_classifier else TanhScale([-1.0] * tree.n_outputs, [3.0] * tree.n_outputs)
    model = Model(Encoder(columns), tree, output)
    inside = (X - np.arange(tree.n_features)) * 0.5
    assert_array_equal(model.apply(X), tree.apply(inside))
    assert_array_equal(model.scores(X), tree.scores(inside))
    assert_array_equal(model.decision_path(X), tree.decision_path(inside))
    if tree.is_classifier:
        assert_array_equal(model.predict(X), tree.predict(inside))
        assert_array_equal(model.predict_proba(X), tree.predict_proba(inside))
    else:
        assert_allclose(model.predict(X), 1.0 + 2.0 * np.tanh(tree.predict(inside)), atol=1e-15)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other == model
        assert hash(other) == hash(model)
        assert not other.tree.weight.flags.writeable
    assert model != Model(Encoder.identity([f"c{j}" for j in range(tree.n_features)]), tree, output)


def test_each_output_has_its_own_interval():
    output = TanhScale([0.0, 10.0], [2.0, 10.0])(np.array([[0.0, 5.0], [50.0, -5.0]]))
    assert_array_equal(output, [[1.0, 10.0], [2.0, 10.0]])


def test_parts_that_do_not_fit_are_refused():
    tree = Tree(Topology.complete(1), [[1.0, 0.0]], [0.0], [[0.0], [1.0]])
    encoder = Encoder.identity(["a", "b"])
    classes = Tree(Topology([]), np.empty((0, 2)), [], [[1.0]], class_names=["a"])
    with pytest.raises(ValueError, match="encoder gives 8 features"):
        Model(MIXED, tree)
    with pytest.raises(ValueError, match="classifier"):
        Model(encoder, classes, TanhScale(0.0, 1.0))
    with pytest.raises(ValueError, match="2 outputs"):
        Model(encoder, tree, TanhScale([0.0, 0.0], [1.0, 1.0]))
    with pytest.raises(TypeError, match="output"):
        Model(encoder, tree, np.tanh)
    with pytest.raises(ValueError, match="low"):
        TanhScale(1.0, 0.0)
