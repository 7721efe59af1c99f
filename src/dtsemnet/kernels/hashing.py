"""A number for the content of each row, so that rows can be ordered and merged by what they hold.

Rows with equal content get equal numbers; rows with other content get other
numbers but for one chance in 2^64. Each value's bits are mixed in by a
multiplication and a shift (the finaliser of a 64-bit hash), -0.0 read as 0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from dtsemnet.arrays import Floats
from dtsemnet.kernels.jit import kernel

__all__ = ["mix_rows"]


@kernel
def mix_rows(rows: Floats, numbers: NDArray[np.uint64]) -> None:
    """Mix the float64 values of each row into its number, in place."""
    bits: Any = (rows + 0.0).view(np.uint64)  # the sum turns -0.0 into 0.0
    for i in range(len(rows)):
        h = uint64(numbers[i])
        for j in range(rows.shape[1]):
            h = (h ^ bits[i, j]) * uint64(0x9E3779B97F4A7C15)
            h ^= h >> uint64(32)
        numbers[i] = h
