"""One prediction, explained exactly: the path to the leaf, and the sum in the leaf.

A tree needs no approximation to be explained. The path is a list of splits with their scores.
How far a row is from another branch is given for each column on its own: the nearest value of
that column, all else equal, with which the split answers otherwise. Each such value is tried on
the model first. In a linear leaf the output is a sum, and so is its attribution: column ``j``
adds ``coef_j * x_j``, or ``coef_j * (x_j - mean_j)`` against the mean of background rows.

The explanation is data, all of it unrounded. Its text shows what a reader wants first: the nearest
ways to turn a split, the largest contributions.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.readable.text import CUT, LONGEST, break_line, without_negligible
from dtsemnet.names import printable
from dtsemnet.tree import Topology, Tree
from dtsemnet.tree.encoder import is_missing
from dtsemnet.tree.view import ReadableView
from dtsemnet.tree.wording import Digits, Sum, largest_terms, number_text, outward_text, write_question

__all__ = ["Attribution", "Contribution", "Explanation", "Flip", "Step", "explain"]

_DIGITS = 4
_FLIPS, _CONTRIBUTIONS = 3, 12  # as many are shown of each
_SMALLEST_SHARE = 0.0005  # below it a share would read 0.0 %
_WIDTH = 100
_TRIES = 60  # doublings of a last bit: from one rounding error to all of a double's digits


def explain(tree: Any, x: Any, *, background: Any = None, output_names: Sequence[str] | None = None) -> Explanation:
    """Explain the prediction for one row.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    x : one row
        A sequence of values, a mapping or pandas Series by column name, or a table or array of one row.
    background : array_like or data frame, optional
        Rows to compare with, such as the training rows. Attributions then give the difference to a row that holds
        the mean of each column, distances are measured in standard deviations, and the text lists first what needs
        the smallest change in them; a change that leads beyond all of them is named as such. Without it, attributions
        start at 0.
    output_names : sequence of str, optional
        Names of the outputs of a regressor.

    Returns
    -------
    Explanation
        ``print`` shows it; ``to_dict()`` gives plain values. If leaves are linear,
        ``baseline + sum of contributions`` is the output before the guard, to rounding.

    Examples
    --------
    >>> tree = Tree(
    ...     Topology.complete(1), [[2.0, -1.0]], [-3.0], [[0.0], [1.0]], coef=[[[0, 0]], [[0.5, 1.0]]],
    ...     upper=[[9], [9]], feature_names=["age", "dose"])
    >>> print(explain(tree, {"age": 6.0, "dose": 4.0}))
    prediction: 8  (leaf 1)
    <BLANKLINE>
    1. 2 age - dose - 3 > 0 ?
       score 5: yes
       no if age <= 3.5 or dose >= 9
    <BLANKLINE>
    leaf 1 adds up
     1.000  intercept
     4.000  dose = 4
     3.000  age = 6
     8.000  sum
    within [-inf, 9]: kept
    """
    view = ReadableView.of(tree)
    row = view.model.encoder.read_row(x)
    rows = None if background is None else view.rows(background)
    if rows is not None and not len(rows):
        raise ValueError("background must hold at least one row, got none.")
    with np.errstate(over="ignore", invalid="ignore"):  # a term may overflow where the model does not
        return _explain(view, row, rows, tuple(output_names or ()))


def _explain(
    view: ReadableView, row: Array, background: Floats | None, names_of_outputs: tuple[str, ...]
) -> Explanation:
    model, shown = view.model, view.tree
    leaf, prediction = int(model.apply(row)[0]), model.predict(row)[0]
    case = _Case(view, row, background)
    names = shown.class_names or ()
    n_sums = 0 if shown.is_classifier else shown.n_outputs
    return Explanation(
        prediction=tuple(prediction.tolist()) if np.ndim(prediction) else _plain(prediction),
        leaf=leaf,
        path=tuple(case.step(split) for split in model.decision_path(row)[0].tolist() if split >= 0),
        classes=tuple(zip(names, model.predict_proba(row)[0].tolist())) if names else (),
        shares=tuple(zip(names, shown.value[leaf].tolist())),
        outputs=tuple(case.attribution(leaf, output) for output in range(n_sums)),
        remark=view.remark,
        compared=background is not None,
        output_names=names_of_outputs,
    )


@dataclass(frozen=True)
class Contribution:
    """What one column adds to a sum."""

    column: str
    value: Any
    """The value in the row; None if it is missing."""
    amount: float


@dataclass(frozen=True)
class Flip:
    """The nearest value of one column, all else equal, with which a split answers otherwise."""

    column: str
    value: Any
    """A number or a category, tried on the model."""
    change: float | None
    """The value minus that of the row, None for a category."""
    deviations: float | None
    """The change in standard deviations of the background, None without one, for a category, or if they do not vary."""
    seen: bool | None
    """Whether the value lies in the range of the background, None without one or for a category."""

    @property
    def text(self) -> str:
        """Say it as a condition, rounded to the side on which it holds."""
        if self.change is None:
            return f"{printable(self.column)} = {printable(self.value)}"
        up = self.change > 0
        return f"{printable(self.column)} {'>=' if up else '<='} {outward_text(self.value, _DIGITS, up=up)}"


@dataclass(frozen=True)
class Step:
    """One split on the path."""

    split: int
    question: str
    """The split in words, numbers rounded for reading; with a background, without terms that do nearly nothing."""
    score: float
    """The score as the tree computes it: yes if positive. Its size is the margin, in units of the score."""
    yes: bool
    bias: float
    terms: tuple[Contribution, ...]
    """What each column adds to the score; with the bias they sum to it, to rounding."""
    pushes: tuple[Contribution, ...]
    """The same against the mean of the background: what the row has of each column that other rows have not. Without a
    background, ``terms``."""
    flips: tuple[Flip, ...]
    """For each column that can turn the answer alone, how."""
    distance: float | None
    """Euclidean distance to the hyperplane with each feature in standard deviations of the background.

    None without a background, or if no feature of the split varies in it."""
    n_negligible: int = 0
    """Terms that the question leaves out: together they move the score by no more than 0.1 % of its range."""

    @property
    def nearest(self) -> tuple[Flip, ...]:
        """The flips, nearest first: in standard deviations if known, else relative to the value in the row."""

        def size(flip: Flip) -> float:
            if flip.change is None:
                return 1.0
            if flip.deviations is not None:
                return abs(flip.deviations)
            return abs(flip.change) / (abs(flip.value - flip.change) or 1.0)

        return tuple(sorted(self.flips, key=size))


@dataclass(frozen=True)
class Attribution:
    """How a leaf arrives at one output: ``baseline + sum of contributions = total``, clipped to the guard."""

    baseline: float
    """The intercept; with a background, the output of the leaf at the background's mean."""
    contributions: tuple[Contribution, ...]
    total: float
    """The output before the guard, as the tree computes it."""
    lower: float | None
    upper: float | None
    clipped: str | None
    """``"lower"`` or ``"upper"`` if the guard moved the output, else None."""
    output: float
    """The output after the guard."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why one row got its prediction. Made by :func:`dtsemnet.export.readable.explain`."""

    prediction: Any
    """Label, number, or tuple of numbers."""
    leaf: int
    path: tuple[Step, ...]
    classes: tuple[tuple[Any, float], ...]
    """Classes and their probabilities for the row; empty for a regressor."""
    shares: tuple[tuple[Any, float], ...]
    """Classes and their shares in the leaf, which are their probabilities unless the model has margin probabilities."""
    outputs: tuple[Attribution, ...]
    """One for each output of a regressor; empty for a classifier."""
    remark: str
    """How outputs are mapped to predictions, if they are."""
    compared: bool
    """Whether a background was given."""
    output_names: tuple[str, ...] = ()
    """Names of the outputs of a regressor; empty if they have none."""

    def to_dict(self) -> dict[str, Any]:
        """Give plain dicts, lists and values, as JSON wants them."""
        plain: dict[str, Any] = _listed(asdict(self))
        plain["classes"] = [{"class": name, "probability": chance} for name, chance in self.classes]
        plain["shares"] = [{"class": name, "share": share} for name, share in self.shares]
        return plain

    def __str__(self) -> str:
        lines = [f"{self._name}: {_value(self.prediction)}  (leaf {self.leaf})", ""]
        for number, step in enumerate(self.path, start=1):
            lines += [*_step_lines(number, step), ""]
        if self.classes != self.shares:
            lines += ["probabilities", *_share_lines(self.classes), ""]
        if self.shares:
            lines += [f"leaf {self.leaf} holds", *_share_lines(self.shares)]
        for number, output in enumerate(self.outputs):
            name = f"output {number} of leaf {self.leaf}" if len(self.outputs) > 1 else f"leaf {self.leaf}"
            lines += [*([""] if number else []), *_output_lines(name, output, self.compared)]
        return "\n".join([*lines, *([self.remark] if self.remark else [])])

    @property
    def _name(self) -> str:
        """What is predicted."""
        return ", ".join(map(printable, self.output_names)) or "prediction"

    def __repr__(self) -> str:
        steps = f"{len(self.path)} split{'s' * (len(self.path) != 1)}"
        return f"Explanation({_value(self.prediction)}, leaf {self.leaf}, {steps})"

    def _repr_html_(self) -> str:
        """Show the path and the sums as tables, for notebooks."""
        head = f"<p><b>{html.escape(_value(self.prediction))}</b> (leaf {self.leaf})</p>"
        path = [
            [step.question + " ?", "yes" if step.yes else "no", _number(step.score), _nearest(step), _pushes(step)]
            for step in self.path
        ]
        said = 5 if any(line[-1] for line in path) else 4
        titles = ["split", "answer", "score", "would turn", "what pushed"]
        tables = [_table(titles[:said], [line[:said] for line in path], 2)] if path else []
        if self.classes:
            tables.append(
                _table(["class", "probability"], [[printable(c), f"{100 * p:.1f} %"] for c, p in self.classes], 1)
            )
        for output in self.outputs:
            rows = [[label, amount] for amount, label in _sum_rows(output, self.compared)]
            tables.append(_table(["", "adds"], rows, 1))
            tables.append(f"<p>{html.escape(_guard(output))}</p>" if _guard(output) else "")
        return head + "".join(tables) + (f"<p>{html.escape(self.remark)}</p>" if self.remark else "")


