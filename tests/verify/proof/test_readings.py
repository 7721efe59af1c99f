"""Columns of a domain: what they hold is what their alternatives encode."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.tree import Column, Encoder
from dtsemnet.verify.proof.readings import Reading, is_absent

KNOWN = ("red", "blue")
NUMBERS = [Column("x"), Column("x", missing="indicator", fill=5.0), Column("x", missing="fill", fill=5.0)]
NUMBERS += [Column("x", center=1.0, scale=-2.0), Column("x", scale=2.0, lower=-1.0, upper=1.0)]
CATEGORIES = [
    Column("x", categories=KNOWN),
    Column("x", categories=KNOWN, missing="indicator"),
    Column("x", categories=KNOWN, missing="fill", fill="blue"),
]


def features(column, value):
    return Encoder([column]).transform(np.array([[value]], dtype=object))[0]


def is_encoded(reading, value):
    """Whether one of the alternatives holds the features of a value."""
    z = features(reading.column, value)
    return any(
        all(low <= x <= high for low, x, high in zip(one.lower, z, one.upper))
        and (not one.is_whole or float(z[0]).is_integer())
        for one in reading.alternatives()
    )


@pytest.mark.parametrize("column", NUMBERS)
@pytest.mark.parametrize("is_integer", [False, True])
@pytest.mark.parametrize("may_miss", [False, True])
def test_numbers_that_a_reading_holds_are_encoded_by_it(column, is_integer, may_miss):
    if (is_integer and (column.scale != 1 or column.is_clipped)) or (may_miss and column.missing is None):
        return
    reading = Reading(column, -1.5, 2.5, is_integer, may_miss=may_miss)
    values = [-2.0, -1.5, -1.0, 0.25, 2.0, 2.5, 2.75, 5.0, *([] if column.missing is None else [None, np.nan])]
    for value in values:
        if reading.contains(value):
            assert is_encoded(reading, value)
            held = reading.held_at(value)
            assert held.contains(value)
            (one,) = held.alternatives()
            assert_array_equal(one.lower, features(column, value))
            assert_array_equal(one.upper, features(column, value))
    assert reading.contains(2.0)
    assert not reading.contains("two")
    assert reading.contains(2.5) is not is_integer
    assert (column.missing is not None and reading.contains(None)) is may_miss  # the fill lies outside
    assert not reading.kept_present().contains(None)
    assert reading.contains(5.0) is (may_miss and column.fills_missing)


@pytest.mark.parametrize("column", CATEGORIES)
@pytest.mark.parametrize("allowed", [(), ("red",), KNOWN])
@pytest.mark.parametrize("may_miss", [False, True])
@pytest.mark.parametrize("may_be_unknown", [False, True])
def test_categories_that_a_reading_holds_are_encoded_by_it(column, allowed, may_miss, may_be_unknown):
    reading = Reading(column, categories=allowed, may_miss=may_miss, may_be_unknown=may_be_unknown, unknown="green")
    reads_missing_as = {"fill": "blue"}.get(column.missing)
    for value in ("red", "blue", "green", "grey", None, np.nan):
        is_known = value in KNOWN
        filled = reads_missing_as if is_absent(value) else value
        expected = filled in allowed or (may_miss and (is_absent(value) or filled == reads_missing_as))
        expected |= may_be_unknown and not is_known and not is_absent(value)
        assert reading.contains(value) is bool(expected)
        if expected:
            assert is_encoded(reading, value)
    points = [one.lower for one in reading.alternatives()]
    assert len(set(points)) == len(points)


def test_missing_is_what_the_encoder_says():
    assert [is_absent(value) for value in (None, np.nan, float("nan"), "", 0.0, "nan")] == [True] * 3 + [False] * 3
