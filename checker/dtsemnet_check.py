"""Check proofs about a decision tree: exact arithmetic, the standard library, nothing else.

A proof file (JSON, described in docs/proof-file.md) holds a model, a domain and claims. A claim is a statement, such as
"no row of the domain gets the class 'grant'", with a certificate that it holds or a witness that it does not. This
program answers each claim by yes or no, and says why not. It is to be read from top to bottom.

What a yes means. A row is in the domain if each value is allowed in its column and ``A x <= b`` holds exactly. The
model turns a row into features, and rounds each operation once. The tree computes ``s = w . z + b`` at a split, in a
fixed order (`rounded_sum`), and goes right if ``s > 0``, left if not; a tie goes left. A yes is about every row of
doubles in the domain, and about ``s`` as it is computed, with its rounding errors (`Walk.rounding`).

How it is checked. The inputs that get to a node lie in a region: a box of features, cut by half-spaces ``g . z <= h``.
This program derives both itself and walks the whole tree: no leaf is forgotten. A leaf that could break the statement
adds half-spaces of its own (`ways_above`), and then one of three certificates must show that no input is left:

- farkas: multipliers ``y >= 0`` for which ``r = sum y g`` has ``r . z > sum y h`` everywhere in the box. Sums are
  exact, so multipliers that a solver got wrong prove nothing;
- enumerated: the box holds few points, and each is computed;
- feature, at, parts: the box is cut in two, and each part has a certificate.

What is trusted: Python's integers, fractions, doubles (IEEE 754) and JSON; that the model runs as said above; and that
the statements and the domain, which are printed, are what you want to know.

Exit code: 0 if every claim is proved, 1 if one is not, 2 if the file is no proof file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

__version__ = "0.1.0"
LARGEST_FILE, MOST_VALUES, MOST_POINTS, MOST_STEPS = 64 * 2**20, 5 * 10**6, 2**16, 10**9
UNIT, TINY, INFINITY = Fraction(1, 2**53), Fraction(1, 2**1074), math.inf
HalfSpace = tuple[dict[int, Fraction], Fraction]  # g . z <= h: coefficients by feature, and h
Box = tuple[list[float], list[float]]  # lower and upper ends, by feature
Terms = tuple[tuple[int, int, Fraction], ...]  # of a sum: place in it, feature, weight


class Malformed(ValueError):
    """The file is no proof file."""


class Unproved(Exception):
    """A certificate or a witness does not show what it should."""


def require(holds: object, text: str, error: type[Exception] = Malformed) -> None:
    """Refuse a file, or a proof, where something does not hold."""
    if not holds:
        raise error(text)


# ------------------------------------------------------------------------------------------------ reading, and doubles


def parse(data: bytes) -> Any:
    """Parse JSON, all of whose numbers are doubles; no key occurs twice."""

    def number(text: str) -> float:
        value = float(text)
        is_double = math.isfinite(value) and (not text.lstrip("-").isdigit() or int(text) == value)
        require(is_double, f"the number {text[:30]} is no double")
        return value

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len(dict(pairs)) == len(pairs), "a key occurs twice in one object")
        return dict(pairs)

    return json.loads(data, object_pairs_hook=once, parse_int=number, parse_float=number, parse_constant=number)


def doubles(value: Any, *shape: int) -> Any:
    """Read an array of doubles of a given shape; () for one number."""
    if not shape and type(value) is float:
        return value
    require(shape and type(value) is list and len(value) == shape[0], f"numbers of shape {shape} were expected")
    return [doubles(entry, *shape[1:]) for entry in value]


def integer(value: Any, low: int, high: float) -> int:
    """Read an integer from low to below high."""
    is_fit = doubles(value).is_integer() and low <= value < high
    require(is_fit, f"{value!r} must be an integer from {low} to below {high}")
    return int(value)


def flag(fields: dict[str, Any], name: str, default: bool = False) -> bool:
    """Read a field that is true or false, and may be left out."""
    require(type(fields.get(name, default)) is bool, f"{name} must be true or false")
    return bool(fields.get(name, default))


def exact(number: Any) -> Fraction:
    """Read a double, or a text like "2/3"."""
    if type(number) is not str:
        return Fraction(doubles(number))
    require(re.fullmatch(r"-?\d{1,999}(/\d{1,999})?", number, re.ASCII), "a fraction must read like '2/3'")
    return Fraction(number)


def doubles_between(least: Fraction, most: Fraction) -> tuple[float, float]:
    """The first and the last double that lie between two numbers."""
    low, high = float(least), float(most)  # rounded to nearest
    low = low if low >= least else math.nextafter(low, INFINITY)
    return low, high if high <= most else math.nextafter(high, -INFINITY)


def rank(x: float) -> int:
    """Number the doubles in increasing order, so that neighbours have neighbouring numbers."""
    bits: int = struct.unpack("<q", struct.pack("<d", x + 0.0))[0]
    return bits if bits >= 0 else -(2**63) - bits


def double(number: int) -> float:
    """The double of a rank."""
    return float(struct.unpack("<d", struct.pack("<q", number if number >= 0 else -(2**63) - number))[0])


def rounded_sum(weight: list[float], z: list[float], bias: float) -> float:
    """``weight . z + bias`` as the model computes it: sixteen partial sums, joined by halves, the bias last."""
    lanes = [0.0] * 16
    for k, (w, x) in enumerate(zip(weight, z)):
        lanes[k % 16] += w * x
    for half in (8, 4, 2, 1):
        lanes = [lanes[k] + lanes[k + half] for k in range(half)]
    return lanes[0] + bias


# ------------------------------------------------------------------------------------------------ model and domain


class Alternative(NamedTuple):
    """A box that the features of one column may lie in; if it is whole, the first feature is an integer."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    whole: bool = False


