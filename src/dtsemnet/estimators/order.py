"""The order that a user asks for (``monotonic_cst``): read at the start of a fit, proved at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dtsemnet.arrays import Ints
from dtsemnet.names import shown
from dtsemnet.tree import Encoder, Tree
from dtsemnet.tree.order import keeps_order

__all__ = ["prove_order", "read_direction"]


def read_direction(given: Any, encoder: Encoder, n_classes: int | None) -> Ints | None:
    """Read the order of each encoded feature; None if none is asked for.

    Parameters
    ----------
    given : array_like of shape (n_columns,), or dict of column names
        1 if outputs must not fall as a column rises, -1 if they must not rise, 0 for any.
    encoder : Encoder
    n_classes : int or None
        None for a regressor.

    Examples
    --------
    >>> read_direction({"b": -1}, Encoder.identity(["a", "b"]), None)
    array([ 0, -1])
    """
    if given is None:
        return None
    by_column = _by_column(given, encoder)
    if not any(by_column):
        return None
    if n_classes is not None and n_classes > 2:
        raise ValueError(
            f"monotonic_cst needs two classes, whose second one it speaks of, but y has {n_classes}; leave it out, or "
            "fit one class against the others."
        )
    direction = np.zeros(len(encoder.feature_names), np.int64)
    for j, sign in enumerate(by_column):
        column = encoder.columns[j]
        if sign and column.categories is not None:
            raise ValueError(
                f"monotonic_cst of column {column.name!r} must be 0, got {sign}: its categories have no order; turn "
                "them into numbers first."
            )
        direction[encoder.features_of_column[j].start] = sign
    return direction


def prove_order(tree: Tree, direction: Ints | None) -> None:
    """Check the proof that a fitted tree keeps the order; an error would be one of this library."""
    for feature, sign in enumerate([] if direction is None else direction.tolist()):
        for output in range(int(tree.is_classifier), tree.n_outputs):
            if sign and not keeps_order(tree, feature, output, increasing=sign > 0):
                raise RuntimeError(
                    f"the fitted tree breaks monotonic_cst of feature {feature}; please report this with the data."
                )


def _by_column(given: Any, encoder: Encoder) -> list[int]:
    """The order of each column, checked."""
    names = [column.name for column in encoder.columns]
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"monotonic_cst names {shown(unknown[0])}, which is no column of X; name some of {names}.")
        values = [given.get(name, 0) for name in names]
    else:
        array = np.asarray(given)
        if array.shape != (len(names),):
            raise ValueError(
                f"monotonic_cst must have shape ({len(names)},), one number for each column of X, or be a dict of "
                f"column names, got {shown(given)}."
            )
        values = array.tolist()
    for name, value in zip(names, values):
        if isinstance(value, bool) or value not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst of column {name!r} must be -1, 0 or 1, got {shown(value)}.")
    return [int(value) for value in values]
