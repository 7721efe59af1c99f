"""The features of an encoder, and the ways to read a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dtsemnet.tree import Column, Encoder
from strategies import make_model

MIXED = Encoder(
    [
        Column("age", center=40.0, scale=0.1, missing="indicator", fill=41.5),
        Column("plan", categories=["basic", "plus"], missing="indicator"),
        Column("income", center=2.0, scale=0.5, lower=-1.0, missing="indicator", fill=-4.0),
        Column("dose"),
    ]
)


def test_features_tell_where_they_come_from():
    features = MIXED.features
    assert [feature.index for feature in features] == list(range(MIXED.n_features))
    assert [feature.label for feature in features] == [
        "age", "age missing", "plan = basic", "plan = plus", "plan missing", "clip((income - 2) * 0.5, -1, inf)",
        "income missing", "dose",
    ]  # fmt: skip
    assert [feature.term for feature in features][:3] == ["age", "(age missing)", "(plan = basic)"]
    for j, part in enumerate(MIXED.features_of_column):
        assert all(feature.column is MIXED.columns[j] and feature.column_index == j for feature in features[part])


def test_a_table_is_read_by_name_an_array_by_position():
    frame = pd.DataFrame({"dose": [1.0], "income": [3], "plan": ["plus"], "age": [None]})
    rows = [[None, "plus", 3, 1.0]]
    for table in (frame, rows, np.array(rows, dtype=object)):
        assert [column.tolist() for column in MIXED.read_columns(table)][1:] == [["plus"], [3], [1.0]]
        assert MIXED.read_row(table)[0, 1:].tolist() == ["plus", 3, 1.0]
        np.testing.assert_array_equal(MIXED.transform(table), [[pytest.approx(0.15), 1, 0, 1, 0, 0.5, 0, 1]])
    assert MIXED.read_row(frame.iloc[0]).tolist() == MIXED.read_row(rows[0]).tolist()


def test_what_is_no_row_is_refused():
    with pytest.raises(ValueError, match="X has no column 'plan'"):
        MIXED.read_columns(pd.DataFrame({"age": [1.0]}))
    with pytest.raises(ValueError, match="x has no value for column 'plan'"):
        MIXED.read_row({"age": 1.0})
    with pytest.raises(ValueError, match="x must be one row of 4 values"):
        MIXED.read_row([1.0, 2.0])
    with pytest.raises(ValueError, match="x must be one row, got a table of 2"):
        MIXED.read_row(pd.DataFrame({name: [1, 2] for name in ("age", "plan", "income", "dose")}))


FILLED = Encoder(
    [
        Column("age", missing="fill", fill=0.1),
        Column("dose", missing="fill", fill=-2.0, center=1.0, scale=0.5, upper=3.0),
        Column("size"),
    ]
)
NUMBERS = st.one_of(st.just(np.nan), st.floats(-1e6, 1e6, width=32))


@given(hnp.arrays(st.sampled_from([np.float32, np.float64]), (4, 3), elements=NUMBERS))
def test_a_missing_value_is_read_as_the_fill(rows):
    rows[:, 2] = np.nan_to_num(rows[:, 2])
    filled = rows.astype(np.float64)
    for j, column in enumerate(FILLED.columns[:2]):
        filled[np.isnan(rows[:, j]), j] = column.fill
    np.testing.assert_array_equal(FILLED.fill_missing(rows), filled)
    expected = FILLED.transform(filled)
    frame = pd.DataFrame(rows, columns=["age", "dose", "size"])
    for table in (rows, rows.astype(object), rows.tolist(), frame, frame.convert_dtypes()):
        np.testing.assert_array_equal(FILLED.transform(table), expected)


@given(st.lists(st.sampled_from(["red", "blue", "green", None, np.nan, pd.NA]), min_size=1))
def test_a_missing_category_is_read_as_the_fill(values):
    encoder = Encoder([Column("colour", categories=["red", "blue"], missing="fill", fill="blue")])
    assert encoder.feature_names == ("colour=red", "colour=blue")
    table = np.array([[value] for value in values], dtype=object)
    filled = np.array([[value if isinstance(value, str) else "blue"] for value in values], dtype=object)
    np.testing.assert_array_equal(encoder.fill_missing(table), filled)
    np.testing.assert_array_equal(encoder.transform(table), encoder.transform(filled))


def test_numbers_that_need_no_filling_pass_without_a_copy():
    encoder = Encoder([Column("age", missing="fill", fill=40.0), Column("size")])
    for dtype in (np.float32, np.float64, np.int64, bool):
        X = np.ones((3, 2), dtype=dtype)
        assert encoder.transform(X) is X
    assert encoder.is_identity
    assert all(column.is_affine for column in encoder.columns)


def test_what_nothing_fills_is_refused_by_name():
    with pytest.raises(ValueError, match="row 1 of column 'size' is missing"):
        FILLED.transform([[np.nan, np.nan, 1.0], [1.0, 2.0, np.nan]])
    with pytest.raises(ValueError, match="row 0 of column 'dose' is inf"):
        FILLED.transform([[np.nan, np.inf, 1.0]])


@pytest.mark.parametrize("kind", ["filled class", "mixed filled"])
def test_columns_that_only_fill_look_like_plain_ones(kind):
    encoder = make_model(kind).encoder
    labels = [feature.label for feature in encoder.features if feature.column.fills_missing]
    assert not any("missing" in label for label in labels)
