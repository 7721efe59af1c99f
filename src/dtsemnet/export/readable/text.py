"""A tree as indented text, in the units and names of the data.

Every split is a question in raw columns, every leaf an answer. A row for which an
inequality holds takes the branch ``yes``; a point on the hyperplane takes ``no``, as it
does in the tree. Numbers are rounded for reading. If rows are given, each split is written
for the rows that reach it:

* Its digits are the fewest, from 3 up, with which every row takes the same branch as in the tree.
  They count at the term that moves the score most. The other numbers are rounded to the same
  decimal place of the score: a weight whose term reaches a tenth as far gets one digit less.
* A term is small if it moves the score of the rows by less than a share of the score's own
  spread (both are standard deviations). Folding replaces it by its mean: the bias takes
  ``w * mean(x)``.
* Terms are negligible if all of them together, on the box that holds the rows, move the sum by no more than a
  thousandth of what all terms do. They are left out and the bias takes their middle, as
  :func:`dtsemnet.verify.simplify` does, unless a row would take another branch.
* The sum of a leaf has the fewest digits, from 4 up, with which outputs are within a hundredth of their range there.
* Of sums that are still too long some terms are shown, and beside them what the others can add on that box.

The printed tree is then walked by all rows, with the numbers as printed: the last lines say how
many of them it sends to another leaf than the tree itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dtsemnet.arrays import Bools, Floats, Ints
from dtsemnet.names import printable, shown
from dtsemnet.tree import ReadableView
from dtsemnet.tree.wording import (
    MOST_DIGITS,
    Digits,
    Question,
    Sum,
    largest_terms,
    number_text,
    write_question,
    write_sum,
)  # fmt: skip

__all__ = ["CUT", "LONGEST", "break_line", "fold_small", "to_text"]

_DIGITS = 4  # if no rows say how many are needed
_FEWEST_DIGITS = 3
_FEWEST_DIGITS_OF_A_TERM = 2  # one digit would write 0.95 as 1
_ENOUGH_ROWS = 2000  # to find the largest terms of a long sum
LONGEST, CUT = 30, 8  # a sum of more terms than the first shows as many as the second
_NEGLIGIBLE = 0.001
_LARGEST_ERROR = 0.01  # of an output as printed, as a share of the range of the leaf's outputs
_ROOM = 40  # columns left to the content of a node, however deep it lies


def to_text(
    tree: Any,
    X: Any = None,
    *,
    digits: int | None = None,
    fold: float | None = None,
    max_terms: int | None = None,
    width: int | None = 100,
    output_names: Sequence[str] | None = None,
    leaf_numbers: bool = False,
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
    fold : float, optional
        Leave out terms that move a sum by less than this share of the sum's own spread over the rows of its node,
        and put their mean into the constant. The last lines say what that changes. By default, with rows, terms that
        together move a sum by no more than 0.1 % of its range on the box of the rows, and change no branch; 0 shows
        all.
    max_terms : int, optional
        Terms of a sum that are shown; of longer ones the largest, and with rows the least and the most that the
        others add. By default all up to 30, else the largest 8.
    width : int or None, default=100
        Longer lines are broken before a term; None leaves them.
    output_names : sequence of str, optional
        Names of the outputs of a regressor, each of which then has a line of its own at every leaf.
    leaf_numbers : bool, default=False
        Number the leaves from the left (which is from the bottom), as ``apply``, explanations and proofs refer to them.

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
            ├─ yes: long (100 %)  [no rows]
            └─ no:  short (100 %)  [no rows]
    <BLANKLINE>
    3 digits: all 3 rows reach the same leaf as in the tree.
    """
    _check("digits", digits, 1, MOST_DIGITS)
    _check("max_terms", max_terms, 1, None)
    _check("width", width, 1, None)
    is_number = isinstance(fold, (int, float)) and not isinstance(fold, bool)
    if fold is not None and not (is_number and 0 <= fold < 1):
        raise ValueError(f"fold must be a share, 0 <= fold < 1, got {shown(fold)}.")
    if fold and X is None:
        raise ValueError(f"fold={fold} needs rows to find which terms are small; pass X.")
    view = ReadableView.of(tree)
    if output_names is not None:
        if view.tree.class_names is not None:
            raise ValueError("output_names is for a regressor; the classes of this tree have names.")
        if isinstance(output_names, str) or len(output_names) != view.tree.n_outputs:
            raise ValueError(f"output_names must name {view.tree.n_outputs} outputs, got {output_names!r}.")
    printed = _Printer(view, X, digits, fold, max_terms, output_names, leaf_numbers).run()
    notes = _notes(printed)
    return "\n".join([*_lines(printed, width), *([""] if notes else []), *notes])


