"""Proofs about whole control loops: a tree policy and the system that it controls.

``questions`` asks, ``search`` looks for a proof or a trace, ``proofs`` checks. Below them: ``expressions`` (formulas
of a system), ``system`` (systems, sets of states, traces), ``elementary`` (curves between lines), ``branches`` (what is
known of traces that take one way), ``derivation`` (one step of the loop), ``ledger`` (multipliers, found and checked).
"""

from dtsemnet.verify.closed_loop.expressions import absolute, clip, cos, maximum, minimum, sin, square, tanh, where
from dtsemnet.verify.closed_loop.proofs import Claim, LoopProof
from dtsemnet.verify.closed_loop.questions import reaches, returns, stays_safe
from dtsemnet.verify.closed_loop.search import LoopAnswer, Options
from dtsemnet.verify.closed_loop.system import StateSet, System, Trace

__all__ = [
    "System", "stays_safe", "reaches", "returns", "LoopAnswer", "LoopProof", "Trace", "Claim", "StateSet", "Options",
    "sin", "cos", "tanh", "square", "absolute", "maximum", "minimum", "clip", "where",
]  # fmt: skip
