"""Checks on what a tree is made of: one clear error for each way to be wrong.

Users enter at the constructors of ``Tree``, ``Column`` and ``Model``; what passes here
is trusted everywhere else.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Floats
from dtsemnet.names import first_repeated, is_utf8, shown

__all__ = [
    "Scalar", "Value", "check_leaves", "digest", "floats", "frozen", "labels", "names",
    "not_negative", "real", "scalars",
]  # fmt: skip

Scalar = str | int | float | bool
"""What a class or a category may be: a value that JSON writes and reads back unchanged."""

Kind = TypeVar("Kind", bound=Array)
_LONGEST = 1000
_MOST_LETTERS = 2**22  # in an array of numpy, at 4 bytes each


def floats(name: str, array: ArrayLike, shape: tuple[int | str, ...]) -> Floats:
    """Copy to a read-only float64 array of that shape; a word in ``shape`` allows any length but 0."""
    try:
        given = np.asarray(array)
        if given.dtype.kind not in "fiub" and given.size:
            raise ValueError(f"dtype {given.dtype}")
        copy = np.array(given, dtype=np.float64, order="C")
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name} must be an array of numbers, got {error}.") from None
    fits = copy.ndim == len(shape) and all(
        got > 0 if isinstance(want, str) else got == want for got, want in zip(copy.shape, shape)
    )
    if not fits:
        wanted = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ValueError(f"{name} must have shape ({wanted}), got {copy.shape}; see the docstring of Tree.")
    if not np.isfinite(copy).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(copy))[0])
        raise ValueError(f"{name} must be finite, got {copy[index]} at {list(index)}; drop the part that overflowed.")
    return frozen(copy)


def real(value: object) -> float | None:
    """A real number as a float; None for anything else: texts, flags, and numbers that float64 cannot hold."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def not_negative(name: str, value: object) -> float:
    """Read a finite number of at least 0."""
    number = real(value)
    if number is None or not 0 <= number < math.inf:
        raise ValueError(f"{name} must be a finite number not below 0, got {shown(value)}.")
    return number


def frozen(array: Kind) -> Kind:
    """Make an array of our own read-only."""
    array.setflags(write=False)
    return array


def names(name: str, given: Sequence[Scalar] | None, n_columns: int, array: str) -> tuple[Scalar, ...] | None:
    """Check the names of features or classes, which are the columns of an array."""
    if given is None:
        return None
    checked = scalars(name, given)
    if len(checked) != n_columns:
        raise ValueError(f"{name} must be {n_columns} names, one per column of {array}, got {len(checked)}.")
    return checked


def scalars(name: str, values: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Make a tuple of distinct JSON scalars; numpy's scalars become Python's."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must be a sequence, got {shown(values)}; wrap it in a list.")
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    for value in plain:
        if not isinstance(value, (str, int, float, bool)):
            raise TypeError(f"{name} must hold str, int, float or bool, got {shown(value)}; convert it.")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value!r}.")
        # Larger integers fit no array, and as many of them as one likes have the same hash.
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise ValueError(f"{name} must be integers of 64 bits, got {shown(value)}; write it as text.")
        if isinstance(value, str) and not is_utf8(value):
            raise ValueError(
                f"{name} must be text that UTF-8 can write, got {shown(value)} with half a surrogate pair."
            )
    if len(set(plain)) < len(plain):
        raise ValueError(f"{name} must be distinct, got {shown(first_repeated(plain))} twice; rename one of them.")
    return plain


def check_leaves(
    value: Floats, coef: Floats | None, lower: Floats | None, upper: Floats | None, *, classes: bool
) -> None:
    """Check what leaves hold against each other."""
    if classes:
        given = [name for name, array in [("coef", coef), ("lower", lower), ("upper", upper)] if array is not None]
        if given:
            raise ValueError(f"{given[0]} belongs to regressors, but class_names is given; leave out one of the two.")
        wrong = np.flatnonzero((value < 0).any(axis=1) | (np.abs(value.sum(axis=1) - 1) > 1e-6))
        if len(wrong):
            raise ValueError(
                f"value must hold class probabilities (not negative, sum 1), got {value[wrong[0], :10].tolist()} "
                f"in leaf {wrong[0]}; divide counts by their sum."
            )
    if lower is not None and upper is not None and (lower > upper).any():
        leaf, output = np.argwhere(lower > upper)[0]
        raise ValueError(
            f"lower must not exceed upper, got {lower[leaf, output]} > {upper[leaf, output]} in leaf {leaf}."
        )


def labels(names: Sequence[Scalar]) -> Array:
    """Make the array that labels are taken from; an object array if numpy's own types would not do.

    They would change some labels, and a long text among many labels would give all of them its width.
    """
    longest = max((len(name) for name in names if isinstance(name, str)), default=0)
    if len({type(name) for name in names}) == 1 and longest <= _LONGEST and longest * len(names) <= _MOST_LETTERS:
        array = np.asarray(names)
        if array.tolist() == list(names):  # numpy cuts trailing NUL characters
            return array
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


class Value:
    """Base of what never changes: its own copy, and equal to another of its class if the fingerprints are equal."""

    def fingerprint(self) -> str:
        """Hash the content."""
        raise NotImplementedError(f"{type(self).__name__} must define fingerprint.")

    def __eq__(self, other: object) -> bool:
        return self.fingerprint() == other.fingerprint() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def digest(header: Any, arrays: Mapping[str, Array] = {}) -> str:
    """Hash a canonical byte form: one line of JSON with names, types and shapes, then the numbers, little-endian."""
    described = {name: [array.dtype.str[1:], *array.shape] for name, array in arrays.items()}
    line = json.dumps([header, described], sort_keys=True, separators=(",", ":"), allow_nan=False)
    total = hashlib.sha256(line.encode() + b"\n")
    for name in sorted(arrays):
        total.update(arrays[name].astype(arrays[name].dtype.newbyteorder("<")).tobytes())
    return total.hexdigest()
