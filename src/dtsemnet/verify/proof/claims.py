"""Claims: statements with evidence that a stranger can check, as they stand in a proof file.

A question knows its answer; a claim says why. Its *certificate* names the nodes of the tree that no input of interest
gets to, each with the cases that show it (:mod:`dtsemnet.verify.proof.decision`), and for leaves that are reached the
cases in which the statement could be broken. Whoever checks it walks through the tree, so no leaf can be left out.

Verdicts on leaves have their cases already. Bounds and radii are proved once more here, for the number that was
certified: a leaf's bound is wrong only in a polytope with one more half-space, the *goal*, and multipliers show that it
is empty (:func:`refute`). What is nearer than a radius lies in a box, for the norms 1 and 2 also in a half-space
``a (z - z0) <= radius`` with ``a`` of dual norm 1, so that again multipliers of half-spaces are all that is needed
(:func:`exclude_near`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Model
from dtsemnet.verify.proof.certificates import Farkas, Norm, Polytope
from dtsemnet.verify.proof.decision import Cases, cut_case, farkas_case, is_small, points_that_arrive, single_row_proof
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, Step, encode_readings
from dtsemnet.verify.proof.exploration import Reachability, Verdict
from dtsemnet.verify.proof.leaf_pairs import Line, ways_above
from dtsemnet.verify.proof.linear_programs import Solution, contradiction, interior, nearest
from dtsemnet.verify.proof.nearest import Distance
from dtsemnet.verify.proof.readings import Reading, is_absent
from dtsemnet.verify.proof.regions import Cuts, Region, leaves_below
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = [
    "Certificate", "Claim", "Evidence", "Near", "all_claims", "certificate_of", "claim_near", "claims_about",
    "claims_about_leaves",
    "exclude_near", "exclude_ways", "just_below", "plain_row", "refute", "written_case",
]  # fmt: skip

MAX_BOXES = 2000

Certificate = dict[str, Any]
"""Cases by node: ``"3"`` is split 3, ``"~3"`` leaf 3; in pairs of trees ``"~3,5"`` is split 5 of the second there."""


@dataclass(frozen=True)
class Claim:
    """A statement, and why it holds or does not."""

    statement: dict[str, Any]
    """In the terms of the file (docs/proof-file.md)."""
    holds: bool | None
    """None if it is not decided."""
    evidence: Any = None
    """A certificate if it holds, a list of rows if not."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What an answer needs to be saved as a proof."""

    model: Model
    readings: tuple[Reading, ...]
    """The columns of the domain."""
    constraints: tuple[Floats, Floats] | None
    claims: Callable[[], Iterable[Claim]]
    """Makes the claims; some are proved only now."""
    second: tuple[Model, list[int]] | None = None
    """The model to compare with, and for each of its columns the number of that column in the first."""

    @classmethod
    def on(cls, encoded: EncodedDomain, claims: Callable[[], Iterable[Claim]]) -> Evidence:
        """Evidence about the model and the domain that were bound."""
        return cls(encoded.model, encoded.readings, encoded.constraints, claims)


def all_claims(evidence: Iterable[Evidence]) -> list[Claim]:
    """The claims of several answers about one model and domain."""
    return [claim for one in evidence for claim in one.claims()]


def certificate_of(cuts: Cuts, verdicts: Iterable[Verdict]) -> Certificate:
    """The certificate that leaves which are proved unreachable have together."""
    found: Certificate = {}
    for verdict in verdicts:
        proof = verdict.proof
        if proof is None or proof.cases is None:
            continue  # the order of doubles alone is the proof, which a checker sees on its way down
        key = cuts.node_key(cuts.node_at(proof.path))
        if key not in found:
            region = cuts.region_at(proof.path)
            found[key] = written_case(cuts.encoded, cuts.polytope(region), proof.cases, cuts.row_names(proof.path))
    return found


def claims_about_leaves(leaves: Reachability) -> list[Claim]:
    """Which leaves are reached, each by a row, and which are not, all in one certificate."""
    assert leaves.cuts is not None
    claims = []
    for leaf in leaves.reachable:
        claims += claims_about(leaves.cuts, {"kind": "never", "leaves": [leaf]}, [leaves.verdicts[leaf]])
    for status in (leaves.unreachable, leaves.undecided):
        statement = {"kind": "never", "leaves": status}
        claims += claims_about(leaves.cuts, statement, [leaves.verdicts[leaf] for leaf in status]) if status else []
    return claims


