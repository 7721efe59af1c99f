"""Checks of what users pass beside X: every error names the argument, what came, and the way out.

Values are checked once, where the user enters. Errors of numpy and scikit-learn that do not say
which argument they are about are passed on with its name (:func:`naming`).
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from dtsemnet.arrays import Array, Floats
from dtsemnet.estimators.persistence import MOST_ROWS, Rule, number, or_none, whole
from dtsemnet.fit.data import without_overflow
from dtsemnet.fit.settings import HAVE_MEANS
from dtsemnet.kernels.regression import DEVIANCES
from dtsemnet.names import shown

__all__ = [
    "RULES",
    "TRAINING",
    "VALIDATION",
    "Names",
    "check_coverage",
    "check_length",
    "check_sparsity",
    "check_means",
    "check_targets",
    "class_factors",
    "naming",
    "read_seed",
    "read_weight",
    "warn_user",
]

_BETWEEN = frozenset({"dtsemnet", "sklearn", "joblib", "contextlib"})
"""Packages whose lines may lie between a warning and the user's own line."""


class Names(NamedTuple):
    """What the user calls the rows, their targets and their weights."""

    X: str = "X"
    y: str = "y"
    weight: str = "sample_weight"


TRAINING = Names()
VALIDATION = Names("X_val", "y_val", "sample_weight_val")

RULES: dict[str, Rule] = {
    "batch_size": whole(1, MOST_ROWS),
    "max_iter": or_none(whole(1, MOST_ROWS)),
    "checkpoint": or_none(
        Rule(lambda value: isinstance(value, (str, Path)) and not Path(value).is_file(), "the path of a folder")
    ),
    "device": or_none(Rule(lambda value: isinstance(value, str), "the name of a device, such as 'cpu' or 'cuda'")),
    "verbose": Rule(
        lambda value: isinstance(value, (bool, np.bool_)) or whole(0).is_legal(value),
        f"{whole(0).words}, or True or False",
    ),
}
"""Legal values of parameters that both of our estimators have."""


