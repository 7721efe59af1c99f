"""Change proofs about loops so that they mean something else, and see whether the checker accepts any that is wrong.

``PYTHONPATH=tests:checker python -m verify.closed_loop.mutate_loops 10000`` makes this many changes: one number, sign,
multiplier, bound, name or record of a proof about a random loop; and *forgeries*: the same proofs for a claim that a
trace breaks. Outcomes are those of :mod:`verify.mutate_proofs`. A changed file that is accepted is *wrong* if one of
some hundred traces, simulated from the ends of its sets and disturbances, breaks what it claims.
"""

from __future__ import annotations

import collections
import copy
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import dtsemnet_check
from dtsemnet.verify.closed_loop import reaches, returns, stays_safe
from dtsemnet_check_loop import Loop
from verify.closed_loop.loops import random_goal, random_loop
from verify.mutate_proofs import altered, at, places, verdict

AREAS = ("records", "records", "records", "cells", "claim", "system", "model", "cuts")


def proofs(seed: int, folder: Path) -> list[dict[str, Any]]:
    """Proofs about one random loop."""
    loop = random_loop(seed, ["affine", "curved"][seed % 2])
    options: dict[str, Any] = {"max_parts": 4, "max_branches": 4, "window": 2, "time_limit": 20.0}
    answers = [stays_safe(loop.policy, loop.system, loop.initial, loop.safe, loop.steps, **options)]
    answers.append(reaches(loop.policy, loop.system, loop.initial, random_goal(loop, seed), loop.steps, **options))
    calm = random_loop(seed, ["affine", "curved"][seed % 2], shrink=0.4)
    answers.append(returns(calm.policy, calm.system, dict.fromkeys(calm.initial, (-1.0, 1.0)), **options))
    proved = [answer for answer in answers if answer]
    return [json.loads(answer.save_proof(folder / "loop.json").read_text("utf-8")) for answer in proved]


def breaking_trace(document: dict[str, Any], n: int = 150) -> list[list[float]] | None:
    """A trace that breaks what a file claims; None if none is seen."""
    loop, rng = Loop(dtsemnet_check.parse(json.dumps(document).encode())), np.random.default_rng(0)
    claim = document["claim"]
    low, high = (np.array(claim["initial"][name], dtype=float) for name in ("lower", "upper"))
    ends = np.array(document["system"]["disturbance"], dtype=float).reshape(-1, 2)
    for _ in range(n):
        share = rng.random(len(low))
        x = (low + np.where(rng.random(len(low)) < 0.5, np.round(share), share) * (high - low)).clip(low, high).tolist()
        if not loop.initial.contains(x):
            continue
        states, arrived = [x], False
        for time in range(loop.steps + 1):
            if loop.safe is not None and not loop.safe.contains(states[-1]):
                return states
            arrived = loop.goal is not None and time >= loop.goal_from and loop.goal.contains(states[-1])
            if arrived or time == loop.steps or not np.isfinite(states[-1]).all():
                break
            share = rng.random(len(ends))
            share = np.where(rng.random(len(ends)) < 0.7, np.round(share), share)
            w = (ends[:, 0] + share * (ends[:, 1] - ends[:, 0])).clip(*ends.T) if len(ends) else share
            states.append(loop.simulate(states[-1], w.tolist()))
        if loop.goal is not None and not arrived:
            return states
    return None


def change(document: dict[str, Any], rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    """Change one place; the area it lies in."""
    mutant, area = copy.deepcopy(document), AREAS[rng.integers(len(AREAS))]
    root: tuple[Any, ...] = ("model", "tree") if area == "model" else (area,)
    every = [path for path in places(at(mutant, root)) if path]
    if every:
        path = (*root, *every[rng.integers(len(every))])
        holder, key = at(mutant, path[:-1]), path[-1]
        holder[key] = altered(holder[key], rng)
        if rng.random() < 0.1:
            del holder[key]
    return mutant, area


def forged(document: dict[str, Any], rng: np.random.Generator) -> dict[str, Any] | None:
    """The same proof for a claim that a trace breaks: a smaller safe set, a smaller goal, or a larger disturbance."""
    false = copy.deepcopy(document)
    for _ in range(6):
        claim = false["claim"]
        target = claim["goal"] if claim["safe"] is None else claim["safe"]
        if rng.random() < 0.3 and false["system"]["disturbance"]:
            false["system"]["disturbance"] = [
                [3 * low - 0.1, 3 * high + 0.1] for low, high in false["system"]["disturbance"]
            ]
        elif claim["goal_from"]:
            false["model"]["tree"]["value"] = [[v + 1.0 for v in row] for row in false["model"]["tree"]["value"]]
        else:
            k = int(rng.integers(len(target["lower"])))
            name, other = [("lower", "upper"), ("upper", "lower")][rng.integers(2)]
            target[name][k] += 0.5 * (target[other][k] - target[name][k])
        try:
            if breaking_trace(false) is not None:
                return false
        except ValueError:
            return None
    return None


def campaign(n: int, first: int = 0) -> dict[str, collections.Counter[str]]:
    """Make n changes and forgeries."""
    outcomes: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    rng, done, seed = np.random.default_rng(first), 0, first
    with tempfile.TemporaryDirectory() as folder:
        while done < n:
            for document in proofs(seed, Path(folder)):
                assert verdict(document) == 0, seed
                assert breaking_trace(document) is None, seed
                false = forged(document, rng)
                for _ in range(12):
                    mutant, area = change(document, rng)
                    if mutant == document:
                        continue
                    outcomes[area][judge(document, mutant, area)] += 1
                    done += 1
                    if false is not None:  # and the certificate for a false claim, as it is or changed, too
                        parts = {key: mutant[key] for key in ("records", "cells", "cuts")}
                        outcomes["forged"]["wrong" if verdict(false | parts) == 0 else "refused"] += 1
                        done += 1
            seed += 1
    return outcomes


def judge(original: dict[str, Any], mutant: dict[str, Any], area: str) -> str:
    """The outcome of one change."""
    code = verdict(mutant)
    if code:
        return f"refused {code}"
    if area in ("records", "cells", "cuts"):
        return "same"  # the claim is that of the original, which is true
    try:
        return "wrong" if breaking_trace(mutant) is not None else "another claim that no trace breaks"
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        return f"wrong: {str(error)[:60]}"


if __name__ == "__main__":
    total: collections.Counter[str] = collections.Counter()
    for area, counted in campaign(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000).items():
        print(f"{area}: {', '.join(f'{name} {number}' for name, number in sorted(counted.items()))}")
        total += counted
    print(f"all: {', '.join(f'{name} {number}' for name, number in sorted(total.items()))}")
