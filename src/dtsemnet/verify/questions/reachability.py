"""Which leaves can be reached, and so which answers can be given.

The tree is walked from the root. A witness of a node is a witness of one of its children, so
only the other child asks a question; a node that is proved unreachable settles all leaves below
it at once. Before that, random points of the domain find witnesses for the leaves that are large.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dtsemnet.arrays import Array, Bools
from dtsemnet.tree import Model, Tree, as_model, drop_leaves
from dtsemnet.verify.proof.decide import Proof, Verdict, settle
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import Space, bind
from dtsemnet.verify.proof.regions import Cuts, Region

__all__ = ["Answer", "Reachability", "never", "possible_classes", "prune_unreachable", "reachable_leaves"]

N_DRAWS = 8192


@dataclass(frozen=True)
class Reachability:
    """Outcome for every leaf."""

    verdicts: tuple[Verdict, ...]
    """One for each leaf, from left to right. Leaves below one unreachable node share its proof."""
    regions: tuple[Region, ...]
    """Boxes and paths of the leaves."""
    n_programs: int
    """Linear programs solved."""

    def _leaves(self, status: str) -> list[int]:
        return [leaf for leaf, verdict in enumerate(self.verdicts) if verdict.status == status]

    @cached_property
    def reachable(self) -> list[int]:
        """Leaves with a witness."""
        return self._leaves("reachable")

    @cached_property
    def unreachable(self) -> list[int]:
        """Leaves that no input of the domain reaches, proved."""
        return self._leaves("unreachable")

    @cached_property
    def undecided(self) -> list[int]:
        """Leaves thinner than rounding can tell."""
        return self._leaves("undecided")

    def check(self) -> bool:
        """Check all certificates once more, in rational arithmetic."""
        proofs = {id(verdict.proof): verdict.proof for verdict in self.verdicts if verdict.proof is not None}
        return all(proof.check() for proof in proofs.values())

    def __str__(self) -> str:
        return (
            f"{len(self.reachable)} of {len(self.verdicts)} leaves reachable, {len(self.unreachable)} proved "
            f"unreachable, {len(self.undecided)} undecided"
        )


@dataclass(frozen=True)
class Answer:
    """Yes, no or undecided, with what shows it."""

    status: str
    """"yes", "no" or "undecided"."""
    witness: Array | None = None
    """A row that shows the contrary."""
    proofs: tuple[Proof, ...] = ()

    def __bool__(self) -> bool:
        return self.status == "yes"


def reachable_leaves(tree: Any, domain: Domain) -> Reachability:
    """Find which leaves inputs of a domain can reach, with a witness or a proof for each.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
        Bounded in every column of numbers.

    Returns
    -------
    Reachability
        Of a leaf that is reachable a row that the model sends there; of one that is not a proof for every double.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(2), [[1, 1], [1, 2], [2, 1]], [0, -9, 0], [[0], [1], [2], [3]])
    >>> found = reachable_leaves(tree, Domain([-1, -1], [1, 1]))
    >>> print(found)
    3 of 4 leaves reachable, 1 proved unreachable, 0 undecided
    >>> found.unreachable, found.verdicts[1].proof.reason, found.check()
    ([1], 'a half-space lies outside the box', True)
    """
    return explore(bind(as_model(tree), domain))[0]


def prune_unreachable(tree: Any, domain: Domain) -> Any:
    """Remove the leaves that are proved unreachable; on the domain the function stays the same, bit for bit.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain

    Returns
    -------
    Tree or Model
        A tree for a tree, a model for all else.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(2), [[1, 1], [1, 2], [2, 1]], [0, -9, 0], [[0], [1], [2], [3]])
    >>> prune_unreachable(tree, Domain([-1, -1], [1, 1]))
    Tree(depth 2, 2 splits, 3 leaves, 2 features, constant leaves)
    """
    model = as_model(tree)
    smaller = drop_leaves(model.tree, reachable_leaves(model, domain).unreachable)
    return smaller if isinstance(tree, Tree) else Model(model.encoder, smaller, model.output)


def possible_classes(tree: Any, domain: Domain) -> dict[Any, Verdict]:
    """Tell for each class of a classifier whether some input of the domain gets it.

    Examples
    --------
    >>> from dtsemnet.tree import Topology
    >>> tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    >>> {name: verdict.status for name, verdict in possible_classes(tree, Domain(0.0, 1.0)).items()}
    {'small': 'reachable', 'large': 'unreachable'}
    """
    model = as_model(tree)
    if model.class_names is None:
        raise ValueError("tree is a regressor and has no classes; ask output_bounds.")
    return class_verdicts(model, reachable_leaves(model, domain))


def class_verdicts(model: Model, found: Reachability) -> dict[Any, Verdict]:
    """Read off the verdicts on leaves whether a class can come out."""
    assert model.class_names is not None
    return {
        name: _best([found.verdicts[leaf] for leaf in np.flatnonzero(model.tree.leaf_class == k)])
        for k, name in enumerate(model.class_names)
    }


def never(tree: Any, domain: Domain, output: Any) -> Answer:
    """Prove that a class (or an action) never comes out on a domain, or show an input that gets it.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier.
    domain : Domain
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
    model = as_model(tree)
    if model.class_names is None or output not in model.class_names:
        known = "no classes, since it is a regressor" if model.class_names is None else f"{list(model.class_names)}"
        raise ValueError(f"output must be a class of the tree, got {output!r}; it has {known}.")
    found = reachable_leaves(model, domain)
    leaves = np.flatnonzero(model.tree.leaf_class == model.class_names.index(output))
    verdict = _best([found.verdicts[leaf] for leaf in leaves])
    if verdict.status == "reachable":
        return Answer("no", witness=verdict.witness)
    proofs = tuple(proof for leaf in leaves if (proof := found.verdicts[leaf].proof) is not None)
    return Answer("yes" if verdict.status == "unreachable" else "undecided", proofs=proofs)


