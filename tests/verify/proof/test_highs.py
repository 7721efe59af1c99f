"""Programs by HiGHS itself and by linprog have the same optima."""

from __future__ import annotations

import numpy as np
import pytest

from dtsemnet.verify.proof import highs
from dtsemnet.verify.proof.highs import Program


@pytest.mark.parametrize("seed", range(20))
def test_both_ways_to_the_solver_agree(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 6, 2)
    cost, matrix, bound = rng.normal(size=d), rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7), rng.normal(size=n)
    program = Program(cost, matrix, bound, -np.ones(d), np.ones(d))
    for _ in range(2):
        lower, upper = -rng.random(d), rng.random(d)
        program.set_bounds(lower, upper)
        found = program.solve()
        with monkeypatch.context() as without:
            without.setattr(highs, "_core", None)
            other = Program(cost, matrix, bound, lower, upper).solve()
        assert (found is None) == (other is None)
        if found is not None:
            assert cost @ found.x == pytest.approx(cost @ other.x, abs=1e-7)
            assert (found.row_dual <= 1e-9).all()
            # Multipliers of rows and bounds make up the cost.
            assert found.row_dual @ matrix + found.column_dual == pytest.approx(cost, abs=1e-7)
            assert other.row_dual @ matrix + other.column_dual == pytest.approx(cost, abs=1e-7)
