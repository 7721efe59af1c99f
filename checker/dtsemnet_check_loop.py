"""Check proofs about control loops: a tree acts on what it sees, and formulas say how the state goes on.

:mod:`dtsemnet_check` calls this for files of the format "dtsemnet-loop-proof" (docs/proof-file.md). A claim is about
all traces from an initial set, for every disturbance of a box: each state is in the safe set until the trace reaches
the goal, and it does so within some steps, if there is a goal.

What a yes means. States and formulas are real numbers, or doubles, or anything between: one operation may be wrong by
``ROUND`` of its result, sin, cos and tanh by ``CURVED``. The policy sees numbers rounded to 64 or 32 bits, and computes
as :mod:`dtsemnet_check` says; a tie counts as both ways.

How it is checked. A *branch* holds all traces that go one way. It has columns (the first state, disturbances, one for
each curved term) in a box, and half-spaces of them. Every number on the way is a *form*, ``coef . columns + const``
up to an error. This program derives forms, boxes and half-spaces in exact arithmetic, forks at splits and at formulas
with pieces, and reads from the file, in *records*, one for each branch, what takes thought:

- ``["only", side]``: the box alone shows which way all traces go; ``["fork", r, ...]``: records of the sides;
- ``["empty", multipliers]``: multipliers of the half-spaces show that a side holds no trace;
- ``["bounds", low, high, m, m]``: where a form lies; ``["lines", [slope, least, most], ...]``: lines around its curve;
- ``["scale", k]``: factor k of a product is a number, up to an error;
- ``["most", m, ...]``: the state is in the safe set; ``["beyond", k, ...]``: half-spaces of the goal it may be outside;
- ``["cell", k, m, ...]``: the branch lies in a later cell, a set of states from which the claim is shown by itself.

Multipliers are pairs of the number of a half-space and a factor; null for what the box shows.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dtsemnet_check import INFINITY, Model, Unproved, doubles, exact, flag, integer, require

ROUND, CURVED, ROUND_32 = Fraction(1, 2**51), Fraction(1, 2**49), Fraction(1, 2**23)
TINY, LEAST_DENOMINATOR, MOST_STEPS = Fraction(1, 2**1000), Fraction(1, 10**6), 10**8
ZERO, ONE = Fraction(0), Fraction(1)


# ---------------------------------------------------------------------------------------------- curves between lines

BITS = 256
UNIT = 1 << BITS  # numbers are integers in units of 2^-BITS
SLACK = 1 << 90  # what truncated terms of a series add up to: 2 N^2 e^x units for N < 400 terms and x <= 40


def series(x: int) -> list[int]:
    """The terms x^n / n! of a number from 0 to 40, summed by n modulo 4; wrong by less than SLACK."""
    sums, term, n = [UNIT, 0, 0, 0], UNIT, 0
    while n < 100 or term:
        n += 1
        term = (term * x // n) >> BITS
        sums[n % 4] += term
    return sums


def around(low: int, high: int) -> tuple[int, int]:
    """Widen an interval by the error of a series."""
    return low - SLACK, high + SLACK


def times(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """The product of two intervals."""
    corners = [x * y for x in a for y in b]
    return min(corners) >> BITS, -(-max(corners) >> BITS)


def minus(a: tuple[int, int]) -> tuple[int, int]:
    """The negative of an interval."""
    return -a[1], -a[0]


def sine(x: int) -> tuple[int, int]:
    """Enclose sin x."""
    sums = series(abs(x))
    found = around(sums[1] - sums[3], sums[1] - sums[3])
    return found if x >= 0 else minus(found)


def cosine(x: int) -> tuple[int, int]:
    """Enclose cos x."""
    sums = series(abs(x))
    return around(sums[0] - sums[2], sums[0] - sums[2])


def hyperbolic_tangent(x: int) -> tuple[int, int]:
    """Enclose tanh x = 1 - 2 / (exp(2 x) + 1)."""
    if x < 0:
        return minus(hyperbolic_tangent(-x))
    low, high = around(*[sum(series(2 * min(x, 20 * UNIT)))] * 2)
    least, most = UNIT - 2 * UNIT * UNIT // (low + UNIT) - 1, UNIT - 2 * UNIT * UNIT // (high + UNIT) + 1
    return least, UNIT if x > 20 * UNIT else min(most, UNIT)


def reciprocal(x: int) -> tuple[int, int]:
    """Enclose 1 / x."""
    return UNIT * UNIT // x, -(-UNIT * UNIT // x)


def value_and_slope(function: str, x: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Enclose a function and its derivative at a point."""
    if function == "sin":
        return sine(x), cosine(x)
    if function == "cos":
        return cosine(x), minus(sine(x))
    if function == "square":
        return times((x, x), (x, x)), (2 * x, 2 * x)
    if function == "tanh":
        found = hyperbolic_tangent(x)
        falls = times(found, found)
        return found, (UNIT - falls[1], UNIT - max(falls[0], 0))
    found = reciprocal(x)
    return found, minus(times(found, found))