class _Case:
    """One row, the view of its model, and the background."""

    def __init__(self, view: ReadableView, row: Array, background: Floats | None) -> None:
        self.view, self.row, self.background = view, row, background
        self.mean = np.zeros(len(view.features)) if background is None else background.mean(axis=0)
        self.spread = None if background is None else background.std(axis=0)
        self.features = view.rows(row)[0]
        if background is not None:
            seen = np.vstack([background, self.features])
            self.box = seen.min(axis=0), seen.max(axis=0)
        self.encoded = np.array(view.model.transform(row)[0], dtype=np.float64)
        self.members = [view.members(j) for j in range(len(view.columns))]

    def step(self, split: int) -> Step:
        tree, view = self.view.tree, self.view
        weight, bias = tree.weight[split], float(tree.bias[split])
        score = float(self.scores(split, self.encoded[None])[0])
        is_long = np.count_nonzero(weight) > LONGEST
        shown = largest_terms(weight, weight * self.features)[:CUT] if is_long else None
        asked, constant, n_negligible = weight, bias, 0
        if self.background is not None and not is_long:
            rest = without_negligible(weight, bias, *self.box)
            if (Sum(rest.weight, rest.bias, (), 0)(self.features[None])[0] > 0) == (score > 0):
                asked, constant, n_negligible = rest
        question = write_question(view, asked, constant, Digits.same(len(weight), _DIGITS), shown)
        distance = None
        if self.spread is not None:
            length = math.hypot(*(weight * self.spread).tolist())
            distance = abs(score) / length if length > 0 else None
        terms = self.contributions(weight, np.zeros(len(weight)))
        pushes = self.contributions(weight, self.mean)
        flips = {**self.numbers(split, score), **self.categories(split, score)}
        ordered = tuple(flips[column] for column in sorted(flips))
        return Step(
            split, " ".join(question.parts), score, score > 0, bias, terms, pushes, ordered, distance, n_negligible
        )

    def contributions(self, weight: Floats, mean: Floats) -> tuple[Contribution, ...]:
        """Give what each column with a weight adds, features of one column together."""
        amount = weight * (self.features - mean)
        return tuple(
            Contribution(column.name, _plain(value), float(amount[members].sum()))
            for column, value, members in zip(self.view.columns, self.row[0], self.members)
            if weight[members].any()
        )

    def attribution(self, leaf: int, output: int) -> Attribution:
        shown, tree = self.view.tree, self.view.model.tree
        coef = np.zeros(tree.n_features) if shown.coef is None else shown.coef[leaf, output]
        total = float(tree.value[leaf, output])
        if tree.coef is not None:
            total = float(Sum(tree.coef[leaf, output], total, (), 0)(self.encoded[None])[0])
        lower = None if tree.lower is None else float(tree.lower[leaf, output])
        upper = None if tree.upper is None else float(tree.upper[leaf, output])
        clipped, result = None, total
        if lower is not None and total < lower:
            clipped, result = "lower", lower
        elif upper is not None and total > upper:
            clipped, result = "upper", upper
        baseline = float(shown.value[leaf, output]) + float(coef @ self.mean)
        return Attribution(baseline, self.contributions(coef, self.mean), total, lower, upper, clipped, result)

    def numbers(self, split: int, score: float) -> dict[int, Flip]:
        """For each column of numbers, step from the boundary outwards until the split itself answers otherwise."""
        flips: dict[int, Flip] = {}
        boundary = {index: edge for index in range(len(self.row[0])) if (edge := self.edge(split, score, index))}
        for k in range(_TRIES):
            # Nothing beyond the boundary at first, then a rounding error, doubled each time.
            tried = {index: goal + (2.0 ** (k - 1) * unit if k else 0.0) for index, (goal, unit) in boundary.items()}
            if not tried:
                break
            rows = np.repeat(self.encoded[None], len(tried), axis=0)
            for row, (index, value) in zip(rows, tried.items()):
                row[self.members[index][0]] = self.view.columns[index].map(value)
            turned = (self.scores(split, rows) > 0) != (score > 0)
            for (index, value), turns in zip(tried.items(), turned):
                if turns:
                    del boundary[index]
                    flips[index] = self.flip(index, value)
        return flips

    def edge(self, split: int, score: float, index: int) -> tuple[float, float] | None:
        """Give the value of a column at which the score is 0, and a rounding error of it, signed to lead beyond."""
        column, members = self.view.columns[index], self.members[index]
        if column.categories is not None or _plain(self.row[0, index]) is None:
            return None
        weight = self.view.tree.weight[split]
        is_mapped = column.is_clipped or self.view.features[members[0]].in_steps  # the view does not fold such maps
        slope, scale = float(weight[members[0]]), column.scale if is_mapped else 1.0
        if slope * scale == 0:
            return None
        goal = (float(self.features[members[0]]) - score / slope) / scale
        goal += column.center if is_mapped else 0.0
        size = float(np.abs(weight) @ np.abs(self.features)) + abs(float(self.view.tree.bias[split]))
        unit = math.ulp(max(abs(goal), size / abs(slope * scale)))
        if not math.isfinite(goal) or not math.isfinite(unit * 2.0**_TRIES):
            return None
        return goal, math.copysign(unit, slope * scale * (-1.0 if score > 0 else 1.0))

    def categories(self, split: int, score: float) -> dict[int, Flip]:
        """For each column of categories, find the one that turns the answer with the least change of the score."""
        weight, flips = self.view.model.tree.weight[split], {}
        for index, (column, members) in enumerate(zip(self.view.columns, self.members)):
            if not column.categories or not weight[members].any():
                continue
            rows = np.repeat(self.encoded[None], len(column.categories), axis=0)
            rows[:, members] = 0.0
            rows[np.arange(len(rows)), members[: len(rows)]] = 1.0
            scores = self.scores(split, rows)
            turned = np.flatnonzero((scores > 0) != (score > 0))
            if len(turned):
                best = int(turned[np.argmin(np.abs(scores[turned] - score))])
                flips[index] = Flip(column.name, _plain(column.categories[best]), None, None, None)
        return flips

    def scores(self, split: int, rows: Floats) -> Floats:
        """Score encoded rows at one split, as the model does."""
        tree = self.view.model.tree
        alone = Tree(Topology.complete(1), tree.weight[[split]], tree.bias[[split]], [[0.0], [0.0]])
        return alone.scores(rows)[:, 0]

    def flip(self, index: int, value: float) -> Flip:
        """Compare a value of a column with that of the row and with the background."""
        column, j = self.view.columns[index], self.members[index][0]
        change = value - float(self.row[0, index])
        if self.background is None or self.spread is None:
            return Flip(column.name, value, change, None, None)
        is_mapped = column.is_clipped or self.view.features[j].in_steps
        scale, shown = (abs(column.scale), column.map(value)) if is_mapped else (1.0, value)
        spread = float(self.spread[j]) / scale
        known = self.background[:, j]
        if len(self.members[index]) > 1:  # a missing number counts as 0 there, which is no value of the column
            known = known[self.background[:, j + 1] == 0]
        seen = bool(len(known) and known.min() <= shown <= known.max())
        return Flip(column.name, value, change, change / spread if spread > 0 else None, seen)


