"""Which numbers PostgreSQL can compute with: it raises an error if a result overflows, or underflows to 0.

An IEEE double becomes an infinity or 0 then, and the tree goes on; PostgreSQL ends the query,
for all its rows. So its dialect answers rows whose numbers are 0 or of a size between two bounds,
one pair for each column, and gives NULL for any other. The bounds follow from the weights. With
``|x| <= highest`` every product and every sum of a row stays below 1e250; with ``|x| >= lowest``
every product is above 1e-250, so that no sum of products and no multiple of it can vanish by
rounding. For a column with weights between 1e-10 and 1e10 they are about 1e-240 and 1e239.

Both bounds are powers of ten, far from where an error starts, so nothing depends on how exactly
a database reads them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Column, Model
from dtsemnet.tree.encoder import is_missing

__all__ = ["NAME_BYTES", "Limits"]

NAME_BYTES = 63
"""PostgreSQL cuts longer names, in tables and in queries."""

_LARGEST, _SMALLEST = 1e250, 1e-250
_WIDEST = 1e30
"""Bounds are to leave room for numbers of this size, or the model is refused."""


@dataclass(frozen=True)
class Limits:
    """Bounds of the numeric columns of a model, by the number of the column."""

    model: Model
    bounds: dict[int, tuple[float, float]]
    """Lowest and highest size of a number that is not 0; the lowest is 0 if the column is shifted before it is
    multiplied."""

    @classmethod
    def of(cls, model: Model) -> Limits:
        """Compute the bounds; raises ValueError if they would leave out ordinary numbers."""
        tree, bounds = model.tree, {}
        sums = [tree.weight] if tree.coef is None else [tree.weight, tree.coef.reshape(-1, tree.n_features)]
        matrix = np.concatenate(sums)
        _check_constants(model, matrix)
        for feature in model.encoder.features:
            if feature.kind == "number":
                weight = np.abs(matrix[:, feature.index])
                bounds[feature.column_index] = _bounds(feature.column, weight[weight > 0], tree.n_features)
        return cls(model, bounds)

    def condition(self, column: int, value: str) -> str:
        """Write the condition under which the number of a column is within its bounds; ``value`` is its text."""
        lowest, highest = self.bounds[column]
        if lowest == 0.0:
            return f"ABS({value}) <= {_power(highest)}"
        return f"(ABS({value}) BETWEEN {_power(lowest)} AND {_power(highest)} OR {value} = 0e0)"

    def contain(self, rows: Array) -> Bools:
        """Whether all numbers of each row are within their bounds."""
        inside = np.ones(len(rows), dtype=bool)
        for j, (lowest, highest) in self.bounds.items():
            column, values = self.model.encoder.columns[j], rows[:, j]
            missing = is_missing(values)
            size = np.full(len(rows), abs(float(column.fill)) if column.missing else math.inf)
            size[~missing] = np.abs(values[~missing].astype(np.float64))
            inside &= (size <= highest) & ((size >= lowest) | (size == 0.0))
        return inside


def _check_constants(model: Model, matrix: Floats) -> None:
    tree, probability = model.tree, model.probability
    constants = np.abs(np.concatenate([matrix.ravel(), tree.bias, tree.value.ravel()]))
    _refuse(constants.max(initial=0.0) > _LARGEST, "a number of the tree is too large")
    if probability is not None and probability.rate:
        _refuse(not 1e-30 < probability.rate < 1e30, f"the rate {probability.rate} of the probabilities is too extreme")
        _refuse((constants[constants > 0] < _SMALLEST).any(), "a number of the tree is too small")


def _bounds(column: Column, weight: Floats, n_features: int) -> tuple[float, float]:
    scale, center = abs(column.scale), abs(column.center)
    ends = [abs(end) for end in (column.lower, column.upper) if end is not None]
    least, most = float(weight.min(initial=1.0)), float(weight.max(initial=0.0)) * n_features
    highest, lowest = _LARGEST / max(1.0, scale, scale * most), _SMALLEST / scale / least
    if len(ends) == 2:  # a clipped number is no larger than its ends, whatever it was
        highest = _LARGEST / max(1.0, scale)
        _refuse(max(ends) * most > _LARGEST, f"the bounds of column {column.name!r} are too large")
    _refuse(any(0 < end * least < _SMALLEST for end in ends), f"a bound of column {column.name!r} is too small")
    if center > 0:  # the difference of two doubles is 0, or not much smaller than the last digit of either
        _refuse(center * 2.0**-54 < lowest, f"the centre of column {column.name!r} is too small")
        lowest = 0.0
    extreme = lowest > 0.1 / _WIDEST or highest < 100 * max(_WIDEST, center)
    _refuse(extreme, f"the weights of column {column.name!r} span too many magnitudes")
    lowest = 10.0 ** math.ceil(math.log10(lowest)) if lowest else 0.0
    highest = 10.0 ** (math.floor(math.log10(highest)) - 1)
    fill = abs(float(column.fill)) if column.missing else 0.0
    _refuse(fill > highest or 0 < fill < lowest, f"the fill {column.fill} of column {column.name!r} is too extreme")
    return lowest, highest


def _refuse(condition: bool, reason: str) -> None:
    if condition:
        raise ValueError(
            f"dialect='postgresql' cannot hold this model: PostgreSQL raises an error where a result overflows or "
            f"underflows, and {reason} to rule that out; rescale the columns, or use a database with IEEE arithmetic."
        )


def _power(value: float) -> str:
    return f"1e{round(math.log10(value))}"