@contextmanager
def naming(argument: str, task: str = "cannot be read as numbers") -> Iterator[None]:
    """Let errors that are raised inside name the argument, if they do not already.

    Examples
    --------
    >>> with naming("y"):
    ...     float("a")
    Traceback (most recent call last):
    ...
    ValueError: y cannot be read as numbers: could not convert string to float: 'a'
    """
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"{argument} holds a number that is too large for float64 ({error}).") from None
    except (TypeError, ValueError) as error:
        if re.search(rf"\b{argument}\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        reason = " ".join(str(error).split())
        raise kind(f"{argument} {task}: {reason if len(reason) <= 300 else f'{reason[:297]}...'}") from None


def check_length(y: Any, n_rows: int, names: Names) -> None:
    """Refuse targets that are no sequence, or not one for each row."""
    with naming(names.y, "must be an array of targets"):
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    if not shape:
        raise TypeError(f"{names.y} must be an array of {n_rows} targets, one for each row, got {shown(y)}.")
    if shape[0] != n_rows:
        raise ValueError(
            f"{names.X} and {names.y} have inconsistent numbers of samples: {n_rows} and {shape[0]}; pass one target "
            "for each row."
        )


def read_weight(weight: Any, n_rows: int, name: str) -> Floats:
    """Check the weights of rows; None means 1 each."""
    if weight is None:
        return np.ones(n_rows)
    with naming(name, "must hold one number for each row"):
        given: Array = np.asarray(weight)
        if given.dtype.kind not in "fiubO":
            raise ValueError(f"{name} must hold numbers, got {shown(weight)} of dtype {given.dtype}.")
        array = given.astype(np.float64)
    if array.ndim == 0:
        array = np.full(n_rows, float(array))
    if array.shape != (n_rows,):
        raise ValueError(f"{name} must have shape ({n_rows},), one weight for each row, got {array.shape}.")
    legal = np.isfinite(array) & (array >= 0)
    if not legal.all():
        row = int(np.flatnonzero(~legal)[0])
        raise ValueError(f"{name} must be finite and not negative; found {array[row]} in row {row}.")
    if not (array > 0).any():
        raise ValueError(f"{name} is zero for every row: nothing is left to fit.")
    return array


def class_factors(class_weight: Any, classes: Array, y: Array, weight: Floats) -> Floats:
    """The factor that ``class_weight`` gives to the weights of each class."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        relative, _ = without_overflow(weight)
        total = np.bincount(y, relative, len(classes))
        return np.where(total > 0, relative.sum() / (np.count_nonzero(total) * np.maximum(total, 1e-300)), 0.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be a dict of weights by class, 'balanced' or None, got {shown(class_weight)}."
        )
    factor = np.ones(len(classes))
    for label, value in class_weight.items():
        code = np.flatnonzero(classes == label)
        if not len(code):
            raise ValueError(f"class_weight names {label!r}, which is none of the classes {classes.tolist()}.")
        if not number(0).is_legal(value):
            raise ValueError(f"class_weight of {label!r} must be a finite number, not negative, got {shown(value)}.")
        factor[code] = float(value)
    if not (factor[y] * (weight > 0) > 0).any():
        raise ValueError(f"class_weight is zero for every class in y: nothing is left to fit; got {class_weight!r}.")
    return factor


def read_seed(random_state: Any) -> int:
    """Draw the seed of a fit from ``random_state``."""
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError:
        raise ValueError(
            "random_state must be a whole number from 0 to 2**32 - 1, a numpy RandomState or None, "
            f"got {shown(random_state)}."
        ) from None


def check_coverage(coverage: Any) -> None:
    """Refuse a coverage that is no probability."""
    if not (number(0, 1, above=True).is_legal(coverage) and coverage < 1):
        raise ValueError(f"coverage must lie between 0 and 1, such as 0.9, got {shown(coverage)}.")


def check_sparsity(estimator: Any) -> None:
    """Refuse ``sparsity="auto"`` if nothing is compared from which the number of columns could be chosen."""
    if estimator.sparsity is None:
        return
    fixed = {
        "effort": estimator.effort == 0, "n_init": estimator.n_init != "auto", "init": estimator.init is not None,
        "warm_start": bool(estimator.warm_start), "early_stopping": bool(estimator.early_stopping),
        "refit": not estimator.refit, "training": estimator.training != "annealed",
        "loss": getattr(estimator, "loss", "squared_error") not in HAVE_MEANS,
    }  # fmt: skip
    given = [name for name, is_fixed in fixed.items() if is_fixed]
    if given:
        raise ValueError(
            f"sparsity='auto' compares trees of several widths, but {given[0]}={getattr(estimator, given[0])!r} fixes "
            "the course of the fit; give max_split_features instead, or leave that out."
        )


def check_targets(estimator: Any, y: Floats, name: str = "y") -> None:
    """Refuse targets that are no counts, sizes or costs if the loss is a deviance."""
    if estimator.loss not in DEVIANCES:
        return
    is_legal = y > 0 if estimator.loss == "gamma" else y >= 0
    if not is_legal.all():
        least = "above 0" if estimator.loss == "gamma" else "of at least 0"
        raise ValueError(f"{name} must hold numbers {least} for loss={estimator.loss!r}, got {y[~is_legal][0]}.")


def check_means(estimator: Any, y: Floats) -> None:
    """Refuse leaves that are no means, and targets without a mean above 0, if the loss is a deviance."""
    if estimator.loss not in DEVIANCES:
        return
    if estimator.leaf != "constant":
        raise ValueError(
            f"loss={estimator.loss!r} needs leaf='constant': a leaf holds a mean, and a linear model is not positive; "
            f"got leaf={estimator.leaf!r}."
        )
    if not (y > 0).any(axis=0).all():
        raise ValueError(f"y is 0 in every row: loss={estimator.loss!r} finds no mean above 0; pass rows with some.")


def warn_user(message: str) -> None:
    """Warn at the user's own line, however many calls of this library, decorators and pipelines lie between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)
