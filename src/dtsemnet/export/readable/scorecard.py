"""A tree of one or two levels as scorecards: points that a person adds up, and what their total means.

A split of whole weights and a whole threshold is a card (:mod:`dtsemnet.fit.points`): a line for each thing that gives
points, and the total above which the answer changes, or the next card follows. Points of a split may all change their
sign together, so that most of them are positive; then the answer changes below the total.

With one card and margin probabilities, the total tells how probable each class is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dtsemnet.names import printable
from dtsemnet.notebook import block, escape, facts
from dtsemnet.tree import Model, ReadableView, Topology, Tree
from dtsemnet.tree.columns import Feature
from dtsemnet.tree.wording import Digits, number_text, write_question

__all__ = ["Card", "Scorecard", "to_scorecard"]

DEEPEST = 2
"""Most cards that a person goes through."""
DIGITS = 6
"""Significant digits of steps and values."""
N_TOTALS = 9
"""Totals whose probabilities are listed."""


@dataclass(frozen=True)
class Points:
    """Something that gives points."""

    what: str
    points: int
    """Points, for every step of a number or if a category holds."""
    step: float | None = None
    """How much of a number gives these points; None for a category or a missing value, which give them once."""
    center: float = 0.0
    """The number is counted from here."""

    @property
    def rule(self) -> str:
        """The points in words."""
        if self.step is None:
            return str(self.points)
        above = f" above {number_text(self.center, DIGITS)}" if self.center else ""
        return f"{self.points} for every {number_text(self.step, DIGITS)}{above}"

    def value_points(self, value: float) -> float:
        """Points of a number."""
        return self.points * (value - self.center) / (self.step or 1.0)


@dataclass(frozen=True)
class Card:
    """One split."""

    lines: tuple[Points, ...]
    """What gives points; none if the split is a question about one column."""
    question: str
    """What sends a row to ``yes``."""
    yes: str
    no: str
    """The answer, or the card to go on with."""


@dataclass(frozen=True)
class Scorecard:
    """Cards to add up points on. ``print`` shows them as text, a notebook as tables."""

    cards: tuple[Card, ...]
    answer: str
    """The only answer, if there is no card; else empty."""
    totals: tuple[int, ...] = ()
    """Totals of the first card."""
    chances: tuple[tuple[str, tuple[float, ...]], ...] = ()
    """For each class its probabilities at these totals."""
    values: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = ()
    """For columns of numbers, values and their points."""

    def __str__(self) -> str:
        parts = [f"Everything is {self.answer}."] if not self.cards else []
        for number, card in enumerate(self.cards, start=1):
            head = f"Card {number}" if len(self.cards) > 1 else "Scorecard"
            verb = ": add up the points" if card.lines else ""
            rows = [(line.what, line.rule) for line in card.lines]
            ends = [(card.question, card.yes), ("else", card.no)]
            parts.append("\n".join([head + verb, *_columns(rows), *([""] if rows else []), *_columns(ends, " -> ")]))
        if self.values:
            parts.append("\n".join(["Points of some values", *_columns(
                [(name, ", ".join(f"{_plain(v)}: {_plain(p)}" for v, p in pairs)) for name, pairs in self.values]
            )]))  # fmt: skip
        if self.totals:
            parts.append("\n".join(["What a total means", *_grid(self._total_rows())]))
        return "\n\n".join(parts)

    def _total_rows(self) -> list[tuple[str, ...]]:
        rows = [(name, *map(_percent, chance)) for name, chance in self.chances]
        return [("total", *map(str, self.totals)), *rows]

    def _repr_html_(self) -> str:
        parts = [f"<div>{escape(self.answer)}</div>"] if not self.cards else []
        for number, card in enumerate(self.cards, start=1):
            title = f"Card {number}" if len(self.cards) > 1 else "Scorecard"
            points = facts([(line.what, line.rule) for line in card.lines], ("", "points")) if card.lines else ""
            parts.append(block(title, points, facts([(card.question, card.yes), ("else", card.no)])))
        if self.values:
            rows = [(name, *(f"{_plain(v)}: {_plain(p)}" for v, p in pairs)) for name, pairs in self.values]
            parts.append(block("Points of some values", facts(rows)))
        if self.totals:
            head, *rows = self._total_rows()
            parts.append(block("What a total means", facts(rows, head)))
        return "".join(parts)

    def to_html(self, title: str = "Scorecard") -> str:
        """Write a page to print."""
        style = "body{font:15px/1.4 sans-serif;margin:2em;color:#111;background:#fff}"
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{style}</style></head><body>{self._repr_html_()}</body></html>\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the cards as plain values."""
        cards = [
            {"lines": [vars(line) for line in card.lines]} | {n: getattr(card, n) for n in ("question", "yes", "no")}
            for card in self.cards
        ]
        chances = {name: list(chance) for name, chance in self.chances}
        return {"cards": cards, "answer": self.answer, "totals": list(self.totals), "probabilities": chances}