class Column:
    """One column of the input, and the features that its values give. None is a missing value."""

    def __init__(self, fields: dict[str, Any]) -> None:
        known = {"name": "", "categories": None, "missing": None, "fill": 0.0}
        known |= {"center": 0.0, "scale": 1.0, "lower": -INFINITY, "upper": INFINITY}
        self.fields = known | fields
        self.name, self.categories, self.missing, self.fill, *numbers = list(self.fields.values())[:8]
        is_known = self.fields.keys() == known.keys() and self.missing in (None, "indicator", "fill")
        require(is_known, f"a column has unknown fields: {str(fields)[:80]}")
        if self.categories is not None:
            is_set = len(set(self.categories)) == len(self.categories)
            is_set = is_set and (self.missing != "fill" or self.fill in self.categories)
            require(is_set, "categories must be distinct, and a fill one of them")
        self.numbers = doubles(numbers, 4)
        self.is_number = self.categories is None
        self.is_plain = self.is_number and self.numbers == [0.0, 1.0, -INFINITY, INFINITY]
        is_line = self.numbers[1] != 0 and self.numbers[2:] == [-INFINITY, INFINITY]
        self.is_affine = self.is_number and self.missing != "indicator" and is_line
        self.width = (1 if self.is_number else len(self.categories)) + (self.missing == "indicator")

    def point(self, value: Any) -> tuple[float, ...]:
        """The features of a value."""
        mark = (float(value is None),) if self.missing == "indicator" else ()
        value = self.fill if value is None and (self.missing == "fill" or (mark and self.is_number)) else value
        if not self.is_number:
            return (*(1.0 if value is not None and value == known else 0.0 for known in self.categories), *mark)
        center, scale, lower, upper = self.numbers
        z = min(max((doubles(value) - center) * scale, lower), upper)  # no step changes the order of numbers
        require(math.isfinite(z), "a column overflows")
        return (z, *mark)

    def alternatives(self, allowed: dict[str, Any]) -> list[Alternative]:
        """What the domain allows, as boxes of features: numbers, categories, unknown categories, missing."""
        points = [self.point(None)] if flag(allowed, "missing") else []
        if not self.is_number:
            is_small = len(allowed["categories"]) * self.width <= 10 * MOST_VALUES
            require(is_small, "a column has too many categories")
            known = set(self.categories)
            are_known = all(value is not None and value in known for value in allowed["categories"])
            require(are_known, "the domain lists a category that the model does not know")
            points += [self.point(value) for value in allowed["categories"]]
            points += [(0.0,) * self.width] * flag(allowed, "unknown")
            return [Alternative(point, point) for point in dict.fromkeys(points)]
        whole, numbers = flag(allowed, "integer"), []
        require(self.is_plain or not whole, "a column that is mapped cannot be one of integers")
        if "low" in allowed:
            ends = doubles([allowed["low"], allowed["high"]], 2)
            ends = [float(math.ceil(ends[0])), float(math.floor(ends[1]))] if whole else ends
            low, high = sorted(map(self.point, ends))
            numbers = [Alternative(low, high, whole)] if ends[0] <= ends[1] else []
            if numbers and points and low <= points[0] <= high and len(low) == 1 and not (whole and points[0][0] % 1):
                points = []  # the fill is one of the numbers
        return numbers + [Alternative(point, point) for point in points]

    def allows(self, allowed: dict[str, Any], value: Any) -> bool:
        """Whether the domain allows a value, or one that is the same to the model."""
        point, found = self.point(value), self.alternatives(allowed)
        if self.is_number and value is not None and Alternative(point, point) not in found:
            inside = "low" in allowed and allowed["low"] <= value <= allowed["high"]
            return inside and not (flag(allowed, "integer") and value % 1)
        fitting = [a for a in found if not (a.whole and point[0] % 1)]
        return any(all(low <= x <= high for low, x, high in zip(a.lower, point, a.upper)) for a in fitting)


class Model:
    """Columns and a tree, as a model file describes them."""

    def __init__(self, document: dict[str, Any]) -> None:
        tree = document["tree"]
        is_map = document.get("output", {"kind": "identity"})["kind"] in ("identity", "tanh-scale")
        is_known = document["version"] in (1, 2) and document["format"] == "dtsemnet" and is_map
        require(is_known, "the model has an unknown format")
        self.columns = [Column(fields) for fields in document["encoder"]["columns"]]
        ends = list(itertools.accumulate((column.width for column in self.columns), initial=0))
        self.parts = [range(*pair) for pair in itertools.pairwise(ends)]  # the features of each column
        self.width, n, self.n_outputs = ends[-1], len(tree["bias"]), integer(tree["n_outputs"], 1, INFINITY)
        is_fit = (tree["n_features"], tree["n_splits"]) == (self.width, n)
        require(is_fit, "the tree does not have as many splits or features as it says")
        self.weight, self.bias = doubles(tree["weight"], n, self.width), doubles(tree["bias"], n)
        self.children = [[integer(c, -1 - n, n) for c in pair] for pair in doubles(tree["children"], n, 2)]
        self.root = 0 if n else -1  # leaf k is node -1 - k
        are_below = all(c < 0 or c > node for node, pair in enumerate(self.children) for c in pair)
        require(are_below, "splits must come before the splits below them")
        todo, leaves = [self.root], list[int]()
        while todo and len(leaves) <= n:
            node = todo.pop()
            leaves += [-1 - node] if node < 0 else []
            todo += self.children[node][::-1] if node >= 0 else []
        is_tree = not todo and leaves == list(range(n + 1))
        require(is_tree, "children must form one tree, with leaves numbered from left to right")
        shape = n + 1, self.n_outputs
        self.value = doubles(tree["value"], *shape)  # first: it shows that the file is as large as it says
        self.coef = doubles(tree["coef"], *shape, self.width) if "coef" in tree else None
        self.ceiling = doubles(tree["upper"], *shape) if "upper" in tree else [[INFINITY] * self.n_outputs] * (n + 1)
        self.floor = doubles(tree["lower"], *shape) if "lower" in tree else [[-INFINITY] * self.n_outputs] * (n + 1)
        self.names, self.label = tree.get("class_names"), []
        if self.names is not None:
            is_fit = len(set(self.names)) == len(self.names) == self.n_outputs and self.coef is None
            require(is_fit, "class_names must be distinct names of the outputs")
            are_shares = all(min(row) >= 0 and abs(sum(row) - 1) < 1e-5 for row in self.value)
            require(are_shares, "the shares of a leaf must sum to 1")
            self.label = [self.names[row.index(max(row))] for row in self.value]  # the first of equal shares

    def leaf(self, z: list[float]) -> int:
        """The leaf that a point of features reaches."""
        node = self.root
        while node >= 0:
            score = rounded_sum(self.weight[node], z, self.bias[node])
            require(not math.isnan(score), "a score is no number", Unproved)
            node = self.children[node][score > 0]
        return -1 - node

    def features(self, row: list[Any]) -> list[float]:
        """The features of a row."""
        return [z for column, value in zip(self.columns, row, strict=True) for z in column.point(value)]

    def answer(self, o: int, z: list[float]) -> float:
        """An output, before an output map; of a classifier the share of a class in the leaf."""
        leaf = self.leaf(z)
        y = self.value[leaf][o] if self.coef is None else rounded_sum(self.coef[leaf][o], z, self.value[leaf][o])
        return float(min(max(y, self.floor[leaf][o]), self.ceiling[leaf][o]))


