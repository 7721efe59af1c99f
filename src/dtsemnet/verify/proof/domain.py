"""Domains: the set of inputs that a statement is about.

A domain is a box of the columns as the user has them, cut by linear constraints ``A x <= b``. Columns may be integers,
fixed, restricted to some categories, or allowed to be missing. A proof covers every input of the domain that doubles
can represent; a witness lies in it exactly, which is checked in rational arithmetic.

A domain is written down without a model. What a column is, numbers or categories, is for the model's encoder to say;
:func:`dtsemnet.verify.proof.binding.bind` reads the domain that way. A domain made from a table therefore keeps both
readings of a column: the range of its numbers, and the values seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Floats
from dtsemnet.names import shown
from dtsemnet.tree._validate import Scalar, not_negative, real
from dtsemnet.tree.encoder import as_array, is_missing
from dtsemnet.tree.frames import as_frame

__all__ = ["Domain"]

Name = int | str

MAX_VALUES = 1000
"""A column of a table with more values than this is not listed value by value."""


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """A box, linear constraints, and restrictions of single columns.

    Parameters
    ----------
    lower, upper : float or array_like of shape (n_columns,)
        Ends of the box, which belong to it. Entries for columns of categories are ignored. The index of a pandas Series
        names the columns.
    A : array_like of shape (n_constraints, n_columns), optional
    b : array_like of shape (n_constraints,), optional
        Linear constraints ``A @ x <= b``. Few doubles satisfy an equality; if one column can be held, use ``fixed``.
    integer : sequence of int or str, default=()
        Columns, by number or name, that hold integers.
    fixed : mapping of column to value, optional
        Columns held at a number or a category; None holds a column of categories at a missing value.
    categories : mapping of column to sequence, optional
        Categories that may occur, all of them known to the model; by default those that it knows. None or NaN stands
        for a missing value.
    missing : sequence of int or str, default=()
        Columns whose values may be missing. A missing value that the model fills in lies in the domain also if its fill
        does.
    ranges : mapping of column to (low, high), optional
        Narrower ends of single columns; see :meth:`narrow`.
    unknown : sequence of int or str, default=()
        Columns of categories that may hold values that the model does not know.
    names : sequence of str, optional
        Names of the columns of ``lower``, ``upper`` and ``A``. If the model has names, too, columns are matched by
        name, as ``predict`` matches those of a data frame; else by position.
    seen : mapping of column to sequence or None, optional
        Values of a table, as :meth:`from_data` finds them; None for more than a thousand. They are the categories that
        may occur where the model reads categories and ``categories`` does not say; for None, any value may.

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
    unknown: tuple[Name, ...] = ()
    names: tuple[str, ...] | None = None
    seen: Mapping[Name, tuple[Scalar, ...] | None] = field(default_factory=dict)

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
        unknown: Sequence[Name] = (),
        names: Sequence[str] | None = None,
        seen: Mapping[Name, Sequence[Scalar] | None] | None = None,
    ) -> None:
        names = (
            tuple(names) if names is not None else next((_index(end) for end in (lower, upper) if _index(end)), None)
        )
        low, high = (_end(name, _in_order(name, end, names)) for name, end in (("lower", lower), ("upper", upper)))
        try:
            low, high = (np.array(end) for end in np.broadcast_arrays(low, high))
        except ValueError:
            raise ValueError(f"lower and upper must have one length, got {len(low)} and {len(high)}.") from None
        for j, (least, most) in enumerate(zip(np.atleast_1d(low), np.atleast_1d(high))):
            if least > most:
                raise ValueError(
                    f"lower must not exceed upper, got {least} > {most} in column {j}; the domain would be empty."
                )
        matrix, bound = _constraints(_in_order("A", A, names), b, low)
        if names is not None:
            _check_names(names, len(low) if low.ndim else None if matrix is None else matrix.shape[1])
        lists = {"integer": integer, "missing": missing, "unknown": unknown}
        maps = {"fixed": fixed, "categories": categories, "ranges": ranges, "seen": seen}
        for argument, given in (lists | {name: given or {} for name, given in maps.items()}).items():
            _check_columns(argument, given)
        allowed = {name: _listed("categories", name, values) for name, values in (categories or {}).items()}
        narrowed = {name: _range(name, ends) for name, ends in (ranges or {}).items()}
        found = {name: None if values is None else tuple(values) for name, values in (seen or {}).items()}
        parts = (
            low, high, matrix, bound, tuple(integer), dict(fixed or {}), allowed, tuple(missing), narrowed,
            tuple(unknown), names, found,
        )  # fmt: skip
        for entry, part in zip(fields(self), parts):
            object.__setattr__(self, entry.name, part)

    @classmethod
    def from_data(cls, X: Any, *, margin: float = 0.0, integer: Sequence[Name] = ()) -> Domain:
        """Make the smallest domain that holds all rows: ranges, categories seen, columns with missing values.

        A column of numbers that the model reads as categories is restricted to the values seen, and one of more than a
        thousand values is not restricted at all.

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
        margin = not_negative("margin", margin)
        names, X = None, as_frame(X)
        if hasattr(X, "columns"):
            names = tuple(X.columns) if all(isinstance(name, str) for name in X.columns) else None
            columns = [np.asarray(X.iloc[:, j].to_numpy() if hasattr(X, "iloc") else X[name].to_numpy())
                       for j, name in enumerate(X.columns)]  # fmt: skip
        else:
            array = as_array(X)
            if array.ndim != 2:
                raise ValueError(f"X must be a table of shape (n_samples, n_columns), got shape {array.shape}.")
            columns = list(array.T)
        low, high = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        seen: dict[Name, Any] = {}
        missing: list[Name] = []
        for j, values in enumerate(columns):
            name: Name = j if names is None else names[j]
            is_absent = is_missing(values)
            present = values[~is_absent]
            missing += [name] if is_absent.any() else []
            seen[name] = _values(present)
            numbers = _numbers(present)
            if numbers is not None and len(numbers):
                width = margin * (numbers.max() - numbers.min())
                low[j], high[j] = numbers.min() - width, numbers.max() + width
        return cls(low, high, missing=missing, integer=integer, names=names, seen=seen)

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
        reach = np.inf if limit is None else real(limit)
        if reach is None or not reach > 0 or reach == limit == np.inf:
            raise ValueError(f"limit must be a positive number, got {shown(limit)}.")
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
        words |= {"unknown": "may be unknown"}
        parts += [f"{len(getattr(self, name))} {word}" for name, word in words.items() if getattr(self, name)]
        return f"Domain({', '.join(parts)})"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _index(given: Any) -> tuple[str, ...] | None:
    """Names of the entries of a pandas Series."""
    if not (hasattr(given, "index") and hasattr(given, "keys")):
        return None
    index = tuple(given.index)
    return index if index and all(isinstance(name, str) for name in index) else None


def _in_order(argument: str, given: Any, names: tuple[str, ...] | None) -> Any:
    """Put the entries of a Series, or the columns of a data frame, in the order of the names."""
    if names is None:
        return given
    found = tuple(given.columns) if hasattr(given, "columns") else _index(given)
    if found is None or found == names:
        return given
    if set(found) != set(names) or len(found) != len(names):
        raise ValueError(f"{argument} names the columns {list(found)[:5]}, but the domain has {list(names)[:5]}.")
    return given[list(names)]


def _check_names(names: tuple[str, ...], width: int | None) -> None:
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if not all(isinstance(name, str) for name in names) or twice is not None:
        raise ValueError(
            f"names must be distinct texts, got {list(names)[:5]}{f' with {twice!r} twice' * bool(twice)}."
        )
    if width is not None and width != len(names):
        raise ValueError(f"names must name {width} columns, got {len(names)}.")


def _check_columns(argument: str, given: Iterable[Any]) -> None:
    """Check that columns are named by number or name."""
    if isinstance(given, str):
        raise ValueError(f"{argument} must be a sequence of columns, got {given!r}; write [{given!r}].")
    for name in given:
        if isinstance(name, bool) or not isinstance(name, (int, str, np.integer)):
            raise ValueError(f"{argument} must name columns by number or name, got {name!r}.")


def _listed(argument: str, name: Name, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(f"{argument} must list the values of column {name!r}, got {values!r}; write [{values!r}].")
    return tuple(values)


def _numbers(present: Array) -> Floats | None:
    """The values of a column as an encoder reads numbers; None if they are none."""
    try:
        return present.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _values(present: Array) -> tuple[Any, ...] | None:
    """The values of a column as an encoder reads categories; None if there are many."""
    if present.dtype.kind in "fiub":
        # Most columns of numbers show in few rows that they have too many values, and need no sorting.
        if len(np.unique(present[: 2 * MAX_VALUES])) > MAX_VALUES:
            return None
        found = np.unique(present).tolist()
    else:
        try:
            found = list(dict.fromkeys(present.tolist()))
        except TypeError:
            return None
    return tuple(found) if len(found) <= MAX_VALUES else None


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
