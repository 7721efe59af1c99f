"""What a proof about a loop says, and its check.

A claim is about all traces that start in a set and run for so many steps: each state is *safe* until the trace reaches
the *goal*, and it reaches the goal within the steps, if there is one. (No goal: safe at every step. No safe set: only
the goal counts.)

A proof is a list of *cells*, sets of states at one time, and a ledger of records. The first cells are parts of the
initial set. From a cell on branches are followed step by step; each ends in the goal, is proved empty, survives all
steps, or lies in a later cell. So the claim follows by going back through the cells, latest first. To check a proof
means to follow all branches again, from tree, system and claim, with the multipliers of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree import Model
from dtsemnet.verify.closed_loop.branches import Branch, Form, OutOfRange
from dtsemnet.verify.closed_loop.derivation import Derivation
from dtsemnet.verify.closed_loop.ledger import BrokenProof, Checker, Judge, Records
from dtsemnet.verify.closed_loop.system import StateSet, System

__all__ = ["Cell", "Claim", "Examined", "LoopProof", "cut_in_two", "examine"]


@dataclass(frozen=True, eq=False)
class Claim:
    """What is to be proved."""

    initial: StateSet
    steps: int
    safe: StateSet | None = None
    goal: StateSet | None = None
    goal_from: int = 0
    """The first step at which the goal counts: 1 if a set shall return to itself."""

    def breaks_at(self, states: Floats) -> tuple[int, str] | None:
        """Say at which step a trace that starts in the initial set breaks the claim, and how; None if it does not."""
        for k, x in enumerate(states[: self.steps + 1]):
            if self.safe is not None and not self.safe.contains(x):
                return k, f"outside the safe set at step {k}"
            if self.goal is not None and k >= self.goal_from and self.goal.contains(x):
                return None
        if self.goal is not None and len(states) > self.steps:
            return self.steps, f"not in the goal by step {self.steps}"
        return None

    def to_dict(self) -> dict[str, Any]:
        """The claim as plain lists and numbers."""
        sets = {name: getattr(self, name) for name in ("initial", "safe", "goal")}
        described: dict[str, Any] = {name: None if one is None else one.to_dict() for name, one in sets.items()}
        return described | {"steps": self.steps, "goal_from": self.goal_from}


@dataclass
class Cell:
    """States at one time, from which the rest of the claim is proved."""

    states: StateSet
    time: int
    record: int


@dataclass(frozen=True, eq=False)
class LoopProof:
    """A proof about a loop: cells, and the ledger of their branches."""

    policy: Model = field(repr=False)
    system: System = field(repr=False)
    claim: Claim = field(repr=False)
    cuts: list[Any] = field(repr=False)
    """How the initial set is cut into cells: the number of a cell, or ``[coordinate, at, cuts, cuts]``."""
    cells: list[Cell] = field(repr=False)
    records: Records = field(repr=False)

    @property
    def n_certificates(self) -> int:
        """Number of entries of the ledger that hold multipliers."""
        return sum(entry[0] != "fork" for record in self.records for entry in record)

    def check(self) -> bool:
        """Derive every branch again, and check every multiplier in rational arithmetic."""
        try:
            self.require()
        except (BrokenProof, OutOfRange, TypeError, KeyError, IndexError, ValueError):
            return False
        return True

    def require(self) -> None:
        """Check the proof; an error says what it does not show."""
        self._check_cover(self.cuts, self.claim.initial)
        self.follow(Checker(self.records))

    def follow(self, checker: Checker) -> None:
        """Derive every branch once more; the checker reads the ledger."""
        for cell in self.cells:
            self._check_cell(cell, checker)

    def to_dict(self) -> dict[str, Any]:
        """The proof as plain lists and numbers."""
        cells = [{"states": cell.states.to_dict(), "time": cell.time, "record": cell.record} for cell in self.cells]
        about = {"policy": self.policy.fingerprint(), "claim": self.claim.to_dict()}
        return about | {"cuts": self.cuts, "cells": cells, "records": self.records}

    def _check_cover(self, cuts: Any, states: StateSet) -> None:
        """Check that the first cells cover the initial set."""
        todo = [(cuts, states)]
        while todo:
            cut, part = todo.pop()
            if len(cut) == 1:
                cell = self.cells[cut[0]]
                same = [np.array_equal(getattr(cell.states, name), getattr(part, name)) for name in _PARTS]
                if cell.time != 0 or not all(same):
                    raise BrokenProof("the cells do not cover the initial set")
                continue
            k, at, first, second = cut
            todo += zip((first, second), cut_in_two(part, k, at))

    def _check_cell(self, cell: Cell, checker: Checker) -> None:
        derivation = Derivation(self.policy, self.system, checker)
        if isinstance(cell.time, bool) or not isinstance(cell.time, int) or not 0 <= cell.time < self.claim.steps:
            raise BrokenProof("a cell must be at a step before the last")
        start = derivation.start(cell.states, checker.reader(cell.record), cell.time)
        # What goes on in a later cell was examined before it went there.
        todo = [start] if cell.time == 0 else list(derivation.step(start))
        while todo:
            examined = examine(derivation, self.claim, todo.pop())
            if examined.broken is not None:
                raise BrokenProof("a branch may leave the safe set, or miss the goal")
            for branch in examined.parts:
                if branch.record.peek() == "cell":
                    self._check_inside(derivation, branch, cell.time)
                elif branch.time < self.claim.steps:
                    todo += derivation.step(branch)

    def _check_inside(self, derivation: Derivation, branch: Branch, started: int) -> None:
        number, *given = branch.record.peek_entry()
        other = self.cells[number]
        # A cell at the same time could lead back here, and the proof would rest on itself.
        if other.time != branch.time or branch.time <= started:
            raise BrokenProof("a branch must go on in a later cell, at its own time")
        branch.record.take("cell")
        derivation.judge.note(branch, "cell", number, *given)
        half_spaces = other.states.half_spaces
        if len(given) != len(half_spaces) or not other.states.is_bounded:
            raise BrokenProof("a cell needs multipliers for all of its half-spaces")
        for (row, bound), multipliers in zip(half_spaces, given):
            if not derivation.judge.proved_most(branch, derivation.along(branch, row), multipliers) <= bound:
                raise BrokenProof("a branch does not lie in its cell")


_PARTS = ("lower", "upper", "rows", "bound")


def cut_in_two(states: StateSet, k: int, at: float) -> tuple[StateSet, StateSet]:
    """Cut a set across one coordinate; the cut belongs to both parts."""
    if not 0 <= k < len(states.lower) or not states.lower[k] <= at <= states.upper[k]:
        raise BrokenProof("a cut must go through the box")
    first, second = states.upper.copy(), states.lower.copy()
    first[k] = second[k] = at
    return replace(states, upper=first), replace(states, lower=second)


class Examined(NamedTuple):
    """What becomes of a branch at a step."""

    parts: list[Branch]
    """What has not reached the goal, and goes on."""
    broken: Branch | None = None
    """A part that may break the claim."""


def examine(derivation: Derivation, claim: Claim, branch: Branch) -> Examined:
    """Prove that a branch is safe, and find the parts of it that have not reached the goal."""
    judge: Judge = derivation.judge
    if claim.safe is not None:
        limits = [(derivation.along(branch, row), bound) for row, bound in claim.safe.half_spaces]
        k = judge.first_above(branch, limits)
        if k is not None:
            return Examined([], branch.require((branch.combine([-1.0], [limits[k][0]]), -limits[k][1])))
    if claim.goal is None or branch.time < claim.goal_from:
        return Examined([branch])
    sides = list(_outside(derivation, claim.goal, branch))
    judge.note(branch, "beyond", *(k for k, side in enumerate(sides) if side is not None))
    parts = judge.fork(branch, [side for side in sides if side is not None])
    return Examined([], parts[0]) if parts and branch.time == claim.steps else Examined(parts)


def _outside(derivation: Derivation, goal: StateSet, branch: Branch) -> Iterator[Branch | None]:
    """The complement of a set: outside the first half-space, or inside it and outside the second, and so on.

    None for a half-space that no state of the box is outside, though the closed one beyond may touch the box.
    """
    inside: list[tuple[Form, float]] = []
    for row, bound in goal.half_spaces:
        form = derivation.along(branch, row)
        if branch.interval(form)[1] <= bound:
            yield None
            continue
        yield branch.require(*inside, (branch.combine([-1.0], [form]), -bound))
        inside.append((form, bound))
