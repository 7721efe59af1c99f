"""The region of a node as the tree runs in floating point, enclosed in real half-spaces.

A computed score differs from ``w . z + b`` by at most

    rho = gamma_n (|w| . |z| + |b|),     gamma_n = n u / (1 - n u),

``n`` being the roundings a term goes through (product, partial sum, four joins, bias). So a row
that goes left has ``w . z + b <= rho``, one that goes right ``w . z + b >= -rho``, with ``rho`` at its largest
on the box: rows wide enough for every double. Three kinds of splits need no width, since
the sign of a rounded sum of two numbers is exact:

- a split without weights has its bias as score;
- a split of one feature is a threshold, found among the doubles by bisection, and cuts the box;
- splits with equal or opposite weights share one sum before the bias, which they confine to an interval.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Tree
from dtsemnet.verify.proof.encoded_domain import Space

__all__ = ["Cuts", "Region", "rounding_bound", "sum_error"]

LEFT, RIGHT = 0, 1


class Interval(NamedTuple):
    """Where the common sum of parallel splits lies, and which split said so."""

    low: float = -np.inf
    low_open: bool = False
    high: float = np.inf
    high_open: bool = False

    @property
    def is_empty(self) -> bool:
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))


@dataclass(frozen=True, eq=False)
class Region:
    """Inputs on the way to one node: a box, and half-spaces of the splits above that are oblique."""

    lower: Floats
    upper: Floats
    path: tuple[tuple[int, int], ...] = ()
    """Splits from the root down, each with the side taken."""
    sums: tuple[tuple[int, Interval], ...] = ()
    empty: str = ""
    """Why no double gets here, where that takes no linear program."""


class Cuts:
    """Half-spaces of all splits of a tree on a space.

    ``step`` names a feature that is raised by the last one, which is not negative (see questions.monotone).
    Rounding keeps order, so a sum read after the step is not smaller than before it where the weight is positive.
    """

    def __init__(self, space: Space, step: int | None = None) -> None:
        tree = space.model.tree
        self.tree, self.space = tree, space
        self.slack = rounding_bound(tree.weight, tree.bias, space.lower, space.upper)
        with np.errstate(over="ignore"):
            self.left = np.nextafter(-tree.bias + self.slack, np.inf)
            self.right = np.nextafter(tree.bias + self.slack, np.inf)
        self.n_weights = np.count_nonzero(tree.weight, axis=1)
        self.feature = np.argmax(tree.weight != 0, axis=1) if tree.n_splits else np.zeros(0, dtype=np.int64)
        self._group, self._sign, seen = _parallel(tree)
        self._ordered = [] if step is None else _ordered_sums(seen, step)
        self._threshold: dict[int, tuple[float, float]] = {}
        pairs = enumerate(tree.topology.children.tolist())
        self._parent = {child: (split, side) for split, children in pairs for side, child in enumerate(children)}

    def root(self) -> Region:
        """The region of the root: the whole box."""
        return Region(self.space.lower, self.space.upper)

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
        group = int(self._group[split])
        sums[group] = _meet(sums.get(group, Interval()), self._interval(split, side))
        empty = ""
        if sums[group].is_empty or any(_contradict(sums.get(low), sums.get(high)) for low, high in self._ordered):
            empty = f"split {split} contradicts a parallel split above it"
        return replace(region, path=path, sums=tuple(sums.items()), empty=empty)

    def rows(self, region: Region) -> tuple[Floats, Floats, Bools]:
        """Rows and right-hand sides of a region, the domain's first, and which of them a point may lie inside of."""
        oblique = [(i, side) for i, side in region.path if self.n_weights[i] > 1]
        return *self.half_spaces(oblique), np.concatenate([self.space.soft, np.ones(len(oblique), dtype=bool)])

    def half_spaces(self, path: list[tuple[int, int]]) -> tuple[Floats, Floats]:
        """The domain's rows, then the closed half-spaces of splits with their sides, and the right-hand sides."""
        split, side = (np.array([pair[k] for pair in path], dtype=np.int64) for k in (0, 1))
        sign = np.where(side == RIGHT, -1.0, 1.0)
        rows = np.vstack([self.space.rows, sign[:, None] * self.tree.weight[split]])
        bound = np.concatenate([self.space.bound, np.where(side == RIGHT, self.right[split], self.left[split])])
        return rows, bound

    def path_to(self, node: int) -> list[tuple[int, int]]:
        """Splits above a node that have weights, each with its side; ``~k`` is leaf ``k``."""
        path = []
        while node in self._parent:
            node, side = self._parent[node]
            path.append((node, side))
        return [step for step in reversed(path) if self.n_weights[step[0]]]

    def _interval(self, split: int, side: int) -> Interval:
        """The sums that send a row to the side; those of opposite weights are exactly opposite."""
        b = float(self.tree.bias[split])
        if self._sign[split] > 0:  # right: s > -b
            return Interval(low=-b, low_open=True) if side == RIGHT else Interval(high=-b)
        return Interval(high=b, high_open=True) if side == RIGHT else Interval(low=b)

    def _cut_box(self, region: Region, split: int, side: int) -> Region:
        j = int(self.feature[split])
        last, first = self._ends(split)
        weight = self.tree.weight[split, j]
        lower, upper = region.lower.copy(), region.upper.copy()
        # `last` is the largest number on the lower side, `first` the next one; the lower side is left for w > 0.
        if (side == LEFT) == (weight > 0):
            upper[j] = min(upper[j], last)
        else:
            lower[j] = max(lower[j], first)
        if self.space.integer[j]:
            lower[j], upper[j] = np.ceil(lower[j]), np.floor(upper[j])
        empty = f"split {split} lies outside the box" if lower[j] > upper[j] else ""
        return replace(region, lower=lower, upper=upper, empty=empty)

    def _ends(self, split: int) -> tuple[float, float]:
        """The last double of the box on the lower side of a split of one feature, and the first on the upper side."""
        if split not in self._threshold:
            j = int(self.feature[split])
            w, b = float(self.tree.weight[split, j]), float(self.tree.bias[split])

            def is_upper(x: float) -> bool:
                return (w * x + b > 0) == (w > 0)

            low, high = _order(float(self.space.lower[j])) - 1, _order(float(self.space.upper[j])) + 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if is_upper(_double(middle)) else (middle, high)
            self._threshold[split] = _double(low), _double(high)
        return self._threshold[split]