def _plain(value: Any) -> Any:
    """Turn a value of a table into one of Python's own, None if it is missing."""
    if is_missing(np.array([value, None], dtype=object))[0]:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _step_lines(number: int, step: Step) -> list[str]:
    away = ""
    if step.distance is not None:
        distance = number_text(step.distance, 2)
        away = f", {distance} standard deviation{'s' * (distance != '1')} from the boundary"
    answer = f"   score {_number(step.score)}: {'yes' if step.yes else 'no'}{away}"
    if step.n_negligible:
        answer += f"; {step.n_negligible} small term{'s' * (step.n_negligible > 1)} left out"
    question = re.split(r" (?=[+-] )", f"{step.question} ?")  # a long sum is broken before a sign
    pushes = [f"   {text}"] if (text := _pushes(step)) else []
    return [*break_line(f"{number}. ", "     ", question, _WIDTH), answer, *pushes, f"   {_nearest(step)}"]


def _pushes(step: Step) -> str:
    """Say which columns pushed the row to the branch it took, and which ones pulled back, the strongest first.

    Without other rows to compare with, a large term may be the same for all; then, and of one column, nothing is said.
    """
    if step.distance is None or len(step.pushes) < 2:
        return ""
    sign = 1.0 if step.yes else -1.0
    order = sorted(step.pushes, key=lambda push: -abs(push.amount))
    largest = abs(order[0].amount)
    sides: list[str] = []
    for word, side in (("towards " + ("yes" if step.yes else "no"), sign), ("against", -sign)):
        strong = [push for push in order if push.amount * side > 0.01 * largest][:_FLIPS]
        if strong:
            named = (f"{printable(p.column)} = {_value(p.value)} ({_signed(p.amount)})" for p in strong)
            sides.append(f"{word}: {', '.join(named)}")
    return "; ".join(sides)


