"""Processes that are killed at random moments lose nothing; ``make faults`` kills two hundred of them."""

from __future__ import annotations

import os
import random

import pytest

from faults.campaign import CASES, campaign

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="processes are forked"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of a fork beside threads of the test runner
]
FAST = ("classes", "numbers", "save")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in CASES])
def test_a_kill_at_any_moment_loses_nothing(name: str) -> None:
    case = CASES[name]()
    tally = campaign(case, kills=3, rng=random.Random(1), kills_per_round=3)
    assert (tally.kills >= 3, tally.lost, tally.leftovers) == (True, 0, 0)
