"""Random loops: small systems with tree policies, and traces of them in doubles and in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree import Column, Encoder, Model, TanhScale, Topology, Tree
from dtsemnet.verify.closed_loop import System, clip, sin, where


class Loop(NamedTuple):
    """A policy, a system, and sets to ask about; ``A``, ``B`` and ``E`` if it is affine."""

    policy: Model
    system: System
    initial: dict[str, tuple[float, float]]
    safe: dict[str, tuple[float, float]]
    steps: int
    A: Floats
    B: Floats
    E: Floats


def random_loop(seed: int, kind: str = "affine", shrink: float = 1.0) -> Loop:
    """Draw a loop; ``kind`` is "affine" or "curved". With a small factor, states shrink from step to step."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 3)), int(rng.integers(0, 2))
    coarse = bool(rng.random() < 0.5)

    def draw(*shape: int, size: float = 1.0) -> Floats:
        found = rng.normal(size=shape) * size
        return np.round(found * 8) / 8 if coarse else found  # multiples of 1/8: exact sums, and ties

    A = shrink * (np.eye(n) + draw(n, n, size=0.2))
    B, E = shrink * draw(n, 1, size=0.4), draw(n, m, size=0.2)
    ends = [(-0.25, 0.25) if rng.random() < 0.8 else (0.125, 0.125) for _ in range(m)]
    policy, actions = _policy(rng, draw, n)
    names = [f"x{k}" for k in range(n)]
    if kind == "affine":
        system = System.affine(A, B, E=E, disturbance=ends, actions=actions)
    else:

        def step(x, u, w):
            moved = [sum((float(A[k, j]) * x[j] for j in range(n)), float(B[k, 0]) * u[0]) for k in range(n)]
            moved = [one + sum((float(E[k, j]) * w[j] for j in range(m)), 0.0) for k, one in enumerate(moved)]
            moved[0] = moved[0] + 0.25 * sin(x[-1]) * x[0]
            moved[-1] = where(x[0] <= 0.5, moved[-1], moved[-1] - 0.25 * x[0] ** 2 / (2.0 + x[-1] ** 2))
            return [clip(one, -3.0, 3.0) for one in moved]

        disturbance = {f"w{k}": pair for k, pair in enumerate(ends)}
        system = System(step, names, actions=actions, disturbance=disturbance, observed_as="float32")
    low = np.round(rng.normal(size=n) * 4) / 8
    width = rng.choice([0.0, 0.25, 0.5], size=n)
    initial = {name: (float(a), float(a + b)) for name, a, b in zip(names, low, width)}
    room = rng.choice([0.25, 0.5, 1.0, 2.0])
    safe = {name: (a - float(room), b + float(room)) for name, (a, b) in initial.items()}
    return Loop(policy, system, initial, safe, int(rng.integers(1, 5)), A, B, E)


def _policy(rng, draw, n):
    """A classifier or a regressor, with or without an encoder and an output map."""
    depth = int(rng.integers(0, 3))
    topology = Topology.complete(depth) if depth else Topology([])
    weight, bias = draw(topology.n_splits, n), draw(topology.n_splits, size=0.3)
    names = [f"x{k}" for k in range(n)]
    mapped = rng.random() < 0.3
    encoder = (
        Encoder([Column(name, center=0.1, scale=1.5, lower=-1.0) for name in names])
        if mapped
        else Encoder.identity(names)
    )
    if rng.random() < 0.5:
        n_classes = int(rng.integers(1, 4))
        value = np.eye(n_classes)[rng.integers(0, n_classes, topology.n_leaves)]
        tree = Tree(topology, weight, bias, value, class_names=list(range(n_classes)))
        return Model(encoder, tree), {k: float(u) for k, u in enumerate(draw(n_classes))}
    shape = topology.n_leaves, 1
    coef = draw(topology.n_leaves, 1, n, size=0.5) if rng.random() < 0.7 else None
    guard = (np.full(shape, -0.5), np.full(shape, 0.75)) if rng.random() < 0.5 else (None, None)
    tree = Tree(topology, weight, bias, draw(*shape), coef, *guard)
    if rng.random() < 0.3:
        return Model(encoder, tree, TanhScale(-0.5, 1.0)), None
    return Model(encoder, tree), None


def random_goal(loop: Loop, seed: int) -> dict[str, tuple[float, float]]:
    """A box around the last states of some traces, or around the middle of them."""
    rng = np.random.default_rng(seed)
    ends = [loop.system.simulate(loop.policy, *random_trace(loop, rng)).states[-1] for _ in range(20)]
    low, high = np.min(ends, axis=0), np.max(ends, axis=0)
    room = float(rng.choice([-0.4, -0.2, 0.1, 0.5])) * (high - low) + float(rng.choice([0.001, 0.1]))
    box = zip((low - room).tolist(), (high + room).tolist())
    return dict(zip(loop.initial, box))


def random_trace(loop: Loop, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A first state and disturbances, half of them at the ends."""

    def within(low: Floats, high: Floats) -> Floats:
        share = rng.random(len(low))
        share = np.where(rng.random(len(low)) < 0.5, np.round(share), share)
        return np.clip(low + share * (high - low), low, high)

    low, high = np.array(list(loop.initial.values())).T
    return within(low, high), np.array([within(*loop.system.disturbance_box) for _ in range(loop.steps)])


def exact_states(loop: Loop, x: Floats, W: Floats) -> list[list[Fraction]]:
    """The states of an affine loop in exact arithmetic; the policy sees them as the nearest doubles."""
    A, B, E = ([[Fraction(v) for v in row] for row in matrix.tolist()] for matrix in (loop.A, loop.B, loop.E))
    states = [[Fraction(v) for v in x.tolist()]]
    for w in W:
        seen = np.array([[float(v) for v in states[-1]]])
        u = Fraction(float(loop.system.act(loop.policy, seen)[1][0, 0]))
        terms = [*states[-1], u, *(Fraction(v) for v in w.tolist())]
        states.append([sum((a * v for a, v in zip([*A[k], *B[k], *E[k]], terms)), Fraction(0)) for k in range(len(A))])
    return states
