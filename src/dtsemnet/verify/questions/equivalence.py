"""Do two versions of a tree agree on a domain, and if not, where do they differ?

Both trees form a product whose leaves are the pairs of their leaves (:mod:`dtsemnet.verify.proof.leaf_pairs`).
Pairs with the same answer need no decision. Of a pair with different answers, exploring the product finds
whether a row reaches it; for linear leaves the largest gap of the two answers decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools
from dtsemnet.tree import Encoder, Model
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import bind, column_number
from dtsemnet.verify.proof.exploration import Cuts, Exploration, Reachability, explore_leaves
from dtsemnet.verify.proof.leaf_pairs import answers, largest_gap, lines_of, product
from dtsemnet.verify.questions.reachability import Answer

__all__ = ["Difference", "Disagreement", "difference", "equivalent"]


@dataclass(frozen=True)
class Disagreement:
    """A pair of leaves with different answers, and a row that reaches both."""

    leaf_a: int
    leaf_b: int
    witness: Array
    answer_a: Any
    answer_b: Any


@dataclass(frozen=True, eq=False)
class Difference:
    """Where two trees disagree."""

    regions: tuple[Disagreement, ...]
    undecided: tuple[tuple[int, int], ...]
    """Pairs of leaves for which neither a row nor a proof was found."""
    share: float | None
    """Share of the rows of ``X`` on which the trees disagree."""
    reachability: Reachability
    """Verdicts on the pairs, numbered ``a * n_leaves_b + b``."""

    def __str__(self) -> str:
        share = "" if self.share is None else f", {self.share:.2%} of the sample"
        return f"{len(self.regions)} pairs of leaves disagree, {len(self.undecided)} undecided{share}"


def difference(
    tree_a: Any,
    tree_b: Any,
    domain: Domain,
    *,
    tolerance: float = 0.0,
    X: Any = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Difference:
    """Find all pairs of leaves in which two trees disagree on a domain.

    Parameters
    ----------
    tree_a, tree_b : Tree, Model or fitted estimator
        They read the same columns. Classifiers disagree on a row if their classes differ. Missing values that the two
        fill in differently are no part of the comparison.
    domain : Domain
    tolerance : float, default=0.0
        Regressors disagree on a row if an output (before an output map) differs by more.
    X : array_like, optional
        Sample whose share of disagreement is counted.
    time_limit : float, optional
        Seconds; pairs left at the end are undecided.
    progress : callable, optional
        Called with the pairs done and all pairs that may disagree.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> old, new = (Tree(Topology.complete(1), [[1.0]], [b], [[1, 0], [0, 1]], class_names=[0, 1]) for b in (-1, -2))
    >>> apart = difference(old, new, Domain(0.0, 4.0), X=[[0.5], [1.5], [2.5], [3.5]])
    >>> print(apart)
    1 pairs of leaves disagree, 0 undecided, 25.00% of the sample
    >>> 1 < apart.regions[0].witness[0] <= 2
    np.True_
    """
    a, b = Model.of(tree_a), Model.of(tree_b)
    _check_comparable(a, b, domain)
    cuts = Cuts(bind(Model(a.encoder, product(a.tree, b.tree)), domain))
    may_differ = np.array([ours != theirs for ours in _contents(a) for theirs in _contents(b)], dtype=bool)
    pairs = explore_leaves(cuts, may_differ, time_limit=time_limit, progress=progress)
    regions: list[Disagreement] = []
    undecided: list[tuple[int, int]] = []
    for pair, verdict in enumerate(pairs.verdicts):
        if verdict.status not in ("reachable", "undecided"):
            continue
        leaves = divmod(pair, b.tree.n_leaves)
        witness, settled = _disagreement(a, b, Exploration(cuts, pairs), pair, tolerance)
        if witness is not None:
            regions.append(Disagreement(*leaves, witness, *(model.predict(witness[None])[0] for model in (a, b))))
        elif not settled:
            undecided.append(leaves)
    share = None if X is None else float(_disagree(a, b, X, tolerance).mean())
    return Difference(tuple(regions), tuple(undecided), share, pairs)


def equivalent(
    tree_a: Any, tree_b: Any, domain: Domain, *, tolerance: float = 0.0, time_limit: float | None = None
) -> Answer:
    """Prove that two trees give the same answers on a domain, or find a row on which they do not.

    Parameters
    ----------
    tree_a, tree_b, domain, tolerance, time_limit
        As in :func:`difference`.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> old, new = (Tree(Topology.complete(1), [[1.0]], [b], [[1, 0], [0, 1]], class_names=[0, 1]) for b in (-1, -2))
    >>> equivalent(old, new, Domain(0.0, 1.0)).status, equivalent(old, new, Domain(0.0, 1.5)).status
    ('yes', 'no')
    """
    apart = difference(tree_a, tree_b, domain, tolerance=tolerance, time_limit=time_limit)
    if apart.regions:
        return Answer("no", witness=apart.regions[0].witness)
    proofs = tuple(verdict.proof for verdict in apart.reachability.verdicts if verdict.proof is not None)
    return Answer("undecided" if apart.undecided else "yes", proofs=proofs)


def _check_comparable(a: Model, b: Model, domain: Domain) -> None:
    plain = a.encoder.is_identity and b.encoder.is_identity and a.encoder.n_columns == b.encoder.n_columns
    if not plain and _without_fills(a.encoder) != _without_fills(b.encoder):
        raise ValueError("tree_a and tree_b must read the same columns in the same way; their encoders differ.")
    allowed = dict(domain.categories) | {name: (value,) for name, value in domain.fixed.items()}
    for name in [*domain.missing, *(name for name, values in allowed.items() if None in values)]:
        ours, theirs = (model.encoder.columns[column_number(a, name)] for model in (a, b))
        if (ours.missing, ours.fill) != (theirs.missing, theirs.fill):
            raise ValueError(
                f"domain lets column {ours.name!r} be missing, but tree_a and tree_b do not read missing values there "
                "in the same way; leave them out of the domain."
            )
    if a.is_classifier != b.is_classifier or (not a.is_classifier and a.tree.n_outputs != b.tree.n_outputs):
        raise ValueError("tree_a and tree_b must both be classifiers, or regressors with as many outputs.")
    if a.output != b.output:
        raise ValueError("tree_a and tree_b must have the same output map.")


def _without_fills(encoder: Encoder) -> Encoder:
    """The encoder without what it fills in, which no value that is there can tell."""
    return Encoder(replace(c, missing=None, fill=0.0) if c.fills_missing else c for c in encoder.columns)


def _contents(model: Model) -> list[Any]:
    """What each leaf answers: the label of its class, or the bytes of its numbers."""
    tree = model.tree
    if model.class_names is not None:
        return [model.class_names[k] for k in tree.leaf_class.tolist()]
    parts = [tree.value, *tree.guard, *([] if tree.coef is None else [tree.coef])]
    return [b"".join((part[leaf] + 0.0).tobytes() for part in parts) for leaf in range(tree.n_leaves)]


def _disagreement(a: Model, b: Model, pairs: Exploration, pair: int, tolerance: float) -> tuple[Array | None, bool]:
    """A row on which a pair of leaves disagrees; without one, whether the pair is proved to agree."""
    encoded, verdict = pairs.encoded, pairs.reachability.verdicts[pair]
    if verdict.witness is not None and _disagree(a, b, verdict.witness[None], tolerance)[0]:
        return verdict.witness, True
    if a.is_classifier or np.isnan(verdict.margin):
        return None, False
    sides = [*zip((a, b), divmod(pair, b.tree.n_leaves))]
    polytope = pairs.cuts.polytope(pairs.reachability.regions[pair])
    known, largest = None if verdict.witness is None else encoded.encode(verdict.witness), 0.0

    def differs(row: Array) -> bool:
        return encoded.leaf_of(row) == pair and bool(_disagree(a, b, row[None], tolerance)[0])

    for o in range(a.tree.n_outputs):
        lines = (lines_of(model.tree, o, encoded.lower, encoded.upper)[leaf] for model, leaf in sides)
        for ours, theirs in permutations(lines):
            gap = largest_gap(encoded, polytope, ours, theirs, enough=tolerance)
            largest = max(largest, gap.upper)
            row = encoded.find_row_near(gap.points, polytope, differs, known) if gap.upper > tolerance else None
            if row is not None:
                return row, True
    return None, largest <= tolerance


def _disagree(a: Model, b: Model, X: Any, tolerance: float) -> Bools:
    """Rows on which two models disagree, as they compute."""
    if a.is_classifier:
        ours, theirs = a.predict(X).tolist(), b.predict(X).tolist()
        return np.array([x != y for x, y in zip(ours, theirs)], dtype=bool)
    return np.asarray((np.abs(answers(a, X) - answers(b, X)) > tolerance).any(axis=1))
