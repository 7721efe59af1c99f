"""The types of arrays, with one meaning each in every signature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Floats", "Ints"]

Floats = NDArray[np.floating[Any]]
"""float32 or float64; a docstring says so where only one of them will do."""
Ints = NDArray[np.integer[Any]]
"""Counts, indices and codes."""
Bools = NDArray[np.bool_]
Array = NDArray[Any]
"""An array of any type, such as labels or a column of a table."""
