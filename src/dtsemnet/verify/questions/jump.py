"""The largest jump: how far an answer can change where one leaf ends and another begins.

Two leaves part at one split, so the points that both of them touch lie on its hyperplane and in the
closed half-spaces of both paths; there the gap of their answers is bounded by
:mod:`dtsemnet.verify.proof.leaf_pairs`. Pairs of nodes are opened in the order of what the ranges of
the answers below them allow. A pair that cannot beat the best jump is never asked, and nodes that touch nowhere
settle all pairs of leaves below them by one certificate.

What is attained is shown at one point with rational coordinates that lies exactly on the
hyperplane and in both regions, where both answers are computed without rounding.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.tree import as_model
from dtsemnet.verify.proof.boundary_point import touching_point
from dtsemnet.verify.proof.decide import is_empty, ways_inside, witness_at
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import bind
from dtsemnet.verify.proof.leaf_pairs import Line, answers, largest_gap, line_range, lines_of, output_number
from dtsemnet.verify.proof.regions import LEFT, RIGHT, Cuts
from dtsemnet.verify.questions.reachability import Reachability, explore

__all__ = ["Jump", "largest_jump"]

NEAR = 1e-6
"""How near to the boundary the two rows must lie, in each feature, to be shown."""


@dataclass(frozen=True)
class Jump:
    """The largest jump of one output on a domain."""

    lower: float
    """Certified: at ``point`` the answers of the two leaves are at least this far apart. 0 where no jump was found."""
    upper: float
    """Certified: nowhere in the domain do the answers of two leaves that touch lie farther apart."""
    point: Array | None = None
    """Where both leaves touch, to rounding."""
    leaves: tuple[int, int] = (-1, -1)
    """The leaf left and the leaf right of the split at which they part."""
    sides: tuple[Array, Array] | None = None
    """Two rows next to ``point`` that the model sends to the two leaves."""
    answers: tuple[float, float] = (np.nan, np.nan)
    """Outputs of the two rows, before an output map."""
    n_programs: int = 0
    """Linear programs over pairs."""

    def __str__(self) -> str:
        if self.sides is None:
            return f"no jump found; none exceeds {self.upper:.6g}"
        one, other = self.answers
        return (
            f"jumps by {self.lower:.6g}, from {one:.6g} in leaf {self.leaves[0]} to {other:.6g} in leaf "
            f"{self.leaves[1]}; never by more than {self.upper:.6g}"
        )


def largest_jump(
    tree: Any,
    domain: Domain,
    *,
    output: Any = 0,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Jump:
    """Find the largest jump of an output across the boundaries between leaves.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A regressor; of a classifier the probability of the named class.
    domain : Domain
        The leaves touch inside it. Integers, categories and missing marks are the same on both sides of a boundary: a
        step from one whole number to the next is no jump.
    output : label of a class, or number of an output, default=0
        Taken before an output map.
    time_limit : float, optional
        Seconds; what was not asked by then counts in ``upper``.
    progress : callable, optional
        Called with the pairs of leaves settled and all pairs.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1, 1]], [-1], [[0], [3]], coef=[[[1, 0]], [[0, -1]]])
    >>> found = largest_jump(tree, Domain(0.0, 1.0))  # 3 - y - x where x + y = 1
    >>> print(found)
    jumps by 2, from 1 in leaf 0 to 3 in leaf 1; never by more than 2
    """
    model = as_model(tree)
    o = output_number(model, output)
    found, cuts = explore(bind(model, domain))
    lines = lines_of(model.tree, o, cuts.space.lower, cuts.space.upper)
    return _Search(cuts, found, lines, o).run(time_limit, progress)


@dataclass
class _Search:
    """Best first over pairs of nodes."""

    cuts: Cuts
    found: Reachability
    lines: list[Line]
    output: int
    best: Jump = field(default_factory=lambda: Jump(0.0, 0.0))
    upper: float = 0.0
    """Largest jump that settled pairs allow."""
    n_programs: int = 0

    def run(self, time_limit: float | None, progress: Callable[[int, int], None] | None) -> Jump:
        topology, began = self.cuts.tree.topology, time.monotonic()
        ticket, n_leaves = count(), topology.n_leaves
        heap: list[tuple[float, int, int, int, int]] = []
        self._set_ranges()
        for split in range(topology.n_splits):
            reads = self.cuts.tree.weight[split] != 0
            # Between whole numbers there is no boundary to stand on.
            if reads.any() and not self.cuts.space.integer[reads].all():
                left, right = topology.children[split].tolist()
                self._push(heap, ticket, left, right, split)
        while heap and -heap[0][0] > self.best.lower:
            if time_limit is not None and time.monotonic() - began >= time_limit:
                break
            _, _, a, b, split = heapq.heappop(heap)
            if a < 0 and b < 0:
                self._ask(~a, ~b, split)
            elif not self._apart(a, b, split):
                first = self._n_below(a) >= self._n_below(b)
                for child in topology.children[a if first else b].tolist():
                    self._push(heap, ticket, child if first else a, b if first else child, split)
            if progress is not None:
                left = sum(self._n_below(a) * self._n_below(b) for _, _, a, b, _ in heap)
                progress(n_leaves * (n_leaves - 1) // 2 - left, n_leaves * (n_leaves - 1) // 2)
        upper = max(self.upper, self.best.lower, -heap[0][0] if heap else 0.0)
        best = self.best
        return Jump(best.lower, upper, best.point, best.leaves, best.sides, best.answers, self.n_programs)

    def _set_ranges(self) -> None:
        """Ends of the answers below every node, by the boxes of the leaves; nothing for leaves out of reach."""
        topology = self.cuts.tree.topology
        ends = {}
        for leaf, (line, verdict) in enumerate(zip(self.lines, self.found.verdicts)):
            region = self.found.regions[leaf]
            gone = verdict.status == "unreachable"
            ends[~leaf] = (np.inf, -np.inf) if gone else line_range(line, region.lower, region.upper)
        for split in reversed(range(topology.n_splits)):  # parents come before their children
            lows, highs = zip(*(ends[child] for child in topology.children[split].tolist()))
            ends[split] = min(lows), max(highs)
        self.ends: dict[int, tuple[float, float]] = ends

    def _push(self, heap: list[Any], ticket: Any, a: int, b: int, split: int) -> None:
        (low, high), (least, most) = self.ends[a], self.ends[b]
        bound = max(high - least, most - low)
        if bound > self.best.lower:
            heapq.heappush(heap, (-float(np.nextafter(bound, np.inf)), next(ticket), a, b, split))

    def _n_below(self, node: int) -> int:
        first, last = self.cuts.tree.topology.spans
        return 1 if node < 0 else int(last[node] - first[node])

    def _rows(self, a: int, b: int, split: int) -> tuple[Floats, Floats]:
        """Closed half-spaces of two nodes, the split at which they part as an equality, wide enough for rounding."""
        path = [(split, LEFT), (split, RIGHT), *self.cuts.path_to(a), *self.cuts.path_to(b)]
        return self.cuts.half_spaces(list(dict.fromkeys(path)))

    def _apart(self, a: int, b: int, split: int) -> bool:
        """Whether two nodes are proved to touch nowhere."""
        self.n_programs += 1
        rows, right = self._rows(a, b, split)
        return is_empty(rows, right, self.cuts.space.lower, self.cuts.space.upper)

    def _ask(self, a: int, b: int, split: int) -> None:
        """Settle one pair of leaves."""
        lines, box = self.lines, (self.cuts.space.lower, self.cuts.space.upper)
        rows, right = self._rows(~a, ~b, split)
        for ours, theirs in ((lines[a], lines[b]), (lines[b], lines[a])):
            gap = largest_gap(self.cuts, (rows, right), box, ours, theirs, enough=self.best.lower)
            self.n_programs += gap.n_programs
            self.upper = max(self.upper, gap.upper)
            for point in gap.points if gap.upper > self.best.lower else ():
                self._attain(point, (a, b), split)

    def _attain(self, point: Floats, leaves: tuple[int, int], split: int) -> None:
        """Take a point where both leaves touch for the best, if the jump there is larger."""
        one, other = (self.lines[leaf] for leaf in leaves)
        exact = touching_point(self.cuts, point, split, (~leaves[0], ~leaves[1]))
        if exact is None:
            return
        height = abs(one(exact) - other(exact)) - Fraction(one.error) - Fraction(other.error)
        if height <= self.best.lower:
            return
        near = np.array([float(z) for z in exact])
        left, right = (self._beside(near, leaf) for leaf in leaves)
        if left is not None and right is not None:
            lower = float(height)
            lower = lower if Fraction(lower) <= height else float(np.nextafter(lower, -np.inf))
            before, after = answers(self.cuts.space.model, np.stack([left, right]))[:, self.output].tolist()
            self.best = Jump(lower, 0.0, self.cuts.space.row(near), leaves, (left, right), (before, after))

    def _beside(self, near: Floats, leaf: int) -> Array | None:
        """A row next to a point of the edge that the model sends to the leaf, with the same whole numbers."""
        cuts, space = self.cuts, self.cuts.space
        whole = space.integer
        lower, upper = np.where(whole, near, space.lower), np.where(whole, near, space.upper)
        witness = self.found.verdicts[leaf].witness

        known = None if witness is None else space.model.transform(witness[None])[0].astype(np.float64)
        known = known if known is not None and (known[whole] == near[whole]).all() else None

        def reaches(row: Array) -> bool:
            z = space.model.transform(row[None])[0]
            is_near = bool((np.abs(z - near) <= NEAR * (1 + np.abs(near))).all())
            return is_near and int(space.model.tree.apply(z[None])[0]) == leaf

        way = ways_inside(near, cuts.half_spaces(cuts.path_to(~leaf)), (lower, upper), known)
        return witness_at(cuts, way, lower, upper, reaches)
