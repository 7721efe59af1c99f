"""A tree as a Graphviz file, for those who draw with it.

Each split shows its equation in the columns and units of the data, rounded for the eye, the
largest terms first and no more than a few of them; each leaf shows its class and
probabilities or its linear model. A drawing is not a program: the other exports compute.
"""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints
from dtsemnet.export.artefact import Answer, Artefact
from dtsemnet.export.probes import read_table
from dtsemnet.tree import RawView, Tree, as_model, raw_view

__all__ = ["to_dot"]


def to_dot(tree: Any, X: Any = None, *, max_terms: int = 6, digits: int = 3) -> Artefact:
    """Write a tree in Graphviz's language.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows; each split and leaf then tells the share of them that reaches it.
    max_terms : int, default=6
        Terms shown of each equation, the largest by weight; how many are left out is said.
    digits : int, default=3
        Significant digits shown.

    Returns
    -------
    Artefact
        Text. Nothing runs it, so its report is None.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> print(to_dot(tree).text)
    digraph tree {
      node [shape=box, style="rounded,filled", fillcolor=white, fontname=Helvetica];
      edge [fontname=Helvetica];
      split0 [label="x0 - x1 > 0"];
      leaf0 [label="below\\n100% below", fillcolor="#fce3e3"];
      leaf1 [label="above\\n100% above", fillcolor="#e3fcfc"];
      split0 -> leaf0 [label="no"];
      split0 -> leaf1 [label="yes"];
    }
    <BLANKLINE>
    """
    for name, number in (("max_terms", max_terms), ("digits", digits)):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number!r}.")
    model, view = as_model(tree), raw_view(tree)
    shares = None
    if X is not None:
        shares = np.bincount(model.apply(read_table(model, X)), minlength=model.tree.n_leaves)
    writer = _Writer(view, shares, max_terms, digits)
    return Artefact("DOT", writer.text(), exact=False, answer=_silent)


class _Writer:
    """The lines of the file."""

    def __init__(self, view: RawView, count: Ints | None, max_terms: int, digits: int) -> None:
        self.view, self.tree, self.count = view, view.tree, count
        self.max_terms, self.digits = max_terms, digits

    def text(self) -> str:
        topology = self.tree.topology
        first, last = topology.spans
        lines = ['node [shape=box, style="rounded,filled", fillcolor=white, fontname=Helvetica];']
        lines += ["edge [fontname=Helvetica];"]
        if self.view.remark:
            lines.append(f"label={_quoted([self.view.remark])};")
        for i in range(self.tree.n_splits):
            shown = [f"{self.sum(self.tree.weight[i], self.tree.bias[i])} > 0", *self.share(first[i], last[i])]
            lines.append(f"split{i} [label={_quoted(shown)}];")
        for k in range(self.tree.n_leaves):
            shown = [*self.leaf(k), *self.share(k, k + 1)]
            lines.append(f'leaf{k} [label={_quoted(shown)}, fillcolor="{_colour(self.tree, k)}"];')
        for i, children in enumerate(topology.children.tolist()):
            for child, word in zip(children, ("no", "yes")):
                end = f"split{child}" if child >= 0 else f"leaf{~child}"
                lines.append(f'split{i} -> {end} [label="{word}"];')
        return "digraph tree {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"

    def leaf(self, k: int) -> list[str]:
        tree = self.tree
        if tree.class_names is not None:
            order = [c for c in np.argsort(-tree.value[k], kind="stable") if tree.value[k, c] > 0]
            shares = [f"{100 * tree.value[k, c]:.{self.digits}g}% {tree.class_names[c]}" for c in order[:4]]
            shares += ["..."] if len(order) > 4 else []
            return [str(tree.class_names[tree.leaf_class[k]]), ", ".join(shares)]
        lines = []
        for o in range(tree.n_outputs):
            coef = np.zeros(tree.n_features) if tree.coef is None else tree.coef[k, o]
            line = self.sum(coef, tree.value[k, o])
            low, high = (end[k, o] for end in tree.guard)
            if np.isfinite(low) or np.isfinite(high):
                line += f" in [{low:.{self.digits}g}, {high:.{self.digits}g}]"
            lines.append(line)
        return lines

    def share(self, first: int, last: int) -> list[str]:
        if self.count is None:
            return []
        part, total = int(self.count[first:last].sum()), int(self.count.sum())
        return [f"{part:,} rows" + (f", {100 * part / total:.3g}%" if total else "")]

    def sum(self, weight: Floats, bias: float) -> str:
        """An equation: largest terms first, the constant last."""
        order = [j for j in np.argsort(-np.abs(weight), kind="stable") if weight[j] != 0]
        terms = [(float(weight[j]), _word(self.view.labels[j])) for j in order[: self.max_terms]]
        left_out = len(order) - len(terms)
        written = ""
        for number, name in [*terms, (float(bias), "")]:
            if name == "" and (number == 0 and terms):
                continue
            size = f"{abs(number):.{self.digits}g}"
            part = size if name == "" else name if size == "1" else f"{size} {name}"
            sign = "-" if number < 0 else "+" if written else ""
            written += f" {sign} {part}" if written else f"{sign}{part}"
            if left_out and name and (number, name) == terms[-1]:
                written += f" + ({left_out} smaller term{'s' * (left_out > 1)})"
        return written


def _word(label: str) -> str:
    """A name behind a number: in brackets where it could be read as more than a name."""
    return label if label.isidentifier() or label.startswith("clip(") else f"({label})"


def _quoted(lines: list[str]) -> str:
    """A label: quotes and backslashes escaped, control characters shown as spaces."""
    plain = ["".join(letter if letter.isprintable() else " " for letter in line) for line in lines]
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in plain]
    return '"' + "\\n".join(escaped) + '"'


def _colour(tree: Tree, leaf: int) -> str:
    """A pale hue for each class, the stronger the surer the leaf; white for numbers."""
    if tree.class_names is None:
        return "#ffffff"
    c = int(tree.leaf_class[leaf])
    sure = (tree.value[leaf, c] - 1 / tree.n_outputs) / max(1e-9, 1 - 1 / tree.n_outputs)
    red, green, blue = colorsys.hsv_to_rgb(c / tree.n_outputs, 0.1 * max(0.0, float(sure)), 0.99)
    return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))


def _silent(rows: Array) -> Answer:
    """A drawing tells nothing that could be compared."""
    return Answer()
