"""Certificates say what the tree and the domain say: any other certificate is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, Proof, Reachability, Verdict, reachable_leaves
from dtsemnet.verify.proof import decision
from verify.finite import finite_case

SEEDS = [range(12), pytest.param(range(12, 80), marks=pytest.mark.slow)]


@pytest.fixture(params=[True, False], ids=["listed", "by programs"])
def lists(request, monkeypatch):
    monkeypatch.setattr(decision, "MAX_POINTS", decision.MAX_POINTS if request.param else 0)


def explored(seed: int) -> Reachability:
    if seed % 2:
        case = finite_case(seed)
        return reachable_leaves(case.model, case.domain)
    rng = np.random.default_rng(seed)
    tree = Tree(Topology.complete(4), rng.normal(size=(15, 3)), 2 * rng.normal(size=15), rng.normal(size=(16, 1)))
    return reachable_leaves(tree, Domain(-1, 1, A=[[1, 1, 1]], b=[1.0]))


def with_verdict(found: Reachability, leaf: int, verdict: Verdict) -> Reachability:
    verdicts = [verdict if k == leaf else old for k, old in enumerate(found.verdicts)]
    return replace(found, verdicts=tuple(verdicts))


def corrupted_cases(cases: Any) -> Iterator[Any]:
    """Certificates that prove less, by one change each."""
    if cases is None:
        return
    yield None
    yield {}
    if "farkas" in cases:
        yield {"farkas": []}
        yield {"farkas": [[row, -factor] for row, factor in cases["farkas"]]}
        yield {"farkas": [[row + 1000, factor] for row, factor in cases["farkas"]]}
        yield {"farkas": [[row, float("nan")] for row, factor in cases["farkas"]]}
    if "enumerated" in cases:
        yield {"enumerated": cases["enumerated"] + 1}
    if "cut" in cases:
        for k, part in enumerate(cases["parts"]):
            if part is not None:
                for worse in corrupted_cases(part):
                    parts = list(cases["parts"])
                    parts[k] = worse
                    yield {**cases, "parts": parts}
        yield {**cases, "parts": cases["parts"][:1]}


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("seeds", SEEDS)
def test_no_corrupted_certificate_is_accepted(seeds):
    n_refused = 0
    for seed in seeds:
        found = explored(seed)
        assert found.check()
        for leaf, verdict in enumerate(found.verdicts):
            if verdict.status == "reachable":
                path = found.cuts.steps_to(~leaf)
                for cases in (None, {}, {"farkas": []}, {"enumerated": 0}):
                    lie = Verdict("unreachable", proof=Proof(path, "it is said so", cases, found.cuts))
                    assert not lie.proof.check()
                    assert not with_verdict(found, leaf, lie).check()
                    n_refused += 2
            elif verdict.proof is not None and verdict.proof.cases is not None:
                for cases in corrupted_cases(verdict.proof.cases):
                    worse = replace(verdict.proof, cases=cases)
                    assert not worse.check(), (seed, leaf, cases)
                    n_refused += 1
                assert not replace(verdict.proof, path=verdict.proof.path[:-1]).check() or not verdict.proof.path
                assert not with_verdict(found, leaf, replace(verdict, proof=None)).check()
        for a in found.reachable:
            for b in found.reachable:
                if a != b:  # verdicts exchanged between leaves
                    assert not with_verdict(found, a, found.verdicts[b]).check()
                    n_refused += 1
        assert not replace(found, verdicts=found.verdicts[:-1]).check()
    assert n_refused > 20 * len(seeds)


@pytest.mark.usefixtures("lists")
def test_certificates_are_plain_and_survive_a_file():
    for seed in range(12):
        found = explored(seed)
        for verdict in found.verdicts:
            if verdict.proof is not None:
                read = json.loads(json.dumps(verdict.proof.to_dict()))
                path = tuple(tuple(step) for step in read["path"])
                again = Proof(path, read["reason"], read["cases"], found.cuts)
                assert again == verdict.proof
                assert again.check()


def test_a_certificate_does_not_hold_for_another_domain():
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-3.0], [[0.0], [1.0]])
    small, large = (reachable_leaves(tree, Domain(0, end)) for end in (1, 2))
    proof = small.verdicts[1].proof
    assert proof.check()
    assert not replace(proof, cuts=large.cuts).check()
    assert not replace(small, cuts=large.cuts).check()
    witness = copy.copy(small.verdicts[0].witness) + 5.0
    assert not with_verdict(small, 0, Verdict("reachable", witness)).check()


def test_a_program_that_the_solver_gives_up_on_is_no_proof(monkeypatch):
    monkeypatch.setattr(decision, "interior", lambda polytope: None)
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-3.9], [[0.0], [1.0]])
    found = reachable_leaves(tree, Domain(-2, 2, A=[[1, 1]], b=[3.91]))
    assert 1 not in found.unreachable
    assert found.check()