def claims_about(cuts: Cuts, statement: dict[str, Any], verdicts: Sequence[Verdict]) -> list[Claim]:
    """The claim that leaves with these verdicts are not reached."""
    witness = next((verdict.witness for verdict in verdicts if verdict.witness is not None), None)
    if witness is not None:
        return [Claim(statement, False, [plain_row(witness)])]
    if all(verdict.status == "unreachable" for verdict in verdicts):
        return [Claim(statement, True, certificate_of(cuts, verdicts))]
    return [Claim(statement, None)]


def written_case(encoded: EncodedDomain, whole: Polytope, cases: Cases, names: Sequence[str]) -> dict[str, Any]:
    """Write cases for the file: rows by name, and each cut as one of a feature, ``at`` or below and above."""
    top: dict[str, Any] = {}
    todo: list[tuple[Polytope | None, Any, dict[str, Any]]] = [(whole, cases, top)]
    while todo:
        polytope, case, into = todo.pop()
        if polytope is None or case is None:
            continue
        if "cut" not in case:
            into |= {key: value for key, value in case.items() if key != "farkas"}
            if "farkas" in case:
                into["farkas"] = [[names[row], factor] for row, factor in case["farkas"]]
            if "enumerated" in case:
                into["enumerated"] = True
            continue
        choice, alternative, at = case["cut"]
        step = Step(int(choice), int(alternative), float(at))
        feature, at, is_swapped = encoded.feature_cut(polytope, step)
        parts = encoded.cut(polytope, step)
        inner: list[Any] = [None if one is None else {} for one in case["parts"]]
        todo += [(part, one, target) for part, one, target in zip(parts, case["parts"], inner)]
        into |= {"feature": feature, "at": at, "parts": inner[::-1] if is_swapped else inner}
    return top


def refute(
    encoded: EncodedDomain,
    whole: Polytope,
    goals: int,
    is_harmless: Callable[[Floats], bool],
    deadline: Deadline,
) -> Cases | None:
    """Prove a polytope empty whose last rows are goals, or that none of the points of a small box does harm."""
    of_goals = np.arange(len(whole.rows)) >= len(whole.rows) - goals

    def prove(polytope: Polytope) -> tuple[Cases | None, Solution | None]:
        if is_small(encoded, polytope) and is_harmless(encoded.points(polytope.lower, polytope.upper)):
            return {"enumerated": True}, None
        multiplier = single_row_proof(polytope)
        if multiplier is not None:
            return farkas_case(multiplier), None
        solution = interior(polytope._replace(soft=of_goals)) if goals else contradiction(polytope)
        if solution is not None and Farkas(polytope, solution.multiplier).check():
            return farkas_case(solution.multiplier), None
        if goals and (again := contradiction(polytope)) is not None:
            return farkas_case(again.multiplier), None
        return None, solution

    return _settle_boxes(encoded, whole, prove, deadline)


def _settle_boxes(
    encoded: EncodedDomain,
    whole: Polytope,
    prove: Callable[[Polytope], tuple[Cases | None, Solution | None]],
    deadline: Deadline,
) -> Cases | None:
    """Find a case for a polytope, and cut its box where there is none, by the solution that came in its place."""
    cases: Cases = {}
    todo = [(whole, cases)]
    for _ in range(MAX_BOXES):
        if not todo:
            return cases
        if deadline.is_over:
            return None
        polytope, case = todo.pop()
        proof, solution = prove(polytope)
        if proof is not None:
            case |= proof
            continue
        step = encoded.next_step(polytope, solution)
        if step is None:
            return None
        todo += cut_case(encoded, polytope, case, step)
    return None


def exclude_ways(
    cuts: Cuts,
    region: Region,
    pairs: Sequence[tuple[Line, Line]],
    tolerance: float,
    is_broken: Callable[[Floats], Bools],
    deadline: Deadline,
) -> Certificate | None:
    """Prove that in a region no first answer of a pair lies more than a tolerance above the second."""
    encoded, polytope, ways = cuts.encoded, cuts.polytope(region), {}

    def is_harmless(Z: Floats) -> bool:
        Z = Z[is_broken(Z)]
        return not any(encoded.obeys_rows(z) for z in Z)

    for k, (ours, theirs) in enumerate(pairs):
        for number, rows, bound in ways_above(ours, theirs, tolerance):
            whole = polytope._replace(
                rows=np.vstack([polytope.rows, rows]), bound=np.append(polytope.bound, bound), soft=None
            )
            cases = refute(encoded, whole, len(bound), is_harmless, deadline)
            if cases is None:
                return None
            names = [*cuts.row_names(region.path), *(f"g{i}" for i in range(len(bound)))]
            ways[f"{k}.{number}"] = written_case(encoded, whole, cases, names)
    return {"ways": ways}


