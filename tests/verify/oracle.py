"""Exact answers by z3, in real arithmetic: what a leaf holds, with its edge and without."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import example, given, settings

from dtsemnet.tree import Topology, Tree


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


def answer(tree: Tree, leaf: int, o: int, x: list[Any]) -> Any:
    """The answer of a leaf as a term."""
    coef = np.zeros(tree.n_features) if tree.coef is None else tree.coef[leaf, o]
    term = affine(coef, tree.value[leaf, o], x)
    low, high = (end[leaf, o] for end in tree.guard)
    term = term if low == -np.inf else z3.If(term < number(low), number(low), term)
    return term if high == np.inf else z3.If(term > number(high), number(high), term)


def is_satisfiable(terms: list[Any]) -> bool:
    solver = z3.Solver()
    solver.add(*terms)
    return solver.check() == z3.sat


def variables(tree: Tree, name: str = "x") -> list[Any]:
    return [z3.Real(f"{name}{j}") for j in range(tree.n_features)]


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


N_TREES = [25, pytest.param(500, marks=pytest.mark.slow)]
"""Random trees for a law that asks for exact answers; all of them in the slow run."""


def law(n: int, *examples: dict[str, Any], **given_: Any) -> Any:
    """Make a check a law over ``n`` random cases, after the examples given."""

    def over_cases(check: Any) -> Any:
        for case in examples:
            check = example(**case)(check)
        return settings(max_examples=n)(given(**given_)(check))

    return over_cases


def hard_trees(kind: str) -> list[Tree]:
    """Trees of two features placed to go wrong: touching, parallel and equal splits, empty leaves, ties, corners."""
    chain, star, line = Topology([[-1, 1], [-2, -3]]), Topology.complete(2), Topology([[1, -3], [-1, -2]])
    cases = [
        (chain, [[1, 1], [-1, -1]], [0, 0]),  # s > 0 and -s > 0: touching, the last leaf is empty
        (chain, [[1, 1], [1, 1]], [0, 0]),  # the same split twice
        (chain, [[1, 1], [1, 1]], [0, -1]),  # parallel
        (chain, [[1, 1], [1, 1]], [-1, 0]),  # parallel, an empty leaf between
        (chain, [[1, 0], [-1, 0]], [0, 2.0**-20]),  # a thin leaf
        (chain, [[0, 0], [1, 1]], [0, 0]),  # no weights, a tie
        (chain, [[1, 1], [1, 0]], [-2, 0]),  # touches the box in one corner
        (line, [[1, 1], [-1, -1]], [-0.5, 0.5]),  # a leaf that is a line
        (star, [[1, 0], [0, 1], [0, 1]], [0, 0, 0]),  # four leaves meet in a corner
        (star, [[1, 1], [1, -1], [1, -1]], [0, 0, 0.25]),
    ]
    return [_hard_tree(kind, topology, weight, bias) for topology, weight, bias in cases]


def _hard_tree(kind: str, topology: Topology, weight: Any, bias: Any) -> Tree:
    n = topology.n_leaves
    if kind == "class":
        return Tree(topology, weight, bias, np.eye(2)[np.arange(n) % 2], class_names=["a", "b"])
    value = np.array([[0.0], [3.0], [1.0], [-2.0]])[:n]
    coef = np.array([[[1, 0]], [[0, -1]], [[-0.5, 1]], [[2, 2]]])[:n] if kind == "linear" else None
    return Tree(topology, weight, bias, value, coef)
