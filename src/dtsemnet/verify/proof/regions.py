"""Regions of a tree: what inputs get to a node, a box and half-spaces, by the splits above it.

A region is described as the tree runs in floating point, enclosed in real half-spaces. A computed score differs from
``w . z + b`` by at most

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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Tree
from dtsemnet.tree.doubles import double_at, rank_of
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import Polytope
from dtsemnet.verify.proof.decision import check_cases
from dtsemnet.verify.proof.encoded_domain import EncodedDomain

__all__ = ["LEFT", "RIGHT", "Cuts", "Interval", "Path", "Region", "least_on_box", "leaves_below", "rounding_bound"]

LEFT, RIGHT = 0, 1

Path = Sequence[tuple[int, int]]
"""Splits, each with the side taken (0 left, 1 right)."""


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