def span(function: str, low: int, high: int) -> tuple[int, int]:
    """Enclose a function between two points."""
    if function in ("sin", "cos"):
        return -UNIT, UNIT
    ends = value_and_slope(function, low)[0], value_and_slope(function, high)[0]
    least, most = min(end[0] for end in ends), max(end[1] for end in ends)
    return (0 if function == "square" and low <= 0 <= high else least), most


@lru_cache(maxsize=2**16)
def line_holds(function: str, low: float, high: float, slope: float, least: float, most: float) -> bool:
    """Whether ``slope v + least <= f(v) <= slope v + most`` between two numbers.

    The interval is cut into 16 parts. On each, with m its middle, h half its width and c a bound of the second
    derivative, ``f(v) - slope v`` is at most ``|f'(m) - slope| h + c h^2 / 2`` away from its value at m.
    """
    start, stop = math.floor(Fraction(low) * UNIT), math.ceil(Fraction(high) * UNIT)
    ends = math.floor(Fraction(least) * UNIT), math.ceil(Fraction(most) * UNIT)
    if function in ("sin", "cos") and max(-start, stop) > 20 * UNIT:
        return slope == 0 and ends[0] <= -UNIT and ends[1] >= UNIT
    s, half = math.floor(Fraction(slope) * UNIT), (stop - start) // 32 + 2
    require(Fraction(slope) * UNIT == s, "the slope of a line has too many digits", Unproved)
    found = []
    for k in range(16):
        m = start + (stop - start) * (2 * k + 1) // 32
        value, derivative = value_and_slope(function, m)
        bend = UNIT if function in ("sin", "cos", "tanh") else 2 * UNIT
        if function == "reciprocal":
            bend = 2 * UNIT**4 // min(abs(m - half), abs(m + half)) ** 3 + 1
        turn = times((0, max(abs(derivative[0] - s), abs(derivative[1] - s))), (half, half))[1]
        turn += times((bend, bend), times((half, half), (half, half)))[1] // 2 + 1
        shift = times((s, s), (m, m))
        found.append((value[0] - shift[1] - turn, value[1] - shift[0] + turn))
    low_shown, high_shown = min(one[0] for one in found), max(one[1] for one in found)
    if slope == 0:
        flat = span(function, start, stop)
        low_shown, high_shown = max(low_shown, flat[0]), min(high_shown, flat[1])
    return ends[0] <= low_shown and high_shown <= ends[1]


# ---------------------------------------------------------------------------------------------- formulas and branches


@dataclass(frozen=True, eq=False)
class Term:
    """An operation on other terms; a symbol has none."""

    kind: str
    parts: tuple[Term, ...] = ()
    number: float = 0.0


ARITY = {"add": 2, "subtract": 2, "multiply": 2, "divide": 2, "maximum": 2, "where": 4}
ARITY |= dict.fromkeys(("sin", "cos", "tanh", "square", "float32", "float64"), 1)


def constant(number: float) -> Term:
    """A number as a term."""
    return Term("constant", number=number)


def clipped(term: Term, low: float, high: float) -> Term:
    """A term moved between ends, which may be infinite."""
    term = Term("maximum", (term, constant(low))) if low > -INFINITY else term
    if high == INFINITY:
        return term
    turned = Term("multiply", (constant(-1.0), term))
    return Term("multiply", (constant(-1.0), Term("maximum", (turned, constant(-high)))))


@dataclass(frozen=True)
class Form:
    """``coef . columns + const``, up to an error."""

    coef: dict[int, Fraction] = field(default_factory=dict)
    const: Fraction = ZERO
    error: Fraction = ZERO


def upward(number: Fraction) -> Fraction:
    """A short fraction that is not below a number from 0 on."""
    near = float(number)
    require(near < 1e200, "numbers grow without bound", Unproved)
    return Fraction(near if Fraction(near) >= number else math.nextafter(near, INFINITY))


def combine(weights: Sequence[Fraction], forms: Sequence[Form], const: Fraction = ZERO) -> Form:
    """Add up forms times weights."""
    coef: dict[int, Fraction] = {}
    error = ZERO
    for w, form in zip(weights, forms):
        const += w * form.const
        error += abs(w) * form.error
        for v, c in form.coef.items():
            coef[v] = coef.get(v, ZERO) + w * c
    return Form({v: c for v, c in coef.items() if c}, const, upward(error))


class Record:
    """The entries of a branch, read one by one."""

    def __init__(self, entries: Any) -> None:
        require(type(entries) is list and all(type(e) is list and e for e in entries), "a record must hold entries")
        self.entries, self.at = entries, 0

    def peek(self) -> Any:
        """The name of the next entry."""
        return self.entries[self.at][0] if self.at < len(self.entries) else None

    def take(self, name: str) -> list[Any]:
        """The next entry, which must have a name."""
        require(self.peek() == name, f"the proof has {str(self.peek())[:20]!a} where {name} is needed", Unproved)
        self.at += 1
        return list(self.entries[self.at - 1][1:])


