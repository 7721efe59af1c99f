"""How claims are printed: ends of proved ranges are rounded outwards, witnesses are written in full.

A proof of ``[0, 2.0000001]`` is no proof of ``[0, 2]``. And a witness that is rounded may be another input: what is
printed here can be read back and replayed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.tree import Model
from dtsemnet.tree.wording import number_text, outward_text

__all__ = ["end_text", "row_text", "share_text", "value_text"]

DIGITS = 6


def end_text(number: float, *, up: bool) -> str:
    """Write one end of a claim with six digits, rounded up or down.

    Examples
    --------
    >>> end_text(2.0000001, up=True), end_text(2.0000001, up=False), end_text(np.inf, up=True)
    ('2.00001', '2', 'inf')
    """
    text = number_text(number, DIGITS)  # of doubles: 0.1 reads back as the same double
    return text if float(text) == number or not np.isfinite(number) else outward_text(number, DIGITS, up=up)


def value_text(value: Any) -> str:
    """Write the value of a column so that it reads back as the same value.

    Examples
    --------
    >>> value_text(0.1), value_text(3.0), value_text("red"), value_text(None)
    ('0.1', '3', "'red'", 'None')
    """
    if isinstance(value, (float, np.floating)):
        number = float(value) + 0.0
        return f"{number:.0f}" if number.is_integer() and abs(number) < 1e7 else repr(number)
    return repr(value.item() if isinstance(value, np.generic) else value)


def row_text(model: Model, row: Array) -> str:
    """Write a row with the names of its columns."""
    pairs = zip(model.encoder.columns, row.tolist())
    return ", ".join(f"{column.name} = {value_text(value)}" for column, value in pairs)


def share_text(model: Model) -> str:
    """What a leaf holds for each class; it is what `predict_proba` says, unless that weighs it by margins."""
    return "probability" if model.probability is None else "share in the leaf"