def _signed(number: float) -> str:
    return f"{'+' if number > 0 else ''}{number_text(number, 2)}"


def _nearest(step: Step) -> str:
    """Say what would turn the answer; a value beyond all of the background is no help, and is left to ``flips``."""
    flips = step.nearest
    near = [flip.text for flip in flips if flip.seen is not False][:_FLIPS]
    answer = "no" if step.yes else "yes"
    if near:
        return f"{answer} if {' or '.join(near)}"
    if flips:
        return "no column turns this alone within the range of the rows"
    return "no column can turn this alone"


def _share_lines(shares: Sequence[tuple[Any, float]]) -> list[str]:
    ordered = sorted(shares, key=lambda pair: -pair[1])
    return [f"{100 * share:6.1f} %  {printable(name)}" for name, share in ordered if share >= _SMALLEST_SHARE]


def _output_lines(name: str, output: Attribution, compared: bool) -> list[str]:
    guard = [_guard(output)] if _guard(output) else []
    if not output.contributions:
        return [f"{name} holds {_number(output.total)}", *guard]
    return [f"{name} adds up", *(f"{amount}  {label}" for amount, label in _sum_rows(output, compared)), *guard]


def _addends(amounts: Sequence[float]) -> list[str]:
    """Write numbers with the same decimals, so that what is shown adds up as shown."""
    largest = max(abs(amount) for amount in amounts)
    decimals = _DIGITS - 1 - (math.floor(math.log10(largest)) if 0 < largest < math.inf else 0)
    if not math.isfinite(largest) or not -_DIGITS < decimals < 2 * _DIGITS:
        texts = [_number(amount) for amount in amounts]
    else:
        texts = [f"{amount:.{max(decimals, 0)}f}" for amount in amounts]
    width = max(6, *(len(text) for text in texts))
    return [f"{text:>{width}}" for text in texts]