@dataclass(frozen=True)
class Branch:
    """Traces that go one way: a box of columns, half-spaces, and what is known of the terms of this step."""

    box: tuple[tuple[Fraction, Fraction], ...]
    rows: tuple[tuple[dict[int, Fraction], Fraction], ...]
    record: Record
    time: int
    node: int
    forms: dict[Term, Form]
    chosen: dict[Term, Term] = field(default_factory=dict)

    def interval(self, form: Form) -> tuple[Fraction, Fraction]:
        """Where a form lies in the box."""
        low, high = form.const - form.error, form.const + form.error
        for v, c in form.coef.items():
            ends = self.box[v] if c > 0 else self.box[v][::-1]
            low, high = low + c * ends[0], high + c * ends[1]
        return low, high

    def rounded(self, form: Form, share: Fraction = ROUND) -> Form:
        """The form of a computed result."""
        most = max(map(abs, self.interval(form)))
        return replace(form, error=upward(form.error + share * most + TINY))

    def require(self, *conditions: tuple[Form, Fraction]) -> Branch:
        """Keep the traces whose numbers are at most these bounds."""
        rows = [(form.coef, bound - form.const + form.error) for form, bound in conditions]
        return replace(self, rows=(*self.rows, *rows))

    def with_column(self, low: Fraction, high: Fraction) -> tuple[Branch, Form]:
        """Add a column."""
        return replace(self, box=(*self.box, (low, high))), Form({len(self.box): ONE})

    def with_forms(self, found: dict[Term, Form]) -> Branch:
        """Remember what terms are."""
        return replace(self, forms=self.forms | found)


def negative(form: Form) -> Form:
    """Minus a form."""
    return Form({v: -c for v, c in form.coef.items()}, -form.const, form.error)


