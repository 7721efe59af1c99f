"""A tree as indented text, in the units and names of the data.

Every split is an inequality in raw columns, every leaf an answer. A split on one
column is solved for it: ``w x + b > 0`` reads ``x > -b / w``, and ``x < -b / w`` where ``w``
is negative. A point on the hyperplane takes the branch ``no``, as it does in the tree.
Numbers are rounded for reading; the model file holds them exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtsemnet.tree import Tree, as_model, raw_view

__all__ = ["to_text"]


def to_text(tree: Any, X: Any = None, *, digits: int = 4) -> str:
    """Write a tree as text that a person can follow.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A model is shown in the units of its columns: affine maps are folded into the splits.
    X : array_like or data frame, optional
        Rows to count: each leaf shows how many of them reach it.
    digits : int, default=4
        Significant digits.

    Returns
    -------
    str

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(
    ...     Topology([[1, -3], [-1, -2]]), [[1.0, -0.5], [0.0, -2.0]], [0.25, 1.0], [[1, 0], [0, 1], [0.2, 0.8]],
    ...     feature_names=["length", "width"], class_names=["short", "long"])
    >>> print(to_text(tree))
    length - 0.5 width + 0.25 > 0 ?
    ├─ yes: long (80 %)
    └─ no:  width < 0.5 ?
            ├─ yes: long (100 %)
            └─ no:  short (100 %)
    """
    model, view = as_model(tree), raw_view(tree)
    counts = None if X is None else np.bincount(model.apply(X), minlength=model.tree.n_leaves)
    lines = _Writer(view.tree, view.labels, digits, counts).lines()
    return "\n".join([*lines, *([view.remark] if view.remark else [])])


class _Writer:
    """Writes the nodes of one tree."""

    def __init__(self, tree: Tree, labels: Sequence[str], digits: int, counts: NDArray[np.int64] | None) -> None:
        self.tree, self.labels, self.digits, self.counts = tree, labels, digits, counts

    def lines(self) -> list[str]:
        lines = []
        children = self.tree.topology.children.tolist()
        # Node, what stands before it on its own line, and what stands before the lines below it.
        todo = [(0 if children else -1, "", "")]
        while todo:
            node, head, indent = todo.pop()
            if node < 0:
                lines.append(head + self.leaf(~node))
                continue
            lines.append(head + self.split(node))
            left, right = children[node]
            blank = " " * len("├─ yes: ")
            todo.append((left, f"{indent}└─ no:  ", indent + blank))
            todo.append((right, f"{indent}├─ yes: ", indent + "│" + blank[1:]))
        return lines

    def split(self, split: int) -> str:
        weight, bias = self.tree.weight[split], float(self.tree.bias[split])
        used = np.flatnonzero(weight)
        if len(used) == 1:
            label, slope = self.labels[int(used[0])], float(weight[used[0]])
            threshold = -bias / slope + 0.0  # + 0.0: a threshold of -0.0 is shown as 0
            if math.isfinite(threshold):
                return f"{label} {'>' if slope > 0 else '<'} {self.number(threshold)} ?"
        return f"{self.sum(weight, bias)} > 0 ?"

    def leaf(self, leaf: int) -> str:
        n_rows = None if self.counts is None else int(self.counts[leaf])
        count = "" if n_rows is None else f"  [{n_rows} row{'' if n_rows == 1 else 's'}]"
        tree = self.tree
        if tree.class_names is not None:
            best = int(tree.leaf_class[leaf])
            return f"{tree.class_names[best]} ({100 * tree.value[leaf, best]:.3g} %){count}"
        outputs = [self.output(leaf, o) for o in range(tree.n_outputs)]
        return (outputs[0] if len(outputs) == 1 else "(" + ", ".join(outputs) + ")") + count

    def output(self, leaf: int, output: int) -> str:
        tree = self.tree
        intercept = float(tree.value[leaf, output])
        text = self.number(intercept) if tree.coef is None else self.sum(tree.coef[leaf, output], intercept)
        ends = [None if end is None else self.number(end[leaf, output]) for end in (tree.lower, tree.upper)]
        if ends == [None, None]:
            return text
        return f"{text} within [{ends[0] or '-inf'}, {ends[1] or 'inf'}]"

    def sum(self, weight: NDArray[np.float64], bias: float) -> str:
        terms = [(float(weight[j]), self.labels[j]) for j in np.flatnonzero(weight).tolist()]
        if bias != 0 or not terms:
            terms.append((bias, ""))
        text = ""
        for number, label in terms:
            size = self.number(abs(number))
            part = label if label and size == "1" else f"{size} {label}".strip()
            if not text:
                text = ("-" if number < 0 else "") + part
            else:
                text += (" - " if number < 0 else " + ") + part
        return text

    def number(self, number: float) -> str:
        return f"{number:.{self.digits}g}"
