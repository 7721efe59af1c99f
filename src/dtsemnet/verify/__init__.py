"""Proofs about a tree on a domain, by linear programming, with certificates in rational arithmetic.

``questions`` has one file per question. They rest on ``proof``: domains, the walk over a tree, linear
programs, and certificates, in which every proof ends. ``vnnlib`` reads and writes questions in the language of network
verification; ``closed_loop`` asks about a policy together with the system that it controls.
"""

from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.exploration import Exploration, Proof, Reachability, Verdict, explore
from dtsemnet.verify.questions.audit import Report, Statement, audit
from dtsemnet.verify.questions.counterfactual import Counterfactual, Counterfactuals, counterfactual
from dtsemnet.verify.questions.equivalence import Difference, Disagreement, difference, equivalent
from dtsemnet.verify.questions.independent import Flips, Independent, find_flips, independent
from dtsemnet.verify.questions.jump import Jump, largest_jump
from dtsemnet.verify.questions.monotone import Monotone, monotone
from dtsemnet.verify.questions.output_bounds import Extreme, OutputBounds, lipschitz, output_bounds
from dtsemnet.verify.questions.reachability import Answer, never, possible_classes, prune_unreachable, reachable_leaves
from dtsemnet.verify.questions.robustness import Certified, Robustness, certify, robustness
from dtsemnet.verify.questions.simplify import Simplified, simplify

__all__ = [
    "Domain", "Exploration", "explore", "Reachability", "Answer", "Verdict", "Proof", "reachable_leaves",
    "prune_unreachable", "possible_classes", "never", "Robustness", "Certified", "robustness", "certify",
    "Counterfactual", "Counterfactuals", "counterfactual", "OutputBounds", "Extreme", "output_bounds", "lipschitz",
    "Independent", "independent", "Flips", "find_flips", "Jump", "largest_jump", "Difference", "Disagreement",
    "difference", "equivalent", "Monotone", "monotone", "Simplified", "simplify", "Report", "Statement", "audit",
]  # fmt: skip
