"""Which columns may meet in one split (``interaction_cst``): read at the start of a fit, checked at its end."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from dtsemnet.arrays import Bools
from dtsemnet.fit.data import TrainingData
from dtsemnet.fit.settings import INTERACTIONS
from dtsemnet.fit.sparse import keep_groups
from dtsemnet.names import shown
from dtsemnet.tree import Encoder, Tree

__all__ = ["prove_groups", "read_groups"]


def read_groups(given: Any, encoder: Encoder) -> Bools | None:
    """Read the sets of columns that may meet, (n_groups, n_columns); None if all may, or if their number decides.

    Examples
    --------
    >>> read_groups([{0, 1}], Encoder.identity(["a", "b", "c", "d"])).tolist()
    [[True, True, False, False], [False, False, True, True]]
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given not in INTERACTIONS:
            raise _refused(given)
        return None
    if not isinstance(given, Iterable):
        raise _refused(given)
    names = [column.name for column in encoder.columns]
    groups = []
    for members in given:
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise _refused(given)
        group = np.zeros(len(names), bool)
        for column in members:
            group[_position(column, names)] = True
        groups.append(group)
    rest = ~np.any(groups, axis=0) if groups else np.ones(len(names), bool)
    kept = np.array([group for group in (*groups, rest) if group.any()])
    return None if kept.all(axis=1).any() else kept


def prove_groups(tree: Tree, data: TrainingData) -> None:
    """Check that each split of a fitted tree keeps to one group; an error would be one of this library."""
    if data.groups is not None and not keep_groups(tree.weight, data.column, data.groups).all():
        raise RuntimeError("the fitted tree breaks interaction_cst; please report this with the data.")


def _position(column: Any, names: list[str]) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, Integral) and not isinstance(column, bool) and 0 <= int(column) < len(names):
        return int(column)
    raise ValueError(
        f"interaction_cst names {shown(column)}, which is no column of X; give numbers from 0 to {len(names) - 1} or "
        f"some of {names[:5]}."
    )


def _refused(given: Any) -> ValueError:
    return ValueError(
        f"interaction_cst must be 'pairwise', 'no_interactions' or a list of sets of columns, got {shown(given)}."
    )
