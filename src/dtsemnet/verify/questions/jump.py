"""The largest jump: how far an answer can change where one leaf ends and another begins.

Two leaves part at one split, so the points that both of them touch lie on its hyperplane and in the closed half-spaces
of both paths; there the gap of their answers is bounded (:mod:`dtsemnet.verify.proof.leaf_pairs`). Pairs of nodes are
opened in the order of what the ranges of the answers below them allow. A pair that cannot beat the best jump needs no
program, and nodes that touch nowhere settle all pairs of leaves below them by one certificate.

A jump is attained at one point with rational coordinates that lies exactly on the hyperplane and in both regions; there
both answers are computed without rounding. A solver's point lies near the hyperplane, hardly ever on it. Solving the
equations of the half-spaces that it touches in rational arithmetic, for as many coordinates and with all others held,
moves it there by the solver's tolerance. Whether it then lies in all closed half-spaces is checked without rounding.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, permutations
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model
from dtsemnet.tree.wording import number_text
from dtsemnet.verify.proof.certificates import Polytope, exact_value, round_down
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import deepest_point
from dtsemnet.verify.proof.exploration import Exploration, explored_once
from dtsemnet.verify.proof.leaf_pairs import Line, answers, largest_gap, line_range, lines_of, output_number
from dtsemnet.verify.proof.linear_programs import contradiction
from dtsemnet.verify.proof.regions import LEFT, RIGHT, Cuts, Path, leaves_below
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.proof.wording import end_text

__all__ = ["Jump", "largest_jump"]

NEAR = 1e-6
"""How near to the boundary the two rows must lie, in each feature."""


@dataclass(frozen=True, repr=False)
class Jump(Shown):
    """The largest jump of one output on a domain."""

    lower: float
    """Certified: at ``point`` the answers of the two leaves are at least this far apart. 0 if no jump was found."""
    upper: float
    """Certified: nowhere in the domain do the answers of two leaves that touch lie farther apart."""
    point: Array | None = None
    """Where both leaves touch, up to rounding."""
    leaves: tuple[int, int] = (-1, -1)
    """The leaves to the left and to the right of the split at which they part."""
    sides: tuple[Array, Array] | None = None
    """Two rows next to ``point`` that the model sends to the two leaves."""
    answers: tuple[float, float] = (np.nan, np.nan)
    """Outputs of the two rows, before an output map."""
    n_programs: int = 0
    """Linear programs over pairs."""

    def __str__(self) -> str:
        if self.sides is None:
            return f"no jump found; none exceeds {end_text(self.upper, up=True)}"
        one, other = (f"{number_text(x, 6)} in leaf {leaf}" for x, leaf in zip(self.answers, self.leaves))
        size, most = end_text(self.lower, up=False), end_text(self.upper, up=True)
        return f"jumps by {size}, from {one} to {other}; never by more than {most}"


def largest_jump(
    tree: Any,
    domain: Domain,
    *,
    output: Any = 0,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    explored: Exploration | None = None,
) -> Jump:
    """Find the largest jump of an output across the boundaries between leaves.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
        The leaves touch inside it. Integers, categories and missing marks are the same on both sides of a boundary: a
        step from one integer to the next is no jump.
    output : label of a class, or number of an output, default=0
        The class whose share in the leaves is meant, or the output before an output map.
    time_limit : float, optional
        Seconds; what is not decided by then counts in ``upper``.
    progress : callable, optional
        Called with the number of pairs of leaves settled and of all pairs.
    explored : Exploration, optional
        The outcome of ``explore(tree, domain)``, to share it with other questions.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1, 1]], [-1], [[0], [3]], coef=[[[1, 0]], [[0, -1]]])
    >>> jump = largest_jump(tree, Domain(0.0, 1.0))  # 3 - y - x on the line x + y = 1
    >>> print(jump)
    jumps by 1.99999, from 1 in leaf 0 to 3 in leaf 1; never by more than 2.00001
    """
    o = output_number(Model.of(tree), output)
    deadline = Deadline(time_limit)
    explored = explored_once(tree, domain, explored, deadline)
    return _Search(explored, o).run(deadline, progress)


class _Search:
    """Best-first search over pairs of nodes."""

    def __init__(self, explored: Exploration, output: int) -> None:
        self.explored, self.output, self.cuts = explored, output, explored.cuts
        self.lines = lines_of(self.cuts.tree, output, explored.encoded.lower, explored.encoded.upper)
        self.ends = _ranges(explored, self.lines)
        self.best, self.n_programs = Jump(0.0, 0.0), 0
        self.upper = 0.0  # largest jump that settled pairs allow
        self.heap: list[tuple[float, int, int, int, int]] = []
        self.ticket = count()

    def run(self, deadline: Deadline, progress: Callable[[int, int], None] | None) -> Jump:
        topology, heap, discrete = self.cuts.tree.topology, self.heap, self.cuts.encoded.discrete
        n_pairs = topology.n_leaves * (topology.n_leaves - 1) // 2
        for split, (left, right) in enumerate(topology.children.tolist()):
            # Between integers there is no boundary.
            if (self.cuts.tree.weight[split] != 0)[~discrete].any():
                self._push(left, right, split)
        while heap and -heap[0][0] > self.best.lower:
            if deadline.is_over:
                break
            _, _, a, b, split = heapq.heappop(heap)
            # The split at which they part is an equality.
            path = list(dict.fromkeys([(split, LEFT), (split, RIGHT), *self.cuts.path_to(a), *self.cuts.path_to(b)]))
            polytope = self.cuts.half_spaces(path)
            if a < 0 and b < 0:
                self._decide(~a, ~b, path, polytope)
            else:
                self.n_programs += 1
                if contradiction(polytope) is None:
                    first = self._n_below(a) >= self._n_below(b)
                    for child in topology.children[a if first else b].tolist():
                        self._push(child if first else a, b if first else child, split)
            if progress is not None:
                progress(n_pairs - sum(self._n_below(a) * self._n_below(b) for _, _, a, b, _ in heap), n_pairs)
        upper = max(self.upper, self.best.lower, -heap[0][0] if heap else 0.0)
        return replace(self.best, upper=upper, n_programs=self.n_programs)

    def _push(self, a: int, b: int, split: int) -> None:
        (low, high), (least, most) = self.ends[a], self.ends[b]
        bound = max(high - least, most - low)
        if bound > self.best.lower:
            heapq.heappush(self.heap, (-float(np.nextafter(bound, np.inf)), next(self.ticket), a, b, split))

    def _n_below(self, node: int) -> int:
        return len(leaves_below(self.cuts.tree, node))

    def _decide(self, a: int, b: int, path: Path, polytope: Polytope) -> None:
        """Settle one pair of leaves."""
        for ours, theirs in permutations([self.lines[a], self.lines[b]]):
            gap = largest_gap(self.cuts.encoded, polytope, ours, theirs, enough=self.best.lower)
            self.n_programs += gap.n_programs
            self.upper = max(self.upper, gap.upper)
            for point in gap.points if gap.upper > self.best.lower else ():
                self._attain(point, (a, b), path)

    def _attain(self, point: Floats, leaves: tuple[int, int], path: Path) -> None:
        """Take a point where both leaves touch for the best, if the jump there is larger."""
        one, other = (self.lines[leaf] for leaf in leaves)
        exact = _touching_point(self.cuts, point, path)
        if exact is None:
            return
        height = abs(one(exact) - other(exact)) - Fraction(one.error) - Fraction(other.error)
        if height <= self.best.lower:
            return
        near = np.array([float(z) for z in exact])
        left, right = (self._beside(near, leaf) for leaf in leaves)
        if left is not None and right is not None:
            before, after = answers(self.explored.model, np.stack([left, right]))[:, self.output].tolist()
            where = self.cuts.encoded.row(near)
            self.best = Jump(round_down(height), 0.0, where, leaves, (left, right), (before, after))

    def _beside(self, near: Floats, leaf: int) -> Array | None:
        """A row next to a point of the edge that the model sends to the leaf, with the same integers."""
        cuts, encoded = self.cuts, self.cuts.encoded
        witness = self.explored.reachability.verdicts[leaf].witness
        known = None if witness is None else encoded.encode(witness)
        if known is not None and (known != near)[encoded.discrete].any():
            known = None

        def reaches(row: Array) -> bool:
            z = encoded.encode(row)
            return bool((np.abs(z - near) <= NEAR * (1 + np.abs(near))).all()) and encoded.leaf_of(row) == leaf

        polytope = _hold(cuts.half_spaces(cuts.path_to(~leaf)), encoded.discrete, near)
        return encoded.find_row_near([near], polytope, reaches, known)


def _ranges(explored: Exploration, lines: list[Line]) -> dict[int, tuple[float, float]]:
    """Ranges of the answers below every node, by the boxes of the leaves; empty for unreachable leaves."""
    leaves, ends = explored.reachability, {}
    for leaf, (line, verdict, region) in enumerate(zip(lines, leaves.verdicts, leaves.regions)):
        is_out = verdict.status == "unreachable"
        ends[~leaf] = (np.inf, -np.inf) if is_out else line_range(line, region.lower, region.upper)
    for split, children in reversed(list(enumerate(explored.cuts.tree.topology.children.tolist()))):
        lows, highs = zip(*(ends[child] for child in children))  # parents come before their children
        ends[split] = min(lows), max(highs)
    return ends


def _hold(polytope: Polytope, held: Bools, point: Floats) -> Polytope:
    """Hold some features at a point."""
    lower, upper = (np.where(held, point, end) for end in (polytope.lower, polytope.upper))
    return polytope._replace(lower=lower, upper=upper)


def _touching_point(cuts: Cuts, point: Floats, path: Path) -> list[Fraction] | None:
    """Find a point near one that lies in closed half-spaces, and on the hyperplane of the first two, of one split."""
    encoded, tree = cuts.encoded, cuts.tree
    split, others = path[0][0], np.array([i for i, _ in path[2:]], dtype=np.int64)
    point = encoded.snap(point, encoded.lower, encoded.upper)
    lower, upper = encoded.box_of_choices(point)
    for near, all_tight in _tries(cuts, point, path):
        held = encoded.discrete | (near <= lower) | (near >= upper)
        tight = [split]
        if all_tight:
            away = np.abs(tree.weight[others] @ near + tree.bias[others])
            size = np.abs(tree.weight[others]) @ np.abs(near) + np.abs(tree.bias[others])
            tight += others[away <= 1e-9 * size].tolist()
        z = _on_hyperplanes(tree.weight[tight], tree.bias[tight], near, held)
        if _is_inside(cuts, z, path):
            return z
    return None


def _tries(cuts: Cuts, point: Floats, path: Path) -> list[tuple[Floats, bool]]:
    """The point with all that it touches, then points farther inside, which touch the split alone."""
    polytope = _hold(cuts.half_spaces(path), cuts.encoded.discrete, point)
    soft = np.arange(len(polytope.rows)) >= len(cuts.encoded.rows) + 2
    deep = deepest_point(polytope._replace(soft=soft)) if soft.any() else None
    inside = polytope.lower / 2 + polytope.upper / 2 if deep is None else deep
    shares = 0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0
    return [(point, True), *((point + share * (inside - point), False) for share in shares)]


def _on_hyperplanes(weight: Floats, bias: Floats, point: Floats, held: Bools) -> list[Fraction]:
    """Solve ``weight z + bias = 0``, by elimination: one coordinate is solved for each row, the others stay."""
    z = [Fraction(x) for x in point.tolist()]
    free = np.flatnonzero(~held).tolist()
    solved: list[tuple[int, list[Fraction], Fraction]] = []
    for row, constant in zip(weight.tolist(), bias.tolist()):
        coef, rest = [Fraction(w) for w in row], Fraction(constant)
        for pivot, other, offset in solved:
            if coef[pivot]:
                factor = coef[pivot]
                coef = [c - factor * q for c, q in zip(coef, other)]
                rest -= factor * offset
        pivot = max(free, key=lambda j: abs(coef[j]), default=-1)
        if pivot < 0 or not coef[pivot]:
            continue  # it follows from the rows before, or the check will refuse the point
        lead = coef[pivot]
        solved.append((pivot, [c / lead for c in coef], rest / lead))
    for pivot, coef, rest in reversed(solved):  # a later row no longer holds the coordinates of earlier ones
        z[pivot] = -rest - sum((c * x for j, (c, x) in enumerate(zip(coef, z)) if c and j != pivot), Fraction(0))
    return z


def _is_inside(cuts: Cuts, z: list[Fraction], path: Path) -> bool:
    """Check without rounding: the box, the missing marks, the domain's rows, the closed half-spaces."""
    encoded, tree = cuts.encoded, cuts.tree
    ends = zip(encoded.lower.tolist(), z, encoded.upper.tolist())
    rows = zip(encoded.rows, encoded.bound.tolist())
    scores = ((side, exact_value(tree.weight[i], tree.bias[i], z)) for i, side in path)
    return (
        all(low <= x <= high for low, x, high in ends)
        and encoded.makes_choices(z)
        and all(exact_value(row, -bound, z) <= 0 for row, bound in rows)
        and all(score >= 0 if side == RIGHT else score <= 0 for side, score in scores)
    )
