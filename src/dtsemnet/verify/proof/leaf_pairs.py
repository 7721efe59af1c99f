"""Pairs of leaves: all pairs of two trees as the leaves of one, and how far their answers lie apart.

Below every leaf of the first tree comes a copy of the second. The leaves of this *product* are the pairs of leaves,
numbered ``a * n_b + b``, and a pair that no input reaches is an unreachable leaf. So pairs are explored from the root,
one proof rules out whole families of them, and splits that both trees share are seen to be parallel and need no
program.

A leaf answers ``clip(c . z + v, floor, ceiling)``. The *gap* between two such answers is neither convex nor concave,
but it is the largest of at most four functions that are concave:

    clip(u) = max(floor, min(u, ceiling)),     -clip(v) = max(-ceiling, min(-v, -floor)),

so each choice in the two outer maxima leaves the least of a few affine functions (a *piece*, with the coefficients and
the constant of each), whose maximum is one linear program. Its multipliers prove the bound in rational arithmetic; if
features are integers, the box is halved until the point found is whole.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Model, Topology, Tree
from dtsemnet.verify.proof.certificates import Polytope, exact_value, linear_bound, round_up
from dtsemnet.verify.proof.encoded_domain import EncodedDomain
from dtsemnet.verify.proof.linear_programs import Solution, contradiction, minimise
from dtsemnet.verify.proof.regions import Cuts, least_on_box, rounding_bound

__all__ = [
    "Gap", "Line", "answers", "class_number", "largest_gap", "line_range", "lines_of",
    "output_number", "outputs", "product", "ProductCuts", "second_splits", "ways_above",
]  # fmt: skip

MAX_BOXES = 200
MAX_NUMBERS = 50_000_000


class Line(NamedTuple):
    """The answer of a leaf: an affine function, clipped."""

    coef: Floats
    value: float
    floor: float = -np.inf
    ceiling: float = np.inf
    error: float = 0.0
    """How far the computed answer lies from the real one at most, on the box."""

    def __call__(self, z: list[Fraction]) -> Fraction:
        """The real answer at a point, without rounding."""
        answer = exact_value(self.coef, self.value, z)
        answer = answer if self.floor == -np.inf else max(answer, Fraction(self.floor))
        return answer if self.ceiling == np.inf else min(answer, Fraction(self.ceiling))

    def __neg__(self) -> Line:
        """The negative of the answer."""
        return Line(-self.coef, -self.value, -self.ceiling, -self.floor, self.error)


class Gap(NamedTuple):
    """Largest difference of two answers on a region."""

    upper: float
    """Certified, with room for the rounding of both answers; -inf if the region is proved empty."""
    points: list[Floats]
    """Points at which the solver found the largest differences."""
    n_programs: int


def product(a: Tree, b: Tree) -> Tree:
    """Put a copy of ``b`` below every leaf of ``a``; leaves hold zeros."""
    n_leaves = a.n_leaves * b.n_leaves
    if n_leaves * a.n_features > MAX_NUMBERS:
        raise ValueError(
            f"the trees have {n_leaves} pairs of leaves, which is too many; call prune_unreachable on both first."
        )
    order, children = _product_splits(a, b)
    weight = np.array([(a if leaf < 0 else b).weight[i] for i, leaf in order]).reshape(-1, a.n_features)
    bias = np.array([(a if leaf < 0 else b).bias[i] for i, leaf in order])
    return Tree(Topology(children), weight, bias, np.zeros((n_leaves, 1)))


class ProductCuts(Cuts):
    """Half-spaces of a product, which proof files name by the two trees."""

    two_trees: tuple[Tree, Tree]

    def node_key(self, node: int) -> str:
        if node < 0:
            return "~{},~{}".format(*divmod(~node, self.two_trees[1].n_leaves))
        split, leaf = self._order[node]
        return str(split) if leaf < 0 else f"~{leaf},{split}"

    def split_name(self, split: int) -> str:
        first, leaf = self._order[split]
        return f"{'s' if leaf < 0 else 't'}{first}"

    @cached_property
    def _order(self) -> list[tuple[int, int]]:
        return _product_splits(*self.two_trees)[0]


def second_splits(a: Tree, b: Tree) -> Bools:
    """Which splits of the product come from ``b``."""
    return np.array([leaf >= 0 for _, leaf in _product_splits(a, b)[0]], dtype=bool)


def _product_splits(a: Tree, b: Tree) -> tuple[list[tuple[int, int]], list[list[int]]]:
    """The splits of the product in order, with their children."""
    order: list[tuple[int, int]] = []  # a split i of `a` is (i, -1); one of `b` below leaf k of `a` is (i, k)

    def number(i: int, leaf: int) -> int:
        if i < 0 and leaf < 0:  # a leaf of `a`: the root of `b` takes its place, or the only leaf of `b`
            i, leaf = 0 if b.n_splits else ~0, ~i
        if i < 0:
            return ~(leaf * b.n_leaves + ~i)
        order.append((i, leaf))
        return len(order) - 1

    number(0 if a.n_splits else ~0, -1)
    children = []
    for i, leaf in order:  # it grows on the way
        children.append([number(child, leaf) for child in (a if leaf < 0 else b).topology.children[i].tolist()])
    return order, children


def class_number(model: Model, label: Any, argument: str = "output") -> int:
    """Find a class by its label."""
    if model.class_names is None or label not in model.class_names:
        known = "no classes, since it is a regressor" if model.class_names is None else f"{list(model.class_names)}"
        raise ValueError(f"{argument} must be a class of the tree, got {label!r}; it has {known}.")
    return model.class_names.index(label)


def output_number(model: Model, output: Any) -> int:
    """Find an output by the label of its class, or by its number in a regressor."""
    if model.class_names is not None:
        return class_number(model, output)
    if isinstance(output, bool) or not isinstance(output, (int, np.integer)) or not 0 <= output < model.tree.n_outputs:
        raise ValueError(f"output must be a number from 0 to {model.tree.n_outputs - 1}, got {output!r}.")
    return int(output)


def answers(model: Model, rows: Array) -> Floats:
    """What the model computes before its output map, shape (n_samples, n_outputs)."""
    return outputs(model.tree, model.transform(rows))


def outputs(tree: Tree, Z: Array) -> Floats:
    """What a tree computes for rows of features, shape (n_samples, n_outputs)."""
    raw = tree.predict_proba(Z) if tree.is_classifier else tree.predict(Z)
    return np.asarray(raw, dtype=np.float64).reshape(len(Z), tree.n_outputs)


def lines_of(tree: Tree, output: int, lower: Floats, upper: Floats) -> list[Line]:
    """The answers of all leaves for one output, on a box; an answer that cannot vary is a constant without error."""
    floor, ceiling = (end[:, output] for end in tree.guard)
    if tree.coef is None:
        coef = np.zeros((tree.n_leaves, tree.n_features))
    else:
        coef = np.where((floor == ceiling)[:, None], 0.0, tree.coef[:, output])
    flat = ~coef.any(axis=1)
    error = np.where(flat, 0.0, rounding_bound(coef, tree.value[:, output], lower, upper))
    value = np.where(flat, np.clip(tree.value[:, output], floor, ceiling), tree.value[:, output])
    floor, ceiling = np.where(flat, -np.inf, floor), np.where(flat, np.inf, ceiling)
    parts = zip(coef, *(part.tolist() for part in (value, floor, ceiling, error)))
    return [Line(*part) for part in parts]


def line_range(line: Line, lower: Floats, upper: Floats) -> tuple[float, float]:
    """Bounds of the computed answers on a box, without a linear program."""
    if not line.coef.any():
        return line.value, line.value
    room = (4 + len(lower)) * line.error
    ends = least_on_box(line.coef, lower, upper) - room, least_on_box(line.coef, upper, lower) + room
    low, high = (float(np.clip(end + line.value, line.floor, line.ceiling)) for end in ends)
    return low, high


def largest_gap(
    encoded: EncodedDomain, polytope: Polytope, ours: Line, theirs: Line, *, enough: float = -np.inf
) -> Gap:
    """Bound how far ``ours`` lies above ``theirs`` on a polytope, no finer than ``enough`` needs."""
    # Differences of coefficients and constants round as well, and so does the bound itself.
    room = 4 * (ours.error + theirs.error)
    upper, points, n_programs = -np.inf, [], 0
    todo = [(*piece, polytope) for piece in _pieces(ours, theirs)]
    while todo:
        coef, constant, part = todo.pop()
        allowed = float(_ends(coef, constant, part.lower, part.upper)[1].min()) + room
        if n_programs >= MAX_BOXES or allowed <= enough:
            upper = max(upper, allowed)
            continue
        n_programs += 1
        proved, solution = _maximise(coef, constant, part)
        if solution is None and contradiction(part) is not None:
            continue
        settled = proved + room <= enough or (solution is not None and encoded.is_whole(solution.point))
        halves = [] if settled else encoded.halve(part, solution)
        todo += [(coef, constant, half) for half in halves]
        if not halves:
            upper = max(upper, proved + room)
            points += [] if solution is None else [solution.point]
    return Gap(float(upper), points, n_programs)


def _pieces(ours: Line, theirs: Line) -> list[tuple[Floats, Floats]]:
    """The concave functions whose largest is the gap."""
    zero = np.zeros_like(ours.coef)
    above, below = ([[(u.coef, u.value), (zero, u.ceiling)], [(zero, u.floor)]] for u in (ours, -theirs))
    pieces = []
    for one, other in itertools.product(above, below):
        sums = [(u + v, _add_up(p, q)) for u, p in one for v, q in other if p < np.inf and q < np.inf]
        coef, constant = (np.array(part) for part in zip(*sums))
        if (constant > -np.inf).all():
            pieces.append((coef, constant))
    return pieces


def _add_up(p: float, q: float) -> float:
    """Add two numbers, rounded up."""
    return round_up(Fraction(p) + Fraction(q)) if np.isfinite(p + q) else p + q


def ways_above(ours: Line, theirs: Line, tolerance: float) -> list[tuple[int, Floats, Floats]]:
    """The ways in which ``ours`` may lie more than a tolerance above ``theirs``, as they are computed.

    Each is a number from 0 to 3 and half-spaces ``rows @ z <= bound``, all of which hold then.
    """
    zero, found = np.zeros_like(ours.coef), []
    above = [[(ours.coef, ours.value, ours.error), (zero, ours.ceiling, 0.0)], [(zero, ours.floor, 0.0)]]
    below = [[(-theirs.coef, -theirs.value, theirs.error), (zero, -theirs.floor, 0.0)], [(zero, -theirs.ceiling, 0.0)]]
    for number, (one, other) in enumerate(itertools.product(above, below)):
        sums = [(u, v, p, q, e + f) for u, p, e in one for v, q, f in other if p < np.inf and q < np.inf]
        if any(-np.inf in (p, q) for _, _, p, q, _ in sums):
            continue
        room = [Fraction(p) + Fraction(q) - Fraction(tolerance) for _, _, p, q, _ in sums]
        if any(not u.any() and not v.any() and r <= 0 for (u, v, *_), r in zip(sums, room)):
            continue  # two numbers, too close together
        # Differences of coefficients are rounded here, by less than the error of one of the two sums.
        bound = [np.nextafter(round_up(r + 2 * Fraction(error)), np.inf) for r, (*_, error) in zip(room, sums)]
        found.append((number, np.array([-u - v for u, v, *_ in sums]), np.array(bound)))
    return found


def _ends(coef: Floats, constant: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    low, high = (least_on_box(coef, *box) + constant for box in ((lower, upper), (upper, lower)))
    size = np.abs(coef) @ np.maximum(np.abs(lower), np.abs(upper)) + np.abs(constant)
    room = np.where(coef.any(axis=1), (len(lower) + 4) * 2.0**-52 * size, 0.0)
    return low - room, high + room


def _maximise(coef: Floats, constant: Floats, polytope: Polytope) -> tuple[float, Solution | None]:
    """A proved upper bound of a piece, and the point at which the solver attains it."""
    rows, right, lower, upper, _ = polytope
    if not coef.any():
        inside = Solution(lower / 2 + upper / 2, np.zeros(0))
        solution = minimise(np.zeros_like(lower), polytope) if len(rows) else inside
        return float(constant.min()), solution
    # One more variable, the least of the functions, is maximised.
    low, high = _ends(coef, constant, lower, upper)
    d, n = len(lower), len(rows)
    matrix = np.zeros((n + len(coef), d + 1))
    matrix[:n, :d], matrix[n:, :d], matrix[n:, d] = rows, -coef, 1.0
    ends = np.append(lower, low.min()), np.append(upper, high.min())
    cost, lifted = np.append(np.zeros(d), -1.0), Polytope(matrix, np.concatenate([right, constant]), *ends)
    solution = minimise(cost, lifted)
    multiplier = np.zeros(len(matrix)) if solution is None else solution.multiplier
    proved = round_up(-linear_bound(cost, 0.0, lifted, multiplier))
    return proved, None if solution is None else Solution(solution.point[:d], solution.multiplier[:n])
