"""The cheapest change that leads to another class: what would have had to be different.

The cost of a change is a weighted sum over the columns, so the cheapest one changes few of them.
It is found as the nearest input in that norm (:mod:`dtsemnet.verify.proof.nearest`), with the
certificate that nothing cheaper exists; integers and categories by halving the box. Several answers
lie in different leaves, so that they differ in what they change and not in the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dtsemnet.arrays import Array, Floats
from dtsemnet.tree import Model, as_model
from dtsemnet.verify.proof.domain import Domain, Name
from dtsemnet.verify.proof.encoded_domain import Space, bind, column_number
from dtsemnet.verify.proof.nearest import Found, nearest_leaf
from dtsemnet.verify.proof.regions import Cuts
from dtsemnet.verify.questions.robustness import allow_for_maps, hold, measure, read_row

__all__ = ["Counterfactual", "counterfactual"]


@dataclass(frozen=True)
class Counterfactual:
    """An input of the target class, and what it costs to get there."""

    point: Array
    label: Any
    cost: float
    lower: float
    """Certified: no input of the target class costs less; of later answers, none outside the leaves already shown."""
    changes: dict[str, tuple[Any, Any]]
    """Columns that change, each with its value before and after."""
    leaf: int

    def __str__(self) -> str:
        parts = [f"{name}: {_show(old)} -> {_show(new)}" for name, (old, new) in self.changes.items()]
        return f"{self.label!r} at cost {self.cost:.4g}: {', '.join(parts) or 'nothing'}"


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
) -> list[Counterfactual]:
    """Find the cheapest changes of an input that lead to a class.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier.
    x : array_like of shape (n_columns,)
        The input; it must lie in the domain.
    target : label of a class
    domain : Domain
        Where inputs may lie, for example ``Domain.from_data(X)``.
    cost : array_like of shape (n_columns,) or mapping of column to float, optional
        Cost of changing a column by one unit, for columns of categories of any change. By default a change over the
        whole range of the domain costs 1 in every column. A mapping changes some of these.
    immutable : sequence of int or str, default=()
        Columns that cannot change.
    integer : sequence of int or str, default=()
        Columns that hold integers, beside those of the domain.
    n : int, default=1
        Number of answers, each in another leaf, cheapest first.

    Returns
    -------
    list of Counterfactual
        Fewer than ``n`` where fewer leaves can be reached; empty where none can.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, 2.0]], [-9.5], [[1, 0], [0, 1]], class_names=["no", "yes"],
    ...             feature_names=["income", "savings"])
    >>> print(counterfactual(tree, [2.0, 3.0], "yes", domain=Domain(0.0, 10.0), integer=["income", "savings"])[0])
    'yes' at cost 0.1: savings: 3 -> 4
    """
    model = as_model(tree)
    if model.class_names is None or target not in model.class_names:
        known = list(model.class_names) if model.class_names is not None else "none, since it is a regressor"
        raise ValueError(f"target must be a class of the tree, got {target!r}; its classes are {known}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n!r}.")
    row = read_row(model, x)
    held = frozenset(column_number(model, name) for name in immutable)
    whole = replace(domain, integer=(*domain.integer, *integer))
    space = hold(bind(model, whole), row, held, categories=False)
    costs = _costs(model, space.column_lower, space.column_upper, cost)
    cuts, distance = Cuts(space), measure(space, row, "1", costs)
    goal = model.tree.leaf_class == model.class_names.index(target)
    shown: list[Counterfactual] = []
    for _ in range(n):
        seen = frozenset(answer.leaf for answer in shown)
        found = allow_for_maps(space, distance, nearest_leaf(cuts, distance, goal, skip=seen))
        if found.row is None:
            break
        point = _tidy(space, costs, row, found)
        price = distance.of(model.transform(point[None])[0].astype(np.float64))
        changes = _changes(model, row, point)
        shown.append(Counterfactual(point, target, price, min(found.lower, price), changes, found.leaf))
    return shown


def _costs(model: Model, lower: Floats, upper: Floats, cost: Any) -> Floats:
    columns = model.encoder.columns
    width = np.array([1.0 if c.categories is not None else high - low for c, low, high in zip(columns, lower, upper)])
    costs = 1.0 / np.where(width > 0, width, 1.0)
    if isinstance(cost, Mapping):
        for name, number in cost.items():
            costs[column_number(model, name)] = number
    elif cost is not None:
        given = np.asarray(cost, dtype=np.float64)
        if given.shape != costs.shape:
            raise ValueError(f"cost must hold one number a column, {len(costs)} of them, got shape {given.shape}.")
        costs = given
    if not (np.isfinite(costs).all() and (costs > 0).all()):
        raise ValueError("cost must be positive and finite; name a column in immutable to hold it.")
    return costs


def _tidy(space: Space, costs: Floats, before: Array, found: Found) -> Array:
    """Hold the columns that changed by next to nothing, which only moved to get off the edge, and search once more."""
    assert found.row is not None
    width = space.column_upper - space.column_lower
    tiny = frozenset(
        j
        for j, column in enumerate(space.model.encoder.columns)
        if column.categories is None and 0 < _apart(before[j], found.row[j]) <= 1e-8 * width[j]
    )
    if not tiny:
        return found.row
    held = hold(space, before, tiny, categories=False)
    goal = np.arange(space.model.tree.n_leaves) == found.leaf
    again = nearest_leaf(Cuts(held), measure(held, before, "1", costs), goal)
    return again.row if again.row is not None and again.upper <= found.upper * (1 + 1e-6) else found.row


def _apart(old: Any, new: Any) -> float:
    """How far two numbers are apart; 0 where one is missing."""
    lost = old is None or new is None or old != old or new != new
    return 0.0 if lost else abs(float(new) - float(old))


def _changes(model: Model, before: Array, after: Array) -> dict[str, tuple[Any, Any]]:
    pairs = zip(model.encoder.columns, before.tolist(), after.tolist())
    return {column.name: (old, new) for column, old, new in pairs if old != new and not (old != old and new != new)}


def _show(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
