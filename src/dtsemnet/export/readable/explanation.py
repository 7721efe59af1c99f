"""What an explanation holds, and how it reads.

An explanation is data: the path with its scores, the sums with their terms. The text shows what
a reader wants first (the nearest ways to turn a split, the largest contributions); the data hold
all of it, unrounded.
"""

from __future__ import annotations

import html
import math
import re
from dataclasses import asdict, dataclass
from typing import Any

from dtsemnet.tree.wording import number_text, outward_text

__all__ = ["Attribution", "Contribution", "Explanation", "Flip", "Step"]

_DIGITS = 4
_FLIPS, _CONTRIBUTIONS = 3, 12  # as many are shown of each
_SMALLEST_SHARE = 0.0005  # below it a share would read 0.0 %
_WIDTH = 100


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
            return f"{self.column} = {self.value}"
        up = self.change > 0
        return f"{self.column} {'>=' if up else '<='} {outward_text(self.value, _DIGITS, up=up)}"


@dataclass(frozen=True)
class Step:
    """One split on the path."""

    split: int
    question: str
    """The split in words, numbers rounded for reading."""
    score: float
    """The score as the tree computes it: yes if positive. Its size is the margin, in units of the score."""
    yes: bool
    bias: float
    terms: tuple[Contribution, ...]
    """What each column adds to the score; with the bias they sum to it, to rounding."""
    flips: tuple[Flip, ...]
    """For each column that can turn the answer alone, how."""
    distance: float | None
    """Euclidean distance to the hyperplane with each feature in standard deviations of the background.

    None without a background, or if no feature of the split varies in it."""

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


@dataclass(frozen=True)
class Explanation:
    """Why one row got its prediction. Made by :func:`dtsemnet.export.readable.explain`."""

    prediction: Any
    """Label, number, or tuple of numbers."""
    leaf: int
    path: tuple[Step, ...]
    classes: tuple[tuple[Any, float], ...]
    """Classes and their probabilities in the leaf; empty for a regressor."""
    outputs: tuple[Attribution, ...]
    """One for each output of a regressor; empty for a classifier."""
    remark: str
    """How outputs are mapped to predictions, if they are."""
    compared: bool
    """Whether a background was given."""

    def to_dict(self) -> dict[str, Any]:
        """Give plain dicts, lists and values, as JSON wants them."""
        plain: dict[str, Any] = _listed(asdict(self))
        plain["classes"] = [{"class": name, "probability": share} for name, share in self.classes]
        return plain

    def __str__(self) -> str:
        lines = [f"prediction: {_value(self.prediction)}  (leaf {self.leaf})", ""]
        for number, step in enumerate(self.path, start=1):
            lines += [*_step_lines(number, step), ""]
        if self.classes:
            lines.append(f"leaf {self.leaf} holds")
            shares = sorted(self.classes, key=lambda pair: -pair[1])
            lines += [f"{100 * share:6.1f} %  {name}" for name, share in shares if share >= _SMALLEST_SHARE]
        for number, output in enumerate(self.outputs):
            name = f"output {number} of leaf {self.leaf}" if len(self.outputs) > 1 else f"leaf {self.leaf}"
            lines += [*([""] if number else []), *_output_lines(name, output, self.compared)]
        return "\n".join([*lines, *([self.remark] if self.remark else [])])

    def _repr_html_(self) -> str:
        """Show the path and the sums as tables, for notebooks."""
        head = f"<p><b>{html.escape(_value(self.prediction))}</b> (leaf {self.leaf})</p>"
        path = [
            [step.question + " ?", "yes" if step.yes else "no", _number(step.score), _nearest(step)]
            for step in self.path
        ]
        tables = [_table(["split", "answer", "score", "would turn"], path, 2)] if path else []
        if self.classes:
            tables.append(_table(["class", "probability"], [[str(c), f"{100 * p:.1f} %"] for c, p in self.classes], 1))
        for output in self.outputs:
            rows = _sum_rows(output, self.compared)
            amounts = _addends([amount for amount, _ in rows])
            tables.append(_table(["", "adds"], [[label, amount] for amount, (_, label) in zip(amounts, rows)], 1))
            tables.append(f"<p>{html.escape(_guard(output))}</p>" if _guard(output) else "")
        return head + "".join(tables) + (f"<p>{html.escape(self.remark)}</p>" if self.remark else "")


def _step_lines(number: int, step: Step) -> list[str]:
    away = "" if step.distance is None else f", {number_text(step.distance, 2)} standard deviations from the boundary"
    lines = [f"score {_number(step.score)}: {'yes' if step.yes else 'no'}{away}"]
    lines.append(_nearest(step))
    return [*_wrapped(f"{number}. ", f"{step.question} ?"), *("   " + line for line in lines)]


def _nearest(step: Step) -> str:
    """Say what would turn the answer, values that the background holds if there are any."""
    flips = step.nearest
    near = [flip.text for flip in flips if flip.seen is not False][:_FLIPS]
    answer = "no" if step.yes else "yes"
    if near:
        return f"{answer} if {' or '.join(near)}"
    if flips:
        return f"{answer} only outside the background, if {flips[0].text}"
    return "no column can turn this alone"


def _wrapped(head: str, text: str) -> list[str]:
    """Break a long sum before a sign."""
    lines = [head]
    for k, piece in enumerate(re.split(r" (?=[+-] )", text)):
        if k and len(lines[-1]) + 1 + len(piece) > _WIDTH:
            lines.append("     " + piece)
        else:
            lines[-1] += f" {piece}" if k else piece
    return lines


def _output_lines(name: str, output: Attribution, compared: bool) -> list[str]:
    guard = [_guard(output)] if _guard(output) else []
    if not output.contributions:
        return [f"{name} holds {_number(output.total)}", *guard]
    rows = _sum_rows(output, compared)
    amounts = _addends([amount for amount, _ in rows])
    return [f"{name} adds up", *(f"{amount}  {label}" for amount, (_, label) in zip(amounts, rows)), *guard]


def _addends(amounts: list[float]) -> list[str]:
    """Write numbers with the same decimals, so that what is shown adds up as shown."""
    largest = max(abs(amount) for amount in amounts)
    decimals = _DIGITS - 1 - (math.floor(math.log10(largest)) if largest > 0 else 0)
    if not -_DIGITS < decimals < 2 * _DIGITS:
        texts = [_number(amount) for amount in amounts]
    else:
        texts = [f"{amount:.{max(decimals, 0)}f}" for amount in amounts]
    width = max(6, *(len(text) for text in texts))
    return [f"{text:>{width}}" for text in texts]


def _sum_rows(output: Attribution, compared: bool) -> list[tuple[float, str]]:
    """Baseline, the largest contributions, what the others add together, and the sum."""
    order = sorted(output.contributions, key=lambda term: -abs(term.amount))
    few = order if len(order) <= _CONTRIBUTIONS + 1 else order[:_CONTRIBUTIONS]
    rows = [(output.baseline, "leaf at the mean of the background" if compared else "intercept")]
    rows += [(term.amount, f"{term.column} = {_value(term.value)}") for term in few]
    if len(few) < len(order):
        rows.append((sum(term.amount for term in order[len(few) :]), f"{len(order) - len(few)} more columns"))
    return [*rows, (output.total, "sum")]


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
    return _number(value) if isinstance(value, float) else str(value)


def _number(number: float) -> str:
    return number_text(number, _DIGITS)


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(content) for key, content in value.items()}
    return [_listed(content) for content in value] if isinstance(value, (tuple, list)) else value
