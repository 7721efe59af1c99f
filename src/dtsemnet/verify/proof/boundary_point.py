"""A point that two nodes of a tree touch, exactly.

A solver's point lies near the hyperplane at which two nodes part, hardly ever on it. Solving the equations
of the half-spaces that it touches in rational arithmetic, for as many coordinates and with all others held,
moves it there by the solver's tolerance. Whether it then lies in all closed half-spaces is checked
without rounding, so a point that is handed out is one that both nodes touch.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dtsemnet.arrays import Bools, Floats
from dtsemnet.verify.proof.linear_programs import interior
from dtsemnet.verify.proof.regions import LEFT, RIGHT, Cuts

__all__ = ["touching_point"]


def touching_point(cuts: Cuts, point: Floats, split: int, nodes: tuple[int, int]) -> list[Fraction] | None:
    """Find a point near one that lies on a split's hyperplane and in the closed half-spaces of two nodes below it."""
    space, tree = cuts.space, cuts.tree
    path = [step for step in dict.fromkeys(cuts.path_to(nodes[0]) + cuts.path_to(nodes[1])) if step[0] != split]
    point = np.clip(np.where(space.integer, np.round(point), point), space.lower, space.upper)
    for place, mark in space.marks.items():
        point[mark.number] = mark.fill if point[place] == 1 else min(max(point[mark.number], mark.low), mark.high)
    for near, all_tight in _tries(cuts, point, split, path):
        held = space.integer | (near <= space.lower) | (near >= space.upper)
        for place, mark in space.marks.items():
            held[mark.number] |= near[place] == 1 or not mark.low < near[mark.number] < mark.high
        tight = [split]
        if all_tight:
            others = np.array([i for i, _ in path], dtype=np.int64)
            away = np.abs(tree.weight[others] @ near + tree.bias[others])
            size = np.abs(tree.weight[others]) @ np.abs(near) + np.abs(tree.bias[others])
            tight += others[away <= 1e-9 * size].tolist()
        z = _on_hyperplanes(tree.weight[tight], tree.bias[tight], near, held)
        if _is_inside(cuts, z, split, path):
            return z
    return None


def _tries(cuts: Cuts, point: Floats, split: int, path: list[tuple[int, int]]) -> list[tuple[Floats, bool]]:
    """The point with all that it touches, then points farther inside, which touch the split alone."""
    tries = [(point, True)]
    rows, right = cuts.half_spaces([(split, LEFT), (split, RIGHT), *path])
    soft = np.arange(len(rows)) >= len(cuts.space.rows) + 2
    whole = cuts.space.integer
    lower, upper = np.where(whole, point, cuts.space.lower), np.where(whole, point, cuts.space.upper)
    deep = interior(rows, right, lower, upper, soft) if soft.any() else None
    inside = lower / 2 + upper / 2 if deep is None else deep.point
    return tries + [(point + share * (inside - point), False) for share in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0)]


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
            continue  # it follows from the rows before, or is missed: the check tells
        lead = coef[pivot]
        solved.append((pivot, [c / lead for c in coef], rest / lead))
    for pivot, coef, rest in reversed(solved):  # a later row no longer holds the coordinates of earlier ones
        z[pivot] = -rest - sum((c * x for j, (c, x) in enumerate(zip(coef, z)) if c and j != pivot), Fraction(0))
    return z


def _is_inside(cuts: Cuts, z: list[Fraction], split: int, path: list[tuple[int, int]]) -> bool:
    """Check without rounding: the box, the domain's rows, the closed half-spaces, the hyperplane."""
    space, tree = cuts.space, cuts.tree
    ends = zip(z, space.lower.tolist(), space.upper.tolist())
    if not all(Fraction(low) <= x <= Fraction(high) for x, low, high in ends):
        return False
    for place, (number, fill, low, high) in space.marks.items():
        least, most = (fill, fill) if z[place] == 1 else (low, high)
        if not Fraction(least) <= z[number] <= Fraction(most):
            return False
    if not all(_dot(row, z) <= Fraction(bound) for row, bound in zip(space.rows, space.bound.tolist())):
        return False
    if _dot(tree.weight[split], z) + Fraction(tree.bias[split]) != 0:
        return False
    scores = ((side, _dot(tree.weight[i], z) + Fraction(tree.bias[i])) for i, side in path)
    return all(score >= 0 if side == RIGHT else score <= 0 for side, score in scores)


def _dot(row: Floats, z: list[Fraction]) -> Fraction:
    return sum((Fraction(w) * x for w, x in zip(row.tolist(), z) if w), Fraction(0))
