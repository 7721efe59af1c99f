"""The proof file of a loop, which ``dtsemnet-check`` checks without this library.

.. code-block:: text

    {"format": "dtsemnet-loop-proof", "version": 1, "fingerprint": "9f0c...", "model": {... a model file ...},
     "system": {"states": ["x"], "actions": [["go", [0.5]], ...] or null, "n_actions": 1, "disturbance": [[-0.1, 0.1]],
                "formulas": [["state", 0], ["constant", 0.5], ["add", 0, 1], ...], "next": [2], "observation": [0]},
     "claim": {"initial": {"lower": [0.0], "upper": [1.0], "rows": [], "bound": []}, "safe": ..., "goal": null,
               "steps": 5, "goal_from": 0},
     "holds": true, "cuts": [0], "cells": [{"states": {...}, "time": 0, "record": 0}], "records": [[...], ...]}

or, for a claim that does not hold, ``"holds": false`` with ``"trace": {"state": [...], "disturbances": [[...], ...]}``.
``docs/proof-file.md`` says what the entries of a record mean. The ledger of a proof
(:mod:`dtsemnet.verify.closed_loop.ledger`) leaves out what the derivation sees in the box by itself; here each step is
written, with the numbers that it found, so that who checks it need not round as this library does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dtsemnet.files import write_atomically
from dtsemnet.tree import Model, file
from dtsemnet.verify.closed_loop.branches import Branch
from dtsemnet.verify.closed_loop.expressions import Expression, in_order
from dtsemnet.verify.closed_loop.ledger import Checker
from dtsemnet.verify.closed_loop.proofs import Claim, LoopProof
from dtsemnet.verify.closed_loop.system import StateSet, System, Trace

if TYPE_CHECKING:
    from dtsemnet.verify.closed_loop.ledger import Records

__all__ = ["save_loop_proof"]


def save_loop_proof(
    path: str | PathLike[str], asked: tuple[Model, System, Claim] | None, proof: LoopProof | None, trace: Trace | None
) -> Path:
    """Write the answer to a question about a loop."""
    if asked is None or (proof is None and trace is None):
        raise ValueError("there is nothing to save: the answer is undecided; give more time, or smaller sets.")
    policy, system, claim = asked
    document: dict[str, Any] = {"format": "dtsemnet-loop-proof", "version": 1, "fingerprint": policy.fingerprint()}
    document |= {"model": json.loads(file.dumps(policy)), "system": _system(system), "claim": _claim(claim)}
    if proof is None:
        assert trace is not None
        shown = {"state": trace.states[0].tolist(), "disturbances": trace.disturbances.tolist()}
        document |= {"holds": False, "trace": shown}
    else:
        scribe = _Scribe(proof.records, [[] for _ in proof.records])
        proof.follow(scribe)
        cells = [{"states": _set(c.states), "time": c.time, "record": c.record} for c in proof.cells]
        document |= {"holds": True, "cuts": proof.cuts, "cells": cells, "records": scribe.written}
    return write_atomically(path, json.dumps(document, allow_nan=False) + "\n")


@dataclass
class _Scribe(Checker):
    """Writes down every step of a derivation."""

    written: Records = field(default_factory=list)

    def note(self, branch: Branch, *entry: Any) -> None:
        plain = [list(part) if isinstance(part, tuple) else part for part in entry]
        self.written[branch.record.number].append(plain)


def _system(system: System) -> dict[str, Any]:
    number: dict[Expression, int] = {}
    formulas: list[list[Any]] = []
    for kind, symbols in (("state", system.x), ("action", system.u), ("disturbance", system.w)):
        for k, term in enumerate(symbols):
            number[term] = len(formulas)
            formulas.append([kind, k])
    for formula in (*system.next, *system.observation):
        for term in in_order(formula, number):
            number[term] = len(formulas)
            parts: Sequence[Any] = [number[part] for part in term.parts]
            formulas.append([term.operation, *(parts if term.operation != "constant" else [term.number])])
    actions = None if system.actions is None else [[label, list(u)] for label, u in system.actions.items()]
    return {
        "states": list(system.states), "actions": actions, "n_actions": len(system.u),
        "disturbance": np.stack(system.disturbance_box, axis=1).tolist(), "formulas": formulas,
        "next": [number[term] for term in system.next], "observation": [number[term] for term in system.observation],
    }  # fmt: skip


def _claim(claim: Claim) -> dict[str, Any]:
    sets = {name: getattr(claim, name) for name in ("initial", "safe", "goal")}
    written: dict[str, Any] = {name: None if one is None else _set(one) for name, one in sets.items()}
    return written | {"steps": claim.steps, "goal_from": claim.goal_from}


def _set(states: StateSet) -> dict[str, Any]:
    """A set of states; null for an open side."""
    ends = {name: [x if np.isfinite(x) else None for x in getattr(states, name)] for name in ("lower", "upper")}
    return ends | {"rows": states.rows.tolist(), "bound": states.bound.tolist()}
