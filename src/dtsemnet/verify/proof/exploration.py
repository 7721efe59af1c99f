"""A walk over a tree: which inputs of a domain get to each node, and which leaves can be reached.

The *region* of a node is described as the tree runs in floating point, enclosed in real half-spaces. A computed score
differs from ``w . z + b`` by at most

    rho = gamma_n (|w| . |z| + |b|),     gamma_n = n u / (1 - n u),

``n`` being the number of roundings of a term (product, partial sum, four joins, bias). So a row that goes left has
``w . z + b <= rho``, one that goes right ``w . z + b >= -rho``, with ``rho`` at its largest on the box: rows wide
enough for every double. Three kinds of splits need no width, since the sign of a rounded sum of two numbers is exact:

- a split without weights has its bias as score;
- a split of one feature is a threshold, found among the doubles by bisection, and cuts the box;
- splits with equal or opposite weights share one sum before the bias, which they confine to an interval. If the weights
  of two splits differ by a power of two, so do their sums, unless a product was too small for a double; then both sums
  are tiny, and are not compared.

Whether a region can be reached is a question about a polytope (:mod:`dtsemnet.verify.proof.decision`).

A *proof* names the path to a node and the cases of its polytope, nothing else. To check it, path and polytope are
derived once more from the tree and the domain.

To *explore* a tree, it is walked from the root. A witness of a node is a witness of one of its children, so only the
other child needs a decision; a node that is proved unreachable settles all leaves below it at once. Before that, random
points of the domain give witnesses of the large leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import takewhile
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Literal, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats, Ints
from dtsemnet.kernels.routing import LANES
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model, Tree
from dtsemnet.tree.doubles import double_at, rank_of
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import Polytope
from dtsemnet.verify.proof.decision import Cases, check_cases, decide_polytope, is_small, n_certificates
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import EncodedDomain
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = [
    "LEFT", "RIGHT", "Cuts", "Exploration", "Interval", "LeafStatus", "Path", "Proof", "Reachability", "Region",
    "Verdict", "decide", "explore", "explore_leaves", "explored_once", "least_on_box", "leaves_below", "rounding_bound",
]  # fmt: skip

LEFT, RIGHT = 0, 1
N_DRAWS = 8192

LeafStatus = Literal["reachable", "unreachable", "undecided", "not asked"]
Path = Sequence[tuple[int, int]]
"""Splits, each with the side taken (0 left, 1 right)."""


@dataclass(frozen=True, repr=False)
class Proof(Shown):
    """Why no input of the domain reaches a node."""

    path: tuple[tuple[int, int], ...]
    """Splits from the root to the node, each with its side (0 left, 1 right)."""
    reason: str
    cases: Cases | None = None
    """The certificate (:mod:`dtsemnet.verify.proof.decision`); None if the order of doubles alone is the proof."""
    cuts: Cuts | None = field(default=None, repr=False, compare=False)
    """The tree and the domain that the proof is about."""

    @property
    def n_certificates(self) -> int:
        """Number of parts of the box that certificates settle; 0 if the order of doubles alone is the proof."""
        return n_certificates(self.cases)

    def check(self) -> bool:
        """Check once more, in rational arithmetic, that no input gets to the node.

        The half-spaces are derived again from the tree's path and the domain; the certificate supplies multipliers.
        """
        if self.cuts is None:
            return not self.path and self.cases is None  # a statement about no leaf
        return self.cuts.again().proves_unreachable(self.path, self.cases)

    def to_dict(self) -> dict[str, Any]:
        """The proof as plain numbers, lists and dicts."""
        return {"path": [list(step) for step in self.path], "reason": self.reason, "cases": self.cases}


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
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


@dataclass(frozen=True, repr=False)
class Reachability(Shown):
    """Which leaves inputs of a domain can reach."""

    verdicts: tuple[Verdict, ...]
    """One per leaf, from left to right. Leaves below one unreachable node share its proof."""
    regions: tuple[Region, ...]
    n_programs: int
    """Linear programs solved."""
    cuts: Cuts | None = field(default=None, repr=False, compare=False)
    """The tree and the domain that were explored."""

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
        """Check every verdict once more against the tree and the domain.

        A witness must lie in the domain and reach its leaf. A proof must be about a node above its leaf, and its
        certificates must cover all inputs of the domain there, in rational arithmetic.
        """
        if self.cuts is None or len(self.verdicts) != self.cuts.tree.n_leaves:
            return False
        cuts, checked = self.cuts.again(), {}
        for leaf, verdict in enumerate(self.verdicts):
            if verdict.status == "reachable":
                row = verdict.witness
                if row is None or not cuts.encoded.contains(row) or cuts.encoded.leaf_of(row) != leaf:
                    return False
            elif verdict.status == "unreachable":
                proof = verdict.proof
                if proof is None or proof.path != cuts.steps_to(~leaf)[: len(proof.path)]:
                    return False
                if id(proof) not in checked:
                    checked[id(proof)] = cuts.proves_unreachable(proof.path, proof.cases)
                if not checked[id(proof)]:
                    return False
        return True

    def save_proof(self, path: str | PathLike[str]) -> FilePath:
        """Write the proof file: see :mod:`dtsemnet.verify.proof.file`."""
        # These modules know explorations, so they cannot be imported above.
        from dtsemnet.verify.proof.claims import Evidence, claims_about_leaves
        from dtsemnet.verify.proof.file import save_proof

        if self.cuts is None:
            raise ValueError("there is nothing to save: these verdicts are of no tree.")
        return save_proof(path, [Evidence.on(self.cuts.encoded, partial(claims_about_leaves, self))])

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


def explore(
    tree: Any, domain: Domain, *, time_limit: float | None = None, progress: Callable[[int, int], None] | None = None
) -> Exploration:
    """Walk a tree over a domain once, for several questions.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
        Bounded in every column of numbers.
    time_limit : float, optional
        Seconds; leaves left at the end are undecided.
    progress : callable, optional
        Called with the number of leaves decided, and of all leaves.

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
    return explored_once(tree, domain, None, Deadline(time_limit), progress)