def _lines(printed: _Printed, width: int | None) -> list[str]:
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


def _notes(printed: _Printed) -> list[str]:
    """Say what holds of the text as a whole."""
    view, notes = printed.view, []
    if view.remark:
        notes.append(view.remark)
    leaves = (parts for lines in printed.leaf_lines for parts in lines)
    shown = "\n".join(" ".join(parts) for parts in [*(q.parts for q in printed.questions), *leaves])
    brackets = [feature for feature in view.features if feature.kind != "number" and feature.term in shown]
    if brackets:
        numbers = any(feature.kind == "missing" and feature.column.categories is None for feature in brackets)
        missing = " A missing number counts as 0." * numbers
        notes.append(f"A term in brackets, such as {brackets[0].term}, counts if it holds.{missing}")
    n_cut = sum(question.n_hidden > 0 for question in printed.questions)
    if n_cut:
        most = max(question.n_hidden for question in printed.questions)
        up_to = "" if n_cut == 1 else "up to "
        notes.append(
            f"{_count(n_cut, 'split')} of {len(printed.questions)} hide{'s' * (n_cut == 1)} {up_to}"
            f"{_count(most, 'term')}, so the text alone does not say where rows go; a limit of "
            f"{max(question.n_terms for question in printed.questions)} terms shows all."
        )
    if printed.n_hidden_in_leaves:
        hidden = printed.n_hidden_in_leaves
        notes.append(f"Leaves hide up to {_count(hidden, 'term')}, so the text alone does not give the tree's outputs.")
    if (n_cut or printed.n_hidden_in_leaves) and printed.n_rows:
        notes.append(
            "In brackets behind hidden terms: the least and the most that they add, in the ranges of the rows."
        )
    if printed.n_negligible:
        left_out = f"{_count(printed.n_negligible, 'small term')} of {printed.n_terms} left out"
        subject = "it moves its" if printed.n_negligible == 1 else "they move no"
        unless = "no more" if printed.n_negligible == 1 else "more"
        bound = f"{subject} sum by {unless} than {100 * _NEGLIGIBLE:g} % of its range"
        notes.append(f"{left_out}: in the ranges of the rows, {bound}.")
    if printed.n_moved is not None and (printed.n_folded or (printed.questions and not n_cut)):
        notes.append(_routing(printed))
    if printed.output_error is not None:
        error = number_text(printed.output_error, 2)
        notes.append(f"Outputs as printed are within {error} of the tree's in the same leaf.")
    return notes


def _routing(printed: _Printed) -> str:
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


@dataclass(frozen=True)
class _Printed:
    """A tree in words, and what is known of them."""

    view: ReadableView
    questions: list[Question]
    leaf_lines: list[list[tuple[str, ...]]]
    """For each leaf the pieces of its lines: one line, or one per named output."""
    digits: tuple[int, int]
    """Fewest and most digits of a split."""
    n_folded: int
    n_negligible: int
    n_terms: int
    n_rows: int
    n_moved: int | None
    """Rows that the printed tree sends to another leaf, None without rows."""
    n_hidden_in_leaves: int
    """Most terms that the sum of a leaf hides."""
    output_error: float | None
    """Largest difference between an output as printed and the tree's, if leaves are linear."""


