"""One prediction, explained exactly: the path to the leaf, and the sum in the leaf.

A tree needs no approximation to be explained. The path is a list of splits with their scores.
How far a row is from another branch is given for each column on its own: the nearest value of
that column, all else equal, with which the split answers otherwise. Each such value is tried on
the model first. In a linear leaf the output is a sum, and so is its attribution: column ``j``
adds ``coef_j * x_j``, or ``coef_j * (x_j - mean_j)`` against the mean of background rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats
from dtsemnet.export.readable.explanation import Attribution, Contribution, Explanation, Flip, Step
from dtsemnet.tree import Topology, Tree
from dtsemnet.tree.encoder import is_missing
from dtsemnet.tree.view import ReadableView
from dtsemnet.tree.wording import Digits, Sum, largest_terms, write_question

__all__ = ["Attribution", "Contribution", "Explanation", "Flip", "Step", "explain"]


_DIGITS = 4
_LONGEST, _CUT = 30, 8  # a question of more terms than the first shows as many as the second
_TRIES = 60  # doublings of a last bit: from one rounding error to all of a double's digits


def explain(tree: Any, x: Any, *, background: Any = None) -> Explanation:
    """Explain the prediction for one row.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    x : one row
        A sequence of values, a mapping or pandas Series by column name, or a table or array of one row.
    background : array_like or data frame, optional
        Rows to compare with, such as the training rows. Attributions then give the difference to a row that holds
        the mean of each column, distances are measured in standard deviations, and the text lists first what needs
        the smallest change in them. Without it, attributions start at 0.

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
    model, shown = view.model, view.tree
    leaf, prediction = int(model.apply(row)[0]), model.predict(row)[0]
    case = _Case(view, row, rows)
    classes = () if shown.class_names is None else tuple(zip(shown.class_names, shown.value[leaf].tolist()))
    n_sums = 0 if shown.is_classifier else shown.n_outputs
    return Explanation(
        prediction=tuple(prediction.tolist()) if np.ndim(prediction) else _plain(prediction),
        leaf=leaf,
        path=tuple(case.step(split) for split in model.decision_path(row)[0].tolist() if split >= 0),
        classes=classes,
        outputs=tuple(case.attribution(leaf, output) for output in range(n_sums)),
        remark=view.remark,
        compared=background is not None,
    )


class _Case:
    """One row, the view of its model, and the background."""

    def __init__(self, view: ReadableView, row: Array, background: Floats | None) -> None:
        self.view, self.row, self.background = view, row, background
        self.mean = np.zeros(len(view.features)) if background is None else background.mean(axis=0)
        self.spread = None if background is None else background.std(axis=0)
        self.features = view.rows(row)[0]
        self.encoded = np.array(view.model.transform(row)[0], dtype=np.float64)
        self.members = [view.members(j) for j in range(len(view.columns))]

    def step(self, split: int) -> Step:
        tree, view = self.view.tree, self.view
        weight, bias = tree.weight[split], float(tree.bias[split])
        score = float(self.scores(split, self.encoded[None])[0])
        question = write_question(view, weight, bias, Digits.same(len(weight), _DIGITS), self.largest(weight))
        distance = None
        if self.spread is not None:
            length = math.hypot(*(weight * self.spread).tolist())
            distance = abs(score) / length if length > 0 else None
        terms = self.contributions(weight, np.zeros(len(weight)))
        flips = {**self.numbers(split, score), **self.categories(split, score)}
        ordered = tuple(flips[column] for column in sorted(flips))
        return Step(split, " ".join(question.parts), score, score > 0, bias, terms, ordered, distance)

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
        missing = len(members) > 1 and self.features[members[1]] == 1
        if column.categories is not None or missing:
            return None
        weight = self.view.tree.weight[split]
        slope, scale = float(weight[members[0]]), column.scale if column.is_clipped else 1.0
        if slope * scale == 0:
            return None
        goal = (float(self.features[members[0]]) - score / slope) / scale
        goal += column.center if column.is_clipped else 0.0  # the view does not fold the map of a clipped number
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
        scale, shown = (abs(column.scale), column.map(value)) if column.is_clipped else (1.0, value)
        spread = float(self.spread[j]) / scale
        known = self.background[:, j]
        if len(self.members[index]) > 1:  # a missing number counts as 0 there, which is no value of the column
            known = known[self.background[:, j + 1] == 0]
        seen = bool(len(known) and known.min() <= shown <= known.max())
        return Flip(column.name, value, change, change / spread if spread > 0 else None, seen)

    def largest(self, weight: Floats) -> list[int] | None:
        """List the terms to show if there are too many."""
        if np.count_nonzero(weight) <= _LONGEST:
            return None
        return largest_terms(weight, weight * self.features)[:_CUT]


def _plain(value: Any) -> Any:
    """Turn a value of a table into one of Python's own, None if it is missing."""
    if is_missing(np.array([value, None], dtype=object))[0]:
        return None
    return value.item() if isinstance(value, np.generic) else value
