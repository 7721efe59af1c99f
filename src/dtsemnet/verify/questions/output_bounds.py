"""What a tree can answer on a domain: least and largest outputs, and how fast they change.

On a leaf the output is affine, then clipped, so its least value is one linear program. The
program's multipliers prove a lower bound in rational arithmetic, and its point, moved inside the
leaf, attains a value that the model itself computes. Leaves are taken in the order of what the
box alone allows, and those that cannot beat the best value need no program.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model, TanhScale
from dtsemnet.tree.wording import number_text
from dtsemnet.verify.proof.certificates import Polytope, linear_bound, round_down
from dtsemnet.verify.proof.claims import Certificate, Claim, Evidence, all_claims, certificate_of, exclude_ways
from dtsemnet.verify.proof.decision import is_small, points_that_arrive
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import points_inwards
from dtsemnet.verify.proof.exploration import Exploration, explored_once
from dtsemnet.verify.proof.file import Provable
from dtsemnet.verify.proof.leaf_pairs import Line, answers, line_range, lines_of, outputs
from dtsemnet.verify.proof.linear_programs import contradiction, minimise
from dtsemnet.verify.proof.nearest import dual_norm, read_norm
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.proof.wording import end_text

__all__ = ["AllBounds", "Extreme", "OutputBounds", "lipschitz", "output_bounds"]

MAX_BOXES = 500


@dataclass(frozen=True, repr=False)
class Extreme(Shown):
    """One end of the range of an output."""

    certified: float
    """No input of the domain gets an output beyond this."""
    attained: float
    """Output at ``point``, as the model computes it."""
    point: Array | None
    leaf: int
    raw: float = np.nan
    """``certified`` before the output map."""


@dataclass(frozen=True, repr=False)
class OutputBounds(Provable, Shown):
    """Range of one output on a domain."""

    output: int
    minimum: Extreme
    maximum: Extreme
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        ends = self.minimum, self.maximum
        least, largest = (f"{number_text(end.attained, 6)} in leaf {end.leaf}" for end in ends)
        span = ", ".join(end_text(end.certified, up=up) for end, up in zip(ends, (False, True)))
        return f"output {self.output}: from {least} to {largest}; never outside [{span}]"


class AllBounds(tuple[OutputBounds, ...], Provable):
    """The ranges of all outputs."""

    evidence: Evidence | None = None


def output_bounds(
    tree: Any, domain: Domain, *, explored: Exploration | None = None, time_limit: float | None = None
) -> AllBounds:
    """Find the least and the largest output on a domain, with inputs that attain them.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        The outputs of a classifier are the shares of the classes in the leaves, not margin probabilities.
    domain : Domain
    explored : Exploration, optional
        The outcome of ``explore(tree, domain)``, to share it with other questions.
    time_limit : float, optional
        Seconds; then the certified ends are those that are proved so far.

    Returns
    -------
    tuple of OutputBounds
        One per output, after the guard and the output map.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1, 1]], [-1], [[1], [5]], coef=[[[1, 0]], [[-1, -2]]], upper=[[9], [2.5]])
    >>> print(output_bounds(tree, Domain(0.0, 1.0))[0])
    output 0: from 1 in leaf 0 to 2.5 in leaf 1; never outside [0.999999, 2.5]
    """
    deadline = Deadline(time_limit)
    explored = explored_once(tree, domain, explored, deadline)
    ends = [
        [_Search(explored, o, sign, deadline).run() for sign in (1.0, -1.0)]
        for o in range(explored.model.tree.n_outputs)
    ]
    evidence = [Evidence.on(explored.encoded, partial(_claims, explored, o, *pair)) for o, pair in enumerate(ends)]
    triples = enumerate(zip(ends, evidence))
    found = AllBounds(OutputBounds(o, low, high, made) for o, ((low, high), made) in triples)
    found.evidence = Evidence.on(explored.encoded, partial(all_claims, evidence))
    return found


def _claims(explored: Exploration, output: int, minimum: Extreme, maximum: Extreme) -> list[Claim]:
    """The two claims about an output, before the output map."""
    return [_claim(explored, output, 1.0, minimum.raw), _claim(explored, output, -1.0, maximum.raw)]


def _claim(explored: Exploration, output: int, sign: float, certified: float) -> Claim:
    """Prove one end once more; where rounding leaves the solver no room, one that is a little weaker."""
    for share in (0.0, 1e-13, 1e-11, 1e-9):
        end = certified - sign * share * max(1.0, abs(certified))
        statement = {"kind": "bound", "output": output, "at_least" if sign > 0 else "at_most": end}
        certificate = _certificate(explored, output, sign, sign * end) if np.isfinite(end) else None
        if certificate is not None:
            return Claim(statement, True, certificate)
    return Claim(statement, None)


def _certificate(explored: Exploration, output: int, sign: float, least: float) -> Certificate | None:
    """Prove that ``sign`` times an output is at least a number: leaf by leaf."""
    cuts, leaves, deadline = explored.cuts, explored.reachability, Deadline(None)
    lines = lines_of(cuts.tree, output, explored.encoded.lower, explored.encoded.upper)
    found = certificate_of(cuts, leaves.verdicts)
    floor = Line(np.zeros(cuts.tree.n_features), least)
    for leaf, (line, verdict, region) in enumerate(zip(lines, leaves.verdicts, leaves.regions)):
        if verdict.status == "unreachable":
            continue
        entry = exclude_ways(
            cuts, region, [(floor, line if sign > 0 else -line)], 0.0,
            lambda Z: sign * outputs(cuts.tree, Z)[:, output] < least, deadline,
        )  # fmt: skip
        if entry is None:
            return None
        found |= {cuts.node_key(~leaf): entry} if entry["ways"] else {}
    return found


def lipschitz(tree: Any, norm: Any = "inf") -> Floats:
    """Bound how fast the outputs change inside each leaf.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    norm : "inf", 1 or 2, default="inf"
        How changes of the columns of numbers are measured, in their own units; other columns are held.

    Returns
    -------
    ndarray of shape (n_leaves, n_outputs)
        An output moves by at most this times the change of the input, as long as the leaf stays the same (up to the
        rounding of the output itself). 0 for constant leaves.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> line = Tree(Topology([]), np.empty((0, 2)), [], [[1.0]], coef=[[[3.0, -4.0]]])
    >>> [round(lipschitz(line, norm).item(), 9) for norm in ("inf", 1, 2)]
    [7.0, 4.0, 5.0]
    """
    model, name = Model.of(tree), read_norm(norm)
    leaves = model.tree
    if leaves.coef is None:
        return np.zeros(leaves.value.shape)
    features = model.encoder.features
    scale = np.array([abs(feature.column.scale) if feature.kind == "number" else 0.0 for feature in features])
    constant = dual_norm(np.abs(leaves.coef) * scale, name)
    lower, upper = leaves.guard
    constant = np.where(lower == upper, 0.0, constant * (1 + (leaves.n_features + 4) * 2.0**-52))
    if isinstance(model.output, TanhScale):
        constant = constant * (np.array(model.output.high) - np.array(model.output.low)) / 2
    return np.asarray(constant)


@dataclass
class _Search:
    """Search for the least value of ``sign`` times an output before the output map."""

    explored: Exploration
    output: int
    sign: float
    deadline: Deadline
    attained: float = np.inf
    point: Array | None = None
    leaf: int = -1

    def run(self) -> Extreme:
        encoded, leaves = self.explored.encoded, self.explored.reachability
        lines = lines_of(encoded.model.tree, self.output, encoded.lower, encoded.upper)
        lines = lines if self.sign > 0 else [-line for line in lines]
        allowed = []
        for leaf, (verdict, region) in enumerate(zip(leaves.verdicts, leaves.regions)):
            self._offer(verdict.witness)
            if verdict.status != "unreachable":
                allowed.append((line_range(lines[leaf], region.lower, region.upper)[0], leaf))
        certified = np.inf
        for least, leaf in sorted(allowed):
            line = lines[leaf]
            if least < self.attained and line.coef.any() and not self.deadline.is_over:
                least = max(least, self._lowest_in_leaf(leaf, line))
            certified = min(certified, least)
        return self._map_end(certified)

    def _lowest_in_leaf(self, leaf: int, line: Line) -> float:
        """A proved lower bound of the answers of a leaf, as they are computed; offers points on the way."""
        encoded, whole = self.explored.encoded, self.explored.cuts.polytope(self.explored.reachability.regions[leaf])
        least, todo = np.inf, [(-np.inf, whole)]
        arrives = self.explored.cuts.arrives(range(leaf, leaf + 1))
        for _ in range(MAX_BOXES):
            if not todo or self.deadline.is_over:
                break
            _, polytope = todo.pop()
            if is_small(encoded, polytope):
                least = min(least, self._lowest_of_all(points_that_arrive(encoded, polytope, arrives), polytope))
                continue
            solution = minimise(line.coef, polytope)
            if solution is None and contradiction(polytope) is not None:
                continue
            multiplier = np.zeros(len(polytope.rows)) if solution is None else solution.multiplier
            proved = round_down(linear_bound(line.coef, line.value, polytope, multiplier))
            if solution is not None and proved < self.attained:
                points = points_inwards(solution.point, polytope if len(polytope.rows) else None)
                self._offer(encoded.find_row(points, polytope, lambda row: encoded.leaf_of(row) == leaf))
            here = float(np.clip(np.nextafter(proved - line.error, -np.inf), line.floor, line.ceiling))
            # If the best value is as low as the bound says, halving the box proves no more.
            settled = self.attained - here <= 1e-9 * max(1.0, abs(here))
            halves = [] if settled else encoded.halve(polytope, solution)
            todo += [(here, half) for half in halves]
            least = least if halves else min(least, here)
        return min([least, *(proved for proved, _ in todo)])

    def _lowest_of_all(self, Z: Floats, polytope: Polytope) -> float:
        """The least answer at some points, as the tree computes it."""
        if not len(Z):
            return np.inf
        computed = self.sign * outputs(self.explored.model.tree, Z)[:, self.output]
        self._offer(self.explored.encoded.find_row([Z[int(np.argmin(computed))]], polytope, lambda _: True))
        return float(computed.min())

    def _offer(self, row: Array | None) -> None:
        answer = np.inf if row is None else self.sign * float(answers(self.explored.model, row[None])[0, self.output])
        if row is not None and answer < self.attained:
            self.attained, self.point, self.leaf = answer, row, self.explored.encoded.leaf_of(row)

    def _map_end(self, certified: float) -> Extreme:
        """Change the sign back for a maximum, and map the end as the model maps outputs."""
        certified, attained = self.sign * certified + 0.0, self.sign * self.attained + 0.0
        raw = certified
        output = self.explored.model.output
        if isinstance(output, TanhScale):
            low, high = output.low[self.output], output.high[self.output]
            certified, attained = TanhScale(low, high)(np.array([[certified], [attained]])).ravel().tolist()
            # tanh is no IEEE operation: its last places are not promised to rise with its argument.
            certified -= self.sign * 8 * 2.0**-53 * (abs(low) + abs(high))
        return Extreme(certified, attained, self.point, self.leaf, raw)