def explore(
    space: Space,
    wanted: Bools | None = None,
    locate: Callable[[Array], int] | None = None,
    *,
    stop: bool = False,
    step: int | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Reachability, Cuts]:
    """Walk the tree from the root and settle every leaf that is wanted.

    ``locate`` tells the leaf of a row where the model behind the space is not to be asked, ``stop`` ends the walk at
    the first leaf found reachable, ``step`` is for :class:`Cuts`. Leaves that are not wanted are "not asked", those
    left at the end "undecided".
    """
    cuts, topology = Cuts(space, step), space.model.tree.topology
    wanted = np.ones(topology.n_leaves, dtype=bool) if wanted is None else wanted
    locate = locate or (lambda row: int(space.model.apply(row[None])[0]))
    ahead, began = np.concatenate([[0], np.cumsum(wanted)]), time.monotonic()
    verdicts = [Verdict("undecided", margin=np.nan) if asked else Verdict("not asked") for asked in wanted]
    regions = [cuts.root()] * topology.n_leaves
    known = _draw(space, locate)
    todo, n_programs, n_done = [(0 if topology.n_splits else -1, cuts.root())], 0, 0
    while todo and (time_limit is None or time.monotonic() - began < time_limit):
        node, region = todo.pop()
        leaves = _below(space.model.tree, node)
        if ahead[leaves.stop] == ahead[leaves.start]:
            continue
        witness = next((known[leaf] for leaf in leaves if leaf in known), None)
        verdict = Verdict("reachable", witness)
        if witness is None:
            verdict = settle(cuts, region, lambda row, leaves=leaves: locate(row) in leaves)  # type: ignore[misc]
            n_programs += verdict.n_programs
            if verdict.witness is not None:
                known[locate(verdict.witness)] = verdict.witness
        if node >= 0 and verdict.status != "unreachable":
            todo += [(int(topology.children[node, side]), cuts.child(region, node, side)) for side in (1, 0)]
            continue
        for leaf in leaves:
            verdicts[leaf], regions[leaf] = verdict, region
        n_done += int(ahead[leaves.stop] - ahead[leaves.start])
        if progress is not None:
            progress(n_done, int(ahead[-1]))
        if stop and verdict.status == "reachable":
            break
    return Reachability(tuple(verdicts), tuple(regions), n_programs), cuts


def _below(tree: Tree, node: int) -> range:
    if node < 0:
        return range(~node, ~node + 1)
    first, last = tree.topology.spans
    return range(int(first[node]), int(last[node]))


def _draw(space: Space, locate: Callable[[Array], int]) -> dict[int, Array]:
    """Witnesses from random points: half of them on a coarse grid, where ties and corners are."""
    rng = np.random.default_rng(0)
    d = len(space.lower)
    share = rng.random((min(N_DRAWS, max(64, 2_000_000 // max(d, 1))), d))
    share[::2] = np.round(share[::2] * 4) / 4
    Z = space.lower + share * (space.upper - space.lower)
    Z[:, space.integer] = np.round(Z[:, space.integer])
    Z = np.clip(Z, space.lower, space.upper)
    if len(space.rows):
        Z = Z[(space.bound >= Z @ space.rows.T).all(axis=1)]
    for mark, (number, fill, low, high) in space.marks.items():
        Z[:, number] = np.where(Z[:, mark] > 0.5, fill, np.clip(Z[:, number], low, high))
    if not len(Z):
        return {}
    found = {}
    for i in np.unique(space.model.tree.apply(Z), return_index=True)[1].tolist():
        row = space.row(Z[i])
        if space.holds(row) and locate(row) >= 0:
            found[locate(row)] = row
    return found


def _best(verdicts: list[Verdict]) -> Verdict:
    """The verdict on a set of leaves: reachable if one is, unreachable if all are."""
    for status in ("reachable", "undecided"):
        for verdict in verdicts:
            if verdict.status == status:
                return verdict
    return verdicts[0] if verdicts else Verdict("unreachable", proof=Proof((), "no leaf holds it"))
