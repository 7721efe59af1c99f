"""Values and conditions in SQL: names, doubles, categories, and what a column becomes.

A double is written so that every database reads exactly that number. A name or a category that holds a
character which would command a terminal is refused: SQL has no escape that all databases know.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from dtsemnet.tree import Column, Feature
from dtsemnet.tree._validate import Scalar

__all__ = ["NAN", "category", "clipped", "condition", "double", "filled", "identifier", "mapped", "number"]

NAN = "NULLIF(CAST('NaN' AS DOUBLE PRECISION), 0e0)"
"""NaN in databases that have it; NULL in sqlite, which casts the word to 0."""
_HIDDEN = frozenset(map(chr, [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)])) - {
    *"\t\n\r"
}
"""Characters that command a terminal or turn the reading direction; tabs and line breaks do occur in headings."""
_LARGEST = 62
"""2**62 is the largest power of two that a 64-bit integer holds."""


def identifier(name: str) -> str:
    """Quote a name.

    Examples
    --------
    >>> print(identifier('sepal "length"'))
    "sepal ""length""\"
    """
    return '"' + _plain(name).replace('"', '""') + '"'


def double(value: float) -> str:
    """Write a double so that every database reads exactly that number.

    Examples
    --------
    >>> double(3.0), double(-41.5), double(0.1)
    ('3e0', '-41.5e0', '(CAST(3602879701896397 AS DOUBLE PRECISION) / 36028797018963968e0)')
    """
    short = repr(value)
    # A decimal that is the number itself, not a neighbour, is read correctly by any algorithm.
    if "e" not in short and len(short) < 16 and Decimal(short) == Decimal(value):
        return f"{short.removesuffix('.0')}e0"
    top, bottom = Fraction(value).as_integer_ratio()
    shift, sign = bottom.bit_length() - 1, "/"
    if bottom == 1:
        zeros = (top & -top).bit_length() - 1
        top, shift, sign = top >> zeros, zeros, "*"
    factors = [_LARGEST] * (shift // _LARGEST) + [shift % _LARGEST] * (shift % _LARGEST > 0)
    return f"(CAST({top} AS DOUBLE PRECISION)" + "".join(f" {sign} {1 << k}e0" for k in factors) + ")"


def category(value: Scalar) -> str:
    """Write a category or a label.

    Examples
    --------
    >>> category("it's"), category(True), category(2)
    ("'it''s'", 'TRUE', '2')
    """
    if isinstance(value, str):
        return "'" + _plain(value).replace("'", "''") + "'"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value) if isinstance(value, int) else double(value)


def number(column: Column, table: str) -> str:
    """Write the number that a numeric column becomes."""
    return clipped(mapped(column, table + identifier(column.name)), column.lower, column.upper)


def clipped(value: str, lower: float | None, upper: float | None) -> str:
    """Write a number clipped to a range; an end that is None or infinite is none."""
    ends = [(sign, end) for sign, end in (("<", lower), (">", upper)) if end is not None and math.isfinite(end)]
    cases = [f"WHEN {value} {sign} {double(end)} THEN {double(end)}" for sign, end in ends]
    return f"CASE {' '.join(cases)} ELSE {value} END" if cases else value


def condition(feature: Feature, table: str) -> str:
    """Write the condition under which a feature for a category or a missing value is 1."""
    column, name = feature.column, table + identifier(feature.column.name)
    # No cast to a number if the column may hold something else.
    other = any(isinstance(value, (str, bool)) for value in column.categories or ())
    absent = f"{name if other else _present(name)} IS NULL"
    if feature.kind == "missing":
        return absent
    assert feature.category is not None
    equal = f"{name} = {category(feature.category)}"
    return f"{equal} OR {absent}" if column.fills_missing and feature.category == column.fill else equal


def mapped(column: Column, name: str) -> str:
    """Write the number of a column, filled and mapped, before it is clipped."""
    value = filled(column, name)
    if column.center != 0.0:
        value = f"({value} - {double(column.center)})"
    return value if column.scale == 1.0 else f"({value} * {double(column.scale)})"


def filled(column: Column, name: str) -> str:
    """Write the number of a column, its fill if it is missing."""
    if column.missing is None:
        return f"CAST({name} AS DOUBLE PRECISION)"
    return f"COALESCE({_present(name)}, {double(column.fill)})"


def _present(name: str) -> str:
    """Write the number of a column, NULL if it is missing."""
    return f"NULLIF(CAST({name} AS DOUBLE PRECISION), {NAN})"


def _plain(name: str) -> str:
    """Refuse what SQL cannot hold, or what would hide in it: it has no escapes that all databases know."""
    hidden = [letter for letter in name if letter in _HIDDEN]
    if hidden:
        raise ValueError(
            f"SQL has no way to escape the character {hidden[0]!r} in {name!r}, and a terminal that shows the "
            "expression would obey it; rename it."
        )
    return name