def explored_once(
    tree: Any, domain: Domain, explored: Exploration | None, deadline: Deadline,
    progress: Callable[[int, int], None] | None = None,
) -> Exploration:  # fmt: skip
    """Take the exploration that is given, if it is of this tree and domain, or explore now."""
    if explored is None:
        cuts = Cuts(bind(Model.of(tree), domain, deadline=deadline))
        found = explore_leaves(cuts, deadline=deadline, progress=progress)
        if len(found.unreachable) == len(found.verdicts):
            raise ValueError("domain is empty: no row of it reaches any leaf; widen its box, or relax its constraints.")
        return Exploration(cuts, found)
    if explored.encoded.domain is not domain or explored.model != Model.of(tree):
        raise ValueError("explored must be of the same tree and domain; make it by explore(tree, domain).")
    return explored


def explore_leaves(
    cuts: Cuts,
    wanted: Bools | None = None,
    *,
    stop_at_first: bool = False,
    deadline: Deadline | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reachability:
    """Walk a tree from the root and decide every leaf that is wanted.

    ``stop_at_first`` ends the walk at the first leaf that is reachable. Leaves that are not wanted are "not asked",
    those left at the end "undecided" with a margin of NaN.
    """
    encoded, topology = cuts.encoded, cuts.tree.topology
    wanted = np.ones(topology.n_leaves, dtype=bool) if wanted is None else wanted
    deadline = deadline or Deadline(None)
    verdicts = [Verdict("undecided", margin=np.nan) if is_wanted else Verdict("not asked") for is_wanted in wanted]
    regions = [cuts.root()] * topology.n_leaves
    witnesses = _draw_witnesses(encoded)
    todo, n_programs, n_done = [(0 if topology.n_splits else -1, cuts.root())], 0, 0
    while todo and not deadline.is_over:
        node, region = todo.pop()
        leaves = leaves_below(cuts.tree, node)
        n_wanted = int(wanted[leaves.start : leaves.stop].sum())
        if not n_wanted:
            continue
        witness = next((witnesses[leaf] for leaf in leaves if leaf in witnesses), None)
        verdict = Verdict("reachable", witness)
        if witness is None:
            verdict = decide(cuts, region, leaves, deadline)
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
    return Reachability(tuple(verdicts), tuple(regions), n_programs, cuts)


def decide(cuts: Cuts, region: Region, leaves: range, deadline: Deadline) -> Verdict:
    """Decide whether a region can be reached; ``leaves`` are the leaves below its node."""
    if region.empty:
        return Verdict("unreachable", proof=Proof(region.path, region.empty, None, cuts))
    encoded = cuts.encoded
    found = decide_polytope(
        encoded, cuts.polytope(region), cuts.arrives(leaves), lambda row: encoded.leaf_of(row) in leaves, deadline
    )
    if found.status != "unreachable":
        return Verdict(found.status, found.witness, margin=found.margin, n_programs=found.n_programs)
    is_listed = found.cases is not None and "enumerated" in found.cases
    reason = "its half-spaces have no point in common" if found.n_programs else "a half-space lies outside the box"
    reason = "none of the few points of its box goes there" if is_listed else reason
    return Verdict("unreachable", proof=Proof(region.path, reason, found.cases, cuts), n_programs=found.n_programs)


class Cuts:
    """Half-spaces of all splits of a tree on an encoded domain, and the regions that they cut out."""

    separate: Bools | None = None
    """Splits that are parallel to none but each other, because they sum in another order; a question may set it."""

    def __init__(self, encoded: EncodedDomain) -> None:
        tree = encoded.model.tree
        self.tree, self.encoded = tree, encoded
        self.slack = rounding_bound(tree.weight, tree.bias, encoded.lower, encoded.upper)
        with np.errstate(over="ignore"):
            self.left = np.nextafter(-tree.bias + self.slack, np.inf)
            self.right = np.nextafter(tree.bias + self.slack, np.inf)
        self.n_weights = np.count_nonzero(tree.weight, axis=1)
        self.feature = np.argmax(tree.weight != 0, axis=1) if tree.n_splits else np.zeros(0, dtype=np.int64)
        self._direction, self._sign, self.directions = _parallel(tree, self.feature, self.separate)
        self._scale = _scales(self.directions)
        self._tiny_exponent = -1022 + 56 * (-(-tree.n_features // LANES) + int(np.log2(LANES)) - 1)
        self._ends: dict[int, tuple[float, float]] = {}
        self._ranks = rank_of(encoded.lower).tolist(), rank_of(encoded.upper).tolist()

    def again(self) -> Cuts:
        """Derive the half-spaces once more from the model and the domain, for a check that takes nothing over."""
        return Cuts(bind(self.encoded.model, self.encoded.domain))

    def arrives(self, leaves: range) -> Callable[[Floats], Bools]:
        """Which points of features the tree sends to one of these leaves."""

        def arrive(Z: Floats) -> Bools:
            found = self.tree.apply(Z)
            return np.asarray((leaves.start <= found) & (found < leaves.stop))

        return arrive

    def proves_unreachable(self, path: Path, cases: Any) -> bool:
        """Check a proof: follow its path from the root, and judge its certificate by what the path says."""
        node, region = 0 if self.tree.n_splits else -1, self.root()
        for split, side in path:
            if split != node or side not in (LEFT, RIGHT):
                return False
            if not region.empty:
                region = self.child(region, split, side)
            node = int(self.tree.topology.children[split, side])
        if region.empty:
            return True
        return check_cases(self.encoded, self.polytope(region), cases, self.arrives(leaves_below(self.tree, node)))

    def node_at(self, path: Path) -> int:
        """The node that a path from the root leads to."""
        node = 0 if self.tree.n_splits else -1
        for split, side in path:
            node = int(self.tree.topology.children[split, side])
        return node

    def region_at(self, path: Path) -> Region:
        """The region of that node."""
        region = self.root()
        for split, side in path:
            region = self.child(region, split, side)
        return region

    def node_key(self, node: int) -> str:
        """How proof files name a node."""
        return f"~{~node}" if node < 0 else str(node)

    def row_names(self, path: Path) -> list[str]:
        """How proof files name the rows of the polytope at the end of a path."""
        return self.encoded.row_names + [self.split_name(i) for i, _ in path if self.n_weights[i] > 1]

    def split_name(self, split: int) -> str:
        """How proof files name the half-space of a split."""
        return f"s{split}"

    def steps_to(self, node: int) -> tuple[tuple[int, int], ...]:
        """All splits above a node, each with its side; ``~k`` is leaf ``k``."""
        first_leaf = leaves_below(self.tree, node).start
        steps = zip(*(part[first_leaf].tolist() for part in self.tree.topology.paths))
        return tuple(takewhile(lambda step: step[0] not in (node, -1), steps))  # paths of shallow leaves end in -1

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
        contradicts = both.low > both.high or self._scaled_sums_contradict(sums, direction)
        contradicts = contradicts or self.sums_contradict(sums)
        empty = f"split {split} contradicts a parallel split above it" if contradicts else ""
        return replace(region, path=path, sums=tuple(sums.items()), empty=empty)

    def _scaled_sums_contradict(self, sums: dict[int, Interval], direction: int) -> bool:
        """Whether a sum excludes that of weights that differ by a power of two."""
        family, exponent = self._scale[direction]
        for other, interval in sums.items():
            if other == direction or self._scale[other][0] != family:
                continue
            shift = exponent - self._scale[other][1]
            scaled = Interval(*((float(np.ldexp(end, shift)), side) for end, side in interval))
            # A product below the least normal double rounds by itself. Each further sum hides what is 2^55 times
            # smaller, so sums that differ by more than the power of two are at most `tiny`.
            with np.errstate(over="ignore"):
                tiny = float(np.ldexp(1.0, self._tiny_exponent + abs(shift)))
            here = sums[direction]
            apart = here.low > scaled.high or scaled.low > here.high
            both_tiny = all(one.low[0] <= tiny and one.high[0] >= -tiny for one in (here, scaled))
            if apart and not both_tiny:
                return True
        return False

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
        return [step for step in self.steps_to(node) if self.n_weights[step[0]]]

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
        box = self.encoded.tighten(lower, upper) if lower[j] <= upper[j] else None
        if box is None:
            return replace(region, empty=f"split {split} lies outside the box")
        return replace(region, lower=box[0], upper=box[1])

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


def _parallel(tree: Tree, feature: Ints, separate: Bools | None) -> tuple[Ints, Floats, dict[bytes, int]]:
    """Number the directions of the splits, opposite ones as one, with the sign of each split's first weight."""
    sign = np.where(tree.weight[np.arange(tree.n_splits), feature] < 0, -1.0, 1.0)
    directions: dict[bytes, int] = {}
    rows = sign[:, None] * tree.weight + 0.0  # no -0.0
    apart = np.zeros(tree.n_splits, dtype=bool) if separate is None else separate
    keys = [row.tobytes() + b"." * is_apart for row, is_apart in zip(rows, apart.tolist())]
    numbers = [directions.setdefault(key, len(directions)) for key in keys]
    return np.array(numbers, dtype=np.int64), sign, directions


def _scales(directions: dict[bytes, int]) -> list[tuple[int, int]]:
    """For each direction, a number that those share which differ by a power of two, and its exponent."""
    families: dict[bytes, int] = {}
    keys = list(directions)
    if not keys:
        return []
    weight = np.stack([np.frombuffer(key[: len(key) // 8 * 8]) for key in keys])
    exponent = np.frexp(np.abs(weight).max(axis=1, initial=0.0))[1].astype(np.int64)
    with np.errstate(over="ignore", under="ignore"):
        shape = np.ldexp(weight, -exponent[:, None])
        is_exact = (np.ldexp(shape, exponent[:, None]) == weight).all(axis=1)
    rests = [key[len(key) // 8 * 8 :] for key in keys]
    parts = zip(keys, shape, rests, is_exact.tolist(), exponent.tolist())
    names = [(row.tobytes() + rest if exact else key + b"exact", power) for key, row, rest, exact, power in parts]
    return [(families.setdefault(name, len(families)), power) for name, power in names]


def leaves_below(tree: Tree, node: int) -> range:
    """The leaves below a node, from left to right; ``~k`` is leaf ``k``."""
    if node < 0:
        return range(~node, ~node + 1)
    first, last = tree.topology.spans
    return range(int(first[node]), int(last[node]))


def _draw_witnesses(encoded: EncodedDomain) -> dict[int, Array]:
    """Witnesses from all of a few points, or from random ones, half of them on a grid, which holds ties and corners."""
    rng = np.random.default_rng(0)
    d = len(encoded.lower)
    if is_small(encoded, Polytope(encoded.rows, encoded.bound, encoded.lower, encoded.upper)):
        Z = encoded.points(encoded.lower, encoded.upper)
    else:
        share = rng.random((min(N_DRAWS, max(64, 2_000_000 // max(d, 1))), d))
        share[::2] = np.round(share[::2] * 4) / 4
        Z = encoded.snap(encoded.lower + share * (encoded.upper - encoded.lower), encoded.lower, encoded.upper)
    Z = Z[(encoded.bound >= Z @ encoded.rows.T).all(axis=1)]
    rows = [encoded.row(Z[i]) for i in np.unique(encoded.model.tree.apply(Z), return_index=True)[1]]
    return {encoded.leaf_of(row): row for row in rows if encoded.contains(row)}
