"""A small checker of Alethe proofs: assume, or, and_pos, la_generic and resolution, in exact arithmetic."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any


class Wrong(Exception):
    """A step does not follow."""


def parse(text: str) -> list[Any]:
    """Read S-expressions as nested tuples."""
    stack: list[list[Any]] = [[]]
    for word in re.findall(r"[()]|[^\s()]+", re.sub(r";[^\n]*", "", text)):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    (found,) = stack
    return found


def linear(term: Any) -> dict[str, Fraction]:
    """A linear term; the constant has the name "1"."""
    if isinstance(term, str):
        return {term: Fraction(1)} if term[0].isalpha() else {"1": Fraction(term)}
    operator, *parts = term
    inner = [linear(part) for part in parts]
    if operator == "+":
        return _added(inner)
    if operator == "-" and len(inner) == 1:
        return {name: -factor for name, factor in inner[0].items()}
    if operator in "*/" and len(inner) == 2:
        terms, other = (inner[1], inner[0]) if operator == "*" and set(inner[0]) <= {"1"} else inner
        factor = other["1"]
        if set(other) != {"1"}:
            raise Wrong(f"not linear: {term}")
        return {name: value * (factor if operator == "*" else 1 / factor) for name, value in terms.items()}
    raise Wrong(f"unknown term: {term}")


def _added(parts: list[dict[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for part in parts:
        for name, factor in part.items():
            total[name] = total.get(name, Fraction(0)) + factor
    return total


def is_contradiction(inequalities: list[Any], multipliers: list[Fraction]) -> bool:
    """Whether inequalities, times multipliers from 0 on, add up to ``0 <= c`` with ``c < 0``."""
    total: dict[str, Fraction] = {}
    for (sign, left, right), multiplier in zip(inequalities, multipliers, strict=True):
        if multiplier < 0 or sign not in ("<=", ">="):
            return False
        direction = multiplier if sign == "<=" else -multiplier
        moved = {name: -factor for name, factor in linear(right).items()}
        total = _added([total, {n: direction * f for n, f in _added([linear(left), moved]).items()}])
    constant = total.pop("1", Fraction(0))
    return not any(total.values()) and constant > 0  # sum of left - right <= 0, yet it is a positive number


def resolve(clauses: list[tuple[Any, ...]]) -> set[Any]:
    """Resolve the first clause with each of the others in turn."""
    result = set(clauses[0])
    for clause in clauses[1:]:
        pivots = [literal for literal in clause if opposite(literal) in result]
        if len(pivots) != 1:
            raise Wrong("there is not one pivot")
        result = (result - {opposite(pivots[0])}) | (set(clause) - {pivots[0]})
    return result


def opposite(literal: Any) -> Any:
    """The negation of a literal."""
    return literal[1] if literal[0] == "not" else ("not", literal)


def check(problem: str, proof: str) -> None:
    """Check that a proof ends in the empty clause and assumes only what the problem asserts."""
    asserted = [command[1] for command in parse(problem) if command[0] == "assert"]
    known: dict[str, tuple[Any, ...]] = {}
    clause: tuple[Any, ...] = ("nothing",)
    for step in parse(proof):
        if step[0] == "assume":
            if step[2] not in asserted:
                raise Wrong("an assumption is not asserted")
            known[step[1]] = (step[2],)
            continue
        _, name, (_, *literals), *rest = step
        fields = dict(zip(rest[::2], rest[1::2]))
        clause, rule = tuple(literals), fields[":rule"]
        premises = [known[premise] for premise in fields.get(":premises", ())]
        if rule == "la_generic":
            multipliers = [linear(word).get("1", Fraction(0)) for word in fields[":args"]]
            holds = all(literal[0] == "not" for literal in clause)
            holds = holds and is_contradiction([literal[1] for literal in clause], multipliers)
        elif rule == "and_pos":
            (negated, one), (k,) = clause, fields[":args"]
            holds = negated[0] == "not" and negated[1][0] == "and" and negated[1][1 + int(k)] == one
        elif rule == "or":
            holds = premises == [(("or", *clause),)]
        elif rule == "resolution":
            holds = resolve(premises) == set(clause)
        else:
            holds = False
        if not holds:
            raise Wrong(f"step {name} ({rule}) does not follow")
        known[name] = clause
    if clause:
        raise Wrong("the proof does not end in the empty clause")
