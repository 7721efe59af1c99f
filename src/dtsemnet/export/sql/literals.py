"""Names and literals of SQL, and the features of an encoder as expressions.

Databases differ in how they read decimals: sqlite 3.40 misreads one literal of 17 digits in
ten thousand by its last bit, duckdb takes 0.1 for a DECIMAL, PostgreSQL 1e0 for a NUMERIC.
So a double is written as what it is, an integer over a power of two: both are read exactly
by everyone, and their quotient is exact. A missing value is NULL. NaN, which only some
databases have, counts as missing: ``NULLIF(x, NAN)`` makes it one.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from dtsemnet.tree import Column, Feature
from dtsemnet.tree._validate import Scalar

__all__ = ["NAN", "acceptance", "category", "clipped", "condition", "double", "identifier", "number"]

NAN = "NULLIF(CAST('NaN' AS DOUBLE PRECISION), 0e0)"
"""NaN in databases that have it; NULL in sqlite, which casts the word to 0."""

_LARGEST = 62  # 2**62 is the largest power of two that a 64-bit integer holds


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
    return clipped(_mapped(column, table + identifier(column.name)), column.lower, column.upper)


def clipped(value: str, lower: float | None, upper: float | None) -> str:
    """Write a number clipped to a range; an end that is None or infinite is none."""
    ends = [(sign, end) for sign, end in (("<", lower), (">", upper)) if end is not None and math.isfinite(end)]
    cases = [f"WHEN {value} {sign} {double(end)} THEN {double(end)}" for sign, end in ends]
    return f"CASE {' '.join(cases)} ELSE {value} END" if cases else value


def condition(feature: Feature, table: str) -> str:
    """Write the condition under which a feature for a category or a missing value is 1."""
    name = table + identifier(feature.column.name)
    if feature.kind == "category":
        assert feature.category is not None
        return f"{name} = {category(feature.category)}"
    # No cast to a number if the column may hold something else.
    other = any(isinstance(value, (str, bool)) for value in feature.column.categories or ())
    return f"{name if other else _present(name)} IS NULL"


def acceptance(column: Column, table: str) -> str:
    """Write the condition under which the tree accepts a number: finite, and not missing unless the tree knows that."""
    name = table + identifier(column.name)
    # A bound hides an infinity behind it, so then the column itself is tested.
    value = _filled(column, name) if column.is_clipped else _mapped(column, name)
    return f"{value} - {value} = 0e0"  # inf - inf is NaN, and neither that nor NULL is equal to 0


def _mapped(column: Column, name: str) -> str:
    value = _filled(column, name)
    if column.center != 0.0:
        value = f"({value} - {double(column.center)})"
    return value if column.scale == 1.0 else f"({value} * {double(column.scale)})"


def _filled(column: Column, name: str) -> str:
    if column.missing is None:
        return f"CAST({name} AS DOUBLE PRECISION)"
    return f"COALESCE({_present(name)}, {double(column.fill)})"


def _present(name: str) -> str:
    """Write the number of a column, NULL if it is missing."""
    return f"NULLIF(CAST({name} AS DOUBLE PRECISION), {NAN})"


def _plain(name: str) -> str:
    if "\0" in name:
        raise ValueError(f"SQL has no way to write the NUL character in {name!r}; rename it.")
    return name
