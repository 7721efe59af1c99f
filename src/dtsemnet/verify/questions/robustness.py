"""How far an input can be moved before its class changes, exactly.

The radius is the distance to the nearest input that the tree, as it runs in floating point, gives
another class. It comes as two numbers: ``lower`` is certified, no change within it alters the
class; ``upper`` is the distance of a point that has another class. They differ by rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.tree import Model, as_model
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import Space, bind
from dtsemnet.verify.proof.nearest import Found, Measure, nearest_leaf, read_norm
from dtsemnet.verify.proof.regions import Cuts

__all__ = ["Certified", "Robustness", "certify", "robustness"]

MAX_LOOKS = 4


@dataclass(frozen=True)
class Robustness:
    """Radius within which the class of one input does not change."""

    label: Any
    """Class of the input."""
    lower: float
    """Certified: every input nearer than this has the same class."""
    upper: float
    """Distance of ``point``; infinite where no input of another class was found."""
    point: Array | None
    """Nearest input of another class."""
    other: Any
    """Its class."""
    n_programs: int
    """Linear programs solved."""
    n_leaves: int
    """Leaves of other classes; those not asked a program were ruled out by bounds."""

    def __str__(self) -> str:
        if self.point is None:
            return f"class {self.label!r} does not change within {self.lower:.6g}"
        return f"class {self.label!r} does not change within {self.lower:.6g}; at {self.upper:.6g} it is {self.other!r}"


@dataclass(frozen=True, eq=False)
class Certified:
    """Which rows keep their class within a distance."""

    epsilon: float
    status: NDArray[np.str_]
    """ "certified", "broken" or "undecided" for each row."""
    points: tuple[Array | None, ...]
    """Of broken rows, an input within the distance that has another class."""
    correct: Bools | None = None
    """Whether the row's own class is the one given."""

    @property
    def share(self) -> float:
        """Share of rows certified; where labels were given, certified and correct."""
        good = self.status == "certified"
        return float((good if self.correct is None else good & self.correct).mean())

    def __str__(self) -> str:
        what = "certified" if self.correct is None else "certified and correct"
        open_ = int((self.status == "undecided").sum())
        more = f", {open_} undecided" if open_ else ""
        return f"{self.share:.1%} of {len(self.status)} rows {what} within {self.epsilon:g}{more}"


def robustness(tree: Any, x: Any, norm: Any = "inf", *, domain: Domain | None = None) -> Robustness:
    """Find the radius within which the class of an input cannot change, and the nearest input of another class.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier.
    x : array_like of shape (n_columns,)
        The input. Categories and missing values are held; numbers move.
    norm : "inf", 1 or 2, default="inf"
        Distance in the units of the columns: the largest change, their sum, or the Euclidean one (needs clarabel, the
        extra ``qp``).
    domain : Domain, optional
        Where inputs may lie; everywhere by default.

    Returns
    -------
    Robustness

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[3.0, 4.0]], [-10.0], [[1, 0], [0, 1]], class_names=["in", "out"])
    >>> for norm in ("inf", 1, 2):
    ...     print(robustness(tree, [0.0, 0.0], norm))
    class 'in' does not change within 1.42857; at 1.42857 it is 'out'
    class 'in' does not change within 2.5; at 2.5 it is 'out'
    class 'in' does not change within 2; at 2 it is 'out'
    """
    model, row, name = _read(tree, x, norm)
    label, other = _sides(model, row)
    if domain is not None:
        found = _search(hold(bind(model, domain), row), row, name, other)
    else:
        reach = 10.0 * (1.0 + float(np.abs(_numbers(model, row)).max(initial=0.0)))
        for scale in (1.0, 1e3, 1e6, 1e9):  # a nearest point inside the cube is the nearest of all; else look farther
            found = _search(around(model, row, scale * reach), row, name, other)
            if other.any():
                found.lower = min(found.lower, scale * reach)
            if found.upper <= scale * reach or not other.any():
                break
    after = None if found.row is None else _label(model, found.leaf)
    return Robustness(label, found.lower, found.upper, found.row, after, found.n_programs, int(other.sum()))