class Domain:
    """The rows that the claims are about."""

    def __init__(self, model: Model, document: dict[str, Any]) -> None:
        self.model, self.document, self.allowed = model, document, document["columns"]
        self.alternatives = [c.alternatives(given) for c, given in zip(model.columns, self.allowed, strict=True)]
        require(all(self.alternatives), "the domain allows nothing in a column")
        constraints = document.get("constraints", {"A": [], "b": []})
        self.b = doubles(constraints["b"], len(constraints["b"]))
        self.A = doubles(constraints["A"], len(self.b), len(model.columns))
        are_fit = all(c.is_affine or not a for row in self.A for a, c in zip(row, model.columns))
        require(are_fit, "A constrains a column that is not a plain number")

    def row(self, row: list[Any]) -> list[Any]:
        """A row that is in the domain."""
        for column, allowed, value in zip(self.model.columns, self.allowed, row, strict=True):
            is_in = column.allows(allowed, value)
            require(is_in, f"a row is outside the domain in column {str(column.name)[:60]!r}", Unproved)
        for A, b in zip(self.A, self.b):
            numbers = [(a, c.fill if x is None else x) for a, c, x in zip(A, self.model.columns, row) if a]
            is_in = sum(Fraction(a) * Fraction(x) for a, x in numbers) <= b
            require(is_in, "a row is outside the domain: a row of A does not hold", Unproved)
        return row

    def constraint(self, k: int, parts: list[range]) -> HalfSpace:
        """A row of A as a half-space of the features ``z = (x - center) * scale``, with room for two roundings."""
        coef, h = {}, Fraction(self.b[k])
        for a, column, allowed, part in zip(self.A[k], self.model.columns, self.allowed, parts):
            if a:
                center, scale = map(Fraction, column.numbers[:2])
                coef[part.start], exact_coef = Fraction(a / column.numbers[1]), Fraction(a) / scale
                ends = [column.fill, *(allowed[end] for end in ("low", "high") if end in allowed)]
                most = max(abs(Fraction(x)) for x in ends) + abs(center)
                room = 3 * UNIT * abs(Fraction(a)) * most + abs(exact_coef) * TINY
                room += abs(coef[part.start] - exact_coef) * abs(scale) * most * 2
                h += room * (not column.is_plain) - Fraction(a) * center
        return coef, h

    def feature_distance(self, j: int, limit: Fraction) -> Fraction:
        """How far the features of two numbers lie apart at most, if the numbers do by a limit."""
        column, allowed = self.model.columns[j], self.allowed[j]
        center, scale = map(Fraction, column.numbers[:2])
        if center == 0 and scale == 1:  # a clip brings numbers closer together
            return limit
        ends = [
            *([column.fill] if column.missing else []),
            *(allowed[end] for end in ("low", "high") if end in allowed),
        ]
        most = max((abs(Fraction(x)) for x in ends), default=Fraction(0)) + abs(center)
        return abs(scale) * (limit + 2 * 3 * UNIT * most) + 2 * (1 + abs(scale)) * TINY


class Near:
    """Rows around a given one: the norm of the changes, times costs, is at most a distance.

    Held columns are the same to the model, and a number is missing where it is in the row. Any change of a category
    counts as a change by 1.
    """

    def __init__(self, domain: Domain, fields: dict[str, Any]) -> None:
        self.domain, self.columns, n = domain, domain.model.columns, len(domain.model.columns)
        self.row, self.norm = domain.row(fields["row"]), fields["norm"]
        self.distance = Fraction(doubles(fields["distance"]))
        self.cost = [Fraction(c) for c in doubles(fields.get("cost", [1.0] * n), n)]
        require(type(fields["held"]) is list and self.norm in ("inf", "1", "2"), "near needs a list held, and a norm")
        require(self.distance >= 0 and min(self.cost) > 0, "a distance is from 0 on, and costs are positive")
        self.held = {integer(j, 0, n) for j in fields["held"]}
        self.held |= {j for j, c in enumerate(self.columns) if c.is_number and self.row[j] is None}

    def contains(self, row: list[Any]) -> bool:
        """Whether a row is near."""
        steps = [Fraction(0)]
        for j, (column, a, b) in enumerate(zip(self.columns, self.row, row)):
            differs = column.point(a) != column.point(b)
            if differs and (j in self.held or (column.is_number and b is None)):
                return False
            is_number = column.is_number and j not in self.held
            steps.append(self.cost[j] * (abs(Fraction(a) - Fraction(b)) if is_number else int(differs)))
        if self.norm == "2":
            return sum(step * step for step in steps) <= self.distance**2
        return (sum(steps) if self.norm == "1" else max(steps)) <= self.distance

    def half_space(self, terms: Any) -> HalfSpace:
        """A half-space that the norm implies: ``a (z - z0) <= distance``, if the dual norm of ``a`` is at most 1."""
        model, center, shares = self.domain.model, self.domain.model.features(self.row), [Fraction(0)]
        a = {integer(v, 0, model.width): exact(x) for v, x in terms}
        is_implied = self.norm != "inf"
        for j, (column, part) in enumerate(zip(self.columns, model.parts)):
            here = [a.get(v, Fraction(0)) for v in part]
            if any(here) and j not in self.held:
                is_implied &= column.is_plain or (not column.is_number and self.norm == "1")
                most: Fraction | int = max(map(abs, here))
                if not column.is_number:
                    points = [one.lower for one in self.domain.alternatives[j]]
                    most = max(sum(c * Fraction(x - center[v]) for c, x, v in zip(here, p, part)) for p in points)
                shares.append(most / self.cost[j])
        is_implied &= max(shares) <= 1 and (self.norm == "1" or sum(share * share for share in shares) <= 1)
        require(is_implied, "a half-space does not follow from the norm", Unproved)
        return a, self.distance + sum(x * Fraction(center[v]) for v, x in a.items())

    def alternatives(self) -> list[list[Alternative]]:
        """What is near, in each column."""
        found = list(self.domain.alternatives)
        for j, (column, x, allowed) in enumerate(zip(self.columns, self.row, self.domain.allowed)):
            if j in self.held:
                found[j] = [Alternative(column.point(x), column.point(x))]
            elif column.is_number:
                reach = self.distance / self.cost[j]
                least = max(Fraction(x) - reach, Fraction(allowed["low"]))
                most = min(Fraction(x) + reach, Fraction(allowed["high"]))
                low, high = doubles_between(least, most)
                found[j] = column.alternatives({"low": low, "high": high, "integer": flag(allowed, "integer")})
        require(all(found), "nothing is near")
        return found


