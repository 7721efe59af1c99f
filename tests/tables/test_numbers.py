"""Numbers written as text: whatever the marks, the number comes back to the bit, or the user is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.tables.numbers import AmbiguousNumbers, NumberText, recognise

MARKS = [(".", ""), (",", ""), (",", "."), (".", ","), (",", " "), (".", "'"), (",", "'"), (".", "_")]
numbers = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False)


def write(number: float, decimal: str, thousands: str) -> str:
    """Write a number with these marks and all its digits."""
    whole, _, rest = f"{number:.20f}".rstrip("0").partition(".")
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    grouped = f"{int(whole):,}".replace(",", thousands)
    return sign + grouped + (decimal + rest if rest else "")


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([".", ","]))
def test_a_number_as_python_writes_it_comes_back_to_the_bit(number: float, decimal: str) -> None:
    assert NumberText(decimal).read(repr(number).replace(".", decimal)) == number


@given(numbers, st.sampled_from(MARKS), st.sampled_from(["", "%", "$", "kg", " EUR"]))
def test_groups_and_signs_do_not_change_the_number(number: float, marks: tuple[str, str], sign: str) -> None:
    text = write(number, *marks)
    assert NumberText(*marks, sign.strip()).read(text + sign) == float(write(number, ".", ""))


@given(st.lists(numbers, min_size=1), st.sampled_from(MARKS))
def test_the_marks_are_found_if_one_number_shows_them(column: list[float], marks: tuple[str, str]) -> None:
    texts = [write(number, *marks) for number in [*column, 1234567.5]]
    found = recognise(texts)
    assert found is not None
    way, strangers = found
    assert [way.read(text) for text in texts] == [float(write(n, ".", "")) for n in [*column, 1234567.5]]
    assert strangers == ()


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["3,75", "145,2"], 3.75),
        (["3,750", "12,000", "950"], 3750),
        (["1.234.567", "12.500"], 1234567),
        (["18.7%", "3 %"], 18.7),
        (["$3,750.50", "$20"], 3750.5),
        (["0,125", "0,250"], 0.125),
        (["1 234,5", "12"], 1234.5),
        (["(none)", "1.5"] + [f"{k}.5" for k in range(20)], None),
        (["\N{MINUS SIGN}3,5", "2,5"], -3.5),
        (["7", "3.125"], 7),
        (["EUR 7,5", "EUR 8", "EUR 9", "EUR 10", "EUR 11"], 7.5),
        (["1 year", "2 years", "3 years", "4 years", "5 years"], 1),
        (["7.5mg/dl", "8mg/dl", "9", "10 mg/dl", "11 mg/dl", "12 mg/dl"], 7.5),
        (["-3 °C", "0 °C", "2 °C", "5 °C", "9 °C"], -3),
        (["(1,250)", "300", "20"], -1250),
        (["($3,750)", "$20"], -3750),
    ],
)
def test_texts_that_say_what_they_mean(texts: list[str], first: float | None) -> None:
    found = recognise(texts)
    assert found is not None
    assert found[0].read(texts[0]) == first


@pytest.mark.parametrize("texts", [["3,750", "4,125"], ["12500", "3,750"]])
def test_texts_that_may_mean_either_are_asked_about(texts: list[str]) -> None:
    with pytest.raises(AmbiguousNumbers, match=r"'3,750' may be 3750 or 3\.750"):
        recognise(texts)
    for known, number in ((NumberText(","), 3.75), (NumberText(".", ","), 3750.0)):
        found = recognise(texts, known=known)
        assert found is not None
        assert found[0].read("3,750") == number


def test_what_a_point_means_follows_from_the_decimal_mark_of_the_file() -> None:
    alone, beside = recognise(["1.234", "950"]), recognise(["1.234", "950"], known=NumberText(","))
    assert alone is not None
    assert beside is not None
    assert (alone[0].read("1.234"), beside[0].read("1.234")) == (1.234, 1234.0)


@pytest.mark.parametrize(
    "texts",
    [["red", "blue"], ["a1", "a2"], ["1,2,3", "4,5"], ["1-2", "3-4"], ["?"], [], ["$5", "5€"], ["1.2.3.4"],
     ["2WD", "4WD"], ["(1)", "(2)"], ["(-1)", "2"], ["1st", "2nd", "3rd", "4th", "5th"], ["1 kg", "2 lb"] * 5,
     *([form.format(k) for k in range(9)] for form in ("{}th Street", "Q{}", "person {}", "A {}"))],
)  # fmt: skip
def test_texts_that_are_no_numbers(texts: list[str]) -> None:
    assert recognise(texts) is None


def test_marks_of_missing_values_are_told_apart_from_numbers() -> None:
    assert recognise(["1,5", "?", "n/a", "2,5"]) == (NumberText(","), ("?", "n/a"))