def certify(
    tree: Any,
    X: Any,
    epsilon: float,
    norm: Any = "inf",
    *,
    y: Any = None,
    domain: Domain | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Certified:
    """Prove for each row that no input within a distance has another class, or show one that has.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier.
    X : array_like of shape (n_samples, n_columns), or data frame
    epsilon : float
        The distance.
    norm : "inf", 1 or 2, default="inf"
    y : array_like of shape (n_samples,), optional
        True classes; then the share counts rows that are certified and correct.
    domain : Domain, optional
        Where inputs may lie; everywhere by default.
    n_jobs : int, optional
        Processes of joblib.
    progress : callable, optional
        Called with the number of rows done and of all rows.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[3.0, 4.0]], [-10.0], [[1, 0], [0, 1]], class_names=["in", "out"])
    >>> print(certify(tree, [[0.0, 0.0], [2.0, 0.5], [5.0, 5.0]], 1.0))
    66.7% of 3 rows certified within 1
    """
    from joblib import Parallel, delayed

    if not (np.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon must be a finite number not below 0, got {epsilon!r}.")
    model, rows = as_model(tree), _rows(tree, X)
    _read(model, rows[0], norm)
    jobs = (delayed(_certify_row)(model, row, float(epsilon), read_norm(norm), domain) for row in rows)
    done: list[tuple[str, Array | None]] = []
    for outcome in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        done.append(outcome)
        if progress is not None:
            progress(len(done), len(rows))
    status, points = zip(*done)
    correct = None if y is None else np.asarray(model.predict(rows) == np.asarray(y))
    return Certified(float(epsilon), np.array(status), tuple(points), correct)


def hold(space: Space, row: Array, columns: frozenset[int] = frozenset(), *, categories: bool = True) -> Space:
    """Hold columns at a row's values: those named, missing ones, and categories if asked for."""
    z = space.model.transform(row[None])[0].astype(np.float64)
    lower, upper = space.lower.copy(), space.upper.copy()
    if not (space.holds(row) and (lower <= z).all() and (z <= upper).all()):
        raise ValueError("x must lie in the domain; widen the domain, or take Domain.from_data over rows that hold x.")
    for j, column in enumerate(space.model.encoder.columns):
        place = space.first[j]
        part = slice(place, place + len(column.feature_names))
        missing = column.categories is None and column.missing is not None
        if j in columns or (categories and column.categories is not None) or (missing and z[place + 1] > 0.5):
            lower[part] = upper[part] = z[part]
        elif missing:
            lower[place + 1] = upper[place + 1] = 0.0
            if place + 1 in space.marks:
                lower[place], upper[place] = space.marks[place + 1][2:]
    return replace(space, lower=lower, upper=upper)


def around(model: Model, row: Array, reach: float) -> Space:
    """The cube around a row, rounded outwards."""
    numbers = _numbers(model, row)
    lower, upper = np.nextafter(numbers - reach, -np.inf), np.nextafter(numbers + reach, np.inf)
    categories: dict[Name, Any] = {
        j: (row[j],) for j, column in enumerate(model.encoder.columns) if column.categories is not None
    }
    missing = [j for j, column in enumerate(model.encoder.columns) if column.missing and column.categories is None]
    return hold(bind(model, Domain(lower, upper, categories=categories, missing=missing)), row)


def measure(space: Space, row: Array, norm: str, weight: Floats | None = None) -> Measure:
    """Distances from a row in the units of its columns, told in features; what the space holds does not move."""
    z = space.model.transform(row[None])[0].astype(np.float64)
    size = np.ones(len(z))
    for j, column in enumerate(space.model.encoder.columns):
        place = space.first[j]
        cost = 1.0 if weight is None else float(weight[j])
        if column.categories is not None:
            size[place : place + len(column.feature_names)] = cost / 2  # one category goes, another comes
            continue
        size[place] = cost / abs(column.scale) if column.scale else np.inf
        if space.lower[place] < space.upper[place] and z[place] in (column.lower, column.upper):
            raise ValueError(
                f"x is clipped in column {column.name!r}, where distances are not those of the features; "
                f"hold the column, or move x inside the range."
            )
    return Measure(norm, z, np.where(space.lower < space.upper, size, np.inf))


def _certify_row(
    model: Model, row: Array, epsilon: float, norm: str, domain: Domain | None
) -> tuple[str, Array | None]:
    _, other = _sides(model, row)
    space = around(model, row, epsilon) if domain is None else hold(bind(model, domain), row)
    found = _search(space, row, norm, other, limit=float(np.nextafter(epsilon, np.inf)))
    if found.row is not None and found.upper <= epsilon:
        return "broken", found.row
    return ("certified" if found.lower > epsilon else "undecided"), None


def _search(space: Space, row: Array, norm: str, other: Bools, limit: float = np.inf) -> Found:
    distance = measure(space, row, norm)
    found = nearest_leaf(Cuts(space), distance, other, limit=limit)
    if limit == np.inf:
        found = _look_closer(space, distance, other, found)
    return allow_for_maps(space, distance, found)


def _look_closer(space: Space, distance: Measure, other: Bools, found: Found) -> Found:
    """Search again in the cube that the best point spans: scores round less in a smaller box, and solvers see more."""
    for _ in range(MAX_LOOKS):
        if found.row is None or found.upper - found.lower <= 1e-6 * found.upper:
            break
        with np.errstate(divide="ignore"):
            reach = np.where(np.isfinite(distance.weight), found.upper / distance.weight, 0.0) * (1 + 1e-12)
        lower = np.maximum(space.lower, np.nextafter(distance.center - reach, -np.inf))
        upper = np.minimum(space.upper, np.nextafter(distance.center + reach, np.inf))
        closer = nearest_leaf(Cuts(replace(space, lower=lower, upper=upper)), distance, other)
        before = found.upper - found.lower
        best = closer if closer.upper <= found.upper else found
        # What lies outside the cube is no nearer than the point that spans it.
        proved = max(found.lower, min(closer.lower, found.upper))
        n_programs = found.n_programs + closer.n_programs
        found = replace(best, lower=min(proved, best.upper), n_programs=n_programs)
        if found.upper - found.lower > before / 2:
            break
    return found


def allow_for_maps(space: Space, distance: Measure, found: Found) -> Found:
    """Widen distances where features are rounded images of the columns that move."""
    slack = 0.0
    for j, column in enumerate(space.model.encoder.columns):
        weight = distance.weight[space.first[j]]
        if column.categories is None and not column.is_identity and np.isfinite(weight):
            most = max(abs(space.column_lower[j]), abs(space.column_upper[j])) + abs(column.center)
            slack += 16 * 2.0**-53 * float(weight) * abs(column.scale) * most
    if slack:
        found.lower = max(0.0, found.lower * (1 - 1e-14) - slack)
        found.upper = found.upper * (1 + 1e-14) + slack
    return found


def _read(tree: Any, x: Any, norm: Any) -> tuple[Model, Array, str]:
    model = as_model(tree)
    if not model.is_classifier:
        raise ValueError("tree is a regressor, and robustness speaks of classes; ask output_bounds on a small box.")
    return model, read_row(model, x), read_norm(norm)


def read_row(model: Model, x: Any) -> Array:
    """Read one row of columns."""
    plain = all(column.categories is None for column in model.encoder.columns)
    row = np.asarray(x, dtype=np.float64 if plain else object)
    row = row[0] if row.ndim == 2 and len(row) == 1 else row
    if row.shape != (model.encoder.n_columns,):
        raise ValueError(f"x must be one row of {model.encoder.n_columns} columns, got shape {np.shape(x)}.")
    return row


def _rows(tree: Any, X: Any) -> Array:
    model = as_model(tree)
    if hasattr(X, "columns"):
        X = np.column_stack([np.asarray(X[column.name], dtype=object) for column in model.encoder.columns])
    rows = np.array([read_row(model, row) for row in np.asarray(X)])
    if not len(rows):
        raise ValueError("X must hold at least one row, got none.")
    return rows


def _numbers(model: Model, row: Array) -> Floats:
    """The numbers of a row; 0 for categories, the fill for what is missing."""
    numbers = np.zeros(len(row))
    for j, column in enumerate(model.encoder.columns):
        if column.categories is None:
            x = np.nan if row[j] is None else float(row[j])
            numbers[j] = column.fill if np.isnan(x) else x
    return numbers


def _sides(model: Model, row: Array) -> tuple[Any, Bools]:
    """The class of a row, and which leaves have another."""
    leaf = int(model.apply(row[None])[0])
    return _label(model, leaf), np.asarray(model.tree.leaf_class != model.tree.leaf_class[leaf])


def _label(model: Model, leaf: int) -> Any:
    assert model.class_names is not None
    return model.class_names[int(model.tree.leaf_class[leaf])]
