"""A tree as indented text, in the units and names of the data.

Every split is a question in raw columns, every leaf an answer. A row for which an
inequality holds takes the branch ``yes``; a point on the hyperplane takes ``no``, as it
does in the tree. Numbers are rounded for reading. If rows are given, the printed tree is
compared with the tree itself: the last lines say how many rows it sends to another leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dtsemnet.export.readable.printed_tree import Printed, Printer
from dtsemnet.tree.view import ReadableView
from dtsemnet.tree.wording import MOST_DIGITS, number_text

__all__ = ["break_line", "to_text"]

_ROOM = 40  # columns left to the content of a node, however deep it lies


def to_text(
    tree: Any,
    X: Any = None,
    *,
    digits: int | None = None,
    fold: float = 0.0,
    max_terms: int | None = None,
    width: int | None = 100,
    output_names: Sequence[str] | None = None,
) -> str:
    """Write a tree as text that a person can follow.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A model is shown in the units of its columns: affine maps are folded into the splits.
    X : array_like or data frame, optional
        Rows to print for, such as the training rows. Each leaf shows how many reach it, and the last lines say how
        the printed tree treats them.
    digits : int, optional
        Significant digits of every number. By default, with rows, the fewest for each split (3 or more) with which
        they take the same branch as in the tree; without rows, 4.
    fold : float, default=0.0
        Leave out terms that move a sum by less than this share of the sum's own spread over the rows of its node,
        and put their mean into the constant. The last lines say what that changes.
    max_terms : int, optional
        Terms of a sum that are shown; of longer ones the largest. By default all up to 30, else the largest 8.
    width : int or None, default=100
        Longer lines are broken before a term; None leaves them.
    output_names : sequence of str, optional
        Names of the outputs of a regressor, each of which then has a line of its own at every leaf.

    Returns
    -------
    str

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(
    ...     Topology([[1, -3], [-1, -2]]), [[1.0, -0.5], [0.0, -2.0]], [0.25, 1.0], [[1, 0], [0, 1], [0.2, 0.8]],
    ...     feature_names=["length", "width"], class_names=["short", "long"])
    >>> print(to_text(tree))
    length - 0.5 width + 0.25 > 0 ?
    ├─ yes: long (80 %)
    └─ no:  width < 0.5 ?
            ├─ yes: long (100 %)
            └─ no:  short (100 %)
    >>> print(to_text(tree, [[1.0, 2.0], [2.0, 2.0], [2.0, 1.0]]))
    length - 0.5 width + 0.25 > 0 ?
    ├─ yes: long (80 %)  [3 rows]
    └─ no:  width < 0.5 ?
            ├─ yes: long (100 %)  [0 rows]
            └─ no:  short (100 %)  [0 rows]
    <BLANKLINE>
    3 digits: all 3 rows reach the same leaf as in the tree.
    """
    _check("digits", digits, 1, MOST_DIGITS)
    _check("max_terms", max_terms, 1, None)
    _check("width", width, 1, None)
    if isinstance(fold, bool) or not isinstance(fold, (int, float)) or not 0 <= fold < 1:
        raise ValueError(f"fold must be a share, 0 <= fold < 1, got {fold!r}.")
    if fold and X is None:
        raise ValueError(f"fold={fold} needs rows to find which terms are small; pass X.")
    view = ReadableView.of(tree)
    if output_names is not None:
        if view.tree.class_names is not None:
            raise ValueError("output_names is for a regressor; the classes of this tree have names.")
        if isinstance(output_names, str) or len(output_names) != view.tree.n_outputs:
            raise ValueError(f"output_names must name {view.tree.n_outputs} outputs, got {output_names!r}.")
    printed = Printer(view, X, digits, float(fold), max_terms, output_names).run()
    notes = _notes(printed)
    return "\n".join([*_lines(printed, width), *([""] if notes else []), *notes])


def _lines(printed: Printed, width: int | None) -> list[str]:
    lines: list[str] = []
    children = printed.view.tree.topology.children.tolist()
    # Node, the text before it on its own line, and the text before the lines below it.
    todo = [(0 if children else -1, "", "")]
    while todo:
        node, head, indent = todo.pop()
        if node < 0:
            for number, parts in enumerate(printed.leaf_lines[~node]):
                lines += break_line(head if number == 0 else indent, indent + "    ", parts, width)
            continue
        parts = printed.questions[node].parts
        lines += break_line(head, indent + "│   ", (*parts[:-1], parts[-1] + " ?"), width)
        left, right = children[node]
        blank = " " * len("├─ yes: ")
        todo.append((left, f"{indent}└─ no:  ", indent + blank))
        todo.append((right, f"{indent}├─ yes: ", indent + "│" + blank[1:]))
    return lines


def break_line(head: str, margin: str, parts: Sequence[str], width: int | None) -> list[str]:
    """Lay out pieces of text on one line, and on further lines behind the margin if they do not fit."""
    limit = None if width is None else max(width, len(margin) + _ROOM)
    lines, line = [], head + parts[0]
    for part in parts[1:]:
        if limit is not None and len(line) + 1 + len(part) > limit:
            lines.append(line)
            line = margin + part.lstrip()
        else:
            line += " " + part
    return [*lines, line]


def _notes(printed: Printed) -> list[str]:
    """Say what holds of the text as a whole."""
    view, notes = printed.view, []
    if view.remark:
        notes.append(view.remark)
    leaves = (parts for lines in printed.leaf_lines for parts in lines)
    shown = "\n".join(" ".join(parts) for parts in [*(q.parts for q in printed.questions), *leaves])
    brackets = [f.term for f in view.features if f.kind != "number" and f.term in shown]
    if brackets:
        missing = " A missing number counts as 0." * any(term.endswith(" missing)") for term in brackets)
        notes.append(f"A term in brackets, such as {brackets[0]}, counts if it holds.{missing}")
    n_cut = sum(question.n_hidden > 0 for question in printed.questions)
    if n_cut:
        most = max(question.n_hidden for question in printed.questions)
        notes.append(
            f"{_count(n_cut, 'split')} of {len(printed.questions)} leave{'s' * (n_cut == 1)} out up to {most} terms: "
            f"the text alone does not say where rows go (max_terms={view.tree.n_features} shows all)."
        )
    if printed.n_moved is not None and (printed.n_folded or (printed.questions and not n_cut)):
        notes.append(_routing(printed))
    if printed.output_error is not None:
        error = number_text(printed.output_error, 2)
        notes.append(f"Outputs as printed are within {error} of the tree's in the same leaf.")
    return notes


def _routing(printed: Printed) -> str:
    low, high = printed.digits
    digits = f"{low} digits" if low == high else f"{low} to {high} digits"
    digits = digits if low > 1 or high > 1 else "1 digit"
    if printed.n_folded:
        digits += f", {_count(printed.n_folded, 'small term')} of {printed.n_terms} folded into constants"
    n, moved = printed.n_rows, printed.n_moved
    if not moved:
        rows = "the row reaches" if n == 1 else f"all {n} rows reach"
        return f"{digits}: {rows} the same leaf as in the tree."
    return f"{digits}: {moved} of {_count(n, 'row')} reach{'es' * (moved == 1)} another leaf than in the tree."


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def _check(name: str, number: int | None, low: int, high: int | None) -> None:
    if number is None:
        return
    if isinstance(number, bool) or not isinstance(number, int) or number < low or (high is not None and number > high):
        upper = "" if high is None else f" and at most {high}"
        raise ValueError(f"{name} must be None or an integer of at least {low}{upper}, got {number!r}.")
