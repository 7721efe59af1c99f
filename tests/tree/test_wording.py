"""Numbers, sums and splits in words, and how they are cut to the room there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.tree import Column, Encoder, Model, ReadableView, Topology, Tree
from dtsemnet.tree.wording import (
    MINUS,
    Digits,
    display_number,
    fit_condition,
    fit_sum,
    largest_terms,
    number_text,
    outward_text,
    shorten,
    write_question,
    write_sum,
)
from strategies import eighths

COLUMNS = [
    Column("age", missing="indicator", fill=40.0),
    Column("colour", categories=["red", "blue", "missing"], missing="indicator"),
    Column("dose"),
]
VIEW = ReadableView.of(
    Model(Encoder(COLUMNS), Tree(Topology.complete(1), np.ones((1, 7)), [0.0], [[0.0], [1.0]]))
)  # age, age missing, colour = red, blue, missing, colour missing, dose


def question(weight, bias):
    return " ".join(write_question(VIEW, np.array(weight, dtype=float), bias, Digits.same(7, 4)).parts)


@given(st.floats(-1e300, 1e300), st.integers(1, 15))
def test_numbers_are_rounded_up_or_down(number, digits):
    low, high = (float(outward_text(number, digits, up=up)) for up in (False, True))
    assert low <= number <= high
    assert low == high or float(number_text(number, digits)) in (low, high)


@given(st.floats(-1e300, 1e300))
def test_seventeen_digits_read_back_exactly(number):
    assert float(number_text(number, 17)) == number
    shown = display_number(number, 17).replace(MINUS, "-").replace(",", "")
    assert float(shown) == pytest.approx(number)


@given(eighths(7), st.integers(-16, 16), eighths((5, 7)))
def test_what_is_written_can_be_evaluated(weight, bias, rows):
    written = write_sum(VIEW, weight, bias / 8, Digits.same(7, 17))
    np.testing.assert_array_equal(written(rows), rows @ weight + bias / 8)


@pytest.mark.parametrize(
    ("weight", "bias", "text"),
    [
        ([2, 80, 0, 0, 0, 0, 0], -3.0, "age > 1.5 or missing"),
        ([-2, 0, 0, 0, 0, 0, 0], 3.0, "age < 1.5 or missing"),
        ([2, 1, 0, 0, 0, 0, 0], -3.0, "age > 1.5 and not missing"),
        ([0, 2, 0, 0, 0, 0, 0], -1.0, "age is missing"),
        ([0, 0, 2, 0, 0, 0, 0], -1.0, "colour = red"),
        ([0, 0, 0, 0, 2, 0, 0], -1.0, "colour = missing"),
        ([0, 0, 0, 0, 0, 2, 0], -1.0, "colour is missing"),
        ([0, 0, -2, 0, 0, 0, 0], 1.0, "colour ≠ red"),
        ([0, 0, 2, 2, 0, 0, 0], -1.0, "colour in {red, blue}"),
        ([0, 0, 2, 0, 0, 0, -1], 0.0, "2 (colour = red) - dose > 0"),
        ([0, 0, 0, 0, 0, 0, 0], 1.0, "1 > 0"),
    ],
)
def test_splits_are_asked_as_people_would(weight, bias, text):
    assert question(weight, bias) == text


def test_longer_texts_come_with_more_room():
    weight = np.array([1.0, 41.5, -2.0, 0.5, 0.0, 0.0, 3.0])
    shown = [fit_condition(VIEW, weight, -4.0, weight, lambda text, n=n: len(text) <= n) for n in range(8, 100)]
    lengths = [len(text) for text in shown if text != "score > 0"]
    assert lengths == sorted(lengths)
    assert shown[0] == "score > 0"
    assert "…" not in shown[-1]
    # A threshold beside a part of the sum would mislead: "bill ... > -5,680".
    assert all(text.endswith(" > 0") for text in shown if "…" in text)
    assert shown[-1].endswith("> 0.0964")
    assert all(len(text) <= n or text == "score > 0" for n, text in zip(range(8, 100), shown))


def test_categories_are_cut_to_fit():
    weight = np.array([0, 0, 2.0, 2.0, 2.0, 0, 0])
    assert fit_condition(VIEW, weight, -1.0, weight, lambda text: len(text) <= 99) == "colour in {red, blue, missing}"
    assert fit_condition(VIEW, weight, -1.0, weight, lambda text: len(text) <= 25) == "colour in {red, blue, …}"


def test_terms_are_listed_the_largest_first():
    weight = np.array([0.0, 1.0, -3.0, 2.0, 0, 0, 0])
    assert largest_terms(weight) == [2, 3, 1]
    assert largest_terms(weight, np.array([9.0, 5.0, 1.0, 2.0, 0, 0, 0])) == [1, 3, 2]
    lines = fit_sum(VIEW, weight, 0.5, weight, lambda text: len(text) <= 24, 9)
    assert "\n".join(lines).startswith(f"0.5 {MINUS} 3 (colour = red)\n+ 2 (colour = blue)")


def test_a_constant_is_not_shown_beside_a_part_of_its_terms():
    weight = np.array([0.0, 1.0, -3.0, 2.0, 0, 0, 0])
    lines = fit_sum(VIEW, weight, -5680.0, weight, lambda text: len(text) <= 24, 2)
    assert lines == [f"{MINUS}3 (colour = red)", "+ 2 (colour = blue) …"]


@given(st.text(min_size=1, max_size=30), st.integers(0, 30))
def test_texts_are_cut_to_fit(text, room):
    short = shorten(text, lambda shown: len(shown) <= room)
    assert short == text or len(short) <= room
