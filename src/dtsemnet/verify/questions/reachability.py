"""Which leaves can be reached, and so which answers can be given.

The tree is explored on the domain (:mod:`dtsemnet.verify.proof.exploration`). A leaf is reachable if the
model sends a row of the domain there, unreachable if a proof says that no double gets there. A class can
come out if one of its leaves is reachable, and never comes out if all of them are unreachable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dtsemnet.arrays import Array
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model, Tree, drop_leaves
from dtsemnet.verify.proof.claims import Claim, Evidence, claims_about
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.exploration import Exploration, Proof, Reachability, Verdict, explored_once
from dtsemnet.verify.proof.file import Provable
from dtsemnet.verify.proof.leaf_pairs import class_number
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = [
    "Answer", "AnswerStatus", "PossibleClasses", "class_verdicts", "never", "possible_classes", "prune_unreachable",
    "reachable_leaves",
]  # fmt: skip

AnswerStatus = Literal["yes", "no", "undecided"]


class PossibleClasses(dict[Any, Verdict], Provable):
    """For each class, whether it can come out."""

    evidence: Evidence | None = None


@dataclass(frozen=True, repr=False)
class Answer(Provable, Shown):
    """Yes, no or undecided, with a witness or proofs."""

    status: AnswerStatus
    witness: Array | None = None
    """For "no": a row that shows the contrary."""
    proofs: tuple[Proof, ...] = ()
    """For "yes": why no row does."""
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.status == "yes"


def reachable_leaves(tree: Any, domain: Domain, *, time_limit: float | None = None) -> Reachability:
    """Find which leaves inputs of a domain can reach, with a witness or a proof for each.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
        Bounded in every column of numbers.
    time_limit : float, optional
        Seconds; leaves left at the end are undecided.

    Returns
    -------
    Reachability
        For each leaf that is reachable a row that the model sends there; for each that is not a proof for every double.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(2), [[1, 1], [1, 2], [2, 1]], [0, -9, 0], [[0], [1], [2], [3]])
    >>> leaves = reachable_leaves(tree, Domain([-1, -1], [1, 1]))
    >>> print(leaves)
    3 of 4 leaves reachable, 1 proved unreachable, 0 undecided
    >>> leaves.unreachable, leaves.verdicts[1].proof.reason, leaves.check()
    ([1], 'a half-space lies outside the box', True)
    """
    return explored_once(tree, domain, None, Deadline(time_limit)).reachability


def prune_unreachable(tree: Any, domain: Domain, *, time_limit: float | None = None) -> Any:
    """Remove the leaves that are proved unreachable; on the domain predictions stay the same, bit for bit.

    So do shares of leaves. Margin probabilities may change: a margin is then that to a leaf which can be reached.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
    time_limit : float, optional
        Seconds; leaves left at the end stay.

    Returns
    -------
    Tree or Model
        A tree for a tree, a model for anything else.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(2), [[1, 1], [1, 2], [2, 1]], [0, -9, 0], [[0], [1], [2], [3]])
    >>> prune_unreachable(tree, Domain([-1, -1], [1, 1]))
    Tree(depth 2, 2 splits, 3 leaves, 2 features, constant leaves)
    """
    model = Model.of(tree)
    smaller = drop_leaves(model.tree, reachable_leaves(model, domain, time_limit=time_limit).unreachable)
    return smaller if isinstance(tree, Tree) else replace(model, tree=smaller)


def possible_classes(
    tree: Any, domain: Domain, *, explored: Exploration | None = None, time_limit: float | None = None
) -> PossibleClasses:
    """Find for each class of a classifier whether some input of the domain gets it.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier.
    domain : Domain
    explored : Exploration, optional
        The outcome of ``explore(tree, domain)``, to share it with other questions.
    time_limit : float, optional
        Seconds; leaves left at the end are undecided.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    >>> {name: verdict.status for name, verdict in possible_classes(tree, Domain(0.0, 1.0)).items()}
    {'small': 'reachable', 'large': 'unreachable'}
    """
    model = Model.of(tree)
    if model.class_names is None:
        raise ValueError("tree is a regressor and has no classes; call output_bounds instead.")
    explored = explored_once(model, domain, explored, Deadline(time_limit))
    found = PossibleClasses(class_verdicts(model, explored.reachability))
    claims = partial(_claims_about_classes, explored.reachability, model.class_names)
    found.evidence = Evidence.on(explored.encoded, claims)
    return found


def _claims_about_classes(leaves: Reachability, labels: tuple[Any, ...]) -> list[Claim]:
    assert leaves.cuts is not None
    leaf_class, claims = leaves.cuts.tree.leaf_class, []
    for label in labels:
        k = leaves.cuts.encoded.model.class_names.index(label)  # type: ignore[union-attr]
        verdicts = [leaves.verdicts[leaf] for leaf in np.flatnonzero(leaf_class == k)]
        claims += claims_about(leaves.cuts, {"kind": "never", "classes": [label]}, verdicts)
    return claims


def class_verdicts(model: Model, leaves: Reachability) -> dict[Any, Verdict]:
    """Conclude from the verdicts on leaves whether each class can come out."""
    assert model.class_names is not None
    return {
        name: _best([leaves.verdicts[leaf] for leaf in np.flatnonzero(model.tree.leaf_class == k)])
        for k, name in enumerate(model.class_names)
    }


def never(
    tree: Any, domain: Domain, output: Any, *, explored: Exploration | None = None, time_limit: float | None = None
) -> Answer:
    """Prove that a class (or an action) never comes out on a domain, or show an input that gets it.

    Parameters
    ----------
    tree, domain, explored, time_limit
        As in :func:`possible_classes`.
    output : label of a class

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    >>> never(tree, Domain(0.0, 1.0), "large").status
    'yes'
    >>> never(tree, Domain(0.0, 4.0), "large").witness.sum() > 5
    np.True_
    """
    model = Model.of(tree)
    k = class_number(model, output)
    explored = explored_once(model, domain, explored, Deadline(time_limit))
    every = explored.reachability.verdicts
    verdicts = [every[leaf] for leaf in np.flatnonzero(model.tree.leaf_class == k)]
    verdict = _best(verdicts)
    evidence = Evidence.on(explored.encoded, partial(_claims_about_classes, explored.reachability, (output,)))
    if verdict.status == "reachable":
        return Answer("no", witness=verdict.witness, evidence=evidence)
    proofs = tuple(verdict.proof for verdict in verdicts if verdict.proof is not None)
    return Answer("yes" if verdict.status == "unreachable" else "undecided", proofs=proofs, evidence=evidence)


def _best(verdicts: list[Verdict]) -> Verdict:
    """The verdict on a set of leaves: reachable if one is, unreachable if all are."""
    order = ["reachable", "undecided", "unreachable"]
    nobody = Verdict("unreachable", proof=Proof((), "no leaf has it"))
    return min(verdicts, key=lambda verdict: order.index(verdict.status), default=nobody)