def to_scorecard(tree: Any, X: Any = None) -> Scorecard:
    """Write a tree of points as scorecards.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        At most two splits on a path, with whole weights and thresholds: fit it with ``integer_weights=True`` and
        ``max_depth=1`` or 2.
    X : array_like or data frame, optional
        Rows, such as the training rows, whose values are listed with their points.

    Returns
    -------
    Scorecard

    Examples
    --------
    >>> from dtsemnet.tree import Column, Encoder, Topology
    >>> tree = Tree(Topology.complete(1), [[3, 2]], [-14], [[0.9, 0.1], [0.2, 0.8]], class_names=["no", "yes"])
    >>> encoder = Encoder([Column("age", scale=0.1), Column("smoker", categories=["yes"])])
    >>> print(to_scorecard(Model(encoder, tree)))
    Scorecard: add up the points
      age           3 for every 10
      smoker = yes  2
    <BLANKLINE>
      total above 14 -> yes (80 %)
      else           -> no (90 %)
    """
    view = ReadableView.of(tree)
    model = view.model
    _check(view)
    topology = view.tree.topology
    answers = [_answer(model, leaf) for leaf in range(topology.n_leaves)]
    follow = {node: answers[~node] if node < 0 else f"card {node + 1}" for pair in topology.children for node in pair}
    signs = [_sign(view, split) for split in range(topology.n_splits)]
    cards = tuple(_card(view, split, sign, follow) for split, sign in enumerate(signs))
    totals, chances = _chances(model, signs[0]) if len(cards) == 1 and cards[0].lines else ((), ())
    values = () if X is None else _values(view, cards, X)
    return Scorecard(cards, answers[0] if not cards else "", totals, chances, values)


def _check(view: ReadableView) -> None:
    tree = view.model.tree
    if tree.depth > DEEPEST:
        raise ValueError(
            f"a scorecard has at most {DEEPEST} cards on a path, but this tree has depth {tree.depth}; fit it with "
            f"max_depth={DEEPEST} or 1."
        )
    if (tree.weight % 1 != 0).any() or (tree.bias % 1 != 0).any():
        raise ValueError(
            "a scorecard adds up whole points, but the splits of this tree have other weights; fit it with "
            "integer_weights=True."
        )
    whole = (view.tree.weight % 1 == 0).all() and (view.tree.bias % 1 == 0).all()
    if not whole:
        raise ValueError("a scorecard adds up whole points, but the columns of this model are counted in odd steps.")
    if tree.coef is not None and tree.coef.any():
        raise ValueError("a scorecard ends in single numbers, but the leaves are linear; fit it with leaf='constant'.")


def _sign(view: ReadableView, split: int) -> float:
    """-1 if most points of a split are negative."""
    return -1.0 if view.tree.weight[split].sum() < 0 else 1.0


