"""Fit margin probabilities to rows that the trees were not trained on.

:mod:`dtsemnet.tree.probability` has the formula. Its three numbers are fitted by the log loss. Margins
are measured in units of the tree that they come from, the median margin of the runner-up among
its training rows, so that the numbers of one tree serve another one trained in the same way:
``rate`` here is per unit, and :meth:`Calibration.for_tree` converts it.

With few rows the three numbers are held near plain ones by a penalty of a fraction of a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from dtsemnet.arrays import Floats, Ints
from dtsemnet.fit.data import Sample
from dtsemnet.tree import MarginProbability, Tree
from dtsemnet.tree.probability import margins

__all__ = ["Calibration", "calibrate", "margin_unit", "sample_margins"]

PLAIN = np.array([0.0, 0.0, -3.0])
"""Logarithm of the rate, logarithm of the power, log-odds of the floor: where the fit begins, and is held to."""
HOLD = 0.05
"""Weight of that penalty, in rows."""


@dataclass(frozen=True)
class Calibration:
    """The numbers of the formula, the rate per unit of margin."""

    rate: float = 1.0
    power: float = 1.0
    floor: float = 0.05

    def for_tree(self, tree: Tree, sample: Sample) -> MarginProbability:
        """The probabilities of a tree that was trained on these rows."""
        return MarginProbability(self.rate / margin_unit(sample_margins(tree, sample)), self.power, self.floor)

    def probabilities(self, margin: Floats, share: Floats) -> Floats:
        """Probabilities of rows from their margins, in units, and the shares of their leaves."""
        return _softmax(self.power * _log_share(share, self.floor) - self.rate * margin)


def sample_margins(tree: Tree, sample: Sample) -> Floats:
    """Margins of the classes for the rows of a sample, (n_rows, n_classes)."""
    margin = np.empty((len(sample), tree.n_outputs))
    for part, rows in sample.blocks():
        margin[part] = margins(tree, rows)
    return margin


def margin_unit(margin: Floats) -> float:
    """The median margin of the runner-up over the rows where it is positive; 1 if there is none."""
    if margin.shape[1] < 2:
        return 1.0
    runner_up = np.partition(margin, 1, axis=1)[:, 1]
    positive = runner_up[(runner_up > 0) & np.isfinite(runner_up)]
    return float(np.median(positive)) if len(positive) else 1.0


def calibrate(margin: Floats, share: Floats, y: Ints, weight: Floats, begin: Calibration | None = None) -> Calibration:
    """Fit the three numbers to rows: margins in units and shares (n_rows, n_classes), class codes, weights.

    The search begins at a calibration of fewer rows, if one is given: it is near, so that few steps are left.
    """
    own, total, n_classes = np.arange(len(y)), weight.sum(), margin.shape[1]
    margin = np.minimum(margin, 1e6)  # beyond that nothing changes, and no sum overflows
    row_weight, more_than_share = weight[:, None] / total, 1 / n_classes - share

    def loss(numbers: Floats) -> tuple[float, Floats]:
        rate, power, floor = _numbers(numbers)
        mixed = np.maximum((1 - floor) * share + floor / n_classes, 1e-300)
        logs = np.log(mixed)
        chance = _softmax(power * logs - rate * margin)
        hold = HOLD / total * (numbers - PLAIN)
        value = -weight @ np.log(np.maximum(chance[own, y], 1e-300)) / total + 0.5 * hold @ (numbers - PLAIN)
        slope = chance
        slope[own, y] -= 1
        slope *= row_weight
        by_floor = power * more_than_share / mixed
        gradient = [-rate * (slope * margin).sum(), power * (slope * logs).sum(), (slope * by_floor).sum()]
        gradient[2] *= floor * (1 - floor)
        return float(value), np.array(gradient) + hold

    bounds = [(-12.0, 5.0), (-6.0, 2.0), (-12.0, 4.0)]
    first = PLAIN if begin is None else _coordinates(begin)
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60, "ftol": 1e-7})
    return Calibration(*_numbers(found.x))


def _numbers(numbers: Floats) -> tuple[float, float, float]:
    return float(np.exp(numbers[0])), float(np.exp(numbers[1])), float(1 / (1 + np.exp(-numbers[2])))


def _coordinates(calibration: Calibration) -> Floats:
    """The numbers in which :func:`calibrate` searches."""
    floor = min(max(calibration.floor, 1e-12), 1 - 1e-12)
    return np.array([np.log(calibration.rate), np.log(calibration.power), np.log(floor / (1 - floor))])


def _log_share(share: Floats, floor: float) -> Floats:
    logs: Floats = np.log(np.maximum((1 - floor) * share + floor / share.shape[1], 1e-300))
    return logs


def _softmax(logits: Floats) -> Floats:
    chance: Floats = logits - logits.max(axis=1, keepdims=True)
    np.exp(chance, out=chance)
    chance /= chance.sum(axis=1, keepdims=True)
    return chance
