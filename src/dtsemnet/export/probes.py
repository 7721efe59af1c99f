"""Rows that reveal a wrong export: random rows, rows on and beside every hyperplane, and extreme rows.

Rows are a table: a float64 array of shape (n_rows, n_columns) with NaN for missing numbers,
or, if the encoder has categories, an array of objects with None for missing values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Model, raw_view
from dtsemnet.tree.doubles import double_at, rank_of
from dtsemnet.tree.encoder import is_missing

__all__ = ["probe_rows", "read_table"]

Table = Array
EXTREME = (0.0, -0.0, 5e-324, 1e-300, 1e-30, 1.0, 1e30, 1e150, 1e300, 1.7976931348623157e308)


def read_table(model: Model, X: Any) -> Table:
    """Read rows of an array or a data frame into a table."""
    given = model.encoder.read_columns(X)
    table = _empty(model, len(given[0]))
    for j, (column, values) in enumerate(zip(model.encoder.columns, given)):
        missing, is_number = is_missing(values), column.categories is None
        table[missing, j] = np.nan if is_number else None
        table[~missing, j] = values[~missing].astype(np.float64) if is_number else values[~missing]
    return table


def probe_rows(model: Model, X: Table | None, n_rows: int, rng: np.random.Generator) -> Table:
    """Draw about n_rows rows that the model accepts, beside rows X to start from if there are any.

    More than half are random, on the scale of the tree's thresholds, a tenth extreme, the rest beside hyperplanes: at
    each split between 3 and 200 pairs, one row on either side.
    """
    spread = _spread(model)
    base = _random(model, spread, max(8, 6 * n_rows // 10), rng)
    if X is not None and len(X):  # the user's rows show where the tree is used
        base = np.concatenate([base, X[rng.integers(len(X), size=len(base))]])
    base = _accepted(model, base)
    if not len(base):  # the sums of this tree overflow on most rows, but not on zeros
        zeros = _empty(model, 1)
        zeros[0] = [0.0 if column.categories is None else None for column in model.encoder.columns]
        base = _accepted(model, zeros)
    beside = _beside(model, base, min(200, max(3, n_rows // (6 * max(1, model.tree.n_splits)))), rng)
    extreme = _extreme(model, base, max(8, n_rows // 10), rng)
    return _accepted(model, np.concatenate([base, beside, extreme]))


def _random(model: Model, spread: Array, n_rows: int, rng: np.random.Generator) -> Table:
    table = _empty(model, n_rows)
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None:
            table[:, j] = rng.normal(size=n_rows) * spread[j] * rng.choice([0.1, 1.0, 3.0], n_rows)
            if column.missing is not None:
                table[rng.random(n_rows) < 0.1, j] = np.nan
        else:
            # One value that no encoder knows represents all of them.
            texts = all(isinstance(category, str) for category in column.categories[:1])
            unknown = "\u2205 unknown" if texts else 1e9 + 0.5
            values = [*column.categories, unknown, None]
            table[:, j] = [values[k] for k in rng.integers(len(values), size=n_rows)]
    return table


def _spread(model: Model) -> Floats:
    """Scale of each column: the median of the thresholds that the splits would put on it if they used no other."""
    folded = raw_view(model).tree
    scale = np.ones(model.encoder.n_columns)
    for feature in model.encoder.features:
        weight = folded.weight[:, feature.index]
        used = weight != 0
        if used.any() and feature.kind == "number":
            with np.errstate(over="ignore"):
                threshold = np.abs(folded.bias[used] / weight[used])
            threshold = threshold[np.isfinite(threshold) & (threshold > 0)]
            scale[feature.column_index] = np.median(threshold) if len(threshold) else 1.0
    return scale


def _beside(model: Model, base: Table, n_each: int, rng: np.random.Generator) -> Table:
    """Move rows along one column to where each split flips: the last double on its left, the first on its right."""
    slope, path = _slopes(model), model.decision_path(base)
    rows, split, column = [], [], []
    for i in range(model.tree.n_splits):
        used = np.flatnonzero(slope[i])
        if not len(used):
            continue
        reaching = np.flatnonzero((path == i).any(axis=1))
        candidates = reaching if len(reaching) else np.arange(len(base))
        rows.append(base[rng.choice(candidates, n_each)])
        split += [i] * n_each
        column += rng.choice(used, n_each).tolist()
    if not rows:
        return base[:0]
    return _Line(model, np.concatenate(rows), np.array(split), np.array(column), slope[split, column]).flips()


def _slopes(model: Model) -> Floats:
    """How the score of each split grows with each column; 0 for columns of categories."""
    slope = np.zeros((model.tree.n_splits, model.encoder.n_columns))
    for feature in model.encoder.features:
        if feature.kind == "number":
            slope[:, feature.column_index] = model.tree.weight[:, feature.index] * feature.column.scale
    return slope


class _Line:
    """Rows, each with a split to move to and the column along which it moves."""

    def __init__(self, model: Model, rows: Table, split: Array, column: Array, slope: Floats) -> None:
        self.model, self.rows, self.each = model, rows.copy(), np.arange(len(rows))
        self.weight, self.bias = model.tree.weight[split], model.tree.bias[split]
        self.column, self.slope = column, slope

    def flips(self) -> Table:
        """Step outwards from where the score would be 0 until it changes its sign, then halve the distance."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            left, right = self._around()
            side = self.score(left) > 0
            crossed = side != (self.score(right) > 0)
            low, high = rank_of(left), rank_of(right)
            while ((high - low) > 1)[crossed].any():
                middle = low + (high - low) // 2
                same = (self.score(double_at(middle)) > 0) == side
                low, high = np.where(same, middle, low), np.where(same, high, middle)
        return np.concatenate([self.at(double_at(end))[crossed] for end in (low, high)])

    def _around(self) -> tuple[Floats, Floats]:
        start = self.rows[self.each, self.column].astype(np.float64)
        start = np.where(np.isnan(start), 0.0, start)
        for _ in range(2):  # two steps of Newton's method: the score is linear, so only rounding remains
            moved = start - self.score(start) / self.slope
            start = np.where(np.isfinite(moved), moved, start)
        step = np.maximum(np.spacing(np.abs(start)), 1e-16)
        left, right = start, start
        for _ in range(80):
            same = (self.score(left) > 0) == (self.score(right) > 0)
            if not same.any():
                break
            left, right = np.where(same, start - step, left), np.where(same, start + step, right)
            step = step * np.where(same, 2.0, 1.0)
        return left, right

    def at(self, x: Floats) -> Table:
        rows = self.rows.copy()
        rows[self.each, self.column] = x
        return rows

    def score(self, x: Floats) -> Floats:
        """Score of each row's own split, in the documented order; NaN if a sum overflows both ways."""
        x = np.where(np.isfinite(x), x, 0.0)
        product = self.weight * self.model.transform(self.at(x))
        lanes = np.zeros((len(x), LANES))
        for start in range(0, product.shape[1], LANES):
            part = product[:, start : start + LANES]
            lanes[:, : part.shape[1]] += part
        half = LANES // 2
        while half:
            lanes[:, :half] += lanes[:, half : 2 * half]
            half //= 2
        total: Floats = lanes[:, 0] + self.bias
        return total


def _extreme(model: Model, base: Table, n_rows: int, rng: np.random.Generator) -> Table:
    rows = base[rng.integers(len(base), size=n_rows)].copy()
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None:
            chosen = np.flatnonzero(rng.random(n_rows) < 0.5)
            rows[chosen, j] = rng.choice(EXTREME, len(chosen)) * rng.choice([-1.0, 1.0], len(chosen))
    return rows


def _accepted(model: Model, table: Table) -> Table:
    """Leave out rows that the model refuses because a sum overflows."""
    try:
        model.predict(table)
        if model.probability is not None:  # it reads all splits, not those of the path alone
            model.predict_proba(table)
        return table
    except ValueError:
        if len(table) == 1:
            return table[:0]
    half = len(table) // 2
    return np.concatenate([_accepted(model, table[:half]), _accepted(model, table[half:])])


def _empty(model: Model, n_rows: int) -> Table:
    return np.empty((n_rows, model.encoder.n_columns), dtype=np.float64 if model.encoder.is_numeric else object)
