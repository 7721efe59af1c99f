"""A walk over a tree: which inputs of a domain get to each node, and which leaves can be reached.

The *region* of a node is described as the tree runs in floating point, enclosed in real half-spaces. A computed score
differs from ``w . z + b`` by at most

    rho = gamma_n (|w| . |z| + |b|),     gamma_n = n u / (1 - n u),

``n`` being the number of roundings of a term (product, partial sum, four joins, bias). So a row that goes left has
``w . z + b <= rho``, one that goes right ``w . z + b >= -rho``, with ``rho`` at its largest on the box: rows wide
enough for every double. Three kinds of splits need no width, since the sign of a rounded sum of two numbers is exact:

- a split without weights has its bias as score;
- a split of one feature is a threshold, found among the doubles by bisection, and cuts the box;
- splits with equal or opposite weights share one sum before the bias, which they confine to an interval.

To *decide* whether a region can be reached, one linear program finds the point farthest inside its half-spaces. If the
model sends that point to the region, it is the witness. If no point is inside, the multipliers of the program are a
Farkas certificate. If features are integers, the box is halved until every part has one of the two. What is left is
*undecided*: the region is thinner than rounding.

To *explore* a tree, it is walked from the root. A witness of a node is a witness of one of its children, so only the
other child needs a decision; a node that is proved unreachable settles all leaves below it at once. Before that, random
points of the domain give witnesses of the large leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats, Ints
from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Model, Tree
from dtsemnet.tree.doubles import double_at, rank_of
from dtsemnet.verify.proof.certificates import Farkas, Polytope
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, bind, deepest_point, roundings
from dtsemnet.verify.proof.linear_programs import interior

__all__ = [
    "LEFT", "RIGHT", "Cuts", "Exploration", "Interval", "LeafStatus", "Path", "Proof", "Reachability", "Region",
    "Verdict", "decide", "explore", "explore_leaves", "explored_once", "least_on_box", "leaves_below", "rounding_bound",
]  # fmt: skip

LEFT, RIGHT = 0, 1
MAX_BOXES = 2000
N_DRAWS = 8192

LeafStatus = Literal["reachable", "unreachable", "undecided", "not asked"]
Path = Sequence[tuple[int, int]]
"""Splits, each with the side taken (0 left, 1 right)."""


@dataclass(frozen=True)
class Proof:
    """Why no input of the domain reaches a node."""

    path: tuple[tuple[int, int], ...]
    """Splits from the root to the node, each with its side (0 left, 1 right)."""
    reason: str
    farkas: tuple[Farkas, ...] = ()
    """One certificate for each part of the box; empty if the order of doubles alone is the proof."""

    def check(self) -> bool:
        """Check the certificates once more, in rational arithmetic."""
        return all(part.check() for part in self.farkas)


@dataclass(frozen=True)
class Verdict:
    """Whether inputs of the domain reach a node."""

    status: LeafStatus
    """"not asked" only for leaves that a question left out."""
    witness: Array | None = None
    """A row of the domain that reaches the node."""
    proof: Proof | None = None
    """Why no row does."""
    margin: float = 0.0
    """For "undecided": how far the best point lies inside the half-spaces, as a share of their size."""
    n_programs: int = 0


class Interval(NamedTuple):
    """Where the common sum of parallel splits lies; an end is a number and 0, or 1 just above it, -1 just below it."""

    low: tuple[float, int] = (-np.inf, 0)
    high: tuple[float, int] = (np.inf, 0)


@dataclass(frozen=True, eq=False)
class Region:
    """Inputs that get to one node: a box, and the half-spaces of the oblique splits above the node."""

    lower: Floats
    upper: Floats
    path: tuple[tuple[int, int], ...] = ()
    """Splits from the root to the node, each with the side taken."""
    sums: tuple[tuple[int, Interval], ...] = ()
    """For each direction of the splits above, where their common sum lies."""
    empty: str = ""
    """Why no double gets here, if that takes no linear program."""


@dataclass(frozen=True)
class Reachability:
    """Which leaves inputs of a domain can reach."""

    verdicts: tuple[Verdict, ...]
    """One per leaf, from left to right. Leaves below one unreachable node share its proof."""
    regions: tuple[Region, ...]
    n_programs: int
    """Linear programs solved."""

    def _leaves(self, status: LeafStatus) -> list[int]:
        return [leaf for leaf, verdict in enumerate(self.verdicts) if verdict.status == status]

    @cached_property
    def reachable(self) -> list[int]:
        """Leaves with a witness."""
        return self._leaves("reachable")

    @cached_property
    def unreachable(self) -> list[int]:
        """Leaves that are proved to be reached by no input of the domain."""
        return self._leaves("unreachable")

    @cached_property
    def undecided(self) -> list[int]:
        """Leaves thinner than rounding, for which there is neither a witness nor a proof."""
        return self._leaves("undecided")

    def check(self) -> bool:
        """Check all certificates once more, in rational arithmetic."""
        proofs = {id(verdict.proof): verdict.proof for verdict in self.verdicts if verdict.proof is not None}
        return all(proof.check() for proof in proofs.values())

    def __str__(self) -> str:
        return (
            f"{len(self.reachable)} of {len(self.verdicts)} leaves reachable, {len(self.unreachable)} proved "
            f"unreachable, {len(self.undecided)} undecided"
        )


@dataclass(frozen=True, eq=False)
class Exploration:
    """A tree explored on a domain; several questions can share it."""

    cuts: Cuts
    reachability: Reachability

    @property
    def encoded(self) -> EncodedDomain:
        """The domain as the tree sees it."""
        return self.cuts.encoded

    @property
    def model(self) -> Model:
        """The model that was explored."""
        return self.encoded.model


def explore(tree: Any, domain: Domain) -> Exploration:
    """Walk a tree over a domain once, for several questions.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
        Bounded in every column of numbers.

    Returns
    -------
    Exploration
        Pass it as ``explored`` to the questions about the same tree and domain.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> from dtsemnet.verify import never, output_bounds
    >>> tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    >>> domain = Domain(0.0, 1.0)
    >>> explored = explore(tree, domain)
    >>> never(tree, domain, "large", explored=explored).status
    'yes'
    >>> output_bounds(tree, domain, explored=explored)[1].maximum.certified
    0.0
    """
    cuts = Cuts(bind(Model.of(tree), domain))
    return Exploration(cuts, explore_leaves(cuts))


def explored_once(tree: Any, domain: Domain, explored: Exploration | None) -> Exploration:
    """Take the exploration that is given, if it is of this tree and domain, or explore now."""
    if explored is None:
        return explore(tree, domain)
    if explored.encoded.domain is not domain or explored.model != Model.of(tree):
        raise ValueError("explored must be of the same tree and domain; make it by explore(tree, domain).")
    return explored


def explore_leaves(
    cuts: Cuts,
    wanted: Bools | None = None,
    *,
    stop_at_first: bool = False,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reachability:
    """Walk a tree from the root and decide every leaf that is wanted.

    ``stop_at_first`` ends the walk at the first leaf that is reachable. Leaves that are not wanted are "not asked",
    those left at the end "undecided" with a margin of NaN.
    """
    encoded, topology = cuts.encoded, cuts.tree.topology
    wanted = np.ones(topology.n_leaves, dtype=bool) if wanted is None else wanted
    start = time.monotonic()
    verdicts = [Verdict("undecided", margin=np.nan) if is_wanted else Verdict("not asked") for is_wanted in wanted]
    regions = [cuts.root()] * topology.n_leaves
    witnesses = _draw_witnesses(encoded)
    todo, n_programs, n_done = [(0 if topology.n_splits else -1, cuts.root())], 0, 0
    while todo and (time_limit is None or time.monotonic() - start < time_limit):
        node, region = todo.pop()
        leaves = leaves_below(cuts.tree, node)
        n_wanted = int(wanted[leaves.start : leaves.stop].sum())
        if not n_wanted:
            continue
        witness = next((witnesses[leaf] for leaf in leaves if leaf in witnesses), None)
        verdict = Verdict("reachable", witness)
        if witness is None:
            verdict = decide(cuts, region, lambda row, leaves=leaves: encoded.leaf_of(row) in leaves)  # type: ignore[misc]
            n_programs += verdict.n_programs
            if verdict.witness is not None:
                witnesses[encoded.leaf_of(verdict.witness)] = verdict.witness
        if node >= 0 and verdict.status != "unreachable":
            todo += [(int(topology.children[node, side]), cuts.child(region, node, side)) for side in (1, 0)]
            continue
        for leaf in leaves:
            verdicts[leaf], regions[leaf] = verdict, region
        n_done += n_wanted
        if progress is not None:
            progress(n_done, int(wanted.sum()))
        if stop_at_first and verdict.status == "reachable":
            break
    return Reachability(tuple(verdicts), tuple(regions), n_programs)


def decide(cuts: Cuts, region: Region, reaches: Callable[[Array], bool]) -> Verdict:
    """Decide whether a region can be reached; ``reaches`` says whether the model sends a row there."""
    if region.empty:
        return Verdict("unreachable", proof=Proof(region.path, region.empty))
    encoded = cuts.encoded
    whole = cuts.polytope(region)
    of_splits = np.arange(len(whole.rows)) >= len(encoded.rows)
    farkas: list[Farkas] = []
    todo, n_programs, open_margin = [whole], 0, -np.inf
    while todo:
        polytope = todo.pop()
        single = _single_row_proof(polytope)
        if single is not None:
            farkas.append(single)
            continue
        n_programs += 1
        solution = interior(polytope)
        if solution is not None:
            proof = Farkas(polytope, solution.multiplier)
            if solution.margin < 0 and proof.check():
                farkas.append(proof)
                continue
            witness = encoded.find_row(roundings(solution.point), polytope, reaches)
            if witness is None and encoded.soft.any():  # an equality has no inside: go inside the splits' rows alone
                inside = deepest_point(polytope._replace(soft=of_splits))
                witness = None if inside is None else encoded.find_row(roundings(inside), polytope, reaches)
            if witness is not None:
                return Verdict("reachable", witness, n_programs=n_programs)
        halves = encoded.halve(polytope, solution) if n_programs < MAX_BOXES else []
        todo += halves
        if not halves:
            open_margin = max(open_margin, np.nan if solution is None else solution.margin)
    if open_margin != -np.inf:
        return Verdict("undecided", margin=float(open_margin), n_programs=n_programs)
    reason = "its half-spaces have no point in common" if n_programs else "a half-space lies outside the box"
    return Verdict("unreachable", proof=Proof(region.path, reason, tuple(farkas)), n_programs=n_programs)


class Cuts:
    """Half-spaces of all splits of a tree on an encoded domain, and the regions that they cut out."""

    def __init__(self, encoded: EncodedDomain) -> None:
        tree = encoded.model.tree
        self.tree, self.encoded = tree, encoded
        self.slack = rounding_bound(tree.weight, tree.bias, encoded.lower, encoded.upper)
        with np.errstate(over="ignore"):
            self.left = np.nextafter(-tree.bias + self.slack, np.inf)
            self.right = np.nextafter(tree.bias + self.slack, np.inf)
        self.n_weights = np.count_nonzero(tree.weight, axis=1)
        self.feature = np.argmax(tree.weight != 0, axis=1) if tree.n_splits else np.zeros(0, dtype=np.int64)
        self._direction, self._sign, self.directions = _parallel(tree, self.feature)
        self._ends: dict[int, tuple[float, float]] = {}
        self._ranks = rank_of(encoded.lower).tolist(), rank_of(encoded.upper).tolist()

    def root(self) -> Region:
        """The region of the root: the whole box."""
        return Region(self.encoded.lower, self.encoded.upper)

    def child(self, region: Region, split: int, side: int) -> Region:
        """Go down one split."""
        path = (*region.path, (split, side))
        if self.n_weights[split] == 0:
            taken = RIGHT if self.tree.bias[split] > 0 else LEFT
            return replace(region, path=path, empty="" if side == taken else f"split {split} has no weights")
        if self.n_weights[split] == 1:
            region = self._cut_box(region, split, side)
            if region.empty:
                return replace(region, path=path)
        sums = dict(region.sums)
        direction = int(self._direction[split])
        above, here = sums.get(direction, Interval()), self._interval(split, side)
        sums[direction] = both = Interval(max(above.low, here.low), min(above.high, here.high))
        contradicts = both.low > both.high or self.sums_contradict(sums)
        empty = f"split {split} contradicts a parallel split above it" if contradicts else ""
        return replace(region, path=path, sums=tuple(sums.items()), empty=empty)

    def sums_contradict(self, sums: dict[int, Interval]) -> bool:
        """Whether sums of different directions exclude each other; a question that knows their order overrides it."""
        return False

    def polytope(self, region: Region) -> Polytope:
        """The box of a region and the half-spaces of the oblique splits above it."""
        oblique = [(i, side) for i, side in region.path if self.n_weights[i] > 1]
        return self.half_spaces(oblique)._replace(lower=region.lower, upper=region.upper)

    def half_spaces(self, path: Path) -> Polytope:
        """The domain with its rows, then the closed half-spaces of splits with their sides."""
        split, side = (np.array([pair[k] for pair in path], dtype=np.int64) for k in (0, 1))
        sign = np.where(side == RIGHT, -1.0, 1.0)
        rows = np.vstack([self.encoded.rows, sign[:, None] * self.tree.weight[split]])
        bound = np.concatenate([self.encoded.bound, np.where(side == RIGHT, self.right[split], self.left[split])])
        soft = np.concatenate([self.encoded.soft, np.ones(len(path), dtype=bool)])
        return Polytope(rows, bound, self.encoded.lower, self.encoded.upper, soft)

    def path_to(self, node: int) -> Path:
        """Splits above a node that have weights, each with its side; ``~k`` is leaf ``k``."""
        first_leaf = leaves_below(self.tree, node).start
        steps = zip(*(part[first_leaf].tolist() for part in self.tree.topology.paths))
        above = takewhile(lambda step: step[0] not in (node, -1), steps)  # the paths of shallow leaves end in -1
        return [step for step in above if self.n_weights[step[0]]]

    def _interval(self, split: int, side: int) -> Interval:
        """The sums that send a row to the side; those of opposite weights are exactly opposite."""
        b = float(self.tree.bias[split])
        if self._sign[split] > 0:  # right: s > -b
            return Interval(low=(-b, 1)) if side == RIGHT else Interval(high=(-b, 0))
        return Interval(high=(b, -1)) if side == RIGHT else Interval(low=(b, 0))

    def _cut_box(self, region: Region, split: int, side: int) -> Region:
        j = int(self.feature[split])
        if split not in self._ends:
            self._ends[split] = self._find_ends(split)
        last, first = self._ends[split]
        lower, upper = region.lower.copy(), region.upper.copy()
        # `last` is the largest number on the lower side, `first` the next one; the lower side is left for w > 0.
        if (side == LEFT) == (self.tree.weight[split, j] > 0):
            upper[j] = min(upper[j], last)
        else:
            lower[j] = max(lower[j], first)
        if self.encoded.integer[j]:
            lower[j], upper[j] = np.ceil(lower[j]), np.floor(upper[j])
        empty = f"split {split} lies outside the box" if lower[j] > upper[j] else ""
        return replace(region, lower=lower, upper=upper, empty=empty)

    def _find_ends(self, split: int) -> tuple[float, float]:
        """The last double of the box on the lower side of a split of one feature, and the first on the upper side."""
        j = int(self.feature[split])
        w, b = float(self.tree.weight[split, j]), float(self.tree.bias[split])
        low, high = self._ranks[0][j] - 1, self._ranks[1][j] + 1
        # Rounding moves the threshold by few doubles at most, so a window around -b / w nearly always holds it.
        guess = int(rank_of(-b / w))
        tries = [rank for rank in (guess - 2, guess + 2) if low < rank < high]
        while high - low > 1:
            middle = tries.pop() if tries else (low + high) // 2
            is_upper = (w * float(double_at(middle)) + b > 0) == (w > 0)
            low, high = (low, middle) if is_upper else (middle, high)
        return float(double_at(low)), float(double_at(high))


def rounding_bound(weight: Floats, bias: Floats, lower: Floats, upper: Floats) -> Floats:
    """Bound how far computed scores lie from real ones, for all points of a box."""
    most = np.maximum(np.abs(lower), np.abs(upper))
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(weight) @ most + np.abs(bias)
    if not (size < 1e300).all():
        raise ValueError(
            "domain is too large for this tree: scores come near the largest double, where they may overflow; "
            "give a smaller box."
        )
    d = weight.shape[-1]
    roundings = (-(-d // LANES) + int(np.log2(LANES)) + 2) * 2.0**-53  # product, partial sums, joins by halves, bias
    return roundings / (1 - roundings) * size * (1 + 1e-9) + d * 2.0**-1022


def least_on_box(coef: Floats, lower: Floats, upper: Floats) -> Floats:
    """Least value of ``coef . z`` on a box, up to rounding; the largest if the ends are exchanged."""
    return np.asarray(np.where(coef > 0, coef * lower, coef * upper).sum(axis=-1))


def _parallel(tree: Tree, feature: Ints) -> tuple[Ints, Floats, dict[bytes, int]]:
    """Number the directions of the splits, opposite ones as one, with the sign of each split's first weight."""
    sign = np.where(tree.weight[np.arange(tree.n_splits), feature] < 0, -1.0, 1.0)
    directions: dict[bytes, int] = {}
    rows = sign[:, None] * tree.weight + 0.0  # no -0.0
    numbers = [directions.setdefault(row.tobytes(), len(directions)) for row in rows]
    return np.array(numbers, dtype=np.int64), sign, directions