@dataclass(frozen=True, eq=False)
class Near:
    """Rows around a given one, as a statement of a proof file names them."""

    encoded: EncodedDomain
    """The domain, with what does not move held."""
    row: Array
    distance: Distance
    cost: Floats
    """Per column; 1 for plain distances."""
    held: tuple[int, ...]
    """Columns that are the same to the model in all these rows."""

    def within(self, radius: float) -> EncodedDomain:
        """The part of the domain where no column of numbers moves farther."""
        readings = []
        for j, (reading, value) in enumerate(zip(self.encoded.readings, self.row.tolist())):
            if reading.has_numbers and j not in self.held and not is_absent(value):
                reach = radius / float(self.cost[j]) * (1 + 2.0**-50)  # rounded outwards, as the ends are
                low, high = np.nextafter([value - reach, value + reach], [-np.inf, np.inf]).tolist()
                reading = replace(reading, low=max(low, reading.low), high=min(high, reading.high))
            readings.append(reading)
        return encode_readings(self.encoded.model, self.encoded.domain, tuple(readings), self.encoded.constraints)

    def fields(self, radius: float) -> dict[str, Any]:
        """The field ``near`` of a statement."""
        found = {"row": plain_row(self.row), "norm": self.distance.norm, "distance": radius, "held": list(self.held)}
        return found if (self.cost == 1.0).all() else found | {"cost": self.cost.tolist()}


def exclude_near(near: Near, radius: float, target: Bools, deadline: Deadline) -> Certificate | None:
    """Prove that no row within a radius, which belongs to it, reaches a target leaf."""
    encoded = near.within(radius)
    cuts, found = Cuts(encoded), {}
    ends = near.encoded.lower, near.encoded.upper
    wide = np.where(encoded.lower < encoded.upper, ends, (encoded.lower, encoded.upper))

    def is_target(Z: Floats) -> Bools:  # in any leaf: who checks a box that is listed does not know which leaf is meant
        return np.asarray(target[cuts.tree.apply(Z)])

    todo = [(0 if cuts.tree.n_splits else -1, cuts.root())]
    while todo:
        node, region = todo.pop()
        leaves = leaves_below(cuts.tree, node)
        if region.empty or not target[leaves.start : leaves.stop].any():
            continue
        polytope, names = cuts.polytope(region), cuts.row_names(region.path)
        case = _far_by_one_row(near.distance, polytope, radius)
        if case is None and node < 0:
            case = _far_in_leaf(encoded, near.distance, polytope, wide, radius, is_target, deadline)
            if case is None:
                return None
        if case is not None:
            found[cuts.node_key(node)] = written_case(encoded, polytope, case, [*names, "norm"])
        else:
            pairs = enumerate(cuts.tree.topology.children[node].tolist())
            todo += [(child, cuts.child(region, node, side)) for side, child in pairs]
    return found


def claim_near(
    near: Near, distances: Sequence[float], target: Bools, statement: dict[str, Any], deadline: Deadline
) -> Claim:
    """Claim that no target leaf lies within a distance: the first of some that can be proved."""
    _refuse_maps(near)
    for distance in distances:
        certificate = exclude_near(near, distance, target, deadline)
        if certificate is not None:
            return Claim(statement | {"near": near.fields(distance)}, True, certificate)
    return Claim(statement | {"near": near.fields(distances[0])}, None)


def just_below(radius: float) -> list[float]:
    """Distances below a certified radius, in case that rounding leaves the solver no room near it."""
    if np.isinf(radius):
        return [radius]
    shares = (0.0, 1e-12, 1e-9, 1e-6)
    return [max(0.0, float(np.nextafter(radius * (1 - share), -np.inf))) for share in shares]


def _refuse_maps(near: Near) -> None:
    """Refuse what a proof file cannot say."""
    if near.distance.norm == "inf":
        return
    for j, reading in enumerate(near.encoded.readings):
        column = reading.column
        is_mapped = (column.center, column.scale) != (0.0, 1.0) or column.is_clipped
        if reading.has_numbers and j not in near.held and is_mapped:
            raise ValueError(
                f"column {column.name!r} is mapped by the model, and proof files hold distances of norm 1 and 2 "
                "for plain columns alone; take norm='inf', or hold the column."
            )


