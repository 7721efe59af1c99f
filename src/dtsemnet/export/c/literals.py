"""Identifiers, literals and comments of a C file, made from anything that a user may have named.

Numbers are hexadecimal floats: each denotes exactly one double, so nothing depends on how a
compiler rounds decimals or on the locale of the running program. Bytes of a string beyond
plain ASCII are octal escapes, which end after three digits (a hexadecimal escape would
swallow the digits behind it).
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

__all__ = ["KEYWORDS", "Identifiers", "check_name", "comment", "number_literal", "string_literal"]

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
asm bool catch class delete false friend namespace new operator private protected public template this throw true try
using virtual alignas alignof constexpr nullptr static_assert thread_local typeof
"""
KEYWORDS = frozenset(_KEYWORDS.split())
"""Words of C and C++ that no identifier may be."""

_COMMENT = frozenset(" _.,;:=+()<>%-#@!$'\"")
_LONGEST = 40  # C99 distinguishes identifiers by their first 63 characters


class Identifiers:
    """Hands out identifiers that differ from each other: the plain letters of a name behind a prefix.

    Examples
    --------
    >>> names = Identifiers()
    >>> names.take("tree_column_", "a b"), names.take("tree_column_", "a-b"), names.take("tree_column_", "größe")
    ('tree_column_a_b', 'tree_column_a_b_2', 'tree_column_gr_e')
    """

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)

    def take(self, prefix: str, name: Any) -> str:
        """Make an identifier of a name."""
        plain = re.sub(r"[^A-Za-z0-9]+", "_", str(name)).strip("_")[:_LONGEST] or "empty"
        identifier, count = prefix + plain, 1
        while identifier in self._taken:
            count += 1
            identifier = f"{prefix}{plain}_{count}"
        self._taken.add(identifier)
        return identifier


def check_name(name: str) -> None:
    """Refuse a prefix that is no C identifier, or one that C reserves."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"name must be a C identifier such as 'tree', got {name!r}; use letters, digits and _, a letter first."
        )
    if name in KEYWORDS:
        raise ValueError(f"name must be a C identifier, but {name!r} is a keyword of C or C++; use {name + '_tree'!r}.")


def number_literal(value: float, kind: str = "double") -> str:
    """Write a number so that it is read back exactly, rounded to a float first if ``kind`` is "float".

    Examples
    --------
    >>> number_literal(41.0), number_literal(0.1), number_literal(0.1, "float"), number_literal(-math.inf)
    ('41.0', '0x1.999999999999ap-4', '0x1.99999ap-4f', '-HUGE_VAL')
    """
    suffix = "f" if kind == "float" else ""
    if math.isinf(value):
        return f"{'-' * (value < 0)}HUGE_VAL{suffix.upper()}"
    if kind == "float":
        if abs(value) > float(np.finfo(np.float32).max):
            raise ValueError(f"number='float' cannot hold {value!r}, which is in this tree; use number='double'.")
        value = float(np.float32(value))
    if value == round(value) and abs(value) < 1e6:
        return repr(value) + suffix
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0')}p{exponent}{suffix}"


def string_literal(text: str) -> str:
    r"""Write a string literal.

    Examples
    --------
    >>> print(string_literal('say "µ"??/'))
    "say \042\302\265\042\077\077/"
    """
    if "\0" in text:
        raise ValueError(f"a C string ends at its first NUL character, so {text!r} cannot be written; rename it.")
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{"".join(plain)}"'


def comment(text: str) -> str:
    """Make text that cannot end a comment, continue a line or turn the reading direction.

    Examples
    --------
    >>> comment("km/h */ #include <größe>")
    'km_h __ #include <größe>'
    """
    return "".join(letter if letter.isalnum() or letter in _COMMENT else "_" for letter in text)
