"""Exact answers by z3, in real arithmetic: what a leaf holds, with its edge and without."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import z3

from dtsemnet.tree import Tree


def number(value: float) -> Any:
    fraction = Fraction(float(value))
    return z3.Q(fraction.numerator, fraction.denominator)


def affine(weight: Any, bias: float, x: list[Any]) -> Any:
    return z3.Sum([number(w) * v for w, v in zip(weight, x)] + [number(bias)])


def leaf_terms(tree: Tree, leaf: int, x: list[Any], *, inside: bool) -> list[Any]:
    """The half-spaces of a leaf; ``inside`` makes all of them open."""
    split, side = (part[leaf] for part in tree.topology.paths)
    terms = []
    for i, right in zip(split, side):
        if i >= 0:
            score = affine(tree.weight[i], tree.bias[i], x)
            terms.append(score > 0 if right else score < 0 if inside else score <= 0)
    return terms


def is_satisfiable(terms: list[Any]) -> bool:
    solver = z3.Solver()
    solver.add(*terms)
    return solver.check() == z3.sat


def variables(tree: Tree) -> list[Any]:
    return [z3.Real(f"x{j}") for j in range(tree.n_features)]


def box(x: list[Any], low: float, high: float, *, inside: bool = False) -> list[Any]:
    ends = [(v > number(low), v < number(high)) if inside else (v >= number(low), v <= number(high)) for v in x]
    return [term for pair in ends for term in pair]


def optimum(terms: list[Any], goal: Any) -> Fraction:
    """Infimum of a goal over terms."""
    solver = z3.Optimize()
    solver.add(*terms)
    handle = solver.minimize(goal)
    assert solver.check() == z3.sat
    found = solver.lower_values(handle)[1]
    return Fraction(str(found))


def grid(n_features: int, low: float, high: float, n: int) -> np.ndarray:
    axes = np.meshgrid(*[np.linspace(low, high, n)] * n_features)
    return np.stack([axis.ravel() for axis in axes], axis=1)