def rounding_bound(weight: Floats, bias: Floats, lower: Floats, upper: Floats) -> Floats:
    """Bound how far computed scores lie from real ones, for all points of a box.

    Examples
    --------
    >>> bound = rounding_bound(np.array([[0.1, 0.2]]), np.array([0.3]), np.zeros(2), np.ones(2))
    >>> 1e-16 < bound.item() < 1e-15
    True
    """
    most = np.maximum(np.abs(lower), np.abs(upper))
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(weight) @ most + np.abs(bias)
    if not (size < 1e300).all():
        raise ValueError(
            "domain is too large for this tree: scores come near the largest double, where they may overflow; "
            "give a smaller box."
        )
    return sum_error(weight.shape[-1]) * size * (1 + 1e-9) + weight.shape[-1] * 2.0**-1022


def sum_error(n_features: int) -> float:
    """Relative error of the documented sum: product, partial sums, joins by halves, bias."""
    n = (-(-n_features // LANES) + int(np.log2(LANES)) + 2) * 2.0**-53
    return n / (1 - n)


def _meet(one: Interval, other: Interval) -> Interval:
    low, low_open = max((one.low, one.low_open), (other.low, other.low_open))
    high, closed = min((one.high, not one.high_open), (other.high, not other.high_open))
    return Interval(low, low_open, high, not closed)


def _parallel(tree: Tree) -> tuple[Ints, Floats, dict[bytes, int]]:
    """Number the directions of the splits, opposite ones as one, and tell the sign of each."""
    weight = tree.weight + 0.0
    first = np.argmax(weight != 0, axis=1) if tree.n_splits else np.zeros(0, dtype=np.int64)
    sign = np.where(weight[np.arange(tree.n_splits), first] < 0, -1.0, 1.0)
    seen: dict[bytes, int] = {}
    rows = sign[:, None] * weight + 0.0
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows], dtype=np.int64), sign, seen


def _ordered_sums(seen: dict[bytes, int], step: int) -> list[tuple[int, int]]:
    """Pairs of directions, before and after a step, of which the first never has the larger sum."""
    pairs = []
    for key, before in seen.items():
        row = np.frombuffer(key).copy()
        if row[-1] == 0 and row[step] != 0:
            row[-1] = row[step]
            after = seen.get(row.tobytes())
            if after is not None:
                pairs.append((before, after) if row[step] > 0 else (after, before))
    return pairs


def _contradict(low: Interval | None, high: Interval | None) -> bool:
    """Whether the first sum must exceed the second."""
    return low is not None and high is not None and Interval(low.low, low.low_open, high.high, high.high_open).is_empty


def _order(x: float) -> int:
    """Number the doubles in their order."""
    bits: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return bits if bits >= 0 else -(bits + (1 << 63))


def _double(order: int) -> float:
    bits = order if order >= 0 else -order - (1 << 63)
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number
