"""Branches hold the traces that take them: every half-space, and every form within its error, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dtsemnet.verify.closed_loop.branches import Branch
from dtsemnet.verify.closed_loop.derivation import Derivation
from dtsemnet.verify.closed_loop.ledger import Prover
from dtsemnet.verify.proof.certificates import exact_dot
from dtsemnet.verify.proof.time_limits import Deadline
from verify.closed_loop.loops import exact_states, random_loop, random_trace


def holds(derivation: Derivation, branch: Branch, x: np.ndarray, W: np.ndarray, state: list[Fraction]) -> bool:
    """Whether an affine trace obeys a branch, and its state lies within the errors of the forms."""
    columns = np.concatenate([x, *W[: branch.time]]).tolist()
    if len(columns) != len(branch.lower):
        return False
    for row, bound in zip(branch.rows.tolist(), branch.bound.tolist()):
        if exact_dot(row, columns) > Fraction(bound):
            return False
    for form, value in zip(derivation.state(branch), state):
        computed = exact_dot(branch.padded(form).tolist(), columns) + Fraction(form.const)
        if abs(computed - value) > Fraction(form.error):
            return False
    return True


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_each_trace_lies_in_a_branch_in_doubles_and_in_exact_arithmetic(seed: int) -> None:
    loop = random_loop(seed)
    is_affine = loop.policy.output.__class__.__name__ == "Identity"
    prover = Prover([], Deadline(None))
    derivation = Derivation(loop.policy, loop.system, prover)
    frontier = [derivation.start(loop.system.state_set("initial", loop.initial), prover.new_record())]
    rng = np.random.default_rng(seed)
    traces = [random_trace(loop, rng) for _ in range(10)] if is_affine else []
    doubles = [loop.system.simulate(loop.policy, x, W).states for x, W in traces]
    exact = [exact_states(loop, x, W) for x, W in traces]
    for t in range(1, min(loop.steps, 3) + 1):
        frontier = [after for branch in frontier for after in derivation.step(branch)]
        for (x, W), computed, real in zip(traces, doubles, exact):
            for state in ([Fraction(v) for v in computed[t].tolist()], real[t]):
                assert any(holds(derivation, branch, x, W, state) for branch in frontier)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_each_state_of_a_curved_loop_lies_in_the_bounds_of_a_branch(seed: int) -> None:
    loop = random_loop(seed, "curved")
    prover = Prover([], Deadline(None))
    derivation = Derivation(loop.policy, loop.system, prover)
    frontier = [derivation.start(loop.system.state_set("initial", loop.initial), prover.new_record())]
    rng = np.random.default_rng(seed)
    states = [loop.system.simulate(loop.policy, *random_trace(loop, rng)).states for _ in range(20)]
    for t in range(1, min(loop.steps, 2) + 1):
        frontier = [after for branch in frontier for after in derivation.step(branch)]
        rows = [*np.eye(len(loop.initial)), rng.normal(size=len(loop.initial))]
        bounds = [[prover.bounds(branch, derivation.along(branch, row)) for row in rows] for branch in frontier]
        for trace in states:
            values = [float(row @ trace[t]) for row in rows]
            assert any(
                all(low - 1e-14 <= value <= high + 1e-14 for (low, high), value in zip(ends, values)) for ends in bounds
            )
