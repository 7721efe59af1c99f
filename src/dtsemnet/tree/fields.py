"""Fields of a JSON document that nobody vouches for, read under one budget.

A file from elsewhere may be damaged, or made to harm. So a reader never believes what a file
declares: every count is backed by a list that is really there. The budget, all in one place:

* bytes: a longer file than ``max_bytes`` is not read;
* values: no more than one for every 16 of ``max_bytes``, or 16 million if that is more, counted before
  anything is parsed, because an empty list of three bytes takes 64 in memory;
* levels: no more than 100, one inside the other;
* digits: no integer has more than 300;
* width: ``n_features`` may stand alone, without a list of that length, only up to ``MAX_WIDTH_ALONE``.

All work here is linear in the length of the file, and all errors are one ``ValueError`` that opens
with the name of the field. Names of fields are made only for the error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.names import first_repeated, is_utf8, printable, shown

__all__ = [
    "MAX_BYTES",
    "MAX_WIDTH_ALONE",
    "check_json",
    "check_numbers",
    "fail",
    "name_field",
    "parse",
    "read_array",
    "read_count",
    "read_list",
    "read_object",
]

MAX_BYTES = 256 * 2**20
"""Largest file that is read unless a caller asks for more."""

MAX_WIDTH_ALONE = 10_000
"""Largest ``n_features`` that no list in the file backs: that of a tree of one leaf, without names or an encoder."""

_BYTES_PER_VALUE = 16
_MAX_LEVELS = 100
_MAX_DIGITS = 300  # an integer with more may exceed the range of float64
_MAX_FIELD = 200  # letters of the name of a field in an error

Made = TypeVar("Made")


def fail(field: str, problem: str) -> NoReturn:
    """Raise the one error of a file, which opens with the field."""
    raise ValueError(f"{printable(field[:_MAX_FIELD])}: {printable(problem)}")


def name_field(field: str, make: Callable[[], Made]) -> Made:
    """Make an object of checked fields; what it refuses is an error of the file."""
    try:
        return make()
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{printable(field[:_MAX_FIELD])}: {printable(error)}") from None


def parse(text: str, *, max_bytes: int = MAX_BYTES) -> Any:
    """Parse JSON within the budget; numbers out of range come out as infinities, which their fields refuse.

    Examples
    --------
    >>> parse('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: 'a': the key occurs twice in one object
    """
    # Each value but the first follows one of these; some more may stand in texts.
    n_values = sum(map(text.count, ",[{"))
    most = max(max_bytes, MAX_BYTES) // _BYTES_PER_VALUE
    if n_values > most:
        fail(
            "document",
            f"the file holds about {n_values:,} values, more than {most:,}; "
            f"pass max_bytes={_BYTES_PER_VALUE * n_values} if you trust it",
        )
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_int=_integer)
    except RecursionError:
        raise ValueError(f"document: nested too deeply; no more than {_MAX_LEVELS} levels are read.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"document: not valid JSON, {error.msg} in line {error.lineno}.") from None


def read_object(field: str, given: Any, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """Check that ``given`` is an object with all the required keys and none that is unknown."""
    if not isinstance(given, dict):
        fail(field, f"must be an object, got {shown(given)}")
    for key in required:
        if key not in given:
            fail(f"{field}.{key}", "is missing")
    for key in given:
        if key not in required and key not in optional:
            fail(f"{field}.{key}", f"is unknown; known are {', '.join([*required, *optional])}")
    return given


def read_count(field: str, given: Any, least: int) -> int:
    """Read a whole number that fits 31 bits."""
    if type(given) is not int or not least <= given < 2**31:
        fail(field, f"must be an integer of at least {least}, got {shown(given)}")
    return given


def read_list(field: str, given: Any, length: int | None = None) -> list[Any]:
    """Read a list, of the declared length if there is one."""
    if not isinstance(given, list):
        fail(field, f"must be a list, got {shown(given)}")
    if length is not None and len(given) != length:
        fail(field, f"must have length {length}, as declared, got {len(given)}")
    return given


def read_array(field: str, given: Any, shape: tuple[int, ...], *, integer: bool = False) -> Array:
    """Read nested lists of exactly this shape; all lengths are checked before the first array is made.

    Examples
    --------
    >>> read_array("tree.weight", [[1, 2], [3, None]], (2, 2))
    Traceback (most recent call last):
    ValueError: tree.weight[1][1]: must be a finite number that float64 holds, got None
    """
    rows = [given]
    for level, length in enumerate(shape):
        for i, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != length:
                read_list(_place(field, i, shape[:level]), row, length)
        if level < len(shape) - 1:
            rows = [part for row in rows for part in row]
    array = np.empty((len(rows), shape[-1]), dtype=np.int64 if integer else np.float64)
    for i, row in enumerate(rows):
        if _are_wrong(row, integer):
            check_numbers(_place(field, i, shape[:-1]), row, integer=integer)
        array[i] = row
    return array.reshape(shape)


def check_numbers(field: str, row: list[Any], *, integer: bool = False) -> list[Any]:
    """Check that a list holds finite numbers (integers that fit 32 bits) and nothing else; booleans are not numbers."""
    for i, number in enumerate(row if _are_wrong(row, integer) else []):
        if _are_wrong([number], integer):
            kind = "an integer below 2**31" if integer else "a finite number that float64 holds"
            fail(f"{field}[{i}]", f"must be {kind}, got {shown(number)}")
    return row


def check_json(field: str, given: Any) -> None:
    """Check that free metadata can be written again: plain JSON, finite numbers, text that UTF-8 holds."""
    problem = _find_problem(given, 0)
    if problem is not None:
        fail(field + problem[0], problem[1])


def _find_problem(part: Any, level: int) -> tuple[str, str] | None:
    """Find the first thing that JSON cannot hold: its place and what is wrong with it."""
    if isinstance(part, (dict, list, tuple)) and level > _MAX_LEVELS:
        return "", "nested too deeply"
    if isinstance(part, dict):
        for key, content in part.items():
            if type(key) is not str:
                return "", f"must have strings as keys, got {shown(key)}"
            found = _find_problem(key, level)
            if found is not None:
                return " key", found[1]
            found = _find_problem(content, level + 1)
            if found is not None:
                return f".{key[:_MAX_FIELD]}{found[0]}", found[1]
    elif isinstance(part, (list, tuple)):
        if not _is_plain(part):
            for i, content in enumerate(part):
                found = _find_problem(content, level + 1)
                if found is not None:
                    return f"[{i}]{found[0]}", found[1]
    elif isinstance(part, str):
        if not is_utf8(part):
            return "", "holds half a surrogate pair, which UTF-8 cannot write"
    elif isinstance(part, float):
        if not math.isfinite(part):
            return "", f"must be finite, got {shown(part)}"
    elif type(part) is int:
        if abs(part) >= 10**_MAX_DIGITS:
            return "", "is too large a number"
    elif part is not None and type(part) is not bool:
        return "", f"must be plain JSON, got {shown(part)}"
    return None


def _is_plain(numbers: Sequence[Any]) -> bool:
    """Whether a list holds nothing but good numbers of one type: a quick look at what most long lists are."""
    kinds = set(map(type, numbers))
    if kinds == {float}:
        return all(map(math.isfinite, numbers))
    return kinds == {int} and min(numbers) > -(10**_MAX_DIGITS) and max(numbers) < 10**_MAX_DIGITS


def _are_wrong(numbers: list[Any], integer: bool) -> bool:
    kinds = {int} if integer else {int, float}
    if not set(map(type, numbers)) <= kinds or not all(map(math.isfinite, numbers)):
        return True
    return integer and any(not -(2**31) <= number < 2**31 for number in numbers)


def _place(field: str, position: int, shape: tuple[int, ...]) -> str:
    """Name one entry of an array, which stands at this position if the entries are counted through."""
    indices = []
    for length in reversed(shape):
        position, index = divmod(position, length)
        indices.append(f"[{index}]")
    return field + "".join(reversed(indices))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        fail(shown(first_repeated(key for key, _ in pairs)), "the key occurs twice in one object")
    return unique


def _integer(digits: str) -> int | float:
    # An infinity is refused later, with the name of its field; int() of thousands of digits would take long.
    return int(digits) if len(digits) <= _MAX_DIGITS else math.copysign(math.inf, -1 if digits[0] == "-" else 1)
