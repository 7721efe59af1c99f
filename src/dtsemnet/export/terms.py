"""What every writer of code needs: the features of an encoder one by one, and sums in the documented order.

An exact export computes ``w . x + b`` in the order of :mod:`dtsemnet.kernels.routing`.
:func:`ordered_sum` writes that order down for any language: it joins the terms of a sum
two by two and leaves the language to say what a term and an addition look like. Terms
with a zero weight are left out, which changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from dtsemnet.kernels.routing import LANES
from dtsemnet.tree import Column, Encoder
from dtsemnet.tree._validate import Scalar

__all__ = ["Feature", "features_of", "ordered_sum"]

Term = TypeVar("Term")


@dataclass(frozen=True)
class Feature:
    """One number that the tree reads: a mapped column, the mark of a missing value, or that of a category."""

    column: Column
    place: int
    """Place of the column in the input."""
    kind: str
    """"number", "missing" or "category"."""
    category: Scalar | None = None


def features_of(encoder: Encoder) -> tuple[Feature, ...]:
    """List the features of an encoder in the order in which the tree reads them.

    Examples
    --------
    >>> encoder = Encoder([Column("age", missing="indicator"), Column("colour", categories=["red"])])
    >>> [(feature.kind, feature.place) for feature in features_of(encoder)]
    [('number', 0), ('missing', 0), ('category', 1)]
    """
    found = []
    for place, column in enumerate(encoder.columns):
        if column.categories is None:
            found.append(Feature(column, place, "number"))
        else:
            found += [Feature(column, place, "category", category) for category in column.categories]
        if column.missing is not None:
            found.append(Feature(column, place, "missing"))
    return tuple(found)


def ordered_sum(terms: Mapping[int, Term], add: Callable[[Term, Term], Term]) -> Term | None:
    """Join the terms of a sum in the documented order.

    Parameters
    ----------
    terms : mapping of int to term
        The products ``w[j] * x[j]`` by the place ``j`` of their feature; places that are absent are zero.
    add : callable
        Joins two terms.

    Returns
    -------
    term, or None where there is none

    Examples
    --------
    >>> ordered_sum({0: "a", 3: "b", 8: "c", 16: "d"}, lambda one, other: f"({one} + {other})")
    '(((a + d) + c) + b)'
    """
    lanes: list[Term | None] = [None] * LANES
    for j in sorted(terms):
        lanes[j % LANES] = _join(lanes[j % LANES], terms[j], add)
    half = LANES // 2
    while half:
        for k in range(half):
            lanes[k] = _join(lanes[k], lanes[k + half], add)
        half //= 2
    return lanes[0]


def _join(one: Term | None, other: Term | None, add: Callable[[Term, Term], Term]) -> Term | None:
    if one is None or other is None:
        return other if one is None else one
    return add(one, other)
