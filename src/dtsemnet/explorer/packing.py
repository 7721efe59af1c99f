"""Arrays inside JSON: exact, small, and quick to read.

The numbers of an array are written as bytes in base64, in the smallest type that holds all of them
exactly (bytes, float32, float64; little-endian), and JavaScript reads them as doubles. If most of
the numbers are zeros, as in axis-aligned trees, only the others are written, with their positions.
Negative zeros and NaN are kept.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Floats

__all__ = ["pack"]

_SPARSE = 0.25  # share of non-zeros below which positions and numbers are shorter than all numbers


def pack(array: ArrayLike) -> dict[str, Any]:
    """Write an array of float64 as a JSON object.

    Returns
    -------
    dict
        ``shape``; ``type`` ("u1", "f4" or "f8"); ``data``, the numbers in base64. A sparse array also has ``place``,
        the flat positions of the numbers (uint32 in base64); all other numbers are 0.

    Examples
    --------
    >>> pack([[1.0, 255.0]])
    {'shape': [1, 2], 'type': 'u1', 'data': 'Af8='}
    >>> pack(np.eye(1, 8))["place"]
    'AAAAAA=='
    """
    numbers = np.asarray(array, dtype=np.float64)
    packed: dict[str, Any] = {"shape": list(numbers.shape)}
    flat = numbers.ravel()
    place = np.flatnonzero(flat.view(np.uint64))  # by bits, since -0.0 must be kept
    if len(place) < _SPARSE * flat.size:
        packed["place"] = _base64(place.astype("<u4"))
        flat = flat[place]
    kind = _smallest_type(flat)
    return packed | {"type": kind, "data": _base64(flat.astype("<" + kind))}


def _smallest_type(flat: Floats) -> str:
    for kind in ("u1", "f4"):
        with np.errstate(over="ignore", invalid="ignore"):
            back = flat.astype(kind).astype(np.float64)
        if np.array_equal(back.view(np.uint64), flat.view(np.uint64)):
            return kind
    return "f8"


def _base64(array: Array) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
