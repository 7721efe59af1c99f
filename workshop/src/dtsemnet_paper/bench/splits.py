"""Splits: which rows are for training, validation and testing.

A rule is a function of the rows and a seed. The catalogue names the rule of each set:

- ``random``: a new split for each seed, stratified: half of the rows for training, a quarter
  for testing, a quarter for validation;
- ``fixed``: one random split for all seeds, a share for test, then a share of the rest
  for validation;
- ``holdout``: a new split for each seed, stratified: a share for test, the rest for training,
  no validation rows;
- ``rest``: one random split for all seeds, a share for training, and of the rest a share
  for test;
- ``official``: the test rows of the archive, one mask, or several that the seeds take in
  turn; validation rows are those of the archive or a share of the others. If the
  archive has no mask, ``splits`` random ones with a share ``test`` of the rows take its
  place, if the catalogue says so.

A method gets :class:`VisibleRows`: training and validation rows. Test rows are kept from it
and scored once, after the last choice is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from dtsemnet.arrays import Array, Ints
from dtsemnet_paper.bench.data import DataSet, take_rows

__all__ = ["RULES", "VisibleRows", "Split", "split_rows"]

Rows = Ints


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, and a line that says how they were chosen."""

    train: Rows
    validation: Rows
    test: Rows
    rule: str

    def visible_rows(self, data: DataSet, *, whole: bool = False) -> VisibleRows:
        """Take the rows that a method may see: training and validation rows, or all of them to train on.

        Validation rows of a class that no training row has are left out: no method can predict them.
        """
        X, y, validation = data.X, data.y, self.validation
        if whole:
            seen = np.sort(np.concatenate([self.train, validation]))
            return VisibleRows(take_rows(X, seen), y[seen], X[:0], y[:0])
        if data.spec.task == "classification":
            validation = validation[np.isin(y[validation], y[self.train])]
        return VisibleRows(take_rows(X, self.train), y[self.train], take_rows(X, validation), y[validation])


@dataclass(frozen=True)
class VisibleRows:
    """Rows that a method may see: copies, so that the test rows cannot be reached from them."""

    X: Any
    """An array of numbers, or a data frame."""
    y: Array
    X_val: Any
    y_val: Array


def split_rows(data: DataSet, seed: int) -> Split:
    """Split a set by its rule.

    Examples
    --------
    >>> from dtsemnet_paper.bench.data import DataSpec
    >>> spec = DataSpec("noise", "regression", 100, 1, split={"rule": "rest", "train": 0.7, "test": 0.7})
    >>> split = split_rows(DataSet(spec, np.zeros((100, 1)), np.zeros(100)), seed=0)
    >>> len(split.train), len(split.validation), len(split.test)
    (70, 9, 21)
    """
    options = dict(data.spec.split)
    rule = options.pop("rule", "random")
    if rule not in RULES:
        raise ValueError(f"split rule of {data.spec.name} must be one of {sorted(RULES)}, got {rule!r}.")
    return RULES[rule](data, seed, **options)


def _random(data: DataSet, seed: int, train: float = 0.5, test: float = 0.5) -> Split:
    rows = np.arange(len(data.y))
    chosen, rest = train_test_split(rows, train_size=train, stratify=_strata(data, rows), random_state=seed)
    tested, validation = train_test_split(rest, train_size=test, stratify=_strata(data, rest), random_state=seed)
    return Split(chosen, validation, tested, f"random {train}, then {test} of the rest to test, seed {seed}")


def _fixed(data: DataSet, seed: int, test: float = 0.2, validation: float = 0.2, random_state: int = 1) -> Split:
    rest, tested = train_test_split(np.arange(len(data.y)), test_size=test, random_state=random_state)
    # In the order of the archive, as the official rule has it, so that both draw validation rows alike.
    chosen, judged = train_test_split(np.sort(rest), test_size=validation, random_state=random_state)
    return Split(chosen, judged, np.sort(tested), f"fixed, {test} to test, then {validation} to validate")


def _holdout(data: DataSet, seed: int, test: float = 0.3) -> Split:
    rows = np.arange(len(data.y))
    chosen, tested = train_test_split(rows, test_size=test, stratify=_strata(data, rows), random_state=seed)
    return Split(chosen, rows[:0], tested, f"holdout, {test} to test, seed {seed}")


def _rest(data: DataSet, seed: int, train: float = 0.7, test: float = 0.7, random_state: int = 1) -> Split:
    chosen, rest = train_test_split(np.arange(len(data.y)), test_size=round(1 - train, 9), random_state=random_state)
    judged, tested = train_test_split(rest, test_size=test, random_state=random_state)
    return Split(chosen, judged, tested, f"fixed, {train} to train, then {test} of the rest to test")


def _official(
    data: DataSet, seed: int, validation: float = 0.2, random_state: int = 1, test: float | None = None, splits: int = 1
) -> Split:
    rows, masks = np.arange(len(data.y)), data.masks
    if "test_splits" in masks:
        number = seed % len(masks["test_splits"])
        tested, name = masks["test_splits"][number], f"official split {number + 1}"
    elif "test" in masks:
        tested, name = masks["test"], "official split"
    elif test is not None:
        number = 1 + seed % splits
        tested = np.isin(rows, train_test_split(rows, test_size=test, random_state=number)[1])
        name = f"{test} to test, split {number} of {splits}"
    else:
        raise ValueError(f"{data.spec.name} has no official split: its archive lacks the mask 'test'.")
    if "val" in masks:
        return Split(rows[~tested & ~masks["val"]], rows[masks["val"]], rows[tested], name)
    chosen, judged = train_test_split(rows[~tested], test_size=validation, random_state=random_state)
    return Split(chosen, judged, rows[tested], f"{name}, {validation} of the rest to validate")


RULES: dict[str, Callable[..., Split]] = {
    "random": _random, "fixed": _fixed, "holdout": _holdout, "rest": _rest, "official": _official,
}  # fmt: skip
"""The rules by name."""


def _strata(data: DataSet, rows: Rows) -> Array | None:
    """Classes to keep in proportion; none if a class has one row, which cannot be in two parts."""
    if data.spec.task != "classification":
        return None
    counts = np.bincount(data.y[rows])
    return data.y[rows] if counts[counts > 0].min() > 1 else None