class States:
    """A set of states: a box, whose sides may be open, and half-spaces."""

    def __init__(self, fields: dict[str, Any], n: int) -> None:
        self.fields = fields
        ends = [[None if x is None else Fraction(doubles(x)) for x in fields[name]] for name in ("lower", "upper")]
        bound = [Fraction(b) for b in doubles(fields["bound"], len(fields["bound"]))]
        rows = [[Fraction(c) for c in row] for row in doubles(fields["rows"], len(bound), n)]
        require(len(ends[0]) == len(ends[1]) == n, "a set must have ends for each state")
        self.ends, self.rows = list(zip(*ends)), list(zip(rows, bound))
        unit = [[ONE if j == k else ZERO for j in range(n)] for k in range(n)]
        self.half_spaces = [([-c for c in unit[k]], -low) for k, (low, _) in enumerate(self.ends) if low is not None]
        self.half_spaces += [(unit[k], high) for k, (_, high) in enumerate(self.ends) if high is not None]
        self.half_spaces += self.rows

    def box(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The ends, if none is open."""
        require(all(None not in pair for pair in self.ends), "a set of first states must be bounded", Unproved)
        return tuple((Fraction(low), Fraction(high)) for low, high in self.ends)

    def contains(self, x: Sequence[float]) -> bool:
        """Whether a state lies in the set."""
        inside = (sum(c * Fraction(v) for c, v in zip(row, x)) <= bound for row, bound in self.half_spaces)
        return all(map(math.isfinite, x)) and all(inside)


# ---------------------------------------------------------------------------------------------- the loop


class Loop:
    """A policy, a system and a claim."""

    def __init__(self, document: dict[str, Any]) -> None:
        system, claim, self.document = document["system"], document["claim"], document
        self.model, self.steps_taken = Model(document["model"]), 0
        are_lists = all(
            type(system[name]) is list for name in ("states", "disturbance", "formulas", "next", "observation")
        )
        require(are_lists, "a system must have lists of states, disturbances and formulas")
        self.n, n_actions = len(system["states"]), integer(system["n_actions"], 1, 10**4)
        self.disturbance = [tuple(doubles(pair, 2)) for pair in system["disturbance"]]
        require(all(low <= high for low, high in self.disturbance), "a disturbance must have a low and a high end")
        counts = {"state": self.n, "action": n_actions, "disturbance": len(self.disturbance)}
        self.symbols = {kind: [Term(kind, number=k) for k in range(count)] for kind, count in counts.items()}
        terms = list[Term]()
        for kind, *parts in system["formulas"]:
            if kind in counts:
                require(len(parts) == 1, "a symbol has one number")
                terms.append(self.symbols[kind][integer(parts[0], 0, counts[kind])])
            elif kind == "constant":
                terms.append(constant(doubles(parts, 1)[0]))
            else:
                require(len(parts) == ARITY.get(kind, -1), f"the operation {str(kind)[:20]!a} is not known so")
                terms.append(Term(kind, tuple(terms[integer(part, 0, len(terms))] for part in parts)))
        self.next, self.seen = (
            [terms[integer(k, 0, len(terms))] for k in system[name]] for name in ("next", "observation")
        )
        is_fit = len(self.next) == self.n and len(self.seen) == len(self.model.columns)
        is_fit = is_fit and all(term.kind in ("float64", "float32") for term in self.seen) and self.n > 0
        plain = all(column.is_number and column.missing != "indicator" for column in self.model.columns)
        require(is_fit and plain, "system and policy do not fit together")
        for term in self.seen:
            self.refuse_symbols(term, ("action", "disturbance"))
        self.features = [self.feature(term, column.numbers) for term, column in zip(self.seen, self.model.columns)]
        self.squash = document["model"].get("output", {"kind": "identity"})
        self.squash = None if self.squash["kind"] == "identity" else self.squash
        self.actions = self.read_actions(system["actions"], n_actions)
        self.initial, *sets = (
            None if claim[k] is None else States(claim[k], self.n) for k in ("initial", "safe", "goal")
        )
        self.safe, self.goal = sets
        self.steps, self.goal_from = integer(claim["steps"], 1, 10**6), integer(claim["goal_from"], 0, 2)
        self.same = self.nodes_of_one_answer()

    @staticmethod
    def refuse_symbols(term: Term, kinds: tuple[str, ...]) -> None:
        """Refuse a formula that reads what it must not."""
        todo, seen = [term], set[Term]()
        while todo:
            one = todo.pop()
            require(one.kind not in kinds, "what the policy sees must be of the state alone")
            todo += [part for part in one.parts if part not in seen]
            seen |= set(one.parts)

    @staticmethod
    def feature(term: Term, numbers: list[float]) -> Term:
        """A feature of the policy."""
        center, scale, low, high = numbers
        term = term if center == 0 else Term("subtract", (term, constant(center)))
        return clipped(term if scale == 1 else Term("multiply", (term, constant(scale))), low, high)

    def read_actions(self, given: Any, n_actions: int) -> dict[Any, tuple[float, ...]] | None:
        """What each class does; None for a regressor, whose outputs are the actions."""
        if given is None:
            require(self.model.names is None and self.model.n_outputs == n_actions, "the policy has no actions")
            return None
        found = {label: tuple(doubles(u, n_actions)) for label, u in given}
        is_fit = self.model.names is not None and self.squash is None and all(c in found for c in self.model.names)
        require(is_fit, "actions must say what each class does")
        return found

    def leaves_below(self, node: int) -> list[int]:
        """The leaves below a node."""
        todo, found = [node], []
        while todo:
            one = todo.pop()
            found += [-1 - one] if one < 0 else []
            todo += self.model.children[one] if one >= 0 else []
        return found

    def nodes_of_one_answer(self) -> dict[int, tuple[float, ...]]:
        """Nodes whose leaves all answer the same numbers; no split below them matters."""
        model = self.model
        if model.coef is not None:
            return {}
        answers: list[tuple[float, ...]] = []
        for leaf, row in enumerate(model.value):
            if self.actions is not None:
                answers.append(self.actions[model.label[leaf]])
            else:
                ends = zip(row, model.floor[leaf], model.ceiling[leaf])
                answers.append(tuple(min(max(y, low), high) for y, low, high in ends))
        below = {node: {answers[k] for k in self.leaves_below(node)} for node in range(-len(answers), len(model.bias))}
        return {node: next(iter(found)) for node, found in below.items() if len(found) == 1}

    # What certificates say.

    def least(self, branch: Branch, form: Form, multipliers: Any) -> Fraction:
        """What a form is at least: by the box, or by multipliers of half-spaces, whichever is more."""
        shown = branch.interval(form)[0]
        if multipliers is None:
            return shown
        total, bound = dict(form.coef), form.const - form.error
        for number, factor in multipliers:
            (coef, h), y = branch.rows[integer(number, 0, len(branch.rows))], exact(factor)
            require(y >= 0, "a multiplier is negative", Unproved)
            bound -= y * h
            self.steps_taken += 10 + len(coef)
            for v, c in coef.items():
                total[v] = total.get(v, ZERO) + y * c
        require(self.steps_taken < MOST_STEPS, "the proof takes too many steps", Unproved)
        return max(shown, bound + sum(c * branch.box[v][c < 0] for v, c in total.items()))

    def bounds(self, branch: Branch, form: Form) -> tuple[float, float]:
        """Where a form lies, as two doubles."""
        low, high, *multipliers = branch.record.take("bounds")
        ends = doubles([low, high], 2)
        is_shown = Fraction(ends[0]) <= self.least(branch, form, multipliers[0])
        is_shown = is_shown and -Fraction(ends[1]) <= self.least(branch, negative(form), multipliers[1])
        require(is_shown and ends[0] <= ends[1], "a number may lie beyond its bounds", Unproved)
        return ends[0], ends[1]

    def fork(self, branch: Branch, sides: Sequence[Branch]) -> list[Branch]:
        """The sides of a branch that may hold traces."""
        numbers = branch.record.take("fork")
        require(len(numbers) == len(sides), "a branch must go on in all of its sides", Unproved)
        alive = []
        for side, number in zip(sides, numbers):
            side = replace(side, record=self.record(number))
            if side.record.peek() == "empty":
                (multipliers,) = side.record.take("empty")
                shows = self.least(side, Form(), [] if multipliers is None else multipliers) > 0
                require(shows, "multipliers do not show that a branch is empty", Unproved)
            else:
                alive.append(side)
        return alive

    def record(self, number: Any) -> Record:
        """A record, which belongs to one branch."""
        k = integer(number, 0, len(self.records))
        require(k not in self.used, "a record belongs to two branches", Unproved)
        self.used.add(k)
        return Record(self.records[k])

    # One step of the loop.

    def settle(self, branch: Branch, targets: Sequence[Term]) -> Iterator[Branch]:
        """Give forms to all terms that some formulas need."""
        todo = [branch]
        while todo:
            here = todo.pop()
            self.steps_taken += 1
            term = self.next_term(here, targets)
            if term is None:
                yield here
            else:
                todo += self.one(here, term)

    @staticmethod
    def next_term(branch: Branch, targets: Sequence[Term]) -> Term | None:
        """The next term to give a form to: its parts have forms, and a target needs it."""
        for term in targets:
            if term in branch.forms:
                continue
            while True:
                needed = term.parts[:2] if term.kind == "where" else term.parts
                needed = (branch.chosen[term],) if term in branch.chosen else needed
                missing = [part for part in needed if part not in branch.forms]
                if not missing:
                    return term
                term = missing[0]
        return None

    def one(self, branch: Branch, term: Term) -> list[Branch]:
        """Give a form to one term."""
        kind, parts = term.kind, term.parts
        if term in branch.chosen:
            return [branch.with_forms({term: branch.forms[branch.chosen[term]]})]
        if kind == "constant":
            return [branch.with_forms({term: Form(const=Fraction(term.number))})]
        require(parts, "a formula reads what it must not", Unproved)
        if kind in ("maximum", "where"):
            return self.choose(branch, term)
        forms = [branch.forms[part] for part in parts]
        if kind in ("add", "subtract"):
            found = branch.rounded(combine([ONE, ONE if kind == "add" else -ONE], forms))
        elif kind == "float64":
            found = branch.rounded(forms[0])
        elif kind == "float32":  # numbers below the least normal one of 32 bits are rounded by at most 2^-149
            found = branch.rounded(forms[0], ROUND_32)
            found = replace(found, error=upward(found.error + Fraction(1, 2**149)))
        elif kind == "multiply":
            branch, found = self.product(branch, forms, parts[0] is parts[1])
        elif kind == "divide":
            branch, found = self.quotient(branch, forms)
        else:
            branch, found = self.curve(branch, kind, forms[0], ROUND if kind == "square" else CURVED)
        return [branch.with_forms({term: found})]

    def choose(self, branch: Branch, term: Term) -> list[Branch]:
        """The larger of two terms, or one of two formulas by a comparison."""
        left, right, yes, no = term.parts if term.kind == "where" else term.parts * 2
        difference = combine([ONE, -ONE], [branch.forms[left], branch.forms[right]])
        sides = self.sides(branch, difference)
        chosen = zip(sides, (yes, no))
        sides = [None if one is None else replace(one, chosen=branch.chosen | {term: part}) for one, part in chosen]
        return self.go_on(branch, sides)

    def sides(self, branch: Branch, form: Form) -> list[Branch | None]:
        """Traces with a number above 0, and at most 0; None for what the box alone shows to be empty."""
        if branch.record.peek() != "only":
            return [branch.require((negative(form), ZERO)), branch.require((form, ZERO))]
        (side,) = branch.record.take("only")
        low, high = branch.interval(form)
        require(low > 0 if integer(side, 0, 2) == 0 else high <= 0, "the box does not show which way to go", Unproved)
        return [None, branch] if side else [branch, None]

    def go_on(self, branch: Branch, sides: Sequence[Branch | None]) -> list[Branch]:
        """Go on in the sides of a branch."""
        open_sides = [side for side in sides if side is not None]
        return self.fork(branch, open_sides) if len(open_sides) == len(sides) else open_sides

    def product(self, branch: Branch, forms: Sequence[Form], is_square: bool) -> tuple[Branch, Form]:
        """A multiple, a square, or a column between four planes."""
        if branch.record.peek() == "scale":
            k = integer(branch.record.take("scale")[0], 0, 2)
            factor, form = forms[k], forms[1 - k]
            spread = branch.interval(replace(factor, const=ZERO))[1]
            spread = max(spread, -branch.interval(replace(factor, const=ZERO))[0])
            return branch, branch.rounded(self.multiple(branch, factor.const, spread, form))
        if is_square:
            return self.curve(branch, "square", forms[0], ROUND)
        (a, b), (c, d) = (tuple(map(Fraction, self.bounds(branch, form))) for form in forms)
        corners = [x * y for x in (a, b) for y in (c, d)]
        extra = Fraction(3, 2) * ROUND * max(map(abs, corners)) + TINY / 2
        branch, y = branch.with_column(min(corners) - extra, max(corners) + extra)
        rows = [(combine([z, x, -ONE], [*forms, y]), x * z + extra) for x, z in ((a, c), (b, d))]  # (a - x)(b - z) >= 0
        rows += [(combine([-z, -x, ONE], [*forms, y]), extra - x * z) for x, z in ((a, d), (b, c))]
        return branch.require(*rows), y

    @staticmethod
    def multiple(branch: Branch, factor: Fraction, doubt: Fraction, form: Form) -> Form:
        """A form times a number that is known up to a doubt."""
        total = combine([factor], [form])
        return replace(total, error=upward(total.error + doubt * max(map(abs, branch.interval(form)))))

    def quotient(self, branch: Branch, forms: Sequence[Form]) -> tuple[Branch, Form]:
        """Divide by a number, or multiply by the reciprocal."""
        if branch.record.peek() == "scale":
            require(branch.record.take("scale") == [1.0], "only a denominator may be a number", Unproved)
            low, high = branch.interval(forms[1])
            require(low > LEAST_DENOMINATOR / 2 or high < -LEAST_DENOMINATOR / 2, "a denominator may be 0", Unproved)
            factor = Fraction(1.0 / float(forms[1].const))
            doubt = upward(max(abs(1 / low - factor), abs(1 / high - factor)))
            return branch, branch.rounded(self.multiple(branch, factor, doubt, forms[0]))
        branch, found = self.curve(branch, "reciprocal", forms[1], ROUND)
        return self.product(branch, [forms[0], found], False)

    def curve(self, branch: Branch, function: str, form: Form, share: Fraction) -> tuple[Branch, Form]:
        """A column between parallel lines."""
        low, high = self.bounds(branch, form)
        is_away = low > LEAST_DENOMINATOR / 2 or high < -LEAST_DENOMINATOR / 2
        require(function != "reciprocal" or is_away, "a denominator may be 0", Unproved)
        lines = [tuple(doubles(line, 3)) for line in branch.record.take("lines")]
        self.steps_taken += 100 * len(lines)
        require(lines and lines[0][0] == 0, "the first line around a curve must be level", Unproved)
        for line in lines:
            require(line_holds(function, low, high, *line), "a line does not hold for a curve", Unproved)
        extra = share * max(abs(Fraction(end)) for end in lines[0][1:])
        least, most = (Fraction(end) for end in lines[0][1:])
        branch, y = branch.with_column(least - Fraction(3, 2) * extra, most + Fraction(3, 2) * extra)
        rows = []
        for s, below, above in (map(Fraction, line) for line in lines[1:]):
            rows.append((combine([ONE, -s], [y, form]), above + extra))
            rows.append((combine([-ONE, s], [y, form]), extra - below))
        return branch.require(*rows), y

    def rounding(self, branch: Branch, weight: Sequence[float], bias: float, forms: Sequence[Form]) -> Fraction:
        """How far a computed sum over features is off, at most."""
        size = abs(Fraction(bias))
        size += sum(abs(Fraction(w)) * max(map(abs, branch.interval(f))) for w, f in zip(weight, forms) if w)
        n = (-(-len(weight) // 16) + 6) * Fraction(1, 2**53)
        return upward(n / (1 - n) * size + len(weight) * Fraction(1, 2**1074))

    def walk(self, branch: Branch) -> Iterator[Branch]:
        """Go down the tree."""
        forms, model, todo = [branch.forms[term] for term in self.features], self.model, [branch]
        while todo:
            here = todo.pop()
            if here.node < 0 or here.node in self.same:
                yield here
                continue
            weight, bias = model.weight[here.node], model.bias[here.node]
            left, right = model.children[here.node]
            used = [k for k, w in enumerate(weight) if w]
            if not used:
                todo.append(replace(here, node=right if bias > 0 else left))
                continue
            score = combine([Fraction(weight[k]) for k in used], [forms[k] for k in used], Fraction(bias))
            score = replace(score, error=upward(score.error + self.rounding(branch, weight, bias, forms)))
            nodes = zip(self.sides(here, score), (right, left))
            todo += self.go_on(here, [None if one is None else replace(one, node=node) for one, node in nodes])

    def act(self, branch: Branch) -> Iterator[Branch]:
        """Say what the actions are."""
        model, symbols = self.model, self.symbols["action"]
        is_constant = branch.node in self.same
        if is_constant and self.squash is None:
            yield branch.with_forms({u: Form(const=Fraction(y)) for u, y in zip(symbols, self.same[branch.node])})
            return
        leaf, answers = self.leaves_below(branch.node)[0], []
        for o in range(model.n_outputs):
            term = Term("output")
            if is_constant:
                form = Form(const=Fraction(self.same[branch.node][o]))
            else:
                forms = [branch.forms[one] for one in self.features]
                coef, value = (model.coef or [])[leaf][o], model.value[leaf][o]
                form = combine([Fraction(c) for c in coef], forms, Fraction(value))
                form = replace(form, error=upward(form.error + self.rounding(branch, coef, value, forms)))
            branch = branch.with_forms({term: form})
            term = term if is_constant else clipped(term, model.floor[leaf][o], model.ceiling[leaf][o])
            if self.squash is not None:
                low, high = doubles([self.squash["low"][o], self.squash["high"][o]], 2)
                half = Term("divide", (Term("add", (Term("tanh", (term,)), constant(1.0))), constant(2.0)))
                term = Term("add", (constant(low), Term("multiply", (half, constant(high - low)))))
            answers.append(term)
        for done in self.settle(branch, answers):
            yield done.with_forms({u: done.forms[term] for u, term in zip(symbols, answers)})

    def step(self, branch: Branch) -> Iterator[Branch]:
        """The branches of the next step."""
        for seen in self.settle(branch, self.features):
            for arrived in self.walk(seen):
                for acted in self.act(arrived):
                    for symbol, (low, high) in zip(self.symbols["disturbance"], self.disturbance):
                        acted, form = acted.with_column(Fraction(low), Fraction(high))
                        acted = acted.with_forms({symbol: form})
                    for done in self.settle(acted, self.next):
                        forms = {x: done.forms[term] for x, term in zip(self.symbols["state"], self.next)}
                        yield replace(done, forms=forms, chosen={}, time=done.time + 1, node=self.model.root)

    # The claim.

    def along(self, branch: Branch, row: Sequence[Fraction]) -> Form:
        """A linear function of the state."""
        pairs = [(c, branch.forms[x]) for c, x in zip(row, self.symbols["state"]) if c]
        return combine([c for c, _ in pairs], [form for _, form in pairs])

    def examine(self, branch: Branch) -> list[Branch]:
        """Check that a branch is safe, and return what has not reached the goal."""
        if self.safe is not None:
            self.check_within(branch, self.safe, branch.record.take("most"), "a branch may leave the safe set")
        if self.goal is None or branch.time < self.goal_from:
            return [branch]
        beyond = {integer(k, 0, len(self.goal.half_spaces)) for k in branch.record.take("beyond")}
        inside: list[tuple[Form, Fraction]] = []
        sides = []
        for k, (row, bound) in enumerate(self.goal.half_spaces):
            form = self.along(branch, row)
            if k in beyond:
                sides.append(branch.require(*inside, (negative(form), -bound)))
                inside.append((form, bound))
            else:
                require(branch.interval(form)[1] <= bound, "a branch may lie outside the goal", Unproved)
        alive = self.fork(branch, sides)
        require(not alive or branch.time < self.steps, "a branch may miss the goal", Unproved)
        return alive

    def check_within(self, branch: Branch, states: States, given: Sequence[Any], text: str) -> None:
        """Check that a branch lies in a set, by multipliers for each half-space."""
        for (row, bound), multipliers in zip(states.half_spaces, given, strict=True):
            require(-self.least(branch, negative(self.along(branch, row)), multipliers) <= bound, text, Unproved)

    def check(self) -> None:
        """Follow all branches of all cells."""
        self.records, self.used = self.document["records"], set[int]()
        require(type(self.records) is list, "records must be a list")
        cells = [
            (States(c["states"], self.n), integer(c["time"], 0, self.steps), c["record"])
            for c in self.document["cells"]
        ]
        self.check_cover([(states, time) for states, time, _ in cells])
        for states, started, number in cells:
            forms = {x: Form({k: ONE}) for k, x in enumerate(self.symbols["state"])}
            first = Branch(states.box(), (), self.record(number), started, self.model.root, forms)
            first = first.require(*((self.along(first, row), bound) for row, bound in states.rows))
            # What goes on in a later cell was examined before it went there.
            todo = [first] if started == 0 else list(self.step(first))
            while todo:
                for branch in self.examine(todo.pop()):
                    if branch.record.peek() == "cell":
                        k, *given = branch.record.take("cell")
                        into, time, _ = cells[integer(k, 0, len(cells))]
                        # A cell at the same time could lead back here, and the proof would rest on itself.
                        require(started < time == branch.time, "a branch must go on in a later cell", Unproved)
                        into.box()
                        self.check_within(branch, into, given, "a branch does not lie in its cell")
                    elif branch.time < self.steps:
                        todo += self.step(branch)

    def check_cover(self, cells: Sequence[tuple[States, int]]) -> None:
        """Check that the first cells cover the initial set, which is cut across one coordinate at a time."""
        require(self.initial is not None, "a claim needs an initial set")
        todo = [(self.document["cuts"], self.document["claim"]["initial"])]
        while todo:
            cut, part = todo.pop()
            if len(cut) == 1:
                states, time = cells[integer(cut[0], 0, len(cells))]
                require(time == 0 and states.fields == part, "the cells do not cover the initial set", Unproved)
                continue
            k, at = integer(cut[0], 0, self.n), doubles(cut[1])
            first, second = ({name: list(part[name]) for name in part} for _ in range(2))
            require(part["lower"][k] <= at <= part["upper"][k], "a cut lies outside its part", Unproved)
            first["upper"][k] = second["lower"][k] = at
            todo += [(cut[2], first), (cut[3], second)]

    def refute(self) -> None:
        """Replay a trace in doubles, and check that it breaks the claim."""
        trace = self.document["trace"]
        x, inputs = doubles(trace["state"], self.n), trace["disturbances"]
        require(type(inputs) is list, "disturbances must be a list")
        require(self.initial is not None and self.initial.contains(x), "the trace starts outside the set", Unproved)
        for time in range(self.steps + 1):
            if self.safe is not None and not self.safe.contains(x):
                return
            require(
                not (self.goal and time >= self.goal_from and self.goal.contains(x)), "it reaches the goal", Unproved
            )
            if time == self.steps or time == len(inputs):
                break
            w = doubles(inputs[time], len(self.disturbance))
            inside = all(low <= v <= high for v, (low, high) in zip(w, self.disturbance))
            require(inside and all(map(math.isfinite, x)), "a disturbance is outside its box", Unproved)
            x = self.simulate(x, w)
        require(self.goal is not None and time == self.steps, "the trace does not break the claim", Unproved)

    def simulate(self, x: Sequence[float], w: Sequence[float]) -> list[float]:
        """One step in doubles."""
        values = dict(zip(self.symbols["state"], x)) | dict(zip(self.symbols["disturbance"], w))
        z = self.model.features([compute(term, values) for term in self.seen])
        if self.actions is not None:
            u: Sequence[float] = self.actions[self.model.label[self.model.leaf(z)]]
        else:
            u = [self.model.answer(o, z) for o in range(self.model.n_outputs)]
            if self.squash is not None:
                ends = zip(u, self.squash["low"], self.squash["high"])
                u = [low + (math.tanh(y) + 1.0) / 2.0 * (high - low) for y, low, high in ends]
        values |= dict(zip(self.symbols["action"], u))
        return [compute(term, values) for term in self.next]


def compute(term: Term, known: dict[Term, float]) -> float:
    """Evaluate a formula in doubles; what it finds on the way is kept in `known`."""
    todo = [term]
    while todo:
        one = todo[-1]
        missing = [part for part in one.parts if part not in known]
        if one in known:
            todo.pop()
        elif missing:
            todo += missing
        else:
            known[one] = apply(one, [known[part] for part in one.parts])
    return known[term]


def apply(term: Term, parts: list[float]) -> float:
    """One operation on doubles."""
    kind = term.kind
    if kind == "constant":
        return term.number
    if kind == "float32":
        return float(struct.unpack("<f", struct.pack("<f", parts[0]))[0])
    a, b = parts[0], parts[-1]
    if kind == "where":
        return parts[2] if a > parts[1] else parts[3]
    if kind == "divide" and b == 0:
        return INFINITY
    simple = {"add": a + b, "subtract": a - b, "multiply": a * b, "maximum": max(a, b), "square": a * a, "float64": a}
    if kind in simple:
        return simple[kind]
    return a / b if kind == "divide" else float(getattr(math, kind)(a))


def judge(document: dict[str, Any]) -> str:
    """What is to be said of the claim of a file."""
    require(document["version"] == 1, "this is no proof of a loop of version 1")
    loop, holds = Loop(document), flag(document, "holds")
    try:
        loop.check() if holds else loop.refute()
        return "proved" if holds else "refuted"
    except Unproved as error:
        return f"NOT PROVED ({error})"


def text(document: dict[str, Any]) -> str:
    """The claim in words, on one line."""
    names = document["system"]["states"]

    def words(part: Any) -> str:
        if part is None:
            return "none"
        ends = zip(names, part["lower"], part["upper"])
        return (
            ", ".join(f"{name} in [{low}, {high}]" for name, low, high in ends) + f", {len(part['bound'])} constraints"
        )

    claim = document["claim"]
    sets = "; ".join(f"{name}: {words(claim[name])}" for name in ("initial", "safe", "goal"))
    return ascii(f"loop: {sets}; steps: {claim['steps']:g}, goal from step {claim['goal_from']:g}")[1:-1]
