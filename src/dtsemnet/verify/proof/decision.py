"""Does a polytope of features hold a row of the domain? Yes with a witness, no with a certificate.

One linear program finds the point farthest inside the polytope. If the model sends it there, it is the witness. If no
point is inside, the multipliers of the program are a Farkas certificate. If columns have alternatives (integers,
categories, missing values), the box is cut until every part has one of the two; a part with few points is decided by
looking at all of them. What is left is *undecided*: the polytope is thinner than rounding.

The certificate is the tree of these cuts, its *cases*: plain numbers, lists and dicts, so that it can be written to a
file. It holds no rows and no boxes. :func:`check_cases` derives them again from the polytope that the statement is
about, so a certificate cannot speak of anything else:

- ``{"farkas": [[row, multiplier], ...]}``: these rows contradict each other in the box;
- ``{"enumerated": n}``: none of the n points of the box arrives;
- ``{"cut": [choice, alternative, at], "parts": [case or None, case or None]}``; None for a part that holds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree.doubles import double_at, rank_of
from dtsemnet.verify.proof.certificates import Farkas, Polytope
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, Step, deepest_point, roundings
from dtsemnet.verify.proof.linear_programs import interior
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = [
    "Arrives",
    "Cases",
    "Decision",
    "check_cases",
    "cut_case",
    "decide_polytope",
    "farkas_case",
    "is_small",
    "n_certificates",
    "neighbours_that_arrive",
    "points_that_arrive",
    "single_row_proof",
]

MAX_BOXES = 2000
THIN, MAX_TRIES = 1e-9, 16
"""How thin a polytope is if a witness is looked for among neighbouring doubles; how many of them the model tries."""
MAX_POINTS = 4096
"""Boxes with at most this many points are decided by looking at all of them."""

Cases = dict[str, Any]
Arrives = Callable[[Floats], Bools]
"""Which points of features the tree sends to the place that is asked about."""


@dataclass(frozen=True)
class Decision:
    """Whether a row of the domain lies in a polytope."""

    status: Literal["reachable", "unreachable", "undecided"]
    witness: Array | None = None
    cases: Cases | None = None
    margin: float = 0.0
    """For "undecided": how far the best point lies inside the rows; NaN if it is not known."""
    n_programs: int = 0


def decide_polytope(
    encoded: EncodedDomain,
    whole: Polytope,
    arrives: Arrives,
    reaches: Callable[[Array], bool],
    deadline: Deadline,
) -> Decision:
    """Find a row of the domain in a polytope that the model accepts, or prove that there is none."""
    of_splits = np.arange(len(whole.rows)) >= len(encoded.rows)
    cases: Cases = {}
    todo, n_programs, open_margins = [(whole, cases)], 0, []
    while todo:
        if deadline.is_over:
            return Decision("undecided", margin=np.nan, n_programs=n_programs)
        polytope, case = todo.pop()
        if is_small(encoded, polytope):
            found = points_that_arrive(encoded, polytope, arrives)
            witness = encoded.find_row(found, polytope, reaches)
            if witness is not None:
                return Decision("reachable", witness, n_programs=n_programs)
            if not len(found):
                case["enumerated"] = int(encoded.n_points(polytope.lower, polytope.upper))
                continue
        proof = single_row_proof(polytope)
        solution = None
        if proof is None:
            n_programs += 1
            solution = interior(polytope)
            if solution is not None and solution.margin < 0 and Farkas(polytope, solution.multiplier).check():
                proof = solution.multiplier
        if proof is not None:
            case |= farkas_case(proof)
            continue
        if solution is not None:
            witness = encoded.find_row(roundings(solution.point), polytope, reaches)
            if witness is None and encoded.soft.any():  # an equality has no inside: go inside the splits' rows alone
                inside = deepest_point(polytope._replace(soft=of_splits))
                witness = None if inside is None else encoded.find_row(roundings(inside), polytope, reaches)
            if witness is None and abs(solution.margin) < THIN:
                witness = encoded.find_row(
                    neighbours_that_arrive(encoded, polytope, solution.point, arrives), polytope, reaches
                )
            if witness is not None:
                return Decision("reachable", witness, n_programs=n_programs)
        step = encoded.next_step(polytope, solution) if n_programs < MAX_BOXES else None
        if step is None:
            open_margins.append(np.nan if solution is None else solution.margin)
            continue
        todo += cut_case(encoded, polytope, case, step)
    if open_margins:
        return Decision("undecided", margin=float(np.max(open_margins)), n_programs=n_programs)
    return Decision("unreachable", cases=cases, n_programs=n_programs)


def farkas_case(multiplier: Floats) -> Cases:
    """The case that multipliers settle."""
    return {"farkas": [[int(k), float(multiplier[k])] for k in np.flatnonzero(multiplier)]}


def cut_case(encoded: EncodedDomain, polytope: Polytope, case: Cases, step: Step) -> list[tuple[Polytope, Cases]]:
    """Settle a case by those of two parts, and return the parts that hold points, with their cases, still empty."""
    parts = [(part, Cases()) for part in encoded.cut(polytope, step)]
    case |= {"cut": list(step), "parts": [None if part is None else inner for part, inner in parts]}
    return [(part, inner) for part, inner in parts if part is not None]


def check_cases(encoded: EncodedDomain, whole: Polytope, cases: Any, arrives: Arrives) -> bool:
    """Check a certificate against the polytope that it is about, in rational arithmetic."""
    todo = [(whole, cases)]
    while todo:
        polytope, case = todo.pop()
        try:
            if "farkas" in case:
                multiplier = np.zeros(len(polytope.rows))
                for row, factor in case["farkas"]:
                    if not 0 <= row < len(multiplier) or not np.isfinite(factor):
                        return False
                    multiplier[row] = factor
                if not Farkas(polytope, multiplier).check():
                    return False
            elif "enumerated" in case:
                is_complete = is_small(encoded, polytope) and case["enumerated"] == encoded.n_points(*polytope[2:4])
                if not is_complete or len(points_that_arrive(encoded, polytope, arrives)):
                    return False
            else:
                choice, alternative, at = case["cut"]
                if not 0 <= choice < len(encoded.choices):
                    return False
                parts = encoded.cut(polytope, Step(int(choice), int(alternative), float(at)))
                inner = case["parts"]
                if len(inner) != len(parts):
                    return False
                todo += [pair for pair in zip(parts, inner) if pair[0] is not None]  # type: ignore[misc]
        except (TypeError, KeyError, ValueError):  # no certificate of this form
            return False
    return True


def n_certificates(cases: Cases | None) -> int:
    """Count the parts that a certificate settles."""
    total, todo = 0, [cases]
    while todo:
        case = todo.pop()
        if case is not None:
            total += "cut" not in case
            todo += case.get("parts", [])
    return total


def is_small(encoded: EncodedDomain, polytope: Polytope) -> bool:
    """Whether a box has so few points that all of them can be looked at."""
    return encoded.n_points(polytope.lower, polytope.upper) <= MAX_POINTS


def points_that_arrive(encoded: EncodedDomain, polytope: Polytope, arrives: Arrives) -> Floats:
    """The points of a small box that may lie in the domain and arrive."""
    Z = encoded.points(polytope.lower, polytope.upper)
    Z = Z[arrives(Z)]
    return Z[[encoded.obeys_rows(z) for z in Z]] if len(encoded.rows) else Z


def neighbours_that_arrive(encoded: EncodedDomain, polytope: Polytope, point: Floats, arrives: Arrives) -> Floats:
    """Some doubles around a point, near and far, and around 0, where products are lost, that arrive."""
    rng, rank, d = np.random.default_rng(0), rank_of(point), len(point)
    n = min(256, max(8, 50_000 // d))
    near = [rank + rng.integers(-size, size + 1, (n, d)) for size in (1, 4, 64, 2**12, 2**24)]
    tiny = np.where(rng.random((2 * n, d)) < 0.5, 0, rng.integers(-8, 9, (2 * n, d)))
    most = int(rank_of(np.finfo(np.float64).max))
    Z = np.asarray(double_at(np.clip(np.concatenate([*near, tiny]), -most, most)))
    Z = encoded.snap(Z, polytope.lower, polytope.upper)
    return Z[arrives(Z)][:MAX_TRIES]


def single_row_proof(polytope: Polytope) -> Floats | None:
    """The multiplier of one row alone, if it holds nowhere in the box."""
    rows, bound, lower, upper, _ = polytope
    if not len(rows):
        return None
    least = np.where(rows > 0, rows * lower, rows * upper).sum(axis=1)
    worst = int(np.argmax(least - bound))
    if least[worst] <= bound[worst]:
        return None
    multiplier = np.eye(1, len(rows), worst)[0]
    return multiplier if Farkas(polytope, multiplier).check() else None
