"""Names and values as people may see them: nothing in them commands a terminal or reorders a line.

The names of columns, categories and classes come from data and from files that somebody else
wrote. A name may hold the escape codes of a terminal (which move the cursor, change its title or
hide text), a line break, or a character that makes the rest of a line run from right to left.
:func:`printable` writes such characters as Python would escape them, ``\\x1b`` or ``\\u202e``, and
leaves all others alone. :func:`shown` writes any value into an error message, cut short.

Whatever a person reads (text, tables, drawings, messages, the command line) passes through here.
What a program reads keeps the name: CSV as it is, JSON and the model file in JSON's own escapes.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Hashable, Iterable
from typing import TypeVar

__all__ = ["first_repeated", "is_utf8", "printable", "printable_json", "quoted", "shown"]

Name = TypeVar("Name", bound=Hashable)

# Joiners are invisible, but words of Persian and many emoji are spelt with them, and they reorder nothing.
MOST_LETTERS = 300
"""Letters of a name that a message shows."""
_KEPT = frozenset("\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(name: object) -> str:
    """Write a name for people: control characters and those that change the direction of text are escaped.

    Parameters
    ----------
    name : object
        A name, or a category or class, which may be a number; it is written by ``str``.

    Examples
    --------
    >>> printable("größe µ/m²"), printable(1.5)
    ('größe µ/m²', '1.5')
    >>> print(printable("red\\x1b[2J\\n"))
    red\\x1b[2J\\n
    """
    text = str(name)
    if text.isprintable():
        return text
    return "".join(letter if _is_harmless(letter) else _escaped(letter) for letter in text)


def quoted(name: object) -> str:
    """Quote a name, as messages show it; one of hundreds of letters is cut, a path never.

    Examples
    --------
    >>> print(quoted("age"))
    'age'
    """
    if isinstance(name, str) and len(name) > MOST_LETTERS:
        name = f"{name[:MOST_LETTERS]}..."
    return f"'{printable(name)}'"


def printable_json(text: str) -> str:
    """Escape the same characters in a text of JSON, in JSON's own way: it reads as before, and keeps the data.

    Examples
    --------
    >>> print(printable_json('{"name": "größe \u202e"}'))
    {"name": "größe \\u202e"}
    """
    if text.replace("\n", "").isprintable():
        return text
    # All such characters stand in texts: between them JSON has spaces and line breaks alone.
    return "".join(c if c == "\n" or _is_harmless(c) else json.dumps(c)[1:-1] for c in text)


def shown(value: object, length: int = 60) -> str:
    """Write a value in an error message: as Python would, cut short; a list or an object by its length.

    Examples
    --------
    >>> shown("a"), shown(list("abc")), shown("a" * 100, 10)
    ("'a'", 'a list of length 3', "'aaaaaa...")
    """
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of length {len(value)}"
    if isinstance(value, str):
        value = value[: length + 1]  # what is cut anyway is not escaped first
    try:
        text = printable(repr(value))
    except ValueError:  # Python refuses to write integers of thousands of digits
        text = f"a number of {type(value).__name__} with thousands of digits"
    return text if len(text) <= length else text[: length - 3] + "..."


def is_utf8(text: str) -> bool:
    """Whether UTF-8 can write a text: it holds no half of a surrogate pair."""
    return text.isascii() or _SURROGATE.search(text) is None


def first_repeated(names: Iterable[Name]) -> Name:
    """Find the first name that occurs a second time, in linear time; raise ValueError if there is none."""
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise ValueError("names are distinct.")


def _is_harmless(letter: str) -> bool:
    return letter.isprintable() or letter in _KEPT or unicodedata.category(letter) == "Zs"


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