def _sum_rows(output: Attribution, compared: bool) -> list[tuple[str, str]]:
    """Amount and label of the baseline, the largest contributions, what the others add together, and the sum."""
    order = sorted(output.contributions, key=lambda term: -abs(term.amount))
    few = order if len(order) <= _CONTRIBUTIONS + 1 else order[:_CONTRIBUTIONS]
    rows = [(output.baseline, "leaf at the mean of the background" if compared else "intercept")]
    rows += [(term.amount, f"{printable(term.column)} = {_value(term.value)}") for term in few]
    if len(few) < len(order):
        rows.append((sum(term.amount for term in order[len(few) :]), f"{len(order) - len(few)} more columns"))
    amounts, labels = zip(*rows, (output.total, "sum"))
    return list(zip(_addends(amounts), labels))


def _guard(output: Attribution) -> str:
    if output.lower is None and output.upper is None:
        return ""
    ends = ["-inf" if output.lower is None else _number(output.lower)]
    ends.append("inf" if output.upper is None else _number(output.upper))
    return f"within [{', '.join(ends)}]: {'kept' if output.clipped is None else 'clipped to ' + _number(output.output)}"


def _table(head: list[str], rows: list[list[str]], numbers: int) -> str:
    """Write a table in which one column holds numbers, aligned to the right."""

    def line(tag: str, cells: list[str]) -> str:
        sides = ["right" if k == numbers else "left" for k in range(len(cells))]
        shown = (f'<{tag} style="text-align: {side}">{html.escape(c)}</{tag}>' for side, c in zip(sides, cells))
        return f"<tr>{''.join(shown)}</tr>"

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


def _value(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, tuple):
        return "(" + ", ".join(_value(part) for part in value) + ")"
    return _number(value) if isinstance(value, float) else printable(value)


def _number(number: float) -> str:
    return number_text(number, _DIGITS)


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(content) for key, content in value.items()}
    return [_listed(content) for content in value] if isinstance(value, (tuple, list)) else value
