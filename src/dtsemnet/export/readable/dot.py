"""A tree as a Graphviz file, for those who draw with it.

Each split shows its question in the columns and units of the data, rounded for reading, with no more
than a few terms, the largest first; each leaf shows its class and probabilities or its linear model.
A drawing is not a program: the other exports compute.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.export.artefact import Drawing
from dtsemnet.names import printable
from dtsemnet.tree import LeafSurvey, ReadableView, Tree, class_colors, tint
from dtsemnet.tree.wording import Digits, largest_terms, number_text, write_question, write_sum

__all__ = ["to_dot"]

_STRONGEST = 0.35  # how much of a class's colour a leaf shows that holds this class alone


def to_dot(tree: Any, X: Any = None, *, max_terms: int = 6, digits: int = 3) -> Drawing:
    """Write a tree in Graphviz's language.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows; each split and leaf then shows how many of them reach it.
    max_terms : int, default=6
        Terms shown of each sum, the largest by weight, and how many are left out.
    digits : int, default=3
        Significant digits shown.

    Returns
    -------
    Drawing
        Text for Graphviz, with ``save``.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> print(to_dot(tree).text)
    digraph tree {
      node [shape=box, style="rounded,filled", fillcolor=white, fontname=Helvetica];
      edge [fontname=Helvetica];
      split0 [label="x0 - x1 > 0"];
      leaf0 [label="below\\n100% below", fillcolor="#a6cee4"];
      leaf1 [label="above\\n100% above", fillcolor="#f6dda6"];
      split0 -> leaf0 [label="no"];
      split0 -> leaf1 [label="yes"];
    }
    <BLANKLINE>
    """
    for name, number in (("max_terms", max_terms), ("digits", digits)):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number!r}.")
    view = ReadableView.of(tree)
    survey = None if X is None else LeafSurvey.of(view.model, X)
    return Drawing("DOT", _Writer(view, survey, max_terms, digits).text())


class _Writer:
    """Writes the lines of the file."""

    def __init__(self, view: ReadableView, survey: LeafSurvey | None, max_terms: int, digits: int) -> None:
        self.view, self.tree, self.survey = view, view.tree, survey
        self.max_terms, self.n_digits = max_terms, digits
        self.digits = Digits.same(view.tree.n_features, digits)

    def text(self) -> str:
        topology = self.tree.topology
        first, last = topology.spans
        lines = ['node [shape=box, style="rounded,filled", fillcolor=white, fontname=Helvetica];']
        lines += ["edge [fontname=Helvetica];"]
        if self.view.remark:
            lines.append(f"label={_quoted([self.view.remark])};")
        for i in range(self.tree.n_splits):
            lines.append(f"split{i} [label={_quoted([self.split(i), *self.rows(first[i], last[i])])}];")
        for k in range(self.tree.n_leaves):
            shown = _quoted([*self.leaf(k), *self.rows(k, k + 1)])
            lines.append(f'leaf{k} [label={shown}, fillcolor="{_color(self.tree, k)}"];')
        for i, children in enumerate(topology.children.tolist()):
            for child, word in zip(children, ("no", "yes")):
                end = f"split{child}" if child >= 0 else f"leaf{~child}"
                lines.append(f'split{i} -> {end} [label="{word}"];')
        return "digraph tree {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"

    def split(self, i: int) -> str:
        weight, bias = self.tree.weight[i], float(self.tree.bias[i])
        shown = largest_terms(weight)[: self.max_terms]
        return " ".join(write_question(self.view, weight, bias, self.digits, shown).parts)

    def leaf(self, k: int) -> list[str]:
        tree = self.tree
        if tree.class_names is not None:
            order = [c for c in np.argsort(-tree.value[k], kind="stable") if tree.value[k, c] > 0]
            shares = [
                f"{100 * tree.value[k, c]:.{self.n_digits}g}% {printable(tree.class_names[c])}" for c in order[:4]
            ]
            shares += ["..."] if len(order) > 4 else []
            return [printable(tree.class_names[tree.leaf_class[k]]), ", ".join(shares)]
        return [self.output(k, o) for o in range(tree.n_outputs)]

    def output(self, k: int, o: int) -> str:
        tree = self.tree
        coef = np.zeros(tree.n_features) if tree.coef is None else tree.coef[k, o]
        shown = largest_terms(coef)[: self.max_terms]
        line = " ".join(write_sum(self.view, coef, float(tree.value[k, o]), self.digits, shown).parts)
        ends = [float(end[k, o]) for end in tree.guard]
        if np.isfinite(ends).any():
            line += f" within [{', '.join(number_text(end, self.n_digits) for end in ends)}]"
        return line

    def rows(self, first: int, last: int) -> list[str]:
        """Count the rows that reach the leaves from first up to last."""
        if self.survey is None:
            return []
        part, total = int(self.survey.count[first:last].sum()), self.survey.n_rows
        return [f"{part:,} rows" + (f", {100 * part / total:.3g}%" if total else "")]


def _quoted(lines: list[str]) -> str:
    """Write a label: quotes and backslashes escaped."""
    escaped = [printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'


def _color(tree: Tree, leaf: int) -> str:
    """Choose the colour of the leaf's class, paler the less certain the leaf is; white for numbers."""
    if tree.class_names is None:
        return "#ffffff"
    code = int(tree.leaf_class[leaf])
    certainty = (tree.value[leaf, code] - 1 / tree.n_outputs) / max(1e-9, 1 - 1 / tree.n_outputs)
    return tint(class_colors(tree.n_outputs)[code], _STRONGEST * float(np.clip(certainty, 0.0, 1.0)))
