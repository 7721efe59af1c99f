"""Names for people command no terminal; names for programs keep every character."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.names import first_repeated, is_utf8, printable, printable_json, shown

HARMFUL = [*"\x1b\x07\n\r\t\0\x7f\x9b\u202e\u2066\u200f\u2028\ufeff\U000e0041"]
HARMLESS = [
    "größe µ/m²",
    "日本　語",
    "a\xa0b",
    "\u0645\u06cc\u200c\u062e",
    "\N{MAN}\u200d\N{WOMAN}",
    "",
    " ",
    "a\\b",
    "'\"",
]


@pytest.mark.parametrize("letter", HARMFUL)
def test_a_harmful_character_is_escaped(letter: str) -> None:
    text = printable(f"a{letter}b")
    assert text.isprintable()
    assert text == "a" + letter.encode("unicode_escape").decode() + "b"


@pytest.mark.parametrize("name", HARMLESS)
def test_an_ordinary_name_is_left_alone(name: str) -> None:
    assert printable(name) == name


@given(st.text())
def test_no_text_gives_a_control_character(name: str) -> None:
    assert not set(printable(name)) & set(HARMFUL)
    assert not set(shown(name)) & set(HARMFUL)
    assert len(shown(name)) <= 60


@given(st.recursive(st.text() | st.integers(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)))
def test_json_keeps_its_meaning(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    assert json.loads(printable_json(text)) == value
    assert not set(printable_json(text)) & (set(HARMFUL) - {"\n"})


def test_values_in_messages_are_short() -> None:
    assert shown(10**5000) == "a number of int with thousands of digits"
    assert shown("a" * 10**6) == "'" + "a" * 56 + "..."
    assert shown({"a": 1}) == "an object of length 1"


def test_surrogates_and_repetitions_are_found() -> None:
    assert not is_utf8("a\ud800")
    assert is_utf8("aé😀")
    assert first_repeated(["a", "b", "b", "a"]) == "b"
    with pytest.raises(ValueError, match="distinct"):
        first_repeated(["a", "b"])
