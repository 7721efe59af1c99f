"""How plans are compared: by what they predict for rows that they were not trained on.

The loss of a row is, for classes, 1/2 if the class is wrong plus the Brier score of its margin probabilities,
calibrated on these rows; for numbers, the loss of the regressor. A plan is dropped on the way if it is behind
the best by more than three standard errors of the difference, row by row. At the end the plan with the fewest
leaves wins among those that are behind by no more than a fraction of a standard error: what rows cannot
tell apart, the reader's effort decides. If sparse splits are asked for, the tree with the fewest columns in all
its splits wins among those within a larger fraction (:func:`sparsest_of_best`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtsemnet.arrays import Floats, Ints
from dtsemnet.fit.calibration import Calibration, calibrate
from dtsemnet.fit.leaves import LeafFit
from dtsemnet.kernels.regression import DEVIANCES, LOSSES, LossName, losses_of

__all__ = [
    "ClassOutcome",
    "RegressionOutcome",
    "Verdict",
    "answer_losses",
    "is_behind",
    "judge_classes",
    "judge_numbers",
    "near_best",
    "simplest_of_best",
    "sparsest_of_best",
]

FAR_BEHIND = 3.0
"""Standard errors behind the best at which a plan is dropped."""


SMALLEST_MEAN = 1e-9
"""A mean of counts or costs, in units of the mean of all rows, that is no smaller when it is judged."""


@dataclass(frozen=True)
class ClassOutcome:
    """What a tree says of validation rows, (n_rows, n_classes) each, and the truth."""

    margin: Floats
    """Margins, in units of the tree."""
    share: Floats
    """Shares of the classes in the leaf."""
    y: Ints
    weight: Floats
    n_leaves: int
    n_columns: int = 0
    """Columns that the splits read, counted anew in each split."""


@dataclass(frozen=True)
class RegressionOutcome:
    """What the trees with the same splits and leaves fitted in several ways predict for validation rows."""

    output: Floats
    """(n_ways, n_rows, n_outputs), in standard deviations of the targets."""
    y: Floats
    weight: Floats
    ways: tuple[LeafFit, ...]
    n_leaves: int
    n_columns: int = 0
    """Columns that the splits read, counted anew in each split."""


@dataclass(frozen=True)
class Verdict:
    """The losses of a plan on all rows judged so far, in the order of the folds."""

    loss: Floats
    weight: Floats
    n_leaves: float
    """Mean number of leaves over the folds; a linear leaf counts twice."""
    answer: Floats
    """Probabilities, or numbers predicted in standard deviations, (n_rows, n_outputs)."""
    calibration: Calibration | None = None
    leaf_fit: LeafFit | None = None
    n_columns: float = 0.0
    """Mean number of columns that the splits of a tree read, counted anew in each of them."""
    score: float = float("nan")
    """Share of right classes, or R2 averaged over the outputs, as estimators score."""

    @property
    def mean(self) -> float:
        """Mean loss."""
        return float(np.average(self.loss, weights=self.weight))

    def behind(self, best: Verdict) -> tuple[float, float]:
        """Mean difference to the losses of another verdict on the same rows, and its standard error."""
        difference = self.loss - best.loss
        mean = float(np.average(difference, weights=self.weight))
        spread = float(np.sqrt(np.average(np.square(difference - mean), weights=self.weight)))
        share = self.weight / self.weight.sum()
        return mean, spread * float(np.sqrt(share @ share))


def judge_classes(outcomes: Sequence[ClassOutcome], before: Calibration | None = None) -> Verdict:
    """Judge a plan of a classifier by all its folds; its calibration is fitted from that of before, if there is one."""
    margin, share, y, weight = (
        np.concatenate([getattr(outcome, name) for outcome in outcomes]) for name in ("margin", "share", "y", "weight")
    )
    calibration = calibrate(margin, share, y, weight, before)
    chance = calibration.probabilities(margin, share)
    truth = np.eye(margin.shape[1])[y]
    is_right = share.argmax(axis=1) == y
    loss = 0.5 * ~is_right + np.square(chance - truth).sum(axis=1)
    score = float(np.average(is_right, weights=weight))
    return Verdict(
        loss, weight, _mean_leaves(outcomes), chance, calibration,
        n_columns=float(np.mean([outcome.n_columns for outcome in outcomes])), score=score,
    )  # fmt: skip


def judge_numbers(outcomes: Sequence[RegressionOutcome], loss: LossName, parameter: float) -> Verdict:
    """Judge a plan of a regressor by all its folds, with the way to fit leaves that does best."""
    output = np.concatenate([outcome.output for outcome in outcomes], axis=1)
    y, weight = (np.concatenate([getattr(outcome, name) for outcome in outcomes]) for name in ("y", "weight"))
    losses = [answer_losses(way, y, loss, parameter) for way in output]
    best = int(np.argmin([np.average(each, weights=weight) for each in losses]))
    leaf_fit = outcomes[0].ways[best]
    n_leaves = _mean_leaves(outcomes) * (2 if leaf_fit.linear else 1)
    n_columns = float(np.mean([outcome.n_columns for outcome in outcomes]))
    score = _r2(output[best], y, weight)
    return Verdict(losses[best], weight, n_leaves, output[best], leaf_fit=leaf_fit, n_columns=n_columns, score=score)


def answer_losses(answer: Floats, y: Floats, loss: LossName, parameter: float) -> Floats:
    """Loss of each answer of a tree, (n_rows, n_outputs); its mean over the outputs.

    Answers to deviances are means, which are positive.
    """
    prediction = np.log(np.maximum(answer, SMALLEST_MEAN)) if loss in DEVIANCES else answer
    return losses_of(prediction, y, LOSSES[loss], parameter).mean(axis=1)


def is_behind(verdict: Verdict, best: Verdict) -> bool:
    """Whether a plan is so far behind that more rows will hardly change it."""
    mean, error = verdict.behind(best)
    return mean > FAR_BEHIND * error


def simplest_of_best(verdicts: Sequence[Verdict], tolerance: float) -> int:
    """The plan with the fewest leaves among those within ``tolerance`` standard errors of the best."""
    return min(near_best(verdicts, tolerance), key=lambda n: (verdicts[n].n_leaves, verdicts[n].mean, n))


def sparsest_of_best(verdicts: Sequence[Verdict], tolerance: float) -> int:
    """The plan whose splits read the fewest columns, within ``tolerance`` standard errors of the best.

    What a person has to read are the columns of every split; so a tree of many splits on one column each is not
    sparser than one of a few splits on two.
    """
    return min(
        near_best(verdicts, tolerance),
        key=lambda n: (verdicts[n].n_columns, verdicts[n].n_leaves, verdicts[n].mean, n),
    )


def near_best(verdicts: Sequence[Verdict], tolerance: float) -> list[int]:
    """The plans that are behind the best by no more than ``tolerance`` standard errors."""
    best = min(verdicts, key=lambda verdict: verdict.mean)
    behind = [verdict.behind(best) for verdict in verdicts]
    return [n for n, (mean, error) in enumerate(behind) if mean <= tolerance * error]


def _r2(output: Floats, y: Floats, weight: Floats) -> float:
    left = weight @ np.square(output - y)
    spread = weight @ np.square(y - np.average(y, axis=0, weights=weight))
    return float(np.mean(np.where(spread > 0, 1 - left / np.where(spread > 0, spread, 1), left == 0)))


def _mean_leaves(outcomes: Sequence[ClassOutcome | RegressionOutcome]) -> float:
    return float(np.mean([outcome.n_leaves for outcome in outcomes]))
