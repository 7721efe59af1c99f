"""Proofs about a tree, by linear programming, with certificates."""

from dtsemnet.verify.bounds import Extreme, OutputBounds, lipschitz, output_bounds
from dtsemnet.verify.compare import Difference, Disagreement, difference, equivalent
from dtsemnet.verify.counterfactual import Counterfactual, counterfactual
from dtsemnet.verify.domain import Domain
from dtsemnet.verify.jump import Jump, largest_jump
from dtsemnet.verify.leaves import (
    Answer,
    Reachability,
    never,
    possible_classes,
    prune_unreachable,
    reachable_leaves,
)
from dtsemnet.verify.monotone import Monotone, monotone
from dtsemnet.verify.report import Report, Statement, audit
from dtsemnet.verify.robustness import Certified, Robustness, certify, robustness
from dtsemnet.verify.settle import Proof, Verdict
from dtsemnet.verify.simplify import Simplified, simplify

__all__ = [
    "Domain",
    "Reachability",
    "Answer",
    "Verdict",
    "Proof",
    "reachable_leaves",
    "prune_unreachable",
    "possible_classes",
    "never",
    "Robustness",
    "Certified",
    "robustness",
    "certify",
    "Counterfactual",
    "counterfactual",
    "OutputBounds",
    "Extreme",
    "output_bounds",
    "lipschitz",
    "Jump",
    "largest_jump",
    "Difference",
    "Disagreement",
    "difference",
    "equivalent",
    "Monotone",
    "monotone",
    "Simplified",
    "simplify",
    "Report",
    "Statement",
    "audit",
]