def plain_row(row: Array) -> list[Any]:
    """A row as JSON: numbers, categories, and null for what is missing."""
    plain = row.tolist()
    return [None if is_absent(x) else float(x) if _is_number(x) else x for x in plain]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _far_by_one_row(distance: Distance, polytope: Polytope, radius: float) -> Cases | None:
    """A certificate with one half-space that lies too far away."""
    if not len(polytope.rows):
        return None
    if distance.norm == "inf":
        multiplier = single_row_proof(polytope)
        return None if multiplier is None else farkas_case(multiplier)
    here = distance.on_box(polytope.lower, polytope.upper)
    free = np.isfinite(here.weight)
    with np.errstate(all="ignore"):
        share = np.abs(polytope.rows[:, free]) / here.weight[free]
        size = share.max(axis=1, initial=0.0) if distance.norm == "1" else np.sqrt((share * share).sum(axis=1))
        away = (polytope.rows @ here.center - polytope.bound) / np.where(size > 0, size, 1.0) + here.extra
    best = int(np.argmax(np.where(np.isfinite(away), away, -np.inf)))
    return _by_norm(distance, polytope, radius, np.eye(1, len(polytope.rows), best)[0]) if away[best] > radius else None


def _far_in_leaf(
    encoded: EncodedDomain,
    distance: Distance,
    whole: Polytope,
    wide: Floats,
    radius: float,
    arrives: Callable[[Floats], Bools],
    deadline: Deadline,
) -> Cases | None:
    """Prove that a polytope has no point within a radius, cutting boxes where columns have alternatives."""

    def prove(polytope: Polytope) -> tuple[Cases | None, Solution | None]:
        if is_small(encoded, polytope) and not len(points_that_arrive(encoded, polytope, arrives)):
            return {"enumerated": True}, None
        proof = _by_norm(distance, polytope, radius, np.zeros(len(polytope.rows)))  # the box alone may be too far
        if proof is not None:
            return proof, None
        empty = contradiction(polytope)
        if empty is not None:
            return farkas_case(empty.multiplier), None
        # In the box that the radius spans there is no point, so the nearest one is looked for beyond its ends.
        here, low, high = distance.on_box(polytope.lower, polytope.upper), polytope.lower, polytope.upper
        is_end = low == encoded.lower, high == encoded.upper
        lower, upper = (np.where(at, far, near) for at, far, near in zip(is_end, wide, (low, high)))
        solution = nearest(here.center, here.weight, here.norm, polytope._replace(lower=lower, upper=upper))
        if solution is None:
            return None, None
        ends = solution.at_upper - solution.at_lower
        return _by_norm(distance, polytope, radius, solution.multiplier, ends), solution

    return _settle_boxes(encoded, whole, prove, deadline)


def _by_norm(
    distance: Distance, polytope: Polytope, radius: float, multiplier: Floats, ends: Floats | None = None
) -> Cases | None:
    """A case of multipliers and of a half-space that the norm implies, if they contradict each other."""
    norm: Norm = distance.norm
    if norm == "inf":  # the box holds what the norm says
        return farkas_case(multiplier) if Farkas(polytope, multiplier).check() else None
    here = distance.on_box(polytope.lower, polytope.upper)
    free = np.isfinite(here.weight)
    pull = multiplier @ polytope.rows + (0.0 if ends is None else ends)
    with np.errstate(all="ignore"):
        share = np.where(free, pull / np.where(free, here.weight, 1.0), 0.0)
        size = float(np.abs(share).max(initial=0.0) if norm == "1" else np.sqrt((share * share).sum()))
    if not np.isfinite(size):
        return None
    weight = np.where(free, here.weight, 0.0)
    slope = -share / size * weight * (1.0 - 2.0**-50 * (norm == "2")) if size else np.zeros_like(share)
    slope = np.clip(slope, -weight, weight)
    for part, fee in distance.fees:
        low, start = polytope.lower[part], distance.center[part]
        if (low == polytope.upper[part]).all() and (low != start).any():  # the fee is due
            k = part.start + int(np.argmax(low if low.any() else start))
            slope[k] = fee if low.any() else -fee
    if not slope.any():
        return None
    center = sum(
        (Fraction(a) * Fraction(z) for a, z in zip(slope.tolist(), distance.center.tolist()) if a), Fraction(0)
    )
    # The bound of the half-space need not be a double: the next one above is weaker, so what is proved holds.
    bound = float(np.nextafter(float(center + Fraction(radius)), np.inf))
    factor = size if size else 1.0
    lifted = polytope._replace(
        rows=np.vstack([polytope.rows, slope]), bound=np.append(polytope.bound, bound), soft=None
    )
    both = np.append(multiplier, factor)
    if not Farkas(lifted, both).check():
        return None
    return farkas_case(both) | {"norm": [[int(v), float(slope[v])] for v in np.flatnonzero(slope)]}
