"""How far an input can be moved before its class changes, exactly.

The radius is the distance to the nearest input to which the tree, as it runs in floating point, gives
another class. It comes as two numbers: ``lower`` is certified, no change within it alters the
class; ``upper`` is the distance of a point that has another class. They differ by rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dtsemnet.arrays import Array, Bools
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model
from dtsemnet.tree._validate import not_negative
from dtsemnet.tree.wording import number_text
from dtsemnet.verify.proof.binding import bind, bind_around
from dtsemnet.verify.proof.certificates import Norm
from dtsemnet.verify.proof.claims import Claim, Evidence, Near, claim_near, just_below, plain_row
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, read_row, row_numbers, table_rows
from dtsemnet.verify.proof.file import Provable
from dtsemnet.verify.proof.nearest import Distance, NearestPoint, allow_for_maps, distance_from, nearest_leaf, read_norm
from dtsemnet.verify.proof.readings import Reading
from dtsemnet.verify.proof.regions import Cuts
from dtsemnet.verify.proof.row_jobs import ask_rows
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.proof.wording import end_text

__all__ = ["Certified", "Robustness", "RowStatus", "certify", "robustness"]

RowStatus = Literal["certified", "broken", "undecided"]

MAX_LOOKS = 4


@dataclass(frozen=True, repr=False)
class Robustness(Provable, Shown):
    """Radius within which the class of one input does not change."""

    label: Any
    lower: float
    """Certified: every input nearer than this has the same class."""
    upper: float
    """Distance of ``point``; infinite if no input of another class was found."""
    point: Array | None
    """Nearest input of another class, ``other``."""
    other: Any
    n_programs: int
    n_leaves: int
    """Leaves of other classes; bounds ruled out those that needed no program."""
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        text = f"class {self.label!r} does not change within {end_text(self.lower, up=False)}"
        return text if self.point is None else f"{text}; at {end_text(self.upper, up=True)} it is {self.other!r}"


@dataclass(frozen=True, eq=False, repr=False)
class Certified(Provable, Shown):
    """Which rows keep their class within a distance."""

    epsilon: float
    status: NDArray[np.str_]
    """A ``RowStatus`` per row: "certified", "broken" or "undecided"."""
    points: tuple[Array | None, ...]
    """For each broken row, an input within the distance that has another class."""
    correct: Bools | None = None
    """Whether the class of each row is the true one."""
    evidence: Evidence | None = field(default=None, repr=False)

    @property
    def share(self) -> float:
        """Share of rows certified; if true classes were given, certified and correct."""
        good = self.status == "certified"
        return float((good if self.correct is None else good & self.correct).mean())

    def __str__(self) -> str:
        what = "certified" if self.correct is None else "certified and correct"
        open_ = int((self.status == "undecided").sum())
        more = f", {open_} undecided" if open_ else ""
        return f"{self.share:.1%} of {len(self.status)} rows {what} within {number_text(self.epsilon, 6)}{more}"


def robustness(
    tree: Any, x: Any, norm: Any = "inf", *, domain: Domain | None = None, time_limit: float | None = None
) -> Robustness:
    """Find the radius within which the class of an input cannot change, and the nearest input of another class.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier.
    x : array_like of shape (n_columns,)
        The input. Categories and missing values are held; numbers move.
    norm : "inf", 1 or 2, default="inf"
        Distance in the units of the columns: the largest change, the sum of changes, or the Euclidean norm (needs the
        package clarabel, the extra ``qp``).
    domain : Domain, optional
        Inputs outside it do not count; by default every input does. The input lies in it.
    time_limit : float, optional
        Seconds; then ``lower`` is what is certified by then.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[3.0, 4.0]], [-10.0], [[1, 0], [0, 1]], class_names=["in", "out"])
    >>> for norm in ("inf", 1, 2):
    ...     print(robustness(tree, [0.0, 0.0], norm))
    class 'in' does not change within 1.42857; at 1.42858 it is 'out'
    class 'in' does not change within 2.49999; at 2.50001 it is 'out'
    class 'in' does not change within 1.99999; at 2.00001 it is 'out'
    """
    model = _classifier(tree)
    assert model.class_names is not None
    row, name, deadline = read_row(model, x), read_norm(norm), Deadline(time_limit)
    leaf = int(model.apply(row[None])[0])
    other = model.tree.leaf_class != model.tree.leaf_class[leaf]
    if domain is not None:
        best = _search(bind(model, domain, deadline=deadline).hold(row), row, name, deadline)
    else:
        reach = 10.0 * (1.0 + float(np.abs(row_numbers(model, row)).max(initial=0.0)))
        for scale in (1.0, 1e3, 1e6, 1e9):  # a nearest point inside the cube is the nearest of all; else look farther
            around = bind_around(model, row, scale * reach)
            best = _search(around, row, name, deadline)
            if not other.any() or not (around.lower < around.upper).any():
                break  # there is no other class, or nothing that moves
            best.lower = min(best.lower, scale * reach)
            if best.upper <= scale * reach or deadline.is_over:
                break
    names = [model.class_names[k] for k in model.tree.leaf_class.tolist()]
    label, after = names[leaf], None if best.row is None else names[best.leaf]
    given = None if domain is None else bind(model, domain)
    distances = tuple(just_below(best.lower)) if best.lower > 0 else ()
    tasks = [_Task(row, distances, "certified" if distances else "undecided")]
    tasks += [] if best.row is None else [_Task(row, (best.upper,), "broken", best.row)]
    evidence = _evidence(model, given, tasks, name)
    return Robustness(label, best.lower, best.upper, best.row, after, best.n_programs, int(other.sum()), evidence)


def certify(
    tree: Any,
    X: Any,
    epsilon: float,
    norm: Any = "inf",
    *,
    y: Any = None,
    domain: Domain | None = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Certified:
    """Prove for each row that no input within a distance has another class, or find one that has.

    Parameters
    ----------
    tree, norm, domain
        As in :func:`robustness`.
    X : array_like of shape (n_samples, n_columns), or data frame
    epsilon : float
        The distance.
    y : array_like of shape (n_samples,), optional
        True classes; then the share counts rows that are certified and correct.
    n_jobs : int, optional
        Processes of joblib.
    time_limit : float, optional
        Seconds for all rows; rows left at the end are undecided.
    progress : callable, optional
        Called with the number of rows done and of all rows.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[3.0, 4.0]], [-10.0], [[1, 0], [0, 1]], class_names=["in", "out"])
    >>> print(certify(tree, [[0.0, 0.0], [2.0, 0.5], [5.0, 5.0]], 1.0))
    66.7% of 3 rows certified within 1
    """
    epsilon = not_negative("epsilon", epsilon)
    model, name = _classifier(tree), read_norm(norm)
    rows = table_rows(model, X)
    if not len(rows):
        raise ValueError("X must hold at least one row, got none.")
    deadline = Deadline(time_limit)
    encoded = None if domain is None else bind(model, domain, deadline=deadline)
    for i, row in enumerate(rows if encoded is not None else ()):
        encoded.require(row, f"row {i} of X")  # type: ignore[union-attr]
    ask = partial(_certify_row, model, epsilon=epsilon, norm=name, domain=encoded, deadline=deadline)
    done = ask_rows(ask, rows, n_jobs, progress)
    status, points = zip(*done)
    correct = None if y is None else np.asarray(model.predict(rows) == np.asarray(y))
    tasks = [_Task(row, (epsilon,), *outcome) for row, outcome in zip(rows, done)]
    return Certified(epsilon, np.array(status), tuple(points), correct, _evidence(model, encoded, tasks, name))


class _Task(NamedTuple):
    """A statement to prove once more for a proof file."""

    row: Array
    distances: tuple[float, ...]
    """The first of them that can be proved is claimed."""
    status: RowStatus
    point: Array | None = None


def _evidence(model: Model, domain: EncodedDomain | None, tasks: list[_Task], norm: Norm) -> Evidence:
    """Evidence about rows; without a domain, on a box that holds all that is near them."""
    if domain is not None:
        return Evidence.on(domain, partial(_claims, model, domain, tasks, norm))
    most = max(float(np.abs(row_numbers(model, task.row)).max(initial=0.0)) for task in tasks)
    reach = max([_far(task.row, model) if np.isinf(d) else d for task in tasks for d in task.distances] or [0.0])
    end = 2.0 ** np.ceil(np.log2(2 * (most + reach) + 1))
    readings = tuple(
        Reading(column, -end, end, may_miss=column.missing is not None)
        if column.categories is None
        else Reading(column, categories=column.categories, may_be_unknown=True, may_miss=True)
        for column in model.encoder.columns
    )
    return Evidence(model, readings, None, partial(_claims, model, None, tasks, norm))


def _far(row: Array, model: Model) -> float:
    """A distance that stands for all distances, where no domain ends them."""
    return 1e6 * (1.0 + float(np.abs(row_numbers(model, row)).max(initial=0.0)))


def _claims(model: Model, domain: EncodedDomain | None, tasks: list[_Task], norm: Norm) -> list[Claim]:
    """Claims about the classes around rows."""
    claims = []
    held = tuple(j for j, column in enumerate(model.encoder.columns) if column.categories is not None)
    labels, leaf_class = model.class_names, model.tree.leaf_class
    assert labels is not None
    for row, distances, status, point in tasks:
        own = int(leaf_class[model.apply(row[None])[0]])
        far = 1e300 if domain is not None else _far(row, model)
        distances = tuple(far if np.isinf(d) else d for d in distances) or (0.0,)
        base = domain.hold(row) if domain is not None else bind_around(model, row, 4 * distances[0] + 1.0)
        near = Near(base, row, distance_from(base, row, norm), np.ones(len(row)), held)
        statement = {"kind": "never", "classes": [label for k, label in enumerate(labels) if k != own]}
        if status == "certified":
            claims.append(claim_near(near, distances, leaf_class != own, statement, Deadline(None)))
        elif status == "broken" and point is not None:
            claims.append(Claim(statement | {"near": near.fields(distances[0])}, False, [plain_row(point)]))
        else:
            claims.append(Claim(statement | {"near": near.fields(distances[0])}, None))
    return claims


def _certify_row(
    model: Model, row: Array, epsilon: float, norm: Norm, domain: EncodedDomain | None, deadline: Deadline
) -> tuple[RowStatus, Array | None]:
    if deadline.is_over:
        return "undecided", None
    encoded = bind_around(model, row, epsilon) if domain is None else domain.hold(row)
    limit = float(np.nextafter(epsilon, np.inf))
    best = _search(encoded, row, norm, deadline, limit=limit, any_within=epsilon)
    if best.lower <= epsilon and (best.row is None or best.upper > epsilon):
        # Just below the radius the bound may miss the distance by a rounding; a search without a limit looks closer.
        wide = encoded if domain is not None else bind_around(model, row, 4 * epsilon)
        closer = _search(wide, row, norm, deadline)
        best = replace(closer, lower=max(closer.lower, best.lower))
    if best.row is not None and best.upper <= epsilon:
        return "broken", best.row
    return ("certified" if best.lower > epsilon else "undecided"), None


def _search(
    encoded: EncodedDomain,
    row: Array,
    norm: Norm,
    deadline: Deadline,
    limit: float = np.inf,
    any_within: float = -np.inf,
) -> NearestPoint:
    """Find the nearest input of another class than that of a row."""
    distance, leaf_class = distance_from(encoded, row, norm), encoded.model.tree.leaf_class
    other = leaf_class != leaf_class[encoded.leaf_of(row)]
    best = nearest_leaf(Cuts(encoded), distance, other, limit=limit, any_within=any_within, deadline=deadline)
    if limit == np.inf:
        best = _look_closer(encoded, distance, other, best)
    return allow_for_maps(encoded, distance, best)


def _look_closer(encoded: EncodedDomain, distance: Distance, other: Bools, best: NearestPoint) -> NearestPoint:
    """Search again in the cube that the best point spans: in a smaller box scores round less, and solvers see more."""
    for _ in range(MAX_LOOKS):
        if best.row is None or best.upper - best.lower <= 1e-6 * best.upper or best.deadline.is_over:
            break
        with np.errstate(divide="ignore"):
            reach = np.where(np.isfinite(distance.weight), best.upper / distance.weight, 0.0) * (1 + 1e-12)
        lower, upper = (distance.center - reach, -np.inf), (distance.center + reach, np.inf)
        cube = encoded.shrunk(np.nextafter(*lower), np.nextafter(*upper))
        closer = nearest_leaf(Cuts(cube), distance, other, deadline=best.deadline)
        before = best.upper - best.lower
        nearer = closer if closer.upper <= best.upper else best
        # What lies outside the cube is no nearer than the point that spans it.
        proved = max(best.lower, min(closer.lower, best.upper))
        n_programs = best.n_programs + closer.n_programs
        best = replace(nearer, lower=min(proved, nearer.upper), n_programs=n_programs)
        if best.upper - best.lower > before / 2:
            break
    return best


def _classifier(tree: Any) -> Model:
    model = Model.of(tree)
    if not model.is_classifier:
        raise ValueError(
            "tree is a regressor, and robustness is about classes; call output_bounds on a small box instead."
        )
    return model
