"""Domains: the set of inputs that a statement is about.

A domain is a box of the columns as the user has them, cut by linear constraints ``A x <= b``. Columns may be integers,
fixed, restricted to some categories, or allowed to be missing. A proof covers every input of the domain that doubles
can represent; a witness lies in it exactly, which is checked in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Floats
from dtsemnet.tree._validate import Scalar
from dtsemnet.tree.encoder import is_missing

__all__ = ["Domain"]

Name = int | str


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """A box, linear constraints, and restrictions of single columns.

    Parameters
    ----------
    lower, upper : float or array_like of shape (n_columns,)
        Ends of the box, which belong to it. Entries for columns of categories are ignored.
    A : array_like of shape (n_constraints, n_columns), optional
    b : array_like of shape (n_constraints,), optional
        Linear constraints ``A @ x <= b``. Few doubles satisfy an equality; if one column can be held, use ``fixed``.
    integer : sequence of int or str, default=()
        Columns, by number or name, that hold integers.
    fixed : mapping of column to value, optional
        Columns held at a number or a category.
    categories : mapping of column to sequence, optional
        Categories that may occur; by default those that the model knows. A value that the model does not know
        represents all such values, None a missing one.
    missing : sequence of int or str, default=()
        Columns of numbers whose values may be missing. Only columns that mark missing values by a feature need to be
        named: elsewhere a missing value counts as its fill, and lies in the domain if that does.
    ranges : mapping of column to (low, high), optional
        Narrower ends of single columns; see :meth:`narrow`.

    Examples
    --------
    >>> Domain([0, 0], [10, 5], A=[[1, 1]], b=[12], integer=[1])
    Domain(2 columns, 1 constraint, 1 integer)
    >>> Domain(0.0, 1.0)
    Domain(any number of columns)
    """

    lower: Floats
    upper: Floats
    A: Floats | None = None
    b: Floats | None = None
    integer: tuple[Name, ...] = ()
    fixed: Mapping[Name, Any] = field(default_factory=dict)
    categories: Mapping[Name, tuple[Scalar | None, ...]] = field(default_factory=dict)
    missing: tuple[Name, ...] = ()
    ranges: Mapping[Name, tuple[float, float]] = field(default_factory=dict)

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        integer: Sequence[Name] = (),
        fixed: Mapping[Name, Any] | None = None,
        categories: Mapping[Name, Sequence[Scalar | None]] | None = None,
        missing: Sequence[Name] = (),
        ranges: Mapping[Name, tuple[float, float]] | None = None,
    ) -> None:
        low, high = _end("lower", lower), _end("upper", upper)
        try:
            low, high = (np.array(end) for end in np.broadcast_arrays(low, high))
        except ValueError:
            raise ValueError(f"lower and upper must have one length, got {len(low)} and {len(high)}.") from None
        for j, (least, most) in enumerate(zip(np.atleast_1d(low), np.atleast_1d(high))):
            if least > most:
                raise ValueError(
                    f"lower must not exceed upper, got {least} > {most} in column {j}; the domain would be empty."
                )
        matrix, bound = _constraints(A, b, low)
        allowed = {name: tuple(values) for name, values in (categories or {}).items()}
        narrowed = {name: _range(name, ends) for name, ends in (ranges or {}).items()}
        parts = low, high, matrix, bound, tuple(integer), dict(fixed or {}), allowed, tuple(missing), narrowed
        for entry, part in zip(fields(self), parts):
            object.__setattr__(self, entry.name, part)

    @classmethod
    def from_data(cls, X: Any, *, margin: float = 0.0, integer: Sequence[Name] = ()) -> Domain:
        """Make the smallest domain that holds all rows: ranges, categories seen, columns with missing values.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_columns), or data frame
        margin : float, default=0.0
            Share of its range by which each column of numbers is widened at both ends.
        integer : sequence of int or str, default=()
            Columns of integers.

        Examples
        --------
        >>> domain = Domain.from_data([[1.0, 5.0], [3.0, 2.0]], margin=0.5)
        >>> domain.lower, domain.upper
        (array([0. , 0.5]), array([4. , 6.5]))
        """
        if hasattr(X, "columns"):
            table: dict[Name, Any] = {name: np.asarray(X[name].to_numpy()) for name in X.columns}
        else:
            table = dict(enumerate(np.asarray(X).T))
        low, high = np.full(len(table), -np.inf), np.full(len(table), np.inf)
        categories: dict[Name, Any] = {}
        missing = []
        for j, (name, values) in enumerate(table.items()):
            is_absent = is_missing(values)
            present = values[~is_absent]
            try:
                numbers = present.astype(np.float64) if values.dtype.kind != "U" else None
            except (TypeError, ValueError):
                numbers = None
            if numbers is None:
                categories[name] = [*dict.fromkeys(present.tolist()), *([None] if is_absent.any() else [])]
            elif not len(numbers):
                raise ValueError(f"X must hold a value in every column, but column {name!r} has none; drop it.")
            else:
                width = margin * (numbers.max() - numbers.min())
                low[j], high[j] = numbers.min() - width, numbers.max() + width
                missing += [name] if is_absent.any() else []
        return cls(low, high, categories=categories, missing=missing, integer=integer)

    @classmethod
    def from_space(cls, space: Any, *, limit: float | None = None, integer: Sequence[Name] = ()) -> Domain:
        """Make a domain from the bounds of an environment's observations, for proofs about a policy.

        Parameters
        ----------
        space : gymnasium.spaces.Box
            For example ``env.observation_space``, of one dimension.
        limit : float, optional
            Ends beyond it, or infinite ones, are moved there. Many environments bound some of their observations by the
            largest float, which excludes nothing.
        integer : sequence of int or str, default=()
            Observations that are integers, for example contacts, which are 0 or 1.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> space = SimpleNamespace(low=np.array([-1.0, -np.inf]), high=np.array([1.0, np.inf]))
        >>> domain = Domain.from_space(space, limit=10.0)
        >>> domain.lower, domain.upper
        (array([ -1., -10.]), array([ 1., 10.]))
        """
        low, high = getattr(space, "low", None), getattr(space, "high", None)
        if low is None or high is None or np.ndim(low) != 1:
            raise TypeError(
                f"space must be a Box of one dimension, got {space!r}; flatten it, or give the ends to Domain."
            )
        if limit is not None and not (np.isfinite(limit) and limit > 0):
            raise ValueError(f"limit must be a positive number, got {limit!r}.")
        reach = np.inf if limit is None else limit
        return cls(*np.clip(np.asarray([low, high], dtype=np.float64), -reach, reach), integer=integer)

    def narrow(self, ranges: Mapping[Name, tuple[float, float]]) -> Domain:
        """Make the part of the domain in which some columns lie between two numbers.

        Examples
        --------
        >>> Domain(-1.0, 1.0).narrow({"angle": (0.1, 0.5), "speed": (0.0, 1.0)})
        Domain(any number of columns, 2 narrowed)
        """
        merged = dict(self.ranges)
        for name, ends in ranges.items():
            low, high = _range(name, ends)
            before = merged.get(name, (-np.inf, np.inf))
            merged[name] = max(low, before[0]), min(high, before[1])
        return replace(self, ranges=merged)

    @property
    def n_columns(self) -> int | None:
        """Number of columns; None if the ends are single numbers, which fit any number of columns."""
        return len(self.lower) if self.lower.ndim else None

    def __repr__(self) -> str:
        parts = ["any number of columns" if self.n_columns is None else _count(self.n_columns, "column")]
        parts += [] if self.b is None else [_count(len(self.b), "constraint")]
        words = {"ranges": "narrowed", "integer": "integer", "fixed": "fixed", "missing": "may be missing"}
        parts += [f"{len(getattr(self, name))} {word}" for name, word in words.items() if getattr(self, name)]
        return f"Domain({', '.join(parts)})"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _range(name: Name, ends: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise ValueError(f"ranges must hold two numbers per column, got {ends!r} for column {name!r}.") from None
    if not low <= high:
        raise ValueError(f"ranges of column {name!r} must go from low to high, got {low} and {high}.")
    return low, high


def _end(name: str, given: ArrayLike) -> Floats:
    array = np.asarray(given)
    if array.ndim > 1 or array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be a number or one number per column, got {array.dtype} of shape {array.shape}.")
    array = array.astype(np.float64)
    if np.isnan(array).any():
        raise ValueError(f"{name} must not hold NaN; write -inf or inf for a column without an end.")
    return array


def _constraints(A: ArrayLike | None, b: ArrayLike | None, low: Floats) -> tuple[Floats | None, Floats | None]:
    if (A is None) != (b is None):
        raise ValueError("A and b must be given together, as A @ x <= b.")
    if A is None or b is None:
        return None, None
    matrix, bound = np.asarray(A, dtype=np.float64), np.atleast_1d(np.asarray(b, dtype=np.float64))
    is_finite = np.isfinite(matrix).all() and np.isfinite(bound).all()
    if matrix.ndim != 2 or bound.shape != (len(matrix),) or not is_finite:
        raise ValueError(
            f"A must be finite of shape (n_constraints, n_columns) and b of shape (n_constraints,), "
            f"got {matrix.shape} and {bound.shape}."
        )
    if low.ndim and matrix.shape[1] != len(low):
        raise ValueError(f"A has {matrix.shape[1]} columns, but lower and upper have {len(low)}.")
    return matrix, bound