# --------------------------------------------------------------------------------------------------------- statements


class Statement(NamedTuple):
    """What breaks a statement: leaves, or outputs that are more than a tolerance above others."""

    domain: Domain
    models: tuple[Model, ...]  # one, or two, each of which a row goes through
    breaks: Callable[[list[int]], bool] = lambda leaves: False  # leaves, one of each tree, whatever they answer
    pairs: Sequence[tuple[Any, Any]] = ()  # what must not be above what: numbers, or (tree, output)
    order: Sequence[int] = ()  # the columns that the second model reads
    moved: Sequence[int] = ()  # the columns in which two inputs differ
    is_reversed: bool = False  # whether the input with the larger feature has the smaller number
    limits: dict[int, Fraction] | None = None  # how far columns move at most; None if they rise instead


def never(fields: dict[str, Any], domain: Domain, second: Any) -> Statement:
    """No row gets one of the classes, or reaches one of the leaves."""
    model, classes = domain.model, fields.get("classes", [])
    is_known = type(classes) is list and all(c in (model.names or []) for c in classes)
    require(is_known, "never names a class that the model does not have")
    leaves = {integer(leaf, 0, len(model.value)) for leaf in fields.get("leaves", [])}
    leaves |= {k for k, label in enumerate(model.label) if label in classes}
    return Statement(domain, (model,), lambda reached: reached[0] in leaves)


def bound(fields: dict[str, Any], domain: Domain, second: Any) -> Statement:
    """An output is nowhere less, or more."""
    output = 0, integer(fields["output"], 0, domain.model.n_outputs)
    least = doubles(fields["at_least" if "at_least" in fields else "at_most"])
    pair = (least, output) if "at_least" in fields else (output, least)
    return Statement(domain, (domain.model,), pairs=[pair])


def agree(fields: dict[str, Any], domain: Domain, second: Any) -> Statement:
    """Two models give the same class, or outputs that are near; both read the same columns in the same way."""
    model, other, n = domain.model, Model(second["model"]), len(domain.model.columns)
    order = [integer(j, 0, n) for j in second["columns"]]
    for j, theirs in zip(order, other.columns, strict=True):
        ours, unread = model.columns[j], {"name"}
        if not flag(domain.allowed[j], "missing") and "indicator" not in (ours.missing, theirs.missing):
            unread = {"name", "missing", "fill"}
        is_same = all(key in unread or ours.fields[key] == theirs.fields[key] for key in ours.fields)
        require(is_same, "the second model reads a column in another way")
    is_fit = sorted(order) == list(range(n)) and (model.names is None) == (other.names is None)
    require(is_fit, "the second model must read the same columns, and give classes if the first does")
    if model.names is not None:
        return Statement(domain, (model, other), lambda k: model.label[k[0]] != other.label[k[1]], order=order)
    require(model.n_outputs == other.n_outputs, "the second model must have as many outputs")
    pairs = [pair for o in range(model.n_outputs) for pair in (((0, o), (1, o)), ((1, o), (0, o)))]
    return Statement(domain, (model, other), pairs=pairs, order=order)


def monotone(fields: dict[str, Any], domain: Domain, second: Any) -> Statement:
    """An output never falls, or never rises, from an input to another one with more of a column."""
    model, n = domain.model, len(domain.model.columns)
    j, o = integer(fields["column"], 0, n), integer(fields["output"], 0, model.n_outputs)
    is_fit = model.columns[j].is_number and "near" not in fields
    require(is_fit, "monotone is about a column of numbers, and all rows of the domain")
    pairs, is_reversed = [], model.columns[j].numbers[1] < 0
    if "low" in domain.allowed[j]:  # missing in neither
        present = {key: x for key, x in domain.allowed[j].items() if key != "missing"}
        columns = [present if k == j else allowed for k, allowed in enumerate(domain.allowed)]
        domain = Domain(model, domain.document | {"columns": columns})
        falls = is_reversed != flag(fields, "increasing", True)
        pairs = [((0, o), (1, o)) if falls else ((1, o), (0, o))]
    return Statement(domain, (model, model), pairs=pairs, order=range(n), moved=[j], is_reversed=is_reversed)


