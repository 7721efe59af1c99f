"""Does raising one column never lower the answer?

A violation is a pair of inputs, ``x`` and ``x + t e_j`` with ``t >= 0``, the second with the lower answer.
As one question: the tree on ``x`` and the tree on ``x + t e_j``, whose splits are splits of
``(x, t)``, form a product (:mod:`dtsemnet.verify.pairs`). Only pairs of leaves whose answers fall
are asked; if none can be reached the tree is monotone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtsemnet.tree import Encoder, Model, Tree, as_model
from dtsemnet.verify.domain import Domain, Name
from dtsemnet.verify.leaves import explore
from dtsemnet.verify.pairs import product
from dtsemnet.verify.settle import Proof
from dtsemnet.verify.space import Space, bind, column_number

__all__ = ["Monotone", "monotone"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Monotone:
    """Yes with proofs, no with two inputs, or undecided."""

    status: str
    low: NDArray[Any] | None = None
    """An input; ``high`` differs from it by a larger value of the column."""
    high: NDArray[Any] | None = None
    proofs: tuple[Proof, ...] = ()

    def __bool__(self) -> bool:
        return self.status == "yes"


def monotone(
    tree: Any,
    feature: Name,
    domain: Domain,
    *,
    output: Any = 0,
    increasing: bool = True,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Monotone:
    """Prove that raising a column never lowers an output, or show two inputs where it does.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        With constant or class leaves, on plain columns of numbers.
    feature : int or str
        The column.
    domain : Domain
        Both inputs lie in it.
    output : label of a class, or number of an output, default=0
        For a classifier the probability of the named class is what may not fall.
    increasing : bool, default=True
        False asks that raising the column never raises the output.
    time_limit : float, optional
        Seconds.
    progress : callable, optional
        Called with the pairs of leaves done and all that are asked.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1.0], [2.0]])
    >>> monotone(tree, 0, Domain(0.0, 1.0)).status
    'yes'
    >>> found = monotone(tree, 1, Domain(0.0, 1.0))
    >>> found.status, tree.predict(np.stack([found.low, found.high]))
    ('no', array([2., 1.]))
    """
    model = as_model(tree)
    answer = _answers(model, output) * (1.0 if increasing else -1.0)
    j = column_number(model, feature)
    base = bind(model, domain)
    shifted = _with_step(model.tree, j)
    pair = product(_with_step(model.tree, None), shifted)
    n_leaves = model.tree.n_leaves

    def locate(row: NDArray[Any]) -> int:
        low, high = _two_rows(row, j)
        if not base.holds(high):
            return -1
        first, second = model.apply(np.stack([low, high])).tolist()
        return int(first * n_leaves + second)

    wanted = (answer[None, :] < answer[:, None]).ravel()
    space = bind(Model(Encoder.identity([f"x{k}" for k in range(pair.n_features)]), pair), _step_domain(base, j))
    found, _ = explore(space, wanted, locate, stop=True, step=j, time_limit=time_limit, progress=progress)
    for place in np.flatnonzero(wanted).tolist():
        if found.verdicts[place].status == "reachable":
            low, high = _two_rows(found.verdicts[place].witness, j)
            return Monotone("no", low, high)
    proofs = {id(verdict.proof): verdict.proof for verdict in found.verdicts if verdict.proof is not None}
    return Monotone("undecided" if found.undecided else "yes", proofs=tuple(proofs.values()))


def _answers(model: Model, output: Any) -> Floats:
    """What each leaf answers."""
    tree = model.tree
    if tree.coef is not None or not model.encoder.is_identity:
        raise ValueError("tree must have constant or class leaves and read plain columns of numbers.")
    if model.class_names is not None:
        if output not in model.class_names:
            raise ValueError(f"output must be a class of the tree, got {output!r}; it has {list(model.class_names)}.")
        return np.array(tree.value[:, model.class_names.index(output)])
    if not 0 <= output < tree.n_outputs:
        raise ValueError(f"output must lie between 0 and {tree.n_outputs - 1}, got {output!r}.")
    return np.clip(tree.value, *tree.guard)[:, output]


def _with_step(tree: Tree, j: int | None) -> Tree:
    """The tree on ``(x, t)``: read at ``x``, or at ``x + t e_j``."""
    step = np.zeros(tree.n_splits) if j is None else tree.weight[:, j]
    return Tree(tree.topology, np.column_stack([tree.weight, step]), tree.bias, np.zeros((tree.n_leaves, 1)))


def _two_rows(row: NDArray[Any] | None, j: int) -> tuple[Floats, Floats]:
    assert row is not None
    low = np.array(row[:-1], dtype=np.float64)
    high = low.copy()
    high[j] += float(row[-1])
    return low, high


def _step_domain(base: Space, j: int) -> Domain:
    """The domain of ``(x, t)``: both ends of the step lie in the domain of ``x``."""
    lower, upper = base.column_lower, base.column_upper
    d = len(lower)
    rows, bound = [np.eye(d + 1)[j] + np.eye(d + 1)[d]], [upper[j]]
    if base.domain.A is not None and base.domain.b is not None:
        for a, b in zip(base.domain.A, base.domain.b):
            rows += [np.append(a, 0.0), np.append(a, a[j])]
            bound += [b, b]
    numbers = [column_number(base.model, name) for name in base.domain.integer]
    integer = [*numbers, *([d] if j in numbers else [])]
    room = np.nextafter(upper[j] - lower[j], np.inf) if upper[j] > lower[j] else 0.0
    return Domain(np.append(lower, 0.0), np.append(upper, room), A=rows, b=bound, integer=integer)
