"""Trees and scores drawn in bulk, for laws that are checked on many rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtsemnet.tree import Topology

__all__ = ["chain", "ragged", "shapes", "scores_of_every_kind", "walk"]


def chain(n_splits: int, rng: np.random.Generator) -> Topology:
    """Draw a tree whose every split has a leaf on one side."""
    turns = rng.random(n_splits) < 0.5
    return _number({i: (-1 - i, i + 1) if left else (i + 1, -1 - i) for i, left in enumerate(turns)})


def ragged(n_splits: int, rng: np.random.Generator) -> Topology:
    """Draw a tree by splitting a leaf taken at random, again and again."""
    pairs: dict[int, tuple[int, int]] = {}
    leaves = [0]
    while len(pairs) < n_splits:
        node = leaves.pop(int(rng.integers(len(leaves))))
        pairs[node] = (2 * len(pairs) + 1, 2 * len(pairs) + 2)
        leaves += pairs[node]
    return _number(pairs)


def shapes(rng: np.random.Generator) -> Iterator[Topology]:
    """Give trees of every kind: one leaf, complete, chains, ragged."""
    for depth in range(7):
        yield Topology.complete(depth)
    for n_splits in (2, 3, 5, 9, 20):
        yield chain(n_splits, rng)
    for n_splits in (2, 3, 4, 5, 7, 10, 15, 25, 40):
        yield ragged(n_splits, rng)


def scores_of_every_kind(n_rows: int, n_splits: int, dtype: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Draw scores: ordinary, tied, of all magnitudes down to subnormals and up to infinity, in equal parts."""
    info = np.finfo(dtype)
    shape = (n_rows // 4 + 1, n_splits)
    sign = rng.choice([-1.0, 1.0], size=shape)
    ordinary = rng.normal(size=shape)
    tied = rng.integers(-2, 3, size=shape) / 8
    magnitude = np.exp2(rng.uniform(np.log2(float(info.smallest_subnormal)), np.log2(float(info.max)) - 1, shape))
    extreme = rng.choice([0.0, float(info.smallest_subnormal), float(info.tiny), 1.0, float(info.max), np.inf], shape)
    kinds = [ordinary, tied, sign * magnitude, sign * extreme]
    return np.concatenate([kind.astype(dtype) for kind in kinds])[:n_rows]


def walk(topology: Topology, scores: NDArray[Any]) -> NDArray[np.int64]:
    """Go down the table of children, one row at its own split: right if the score is positive."""
    node = np.full(len(scores), 0 if topology.n_splits else -1)
    while (rows := np.flatnonzero(node >= 0)).size:
        split = node[rows]
        node[rows] = topology.children[split, (scores[rows, split] > 0).astype(int)]
    return ~node


def _number(pairs: dict[int, tuple[int, int]]) -> Topology:
    """Number the splits breadth-first from the root, which is node 0, and the leaves from left to right."""
    if not pairs:
        return Topology([])
    order, leaves, stack = [0], [], [0]
    for node in order:
        order += [child for child in pairs[node] if child in pairs]
    while stack:
        node = stack.pop()
        if node in pairs:
            stack += reversed(pairs[node])
        else:
            leaves.append(node)
    number = {node: i for i, node in enumerate(order)} | {node: ~j for j, node in enumerate(leaves)}
    return Topology([[number[left], number[right]] for left, right in (pairs[node] for node in order)])