def changes(fields: dict[str, Any], model: Model) -> tuple[list[int], dict[int, Fraction]]:
    """The columns that may change, and by how much at most."""
    given = fields["columns"], fields["by"]
    require(type(given[0]) is type(given[1]) is list and given[0], "columns and by must be lists")
    moved = [integer(j, 0, len(model.columns)) for j in given[0]]
    limits = {j: Fraction(doubles(by)) for j, by in zip(moved, given[1], strict=True) if by is not None}
    is_fit = len(set(moved)) == len(moved) and all(model.columns[j].is_number and by >= 0 for j, by in limits.items())
    require(is_fit and "near" not in fields, "columns change once each, and by amounts if they are numbers")
    return moved, limits


def independent(fields: dict[str, Any], domain: Domain, second: Any) -> Statement:
    """Rows that differ in some columns alone, by amounts at most, have the same class, or outputs that are near."""
    model = domain.model
    moved, limits = changes(fields, model)
    both, order = (model, model), range(len(model.columns))
    if model.names is not None:
        return Statement(
            domain, both, lambda k: model.label[k[0]] != model.label[k[1]], (), order, moved, limits=limits
        )
    pairs = [pair for o in range(model.n_outputs) for pair in (((0, o), (1, o)), ((1, o), (0, o)))]
    return Statement(domain, both, pairs=pairs, order=order, moved=moved, limits=limits)


def keeps(fields: dict[str, Any], domain: Domain, second: Any) -> Statement:
    """One row has the same class, or outputs that are near, whatever is in some columns of it, within an amount."""
    model, row = domain.model, domain.row(fields["row"])
    moved, limits = changes(fields, model)
    columns = list[dict[str, Any]]()
    for j, (column, allowed, x) in enumerate(zip(model.columns, domain.allowed, row)):
        number = column.fill if x is None and column.missing == "fill" else x
        if j in moved and j not in limits:
            columns.append(allowed)
        elif j in limits and number is not None:  # what lies near; a missing value does if its fill does
            least, most = Fraction(number) - limits[j], Fraction(number) + limits[j]
            is_near = column.missing == "fill" and least <= Fraction(column.fill) <= most
            columns.append({"missing": flag(allowed, "missing") and is_near, "integer": flag(allowed, "integer")})
            if "low" in allowed:
                ends = max(least, Fraction(allowed["low"])), min(most, Fraction(allowed["high"]))
                columns[-1]["low"], columns[-1]["high"] = doubles_between(*ends)
        elif column.is_number:
            columns.append({"missing": True} if x is None else {"low": x, "high": x})
        else:
            is_known = x is not None and x in column.categories
            columns.append(
                {"categories": [x] * is_known, "missing": x is None, "unknown": not is_known and x is not None}
            )
    domain, z = Domain(model, domain.document | {"columns": columns}), model.features(row)
    if model.names is not None:
        label = model.label[model.leaf(z)]
        return Statement(domain, (model,), lambda k: model.label[k[0]] != label)
    answers = [(o, model.answer(o, z)) for o in range(model.n_outputs)]
    pairs = [pair for o, y in answers for pair in (((0, o), y), (y, (0, o)))]
    return Statement(domain, (model,), pairs=pairs)


KINDS = {"never": never, "bound": bound, "agree": agree, "monotone": monotone, "independent": independent}
KINDS["keeps"] = keeps


class Line(NamedTuple):
    """The answer of a leaf, clip(terms + value, floor, ceiling), computed with an error; or a number."""

    value: Fraction
    terms: Terms = ()
    error: Fraction = Fraction(0)
    floor: float = -INFINITY
    ceiling: float = INFINITY


def ways_above(x: Line, y: Line, tolerance: Fraction) -> Iterator[tuple[int, dict[str, HalfSpace]]]:
    """The ways in which an answer ``x`` may be more than a tolerance above ``y``, each as half-spaces.

    Since clip(u) = max(floor, min(u, ceiling)), it is if all sums of a part of ``x`` and a part of ``-y`` are, for one
    of two lists of parts of each: [u, ceiling] or [floor] of ``x``, and [-v, -floor] or [-ceiling] of ``-y``.
    """
    above: list[list[tuple[Terms, Any]]] = [[(x.terms, x.value + x.error), ((), x.ceiling)], [((), x.floor)]]
    below: list[list[tuple[Terms, Any]]] = [[(y.terms, y.error - y.value), ((), -y.floor)], [((), -y.ceiling)]]
    for number, (one, other) in enumerate(itertools.product(above, below)):
        sums = [(u, v, p, q) for (u, p), (v, q) in itertools.product(one, other) if INFINITY not in (p, q)]
        if any(-INFINITY in (p, q) for _, _, p, q in sums):
            continue
        goal: dict[str, HalfSpace] = {}
        for k, (u, v, p, q) in enumerate(sums):
            coef = {i: -w for _, i, w in u}
            for _, i, w in v:
                coef[i] = coef.get(i, Fraction(0)) + w
            goal[f"g{k}"] = coef, Fraction(p) + Fraction(q) - tolerance
        if all(coef or room > 0 for coef, room in goal.values()):
            yield number, goal


# ------------------------------------------------------------------ regions of inputs, and what shows that one is empty


class Fact(NamedTuple):
    """What a split on the path says: a computed sum, before the bias, is above a number, or at least there."""

    terms: Terms  # weights divided by 2^exponent
    exponent: int
    end: Fraction  # divided by 2^exponent, too
    is_open: bool  # whether the sum cannot be equal to the end


class Region(NamedTuple):
    """Inputs that get to a node: a box, half-spaces by name, and facts about computed sums."""

    box: Box
    rows: dict[str, HalfSpace]
    facts: list[Fact]


def hull(found: list[Alternative]) -> Box:
    """The box around alternatives."""
    return [min(x) for x in zip(*(a.lower for a in found))], [max(x) for x in zip(*(a.upper for a in found))]


