"""The cheapest change that leads to another class: what would have had to be different.

The cost of a change is a weighted sum over the columns, so the cheapest one changes few of them.
It is the nearest input in that norm (:mod:`dtsemnet.verify.proof.nearest`), with a certificate that
nothing cheaper exists; integers and categories are settled by halving the box. Several answers
lie in different leaves, so that they differ in what they change and not in the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.notebook import Shown, block, facts
from dtsemnet.tree import Model
from dtsemnet.tree._validate import real
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.claims import Claim, Evidence, Near, claim_near, just_below, plain_row
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, column_number, read_row, row_numbers
from dtsemnet.verify.proof.file import Provable
from dtsemnet.verify.proof.leaf_pairs import class_number
from dtsemnet.verify.proof.nearest import NearestPoint, allow_for_maps, distance_from, nearest_leaf
from dtsemnet.verify.proof.readings import is_absent
from dtsemnet.verify.proof.regions import Cuts
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.proof.wording import end_text, value_text

__all__ = ["Counterfactual", "Counterfactuals", "counterfactual"]


@dataclass(frozen=True, repr=False)
class Counterfactual(Shown):
    """An input of the target class, and what it costs to get there."""

    point: Array
    label: Any
    cost: float
    lower: float
    """Certified: no input of the target class costs less; for later answers, none outside the leaves already shown."""
    changes: dict[str, tuple[Any, Any]]
    """Columns that change, each with its value before and after."""
    leaf: int

    def __str__(self) -> str:
        parts = [f"{name}: {value_text(old)} -> {value_text(new)}" for name, (old, new) in self.changes.items()]
        return f"{self.label!r} at cost {end_text(self.cost, up=True)}: {', '.join(parts) or 'nothing'}"


class Counterfactuals(list[Counterfactual], Provable):
    """Answers, cheapest first, and what is known about the ways that are not among them."""

    lower: float = np.inf
    """Certified: an input of the target class that is in none of the leaves shown costs at least this. Infinite if it
    is proved that there is none; for an empty list that is the proof that the class cannot be reached."""
    evidence: Evidence | None = None

    def _repr_html_(self) -> str:
        rows = [
            (str(found.label), end_text(found.cost, up=True), name, value_text(old), value_text(new))
            for found in self
            for name, (old, new) in found.changes.items()
        ]
        none = f"nothing that costs less than {end_text(self.lower, up=False)}"
        table = facts(rows, ("answer", "cost", "change", "from", "to"))
        return block("Counterfactuals", table if rows else f"<div>{none}</div>")


def counterfactual(
    tree: Any,
    x: Any,
    target: Any,
    *,
    domain: Domain,
    cost: ArrayLike | Mapping[Name, float] | None = None,
    immutable: Sequence[Name] = (),
    integer: Sequence[Name] = (),
    n: int = 1,
    time_limit: float | None = None,
) -> Counterfactuals:
    """Find the cheapest changes of an input that lead to a class.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier.
    x : array_like of shape (n_columns,)
        The input; it must lie in the domain.
    target : label of a class
    domain : Domain
        Answers lie in it; for example ``Domain.from_data(X)``.
    cost : array_like of shape (n_columns,) or mapping of column to float, optional
        Cost of changing a column by one unit; for a column of categories, of any change. By default a change over the
        whole range of the domain costs 1 in every column. A mapping changes some of these.
    immutable : sequence of int or str, default=()
        Columns that cannot change.
    integer : sequence of int or str, default=()
        Columns that hold integers, in addition to those of the domain.
    n : int, default=1
        Number of answers, each in another leaf, cheapest first.
    time_limit : float, optional
        Seconds; the answers are those found by then, and ``lower`` what is certified by then.

    Returns
    -------
    Counterfactuals
        A list of Counterfactual. It has fewer than ``n`` entries if no more leaves were found to be in reach; its
        attribute ``lower`` says whether that is proved.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, 2.0]], [-9.5], [[1, 0], [0, 1]], class_names=["no", "yes"],
    ...             feature_names=["income", "savings"])
    >>> print(counterfactual(tree, [2.0, 3.0], "yes", domain=Domain(0.0, 10.0), integer=["income", "savings"])[0])
    'yes' at cost 0.1: savings: 3 -> 4
    """
    model = Model.of(tree)
    k = class_number(model, target, "target")
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n!r}.")
    row = read_row(model, x)
    deadline = Deadline(time_limit)
    held = frozenset(column_number(model, name, "immutable") for name in immutable)
    names = [model.encoder.columns[column_number(model, name, "integer")].name for name in integer]
    whole = replace(domain, integer=(*domain.integer, *names))
    bound = encoded = bind(model, whole, deadline=deadline)
    costs = _costs(encoded, cost)
    encoded = encoded.hold(row, held, categories=False)
    cuts, distance = Cuts(encoded), distance_from(encoded, row, "1", costs)
    goal = model.tree.leaf_class == k
    answers = Counterfactuals()
    for _ in range(n):
        seen = frozenset(answer.leaf for answer in answers)
        nearest = nearest_leaf(cuts, distance, goal, skip=seen, deadline=deadline)
        nearest = allow_for_maps(encoded, distance, nearest)
        answers.lower = nearest.lower
        if nearest.row is None:
            break
        point = _keep_values(encoded, row, _tidy(encoded, costs, row, nearest, deadline))
        price = distance.of(encoded.encode(point))
        # A missing value that the model only fills in is its fill, which the point shows.
        triples = zip(model.encoder.columns, model.encoder.fill_missing(row[None])[0].tolist(), point.tolist())
        changes = {c.name: (old, new) for c, old, new in triples if _differ(old, new)}
        answers.append(Counterfactual(point, target, price, min(nearest.lower, price), changes, nearest.leaf))
    near = Near(encoded, row, distance, costs, tuple(sorted(held)))
    answers.evidence = Evidence.on(bound, partial(_claims, near, goal, answers))
    return answers


def _claims(near: Near, goal: Bools, answers: Counterfactuals) -> list[Claim]:
    """For each answer that it leads to the class, and that no input of the leaves not shown before costs less."""
    claims, left = [], goal.copy()
    for lower, answer in [*((answer.lower, answer) for answer in answers), (answers.lower, None)]:
        statement: dict[str, Any] = {"kind": "never", "leaves": np.flatnonzero(left).tolist()}
        if lower > 0 and left.any():
            distances = [1e300] if np.isinf(lower) else just_below(lower)
            claims.append(claim_near(near, distances, left.copy(), statement, Deadline(None)))
        if answer is not None:
            named = statement | {"near": near.fields(answer.cost)}
            claims.append(Claim(named, False, [plain_row(answer.point)]))
            left[answer.leaf] = False
    return claims


def _keep_values(encoded: EncodedDomain, before: Array, after: Array) -> Array:
    """Keep categories that are the same to the model, such as two values that it does not know."""
    old, new, kept = encoded.encode(before), encoded.encode(after), after.copy()
    for j, part in enumerate(encoded.model.encoder.features_of_column):
        column = encoded.model.encoder.columns[j]
        if column.categories is not None and not column.fills_missing and (old[part] == new[part]).all():
            kept[j] = before[j]
    return kept


def _differ(old: Any, new: Any) -> bool:
    """Whether a value changed; a missing one that stays missing did not."""
    return is_absent(old) != is_absent(new) or (not is_absent(old) and bool(old != new))


def _costs(encoded: EncodedDomain, cost: Any) -> Floats:
    readings = encoded.readings
    width = np.array([one.high - one.low if one.has_numbers and one.present else 1.0 for one in readings])
    costs = 1.0 / np.where(width > 1e-300, width, 1.0)
    if isinstance(cost, Mapping) or (hasattr(cost, "index") and hasattr(cost, "items")):  # a Series, by name
        for name, price in cost.items():
            number = real(price)
            costs[column_number(encoded.model, name, "cost")] = np.nan if number is None else number
    elif cost is not None:
        try:
            given = np.asarray(cost, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"cost must hold one number per column, {len(costs)} of them ({error}).") from None
        if given.shape != costs.shape:
            raise ValueError(f"cost must hold one number per column, {len(costs)} of them, got shape {given.shape}.")
        costs = given
    if not (np.isfinite(costs).all() and (costs > 0).all()):
        raise ValueError("cost must be positive and finite; name a column in immutable to hold it.")
    return costs


def _tidy(encoded: EncodedDomain, costs: Floats, before: Array, nearest: NearestPoint, deadline: Deadline) -> Array:
    """Hold the columns that changed by next to nothing, only to get off the edge, and search once more."""
    assert nearest.row is not None
    # A missing value stays missing, so it moves by 0, as a category does.
    moved = np.abs(row_numbers(encoded.model, nearest.row) - row_numbers(encoded.model, before))
    width = np.array([one.high - one.low if one.has_numbers else 0.0 for one in encoded.readings])
    is_tiny = (moved > 0) & (moved <= 1e-8 * width)
    tiny = frozenset(np.flatnonzero(is_tiny).tolist())
    if not tiny:
        return nearest.row
    held = encoded.hold(before, tiny, categories=False)
    goal = np.arange(encoded.model.tree.n_leaves) == nearest.leaf
    again = nearest_leaf(Cuts(held), distance_from(held, before, "1", costs), goal, deadline=deadline)
    return again.row if again.row is not None and again.upper <= nearest.upper * (1 + 1e-6) else nearest.row
