"""The features of an encoder, and the ways to read a table."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from dtsemnet.tree import Column, Encoder

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


def test_features_say_how_numbers_are_folded():
    by_label = {feature.label: feature for feature in MIXED.features}
    assert (by_label["age"].scale, by_label["age"].shift) == (0.1, -4.0)
    assert by_label["age missing"].fill == 41.5
    assert by_label["income missing"].fill == -1.0  # clipped: in the units of its label
    assert by_label["plan missing"].fill is None
    assert json.loads(json.dumps([feature.to_dict() for feature in MIXED.features]))[2]["category"] == "basic"


def test_a_table_is_read_by_name_an_array_by_position():
    frame = pd.DataFrame({"dose": [1.0], "income": [3], "plan": ["plus"], "age": [None]})
    rows = [[None, "plus", 3, 1.0]]
    for given in (frame, rows, np.array(rows, dtype=object)):
        assert [column.tolist() for column in MIXED.read_columns(given)][1:] == [["plus"], [3], [1.0]]
        assert MIXED.read_row(given)[0, 1:].tolist() == ["plus", 3, 1.0]
        np.testing.assert_array_equal(MIXED.transform(given), [[pytest.approx(0.15), 1, 0, 1, 0, 0.5, 0, 1]])
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


def test_one_number_is_mapped_as_a_column_is():
    column = Column("x", center=0.1, scale=3.0, upper=2.0)
    numbers = np.array([-1e308, 0.3, 0.7, 5.0])
    np.testing.assert_array_equal([column.map(x) for x in numbers], Encoder([column]).transform(numbers[:, None])[:, 0])
