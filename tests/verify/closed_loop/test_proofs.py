"""Proofs about loops: they are checked against tree, system and claim, and a damaged one is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dtsemnet.tree import Model, Topology, Tree
from dtsemnet.verify.closed_loop import LoopProof, System, reaches, stays_safe


def proof(**options: Any) -> LoopProof:
    """A proof with forks, empty branches, several parts and merged cells."""
    policy = Tree(
        Topology.complete(2), [[1.0, 1.5]] * 3, [0.0, 0.3, -0.3], np.eye(3)[[0, 1, 1, 2]], class_names=[0, 1, 2]
    )
    system = System.affine(
        [[1.0, 0.2], [0.0, 1.0]], [[0.02], [0.2]], disturbance=[(-0.002, 0.002)], actions={0: 1.0, 1: 0.0, 2: -1.0}
    )
    answer = stays_safe(
        policy, system, {"x0": (-0.2, 0.2), "x1": (-0.2, 0.2)}, {"x0": (-0.6, 0.6), "x1": (-0.6, 0.6)}, 6,
        **{"window": 3, "max_cells": 4} | options,
    )  # fmt: skip
    assert answer.proof is not None
    return answer.proof


@pytest.fixture(scope="module")
def whole() -> LoopProof:
    found = proof()
    assert found.check()
    assert {entry[0] for record in found.records for entry in record} == {"fork", "most", "empty", "cell"}
    return found


def test_a_proof_is_plain_data(whole: LoopProof) -> None:
    read = json.loads(json.dumps(whole.to_dict()))
    assert replace(whole, records=read["records"], cuts=read["cuts"]).check()


def test_a_proof_of_something_else_is_refused(whole: LoopProof) -> None:
    claim = whole.claim
    assert claim.safe is not None
    tighter = replace(claim.safe, upper=claim.safe.upper * 0.5)
    wider = replace(claim.initial, upper=claim.initial.upper * 1.5)
    for other in (replace(claim, safe=tighter), replace(claim, initial=wider), replace(claim, steps=7)):
        assert not replace(whole, claim=other).check()
    tree = whole.policy.tree
    stronger = System.affine(
        [[1.0, 0.2], [0.0, 1.0]], [[0.02], [0.2]], disturbance=[(-0.2, 0.2)], actions=whole.system.actions
    )
    assert not replace(whole, system=stronger).check()
    turned = Model.of(tree.replace(value=tree.value[::-1]))
    assert not replace(whole, policy=turned).check()
    assert not replace(whole, policy=Model.of(tree.replace(bias=tree.bias + 0.5))).check()


def test_no_damaged_ledger_proves_more(whole: LoopProof) -> None:
    """Entries left out, exchanged, or without their multipliers never make the check pass for a false claim."""
    assert whole.claim.safe is not None
    false = replace(whole.claim, safe=replace(whole.claim.safe, upper=np.array([0.21, 0.21])))
    rng = np.random.default_rng(0)
    for _ in range(150):
        records = copy.deepcopy(whole.records)
        record = records[rng.integers(len(records))]
        if record:
            k = int(rng.integers(len(record)))
            change = rng.integers(4)
            if change == 0:
                del record[k]
            elif change == 1:
                record[k] = ["empty", [[0, 1.0]]]
            elif change == 2:
                record[k] = ["cell", int(rng.integers(len(whole.cells))), *([None] * 8)]
            else:
                record[k] = record[k][:1]
        assert not replace(whole, records=records, claim=false).check()


def test_a_branch_called_empty_needs_multipliers(whole: LoopProof) -> None:
    records = copy.deepcopy(whole.records)
    n_damaged = 0
    for record in records:
        for entry in record:
            if entry[0] == "empty":
                entry[1] = []
                n_damaged += 1
    assert n_damaged
    assert not replace(whole, records=records).check()


def test_a_living_branch_cannot_be_dropped(whole: LoopProof) -> None:
    forks = [entry for record in whole.records for entry in record if entry[0] == "fork"]
    for fork in forks[:8]:
        for number in fork[1:]:
            kind = whole.records[number][0][0] if whole.records[number] else None
            if kind != "empty":
                records = copy.deepcopy(whole.records)
                records[number] = [["empty", [[0, 1.0]]]]
                assert not replace(whole, records=records).check()


def test_a_cell_must_hold_what_goes_on_in_it(whole: LoopProof) -> None:
    for k, cell in enumerate(whole.cells):
        if cell.time == 0:
            continue
        cells = list(whole.cells)
        smaller = replace(cell.states, upper=cell.states.upper - 0.01)
        cells[k] = replace(cell, states=smaller)
        assert not replace(whole, cells=cells).check()
        cells[k] = replace(cell, time=cell.time + 1)
        assert not replace(whole, cells=cells).check()


def test_the_parts_must_cover_the_initial_set() -> None:
    idle = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]])
    system = System(lambda x, u, w: [x[0] * x[0] * x[0] - 0.9 * x[0]], ["x"])
    answer = stays_safe(idle, system, {"x": (0, 1)}, {"x": (-0.4, 1.0)}, 2)
    assert answer.proof is not None
    assert answer.proof.check()
    assert len(answer.proof.cuts) == 4
    assert not replace(answer.proof, cuts=answer.proof.cuts[2]).check()
    k, at, first, _ = answer.proof.cuts
    assert not replace(answer.proof, cuts=[k, at, first, first]).check()
    assert not replace(answer.proof, cuts=[k, 2.0, first, first]).check()


def test_a_goal_proof_of_fewer_steps_is_refused() -> None:
    go = Tree(Topology([]), np.empty((0, 1)), [], [[1.0]])
    system = System(lambda x, u, w: [x[0] + 0.5 * u[0]], ["x"])
    answer = reaches(go, system, {"x": (0, 1)}, {"x": (2.9, 9)}, 6)
    assert answer.proof is not None
    assert answer.proof.check()
    assert not replace(answer.proof, claim=replace(answer.proof.claim, steps=5)).check()
