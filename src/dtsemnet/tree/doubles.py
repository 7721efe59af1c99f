"""The order of the doubles: every finite double has a rank, and neighbouring doubles have neighbouring ranks.

Read as a signed integer, the bits of a positive double grow with it; those of a negative one
fall. Mirroring the negative ones gives integers in the order of the numbers, with 0.0 and -0.0
both at rank 0. A bisection over ranks therefore finds the exact double at which a monotone
condition changes, in at most 64 steps.
"""

from __future__ import annotations

import numpy as np

from dtsemnet.arrays import Floats, Ints

__all__ = ["double_at", "rank_of"]

_LOWEST = np.iinfo(np.int64).min


def rank_of(x: Floats | float) -> Ints:
    """Number the doubles in increasing order.

    Examples
    --------
    >>> rank_of(np.array([-5e-324, -0.0, 0.0, 5e-324]))
    array([-1,  0,  0,  1])
    >>> int(rank_of(np.nextafter(1.0, 2.0)) - rank_of(1.0))
    1
    """
    bits = np.ascontiguousarray(np.asarray(x, dtype=np.float64) + 0.0).view(np.int64).reshape(np.shape(x))
    return np.where(bits >= 0, bits, _LOWEST - bits)


def double_at(rank: Ints | int) -> Floats:
    """Find the double of a rank; the inverse of :func:`rank_of`.

    Examples
    --------
    >>> double_at(np.array([-1, 0, 1])).tolist()
    [-5e-324, 0.0, 5e-324]
    """
    rank = np.asarray(rank, dtype=np.int64)
    return np.where(rank >= 0, rank, _LOWEST - rank).view(np.float64)
