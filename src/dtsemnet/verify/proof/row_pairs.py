"""Pairs of rows of one domain that differ in some columns alone, as the rows of a wider domain.

The columns that may change occur twice, so a row of the wider domain is a row and its changed values. The tree on the
row and the tree on the changed row form a product (:mod:`dtsemnet.verify.proof.leaf_pairs`), whose leaves are pairs of
leaves; a pair is explored, decided and proved like any other leaf. Splits that read no column that changes are the same
in both copies, and a pair that takes two sides of such a split is out of reach without a program.

Both rows lie in the domain. If a column may change by an amount at most, the difference of its two numbers is one more
linear constraint, and a missing value stays missing, unless the model reads a number in its place.

The relation is symmetric: of two pairs ``(a, b)`` and ``(b, a)`` one suffices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats, Ints
from dtsemnet.tree import Encoder, Model, Tree
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import round_down, round_up
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, column_number, encode_readings
from dtsemnet.verify.proof.leaf_pairs import ProductCuts, product
from dtsemnet.verify.proof.readings import Reading, is_absent
from dtsemnet.verify.proof.regions import Cuts

__all__ = ["Change", "ChangedCuts", "PairCuts", "RowPairs", "read_change"]


@dataclass(frozen=True)
class Change:
    """Columns that may change, each by an amount at most; None for any amount."""

    limits: Mapping[int, float | None]

    @property
    def columns(self) -> list[int]:
        """Numbers of the columns, in the order of the model."""
        return sorted(self.limits)

    def of(self, row: Array, base: EncodedDomain) -> EncodedDomain:
        """All rows of a domain that come from one row by such a change, itself among them."""
        readings = []
        for j, (reading, value) in enumerate(zip(base.readings, row.tolist())):
            if j not in self.limits:
                readings.append(reading.held_at(value))
            else:
                limit = self.limits[j]
                readings.append(reading if limit is None else _near(reading, value, limit))
        return encode_readings(base.model, base.domain, tuple(readings), base.constraints)


@dataclass(frozen=True, eq=False)
class RowPairs(EncodedDomain):
    """The pairs of rows of a domain; a leaf is a pair of leaves, as the model itself computes them."""

    base: EncodedDomain
    change: Change
    second_features: Ints
    """Where the features of the second row are among those of a pair."""

    @classmethod
    def of(cls, base: EncodedDomain, change: Change) -> RowPairs:
        """Make the pairs of rows of a domain."""
        model, moving = base.model, change.columns
        encoder, d = model.encoder, model.tree.n_features
        prefix = "changed "
        while any(name.startswith(prefix) for name in (*encoder.feature_names, *(c.name for c in encoder.columns))):
            prefix += "changed "
        copies = [replace(encoder.columns[j], name=f"{prefix}{encoder.columns[j].name}") for j in moving]
        second, end = np.arange(d), d
        for j in moving:
            part = encoder.features_of_column[j]
            size = part.stop - part.start
            second[part], end = np.arange(end, end + size), end + size
        wide = Encoder([*encoder.columns, *copies])
        pair = product(*(_on(model.tree, features, end) for features in (np.arange(d), second)))
        readings = (*base.readings, *(replace(base.readings[j], column=copy) for j, copy in zip(moving, copies)))
        constraints = _of_both_rows(base, moving)
        encoded = encode_readings(Model(wide, pair), base.domain, readings, constraints)
        near, within = _distance_rows(base, change, second, end)
        parts = vars(encoded) | {
            "rows": np.vstack([encoded.rows, near]),
            "bound": np.append(encoded.bound, within),
            "soft": np.append(encoded.soft, within > 0),
        }
        return cls(**parts, base=base, change=change, second_features=second)

    def two_rows(self, row: Array) -> tuple[Array, Array]:
        """The row and the changed row."""
        n = len(self.base.readings)
        first = row[:n].copy()
        second = first.copy()
        second[self.change.columns] = row[n:]
        return first, second

    def contains(self, row: Array) -> bool:
        first, second = self.two_rows(row)
        return super().contains(row) and all(
            limit is None or _is_within(self.base.readings[j], first[j], second[j], limit)
            for j, limit in self.change.limits.items()
        )

    def leaf_of(self, row: Array) -> int:
        model = self.base.model
        first, second = model.apply(np.stack(self.two_rows(row))).tolist()
        return int(first * model.tree.n_leaves + second)

    @property
    def row_names(self) -> list[str]:
        constraints, n = self.base.constraints, 0 if self.base.constraints is None else len(self.base.constraints[1])
        names = [f"A{k}" for k in range(n)]
        if constraints is not None:
            names += [f"B{k}" for k in np.flatnonzero(constraints[0][:, self.change.columns].any(axis=1))]
        names += self.names_of_choices
        for j, limit in self.change.limits.items():
            part = self.base.model.encoder.features_of_column[j]
            names += [] if limit is None else [f"by{k}{s}" for k in range(part.start, part.stop) for s in "+-"]
        return names

    def features_of_rows(self, Z: Floats) -> tuple[Floats, Floats]:
        """The features of both rows of pairs."""
        first, second = np.arange(len(self.second_features)), self.second_features
        return np.ascontiguousarray(Z[:, first]), np.ascontiguousarray(Z[:, second])


class PairCuts(ProductCuts):
    """Half-spaces of the product on pairs of rows.

    The model adds up the products of a changed row in the order of its own features. Only sums of changed rows read
    changed values, so that splits are parallel here if and only if the model adds up the same products in one order.
    """

    def __init__(self, pairs: RowPairs) -> None:
        super().__init__(pairs)
        self.pairs, self.two_trees = pairs, (pairs.base.model.tree, pairs.base.model.tree)

    def again(self) -> PairCuts:
        return PairCuts(RowPairs.of(bind(self.pairs.base.model, self.pairs.domain), self.pairs.change))

    def arrives(self, leaves: range) -> Callable[[Floats], Bools]:
        tree = self.pairs.base.model.tree

        def arrive(Z: Floats) -> Bools:
            first, second = (tree.apply(features) for features in self.pairs.features_of_rows(Z))
            found = first * tree.n_leaves + second
            return np.asarray((leaves.start <= found) & (found < leaves.stop))

        return arrive


class ChangedCuts(Cuts):
    """Half-spaces of a tree on the rows that one row may change to."""

    def __init__(self, base: EncodedDomain, row: Array, change: Change) -> None:
        super().__init__(change.of(row, base))
        self._row, self._change = row, change

    def again(self) -> ChangedCuts:
        return ChangedCuts(bind(self.encoded.model, self.encoded.domain), self._row, self._change)


def read_change(model: Model, columns: Any, by: Any) -> Change:
    """Read which columns change, and by how much at most."""
    listed: list[Any] = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
    numbers = [column_number(model, name, "columns") for name in listed]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"columns must name at least one column, and none twice, got {columns!r}.")
    limits: dict[int, float | None] = dict.fromkeys(numbers)
    if isinstance(by, Mapping):
        for name, amount in by.items():
            j = column_number(model, name, "by")
            if j not in limits:
                raise ValueError(f"by names column {name!r}, which is not among columns; add it there.")
            if model.encoder.columns[j].categories is not None:
                raise ValueError(f"by names column {name!r}, whose categories have no distance; leave it out of by.")
            limits[j] = amount
    elif by is not None:
        limits = {j: by if model.encoder.columns[j].categories is None else None for j in numbers}
        if all(limit is None for limit in limits.values()):
            raise ValueError(f"by needs a column of numbers, and columns has none, got {columns!r}; leave it out.")
    for j, limit in limits.items():
        column = model.encoder.columns[j]
        if limit is None:
            continue
        is_number = isinstance(limit, (int, float, np.number)) and not isinstance(limit, bool)
        if not (is_number and np.isfinite(limit) and limit > 0):
            raise ValueError(f"by must hold finite numbers above 0, got {limit!r} for column {column.name!r}.")
        limits[j] = float(limit)
    return Change(limits)


def _on(tree: Tree, features: Ints, n_features: int) -> Tree:
    """The tree on wider rows, with its features at given places."""
    weight = np.zeros((tree.n_splits, n_features))
    weight[:, features] = tree.weight
    return Tree(tree.topology, weight, tree.bias, np.zeros((tree.n_leaves, 1)))


def _of_both_rows(base: EncodedDomain, moving: list[int]) -> tuple[Floats, Floats] | None:
    """The constraints of the domain for a row and its changed values."""
    if base.constraints is None:
        return None
    A, b = base.constraints
    unchanged = np.column_stack([A, np.zeros((len(A), len(moving)))])
    changed = np.column_stack([A, A[:, moving]])
    changed[:, moving] = 0.0
    binds = A[:, moving].any(axis=1)
    return np.vstack([unchanged, changed[binds]]), np.append(b, b[binds])


def _distance_rows(base: EncodedDomain, change: Change, second: Ints, n_features: int) -> tuple[Floats, Floats]:
    """Rows of features for columns that change by an amount: numbers are near, and marks of missing values equal.

    A mapped column rounds, and clipping brings numbers closer together, so the rows are a little wider than the amount.
    """
    rows: list[Floats] = []
    bound: list[float] = []
    for j, limit in change.limits.items():
        if limit is None:
            continue
        column, part = base.readings[j].column, base.model.encoder.features_of_column[j]
        size = limit + 2 * (base.readings[j].largest + abs(column.center))
        room = 0.0 if column.center == 0.0 and column.scale == 1.0 else 2.0**-47 * size
        for k in range(part.start, part.stop):
            row = np.zeros(n_features)
            row[k], row[second[k]] = 1.0, -1.0
            rows += [row, -row]
            bound += [abs(column.scale) * (limit + room) if k == part.start else 0.0] * 2
    return np.array(rows).reshape(-1, n_features), np.array(bound, dtype=np.float64)


def _is_within(reading: Reading, first: Any, second: Any, limit: float) -> bool:
    """Whether two values of a column lie no farther apart than a limit; a missing value only from another."""
    if reading.column.has_indicator and is_absent(first) != is_absent(second):
        return False
    return abs(Fraction(reading.number(first)) - Fraction(reading.number(second))) <= Fraction(limit)


def _near(reading: Reading, value: Any, limit: float) -> Reading:
    """The values of a column of numbers that lie no farther than ``limit`` from one."""
    column = reading.column
    if is_absent(value) and not column.fills_missing:
        return reading.held_at(value)
    at = Fraction(reading.number(value))
    low, high = round_up(at - Fraction(limit)), round_down(at + Fraction(limit))
    may_miss = reading.may_miss and column.fills_missing and low <= column.fill <= high
    low, high = max(low, reading.low), min(high, reading.high)
    if not (reading.present and low <= high):
        return reading.held_at(value)  # the number that stands for a missing value lies far from all others
    if reading.is_integer and np.ceil(low) > np.floor(high):
        return reading.held_at(value)
    return replace(reading, low=low, high=high, may_miss=may_miss)
