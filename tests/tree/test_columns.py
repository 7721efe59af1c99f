"""Columns and their features: how numbers are mapped, folded and filled."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dtsemnet.tree import Column, Encoder


def test_features_say_how_numbers_are_folded():
    columns = [
        Column("age", center=40.0, scale=0.1, missing="indicator", fill=41.5),
        Column("plan", categories=["basic", "plus"], missing="indicator"),
        Column("income", center=2.0, scale=0.5, lower=-1.0, missing="indicator", fill=-4.0),
    ]
    features = Encoder(columns).features
    by_label = {feature.label: feature for feature in features}
    assert (by_label["age"].scale, by_label["age"].shift) == (0.1, -4.0)
    assert by_label["age missing"].fill == 41.5
    assert by_label["income missing"].fill == -1.0  # clipped: in the units of its label
    assert by_label["plan missing"].fill is None
    assert json.loads(json.dumps([feature.to_dict() for feature in features]))[2]["category"] == "basic"


def test_one_number_is_mapped_as_a_column_is():
    column = Column("x", center=0.1, scale=3.0, upper=2.0)
    numbers = np.array([-1e308, 0.3, 0.7, 5.0])
    np.testing.assert_array_equal([column.map(x) for x in numbers], Encoder([column]).transform(numbers[:, None])[:, 0])


def test_a_fill_is_one_of_the_categories():
    column = Column("rooms", categories=[1, 2.5], missing="fill", fill=1.0)
    assert repr(column.fill) == "1"
    assert column.fill_code == 0
    with pytest.raises(ValueError, match=r"fill must be one of the categories of column 'rooms', such as \[1, 2\]"):
        Column("rooms", categories=[1, 2], missing="fill")
    with pytest.raises(ValueError, match="takes a fill only with missing='fill'"):
        Column("rooms", categories=[1, 2], fill=2)
