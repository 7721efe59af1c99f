"""Reading fields of a parsed JSON document, each with its place in the error.

What ``json`` hands over is of any shape. These readers check before they convert
(lengths before arrays, types before numbers) and raise one ``ValueError`` that opens
with the field, such as ``tree.weight[3]: ...``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable
from typing import Any, NoReturn

import numpy as np

from dtsemnet.arrays import Array

__all__ = ["check_json", "fail", "get_object", "numbers", "parse", "read_array", "read_count", "read_list", "show"]

_DIGITS = 300  # an integer with more digits may exceed the range of float64


def parse(text: str) -> Any:
    """Parse JSON, with duplicate keys and deep nesting refused; numbers out of range come out as infinities."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_int=_integer)
    except RecursionError:
        raise ValueError("document: nested too deeply; a model file nests no deeper than ten levels.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"document: not valid JSON, {error.msg} in line {error.lineno}.") from None


def fail(field: str, problem: str) -> NoReturn:
    """Raise the error that names a field."""
    raise ValueError(f"{field}: {problem}")


def get_object(field: str, given: Any, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """Check that ``given`` is an object with all the required keys and none that is unknown."""
    if not isinstance(given, dict):
        fail(field, f"must be an object, got {show(given)}")
    for key in required:
        if key not in given:
            fail(f"{field}.{key}", "is missing")
    for key in given:
        if key not in required and key not in optional:
            fail(f"{field}.{key}"[:200], f"is unknown; known are {', '.join([*required, *optional])}")
    return given


def read_count(field: str, given: Any, least: int) -> int:
    """Read a count."""
    if type(given) is not int or not least <= given < 2**31:
        fail(field, f"must be an integer of at least {least}, got {show(given)}")
    return given


def read_list(field: str, given: Any, length: int | None = None) -> list[Any]:
    """Read a list, of the declared length where there is one."""
    if not isinstance(given, list):
        fail(field, f"must be a list, got {show(given)}")
    if length is not None and len(given) != length:
        fail(field, f"must have length {length}, as declared, got {len(given)}")
    return given


def read_array(field: str, given: Any, shape: tuple[int, ...], *, integer: bool = False) -> Array:
    """Read nested lists of exactly this shape."""
    rows: list[tuple[str, Any]] = [(field, given)]
    for length in shape[:-1]:
        rows = [(f"{place}[{i}]", row) for place, part in rows for i, row in enumerate(read_list(place, part, length))]
    # All lengths are checked before the first array is made.
    lists = [(place, read_list(place, part, shape[-1])) for place, part in rows]
    array = np.empty((len(lists), shape[-1]), dtype=np.int64 if integer else np.float64)
    for i, (place, row) in enumerate(lists):
        array[i] = numbers(place, row, integer=integer)
    return array.reshape(shape)


def numbers(field: str, row: list[Any], *, integer: bool = False) -> list[Any]:
    """Check that a list holds finite numbers (integers that fit 32 bits) and nothing else; booleans are not numbers."""
    kinds = {int} if integer else {int, float}
    if not set(map(type, row)) <= kinds or not all(map(math.isfinite, row)) or (integer and _too_large(row)):
        for i, number in enumerate(row):
            wrong = type(number) not in kinds or not math.isfinite(number) or (integer and _too_large([number]))
            if wrong:
                kind = "an integer below 2**31" if integer else "a finite number that float64 holds"
                fail(f"{field}[{i}]", f"must be {kind}, got {show(number)}")
    return row


def check_json(field: str, given: Any) -> None:
    """Check that free metadata can be written again: plain JSON, finite numbers, text that UTF-8 holds."""
    todo: list[tuple[str, Any, int]] = [(field, given, 0)]
    while todo:
        place, part, level = todo.pop()
        if level > 100:
            fail(field, "nested too deeply")
        if isinstance(part, dict):
            for key, content in part.items():
                if type(key) is not str:
                    fail(place, f"must have strings as keys, got {show(key)}")
                check_json(f"{place} key", key)
                todo.append((f"{place}.{key}"[:200], content, level + 1))
        elif isinstance(part, (list, tuple)):
            todo += [(f"{place}[{i}]"[:200], content, level + 1) for i, content in enumerate(part)]
        elif isinstance(part, str):
            if any("\ud800" <= letter <= "\udfff" for letter in part):
                fail(place, "holds half a surrogate pair, which UTF-8 cannot write")
        elif isinstance(part, float):
            if not math.isfinite(part):
                fail(place, f"must be finite, got {show(part)}")
        elif type(part) is int and abs(part) >= 10**_DIGITS:
            fail(place, "is too large a number")
        elif part is not None and type(part) not in (bool, int):
            fail(place, f"must be plain JSON, got {show(part)}")


def show(given: Any) -> str:
    """Show a value in an error, cut short."""
    if isinstance(given, (dict, list)):
        return f"{'an object' if isinstance(given, dict) else 'a list'} of length {len(given)}"
    shown = repr(given)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _too_large(row: Iterable[int]) -> bool:
    return any(not -(2**31) <= number < 2**31 for number in row)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        fail(show(twice), "the key stands twice in one object")
    return found


def _integer(digits: str) -> int | float:
    # An infinity is refused later, with the name of its field; int() of thousands of digits would take long.
    return int(digits) if len(digits) <= _DIGITS else math.copysign(math.inf, -1 if digits[0] == "-" else 1)