def _card(view: ReadableView, split: int, sign: float, follow: dict[int, str]) -> Card:
    weight, bias = view.tree.weight[split], float(view.tree.bias[split])
    no, yes = (follow[int(node)] for node in view.tree.topology.children[split])
    if len({view.features[j].column_index for j in np.flatnonzero(weight)}) <= 1:
        return Card((), " ".join(write_question(view, weight, bias, Digits.same(len(weight), 4)).parts), yes, no)
    lines = tuple(_line(view.features[j], sign * float(weight[j])) for j in np.flatnonzero(weight))
    question = f"total {'above' if sign > 0 else 'below'} {-sign * bias + 0.0:.0f}"
    return Card(lines, question, yes, no)


def _line(feature: Feature, points: float) -> Points:
    if feature.kind != "number":
        return Points(feature.label, int(points))
    if not feature.in_steps:
        return Points(feature.label, int(points), 1.0)
    column = feature.column
    return Points(printable(column.name), int(points), column.step, column.center)


def _answer(model: Model, leaf: int) -> str:
    tree = model.tree
    if tree.class_names is None:
        lower, upper = tree.guard
        output = model.output(np.clip(tree.value[leaf], lower[leaf], upper[leaf])[None])
        return ", ".join(number_text(float(value), DIGITS) for value in np.ravel(output))
    share = tree.value[leaf]
    best = int(share.argmax())
    return f"{printable(tree.class_names[best])} ({_percent(float(share[best]))})"


def _chances(model: Model, sign: float) -> tuple[tuple[int, ...], tuple[tuple[str, tuple[float, ...]], ...]]:
    """Totals around the threshold, and how probable each class is there."""
    tree, probability = model.tree, model.probability
    if probability is None or probability.rate == 0 or tree.class_names is None:
        return (), ()
    line = Tree(Topology.complete(1), [[sign]], tree.bias, tree.value, class_names=tree.class_names)
    threshold = -sign * float(tree.bias[0])
    reach = max(1.0, 4.0 / probability.rate)  # exp(-4): nearly sure
    wanted = reach / (N_TOTALS // 2)
    size = 10 ** int(np.floor(np.log10(max(1.0, wanted))))
    step = min((size, 2 * size, 5 * size, 10 * size), key=lambda step: abs(step - wanted))
    totals = threshold + step * np.arange(-(N_TOTALS // 2), N_TOTALS // 2 + 1)
    chance = probability(line, totals[:, None])
    named = tuple((printable(name), tuple(c.tolist())) for name, c in zip(tree.class_names, chance.T))
    return tuple(int(total) for total in totals), named


def _values(
    view: ReadableView, cards: Sequence[Card], X: Any
) -> tuple[tuple[str, tuple[tuple[float, float], ...]], ...]:
    """Round values of the columns of numbers in the range of most rows, with their points."""
    columns = dict(zip((printable(column.name) for column in view.columns), view.model.encoder.read_columns(X)))
    found = []
    for number, card in enumerate(cards, start=1):
        for line in card.lines:
            if line.step is None:
                continue
            numbers = np.array([v for v in columns[line.what].tolist() if v is not None], dtype=np.float64)
            numbers = numbers[~np.isnan(numbers)]
            if not len(numbers):
                continue
            ends = np.quantile(numbers, [0.05, 0.95]) / line.step
            low, high = np.floor(ends[0]), np.ceil(ends[1])
            every = max(1, int(np.ceil((high - low) / 6)))
            steps = np.arange(low, high + 1, every) * line.step
            name = line.what if len(cards) == 1 else f"{line.what} (card {number})"
            found.append((name, tuple((float(v), line.value_points(float(v))) for v in steps)))
    return tuple(found)


def _columns(rows: Sequence[tuple[str, str]], gap: str = "  ") -> list[str]:
    width = max((len(first) for first, _ in rows), default=0)
    return [f"  {first.ljust(width)}{gap}{second}" for first, second in rows]


def _grid(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    return [
        "  " + "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]) for row in rows
    ]


def _plain(number: float) -> str:
    return number_text(round(number, 9) + 0.0, DIGITS)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace(".0 ", " ")