def _single_row_proof(polytope: Polytope) -> Farkas | None:
    """A proof from one row alone, if it holds nowhere in the box."""
    rows, bound, lower, upper, _ = polytope
    if not len(rows):
        return None
    least = least_on_box(rows, lower, upper)
    worst = int(np.argmax(least - bound))
    if least[worst] <= bound[worst]:
        return None
    proof = Farkas(polytope, np.eye(1, len(rows), worst)[0])
    return proof if proof.check() else None


def leaves_below(tree: Tree, node: int) -> range:
    """The leaves below a node, from left to right; ``~k`` is leaf ``k``."""
    if node < 0:
        return range(~node, ~node + 1)
    first, last = tree.topology.spans
    return range(int(first[node]), int(last[node]))


def _draw_witnesses(encoded: EncodedDomain) -> dict[int, Array]:
    """Witnesses from random points, half of them on a coarse grid, which holds ties and corners."""
    rng = np.random.default_rng(0)
    d = len(encoded.lower)
    share = rng.random((min(N_DRAWS, max(64, 2_000_000 // max(d, 1))), d))
    share[::2] = np.round(share[::2] * 4) / 4
    Z = encoded.round_integers(encoded.lower + share * (encoded.upper - encoded.lower), encoded.lower, encoded.upper)
    Z = encoded.fill_missing(Z[(encoded.bound >= Z @ encoded.rows.T).all(axis=1)])
    rows = [encoded.row(Z[i]) for i in np.unique(encoded.model.tree.apply(Z), return_index=True)[1]]
    return {encoded.leaf_of(row): row for row in rows if encoded.contains(row)}
