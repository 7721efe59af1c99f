"""Proof files of loops: the checker, which knows nothing of us, agrees, and accepts none that was made wrong."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dtsemnet_check
import dtsemnet_check_loop
from dtsemnet.tree import Topology, Tree
from dtsemnet.verify.closed_loop import System, elementary, reaches, returns, stays_safe
from verify.closed_loop.loops import random_goal, random_loop
from verify.closed_loop.mutate_loops import campaign
from verify.mutate_proofs import verdict

QUICK: dict[str, Any] = {"max_parts": 4, "max_branches": 8, "window": 3, "time_limit": 20.0}


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 500), marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["affine", "curved"])
def test_the_checker_accepts_every_answer(seeds: range, kind: str, tmp_path: Path) -> None:
    found = set()
    for seed in seeds:
        loop, calm = random_loop(seed, kind), random_loop(seed, kind, shrink=0.4)
        answers = [
            stays_safe(loop.policy, loop.system, loop.initial, loop.safe, loop.steps, **QUICK),
            reaches(loop.policy, loop.system, loop.initial, random_goal(loop, seed), loop.steps, **QUICK),
            returns(calm.policy, calm.system, dict.fromkeys(calm.initial, (-1.0, 1.0)), steps=2, **QUICK),
        ]
        for answer in answers:
            if answer.status == "undecided":
                with pytest.raises(ValueError, match="nothing to save"):
                    answer.save_proof(tmp_path / "loop.json")
                continue
            document = json.loads(answer.save_proof(tmp_path / "loop.json").read_text("utf-8"))
            assert document["holds"] == (answer.status == "yes")
            assert verdict(document) == 0, seed
            found.add(answer.status)
    assert found == {"yes", "no"}


@pytest.mark.parametrize("n", [120, pytest.param(5000, marks=pytest.mark.slow)])
def test_no_change_that_makes_a_proof_wrong_is_accepted(n: int) -> None:
    for area, counted in campaign(n, first=n).items():
        assert not [outcome for outcome in counted if outcome.startswith("wrong")], (area, counted)


@pytest.mark.parametrize("n", [150, pytest.param(5000, marks=pytest.mark.slow)])
def test_damaged_files_are_refused_in_one_line(n: int, tmp_path: Path) -> None:
    loop = random_loop(1, "curved")
    path = stays_safe(loop.policy, loop.system, loop.initial, loop.safe, loop.steps, **QUICK).save_proof(tmp_path / "l")
    rng, data = np.random.default_rng(0), path.read_bytes()
    for _ in range(n):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            k = int(rng.integers(len(damaged)))
            damaged[k : k + int(rng.integers(0, 20))] = rng.bytes(int(rng.integers(0, 3)))
        path.write_bytes(bytes(damaged))
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            code = dtsemnet_check.main([str(path), "--quiet"])
        assert code in (0, 1, 2)
        assert len(said.getvalue().splitlines()) <= 2


def test_lines_hold_around_curves_as_found_and_not_if_they_are_moved_in() -> None:
    rng = np.random.default_rng(0)
    for function in elementary.CURVES:
        for _ in range(20):
            low, high = np.sort(rng.uniform(-6, 6, 2)).tolist()
            low, high = (abs(low) + 0.1, abs(low) + 0.1 + high - low) if function == "reciprocal" else (low, high)
            for line in elementary.lines_around(function, low, high):
                assert dtsemnet_check_loop.line_holds(function, low, high, *line)
                width = line.most - line.least
                inner = line._replace(most=line.most - 0.6 * width - 1e-9)
                assert not dtsemnet_check_loop.line_holds(function, low, high, *inner)


def test_a_policy_that_sees_the_disturbance_is_refused_and_a_text_in_place_of_a_list(tmp_path: Path) -> None:
    go = Tree(Topology.complete(1), [[1.0]], [-9.0], [[1, 0], [0, 1]], class_names=["go", "stop"])
    actions, wind = {"go": 0.25, "stop": 0.0}, {"w": (-0.1, 0.1)}
    system = System(lambda x, u, w: [0.5 * x[0] + u[0] + w[0]], ["x"], actions=actions, disturbance=wind)
    path = stays_safe(go, system, {"x": (0, 1)}, {"x": (-1, 2)}, 3).save_proof(tmp_path / "loop.json")
    document = json.loads(path.read_text("utf-8"))
    assert verdict(document) == 0
    document["system"]["states"] = "x"
    assert verdict(document) == 2
    document["system"]["states"] = ["x"]
    formulas = document["system"]["formulas"]
    formulas[document["system"]["observation"][0]] = ["float64", formulas.index(["disturbance", 0])]
    assert verdict(document) == 2


def test_a_record_serves_one_branch(tmp_path: Path) -> None:
    policy = Tree(Topology.complete(1), [[1.0]], [-1.0], [[1, 0], [0, 1]], class_names=["go", "stop"])
    system = System(lambda x, u, w: [x[0] + u[0]], ["x"], actions={"go": 0.5, "stop": -0.5})
    path = stays_safe(policy, system, {"x": (0, 1.5)}, {"x": (-1, 2)}, 3).save_proof(tmp_path / "loop.json")
    document = json.loads(path.read_text("utf-8"))
    fork = next(entry for record in document["records"] for entry in record if entry[0] == "fork")
    fork[2] = fork[1]
    assert verdict(document) == 1
