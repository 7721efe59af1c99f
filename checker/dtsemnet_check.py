"""Check proofs about a decision tree: exact arithmetic, the standard library, nothing else.

A proof file (JSON, described in docs/proof-file.md) holds a model, a domain and claims. A claim is a statement, such as
"no row of the domain gets the class 'grant'", with a certificate that it holds or a witness that it does not. This
program answers each claim by yes or no, and says why not. It knows no solver and shares no code with the library that
writes the files. It is one file, to be read from top to bottom.

What a yes means. A row is in the domain if each value is allowed in its column and ``A x <= b`` holds exactly. The
model turns a row into features, and rounds each operation once. The tree computes ``s = w . z + b`` at a split, in a
fixed order (`rounded_sum`), and goes right if ``s > 0``, left if not; a tie goes left. A yes is about every row of
doubles in the domain, and about ``s`` as it is computed, with its rounding errors.

How it is checked. The inputs that get to a node lie in a region: a box of features, cut by half-spaces ``g . z <= h``.
A computed ``s`` is off by at most ``rho = gamma (|w| . |z| + |b|) + n_features 2^-1074``, where ``gamma = n u / (1 - n
u)``, ``u = 2^-53``, and ``n`` is the number of roundings that a term meets. So rows that go left have ``w . z <= rho -
b``, rows that go right ``-w . z <= rho + b``. This program derives boxes and half-spaces itself and walks the whole
tree: no leaf is forgotten. A leaf that could break the statement adds half-spaces of its own (`ways_above`), and then
one of three certificates must show that no input is left:

- farkas: multipliers ``y >= 0`` for which ``r = sum y g`` has ``r . z > sum y h`` everywhere in the box. Sums are
  exact, so multipliers that a solver got wrong prove nothing;
- enumerated: the box holds few points, and each is computed;
- feature, at, parts: the box is cut in two, and each part has a certificate. After a cut a box shrinks to the
  alternatives that are left: integers, categories, missing or not.

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
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

__version__ = "0.1.0"
LARGEST_FILE, MOST_VALUES, MOST_POINTS, MOST_STEPS = 64 * 2**20, 5 * 10**6, 2**16, 10**9
UNIT, TINY, INFINITY = Fraction(1, 2**53), Fraction(1, 2**1074), math.inf
Row = tuple[dict[int, Fraction], Fraction]  # the half-space g . z <= h: coefficients by feature, and h
Box = tuple[list[float], list[float]]


class Malformed(Exception):
    """The file is no proof file."""


class Unproved(Exception):
    """A certificate or a witness does not show what it should."""


# ------------------------------------------------------------------------------------------------ reading, and doubles


def parse(data: bytes) -> Any:
    """Parse JSON, all of whose numbers are doubles; no key occurs twice."""

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or ("." not in text and "e" not in text.lower() and int(text) != value):
            raise Malformed(f"the number {text[:30]} is no double")
        return value

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise Malformed("a key occurs twice in one object")
        return dict(pairs)

    return json.loads(data, object_pairs_hook=once, parse_int=number, parse_float=number, parse_constant=number)


def doubles(value: Any, *shape: int) -> Any:
    """Read an array of doubles of a given shape; () for one number."""
    if not shape and type(value) is float:
        return value
    if not shape or type(value) is not list or len(value) != shape[0]:
        raise Malformed(f"an array of numbers of shape {shape} was expected")
    return [doubles(entry, *shape[1:]) for entry in value]


def flag(fields: dict[str, Any], name: str) -> bool:
    """Read a field that is true or false, and false if it is left out."""
    if type(fields.get(name, False)) is not bool:
        raise Malformed(f"{name} must be true or false")
    return fields.get(name, False)


def count(value: Any) -> int:
    """Read a number that is an integer."""
    if not doubles(value).is_integer():
        raise Malformed(f"{value!r} must be an integer")
    return int(value)


def exact(number: Any) -> Fraction:
    """Read a double, or a text like "2/3"."""
    if type(number) is str and not re.fullmatch(r"-?\d{1,999}(/\d{1,999})?", number, re.ASCII):
        raise Malformed("a fraction must read like '2/3'")
    return Fraction(number if type(number) is str else doubles(number))


def rank(x: float) -> int:
    """Number the doubles in increasing order, so that neighbours have neighbouring numbers."""
    bits = struct.unpack("<q", struct.pack("<d", x + 0.0))[0]
    return bits if bits >= 0 else -(2**63) - bits


def double(number: int) -> float:
    """The double of a rank."""
    return struct.unpack("<d", struct.pack("<q", number if number >= 0 else -(2**63) - number))[0]


def rounded_sum(weight: list[float], z: list[float], bias: float) -> float:
    """``weight . z + bias`` as the model computes it: sixteen partial sums, joined by halves, the bias last."""
    lanes = [0.0] * 16
    for k, (w, x) in enumerate(zip(weight, z)):
        lanes[k % 16] += w * x
    for half in (8, 4, 2, 1):
        for k in range(half):
            lanes[k] += lanes[k + half]
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
        known = {"name": "", "categories": None, "missing": None, "fill": 0.0, "center": 0.0, "scale": 1.0}
        known |= {"lower": -INFINITY, "upper": INFINITY}
        if not fields.keys() <= known.keys() or fields.get("missing") not in (None, "indicator", "fill"):
            raise Malformed(f"a column has unknown fields: {str(fields)[:80]}")
        self.fields = known | fields
        values = fields.get("categories")
        if values is not None and (
            len(set(values)) < len(values) or (fields.get("missing") == "fill" and self.fields["fill"] not in values)
        ):
            raise Malformed("categories must be distinct, and a fill one of them")
        self.name, self.categories, self.missing, self.fill = list(self.fields.values())[:4]
        self.numbers = [doubles(x) for x in list(self.fields.values())[4:]]
        self.is_plain = self.categories is None and self.numbers == [0.0, 1.0, -INFINITY, INFINITY]
        is_clipped = self.numbers[2] > -INFINITY or self.numbers[3] < INFINITY
        self.is_affine = self.categories is None and self.missing != "indicator" and not is_clipped and self.numbers[1]
        self.width = (1 if self.categories is None else len(self.categories)) + (self.missing == "indicator")

    def point(self, value: Any) -> tuple[float, ...]:
        """The features of a value."""
        mark = (float(value is None),) if self.missing == "indicator" else ()
        if value is None and self.missing == "fill":
            value = self.fill
        if self.categories is not None:
            code = self.categories.index(value) if value is not None and value in self.categories else -1
            return (*(float(k == code) for k in range(len(self.categories))), *mark)
        center, scale, lower, upper = self.numbers
        z = (doubles(self.fill if value is None and self.missing else value) - center) * scale
        if not math.isfinite(z := min(max(z, lower), upper)):
            raise Malformed("a column overflows")
        return (z, *mark)  # no step changes the order of numbers

    def alternatives(self, allowed: dict[str, Any]) -> list[Alternative]:
        """What the domain allows, as boxes of features: numbers, categories, unknown categories, missing."""
        points = [self.point(None)] if flag(allowed, "missing") else []
        if self.categories is not None:
            if any(value is None or value not in self.categories for value in allowed["categories"]):
                raise Malformed("the domain lists a category that the model does not know")
            points += [self.point(value) for value in allowed["categories"]]
            points += [(0.0,) * self.width] * flag(allowed, "unknown")
            return [Alternative(point, point) for point in dict.fromkeys(points)]
        whole, numbers = flag(allowed, "integer"), []
        if whole and not self.is_plain:
            raise Malformed("a column that is mapped cannot be one of integers")
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
        if self.categories is None and value is not None and Alternative(point, point) not in found:
            inside = "low" in allowed and allowed["low"] <= value <= allowed["high"]
            return inside and not (flag(allowed, "integer") and value % 1)
        return any(all(map(between, a.lower, point, a.upper)) and not (a.whole and point[0] % 1) for a in found)


def between(low: float, x: float, high: float) -> bool:
    """Whether a number lies between two."""
    return low <= x <= high


class Model:
    """Columns and a tree, as a model file describes them."""

    def __init__(self, document: dict[str, Any]) -> None:
        tree = document["tree"]
        is_map = document.get("output", {"kind": "identity"})["kind"] in ("identity", "tanh-scale")
        if document["version"] not in (1, 2) or document["format"] != "dtsemnet" or not is_map:
            raise Malformed("the model has an unknown format")
        self.columns = [Column(fields) for fields in document["encoder"]["columns"]]
        ends = list(itertools.accumulate((column.width for column in self.columns), initial=0))
        self.parts = [range(*pair) for pair in itertools.pairwise(ends)]  # the features of each column
        self.width, n, self.n_outputs = ends[-1], len(tree["bias"]), count(tree["n_outputs"])
        if (tree["n_features"], tree["n_splits"]) != (self.width, n) or self.n_outputs < 1:
            raise Malformed("the tree does not have as many splits, features or outputs as it says")
        self.weight, self.bias = doubles(tree["weight"], n, self.width), doubles(tree["bias"], n)
        self.children = [[count(child) for child in pair] for pair in doubles(tree["children"], n, 2)]
        order, todo = [], [0 if n else -1]
        while todo and len(order) <= n:
            node = todo.pop()
            order += [-1 - node] if node < 0 else []
            todo += self.children[node][::-1] if node >= 0 else []
            if node >= 0 and not all(child < 0 or child > node for child in self.children[node]):
                raise Malformed("splits must come before the splits below them")
        if todo or order != list(range(n + 1)):
            raise Malformed("children must form one tree, with leaves numbered from left to right")
        shape = n + 1, self.n_outputs
        self.value = doubles(tree["value"], *shape)
        self.coef = doubles(tree["coef"], *shape, self.width) if "coef" in tree else None
        self.ceiling = doubles(tree["upper"], *shape) if "upper" in tree else [[INFINITY] * self.n_outputs] * (n + 1)
        self.floor = doubles(tree["lower"], *shape) if "lower" in tree else [[-INFINITY] * self.n_outputs] * (n + 1)
        names = tree.get("class_names")
        if names is not None and (len(set(names)) < len(names) or len(names) != self.n_outputs or "coef" in tree):
            raise Malformed("class_names must be distinct names of the outputs")
        if names is not None and not all(min(row) >= 0 and abs(sum(row) - 1) < 1e-5 for row in self.value):
            raise Malformed("the shares of a leaf must sum to 1")
        labels = self.labels = names  # of equal shares the first class is the answer
        self.label = labels and [labels[max(range(self.n_outputs), key=row.__getitem__)] for row in self.value]

    def leaf(self, z: list[float]) -> int:
        """The leaf that a point of features reaches."""
        node = 0 if self.bias else -1
        while node >= 0:
            score = rounded_sum(self.weight[node], z, self.bias[node])
            if math.isnan(score):
                raise Unproved("a score is no number")
            node = self.children[node][score > 0]
        return -1 - node

    def features(self, row: list[Any]) -> list[float]:
        """The features of a row."""
        return [z for column, value in zip(self.columns, row, strict=True) for z in column.point(value)]

    def answer(self, o: int, z: list[float]) -> float:
        """An output, before an output map; of a classifier the share of a class in the leaf."""
        leaf = self.leaf(z)
        y = self.value[leaf][o] if self.coef is None else rounded_sum(self.coef[leaf][o], z, self.value[leaf][o])
        return min(max(y, self.floor[leaf][o]), self.ceiling[leaf][o])


class Domain:
    """The rows that the claims are about."""

    def __init__(self, model: Model, document: dict[str, Any]) -> None:
        self.model, self.document, self.allowed = model, document, document["columns"]
        self.alternatives = [c.alternatives(given) for c, given in zip(model.columns, self.allowed, strict=True)]
        if not all(self.alternatives):
            raise Malformed("the domain allows nothing in a column")
        constraints = document.get("constraints", {"A": [], "b": []})
        self.b = doubles(constraints["b"], len(constraints["b"]))
        self.A = doubles(constraints["A"], len(self.b), len(model.columns))
        if any(a and not c.is_affine for row in self.A for a, c in zip(row, model.columns)):
            raise Malformed("A constrains a column that is not a plain number")

    def row(self, row: list[Any]) -> list[Any]:
        """A row that is in the domain."""
        for column, allowed, value in zip(self.model.columns, self.allowed, row, strict=True):
            if not column.allows(allowed, value):
                raise Unproved(f"a row is outside the domain in column {column.name[:60]!r}")
        for A, b in zip(self.A, self.b):
            numbers = [(a, c.fill if x is None else x) for a, c, x in zip(A, self.model.columns, row) if a]
            if sum(Fraction(a) * Fraction(x) for a, x in numbers) > b:
                raise Unproved("a row is outside the domain: a row of A does not hold")
        return row

    def constraint(self, k: int, parts: list[range]) -> Row:
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


class Near:
    """Rows around a given one: in held columns they are the same to the model, in others they miss a number if it does,
    and the norm of the changes, times costs, is at most a distance. Any change of a category costs the same."""

    def __init__(self, domain: Domain, fields: dict[str, Any]) -> None:
        columns = domain.model.columns
        self.domain, self.row, self.norm = domain, domain.row(fields["row"]), fields["norm"]
        self.distance = Fraction(doubles(fields["distance"]))
        self.cost = [Fraction(c) for c in doubles(fields.get("cost", [1.0] * len(columns)), len(columns))]
        self.held = {count(j) for j in fields["held"]}
        self.held |= {j for j, c in enumerate(columns) if c.categories is None and self.row[j] is None}
        if (
            type(fields["held"]) is not list
            or self.norm not in ("inf", "1", "2")
            or self.distance < 0
            or min(self.cost) <= 0
        ):
            raise Malformed(
                "near needs a list of held columns, a norm of inf, 1 or 2, a distance from 0 on and positive costs"
            )

    def contains(self, row: list[Any]) -> bool:
        """Whether a row is near."""
        steps = [Fraction(0)]
        for j, (column, a, b) in enumerate(zip(self.domain.model.columns, self.row, row)):
            differs, is_number = column.point(a) != column.point(b), column.categories is None
            if differs and (j in self.held or (is_number and b is None)):
                return False
            is_number = is_number and j not in self.held
            steps.append(self.cost[j] * (abs(Fraction(a) - Fraction(b)) if is_number else int(differs)))
        if self.norm == "2":
            return sum(step * step for step in steps) <= self.distance**2
        return (sum(steps) if self.norm == "1" else max(steps)) <= self.distance

    def half_space(self, terms: Any) -> Row:
        """A half-space that the norm implies: ``a (z - z0) <= distance``, if the dual norm of ``a`` is at most 1."""
        model, a = self.domain.model, {count(v): exact(x) for v, x in terms}
        squares, center = Fraction(0), model.features(self.row)
        for j, part in enumerate(model.parts):
            here = {v: a[v] for v in part if v in a}
            if not any(here.values()) or j in self.held:
                continue
            if model.columns[j].is_plain and self.norm != "inf":
                share = max(abs(x) for x in here.values()) / self.cost[j]
            else:  # any change of a category is a step of 1
                moves = [[x - center[v] for v, x in zip(part, p.lower)] for p in self.domain.alternatives[j]]
                share = max(sum(a.get(v, 0) * Fraction(x) for v, x in zip(part, move)) for move in moves) / self.cost[j]
            is_fit = model.columns[j].is_plain or (model.columns[j].categories is not None and self.norm == "1")
            if not is_fit or share > 1:
                raise Unproved("a half-space does not follow from the norm")
            squares += share * share
        if self.norm == "inf" or (self.norm == "2" and squares > 1):
            raise Unproved("a half-space does not follow from the norm")
        return a, self.distance + sum(x * Fraction(center[v]) for v, x in a.items())

    def all_alternatives(self) -> list[list[Alternative]]:
        """What is near, in each column."""
        return [self.alternatives(j) for j in range(len(self.row))]

    def alternatives(self, j: int) -> list[Alternative]:
        """What is near in one column."""
        column, value, allowed = self.domain.model.columns[j], self.row[j], self.domain.allowed[j]
        if j in self.held:
            return [Alternative(column.point(value), column.point(value))]
        if column.categories is not None:
            return self.domain.alternatives[j]
        reach = self.distance / self.cost[j]
        x = Fraction(value)
        least, most = max(Fraction(allowed["low"]), x - reach), min(Fraction(allowed["high"]), x + reach)
        low, high = float(least), float(most)  # rounded to nearest; the ends are doubles inside
        low = low if low >= least else math.nextafter(low, INFINITY)
        high = high if high <= most else math.nextafter(high, -INFINITY)
        return column.alternatives({"low": low, "high": high, "integer": flag(allowed, "integer")})


# ------------------------------------------------------------------ regions of inputs, and what shows that one is empty


class Fact(NamedTuple):
    """A computed sum, before the bias, lies above a number or not: what a split on the path says."""

    terms: tuple[tuple[int, int, Fraction], ...]  # position in the sum, feature, weight divided by 2^exponent
    exponent: int
    is_above: bool
    end: Fraction  # divided by 2^exponent, too
    is_open: bool  # whether the sum cannot be equal to the end


class Region(NamedTuple):
    """Inputs that get to a node: a box, half-spaces by name, and facts about computed sums."""

    box: Box
    rows: dict[str, Row]
    facts: list[Fact]


class Walk:
    """All inputs in question, and a walk through the tree that they take; below each leaf, through a second tree.

    With columns that are ``moved`` there are two inputs, equal but for these: their features in the second input are
    features of their own, at the end of the list. If it is ``rising``, the second input has no less of that column.
    """

    def __init__(self, statement: Statement, moved: list[int], rising: bool) -> None:
        domain, near = statement.domain, statement.near
        self.statement, self.steps, self.near, columns = statement, 0, near, domain.model.columns
        self.choices = list(zip(domain.model.parts, domain.alternatives if near is None else near.all_alternatives()))
        start, second = domain.model.width, list(domain.model.parts)
        for j in moved:
            second[j] = range(start, start := start + columns[j].width)
            self.choices.append((second[j], domain.alternatives[j]))
        self.raised = {second[j].start: domain.model.parts[j].start for j in moved if rising}
        self.rows: dict[str, Row] = {}
        for v, u in self.raised.items():
            self.rows["order"] = {u: Fraction(1), v: Fraction(-1)}, Fraction(0)
        for parts, names in ((domain.model.parts, "A{}"), (second, "B{}")):
            for k in range(len(domain.b)):
                self.rows[names.format(k)] = domain.constraint(k, parts)
        for (part, found), j in zip(self.choices, [*range(len(columns)), *moved]):
            if columns[j].categories is not None and len(found) > 1:  # one category holds, or none
                self.rows[f"most{part.start}"] = dict.fromkeys(part, Fraction(1)), Fraction(1)
                if all(any(a.lower) for a in found):
                    self.rows[f"least{part.start}"] = dict.fromkeys(part, Fraction(-1)), Fraction(-1)
        every = [list(zip(*found)) for _, found in self.choices]
        self.box = tuple([end(x) for ends in every for x in zip(*ends[k])] for k, end in enumerate((min, max)))
        pairs = [pair for j in statement.order for pair in zip(domain.model.parts[j], second[j])]
        # A feature that has one value is the same in both inputs.
        self.reads = [list(range(domain.model.width)), [u if self.box[0][u] == self.box[1][u] else v for u, v in pairs]]

    def rounding(self, run: int, weight: list[float], bias: float) -> tuple[dict[int, Fraction], Fraction]:
        """A sum as coefficients by feature, and how far it is off as it is computed, at most."""
        coef = {self.reads[run][k]: Fraction(w) for k, w in enumerate(weight) if w}
        largest = {v: Fraction(max(abs(self.box[0][v]), abs(self.box[1][v]))) for v in coef}
        size = sum((abs(c) * largest[v] for v, c in coef.items()), abs(Fraction(bias)))
        if size >= 10**300:
            raise Malformed("sums may overflow on this domain")
        n = -(-len(weight) // 16) + 6  # a product, the sums of a lane, four joins, the bias
        return coef, n * UNIT / (1 - n * UNIT) * size + len(weight) * TINY

    def child(self, region: Region, run: int, split: int, side: int) -> Region | None:
        """Go down one split; None if the order of doubles alone shows that no input goes there."""
        model, (box, rows, facts) = self.statement.models[run], region
        weight, bias = model.weight[split], model.bias[split]
        used = [(k, v, w) for k, (v, w) in enumerate(zip(self.reads[run], weight)) if w]
        if not used:
            return region if side == (bias > 0) else None
        if len(used) == 1:  # a threshold: the last double on one side of it, and the first on the other
            _, v, w = used[0]
            last, first = rank(self.box[0][v]) - 1, rank(self.box[1][v]) + 1
            while first - last > 1:
                middle = (last + first) // 2
                last, first = (last, middle) if (w * double(middle) + bias > 0) == (w > 0) else (middle, first)
            box = self.part(region.box, v, double(last), (side == 0) == (w > 0))
            if box is None:
                return None
        else:
            coef, rho = self.rounding(run, weight, bias)
            sign = -1 if side else 1
            rows = {
                **rows,
                f"{'st'[run]}{split}": ({v: sign * c for v, c in coef.items()}, rho - sign * Fraction(bias)),
            }
        exponent = max(math.frexp(w)[1] for _, _, w in used)
        unit = Fraction(2) ** exponent
        for sign in (1, -1):
            fact = Fact(
                tuple((k, v, sign * Fraction(w) / unit) for k, v, w in used),
                exponent,
                (side == 1) == (sign > 0),
                -sign * Fraction(bias) / unit,
                side == 1,
            )
            if any(self.contradict(*pair) for one in [*facts, fact] for pair in ((one, fact), (fact, one))):
                return None
            facts = [*facts, fact]
        return Region(box, rows, facts)

    def contradict(self, one: Fact, other: Fact) -> bool:
        """Whether one sum is above a number that the other, which is at least as large, is not above."""
        if not one.is_above or other.is_above or not self.in_order(one.terms, other.terms):
            return False
        if one.end < other.end or (one.end == other.end and not (one.is_open or other.is_open)):
            return False
        # If weights differ by a power of two, sums do, unless a product was lost near 0. Then both sums are tiny.
        lanes = -(-max(len(model.weight[0]) for model in self.statement.models if model.bias) // 16)
        tiny = Fraction(2) ** (-1022 + 56 * (lanes + 3) - min(one.exponent, other.exponent))
        return one.exponent == other.exponent or one.end > tiny or other.end < -tiny

    def in_order(self, one: Any, other: Any) -> bool:
        """Whether the sum of the first terms is never computed as larger than that of the second."""

        def fits(a: Any, b: Any) -> bool:
            u, v, w = a[1], b[1], a[2]
            same = u == v or (w > 0 and self.raised.get(v) == u) or (w < 0 and self.raised.get(u) == v)
            return same and a[0] == b[0] and w == b[2]

        return len(one) == len(other) and all(map(fits, one, other))

    def meeting(self, k: int, low: list[float], high: list[float]) -> list[Alternative]:
        """The alternatives of a column, cut by a box; those that do not meet it are left out."""
        part, found = self.choices[k]
        cut = []
        for one in found:
            lower, upper = (
                tuple(map(end, a, b[part.start : part.stop]))
                for end, a, b in ((max, one.lower, low), (min, one.upper, high))
            )
            if one.whole:
                lower, upper = (float(math.ceil(lower[0])), *lower[1:]), (float(math.floor(upper[0])), *upper[1:])
            cut += [Alternative(lower, upper, one.whole)] if all(a <= b for a, b in zip(lower, upper)) else []
        return cut

    def part(self, box: Box, v: int, at: float, is_below: bool) -> Box | None:
        """The part of a box where a feature is at most a number, or above it; it shrinks to the alternatives left."""
        low, high = box[0].copy(), box[1].copy()
        if is_below:
            high[v] = min(high[v], at)
        else:
            low[v] = max(low[v], math.nextafter(at, INFINITY))
        for k, (part, _) in enumerate(self.choices):
            if v in part:
                found = self.meeting(k, low, high)
                if not found:
                    return None
                for ends, index, end in ((low, 0, min), (high, 1, max)):
                    ends[part.start : part.stop] = [end(x) for x in zip(*(a[index] for a in found))]
        return low, high

    def points(self, box: Box) -> Any:
        """All points of a box, if they are few."""
        columns, total = [], 1
        for k in range(len(self.choices)):
            spans = [
                (range(int(a[0]), int(b[0]) + 1) if whole else range(rank(a[0]), rank(b[0]) + 1), whole, a[1:])
                for a, b, whole in self.meeting(k, *box)
            ]
            total *= sum(len(span) for span, *_ in spans)
            if total > MOST_POINTS:
                raise Unproved("too many points to compute them all")
            columns.append([(float(x) if whole else double(x), *rest) for span, whole, rest in spans for x in span])
        return (list(itertools.chain(*point)) for point in itertools.product(*columns))

    def counts(self, z: list[float]) -> bool:
        """Whether a point satisfies the half-spaces of the domain."""
        return all(sum(c * Fraction(z[v]) for v, c in coef.items()) <= bound for coef, bound in self.rows.values())

    def exclude(self, region: Region, goal: dict[str, Row], case: Any) -> None:
        """Check that no input of a region satisfies the half-spaces of a goal, or that none breaks the statement."""
        rows, todo = {**self.rows, **region.rows, **goal}, [(region.box, case)]
        while todo:
            box, case = todo.pop()
            self.steps += len(box[0])
            if case is None:
                raise Unproved("a part of a region has no certificate")
            if "farkas" in case:
                self.farkas(rows, box, case)
            elif "enumerated" in case:
                for z in self.points(box):
                    self.steps += 100 * len(z)
                    if self.counts(z) and self.statement.is_broken(z):
                        raise Unproved("a point that was to be harmless breaks the statement")
            else:
                v, at, cases = count(case["feature"]), doubles(case["at"]), case["parts"]
                parts = self.part(box, v, at, True), self.part(box, v, at, False)
                todo += [pair for pair in zip(parts, cases, strict=True) if pair[0] is not None]
            if self.steps > MOST_STEPS:
                raise Unproved("the certificate takes too many steps")

    def farkas(self, rows: dict[str, Row], box: Box, case: Any) -> None:
        """Check that multipliers combine half-spaces to one that no input satisfies."""
        r, h, (low, high) = {}, Fraction(0), box
        if "norm" in case and self.near is not None:
            rows = {**rows, "norm": self.near.half_space(case["norm"])}
        for name, text in case["farkas"]:
            if name not in rows or (y := exact(text)) < 0:
                raise Unproved("a multiplier is negative, or of a half-space that is not there")
            self.steps += 10 * len(rows[name][0])
            h += y * rows[name][1]
            for v, c in rows[name][0].items():
                r[v] = r.get(v, 0) + y * c
        least = sum(c * Fraction(low[v] if c > 0 else high[v]) for v, c in r.items())
        if least <= h:
            raise Unproved("multipliers do not exclude a region")

    def check(self, certificate: dict[str, Any]) -> None:
        """Walk through all nodes: each is excluded, split, or a leaf that cannot break the statement."""
        models = self.statement.models
        todo = [("", [], 0 if models[0].bias else -1, Region(self.box, {}, []))]
        while todo:
            prefix, leaves, node, region = todo.pop()
            run, name = len(leaves), prefix + (f"~{-1 - node}" if node < 0 else str(node))
            case = certificate.get(name)
            self.steps += len(self.box[0]) + 10
            if case is not None and "ways" not in case:
                self.exclude(region, {}, case)
            elif node >= 0:
                found = [(c, self.child(region, run, node, side)) for side, c in enumerate(models[run].children[node])]
                todo += [(prefix, leaves, child, below) for child, below in found if below is not None]
            elif run + 1 < len(models):
                todo.append((name + ",", [-1 - node], 0 if models[run + 1].bias else -1, region))
            else:
                ways = self.statement.ways([*leaves, -1 - node])
                cases = {} if case is None else case["ways"]
                if not ways.keys() <= cases.keys():
                    raise Unproved(f"leaf {name} may break the statement, and nothing excludes it")
                for way, goal in ways.items():
                    self.exclude(region, goal, cases[way])


# --------------------------------------------------------------------------------------------------------- statements


class Line(NamedTuple):
    """The answer of a leaf: clip(coef . z + value, floor, ceiling), computed with an error."""

    value: Fraction
    coef: dict[int, Fraction] = {}  # noqa: RUF012
    error: Fraction = Fraction(0)
    floor: float = -INFINITY
    ceiling: float = INFINITY
    terms: tuple[tuple[int, int, Fraction], ...] = ()


def ways_above(x: Line, y: Line, tolerance: Fraction) -> dict[int, dict[str, Row]]:
    """The ways in which an answer ``x`` may be more than a tolerance above ``y``, each as half-spaces.

    Since clip(u) = max(floor, min(u, ceiling)), it is if all sums of a part of ``x`` and a part of ``-y`` are, for one
    of two lists of parts of each: [u, ceiling] or [floor] of ``x``, and [-v, -floor] or [-ceiling] of ``-y``.
    """
    minus, found = {v: -c for v, c in y.coef.items()}, {}
    above = [[(x.coef, x.value + x.error), ({}, x.ceiling)], [({}, x.floor)]]
    below = [[(minus, y.error - y.value), ({}, -y.floor)], [({}, -y.ceiling)]]
    for number, (one, other) in enumerate(itertools.product(above, below)):
        sums = [(u, v, p, q) for (u, p), (v, q) in itertools.product(one, other) if INFINITY not in (p, q)]
        if any(-INFINITY in (p, q) for _, _, p, q in sums):
            continue
        rooms = [Fraction(p) + Fraction(q) - tolerance for _, _, p, q in sums]
        coefs = [{k: -u.get(k, 0) - v.get(k, 0) for k in {**u, **v}} for u, v, _, _ in sums]
        if all(coef or room > 0 for coef, room in zip(coefs, rooms)):
            found[number] = {f"g{k}": pair for k, pair in enumerate(zip(coefs, rooms))}
    return found


class Statement:
    """A statement: which leaves break it, and which outputs must not be above which others.

    A new kind of statement is one more branch in here.
    """

    def __init__(self, fields: dict[str, Any], domain: Domain, second: Any) -> None:
        self.fields, self.domain, self.kind, model = fields, domain, fields["kind"], domain.model
        self.models, self.order = [model], list(range(len(model.columns)))
        self.near = Near(domain, fields["near"]) if "near" in fields else None
        self.tolerance = Fraction(doubles(fields.get("tolerance", 0.0)))
        if self.tolerance < 0:
            raise Malformed("a tolerance must not be negative")
        self.leaves: set[int] = set()  # that must not be reached
        self.pairs: list[tuple[Any, Any]] = []  # what must not be above what: numbers, or (tree, output)
        moved: list[int] = []
        if self.kind == "never":
            classes = fields.get("classes", [])
            if type(classes) is not list:
                raise Malformed("classes must be a list")
            self.leaves = {count(leaf) for leaf in fields.get("leaves", [])}
            self.leaves |= {k for k, label in enumerate(model.label or []) if label in classes}
            if any(c not in (model.labels or []) for c in classes) or not self.leaves <= set(range(len(model.value))):
                raise Malformed("never names a class or a leaf that the model does not have")
        elif self.kind == "bound":
            output = 0, count(fields["output"])
            least = doubles(fields["at_least" if "at_least" in fields else "at_most"])
            self.pairs = [(least, output) if "at_least" in fields else (output, least)]
        elif self.kind == "agree":
            self.models.append(self.read_second(second))
            self.pairs = [(a, b) for o in range(model.n_outputs) for a, b in (((0, o), (1, o)), ((1, o), (0, o)))]
            self.pairs *= model.label is None
        elif self.kind == "monotone":
            j, o = count(fields["column"]), count(fields["output"])
            moved, column = [j], model.columns[j]
            if column.categories is not None or self.near is not None:
                raise Malformed("monotone is about a column of numbers, and all rows of the domain")
            present = {k: x for k, x in domain.allowed[j].items() if k != "missing"}
            self.domain = (
                domain
                if "low" not in present
                else Domain(
                    model,
                    domain.document | {"columns": [present if k == j else a for k, a in enumerate(domain.allowed)]},
                )
            )
            self.is_reversed = column.numbers[1] < 0  # then the input with the larger feature has the smaller number
            self.models.append(model)
            falls = self.is_reversed != flag({"increasing": True} | fields, "increasing")
            self.pairs = [((0, o), (1, o)) if falls else ((1, o), (0, o))] if "low" in present else []
        else:
            raise Malformed(f"the kind of statement {str(self.kind)[:40]!r} is not known")
        if any(not 0 <= o < model.n_outputs for pair in self.pairs for _, o in (x for x in pair if type(x) is tuple)):
            raise Malformed("there is no output of this number")
        self.moved, self.walk = moved, Walk(self, moved, bool(moved))

    def read_second(self, second: dict[str, Any]) -> Model:
        """Read the model to compare with; it must read the same columns in the same way, in any order."""
        other, model = Model(second["model"]), self.domain.model
        self.order = [count(j) for j in second["columns"]]
        pairs = [
            (model.columns[j], column, self.domain.allowed[j])
            for j, column in zip(self.order, other.columns, strict=True)
        ]
        for ours, theirs, allowed in pairs:
            unlike = {key for key in ours.fields if ours.fields[key] != theirs.fields[key]} - {"name"}
            if not flag(allowed, "missing") and "indicator" not in (ours.missing, theirs.missing):
                unlike -= {"missing", "fill"}
            if unlike:
                raise Malformed("the second model reads a column in another way")
        if sorted(self.order) != list(range(len(model.columns))) or (model.label is None) != (other.label is None):
            raise Malformed("the second model must read the same columns, and give classes if the first does")
        if model.label is None and model.n_outputs != other.n_outputs:
            raise Malformed("the second model must have as many outputs")
        return other

    def breaks(self, leaves: list[int]) -> bool:
        """Whether leaves, one of each tree, break the statement, whatever their answers."""
        if self.kind == "agree" and self.models[0].label is not None:
            return self.models[0].label[leaves[0]] != self.models[1].label[leaves[1]]
        return leaves[0] in self.leaves

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
        terms = tuple((k, self.walk.reads[run][k], Fraction(w)) for k, w in enumerate(weight) if w)
        return Line(Fraction(value), *self.walk.rounding(run, weight, value), floor, ceiling, terms)

    def ways(self, leaves: list[int]) -> dict[str, dict[str, Row]]:
        """The ways in which rows that reach these leaves may break the statement, each as half-spaces."""
        if self.breaks(leaves):
            return {"any": {}}
        found = {}
        for k, (x, y) in enumerate([self.line(what, leaves) for what in pair] for pair in self.pairs):
            # The same sum, or one that rises: computed, too, it is not above the other.
            ordered = self.walk.in_order(x.terms, y.terms) and x.value <= y.value
            if not (ordered and x.floor <= y.floor and x.ceiling <= y.ceiling):
                found |= {f"{k}.{way}": goal for way, goal in ways_above(x, y, self.tolerance).items()}
        return found

    def is_broken(self, z: list[float]) -> bool:
        """Whether the models, as they compute, break the statement at a point of features."""
        points = [[z[v] for v in reads] for reads in self.walk.reads]
        if self.breaks([model.leaf(point) for model, point in zip(self.models, points)]):
            return True

        def value(what: Any) -> Fraction:
            return Fraction(what if type(what) is float else self.models[what[0]].answer(what[1], points[what[0]]))

        return any(value(x) - value(y) > self.tolerance for x, y in self.pairs)

    def refute(self, witness: list[Any]) -> None:
        """Check that rows of the domain break the statement."""
        rows, columns = [self.domain.row(row) for row in witness], self.domain.model.columns
        if len(rows) != 1 + len(self.moved) or (self.near is not None and not self.near.contains(rows[0])):
            raise Unproved("the witness is not near, or not as many rows as the statement is about")
        z = self.domain.model.features(rows[0])
        for j in self.moved:
            same = [c.point(a) == c.point(b) for c, a, b in zip(columns, *rows)]
            if not all(is_same or k == j for k, is_same in enumerate(same)) or not rows[0][j] <= rows[1][j]:
                raise Unproved("the two rows of the witness must differ in one column, and the second have more of it")
            first, second = rows[::-1] if self.is_reversed else rows
            z = self.domain.model.features(first) + list(columns[j].point(second[j]))
        if not self.is_broken(z):
            raise Unproved("the witness does not break the statement")


def text(fields: dict[str, Any]) -> str:
    """A statement in words, on one line."""
    parts = [f"{key} {json.dumps(value)}" for key, value in fields.items() if key != "kind"]
    return ascii(f"{fields['kind']}: {', '.join(parts)}")[1:-1]


def read(data: bytes, other: bytes | None) -> tuple[Domain, Any]:
    """Read a proof file, and compare its model with a model file."""
    if len(data) > LARGEST_FILE or sum(map(data.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise Malformed("the file is too large")
    document = parse(data)
    if document["format"] != "dtsemnet-proof" or document["version"] != 1:
        raise Malformed("this is no proof file of version 1")
    if other is not None:
        theirs = parse(other)
        if any(theirs.get(key) != document["model"].get(key) for key in ("tree", "encoder", "output")):
            raise Malformed("the proof is about another model than this model file")
    return Domain(Model(document["model"]), document["domain"]), document


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
        domain, document = read(options.proof.read_bytes(), other)
        for column, allowed in zip(domain.model.columns, () if options.quiet else domain.allowed):
            print(ascii(f"domain: {column.name}: {json.dumps(allowed)}")[1:-1])
        for claim in document["claims"]:
            try:
                statement = Statement(claim["statement"], domain, document.get("second"))
                if flag(claim, "holds"):
                    statement.walk.check(claim["certificate"])
                else:
                    statement.refute(claim["witness"])
                answer = "proved" if claim["holds"] else "refuted"
            except Unproved as error:
                answer = f"NOT PROVED ({error})"
            n_claims, n_wrong = n_claims + 1, n_wrong + (answer[0] == "N")
            if answer[0] == "N" or not options.quiet:
                print(f"{answer}: {text(claim['statement'])}")
    except (
        Malformed,
        OSError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        MemoryError,
    ) as error:
        print(f"refused: {ascii(str(error))[1:200]} ({type(error).__name__})", file=sys.stderr)
        return 2
    print(f"{n_claims} claims, {n_wrong} of them not proved")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
