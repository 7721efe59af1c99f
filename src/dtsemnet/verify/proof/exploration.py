"""A walk over a tree: which leaves inputs of a domain can reach.

To *explore* a tree, it is walked from the root. Whether a node can be reached is decided about its region
(:mod:`dtsemnet.verify.proof.regions`). A witness of a node is a witness of one of its children, so only the other child
needs a decision; a node that is proved unreachable settles all leaves below it at once. Before that, random points of
the domain give witnesses of the large leaves.

A *proof* names the path to a node and the cases of its polytope, nothing else. To check it, path and polytope are
derived once more from the tree and the domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Literal

import numpy as np

from dtsemnet.arrays import Array, Bools
from dtsemnet.notebook import Shown
from dtsemnet.tree import Model
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import Polytope
from dtsemnet.verify.proof.decision import Cases, decide_polytope, is_small, n_certificates
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import EncodedDomain
from dtsemnet.verify.proof.regions import Cuts, Region, leaves_below
from dtsemnet.verify.proof.time_limits import Deadline

__all__ = [
    "Exploration", "LeafStatus", "Proof", "Reachability", "Verdict", "decide", "explore", "explore_leaves",
    "explored_once",
]  # fmt: skip

N_DRAWS = 8192

LeafStatus = Literal["reachable", "unreachable", "undecided", "not asked"]


@dataclass(frozen=True, repr=False)
class Proof(Shown):
    """Why no input of the domain reaches a node."""

    path: tuple[tuple[int, int], ...]
    """Splits from the root to the node, each with its side (0 left, 1 right)."""
    reason: str
    cases: Cases | None = None
    """The certificate (:mod:`dtsemnet.verify.proof.decision`); None if the order of doubles alone is the proof."""
    cuts: Cuts | None = field(default=None, repr=False, compare=False)
    """The tree and the domain that the proof is about."""

    @property
    def n_certificates(self) -> int:
        """Number of parts of the box that certificates settle; 0 if the order of doubles alone is the proof."""
        return n_certificates(self.cases)

    def check(self) -> bool:
        """Check once more, in rational arithmetic, that no input gets to the node.

        The half-spaces are derived again from the tree's path and the domain; the certificate supplies multipliers.
        """
        if self.cuts is None:
            return not self.path and self.cases is None  # a statement about no leaf
        return self.cuts.again().proves_unreachable(self.path, self.cases)

    def to_dict(self) -> dict[str, Any]:
        """The proof as plain numbers, lists and dicts."""
        return {"path": [list(step) for step in self.path], "reason": self.reason, "cases": self.cases}


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """Whether inputs of the domain reach a node."""

    status: LeafStatus
    """"not asked" only for leaves that a question left out."""
    witness: Array | None = None
    """A row of the domain that reaches the node."""
    proof: Proof | None = None
    """Why no row does."""
    margin: float = 0.0
    """For "undecided": how far the best point lies inside the half-spaces, as a share of their size."""
    n_programs: int = 0


@dataclass(frozen=True, repr=False)
class Reachability(Shown):
    """Which leaves inputs of a domain can reach."""

    verdicts: tuple[Verdict, ...]
    """One per leaf, from left to right. Leaves below one unreachable node share its proof."""
    regions: tuple[Region, ...]
    n_programs: int
    """Linear programs solved."""
    cuts: Cuts | None = field(default=None, repr=False, compare=False)
    """The tree and the domain that were explored."""

    def _leaves(self, status: LeafStatus) -> list[int]:
        return [leaf for leaf, verdict in enumerate(self.verdicts) if verdict.status == status]

    @cached_property
    def reachable(self) -> list[int]:
        """Leaves with a witness."""
        return self._leaves("reachable")

    @cached_property
    def unreachable(self) -> list[int]:
        """Leaves that are proved to be reached by no input of the domain."""
        return self._leaves("unreachable")

    @cached_property
    def undecided(self) -> list[int]:
        """Leaves thinner than rounding, for which there is neither a witness nor a proof."""
        return self._leaves("undecided")

    def check(self) -> bool:
        """Check every verdict once more against the tree and the domain.

        A witness must lie in the domain and reach its leaf. A proof must be about a node above its leaf, and its
        certificates must cover all inputs of the domain there, in rational arithmetic.
        """
        if self.cuts is None or len(self.verdicts) != self.cuts.tree.n_leaves:
            return False
        cuts, checked = self.cuts.again(), {}
        for leaf, verdict in enumerate(self.verdicts):
            if verdict.status == "reachable":
                row = verdict.witness
                if row is None or not cuts.encoded.contains(row) or cuts.encoded.leaf_of(row) != leaf:
                    return False
            elif verdict.status == "unreachable":
                proof = verdict.proof
                if proof is None or proof.path != cuts.steps_to(~leaf)[: len(proof.path)]:
                    return False
                if id(proof) not in checked:
                    checked[id(proof)] = cuts.proves_unreachable(proof.path, proof.cases)
                if not checked[id(proof)]:
                    return False
        return True

    def save_proof(self, path: str | PathLike[str]) -> FilePath:
        """Write the proof file: see :mod:`dtsemnet.verify.proof.file`."""
        # These modules know explorations, so they cannot be imported above.
        from dtsemnet.verify.proof.claims import Evidence, claims_about_leaves
        from dtsemnet.verify.proof.file import save_proof

        if self.cuts is None:
            raise ValueError("there is nothing to save: these verdicts are of no tree.")
        return save_proof(path, [Evidence.on(self.cuts.encoded, partial(claims_about_leaves, self))])

    def __str__(self) -> str:
        return (
            f"{len(self.reachable)} of {len(self.verdicts)} leaves reachable, {len(self.unreachable)} proved "
            f"unreachable, {len(self.undecided)} undecided"
        )


@dataclass(frozen=True, eq=False)
class Exploration:
    """A tree explored on a domain; several questions can share it."""

    cuts: Cuts
    reachability: Reachability

    @property
    def encoded(self) -> EncodedDomain:
        """The domain as the tree sees it."""
        return self.cuts.encoded

    @property
    def model(self) -> Model:
        """The model that was explored."""
        return self.encoded.model


def explore(
    tree: Any, domain: Domain, *, time_limit: float | None = None, progress: Callable[[int, int], None] | None = None
) -> Exploration:
    """Walk a tree over a domain once, for several questions.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
        Bounded in every column of numbers.
    time_limit : float, optional
        Seconds; leaves left at the end are undecided.
    progress : callable, optional
        Called with the number of leaves decided, and of all leaves.

    Returns
    -------
    Exploration
        Pass it as ``explored`` to the questions about the same tree and domain.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> from dtsemnet.verify import never, output_bounds
    >>> tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    >>> domain = Domain(0.0, 1.0)
    >>> explored = explore(tree, domain)
    >>> never(tree, domain, "large", explored=explored).status
    'yes'
    >>> output_bounds(tree, domain, explored=explored)[1].maximum.certified
    0.0
    """
    return explored_once(tree, domain, None, Deadline(time_limit), progress)


def explored_once(
    tree: Any, domain: Domain, explored: Exploration | None, deadline: Deadline,
    progress: Callable[[int, int], None] | None = None,
) -> Exploration:  # fmt: skip
    """Take the exploration that is given, if it is of this tree and domain, or explore now."""
    if explored is None:
        cuts = Cuts(bind(Model.of(tree), domain, deadline=deadline))
        found = explore_leaves(cuts, deadline=deadline, progress=progress)
        if len(found.unreachable) == len(found.verdicts):
            raise ValueError("domain is empty: no row of it reaches any leaf; widen its box, or relax its constraints.")
        return Exploration(cuts, found)
    if explored.encoded.domain is not domain or explored.model != Model.of(tree):
        raise ValueError("explored must be of the same tree and domain; make it by explore(tree, domain).")
    return explored


def explore_leaves(
    cuts: Cuts,
    wanted: Bools | None = None,
    *,
    stop_at_first: bool = False,
    deadline: Deadline | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reachability:
    """Walk a tree from the root and decide every leaf that is wanted.

    ``stop_at_first`` ends the walk at the first leaf that is reachable. Leaves that are not wanted are "not asked",
    those left at the end "undecided" with a margin of NaN.
    """
    encoded, topology = cuts.encoded, cuts.tree.topology
    wanted = np.ones(topology.n_leaves, dtype=bool) if wanted is None else wanted
    deadline = deadline or Deadline(None)
    verdicts = [Verdict("undecided", margin=np.nan) if is_wanted else Verdict("not asked") for is_wanted in wanted]
    regions = [cuts.root()] * topology.n_leaves
    witnesses = _draw_witnesses(encoded)
    todo, n_programs, n_done = [(0 if topology.n_splits else -1, cuts.root())], 0, 0
    while todo and not deadline.is_over:
        node, region = todo.pop()
        leaves = leaves_below(cuts.tree, node)
        n_wanted = int(wanted[leaves.start : leaves.stop].sum())
        if not n_wanted:
            continue
        witness = next((witnesses[leaf] for leaf in leaves if leaf in witnesses), None)
        verdict = Verdict("reachable", witness)
        if witness is None:
            verdict = decide(cuts, region, leaves, deadline)
            n_programs += verdict.n_programs
            if verdict.witness is not None:
                witnesses[encoded.leaf_of(verdict.witness)] = verdict.witness
        if node >= 0 and verdict.status != "unreachable":
            todo += [(int(topology.children[node, side]), cuts.child(region, node, side)) for side in (1, 0)]
            continue
        for leaf in leaves:
            verdicts[leaf], regions[leaf] = verdict, region
        n_done += n_wanted
        if progress is not None:
            progress(n_done, int(wanted.sum()))
        if stop_at_first and verdict.status == "reachable":
            break
    return Reachability(tuple(verdicts), tuple(regions), n_programs, cuts)


def decide(cuts: Cuts, region: Region, leaves: range, deadline: Deadline) -> Verdict:
    """Decide whether a region can be reached; ``leaves`` are the leaves below its node."""
    if region.empty:
        return Verdict("unreachable", proof=Proof(region.path, region.empty, None, cuts))
    encoded = cuts.encoded
    found = decide_polytope(
        encoded, cuts.polytope(region), cuts.arrives(leaves), lambda row: encoded.leaf_of(row) in leaves, deadline
    )
    if found.status != "unreachable":
        return Verdict(found.status, found.witness, margin=found.margin, n_programs=found.n_programs)
    is_listed = found.cases is not None and "enumerated" in found.cases
    reason = "its half-spaces have no point in common" if found.n_programs else "a half-space lies outside the box"
    reason = "none of the few points of its box goes there" if is_listed else reason
    return Verdict("unreachable", proof=Proof(region.path, reason, found.cases, cuts), n_programs=found.n_programs)


def _draw_witnesses(encoded: EncodedDomain) -> dict[int, Array]:
    """Witnesses from all of a few points, or from random ones, half of them on a grid, which holds ties and corners."""
    rng = np.random.default_rng(0)
    d = len(encoded.lower)
    if is_small(encoded, Polytope(encoded.rows, encoded.bound, encoded.lower, encoded.upper)):
        Z = encoded.points(encoded.lower, encoded.upper)
    else:
        share = rng.random((min(N_DRAWS, max(64, 2_000_000 // max(d, 1))), d))
        share[::2] = np.round(share[::2] * 4) / 4
        Z = encoded.snap(encoded.lower + share * (encoded.upper - encoded.lower), encoded.lower, encoded.upper)
    Z = Z[(encoded.bound >= Z @ encoded.rows.T).all(axis=1)]
    rows = [encoded.row(Z[i]) for i in np.unique(encoded.model.tree.apply(Z), return_index=True)[1]]
    return {encoded.leaf_of(row): row for row in rows if encoded.contains(row)}
