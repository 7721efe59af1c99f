"""Do two versions of a tree agree on a domain, and if not, where do they differ?

Both trees form a product whose leaves are the pairs of their leaves (:mod:`dtsemnet.verify.proof.leaf_pairs`).
Pairs with the same answer need no decision. Of a pair with different answers, exploring the product finds
whether a row reaches it; for linear leaves the largest gap of the two answers decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools, Floats
from dtsemnet.notebook import Shown
from dtsemnet.tree import Column, Encoder, Model
from dtsemnet.tree._validate import not_negative
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.claims import Claim, Evidence, certificate_of, exclude_ways, plain_row
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import EncodedDomain, table_rows
from dtsemnet.verify.proof.exploration import Reachability, explore_leaves
from dtsemnet.verify.proof.file import Provable
from dtsemnet.verify.proof.leaf_pairs import (
    Line,
    ProductCuts,
    answers,
    largest_gap,
    lines_of,
    outputs,
    product,
    second_splits,
)
from dtsemnet.verify.proof.regions import Cuts
from dtsemnet.verify.proof.time_limits import Deadline
from dtsemnet.verify.questions.reachability import Answer

__all__ = ["Difference", "Disagreement", "difference", "equivalent"]


@dataclass(frozen=True, repr=False)
class Disagreement(Shown):
    """A pair of leaves with different answers, and a row that reaches both."""

    leaf_a: int
    leaf_b: int
    witness: Array
    answer_a: Any
    answer_b: Any


@dataclass(frozen=True, eq=False, repr=False)
class Difference(Provable, Shown):
    """Where two trees disagree."""

    regions: tuple[Disagreement, ...]
    undecided: tuple[tuple[int, int], ...]
    """Pairs of leaves for which neither a row nor a proof was found."""
    share: float | None
    """Share of the rows of ``X`` on which the trees disagree."""
    reachability: Reachability
    """Verdicts on the pairs, numbered ``a * n_leaves_b + b``."""
    evidence: Evidence | None = field(default=None, repr=False)

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
        They read the same columns, matched by name if both have names. Classifiers disagree on a row if their classes
        differ. Missing values that the two fill in differently are no part of the comparison.
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
    tolerance = not_negative("tolerance", tolerance)
    deadline = Deadline(time_limit)
    a, b = Model.of(tree_a), Model.of(tree_b)
    columns = _matching_columns(a, b)
    _check_comparable(a, b, columns)
    if not _has_names(a):  # so that the domain is read by the names that there are
        named = [replace(ours, name=b.encoder.columns[k].name) for k, ours in enumerate(a.encoder.columns)]
        a = replace(a, encoder=Encoder(named)) if _has_names(b) else a
    cuts = _PairCuts(a, b, columns, domain, deadline)
    _check_missing(b, columns, cuts.encoded)
    may_differ = np.array([ours != theirs for ours in _contents(a) for theirs in _contents(b, cuts)], dtype=bool)
    pairs = explore_leaves(cuts, may_differ, deadline=deadline, progress=progress)
    regions: list[Disagreement] = []
    undecided: list[tuple[int, int]] = []
    for pair, verdict in enumerate(pairs.verdicts):
        if verdict.status not in ("reachable", "undecided"):
            continue
        leaves = divmod(pair, b.tree.n_leaves)
        witness, settled = _disagreement(cuts, pairs, pair, tolerance, deadline)
        if witness is not None:
            answer_a, answer_b = a.predict(witness[None])[0], b.predict(witness[None][:, columns])[0]
            regions.append(Disagreement(*leaves, witness, answer_a, answer_b))
        elif not settled:
            undecided.append(leaves)
    share = None if X is None else float(cuts.disagree(table_rows(a, X), tolerance).mean())
    claims = partial(_claims, cuts, pairs, tolerance, regions[0].witness if regions else None, not undecided)
    evidence = replace(Evidence.on(cuts.encoded, claims), model=a, second=(b, columns))
    return Difference(tuple(regions), tuple(undecided), share, pairs, evidence)


def _claims(
    cuts: _PairCuts, pairs: Reachability, tolerance: float, witness: Array | None, is_settled: bool
) -> list[Claim]:
    """The claim that the two models agree, or that a row shows the contrary."""
    statement: dict[str, Any] = {"kind": "agree"} | ({} if cuts.a.is_classifier else {"tolerance": float(tolerance)})
    if witness is not None:
        return [Claim(statement, False, [plain_row(witness)])]
    if not is_settled:
        return [Claim(statement, None)]
    found = certificate_of(cuts, pairs.verdicts)
    n_outputs = 0 if cuts.a.is_classifier else cuts.a.tree.n_outputs
    lines = [_both_lines(cuts, o) for o in range(n_outputs)]

    def is_broken(Z: Floats) -> Bools:
        ours, theirs = outputs(cuts.a.tree, Z), outputs(cuts.b.tree, np.ascontiguousarray(Z[:, cuts.features]))
        return np.asarray((np.abs(ours - theirs) > tolerance).any(axis=1))

    for pair, verdict in enumerate(pairs.verdicts):
        if verdict.status not in ("reachable", "undecided") or not lines:
            continue
        leaf_a, leaf_b = divmod(pair, cuts.b.tree.n_leaves)
        both = [(ours[leaf_a], theirs[leaf_b]) for ours, theirs in lines]
        each = [ways for pair_ in both for ways in (pair_, pair_[::-1])]
        entry = exclude_ways(cuts, pairs.regions[pair], each, tolerance, is_broken, Deadline(None))
        if entry is None:
            return [Claim(statement, None)]
        found |= {cuts.node_key(~pair): entry} if entry["ways"] else {}
    return [Claim(statement, True, found)]


def _both_lines(cuts: _PairCuts, output: int) -> tuple[list[Line], list[Line]]:
    """The answers of all leaves of both trees for one output, in the features of the first."""
    encoded = cuts.encoded
    ours = lines_of(cuts.a.tree, output, encoded.lower, encoded.upper)
    theirs = lines_of(cuts.b.tree, output, encoded.lower[cuts.features], encoded.upper[cuts.features])
    return ours, [line._replace(coef=_moved(line.coef, cuts.features)) for line in theirs]


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
        return Answer("no", witness=apart.regions[0].witness, evidence=apart.evidence)
    proofs = tuple(verdict.proof for verdict in apart.reachability.verdicts if verdict.proof is not None)
    return Answer("undecided" if apart.undecided else "yes", proofs=proofs, evidence=apart.evidence)


class _PairCuts(ProductCuts):
    """Half-spaces of the product of two models; ``columns`` says where the columns of the second are in the first."""

    def __init__(self, a: Model, b: Model, columns: list[int], domain: Domain, deadline: Deadline) -> None:
        self.a, self.b, self.columns = a, b, columns
        parts = a.encoder.features_of_column
        features = np.concatenate([np.arange(parts[j].start, parts[j].stop) for j in columns])
        self.features = features
        second = b.tree.replace(weight=_moved(b.tree.weight, features), feature_names=None)
        # Sums of the same products in another order round differently: such splits are not parallel in doubles.
        is_moved = columns != sorted(columns)
        self.separate = second_splits(a.tree, b.tree) if is_moved else None
        self.two_trees = a.tree, second
        encoded = bind(Model(a.encoder, product(*self.two_trees)), domain, deadline=deadline)
        super().__init__(_PairDomain(**{**vars(encoded), "pair": self}))

    def again(self) -> Cuts:
        return _PairCuts(self.a, self.b, self.columns, self.encoded.domain, Deadline(None))

    def pair_of(self, leaf_a: Any, leaf_b: Any) -> Any:
        """Number of a pair of leaves."""
        return leaf_a * self.b.tree.n_leaves + leaf_b

    def arrives(self, leaves: range) -> Callable[[Floats], Bools]:
        def arrive(Z: Floats) -> Bools:
            found = self.pair_of(self.a.tree.apply(Z), self.b.tree.apply(np.ascontiguousarray(Z[:, self.features])))
            return np.asarray((leaves.start <= found) & (found < leaves.stop))

        return arrive

    def disagree(self, rows: Array, tolerance: float) -> Bools:
        """Rows on which the two models disagree, as they compute."""
        others = rows[:, self.columns]
        if self.a.is_classifier:
            ours, theirs = self.a.predict(rows).tolist(), self.b.predict(others).tolist()
            return np.array([x != y for x, y in zip(ours, theirs)], dtype=bool)
        return np.asarray((np.abs(answers(self.a, rows) - answers(self.b, others)) > tolerance).any(axis=1))


@dataclass(frozen=True, eq=False)
class _PairDomain(EncodedDomain):
    """The domain of both models; a leaf is a pair of their leaves, as the two compute them."""

    pair: _PairCuts

    def leaf_of(self, row: Array) -> int:
        pair = self.pair
        return int(pair.pair_of(pair.a.apply(row[None]), pair.b.apply(row[None][:, pair.columns]))[0])


def _moved(weight: Floats, features: Array) -> Floats:
    """Weights of the second model in the order of the features of the first."""
    moved = np.zeros_like(weight)
    moved[..., features] = weight
    return moved


def _matching_columns(a: Model, b: Model) -> list[int]:
    """For each column of the second model, its number in the first: by name if both have names."""
    ours, theirs = ([column.name for column in model.encoder.columns] for model in (a, b))
    if len(ours) != len(theirs):
        raise ValueError(f"tree_a and tree_b must read the same columns, got {len(ours)} and {len(theirs)} of them.")
    if set(ours) == set(theirs):
        return [ours.index(name) for name in theirs]
    if not (_has_names(a) and _has_names(b)):
        return list(range(len(ours)))
    strange = next(name for name in theirs if name not in ours)
    raise ValueError(f"tree_b reads column {strange!r}, which tree_a does not; they must read the same columns.")


def _has_names(model: Model) -> bool:
    """Whether the columns have names of their own, not x0, x1 and so on."""
    return any(column.name != f"x{j}" for j, column in enumerate(model.encoder.columns))


def _check_comparable(a: Model, b: Model, columns: list[int]) -> None:
    for j, theirs in zip(columns, b.encoder.columns):
        ours = a.encoder.columns[j]
        if _without_fill(ours) != replace(_without_fill(theirs), name=ours.name):
            raise ValueError(
                f"tree_a and tree_b must read the same columns in the same way; they differ in column {ours.name!r}."
            )
    if a.is_classifier != b.is_classifier or (not a.is_classifier and a.tree.n_outputs != b.tree.n_outputs):
        raise ValueError("tree_a and tree_b must both be classifiers, or regressors with as many outputs.")
    if a.output != b.output:
        raise ValueError("tree_a and tree_b must have the same output map.")


def _check_missing(b: Model, columns: list[int], encoded: EncodedDomain) -> None:
    """Refuse missing values in the domain that the two models read differently."""
    for j, theirs in zip(columns, b.encoder.columns):
        reading = encoded.readings[j]
        ours = reading.column
        if reading.may_miss and (ours.missing, ours.fill) != (theirs.missing, theirs.fill):
            raise ValueError(
                f"domain lets column {ours.name!r} be missing, but tree_a and tree_b do not read missing values there "
                "in the same way; leave them out of the domain."
            )


def _without_fill(column: Column) -> Column:
    """The column without what it fills in, which no value that is there can tell."""
    return replace(column, missing=None, fill=0.0) if column.fills_missing else column


def _contents(model: Model, second: _PairCuts | None = None) -> list[Any]:
    """What each leaf answers: the label of its class, or the bytes of its numbers, in the features of the first model.

    Sums of the same products in another order round differently, so they are not the same answers.
    """
    tree = model.tree
    if model.class_names is not None:
        return [model.class_names[k] for k in tree.leaf_class.tolist()]
    parts = [tree.value, *tree.guard]
    if tree.coef is not None:
        parts.append(tree.coef if second is None else _moved(tree.coef, second.features))
    is_moved = second is not None and second.columns != sorted(second.columns) and tree.coef is not None
    order = [b"moved" * (is_moved and bool(tree.coef[leaf].any())) for leaf in range(tree.n_leaves)]  # type: ignore[index]
    return [b"".join((part[leaf] + 0.0).tobytes() for part in parts) + order[leaf] for leaf in range(tree.n_leaves)]


def _disagreement(
    cuts: _PairCuts, pairs: Reachability, pair: int, tolerance: float, deadline: Deadline
) -> tuple[Array | None, bool]:
    """A row on which a pair of leaves disagrees; without one, whether the pair is proved to agree."""
    a, b, encoded, verdict = cuts.a, cuts.b, cuts.encoded, pairs.verdicts[pair]
    if verdict.witness is not None and cuts.disagree(verdict.witness[None], tolerance)[0]:
        return verdict.witness, True
    if a.is_classifier or deadline.is_over:
        return None, False
    polytope = cuts.polytope(pairs.regions[pair])
    known, largest = None if verdict.witness is None else encoded.encode(verdict.witness), 0.0
    leaf_a, leaf_b = divmod(pair, b.tree.n_leaves)

    def differs(row: Array) -> bool:
        return encoded.leaf_of(row) == pair and bool(cuts.disagree(row[None], tolerance)[0])

    for o in range(a.tree.n_outputs):
        ours, theirs = (lines[leaf] for lines, leaf in zip(_both_lines(cuts, o), (leaf_a, leaf_b)))
        for first, second in permutations((ours, theirs)):
            gap = largest_gap(encoded, polytope, first, second, enough=tolerance)
            largest = max(largest, gap.upper)
            row = encoded.find_row_near(gap.points, polytope, differs, known) if gap.upper > tolerance else None
            if row is not None:
                return row, True
    return None, largest <= tolerance
