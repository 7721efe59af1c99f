"""Known answers for the self-test of an exported C file.

A compiler may be told to compute sums in another way, and some options leave no trace that a
file could refuse to compile by: clang's ``-ffp-contract=fast`` fuses a product with a sum, a
library that was linked with fast-math makes the processor take tiny numbers for 0. So the file
can test itself: ``NAME_selftest`` computes every sum of the tree on a few test rows and compares
it with what the tree computed, bit for bit.

Test rows take little room in the file: both sides mix the same 52-bit numbers from their places.
Each feature is multiplied by a power of two that makes its products about as large as the biases;
then almost every sum rounds at each step, and another order of summation shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.kernels import routing
from dtsemnet.tree import Tree

__all__ = ["KnownAnswers"]

_LEAST_SUMS = 128
"""Sums to compare at least; a small tree is tested on more rows. If a single product of 17 is fused, one sum in ten
shows it, so that a wrong program passes with a probability of about 1e-6."""


@dataclass(frozen=True)
class KnownAnswers:
    """What the self-test of a tree compares."""

    n_tests: int
    """Number of test rows."""
    scale: Floats
    """Powers of two by which the features of the test rows are multiplied, shape (n_features,)."""
    score: Floats
    """Scores of all splits, shape (n_tests, n_splits)."""
    output: Floats
    """Outputs of linear leaves before they are clipped, shape (n_tests, n_leaves * n_outputs); no columns if leaves are
    constant."""
    rounding: float
    """How far sums in floats may be off; 0 for doubles."""

    @classmethod
    def of(cls, tree: Tree, unit: float | None = None) -> KnownAnswers:
        """Compute the answers of a tree; ``unit`` is the unit roundoff of a file that rounds."""
        width = tree.n_features
        sums = [(tree.weight, tree.bias)]
        if tree.coef is not None:
            sums.append((tree.coef.reshape(-1, width), tree.value.ravel()))
        n_tests = -(-_LEAST_SUMS // max(1, sum(len(bias) for _, bias in sums)))
        row, scale = _rows(n_tests, width), _scale(sums, 900 if unit is None else 60)
        answers = [_sums(row * scale, *pair) for pair in sums]
        while not all(np.isfinite(answer).all() for answer in answers):  # towards the biases, which are finite
            scale = scale * 2.0**-64
            answers = [_sums(row * scale, *pair) for pair in sums]
        largest = max((np.abs(row * scale) @ np.abs(w).T + np.abs(b)).max(initial=0.0) for w, b in sums)
        rounding = 0.0 if unit is None else (width + 16) * unit * float(largest)
        return cls(n_tests, scale, answers[0], answers[1] if len(sums) > 1 else np.empty((n_tests, 0)), rounding)


def _rows(n_tests: int, width: int) -> Floats:
    """Mix the numbers of the test rows, as ``tree_test_row`` in ``runtime.c`` does: whole numbers below 2**51."""
    rows = np.empty((n_tests, width))
    for test in range(n_tests):
        state = test
        for j in range(width):
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            high = (state >> 6) - (1 << 25)
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            rows[test, j] = high * (1 << 26) + (state >> 6)
    return rows


def _scale(sums: list[tuple[Floats, Floats]], limit: int) -> Floats:
    """Choose powers of two that make the products of each feature about as large as the biases, in the median."""
    weight, bias = (np.concatenate(parts) for parts in zip(*sums))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log2(np.abs(bias))[:, None] - np.log2(np.abs(weight))
    usable = np.isfinite(ratio)
    exponent = [np.median(column[used]) if used.any() else 0.0 for column, used in zip(ratio.T, usable.T)]
    return np.asarray(2.0 ** np.clip(np.round(exponent) - 50, -limit, limit))


def _sums(rows: Floats, weight: Floats, bias: Floats) -> Floats:
    answer = np.empty((len(rows), len(bias)))
    if len(bias):
        routing.scores(rows, routing.pad_rows(weight), np.ascontiguousarray(bias), answer)
    return answer
