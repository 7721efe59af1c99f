"""Models with every kind of column on domains of few rows, which are listed without the library.

The list says what lies in the domain: the oracle of every question is ``predict`` on all of these rows. Weights are
such that ties, parallel splits and empty leaves are frequent.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain

STRANGE = "a value of no table"


@dataclass
class Case:
    model: Model
    domain: Domain
    rows: np.ndarray
    """All rows of the domain."""

    def holds(self, row: Any) -> bool:
        """Whether a row is one of them; values unknown to the model are all alike."""
        return any(self._same_row(row, other) for other in self.rows)

    def _same_row(self, row: Any, other: Any, but: int = -1) -> bool:
        """Whether two rows are the same to the model, except in one column."""
        triples = enumerate(zip(self.model.encoder.columns, row, other))
        return all(j == but or self._same(*triple) for j, triple in triples)

    @staticmethod
    def _same(column: Column, a: Any, b: Any) -> bool:
        if column.missing == "fill":
            a, b = (column.fill if _absent(x) else x for x in (a, b))
        if _absent(a) or _absent(b):
            return _absent(a) and _absent(b)
        if column.categories is not None:
            known = [x in column.categories for x in (a, b)]
            return a == b if all(known) else known[0] == known[1]
        return float(a) == float(b)


def _absent(value: Any) -> bool:
    return value is None or value != value


def finite_case(seed: int, kind: str = "class", max_rows: int = 400) -> Case:
    """A random model and domain; ``kind`` is "class", "constant" or "linear"."""
    rng = np.random.default_rng(seed)
    while True:
        made = [_column(rng, f"c{j}" if rng.random() < 0.5 else f"column {j}") for j in range(rng.integers(1, 5))]
        columns, values = [column for column, *_ in made], [allowed for _, allowed, *_ in made]
        n = np.prod([len(allowed) for allowed in values])
        if n <= max_rows and len({column.name for column in columns}) == len(columns):
            break
    restrictions: dict[str, Any] = {"categories": {}, "missing": [], "unknown": [], "integer": [], "fixed": {}}
    lower, upper = np.full(len(made), -99.0), np.full(len(made), 99.0)
    for j, (column, allowed, said) in enumerate(made):
        name = j if rng.random() < 0.5 else column.name
        for argument, value in said.items():
            if argument == "ends":
                lower[j], upper[j] = value
            elif argument in ("categories", "fixed"):
                restrictions[argument][name] = value
            else:
                restrictions[argument].append(name)
        del allowed
    rows = np.array(list(itertools.product(*values)), dtype=object).reshape(-1, len(made))
    plain = [j for j, column in enumerate(columns) if column.categories is None and column.missing != "indicator"]
    if plain and rng.random() < 0.4:
        a = np.zeros((1, len(made)))
        a[0, plain] = rng.integers(-4, 5, len(plain)) / 4
        height = [_height(a[0], columns, row, plain) for row in rows]
        b = np.nextafter(float(height[rng.integers(len(height))]), np.inf)  # attained: the domain is not empty
        restrictions |= {"A": a, "b": [b]}
        rows = rows[[h <= Fraction(float(b)) for h in height]]
    encoder = Encoder(columns)
    if encoder.is_numeric:
        rows = rows.astype(np.float64)
    return Case(Model(encoder, finite_tree(rng, encoder.n_features, kind)), Domain(lower, upper, **restrictions), rows)


def _height(a: np.ndarray, columns: list[Column], row: Any, plain: list[int]) -> Fraction:
    """What a constraint makes of a row, without rounding; a missing value counts as its fill."""
    numbers = [Fraction(float(columns[j].fill if _absent(row[j]) else row[j])) for j in plain]
    return sum((Fraction(float(a[j])) * x for j, x in zip(plain, numbers)), Fraction(0))


def _column(rng: np.random.Generator, name: str) -> tuple[Column, list[Any], dict[str, Any]]:
    """A column, the values that the domain allows, and how the domain says so."""
    missing = [None, "indicator", "fill"][rng.integers(3)]
    said: dict[str, Any] = {}
    if rng.random() < 0.5:
        known = [["red", "blue", "it's"], [1, 2, 3], [0.5, 1.5, True]][rng.integers(3)][: rng.integers(1, 4)]
        fill = {"fill": known[-1]} if missing == "fill" else {}
        column, allowed = Column(name, categories=known, missing=missing, **fill), list(known)
        if rng.random() < 0.4:
            allowed = [known[k] for k in sorted(rng.choice(len(known), rng.integers(1, len(known) + 1), replace=False))]
            said["categories"] = allowed
        if rng.random() < 0.3:
            said["missing"] = True
            allowed = [*allowed, None]
        if rng.random() < 0.3:
            said["unknown"] = True
            allowed = [*allowed, STRANGE]
        return column, allowed, said
    low, high = np.sort(rng.integers(-3, 4, 2)).tolist()
    fill = float(rng.choice([low, -7.0, 0.25, 5.0]))
    column = Column(name, missing=missing, **({} if missing is None else {"fill": fill}))
    if rng.random() < 0.2:
        value = float(rng.choice([0.1, -1.5, 2.0]))
        mapped = {"center": 0.3, "scale": -0.7} if missing is None else {}
        column = Column(name, missing=missing, fill=fill, **mapped)
        return column, [value], {"fixed": value}
    said |= {"ends": (low, high), "integer": True}
    allowed = [float(x) for x in range(low, high + 1)]
    if missing is not None and rng.random() < 0.6:
        said["missing"] = True
        allowed.append(np.nan)
    elif missing == "fill" and fill in allowed:
        pass  # a missing value reads as a number that is listed already
    return column, allowed, said


def finite_tree(rng: np.random.Generator, d: int, kind: str, n_splits: int | None = None) -> Tree:
    """A ragged tree with ties, parallel splits and splits of one feature."""
    topology = _ragged(rng, int(rng.integers(0, 8)) if n_splits is None else n_splits)
    n = topology.n_splits
    weight = rng.integers(-8, 9, (n, d)) / 8 if rng.random() < 0.6 else np.round(rng.normal(size=(n, d)), 3)
    weight = weight * (rng.random((n, d)) < rng.choice([0.4, 0.8, 1.0]))
    bias = rng.integers(-16, 17, n) / 8
    for i in range(1, n):
        if rng.random() < 0.3:  # parallel to a split above or beside it, by a factor
            factor = float(rng.choice([1.0, -1.0, 2.0, -0.5]))
            k = int(rng.integers(i))
            weight[i] = factor * weight[k]
            bias[i] = factor * bias[k] if rng.random() < 0.5 else bias[i]
    if kind == "class":
        value = np.eye(3)[rng.integers(0, 3, n + 1)]
        return Tree(topology, weight, bias, value, class_names=["a", "b", "c"])
    coef = rng.integers(-8, 9, (n + 1, 1, d)) / 8 if kind == "linear" else None
    return Tree(topology, weight, bias, rng.integers(-16, 17, (n + 1, 1)) / 8, coef)


def _ragged(rng: np.random.Generator, n_splits: int) -> Topology:
    nodes: list[list[int | None]] = []
    leaves: list[tuple[int, int]] = []
    for k in range(n_splits):
        nodes.append([None, None])
        if k:
            parent, side = leaves.pop(int(rng.integers(len(leaves))))
            nodes[parent][side] = k
        leaves += [(k, 0), (k, 1)]
    order = [0] if nodes else []
    for k in order:
        order += [child for child in nodes[k] if child is not None]
    number = {k: i for i, k in enumerate(order)}
    count = itertools.count()
    leaf: dict[tuple[int, int], int] = {}

    def walk(k: int) -> None:  # leaves are numbered from left to right
        for side in (0, 1):
            child = nodes[k][side]
            if child is None:
                leaf[k, side] = next(count)
            else:
                walk(child)

    if nodes:
        walk(0)
    return Topology([[_code(nodes[k][s], number, leaf.get((k, s))) for s in (0, 1)] for k in order])


def _code(child: int | None, number: dict[int, int], leaf: int | None) -> int:
    if child is not None:
        return number[child]
    assert leaf is not None
    return ~leaf
