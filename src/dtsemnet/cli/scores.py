"""How well predictions fit: the figures that fit and evaluate show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Floats, Ints

__all__ = ["class_scores", "codes_of", "number", "regression_scores"]


def codes_of(y: Array, class_names: Sequence[Any]) -> Ints:
    """Number of each label among the classes, -1 for one that is none of them.

    Examples
    --------
    >>> codes_of(np.array(["b", "a", "z"]), ["a", "b"])
    array([ 1,  0, -1])
    """
    place = {name: i for i, name in enumerate(class_names)}
    return np.array([place.get(label, -1) for label in y.tolist()], dtype=np.int64)


def class_scores(codes: Ints, predicted: Ints, probability: Floats) -> dict[str, float]:
    """Accuracy, balanced accuracy and log loss; a label that is none of the classes counts as missed.

    Log loss leaves such rows out, since the model gives them no probability.

    Examples
    --------
    >>> class_scores(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([[1.0, 0], [0.5, 0.5], [0, 1]]))["accuracy"]
    0.6666666666666666
    """
    hit = codes == predicted
    recall = [float(hit[codes == code].mean()) for code in np.unique(codes)]
    known = codes >= 0
    own = probability[known, codes[known]]
    with np.errstate(divide="ignore"):
        loss = float(-np.log(own).mean()) if known.any() else float("nan")
    return {"accuracy": float(hit.mean()), "balanced accuracy": float(np.mean(recall)), "log loss": loss}


def regression_scores(y: Floats, predicted: Floats) -> dict[str, float]:
    """Root mean squared error, mean absolute error and R2 (not a number where y does not vary).

    Examples
    --------
    >>> regression_scores(np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    {'RMSE': 1.0, 'MAE': 1.0, 'R2': 0.0}
    """
    error = predicted - y
    spread = float(((y - y.mean()) ** 2).sum())
    return {
        "RMSE": float(np.sqrt((error**2).mean())),
        "MAE": float(np.abs(error).mean()),
        "R2": 1 - float((error**2).sum()) / spread if spread > 0 else float("nan"),
    }


def number(value: float | None) -> str:
    """A figure for people: four significant digits, no exponent where it can be helped.

    Examples
    --------
    >>> number(0.97222), number(12345.678), number(None)
    ('0.9722', '12,346', '-')
    """
    if value is None or value != value:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.4g}"
    return f"{value:.4g}" if abs(value) < 1e-4 and value else f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"