class Walk:
    """All inputs that a statement is about, and a walk through the tree that they take, or through both.

    Below each leaf of the first tree stands the second. If columns are moved there are two inputs, equal but for these:
    their features in the second input are features of their own, at the end. It has no less of the column, or it is as
    near as the limits say; then the inputs can be exchanged, so that the second leaf need not be left of the first.
    """

    def __init__(self, fields: dict[str, Any], domain: Domain, second: Any) -> None:
        self.near = Near(domain, fields["near"]) if "near" in fields else None
        self.tolerance, self.steps = Fraction(doubles(fields.get("tolerance", 0.0))), 0
        require(self.tolerance >= 0, "a tolerance must not be negative")
        require(fields["kind"] in KINDS, f"the kind of statement {str(fields['kind'])[:40]!r} is not known")
        self.statement = KINDS[fields["kind"]](fields, domain, second)
        self.domain, self.models, self.moved = self.statement.domain, self.statement.models, self.statement.moved
        model = domain.model
        start, first, last = model.width, model.parts, model.parts.copy()
        alternatives = self.domain.alternatives if self.near is None else self.near.alternatives()
        self.choices, self.rows, self.raised = list(zip(first, alternatives)), {}, {}
        for j in self.moved:
            last[j] = range(start, start := start + len(first[j]))
            self.choices.append((last[j], self.domain.alternatives[j]))
            if self.statement.limits is None:
                self.raised[last[j].start] = first[j].start
                self.rows["order"] = {first[j].start: Fraction(1), last[j].start: Fraction(-1)}, Fraction(0)
            elif j in self.statement.limits:
                for k, (u, v) in enumerate(zip(first[j], last[j])):  # a mark of missing values is the same in both
                    room = Fraction(0) if k else self.domain.feature_distance(j, self.statement.limits[j])
                    for name, c in (f"by{u}+", Fraction(1)), (f"by{u}-", Fraction(-1)):
                        self.rows[name] = {u: c, v: -c}, room
        for k in range(len(domain.b)):
            self.rows[f"A{k}"], self.rows[f"B{k}"] = (self.domain.constraint(k, parts) for parts in (first, last))
        for column, (part, found) in zip([*model.columns, *(model.columns[j] for j in self.moved)], self.choices):
            if not column.is_number and len(found) > 1:  # one category holds, or none
                self.rows[f"most{part.start}"] = dict.fromkeys(part, Fraction(1)), Fraction(1)
                if all(any(a.lower) for a in found):
                    self.rows[f"least{part.start}"] = dict.fromkeys(part, Fraction(-1)), Fraction(-1)
        hulls = [hull(found) for _, found in self.choices]
        self.box: Box = [x for low, _ in hulls for x in low], [x for _, high in hulls for x in high]
        # What each model reads. A feature that has one value is the same in both inputs.
        pairs = [pair for j in self.statement.order for pair in zip(first[j], last[j])]
        self.reads = [list(range(model.width)), [u if self.box[0][u] == self.box[1][u] else v for u, v in pairs]]

    def terms(self, run: int, weight: list[float], unit: Fraction = Fraction(1)) -> Terms:
        """What a sum of one of the trees adds up."""
        return tuple((k, v, Fraction(w) / unit) for k, (v, w) in enumerate(zip(self.reads[run], weight)) if w)

    def rounding(self, terms: Terms, bias: float, width: int) -> Fraction:
        """How far a sum over so many features is off as it is computed, at most."""
        size = abs(Fraction(bias))
        size += sum(abs(w) * Fraction(max(abs(self.box[0][v]), abs(self.box[1][v]))) for _, v, w in terms)
        require(size < 10**300, "sums may overflow on this domain")
        n = -(-width // 16) + 6  # roundings that a term meets: a product, the sums of a lane, four joins, the bias
        return n * UNIT / (1 - n * UNIT) * size + width * TINY

    def child(self, region: Region, run: int, split: int, side: int) -> Region | None:
        """Go down one split; None if the order of doubles alone shows that no input goes there."""
        box: Box | None = region.box
        rows, model, sign = region.rows, self.models[run], 1 if side else -1
        weight, bias = model.weight[split], model.bias[split]
        terms = self.terms(run, weight)
        if not terms:
            return region if side == (bias > 0) else None
        if len(terms) == 1:  # a threshold: the last double on one side of it, and the first on the other
            ((k, v, _),) = terms
            last, first, rises = rank(self.box[0][v]) - 1, rank(self.box[1][v]) + 1, weight[k] > 0
            while first - last > 1:
                middle = (last + first) // 2
                is_first = (weight[k] * double(middle) + bias > 0) == rises
                last, first = (last, middle) if is_first else (middle, first)
            box = self.part(region.box, v, double(last), (side == 0) == rises)
        else:  # rows that go left have w . z <= rho - b, rows that go right -w . z <= rho + b
            rho = self.rounding(terms, bias, len(weight))
            rows = rows | {f"{'st'[run]}{split}": ({v: -sign * w for _, v, w in terms}, rho + sign * Fraction(bias))}
        exponent = max(math.frexp(w)[1] for w in weight if w)
        unit = sign * Fraction(2) ** exponent
        fact = Fact(self.terms(run, weight, unit), exponent, -Fraction(bias) / unit, side == 1)
        if box is None or any(self.contradict(fact, above) for above in region.facts):
            return None
        return Region(box, rows, [*region.facts, fact])

    def contradict(self, one: Fact, other: Fact) -> bool:
        """Whether sums cannot both be as large as facts say, since the first is at most minus the second."""
        room = one.end + other.end
        if room < 0 or (room == 0 and not (one.is_open or other.is_open)):
            return False
        # If weights differ by a power of two, sums do, unless a product was lost near 0. Then both sums are tiny.
        lanes = -(-max(len(model.weight[0]) for model in self.models if model.bias) // 16)
        tiny = Fraction(2) ** (-1022 + 56 * (lanes + 3) - min(one.exponent, other.exponent))
        is_lossless = one.exponent == other.exponent or max(one.end, other.end) > tiny
        return is_lossless and self.in_order(one.terms, tuple((k, v, -w) for k, v, w in other.terms))

    def in_order(self, one: Terms, other: Terms) -> bool:
        """Whether the sum of the first terms is never computed as larger than that of the second."""
        return len(one) == len(other) and all(
            (i, w) == (k, x) and (u == v or (w > 0 and self.raised.get(v) == u) or (w < 0 and self.raised.get(u) == v))
            for (i, u, w), (k, v, x) in zip(one, other)
        )

    def meeting(self, k: int, box: Box) -> list[Alternative]:
        """The alternatives of a column, cut by a box; those that do not meet it are left out."""
        (part, found), cut = self.choices[k], []
        for one in found:
            lower = tuple(map(max, one.lower, box[0][part.start : part.stop]))
            upper = tuple(map(min, one.upper, box[1][part.start : part.stop]))
            if one.whole:
                lower, upper = (float(math.ceil(lower[0])), *lower[1:]), (float(math.floor(upper[0])), *upper[1:])
            if all(a <= b for a, b in zip(lower, upper)):
                cut.append(Alternative(lower, upper, one.whole))
        return cut

    def part(self, box: Box, v: int, at: float, is_below: bool) -> Box | None:
        """The part of a box where a feature is at most a number, or above it; it shrinks to the alternatives left."""
        low, high = box[0].copy(), box[1].copy()
        if is_below:
            high[v] = min(high[v], at)
        else:
            low[v] = max(low[v], math.nextafter(at, INFINITY))
        (k,) = (k for k, (part, _) in enumerate(self.choices) if v in part)
        part, found = self.choices[k][0], self.meeting(k, (low, high))
        if not found:
            return None
        low[part.start : part.stop], high[part.start : part.stop] = hull(found)
        return low, high

    def points(self, box: Box) -> Iterator[list[float]]:
        """All points of a box, if they are few."""
        columns, total = [], 1
        for k in range(len(self.choices)):
            spans = [
                (range(int(a[0]), int(b[0]) + 1) if whole else range(rank(a[0]), rank(b[0]) + 1), whole, a[1:])
                for a, b, whole in self.meeting(k, box)
            ]
            total *= sum(len(span) for span, *_ in spans)
            require(total <= MOST_POINTS, "too many points to compute them all", Unproved)
            columns.append([(float(x) if whole else double(x), *rest) for span, whole, rest in spans for x in span])
        return ([x for features in point for x in features] for point in itertools.product(*columns))

    def exclude(self, region: Region, goal: dict[str, HalfSpace], case: Any) -> None:
        """Check that no input of a region satisfies the half-spaces of a goal, or that none breaks the statement."""
        rows, todo = {**self.rows, **region.rows, **goal}, [(region.box, case)]
        while todo:
            box, case = todo.pop()
            self.steps += len(box[0])
            require(case is not None, "a part of a region has no certificate", Unproved)
            if "farkas" in case:
                norm = {"norm": self.near.half_space(case["norm"])} if "norm" in case and self.near is not None else {}
                self.steps += len(norm) * sum(len(part) * len(found) for part, found in self.choices)
                self.farkas(rows | norm, box, case["farkas"])
            elif "enumerated" in case:
                for z in self.points(box):
                    self.steps += 100 * len(z)
                    counts = all(sum(c * Fraction(z[v]) for v, c in g.items()) <= h for g, h in self.rows.values())
                    is_harmless = not counts or not self.is_broken(z)
                    require(is_harmless, "a point that was to be harmless breaks the statement", Unproved)
            else:
                v, at, cases = integer(case["feature"], 0, len(box[0])), doubles(case["at"]), case["parts"]
                parts = self.part(box, v, at, True), self.part(box, v, at, False)
                todo += [(part, one) for part, one in zip(parts, cases, strict=True) if part is not None]
            require(self.steps <= MOST_STEPS, "the certificate takes too many steps", Unproved)

    def farkas(self, rows: dict[str, HalfSpace], box: Box, multipliers: Any) -> None:
        """Check that multipliers combine half-spaces to one that no input satisfies."""
        total: dict[int, Fraction] = {}
        bound = Fraction(0)
        for name, multiplier in multipliers:
            require(name in rows, "a multiplier is of a half-space that is not there", Unproved)
            (coef, h), y = rows[name], exact(multiplier)
            require(y >= 0, "a multiplier is negative", Unproved)
            bound += y * h
            for v, c in coef.items():
                total[v] = total.get(v, Fraction(0)) + y * c
                self.steps += 10 + total[v].denominator.bit_length() ** 2 // 2**16  # sums of fractions grow
            require(self.steps <= MOST_STEPS, "the certificate takes too many steps", Unproved)
        least = sum(c * Fraction(box[c <= 0][v]) for v, c in total.items())
        require(least > bound, "multipliers do not exclude a region", Unproved)

    def check(self, certificate: dict[str, Any]) -> None:
        """Walk through all nodes: each is excluded, split, or a leaf that cannot break the statement."""
        todo: list[tuple[str, list[int], int, Region]] = [("", [], self.models[0].root, Region(self.box, {}, []))]
        while todo:
            prefix, leaves, node, region = todo.pop()
            run, name = len(leaves), prefix + (f"~{-1 - node}" if node < 0 else str(node))
            case = certificate.get(name)
            self.steps += len(self.box[0]) + 10
            if case is not None and "ways" not in case:
                self.exclude(region, {}, case)
            elif node >= 0:
                below = [(c, self.child(region, run, node, s)) for s, c in enumerate(self.models[run].children[node])]
                todo += [(prefix, leaves, child, part) for child, part in below if part is not None]
            elif run + 1 < len(self.models):
                todo.append((name + ",", [-1 - node], self.models[run + 1].root, region))
            else:
                cases = {} if case is None else case["ways"]
                for way, goal in self.ways([*leaves, -1 - node]):
                    require(way in cases, f"leaf {name} may break the statement, and nothing excludes it", Unproved)
                    self.exclude(region, goal, cases[way])

    def line(self, what: Any, leaves: list[int]) -> Line:
        """The answer of a leaf, or a number."""
        if type(what) is float:
            return Line(Fraction(what))
        run, o = what
        model, leaf = self.models[run], leaves[run]
        value, floor, ceiling = model.value[leaf][o], model.floor[leaf][o], model.ceiling[leaf][o]
        weight = model.coef[leaf][o] if model.coef is not None and floor < ceiling else []
        if not any(weight):
            return Line(Fraction(min(max(value, floor), ceiling)))
        terms = self.terms(run, weight)
        return Line(Fraction(value), terms, self.rounding(terms, value, len(weight)), floor, ceiling)

    def ways(self, leaves: list[int]) -> Iterator[tuple[str, dict[str, HalfSpace]]]:
        """The ways in which rows that reach these leaves may break the statement, each as half-spaces."""
        if self.statement.limits is not None and leaves[1] < leaves[0]:
            return
        if self.statement.breaks(leaves):
            yield "any", {}
            return
        for k, (x, y) in enumerate([self.line(what, leaves) for what in pair] for pair in self.statement.pairs):
            # The same sum, or one that rises: computed, too, it is not above the other.
            is_below = x.value <= y.value and x.floor <= y.floor and x.ceiling <= y.ceiling
            if not (is_below and self.in_order(x.terms, y.terms)):
                yield from ((f"{k}.{way}", goal) for way, goal in ways_above(x, y, self.tolerance))

    def is_broken(self, z: list[float]) -> bool:
        """Whether the models, as they compute, break the statement at a point of features."""
        points = [[z[v] for v in reads] for reads in self.reads]
        if self.statement.breaks([model.leaf(point) for model, point in zip(self.models, points)]):
            return True

        def value(what: Any) -> Fraction:
            return Fraction(what if type(what) is float else self.models[what[0]].answer(what[1], points[what[0]]))

        return any(value(x) - value(y) > self.tolerance for x, y in self.statement.pairs)

    def refute(self, witness: list[Any]) -> None:
        """Check that rows of the domain break the statement."""
        rows, model = [self.domain.row(row) for row in witness], self.domain.model
        is_fit = len(rows) == 1 + bool(self.moved) and (self.near is None or self.near.contains(rows[0]))
        require(is_fit, "the witness is not near, or not as many rows as the statement is about", Unproved)
        z = model.features(rows[0])
        if self.moved:
            triples = list(zip(model.columns, *rows))
            is_same = all(j in self.moved or c.point(a) == c.point(b) for j, (c, a, b) in enumerate(triples))
            is_fit = is_same and all(self.may_move(j, *triples[j]) for j in self.moved)
            require(is_fit, "rows of a witness must differ in columns that move, and only as far as these do", Unproved)
            first, second = rows[::-1] if self.statement.is_reversed else rows
            z = model.features(first) + [x for j in self.moved for x in model.columns[j].point(second[j])]
        require(self.is_broken(z), "the witness does not break the statement", Unproved)

    def may_move(self, j: int, column: Column, a: Any, b: Any) -> bool:
        """Whether a column may hold the second value if it holds the first."""
        if self.statement.limits is None:
            return bool(a <= b)
        if j not in self.statement.limits:
            return True
        numbers = [column.fill if x is None and column.missing == "fill" else x for x in (a, b)]
        if None in numbers:
            return numbers == [None, None]
        return abs(Fraction(numbers[0]) - Fraction(numbers[1])) <= self.statement.limits[j]


# --------------------------------------------------------------------------------------------------------- the program


def text(fields: dict[str, Any]) -> str:
    """A statement in words, on one line."""
    parts = [f"{key} {json.dumps(value)}" for key, value in fields.items() if key != "kind"]
    return ascii(f"{fields['kind']}: {', '.join(parts)}")[1:-1]


def read(data: bytes, other: bytes | None) -> dict[str, Any]:
    """Read a proof file, and compare its model with a model file."""
    is_small = len(data) <= LARGEST_FILE and sum(map(data.count, (b",", b"[", b"{"))) <= MOST_VALUES
    require(is_small, "the file is too large")
    document: dict[str, Any] = parse(data)
    is_known = document["format"] in ("dtsemnet-proof", "dtsemnet-loop-proof") and document["version"] == 1
    require(is_known, "this is no proof file of version 1")
    if other is not None:
        theirs = parse(other)
        is_same = all(theirs.get(key) == document["model"].get(key) for key in ("tree", "encoder", "output"))
        require(is_same, "the proof is about another model than this model file")
    return document


def answers(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is to be said of each claim, and the claim in words."""
    if document["format"] == "dtsemnet-loop-proof":
        import dtsemnet_check_loop as loop  # a control loop is another kind of proof, read in another file

        yield loop.judge(document), loop.text(document)
        return
    domain = Domain(Model(document["model"]), document["domain"])
    for column, allowed in zip(domain.model.columns, domain.allowed):
        yield "domain", ascii(f"{column.name}: {json.dumps(allowed)}")[1:-1]
    for claim in document["claims"]:
        yield judge(claim, domain, document.get("second")), text(claim["statement"])


def judge(claim: dict[str, Any], domain: Domain, second: Any) -> str:
    """What is to be said of a claim."""
    try:
        walk, holds = Walk(claim["statement"], domain, second), flag(claim, "holds")
        walk.check(claim["certificate"]) if holds else walk.refute(claim["witness"])
        return "proved" if claim["holds"] else "refuted"
    except Unproved as error:
        return f"NOT PROVED ({error})"


def main(words: list[str] | None = None) -> int:
    """Check a file, and print an answer for each claim."""
    parser = argparse.ArgumentParser(prog="dtsemnet-check", description="Check a proof about a decision tree.")
    parser.add_argument("proof", type=Path, help="proof file (JSON)")
    parser.add_argument("--model", type=Path, help="model file that the proof must be about")
    parser.add_argument("--quiet", action="store_true", help="print only what is not proved, and the sums")
    parser.add_argument("--version", action="version", version=__version__)
    options = parser.parse_args(words)
    n_claims = n_wrong = 0
    try:
        other = None if options.model is None else options.model.read_bytes()
        for answer, words_of_claim in answers(read(options.proof.read_bytes(), other)):
            n_claims, n_wrong = n_claims + (answer != "domain"), n_wrong + (answer[0] == "N")
            if answer[0] == "N" or not options.quiet:
                print(f"{answer}: {words_of_claim}")
    except Exception as error:  # what is no proof file may break any step
        print(f"refused: {ascii(str(error))[1:-1][:200]} ({type(error).__name__})", file=sys.stderr)
        return 2
    print(f"{n_claims} claims, {n_wrong} of them not proved")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