class _Printer:
    """Writes the nodes of one tree; arguments as in :func:`to_text`."""

    def __init__(
        self,
        view: ReadableView,
        X: Any,
        digits: int | None,
        fold: float | None,
        max_terms: int | None,
        names: Sequence[str] | None,
        leaf_numbers: bool,
    ) -> None:
        self.view, self.tree, self.digits, self.fold, self.max_terms = view, view.tree, digits, fold, max_terms
        self.names, self.leaf_numbers = names, leaf_numbers
        self.used: list[int] = []
        self.n_folded = self.n_negligible = self.n_terms = 0
        self.rows: Floats | None = None
        if X is not None:
            leaf = view.model.apply(X)
            order = np.argsort(leaf, kind="stable")
            self.rows, self.leaf = view.rows(X)[order], leaf[order]
            if len(order):
                self.box = self.rows.min(axis=0), self.rows.max(axis=0)
            self.start = np.searchsorted(self.leaf, np.arange(self.tree.n_leaves + 1))
            self.encoded = np.asarray(view.model.transform(X))[order]

    def run(self) -> _Printed:
        questions = [self.split(i) for i in range(self.tree.n_splits)]
        sums = self.sums()
        leaves = [self.leaf_lines(leaf, sums) for leaf in range(self.tree.n_leaves)]
        digits = (min(self.used, default=_DIGITS), max(self.used, default=_DIGITS))
        moved = error = None
        if self.rows is not None and len(self.rows):
            moved = int((self.walk(questions) != self.leaf).sum())
            error = self.output_error(sums)
        n_rows = 0 if self.rows is None else len(self.rows)
        hidden = max((equation.n_hidden for leaf in sums for equation in leaf), default=0)
        return _Printed(
            self.view, questions, leaves, digits, self.n_folded, self.n_negligible, self.n_terms, n_rows, moved,
            hidden, error,
        )  # fmt: skip

    def split(self, split: int) -> Question:
        weight, bias = self.tree.weight[split], float(self.tree.bias[split])
        first, last = (int(span[split]) for span in self.tree.topology.spans)
        rows = self.slice(first, last)
        yes = self.branches(split, first, last)
        weight, bias, folded = self.folded(weight, bias, rows, yes)
        shown, rest = self.shown(weight, rows)
        if rows is None or self.digits is not None:
            self.used.append(self.digits or _DIGITS)
            return write_question(self.view, weight, bias, self.plain(), shown, rest)
        if folded:
            yes = Sum(weight, bias, (), 0)(rows) > 0
        assert yes is not None
        question, digits = _choose_digits(self.view, weight, bias, rows, yes, shown, rest)
        self.used.append(digits)
        return question

    def branches(self, split: int, first: int, last: int) -> Bools | None:
        """The side of a split that the tree sends the rows of its node to: yes or no."""
        if self.rows is None:
            return None
        left = self.tree.topology.children[split, 0]
        middle = self.tree.topology.spans[1][left] if left >= 0 else ~left + 1
        yes: Bools = self.leaf[self.start[first] : self.start[last]] >= middle
        return yes

    def sums(self) -> list[list[Sum]]:
        """Write the linear models of all leaves, one for each output; none if leaves are constant."""
        coef, value = self.tree.coef, self.tree.value.tolist()
        if coef is None:
            return []
        return [
            [self.sum(weight, bias, leaf) for weight, bias in zip(coef[leaf], value[leaf])]
            for leaf in range(self.tree.n_leaves)
        ]

    def sum(self, weight: Floats, bias: float, leaf: int) -> Sum:
        rows = self.slice(leaf, leaf + 1)
        weight, bias, _ = self.folded(weight, bias, rows)
        shown, rest = self.shown(weight, rows)
        if rows is None or self.digits is not None:
            return write_sum(self.view, weight, bias, self.plain(), shown, rest)
        exact = Sum(weight, bias, (), 0)(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            allowed = _LARGEST_ERROR * np.ptp(exact) if len(rows) > 1 else np.inf
        for digits in range(_DIGITS, MOST_DIGITS + 1):
            equation = write_sum(self.view, weight, bias, _aligned(weight, bias, rows, digits), shown, rest)
            with np.errstate(over="ignore", invalid="ignore"):
                error = np.abs(equation(rows) - exact).max(initial=0.0)
            if not error > allowed:  # numbers too large for a range are no reason for more digits
                break
        return equation

    def leaf_lines(self, leaf: int, sums: list[list[Sum]]) -> list[tuple[str, ...]]:
        tree = self.tree
        if tree.class_names is not None:
            lines = [[_classes(tree.class_names, tree.value[leaf])]]
        else:
            outputs = [self.output_parts(leaf, o, sums) for o in range(tree.n_outputs)]
            lines = [_together(outputs)]
            if self.names is not None:  # each output on a line of its own
                lines = [[f"{printable(name)} = {parts[0]}", *parts[1:]] for name, parts in zip(self.names, outputs)]
        if self.leaf_numbers:
            lines[0][0] = f"leaf {leaf}: {lines[0][0]}"
        if self.rows is not None:
            n_rows = int(self.start[leaf + 1] - self.start[leaf])
            lines[-1].append(f" [{n_rows} row{'' if n_rows == 1 else 's'}]" if n_rows else " [no rows]")
        return [tuple(parts) for parts in lines]

    def output_parts(self, leaf: int, output: int, sums: list[list[Sum]]) -> list[str]:
        tree, digits = self.tree, self.digits or _DIGITS
        parts = list(sums[leaf][output].parts) if sums else [number_text(float(tree.value[leaf, output]), digits)]
        ends = [None if end is None else number_text(end[leaf, output], digits) for end in (tree.lower, tree.upper)]
        if ends != [None, None]:
            parts.append(f"within [{ends[0] or '-inf'}, {ends[1] or 'inf'}]")
        return parts

    def walk(self, questions: list[Question]) -> Ints:
        """Find the leaf of each row by the questions as printed."""
        assert self.rows is not None
        reached = np.zeros(len(self.rows), dtype=np.int64)
        todo = [(0 if questions else -1, np.arange(len(self.rows)))]
        while todo:
            node, members = todo.pop()
            if node < 0:
                reached[members] = ~node
            elif len(members):
                yes = questions[node](self.rows[members])
                left, right = self.tree.topology.children[node].tolist()
                todo += [(left, members[~yes]), (right, members[yes])]
        return reached

    def output_error(self, sums: list[list[Sum]]) -> float | None:
        if not sums or any(equation.n_hidden for leaf in sums for equation in leaf):
            return None
        assert self.rows is not None
        truth = self.view.model.tree.predict(self.encoded).reshape(len(self.rows), -1)
        worst, (lower, upper) = 0.0, self.tree.guard
        for leaf, equations in enumerate(sums):
            rows, wanted = self.slice(leaf, leaf + 1), truth[self.start[leaf] : self.start[leaf + 1]]
            for o, equation in enumerate(equations):
                if rows is not None and len(rows):
                    printed = np.clip(equation(rows), lower[leaf, o], upper[leaf, o])
                    worst = max(worst, float(np.abs(printed - wanted[:, o]).max()))
        return worst

    def slice(self, first: int, last: int) -> Floats | None:
        """Give the rows that reach the leaves from first up to last."""
        return None if self.rows is None else self.rows[self.start[first] : self.start[last]]

    def plain(self) -> Digits:
        return Digits.same(self.tree.n_features, self.digits or _DIGITS)

    def folded(
        self, weight: Floats, bias: float, rows: Floats | None, yes: Bools | None = None
    ) -> tuple[Floats, float, int]:
        self.n_terms += int(np.count_nonzero(weight))
        if rows is None or self.rows is None or not len(self.rows):
            return weight, bias, 0
        if self.fold is None:
            rest = without_negligible(weight, bias, *self.box)
            if yes is None or np.array_equal(Sum(rest.weight, rest.bias, (), 0)(rows) > 0, yes):
                self.n_negligible += rest.n_folded
                weight, bias = rest.weight, rest.bias
            return weight, bias, 0
        rest = fold_small(weight, bias, rows, self.fold)
        self.n_folded += rest.n_folded
        return rest

    def shown(self, weight: Floats, rows: Floats | None) -> tuple[list[int] | None, tuple[float, float] | None]:
        """List the largest terms, if a sum is too long for all; and what the others add on the box of the rows."""
        n_terms = int(np.count_nonzero(weight))
        limit = self.max_terms or (n_terms if n_terms <= LONGEST else CUT)
        if n_terms <= limit:
            return None, None
        some = None if rows is None else rows[:: len(rows) // _ENOUGH_ROWS + 1]
        shown = largest_terms(weight, _spread(weight, some))[:limit]
        if self.rows is None or not len(self.rows):
            return shown, None
        rest = weight.copy()
        rest[shown] = 0.0
        return shown, _range_on_box(rest, *self.box)


def _together(outputs: list[list[str]]) -> list[str]:
    """Write several outputs as one vector."""
    if len(outputs) == 1:
        return outputs[0]
    ends = [","] * (len(outputs) - 1) + [")"]
    parts = [part for output, end in zip(outputs, ends) for part in (*output[:-1], output[-1] + end)]
    return ["(" + parts[0], *parts[1:]]


def _classes(names: tuple[Any, ...], share: Floats) -> str:
    """Name the class of a leaf, its share and, among three classes or more, the next classes."""
    order = np.argsort(-share, kind="stable")
    others = [f"{printable(names[k])}: {_percent(share[k])}" for k in order[1:] if share[k] >= 0.005 and len(names) > 2]
    shown = [_percent(share[order[0]]), *others[:2], *(["…"] if len(others) > 2 else [])]
    return f"{printable(names[order[0]])} ({', '.join(shown)})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace(".0 ", " ")


class Folded(NamedTuple):
    """A linear function without its small terms."""

    weight: Floats
    bias: float
    n_folded: int


def _choose_digits(
    view: ReadableView, weight: Floats, bias: float, rows: Floats, yes: Bools, shown: list[int] | None,
    rest: tuple[float, float] | None,
) -> tuple[Question, int]:  # fmt: skip
    """Write a split with the fewest digits with which the rows answer as given, or with all that a double has."""
    for digits in range(_FEWEST_DIGITS, MOST_DIGITS + 1):
        question = write_question(view, weight, bias, _aligned(weight, bias, rows, digits), shown, rest)
        if np.array_equal(question(rows), yes):
            break
    return question, digits


def _aligned(weight: Floats, bias: float, rows: Floats, digits: int) -> Digits:
    """Choose digits of each weight and the bias so that all terms are rounded to the same decimal place of the sum.

    Examples
    --------
    >>> _aligned(np.array([0.5, 0.5]), 1234.5, np.array([[100.0, 1.0]]), 3)
    Digits(weight=array([3, 2]), bias=5, threshold=3)
    """
    reach = np.abs(rows).max(axis=0, initial=0.0)
    with np.errstate(divide="ignore"):  # a term that never moves the score has order -inf
        order = np.floor(np.log10(np.abs(weight)) + np.log10(reach))
        constant = np.floor(np.log10(abs(bias)))
    top = order.max(initial=-np.inf)
    if digits >= MOST_DIGITS or not np.isfinite(top):  # all digits, or no rows to align to
        return Digits.same(len(weight), digits)
    wanted = np.clip(digits + order - top, _FEWEST_DIGITS_OF_A_TERM, MOST_DIGITS).astype(np.int64)
    return Digits(wanted, int(np.clip(digits + constant - top, _FEWEST_DIGITS_OF_A_TERM, MOST_DIGITS)), digits)


def _spread(weight: Floats, rows: Floats | None) -> Floats:
    """Say how much each term moves the sum: its standard deviation over the rows; without rows, its weight."""
    if rows is None or len(rows) < 2:
        return np.abs(weight)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(weight) * rows.std(axis=0)
    return np.where(np.isfinite(size), size, np.inf)


def fold_small(weight: Floats, bias: float, rows: Floats, fold: float) -> Folded:
    """Leave out terms whose spread is below a share of the sum's spread, never the largest.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [10.0, 1.1]])
    >>> fold_small(np.array([1.0, 2.0]), -5.0, rows, 0.1)
    Folded(weight=array([1., 0.]), bias=-2.9, n_folded=1)
    """
    if fold == 0 or len(rows) < 2:
        return Folded(weight, bias, 0)
    size = _spread(weight, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        typical = float(Sum(weight, bias, (), 0)(rows).std())
        small = (size < fold * typical) & (weight != 0) & (size < size.max(initial=0.0))
        moved = bias + float(weight[small] @ rows[:, small].mean(axis=0))
    if not np.isfinite(moved):  # numbers too large to speak of a spread
        return Folded(weight, bias, 0)
    return Folded(np.where(small, 0.0, weight), moved, int(small.sum()))


def without_negligible(weight: Floats, bias: float, low: Floats, high: Floats) -> Folded:
    """Leave out the smallest terms that move the sum by a thousandth at most of what all do, on a box.

    Examples
    --------
    >>> without_negligible(np.array([1.0, 1e-6]), 0.5, np.zeros(2), np.array([10.0, 100.0]))
    Folded(weight=array([1., 0.]), bias=0.50005, n_folded=1)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.abs(weight) * (high - low)
        order = np.argsort(reach, kind="stable")
        small = order[np.cumsum(reach[order]) <= _NEGLIGIBLE * reach.sum()]
        small = small[(weight[small] != 0) & (high[small] > low[small])]
        moved = bias + float(weight[small] @ (low[small] + high[small])) / 2
    if not np.isfinite(moved):
        return Folded(weight, bias, 0)
    kept = weight.copy()
    kept[small] = 0.0
    return Folded(kept, moved, len(small))


def _range_on_box(weight: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """The least and the most of a sum on a box."""
    with np.errstate(over="ignore", invalid="ignore"):
        ends = np.sort(np.nan_to_num(np.array([weight * low, weight * high])), axis=0).sum(axis=1)
    return float(ends[0]), float(ends[1])


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


def _check(name: str, number: int | None, low: int, high: int | None) -> None:
    if number is None:
        return
    if isinstance(number, bool) or not isinstance(number, int) or number < low or (high is not None and number > high):
        upper = "" if high is None else f" and at most {high}"
        raise ValueError(f"{name} must be None or an integer of at least {low}{upper}, got {number!r}.")
