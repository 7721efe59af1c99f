"""Rows are asked about in order, by any number of processes."""

from __future__ import annotations

import numpy as np
import pytest

from dtsemnet.verify.proof.row_jobs import ask_rows


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_outcomes_come_in_the_order_of_the_rows(n_jobs):
    rows, told = np.arange(10.0).reshape(5, 2), []
    assert ask_rows(np.sum, rows, n_jobs, lambda *counts: told.append(counts)) == rows.sum(axis=1).tolist()
    assert told == [(k, 5) for k in range(1, 6)]
