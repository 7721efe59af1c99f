"""What it costs a person to read a tree: the sums, and the columns that they add up.

A reader meets one sum at each split and, if leaves are linear, one for each output of each leaf. A sum costs what it
adds up, in columns: a category counts once, with all its values, and so does a number with its missing mark. Who
follows one row reads the sums on its path alone; the longest path is the most that a single answer can cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.tree.model import Model

__all__ = ["ReadingCost"]


@dataclass(frozen=True)
class ReadingCost:
    """What it costs to read a tree, in columns. Made by :meth:`ReadingCost.of`.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology([[1, -3], [-1, -2]]), [[1.0, -0.5], [0.0, -2.0]], [0.25, 1.0], [[0], [1], [2]])
    >>> cost = ReadingCost.of(tree)
    >>> print(cost)
    2 splits of 1.5 columns, at most 3 columns on a path; 2 different columns
    >>> cost.columns_of_splits, cost.total
    ((2, 1), 3)
    """

    columns_of_splits: tuple[int, ...]
    """Columns that each split reads."""
    columns_of_leaves: tuple[int, ...]
    """Columns that each linear leaf reads, added up over the outputs; nothing if leaves are constant."""
    longest_path: int
    """Most columns that one answer reads, counted anew in each split and in the leaf."""
    n_distinct: int
    """Columns that are read at all."""

    @classmethod
    def of(cls, tree: Any) -> ReadingCost:
        """Measure a Tree, a Model or a fitted estimator."""
        model = Model.of(tree)
        tree, features = model.tree, model.encoder.features
        column = np.array([feature.column_index for feature in features], dtype=np.int64)
        reads = _columns_read(tree.weight, column)
        reads_in_leaves = np.zeros((0, reads.shape[1]), bool)
        splits, leaves = reads.sum(axis=1), np.zeros(tree.n_leaves, np.int64)
        if tree.coef is not None:
            reads_in_leaves = _columns_read(tree.coef.reshape(-1, tree.n_features), column)
            leaves = reads_in_leaves.reshape(tree.n_leaves, tree.n_outputs, -1).sum(axis=(1, 2))
        longest: Ints = np.zeros(tree.n_splits, np.int64)
        for split in range(tree.n_splits - 1, -1, -1):
            below = (longest[child] if child >= 0 else leaves[~child] for child in tree.topology.children[split])
            longest[split] = splits[split] + max(below)
        return cls(
            tuple(splits.tolist()),
            () if tree.coef is None else tuple(leaves.tolist()),
            int(longest[0]) if tree.n_splits else int(leaves[0]),
            int((reads.any(axis=0) | reads_in_leaves.any(axis=0)).sum()),
        )

    @property
    def total(self) -> int:
        """Columns of all splits and linear leaves, added up."""
        return sum(self.columns_of_splits) + sum(self.columns_of_leaves)

    def __str__(self) -> str:
        parts = [_each("split", self.columns_of_splits)]
        parts += [_each("linear leaf", self.columns_of_leaves)] if self.columns_of_leaves else []
        parts += [f"at most {_count(self.longest_path, 'column')} on a path"]
        return f"{', '.join(parts)}; {_count(self.n_distinct, 'different column')}"


def _columns_read(weight: Floats, column: Ints) -> Bools:
    """Mark the columns that each sum reads, (n_sums, n_columns)."""
    reads = np.zeros((int(column.max(initial=-1)) + 1, len(weight)), bool)
    np.logical_or.at(reads, column, weight.T != 0)
    return reads.T


def _each(sums: str, columns: tuple[int, ...]) -> str:
    if not columns:
        return "no splits"
    mean = f"{np.mean(columns):.1f}".removesuffix(".0")
    each = " each" if len(set(columns)) == 1 and len(columns) > 1 else ""
    plural = sums.replace("leaf", "leaves") if "leaf" in sums else f"{sums}s"
    return f"{len(columns)} {sums if len(columns) == 1 else plural} of {mean} column{'' if mean == '1' else 's'}{each}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
