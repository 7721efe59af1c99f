"""The ledger of a proof: every multiplier on which it rests, in the order in which the derivation asks for them.

A proof is derived twice by the same code. The first time a :class:`Prover` answers each question (is this branch
empty? where does this form lie?) by a linear program, checks the multipliers in rational arithmetic, and writes them
down. The second time a :class:`Checker` reads them and checks them again, against half-spaces that the derivation
built anew from tree, system and claim. A wrong or missing multiplier makes a weaker statement or an error, never a
wrong proof.

A ledger is a list of records, one for each branch; a record is a list of entries, plain lists and numbers:

- ``["bounds", low, high]``: multipliers for both ends of a form; None for an end that the box gives;
- ``["most", multipliers, ...]``: forms are at most what was asked; None where the box shows it;
- ``["fork", r, ...]``: the branch goes on in these records, one for each side, a half-space tighter each;
- ``["empty", multipliers]``: the branch holds no trace (Farkas);
- ``["cell", k, multipliers, ...]``: the branch lies in cell ``k``, one list for each of its half-spaces.

Multipliers are pairs of a row and a double.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.verify.closed_loop.branches import Branch, Form
from dtsemnet.verify.proof.certificates import Farkas, linear_bound, round_down
from dtsemnet.verify.proof.linear_programs import Solution, interior, minimise_each
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = ["BrokenProof", "Checker", "Judge", "OutOfTime", "Prover", "Reader", "Records", "sparse"]

Records = list[list[list[Any]]]
Multipliers = list[list[Any]]


class BrokenProof(ValueError):
    """A certificate does not show what it should."""


class OutOfTime(Exception):
    """The time limit is over."""


class Judge:
    """Answers the questions of a derivation; where multipliers come from is for a subclass to say."""

    def note(self, branch: Branch, *entry: Any) -> None:
        """Be told of each step, certified or plain from the box, by a name and what belongs to it."""

    def bounds(self, branch: Branch, form: Form) -> tuple[float, float]:
        """Enclose a form on a branch."""
        low, high = branch.interval(form)
        given: Sequence[Multipliers | None] = None, None
        if high - low > 1e-12 * (abs(low) + abs(high)) and len(branch.rows):
            given = self.multipliers(branch, "bounds", (form, -1.0), (form, 1.0))
            ends = []
            for sign, end, one in ((1.0, low, given[0]), (-1.0, -high, given[1])):
                ends.append(end if one is None else max(end, _least(branch, form, sign, one)))
            # Only rounding could make the ends cross, in a branch that holds next to nothing.
            low, high = (ends[0], -ends[1]) if ends[0] <= -ends[1] else (low, high)
        self.note(branch, "bounds", low, high, *given)
        return low, high

    def first_above(self, branch: Branch, limits: Sequence[tuple[Form, float]]) -> int | None:
        """The first of some forms that is not proved to be at most its limit on the whole branch."""
        given = self.multipliers(
            branch, "most", *((form, 1.0) for form, _ in limits), goals=[most for _, most in limits]
        )
        self.note(branch, "most", *given)
        pairs = enumerate(zip(limits, given))
        return next((k for k, ((form, most), one) in pairs if self.proved_most(branch, form, one) > most), None)

    def proved_most(self, branch: Branch, form: Form, given: Multipliers | None) -> float:
        """What multipliers show a form to be at most; None for what the box shows."""
        return branch.interval(form)[1] if given is None else -_least(branch, form, -1.0, given)

    def fork(self, branch: Branch, sides: Sequence[Branch]) -> list[Branch]:
        """The sides of a branch that may hold traces, each with a record of its own."""
        raise NotImplementedError(f"{type(self).__name__} must define fork.")

    def multipliers(
        self, branch: Branch, kind: str, *asked: tuple[Form, float], goals: Sequence[float] = ()
    ) -> Sequence[Multipliers | None]:
        """Multipliers that bound forms from above (1) or below (-1)."""
        raise NotImplementedError(f"{type(self).__name__} must define multipliers.")


@dataclass
class Prover(Judge):
    """Finds multipliers by linear programs, and writes them down."""

    records: Records
    deadline: Deadline
    n_programs: int = 0

    def new_record(self) -> int:
        """Start a record."""
        self.records.append([])
        return len(self.records) - 1

    def write(self, branch: Branch, *entry: Any) -> None:
        """Write an entry into the record of a branch."""
        self.records[branch.record].append(list(entry))

    def fork(self, branch: Branch, sides: Sequence[Branch]) -> list[Branch]:
        """Decide which sides are empty."""
        self._tick()
        sides = [replace(side, record=self.new_record()) for side in sides]
        self.write(branch, "fork", *(side.record for side in sides))
        return [side for side in map(self._settled, sides) if side is not None]

    def multipliers(
        self, branch: Branch, kind: str, *asked: tuple[Form, float], goals: Sequence[float] = ()
    ) -> Sequence[Multipliers | None]:
        """Solve one program for each form, but for those whose goal the box shows."""
        self._tick()
        found: list[Multipliers | None] = [None] * len(asked)
        is_shown = [branch.interval(form)[1] <= goal for (form, _), goal in zip(asked, goals)] or [False] * len(asked)
        hard = [k for k, shown in enumerate(is_shown) if not shown]
        for k, solution in zip(hard, self.largest(branch, [asked[k] for k in hard])):
            found[k] = None if solution is None else sparse(solution.multiplier)
        self.write(branch, kind, *found)
        return found

    def largest(self, branch: Branch, asked: Sequence[tuple[Form, float]]) -> list[Solution | None]:
        """The points of a branch at which forms are largest (1) or least (-1)."""
        self.n_programs += len(asked)
        return minimise_each([-sign * branch.padded(form) for form, sign in asked], branch.polytope)

    def _settled(self, side: Branch) -> Branch | None:
        """Return a side with a point in it; None if it is empty."""
        if side.point is not None:
            return side
        single = _single_row(side)
        if single is not None:
            self.write(side, "empty", single)
            return None
        self.n_programs += 1
        solution = interior(side.polytope)
        if solution is None:
            return side
        if solution.margin < 0 and Farkas(side.polytope, solution.multiplier).check():
            self.write(side, "empty", sparse(solution.multiplier))
            return None
        return replace(side, point=solution.point)

    def _tick(self) -> None:
        if self.deadline.is_over:
            raise OutOfTime


class Reader:
    """A place in a record."""

    def __init__(self, records: Records, number: Any) -> None:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(records):
            raise BrokenProof(f"there is no record {number!r}")
        self.entries, self.number, self.position = records[number], number, 0

    def peek(self) -> str | None:
        """The kind of the next entry; None at the end."""
        return self.entries[self.position][0] if self.position < len(self.entries) else None

    def peek_entry(self) -> list[Any]:
        """The next entry without its kind."""
        return self.entries[self.position][1:]

    def take(self, kind: str) -> list[Any]:
        """Read the next entry, which must be of a kind."""
        if self.peek() != kind:
            raise BrokenProof(f"the proof has {self.peek()!r} where {kind!r} is needed")
        self.position += 1
        return self.entries[self.position - 1][1:]


@dataclass
class Checker(Judge):
    """Reads multipliers, and checks them again."""

    records: Records

    def reader(self, number: Any) -> Reader:
        """Begin a record."""
        return Reader(self.records, number)

    def fork(self, branch: Branch, sides: Sequence[Branch]) -> list[Branch]:
        """Check that the sides left out are empty."""
        numbers = branch.record.take("fork")
        if len(numbers) != len(sides):
            raise BrokenProof("a branch must go on in all of its sides")
        self.note(branch, "fork", *numbers)
        return [side for side in map(self._settled, sides, numbers) if side is not None]

    def multipliers(
        self, branch: Branch, kind: str, *asked: tuple[Form, float], goals: Sequence[float] = ()
    ) -> Sequence[Multipliers | None]:
        """Read what a prover wrote."""
        given = branch.record.take(kind)
        if len(given) != len(asked):
            raise BrokenProof(f"{kind} needs {len(asked)} lists of multipliers")
        return given

    def _settled(self, side: Branch, number: Any) -> Branch | None:
        side = replace(side, record=self.reader(number))
        if side.record.peek() != "empty":
            return side
        (multipliers,) = side.record.take("empty")
        self.note(side, "empty", multipliers)
        if not Farkas(side.polytope, dense(multipliers, len(side.bound))).check():
            raise BrokenProof("multipliers do not show that a branch is empty")
        return None


def dense(multipliers: Any, n_rows: int) -> Floats:
    """Multipliers of all rows; refuses what is none."""
    found = np.zeros(n_rows)
    for row, factor in multipliers:
        is_row = isinstance(row, int) and not isinstance(row, bool) and 0 <= row < n_rows
        if not is_row or not isinstance(factor, (int, float)) or not 0 <= factor < np.inf:
            raise BrokenProof("a multiplier must be the number of a row and a double that is not negative")
        found[row] = factor
    return found


def sparse(multiplier: Floats) -> Multipliers:
    """The multipliers that are not 0, with their rows."""
    return [[int(k), float(multiplier[k])] for k in np.flatnonzero(multiplier)]


def _least(branch: Branch, form: Form, sign: float, multipliers: Multipliers) -> float:
    """A double that is not above ``sign`` times the form, by multipliers."""
    proved = linear_bound(sign * branch.padded(form), 0.0, branch.polytope, dense(multipliers, len(branch.bound)))
    return round_down(proved + Fraction(sign) * Fraction(form.const) - Fraction(form.error))


def _single_row(branch: Branch) -> Multipliers | None:
    """The multiplier of one row alone, if it holds nowhere in the box."""
    rows, bound, lower, upper, _ = branch.polytope
    if not len(rows):
        return None
    least = np.maximum(rows, 0.0) @ lower + np.minimum(rows, 0.0) @ upper
    worst = int(np.argmax(least - bound))
    if least[worst] <= bound[worst]:
        return None
    multiplier = np.eye(1, len(rows), worst)[0]
    return sparse(multiplier) if Farkas(branch.polytope, multiplier).check() else None
