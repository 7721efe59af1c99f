"""Fewer weights, with an exact bound on what that may change.

On a box a term ``w_j z_j`` differs from its value at the middle by at most ``|w_j| width_j / 2``. A
split drops its smallest terms and adds their middle values to its bias. The sum of these bounds
says how far any score moves: only rows whose score is nearer to 0 than that can take another side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dtsemnet.arrays import Bools, Floats
from dtsemnet.names import shown
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model, Tree
from dtsemnet.tree._validate import real
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import EncodedDomain
from dtsemnet.verify.proof.regions import rounding_bound
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = ["Simplified", "simplify"]


@dataclass(frozen=True, eq=False, repr=False)
class Simplified(Shown):
    """A tree with fewer weights, and how far it is from the original."""

    tree: Any
    """A Tree for a Tree, a Model for anything else."""
    score_shift: Floats
    """Per split: how far a score moves at most on the domain. A row with a larger score keeps its side."""
    output_shift: Floats
    """Per leaf and output: how far an output moves at most, for rows that stay in the leaf."""
    n_dropped: int
    """Weights dropped, of splits and leaves."""

    def may_change(self, X: Any) -> Bools:
        """Find which rows of the domain may reach another leaf; all others are proved to stay."""
        model = Model.of(self.tree)
        path = model.decision_path(X)
        score = np.abs(np.take_along_axis(model.scores(X), np.maximum(path, 0), axis=1))
        return np.asarray(((path >= 0) & (score <= self.score_shift[np.maximum(path, 0)])).any(axis=1))


def simplify(tree: Any, tolerance: float, domain: Domain, *, time_limit: float | None = None) -> Simplified:
    """Drop weights that matter little on a domain.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    tolerance : float
        Share by which a score may move, of half its range on the box of the domain; the same for outputs of linear
        leaves.
    domain : Domain
    time_limit : float, optional
        Seconds for the proof that linear constraints of the domain leave a row; without it the bounds hold, too.

    Returns
    -------
    Simplified
        Call :func:`difference` on the two trees to see where answers differ.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, 0.001, 0.0]], [-0.5], [[0.0], [1.0]])
    >>> simple = simplify(tree, 0.01, Domain(0.0, 1.0))
    >>> simple.tree.weight, simple.tree.bias, simple.n_dropped
    (array([[1., 0., 0.]]), array([-0.4995]), 1)
    >>> simple.may_change([[0.5, 0.0, 0.0], [0.6, 1.0, 0.0]])
    array([ True, False])
    """
    share = real(tolerance)
    if share is None or not 0 <= share < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {shown(tolerance)}.")
    model, deadline = Model.of(tree), Deadline(time_limit)
    encoded, old = bind(model, domain, deadline=deadline), model.tree
    weight, bias, score_shift = _drop(old.weight, old.bias, encoded, share)
    new = old.replace(weight=weight, bias=bias)
    n_dropped = np.count_nonzero(old.weight) - np.count_nonzero(weight)
    output_shift: Floats = np.zeros(old.value.shape)
    if old.coef is not None:
        coef, value, output_shift = _drop(old.coef.reshape(-1, old.n_features), old.value.ravel(), encoded, share)
        new = new.replace(value=value.reshape(old.value.shape), coef=coef.reshape(old.coef.shape))
        n_dropped += np.count_nonzero(old.coef) - np.count_nonzero(coef)
    result = new if isinstance(tree, Tree) else replace(model, tree=new)
    return Simplified(result, score_shift, output_shift.reshape(old.value.shape), int(n_dropped))


def _drop(weight: Floats, bias: Floats, encoded: EncodedDomain, tolerance: float) -> tuple[Floats, Floats, Floats]:
    """Drop the smallest terms of each row; the bound holds for computed sums, before and after."""
    half, middle = (encoded.upper - encoded.lower) / 2, encoded.lower / 2 + encoded.upper / 2
    reach = np.abs(weight) * half
    order = np.argsort(reach, axis=1, kind="stable")
    added = np.cumsum(np.take_along_axis(reach, order, axis=1), axis=1)
    gone = np.zeros(weight.shape, dtype=bool)
    np.put_along_axis(gone, order, added <= tolerance * reach.sum(axis=1, keepdims=True), axis=1)
    gone &= weight != 0
    kept = np.where(gone, 0.0, weight)
    moved = bias + np.where(gone, weight * middle, 0.0).sum(axis=1)
    slack = rounding_bound(weight, bias, encoded.lower, encoded.upper) * (4 + weight.shape[1])
    shift = np.where(gone.any(axis=1), np.where(gone, reach, 0.0).sum(axis=1) * (1 + 1e-9) + slack, 0.0)
    return kept, moved, shift
